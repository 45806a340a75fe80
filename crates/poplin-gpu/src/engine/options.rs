//! Options of an engine.

#[cfg(feature = "testing")]
use std::collections::HashMap;

use poplin_layout::{MemoryTier, StageMask};
use poplin_shaders::Kernel;

use crate::Compilation;

/// Options of an [`crate::GpuEngine`].
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Forces every cloth into this tier, which must fit; for tests and measurements. Default: the
    /// fastest tier that fits each cloth.
    pub tier: Option<MemoryTier>,
    /// Lanes of every workgroup, one of [`poplin_host::LANE_COUNTS`]; for tests and measurements.
    /// Default: chosen per cloth; on a software adapter, which runs lanes one after another, the
    /// fewest that stay within [`EngineOptions::loop_limit`].
    pub lane_count: Option<u32>,
    /// Additional usages of the particle buffer beyond STORAGE, VERTEX, COPY_SRC and COPY_DST.
    /// Default: none.
    pub particle_usages: wgpu::BufferUsages,
    /// Number of frames that may be recorded before one of them is submitted, `1..=64`. Default: 4,
    /// the most that a default [`poplin_model::FixedStep`] requests at once. If more are recorded,
    /// frames run with the constants of later ones, and a cloth whose settings change may stop
    /// moving for good.
    ///
    /// Encoders must be submitted in the order of recording, each once. Cloths may be added,
    /// changed and removed in between: recorded commands keep their buffers and ranges until they
    /// have run.
    pub frames_per_submit: usize,
    /// Loop trips per lane after which a frame is split into further dispatches of the same kernel,
    /// so that watchdogs of operating systems do not reset the GPU. Default: 300,000, at most 0.1 s
    /// on a GPU according to a latency model.
    pub trips_per_dispatch: u64,
    /// Loop trips per lane at which the driver stops silently, as measured by the loop canary.
    /// Default: none.
    pub loop_limit: Option<u64>,
    /// Number of threads of rayon's pool, at least 1, that pack moved cloths if there are thousands
    /// of them. Default: 1, the caller's thread.
    pub threads: usize,
    /// Time at which pipelines are compiled. Default: when cloths are added.
    pub compilation: Compilation,
    /// Cache of compiled pipelines, created on a device with [`wgpu::Features::PIPELINE_CACHE`];
    /// the application may save [`wgpu::PipelineCache::get_data`] afterwards. Default: none;
    /// drivers have their own.
    pub pipeline_cache: Option<wgpu::PipelineCache>,
    #[cfg(feature = "testing")]
    /// Replaces the composed text of these kernels, for tests with altered rounding or damaged
    /// shaders. Default: none.
    pub shader_texts: HashMap<Kernel, String>,
    #[cfg(feature = "testing")]
    /// Compiles all parts of the implicit stage into every kernel that has it, for tests of many
    /// models: one kernel compiles faster than one per model. Default: false.
    pub all_implicit_parts: bool,
    #[cfg(feature = "testing")]
    /// Lock with which a test blocks background compilation of cloth pipelines. Default: none.
    pub compile_gate: Option<std::sync::Arc<std::sync::Mutex<()>>>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            tier: None,
            lane_count: None,
            particle_usages: wgpu::BufferUsages::empty(),
            frames_per_submit: 4,
            trips_per_dispatch: 300_000,
            loop_limit: None,
            threads: 1,
            compilation: Compilation::default(),
            pipeline_cache: None,
            #[cfg(feature = "testing")]
            shader_texts: HashMap::new(),
            #[cfg(feature = "testing")]
            all_implicit_parts: false,
            #[cfg(feature = "testing")]
            compile_gate: None,
        }
    }
}

impl EngineOptions {
    #[cfg(feature = "testing")]
    pub(crate) fn replaced_text(&self, kernel: Kernel) -> Option<String> {
        self.shader_texts.get(&kernel).cloned()
    }

    /// Stages that are compiled for a cloth that needs `stages`.
    pub(crate) fn compiled(&self, stages: StageMask) -> StageMask {
        #[cfg(feature = "testing")]
        if self.all_implicit_parts && stages.contains(poplin_layout::Stage::Implicit) {
            return stages.union(StageMask::IMPLICIT_PARTS);
        }
        stages
    }

    #[cfg(not(feature = "testing"))]
    pub(crate) fn replaced_text(&self, _: Kernel) -> Option<String> {
        None
    }
}
