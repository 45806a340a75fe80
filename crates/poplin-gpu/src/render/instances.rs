//! Adding and removing of render meshes: ranges in the buffers, shared mesh data.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::cast_slice;
use poplin_layout::pack_render_mesh;
use poplin_model::{ModelError, RenderMesh};

use super::{Instance, RenderId, RenderMeshes, SharedMesh};
use crate::{Error, scope};

impl RenderMeshes {
    /// Adds a render mesh of the cloth with these particles ([`crate::GpuEngine::particle_range`]).
    /// Cloths with the same `Arc` share its indices and texture coordinates. Remove the mesh when
    /// the cloth is removed: its particles will be reused for other cloths.
    ///
    /// # Errors
    /// [`Error`] if the mesh is not valid, has a different number of particles, or is too large
    /// for the device; then nothing is added.
    pub fn add(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
    ) -> Result<RenderId, Error> {
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
    ) -> Result<RenderId, Error> {
        self.add_with(mesh, particles, true)
    }

    fn add_with(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
        has_tangents: bool,
    ) -> Result<RenderId, Error> {
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
        // The new mesh's particles were not kept, so the next encode draws all meshes without
        // interpolation.
        self.is_kept = false;
        Ok(id)
    }

    /// Allocates the ranges of a new instance, or none of them.
    fn allocate(
        &mut self,
        mesh: &Arc<RenderMesh>,
        particles: Range<u32>,
        has_tangents: bool,
    ) -> Result<Instance, Error> {
        let count = mesh.vertex_count() as u32;
        let mut instance = Instance {
            mesh: mesh.clone(),
            particles,
            vertices: self.vertices.allocate(&self.device, count)?,
            tangents: None,
            normals: None,
        };
        let mut fill = || -> Result<(), Error> {
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
    fn acquire(&mut self, mesh: &Arc<RenderMesh>) -> Result<(), Error> {
        let Self { meshes, words, word_ranges, word_buffer, device, queue, usages, .. } = self;
        let mut is_replaced = false;
        let pack = || -> Result<SharedMesh, Error> {
            mesh.validate()?;
            let mut packed_words = Vec::new();
            let packed = pack_render_mesh(mesh, &mut packed_words);
            let buffer = |label, contents: &[u8], usage| {
                let bytes = contents.len().next_multiple_of(4) as u64;
                scope::create_buffer(device, label, usage | *usages, bytes, contents)
            };
            let indices = buffer(
                "poplin.render.indices",
                cast_slice(&mesh.triangles),
                wgpu::BufferUsages::INDEX,
            )?;
            let uvs = (!mesh.uvs.is_empty()).then(|| {
                buffer("poplin.render.uvs", cast_slice(&mesh.uvs), wgpu::BufferUsages::VERTEX)
            });
            let uvs = uvs.transpose()?;
            let range = word_ranges.allocate(packed_words.len() as u32).map_err(|full| {
                let (bytes, limit) = (4 * full.needed, 4 * u64::from(full.limit));
                Error::TooLarge { buffer: word_buffer.name(), bytes, limit }
            })?;
            let (begin, end) = (range.start as usize, range.end as usize);
            let len = words.len().max(end);
            is_replaced = word_buffer
                .grow(device, 4 * len as u64)
                .inspect_err(|_| word_ranges.free(range.clone()))?;
            words.resize(len, 0);
            words[begin..end].copy_from_slice(&packed_words);
            // A new buffer needs all words, the old one only the new words.
            let written = if is_replaced { 0..words.len() } else { begin..end };
            let offset = 4 * written.start as u64;
            queue.write_buffer(word_buffer.buffer(), offset, cast_slice(&words[written]));
            // Offsets in packed words are relative to their begin.
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
    /// [`Error::NoSuchRenderMesh`].
    pub fn remove(&mut self, id: RenderId) -> Result<(), Error> {
        let instance = self.instances.remove(&id).ok_or(Error::NoSuchRenderMesh)?;
        self.free(&instance);
        self.release(&instance.mesh);
        let ends = self.instances.values().map(|instance| instance.particles.end);
        self.particle_end = ends.max().unwrap_or(0);
        self.is_stale = true;
        Ok(())
    }
}
