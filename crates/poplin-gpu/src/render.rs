//! Render meshes: vertices to draw, computed from particles on the GPU.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::cast_slice;
use poplin_host::{Ranges, Shared};
use poplin_layout::{NO_OFFSET, RENDER_LANES, RenderInstance, RenderParameters, pack_render_mesh};
use poplin_model::{Frame, ModelError, RenderMesh, RenderVertex};
use poplin_shaders::Kernel;

use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout, push_uniform};
use crate::growable::GrowableBuffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use crate::pool::Pool;
use crate::requirements::check_device;
use crate::{Engine, EngineOptions, GpuError};

/// Size of a particle \[bytes\].
const PARTICLE_BYTES: u64 = 16;

/// Number of encodings after which a uniform slot is reused.
const SLOTS: usize = 32;

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
/// It reads any buffer of particles, [`crate::Engine::particle_buffer`] or one that the application
/// fills from the CPU backend. Like the engine it records into the application's encoder, submits
/// nothing, waits for nothing, allocates only when a mesh is added, and runs with WebGPU's default
/// limits. Every frame:
///
/// ```no_run
/// # use poplin_gpu::{Engine, GpuError, RenderMeshes, wgpu};
/// # use poplin_model::Frame;
/// # fn frame(
/// #     engine: &mut Engine,
/// #     meshes: &mut RenderMeshes,
/// #     encoder: &mut wgpu::CommandEncoder,
/// #     steps: u32,
/// #     alpha: f32,
/// # ) -> Result<(), GpuError> {
/// for _ in 0..steps {
///     meshes.encode_frame(engine, encoder, &Frame { dt: 1.0 / 60.0 })?;
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
    pipelines: [wgpu::ComputePipeline; 3],
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
    /// [`GpuError::LimitTooLow`] if the device is below WebGPU's default limits.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: RenderOptions,
    ) -> Result<Self, GpuError> {
        let RenderOptions { usages, pipeline_cache } = options;
        Self::with_engine_options(
            device,
            queue,
            usages,
            &EngineOptions { pipeline_cache, ..EngineOptions::default() },
        )
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
    ) -> Result<Self, GpuError> {
        Self::with_engine_options(device, queue, wgpu::BufferUsages::empty(), options)
    }

    fn with_engine_options(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        usages: wgpu::BufferUsages,
        options: &EngineOptions,
    ) -> Result<Self, GpuError> {
        check_device(&device.limits())?;
        let layout = bind_group_layout(device, "poplin.render.layout", &STORAGE_READ_ONLY);
        let whole = pipeline_layout(device, "poplin.render.pipeline_layout", &layout);
        let storage = wgpu::BufferUsages::STORAGE;
        let drawn = storage | wgpu::BufferUsages::VERTEX | usages;
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        Ok(Self {
            usages,
            pipelines: Kernel::RENDER
                .map(|kernel| kernel_pipeline(device, kernel, &whole, options)),
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

    /// Adds a render mesh of the cloth with these particles ([`crate::Engine::particle_range`]).
    /// Cloths with the same `Arc` share its indices and texture coordinates. Remove the mesh when
    /// the cloth is removed: its particles will be reused for other cloths.
    ///
    /// # Errors
    /// [`GpuError`] if the mesh is not valid, has a different number of particles, or is too large
    /// for the device; then nothing is added.
    pub fn add(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
    ) -> Result<RenderId, GpuError> {
        self.add_with(mesh, particles, false)
    }

    /// Like [`RenderMeshes::add`], with tangents.
    ///
    /// # Errors
    /// As [`RenderMeshes::add`], and if the mesh has no texture coordinates.
    pub fn add_with_tangents(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
    ) -> Result<RenderId, GpuError> {
        self.add_with(mesh, particles, true)
    }

    fn add_with(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
        has_tangents: bool,
    ) -> Result<RenderId, GpuError> {
        let (len, expected) = (particles.len(), mesh.particle_count as usize);
        if len != expected {
            return Err(ModelError::Length { what: "render particles", len, expected }.into());
        }
        if has_tangents && mesh.uvs.is_empty() {
            return Err(ModelError::Empty { what: "render mesh uvs" }.into());
        }
        self.acquire(mesh)?;
        let instance = self.allocate(mesh, particles, has_tangents).inspect_err(|_| {
            self.release(mesh);
        })?;
        let id = RenderId(self.next_id);
        self.next_id += 1;
        self.particle_end = self.particle_end.max(instance.particles.end);
        self.instances.insert(id, instance);
        self.is_stale = true;
        self.is_kept = false;
        Ok(id)
    }

    /// Allocates the ranges of a new instance, or none of them.
    fn allocate(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
        has_tangents: bool,
    ) -> Result<Instance, GpuError> {
        let count = mesh.vertex_count() as u32;
        let mut instance = Instance {
            mesh: mesh.clone(),
            particles,
            vertices: self.vertices.allocate(&self.device, count)?,
            tangents: None,
            normals: None,
        };
        let mut fill = || -> Result<(), GpuError> {
            if has_tangents {
                instance.tangents = Some(self.tangents.allocate(&self.device, count)?);
            }
            if mesh.has_offsets() {
                instance.normals = Some(self.normals.allocate(&self.device, mesh.particle_count)?);
            }
            Ok(())
        };
        let result = fill();
        self.bind_group = None;
        match result {
            Ok(()) => Ok(instance),
            Err(error) => {
                self.free(&instance);
                Err(error)
            }
        }
    }

    fn free(&mut self, instance: &Instance) {
        self.vertices.free(instance.vertices.clone());
        instance.tangents.iter().for_each(|range| self.tangents.free(range.clone()));
        instance.normals.iter().for_each(|range| self.normals.free(range.clone()));
    }

    /// Adds a user of a mesh, which is uploaded for the first user.
    fn acquire(&mut self, mesh: &Arc<RenderMesh>) -> Result<(), GpuError> {
        let Self { meshes, words, word_ranges, word_buffer, device, queue, usages, .. } = self;
        let mut is_replaced = false;
        let pack = || -> Result<SharedMesh, GpuError> {
            mesh.validate()?;
            let mut packed_words = Vec::new();
            let packed = pack_render_mesh(mesh, &mut packed_words);
            let bytes = 4 * packed_words.len() as u64;
            word_buffer.check(device, bytes)?;
            let range = word_ranges.allocate(packed_words.len() as u32).map_err(|full| {
                let (bytes, limit) = (4 * full.needed, 4 * u64::from(full.limit));
                GpuError::TooLarge { buffer: word_buffer.name(), bytes, limit }
            })?;
            let (begin, end) = (range.start as usize, range.end as usize);
            words.resize(words.len().max(end), 0);
            words[begin..end].copy_from_slice(&packed_words);
            is_replaced = word_buffer.grow(device, 4 * words.len() as u64);
            // A new buffer needs all words, the old one only the new words.
            let written = if is_replaced { 0..words.len() } else { begin..end };
            let offset = 4 * written.start as u64;
            queue.write_buffer(word_buffer.buffer(), offset, cast_slice(&words[written]));
            let buffer = |label, contents: &[u8], usage| {
                wgpu::util::DeviceExt::create_buffer_init(
                    device,
                    &wgpu::util::BufferInitDescriptor {
                        label: Some(label),
                        contents,
                        usage: usage | *usages,
                    },
                )
            };
            let indices = buffer(
                "poplin.render.indices",
                cast_slice(&mesh.triangles),
                wgpu::BufferUsages::INDEX,
            );
            let uvs = (!mesh.uvs.is_empty()).then(|| {
                buffer("poplin.render.uvs", cast_slice(&mesh.uvs), wgpu::BufferUsages::VERTEX)
            });
            Ok(SharedMesh { packed: packed.moved_by(range.start), words: range, indices, uvs })
        };
        meshes.acquire(mesh, pack)?;
        if is_replaced {
            self.bind_group = None;
        }
        Ok(())
    }

    fn release(&mut self, mesh: &Arc<RenderMesh>) {
        if let Some(shared) = self.meshes.release(mesh) {
            self.word_ranges.free(shared.words);
        }
    }

    /// Removes a render mesh; its part of the buffers is reused for meshes added later.
    ///
    /// # Errors
    /// [`GpuError::NoSuchRenderMesh`].
    pub fn remove(&mut self, id: RenderId) -> Result<(), GpuError> {
        let instance = self.instances.remove(&id).ok_or(GpuError::NoSuchRenderMesh)?;
        self.free(&instance);
        self.release(&instance.mesh);
        let ends = self.instances.values().map(|instance| instance.particles.end);
        self.particle_end = ends.max().unwrap_or(0);
        self.is_stale = true;
        Ok(())
    }

    /// Records [`RenderMeshes::keep`] and then a frame of the engine, for an application that
    /// interpolates. Added or replaced particles are not interpolated from their earlier positions.
    /// Several frames per submission need [`EngineOptions::frames_per_submit`].
    ///
    /// # Errors
    /// As [`crate::Engine::encode_frame`] and [`RenderMeshes::keep`].
    pub fn encode_frame(
        &mut self,
        engine: &mut Engine,
        encoder: &mut wgpu::CommandEncoder,
        frame: &Frame,
    ) -> Result<(), GpuError> {
        engine.encode_changes(encoder);
        self.keep(encoder, engine.particle_buffer())?;
        engine.encode_frame(encoder, frame)
    }

    /// Records a copy of the present particles, which alpha 0 then draws. Call it before every
    /// frame, as [`RenderMeshes::encode_frame`] does; without interpolation it is not needed.
    ///
    /// # Errors
    /// [`GpuError::ShortBuffer`] if the buffer does not hold the particles of all meshes,
    /// [`GpuError::TooLarge`].
    pub fn keep(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        particles: &wgpu::Buffer,
    ) -> Result<(), GpuError> {
        let len = self.check_particles(particles)?;
        if len > 0 {
            self.kept.check(&self.device, len)?;
            if self.kept.grow(&self.device, len) {
                self.bind_group = None;
            }
            encoder.copy_buffer_to_buffer(particles, 0, self.kept.buffer(), 0, len);
            self.is_kept = true;
        }
        Ok(())
    }

    /// Records the computation of all vertices from the particles: `alpha` 0 draws the kept
    /// particles, 1 the present ones, values between interpolate. A mesh added since is drawn with
    /// its present particles until the next [`RenderMeshes::keep`].
    ///
    /// # Errors
    /// As [`RenderMeshes::keep`]; then nothing is recorded.
    pub fn encode(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        particles: &wgpu::Buffer,
        alpha: f32,
    ) -> Result<(), GpuError> {
        if self.check_particles(particles)? == 0 {
            return Ok(());
        }
        for pool in [&mut self.normals, &mut self.vertices, &mut self.tangents] {
            pool.record_growth(encoder);
        }
        if self.is_stale {
            self.upload_instances()?;
        }
        // NaN draws the present particles.
        let alpha = if self.is_kept && alpha < 1.0 { alpha.max(0.0) } else { 1.0 };
        let [particle_chunks, vertex_chunks] = self.chunk_counts;
        let mut bytes = Vec::with_capacity(2 * UNIFORM_STRIDE as usize);
        for (chunk_begin, chunk_count) in [(0, particle_chunks), (particle_chunks, vertex_chunks)] {
            push_uniform(
                &mut bytes,
                &RenderParameters { alpha, kept_fraction: 1.0 - alpha, chunk_begin, chunk_count },
            );
        }
        let offset = self.slot as u64 * bytes.len() as u64;
        if self.uniforms.grow(&self.device, SLOTS as u64 * bytes.len() as u64) {
            self.bind_group = None;
        }
        self.queue.write_buffer(self.uniforms.buffer(), offset, &bytes);
        self.slot = (self.slot + 1) % SLOTS;
        self.bind(particles);
        let Some((_, group)) = &self.bind_group else { return Ok(()) };
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("poplin.render"),
            timestamp_writes: None,
        });
        let most = self.device.limits().max_compute_workgroups_per_dimension;
        // Particle normals first, as the vertex kernels read them.
        for (pipeline, (list, count)) in self.pipelines.iter().zip([
            (0, particle_chunks),
            (1, vertex_chunks),
            (1, vertex_chunks),
        ]) {
            if count > 0 {
                let width = count.min(most);
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[(offset + list * UNIFORM_STRIDE) as u32]);
                pass.dispatch_workgroups(width, count.div_ceil(width), 1);
            }
        }
        Ok(())
    }

    /// Required length of the buffer of particles for all meshes \[bytes\].
    fn check_particles(&self, particles: &wgpu::Buffer) -> Result<u64, GpuError> {
        let needed = PARTICLE_BYTES * u64::from(self.particle_end);
        if particles.size() < needed {
            let (buffer, bytes) = ("the buffer of particles", particles.size());
            return Err(GpuError::ShortBuffer { buffer, bytes, needed });
        }
        Ok(needed)
    }

    fn upload_instances(&mut self) -> Result<(), GpuError> {
        let mut packed = Vec::with_capacity(self.instances.len());
        let mut chunks: [Vec<[u32; 2]>; 2] = Default::default();
        for (index, instance) in (0..).zip(self.instances.values()) {
            let begin = |range: &Option<Range<u32>>| range.as_ref().map_or(NO_OFFSET, |r| r.start);
            let mesh = self.meshes.get(&instance.mesh).expect("an instance holds its mesh");
            packed.push(RenderInstance {
                particle_begin: instance.particles.start,
                vertex_begin: instance.vertices.start,
                tangent_begin: begin(&instance.tangents),
                normal_begin: begin(&instance.normals),
                ..mesh.packed
            });
            let particles = instance.normals.as_ref().map_or(0, |_| mesh.packed.particle_count);
            for (list, count) in chunks.iter_mut().zip([particles, mesh.packed.vertex_count]) {
                // A chunk is an instance and its first element; one workgroup handles one chunk.
                list.extend((0..count).step_by(RENDER_LANES as usize).map(|first| [index, first]));
            }
        }
        self.chunk_counts = [chunks[0].len() as u32, chunks[1].len() as u32];
        let chunks = chunks.concat();
        let Self { instance_buffer, chunk_buffer, device, queue, .. } = self;
        let is_replaced = instance_buffer.upload(device, queue, cast_slice(&packed))?
            | chunk_buffer.upload(device, queue, cast_slice(&chunks))?;
        if is_replaced {
            self.bind_group = None;
        }
        self.is_stale = false;
        Ok(())
    }

    fn bind(&mut self, particles: &wgpu::Buffer) {
        if self.bind_group.as_ref().is_some_and(|(bound, _)| bound == particles) {
            return;
        }
        let storage = [
            self.word_buffer.buffer(),
            self.instance_buffer.buffer(),
            self.chunk_buffer.buffer(),
            particles,
            self.kept.buffer(),
            self.normals.buffer(0),
            self.vertices.buffer(0),
            self.tangents.buffer(0),
        ];
        let group = bind_group::<RenderParameters>(
            &self.device,
            "poplin.render.bind_group",
            &self.layout,
            self.uniforms.buffer(),
            &storage,
        );
        self.bind_group = Some((particles.clone(), group));
    }

    /// Number of render meshes.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// True if there are no render meshes.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    fn instance(&self, id: RenderId) -> Result<(&Instance, &SharedMesh), GpuError> {
        let instance = self.instances.get(&id).ok_or(GpuError::NoSuchRenderMesh)?;
        let mesh = self.meshes.get(&instance.mesh).ok_or(GpuError::NoSuchRenderMesh)?;
        Ok((instance, mesh))
    }

    /// Buffer of all vertices, [`RenderVertex`] each. Replaced when an added mesh does not fit.
    pub fn vertex_buffer(&self) -> &wgpu::Buffer {
        self.vertices.buffer(0)
    }

    /// Range of a mesh's vertices in [`RenderMeshes::vertex_buffer`].
    ///
    /// # Errors
    /// [`GpuError::NoSuchRenderMesh`].
    pub fn vertex_range(&self, id: RenderId) -> Result<Range<u32>, GpuError> {
        self.instance(id).map(|(instance, _)| instance.vertices.clone())
    }

    /// Buffer of all tangents, `[f32; 4]` each. Replaced when an added mesh does not fit.
    pub fn tangent_buffer(&self) -> &wgpu::Buffer {
        self.tangents.buffer(0)
    }

    /// Range of a mesh's tangents in [`RenderMeshes::tangent_buffer`], if it has any.
    ///
    /// # Errors
    /// [`GpuError::NoSuchRenderMesh`].
    pub fn tangent_range(&self, id: RenderId) -> Result<Option<Range<u32>>, GpuError> {
        self.instance(id).map(|(instance, _)| instance.tangents.clone())
    }

    /// Buffer of a mesh's triangle indices, `u32`, from 0 for each mesh, and their number.
    ///
    /// # Errors
    /// [`GpuError::NoSuchRenderMesh`].
    pub fn index_buffer(&self, id: RenderId) -> Result<(&wgpu::Buffer, u32), GpuError> {
        let (instance, mesh) = self.instance(id)?;
        Ok((&mesh.indices, 3 * instance.mesh.triangles.len() as u32))
    }

    /// Buffer of a mesh's texture coordinates, `[f32; 2]` per vertex, if it has any.
    ///
    /// # Errors
    /// [`GpuError::NoSuchRenderMesh`].
    pub fn uv_buffer(&self, id: RenderId) -> Result<Option<&wgpu::Buffer>, GpuError> {
        self.instance(id).map(|(_, mesh)| mesh.uvs.as_ref())
    }

    /// Binds the buffers of a mesh in the layouts [`RenderMeshes::VERTEX_LAYOUT`],
    /// [`RenderMeshes::UV_LAYOUT`] and [`RenderMeshes::TANGENT_LAYOUT`] and draws it. A pipeline
    /// may omit either of the last two.
    ///
    /// # Errors
    /// [`GpuError::NoSuchRenderMesh`].
    pub fn draw(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        id: RenderId,
        instances: Range<u32>,
    ) -> Result<(), GpuError> {
        let (instance, mesh) = self.instance(id)?;
        let part = |range: &Range<u32>, bytes: u64| {
            u64::from(range.start) * bytes..u64::from(range.end) * bytes
        };
        pass.set_vertex_buffer(0, self.vertex_buffer().slice(part(&instance.vertices, 32)));
        if let Some(uvs) = &mesh.uvs {
            pass.set_vertex_buffer(1, uvs.slice(..));
        }
        if let Some(range) = &instance.tangents {
            pass.set_vertex_buffer(2, self.tangent_buffer().slice(part(range, 16)));
        }
        pass.set_index_buffer(mesh.indices.slice(..), wgpu::IndexFormat::Uint32);
        pass.draw_indexed(0..3 * instance.mesh.triangles.len() as u32, 0, instances);
        Ok(())
    }

    /// Device memory in use \[bytes\].
    pub fn memory_bytes(&self) -> u64 {
        let shared = self
            .meshes
            .values()
            .map(|mesh| mesh.indices.size() + mesh.uvs.as_ref().map_or(0, wgpu::Buffer::size));
        let buffers = [
            &self.word_buffer,
            &self.instance_buffer,
            &self.chunk_buffer,
            &self.kept,
            &self.uniforms,
        ];
        let pools = [&self.normals, &self.vertices, &self.tangents];
        shared.sum::<u64>()
            + buffers.map(GrowableBuffer::size).iter().sum::<u64>()
            + pools.map(Pool::size).iter().sum::<u64>()
    }
}
