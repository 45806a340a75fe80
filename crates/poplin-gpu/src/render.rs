//! Render meshes: vertices to draw, computed from particles on the GPU.

mod buffers;
mod encode;
mod instances;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use poplin_host::{Ranges, Shared};
use poplin_layout::RenderInstance;
use poplin_model::{RenderMesh, RenderVertex};
use poplin_shaders::Kernel;

use crate::binding::bind_group_layout;
use crate::growable::GrowableBuffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use crate::pool::Pool;
use crate::requirements::check_device;
use crate::scope::built;
use crate::{EngineOptions, Error};

/// Read-only flags of the kernels' storage bindings 1 to 8.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, true, true, true, false, false, false];

/// Handle of a render mesh that follows a cloth. The handle of a removed mesh never refers to
/// another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RenderId(u64);

/// Options for creating [`RenderMeshes`].
#[derive(Debug, Clone)]
pub struct RenderOptions {
    /// Additional usages of the buffers of vertices, tangents, indices and texture coordinates,
    /// beyond those needed for drawing and by the kernels. Default: none.
    pub usages: wgpu::BufferUsages,
    /// Cache of compiled pipelines, like [`EngineOptions::pipeline_cache`]. Default: none.
    pub pipeline_cache: Option<wgpu::PipelineCache>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { usages: wgpu::BufferUsages::empty(), pipeline_cache: None }
    }
}

/// Device data of a render mesh, shared by all cloths that use it.
#[derive(Debug)]
struct SharedMesh {
    words: Range<u32>,
    packed: RenderInstance,
    indices: wgpu::Buffer,
    uvs: Option<wgpu::Buffer>,
}

#[derive(Debug)]
struct Instance {
    mesh: Arc<RenderMesh>,
    particles: Range<u32>,
    vertices: Range<u32>,
    tangents: Option<Range<u32>>,
    normals: Option<Range<u32>>,
}

/// Computes the vertices of render meshes from the particles of cloths: positions, normals and
/// tangents, optionally interpolated between two frames.
///
/// It reads any buffer of particles, [`crate::GpuEngine::particle_buffer`] or one that the
/// application fills from the CPU backend. Like the engine it records into the application's
/// encoder, submits nothing, waits for nothing, allocates only when a mesh is added, and runs with
/// WebGPU's default limits. Every frame:
///
/// ```no_run
/// # use poplin_gpu::{GpuEngine, Error, RenderMeshes, wgpu};
/// # fn frame(
/// #     engine: &mut GpuEngine,
/// #     meshes: &mut RenderMeshes,
/// #     encoder: &mut wgpu::CommandEncoder,
/// #     steps: u32,
/// #     alpha: f32,
/// # ) -> Result<(), Error> {
/// for _ in 0..steps {
///     meshes.encode_frame(engine, encoder, 1.0 / 60.0)?;
/// }
/// meshes.encode(encoder, engine.particle_buffer(), alpha)?;
/// # Ok(())
/// # }
/// ```
pub struct RenderMeshes {
    device: wgpu::Device,
    queue: wgpu::Queue,
    usages: wgpu::BufferUsages,
    layout: wgpu::BindGroupLayout,
    pipelines: Vec<wgpu::ComputePipeline>,
    meshes: Shared<RenderMesh, SharedMesh>,
    words: Vec<u32>,
    word_ranges: Ranges,
    word_buffer: GrowableBuffer,
    instances: BTreeMap<RenderId, Instance>,
    next_id: u64,
    instance_buffer: GrowableBuffer,
    chunk_buffer: GrowableBuffer,
    /// Chunks of particles, then of vertices.
    chunk_counts: [u32; 2],
    /// True if instances and chunks differ from those on the device.
    is_stale: bool,
    /// Largest number of particles that any instance needs.
    particle_end: u32,
    /// Particles that alpha 0 draws.
    kept: GrowableBuffer,
    /// True if all instances have kept particles.
    is_kept: bool,
    normals: Pool<1>,
    vertices: Pool<1>,
    tangents: Pool<1>,
    uniforms: GrowableBuffer,
    slot: usize,
    bind_group: Option<(wgpu::Buffer, wgpu::BindGroup)>,
}

impl fmt::Debug for RenderMeshes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderMeshes")
            .field("instance_count", &self.instances.len())
            .field("vertex_count", &self.vertices.used())
            .field("memory_bytes", &self.memory_bytes())
            .finish_non_exhaustive()
    }
}

/// Attributes of [`RenderMeshes::VERTEX_LAYOUT`].
const VERTEX_ATTRIBUTES: [wgpu::VertexAttribute; 2] =
    wgpu::vertex_attr_array![0 => Float32x4, 1 => Float32x4];
