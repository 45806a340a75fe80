//! Pipelines of the cloth kernel, one per set of override values.

use std::collections::BTreeMap;

use poplin_shaders::{Kernel, OverrideValues, compose};

use crate::EngineOptions;
use crate::binding::bind_group_layout;

/// The bind group layout, the shader module and the pipelines created so far.
pub(crate) struct Pipelines {
    pub(crate) layout: wgpu::BindGroupLayout,
    pipeline_layout: wgpu::PipelineLayout,
    module: wgpu::ShaderModule,
    made: BTreeMap<OverrideValues, wgpu::ComputePipeline>,
}

/// Storage bindings 1.. of the kernel: whether the kernel only reads them.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, true, true, false, false, false, false];

/// The module of a kernel, made of its composed text.
pub(crate) fn shader_module(
    device: &wgpu::Device,
    kernel: Kernel,
    options: &EngineOptions,
) -> wgpu::ShaderModule {
    let composed = compose(&kernel.path()).expect("the embedded kernels compose; a test holds it");
    let text = options.replaced_text(kernel).unwrap_or(composed.text);
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(kernel.name()),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    })
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device, options: &EngineOptions) -> Self {
        let module = shader_module(device, Kernel::SimulateCloth, options);
        let layout = bind_group_layout(device, "poplin.simulate_cloth.layout", &STORAGE_READ_ONLY);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("poplin.simulate_cloth.pipeline_layout"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        Self { layout, pipeline_layout, module, made: BTreeMap::new() }
    }

    /// Creates the pipeline for these values if there is none yet.
    pub(crate) fn prepare(&mut self, device: &wgpu::Device, values: OverrideValues) {
        let Self { pipeline_layout, module, made, .. } = self;
        made.entry(values).or_insert_with(|| {
            let constants = values.constants();
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("poplin.simulate_cloth"),
                layout: Some(pipeline_layout),
                module,
                entry_point: Some(Kernel::SimulateCloth.name()),
                // The kernel fetches every particle before it reads one; zeroing first would be wasted.
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        });
    }

    /// The pipeline for these values, if prepared.
    pub(crate) fn get(&self, values: &OverrideValues) -> Option<&wgpu::ComputePipeline> {
        self.made.get(values)
    }
}
