//! Pipelines of the cloth kernel, one per set of override values.

use std::collections::BTreeMap;

use poplin_layout::StageMask;
use poplin_shaders::{Kernel, OverrideValues, compose, specialise};

use crate::EngineOptions;
use crate::binding::bind_group_layout;

/// The bind group layout, the kernel's text, and the modules and pipelines created so far.
pub(crate) struct Pipelines {
    pub(crate) layout: wgpu::BindGroupLayout,
    pipeline_layout: wgpu::PipelineLayout,
    text: String,
    /// The kernel with only some stages.
    modules: BTreeMap<StageMask, wgpu::ShaderModule>,
    made: BTreeMap<OverrideValues, wgpu::ComputePipeline>,
}

/// Storage bindings 1.. of the kernel: whether the kernel only reads them.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, true, true, false, false, false, false];

/// The composed text of a kernel.
pub(crate) fn shader_text(kernel: Kernel, options: &EngineOptions) -> String {
    let composed =
        || compose(&kernel.path()).expect("the embedded kernels compose; a test holds it");
    options.replaced_text(kernel).unwrap_or_else(|| composed().text)
}

/// The module of a text of a kernel.
pub(crate) fn shader_module(
    device: &wgpu::Device,
    kernel: Kernel,
    text: String,
) -> wgpu::ShaderModule {
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(kernel.name()),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    })
}

/// The layout of pipelines with one bind group.
pub(crate) fn pipeline_layout(
    device: &wgpu::Device,
    label: &str,
    bind_group: &wgpu::BindGroupLayout,
) -> wgpu::PipelineLayout {
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: &[Some(bind_group)],
        immediate_size: 0,
    })
}

/// The pipeline of a kernel without overrides.
pub(crate) fn kernel_pipeline(
    device: &wgpu::Device,
    kernel: Kernel,
    layout: &wgpu::PipelineLayout,
    options: &EngineOptions,
) -> wgpu::ComputePipeline {
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(kernel.name()),
        layout: Some(layout),
        module: &shader_module(device, kernel, shader_text(kernel, options)),
        entry_point: Some(kernel.name()),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device, options: &EngineOptions) -> Self {
        let layout = bind_group_layout(device, "poplin.simulate_cloth.layout", &STORAGE_READ_ONLY);
        let label = "poplin.simulate_cloth.pipeline_layout";
        let pipeline_layout = pipeline_layout(device, label, &layout);
        let text = shader_text(Kernel::SimulateCloth, options);
        Self { layout, pipeline_layout, text, modules: BTreeMap::new(), made: BTreeMap::new() }
    }

    /// Creates the pipeline for these values if there is none yet.
    pub(crate) fn prepare(&mut self, device: &wgpu::Device, values: OverrideValues) {
        let Self { pipeline_layout, text, modules, made, .. } = self;
        made.entry(values).or_insert_with(|| {
            let module = modules.entry(values.stages).or_insert_with(|| {
                shader_module(device, Kernel::SimulateCloth, specialise(text, values.stages))
            });
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
