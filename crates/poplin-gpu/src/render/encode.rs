//! Recording of the passes that compute render vertices.

use std::ops::Range;

use bytemuck::cast_slice;
use poplin_layout::{NO_OFFSET, RENDER_LANES, RenderInstance, RenderParameters};

use super::RenderMeshes;
use crate::binding::{UNIFORM_STRIDE, bind_group, push_uniform};
use crate::{Error, GpuEngine};

/// Size of a particle \[bytes\].
const PARTICLE_BYTES: u64 = 16;

/// Number of encodings after which a uniform slot is reused.
const SLOTS: usize = 32;

impl RenderMeshes {
    /// Records [`RenderMeshes::keep`] and then a frame of the engine, for an application that
    /// interpolates. Added or replaced particles are not interpolated from their earlier positions.
    /// Several frames per submission need [`crate::EngineOptions::frames_per_submit`].
    ///
    /// # Errors
    /// As [`crate::GpuEngine::encode_frame`] and [`RenderMeshes::keep`].
    pub fn encode_frame(
        &mut self,
        engine: &mut GpuEngine,
        encoder: &mut wgpu::CommandEncoder,
        dt: f32,
    ) -> Result<(), Error> {
        // First, so that added particles are on the device before they are kept.
        engine.encode_changes(encoder)?;
        self.keep(encoder, engine.particle_buffer())?;
        engine.encode_frame(encoder, dt)
    }

    /// Records a copy of the present particles, which alpha 0 then draws. Call it before every
    /// frame, as [`RenderMeshes::encode_frame`] does; without interpolation it is not needed.
    ///
    /// # Errors
    /// [`Error::ShortBuffer`] if the buffer does not hold the particles of all meshes,
    /// [`Error::TooLarge`].
    pub fn keep(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        particles: &wgpu::Buffer,
    ) -> Result<(), Error> {
        let len = self.check_particles(particles)?;
        if len > 0 {
            if self.kept.grow(&self.device, len)? {
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
    ) -> Result<(), Error> {
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
        // Encodings before a submission must not overwrite each other's uniforms.
        let offset = self.slot as u64 * bytes.len() as u64;
        if self.uniforms.grow(&self.device, SLOTS as u64 * bytes.len() as u64)? {
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
        // A dispatch is limited per dimension, so large counts use a second one.
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
    fn check_particles(&self, particles: &wgpu::Buffer) -> Result<u64, Error> {
        let needed = PARTICLE_BYTES * u64::from(self.particle_end);
        if particles.size() < needed {
            let (buffer, bytes) = ("the buffer of particles", particles.size());
            return Err(Error::ShortBuffer { buffer, bytes, needed });
        }
        Ok(needed)
    }

    fn upload_instances(&mut self) -> Result<(), Error> {
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
            // Particle normals are needed only for vertices that are offset from the cloth.
            let particles = instance.normals.as_ref().map_or(0, |_| mesh.packed.particle_count);
            for (list, count) in chunks.iter_mut().zip([particles, mesh.packed.vertex_count]) {
                // A chunk is an instance and its first element; one workgroup handles one chunk.
                list.extend((0..count).step_by(RENDER_LANES as usize).map(|first| [index, first]));
            }
        }
        self.chunk_counts = [chunks[0].len() as u32, chunks[1].len() as u32];
        let chunks = chunks.concat();
        let Self { instance_buffer, chunk_buffer, bind_group, device, queue, .. } = self;
        // A buffer that was replaced needs a new bind group, also if the next one fails.
        let uploads: [(_, &[u8]); 2] =
            [(instance_buffer, cast_slice(&packed)), (chunk_buffer, cast_slice(&chunks))];
        for (buffer, bytes) in uploads {
            if buffer.upload(device, queue, bytes)? {
                *bind_group = None;
            }
        }
        self.is_stale = false;
        Ok(())
    }

    fn bind(&mut self, particles: &wgpu::Buffer) {
        // The application may pass a different buffer every time.
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
}
