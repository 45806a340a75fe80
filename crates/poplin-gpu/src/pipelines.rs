//! Pipelines of the cloth kernel, one per set of override values.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use poplin_layout::StageMask;
use poplin_shaders::{Kernel, OverrideValues, coherent, compose, specialise};

use crate::binding::bind_group_layout;
use crate::compilation::Made;
use crate::scope::caught;
use crate::{Compilation, EngineOptions, Error};

/// Bind group layout and kernel text, with the modules and pipelines created so far.
pub(crate) struct Pipelines {
    pub(crate) layout: wgpu::BindGroupLayout,
    compiler: Arc<Compiler>,
    compilation: Compilation,
    #[cfg(feature = "testing")]
    gate: Option<Arc<Mutex<()>>>,
    made: BTreeMap<OverrideValues, Made<Result<wgpu::ComputePipeline, Error>>>,
}

/// Inputs for compiling pipelines.
struct Compiler {
    device: wgpu::Device,
    pipeline_layout: wgpu::PipelineLayout,
    cache: Option<wgpu::PipelineCache>,
    text: String,
    /// Module of the kernel for each set of stages.
    modules: Mutex<BTreeMap<StageMask, wgpu::ShaderModule>>,
}

/// Read-only flags of the kernel's storage bindings 1 to 8.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, true, true, false, false, false, false];

/// Composed text of a kernel.
pub(crate) fn shader_text(kernel: Kernel, options: &EngineOptions) -> String {
    let composed =
        || compose(&kernel.path()).expect("the embedded kernels compose; a test checks it");
    options.replaced_text(kernel).unwrap_or_else(|| composed().text)
}

/// Creates the module of a kernel from its text, with coherent buffers where the device has them.
pub(crate) fn shader_module(
    device: &wgpu::Device,
    kernel: Kernel,
    text: String,
) -> wgpu::ShaderModule {
    let is_coherent = device.features().contains(wgpu::Features::MEMORY_DECORATION_COHERENT);
    let text = if is_coherent { coherent(&text) } else { text };
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(kernel.name()),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    })
}

/// Creates a pipeline layout with one bind group.
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

/// Creates the pipeline of a kernel without overrides.
pub(crate) fn kernel_pipeline(
    device: &wgpu::Device,
    kernel: Kernel,
    layout: &wgpu::PipelineLayout,
    options: &EngineOptions,
) -> Result<wgpu::ComputePipeline, Error> {
    compiled(device, kernel.name(), || {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(kernel.name()),
            layout: Some(layout),
            module: &shader_module(device, kernel, shader_text(kernel, options)),
            entry_point: Some(kernel.name()),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: options.pipeline_cache.as_ref(),
        })
    })
}

/// Compiles a pipeline, or returns why the device refuses the kernel.
pub(crate) fn compiled(
    device: &wgpu::Device,
    kernel: &'static str,
    make: impl FnOnce() -> wgpu::ComputePipeline,
) -> Result<wgpu::ComputePipeline, Error> {
    let refused = |error| Error::NotCompiled { kernel, source: Arc::new(error) };
    caught(device, make).map_err(refused)
}

impl Compiler {
    fn module(&self, stages: StageMask) -> wgpu::ShaderModule {
        // Modules are inserted complete, so a poisoned lock is safe.
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let text = || specialise(&self.text, stages);
        let make = || shader_module(&self.device, Kernel::SimulateCloth, text());
        modules.entry(stages).or_insert_with(make).clone()
    }

    fn pipeline(&self, values: &OverrideValues) -> Result<wgpu::ComputePipeline, Error> {
        let constants = values.constants();
        // The kernel loads every particle before it reads one, so zeroing workgroup memory is not
        // needed; but the older compiler of DirectX 12 (FXC) refuses memory that is not zeroed.
        let backend = self.device.adapter_info().backend;
        compiled(&self.device, Kernel::SimulateCloth.name(), || {
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("poplin.simulate_cloth"),
                layout: Some(&self.pipeline_layout),
                module: &self.module(values.stages),
                entry_point: Some(Kernel::SimulateCloth.name()),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    zero_initialize_workgroup_memory: backend == wgpu::Backend::Dx12,
                },
                cache: self.cache.as_ref(),
            })
        })
    }
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device, options: &EngineOptions) -> Self {
        let layout = bind_group_layout(device, "poplin.simulate_cloth.layout", &STORAGE_READ_ONLY);
        let label = "poplin.simulate_cloth.pipeline_layout";
        let compiler = Compiler {
            device: device.clone(),
            pipeline_layout: pipeline_layout(device, label, &layout),
            cache: options.pipeline_cache.clone(),
            text: shader_text(Kernel::SimulateCloth, options),
            modules: Mutex::new(BTreeMap::new()),
        };
        Self {
            layout,
            compiler: Arc::new(compiler),
            compilation: options.compilation,
            #[cfg(feature = "testing")]
            gate: options
                .compile_gate
                .clone()
                .filter(|_| options.compilation == Compilation::Background),
            made: BTreeMap::new(),
        }
    }

    /// Requests the pipeline for these values on behalf of a cloth that may need it in the next
    /// frame.
    pub(crate) fn request(&mut self, values: OverrideValues) {
        let compiler = self.compiler.clone();
        #[cfg(feature = "testing")]
        let gate = self.gate.clone();
        self.made.entry(values).or_default().request(self.compilation, move || {
            #[cfg(feature = "testing")]
            // Blocks while a test holds the gate.
            let _open = gate.as_ref().map(|gate| gate.lock());
            compiler.pipeline(&values)
        });
    }

    /// Compiles the pipeline for these values if there is none yet, or waits for it.
    pub(crate) fn prepare(&mut self, values: OverrideValues) -> Result<(), Error> {
        let make = || self.compiler.pipeline(&values);
        self.made.entry(values).or_default().prepare(make)
    }

    /// Returns why the pipeline for these values was refused, if it was.
    pub(crate) fn failure(&self, values: &OverrideValues) -> Option<&Error> {
        self.made.get(values)?.get()?.as_ref().err()
    }

    /// Waits for requested pipelines.
    pub(crate) fn finish_compiling(&mut self) {
        self.made.values_mut().for_each(Made::wait);
    }

    /// True if a frame that needs the pipeline for these values need not wait.
    pub(crate) fn is_ready(&mut self, values: &OverrideValues) -> bool {
        self.made.get_mut(values).is_some_and(Made::is_ready)
    }

    /// True while pipelines are being compiled.
    pub(crate) fn is_compiling(&self) -> bool {
        self.made.values().any(Made::is_running)
    }

    /// Pipeline for these values, if prepared.
    pub(crate) fn get(&self, values: &OverrideValues) -> Option<&wgpu::ComputePipeline> {
        self.made.get(values)?.get()?.as_ref().ok()
    }
}