/// Attribute of [`RenderMeshes::UV_LAYOUT`].
const UV_ATTRIBUTES: [wgpu::VertexAttribute; 1] = wgpu::vertex_attr_array![2 => Float32x2];
/// Attribute of [`RenderMeshes::TANGENT_LAYOUT`].
const TANGENT_ATTRIBUTES: [wgpu::VertexAttribute; 1] = wgpu::vertex_attr_array![3 => Float32x4];

const fn per_vertex(
    array_stride: u64,
    attributes: &'static [wgpu::VertexAttribute],
) -> wgpu::VertexBufferLayout<'static> {
    wgpu::VertexBufferLayout { array_stride, step_mode: wgpu::VertexStepMode::Vertex, attributes }
}

impl RenderMeshes {
    /// Layout of vertex buffer 0, [`RenderMeshes::vertex_buffer`]: location 0 is position \[m\] and
    /// 1, location 1 is normal and 0, in the local space of the cloth.
    pub const VERTEX_LAYOUT: wgpu::VertexBufferLayout<'static> =
        per_vertex(size_of::<RenderVertex>() as u64, &VERTEX_ATTRIBUTES);
    /// Layout of vertex buffer 1, [`RenderMeshes::uv_buffer`]: location 2 is texture coordinates.
    pub const UV_LAYOUT: wgpu::VertexBufferLayout<'static> = per_vertex(8, &UV_ATTRIBUTES);
    /// Layout of vertex buffer 2, [`RenderMeshes::tangent_buffer`]: location 3 is the tangent of
    /// unit length, with w 1 or -1: the bitangent is `cross(normal, tangent) * w`.
    pub const TANGENT_LAYOUT: wgpu::VertexBufferLayout<'static> =
        per_vertex(16, &TANGENT_ATTRIBUTES);

    /// Creates an empty set of meshes and compiles three small kernels.
    ///
    /// # Errors
    /// [`Error::LimitTooLow`] if the device is below WebGPU's default limits,
    /// [`Error::NotCompiled`] if it refuses a kernel, [`Error::Device`] if it has no memory.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: RenderOptions,
    ) -> Result<Self, Error> {
        let RenderOptions { usages, pipeline_cache } = options;
        let options = EngineOptions { pipeline_cache, ..EngineOptions::default() };
        built(device, || Self::with_engine_options(device, queue, usages, &options))
    }

    #[cfg(feature = "testing")]
    /// Creates an empty set with the shader texts of an engine's options, for tests with damaged
    /// shaders.
    ///
    /// # Errors
    /// As [`RenderMeshes::new`].
    pub fn with_texts(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: &EngineOptions,
    ) -> Result<Self, Error> {
        let usages = wgpu::BufferUsages::empty();
        built(device, || Self::with_engine_options(device, queue, usages, options))
    }

    fn with_engine_options(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        usages: wgpu::BufferUsages,
        options: &EngineOptions,
    ) -> Result<Self, Error> {
        check_device(&device.limits())?;
        let layout = bind_group_layout(device, "poplin.render.layout", &STORAGE_READ_ONLY);
        let whole = pipeline_layout(device, "poplin.render.pipeline_layout", &layout);
        let storage = wgpu::BufferUsages::STORAGE;
        let drawn = storage | wgpu::BufferUsages::VERTEX | usages;
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        Ok(Self {
            usages,
            pipelines: Kernel::RENDER
                .iter()
                .map(|&kernel| kernel_pipeline(device, kernel, &whole, options))
                .collect::<Result<_, _>>()?,
            layout,
            meshes: Shared::default(),
            words: Vec::new(),
            word_ranges: Ranges::new(
                (GrowableBuffer::limit(device) / 4).min(u64::from(u32::MAX)) as u32
            ),
            word_buffer: new("poplin.render.meshes", storage),
            instances: BTreeMap::new(),
            next_id: 0,
            instance_buffer: new("poplin.render.instances", storage),
            chunk_buffer: new("poplin.render.chunks", storage),
            chunk_counts: [0; 2],
            is_stale: false,
            particle_end: 0,
            kept: new("poplin.render.kept", storage),
            is_kept: false,
            normals: Pool::new(device, ["poplin.render.normals"], storage, 16),
            vertices: Pool::new(device, ["poplin.render.vertices"], drawn, 32),
            tangents: Pool::new(device, ["poplin.render.tangents"], drawn, 16),
            uniforms: new("poplin.render.parameters", wgpu::BufferUsages::UNIFORM),
            slot: 0,
            bind_group: None,
            device: device.clone(),
            queue: queue.clone(),
        })
    }

    /// Number of render meshes.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// True if there are no render meshes.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }
}
