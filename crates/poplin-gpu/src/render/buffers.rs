//! Access to the buffers of render meshes, and drawing.

use std::ops::Range;

use super::{Instance, RenderId, RenderMeshes, SharedMesh};
use crate::Error;
use crate::growable::GrowableBuffer;
use crate::pool::Pool;

impl RenderMeshes {
    fn instance(&self, id: RenderId) -> Result<(&Instance, &SharedMesh), Error> {
        let instance = self.instances.get(&id).ok_or(Error::NoSuchRenderMesh)?;
        let mesh = self.meshes.get(&instance.mesh).ok_or(Error::NoSuchRenderMesh)?;
        Ok((instance, mesh))
    }

    /// Buffer of all vertices, [`poplin_model::RenderVertex`] each. Replaced when an added mesh
    /// does not fit.
    pub fn vertex_buffer(&self) -> &wgpu::Buffer {
        self.vertices.buffer(0)
    }

    /// Range of a mesh's vertices in [`RenderMeshes::vertex_buffer`].
    ///
    /// # Errors
    /// [`Error::NoSuchRenderMesh`].
    pub fn vertex_range(&self, id: RenderId) -> Result<Range<u32>, Error> {
        self.instance(id).map(|(instance, _)| instance.vertices.clone())
    }

    /// Buffer of all tangents, `[f32; 4]` each. Replaced when an added mesh does not fit.
    pub fn tangent_buffer(&self) -> &wgpu::Buffer {
        self.tangents.buffer(0)
    }

    /// Range of a mesh's tangents in [`RenderMeshes::tangent_buffer`], if it has any.
    ///
    /// # Errors
    /// [`Error::NoSuchRenderMesh`].
    pub fn tangent_range(&self, id: RenderId) -> Result<Option<Range<u32>>, Error> {
        self.instance(id).map(|(instance, _)| instance.tangents.clone())
    }

    /// Buffer of a mesh's triangle indices, `u32`, from 0 for each mesh, and their number.
    ///
    /// # Errors
    /// [`Error::NoSuchRenderMesh`].
    pub fn index_buffer(&self, id: RenderId) -> Result<(&wgpu::Buffer, u32), Error> {
        let (instance, mesh) = self.instance(id)?;
        Ok((&mesh.indices, 3 * instance.mesh.triangles.len() as u32))
    }

    /// Buffer of a mesh's texture coordinates, `[f32; 2]` per vertex, if it has any.
    ///
    /// # Errors
    /// [`Error::NoSuchRenderMesh`].
    pub fn uv_buffer(&self, id: RenderId) -> Result<Option<&wgpu::Buffer>, Error> {
        self.instance(id).map(|(_, mesh)| mesh.uvs.as_ref())
    }

    /// Binds the buffers of a mesh in the layouts [`RenderMeshes::VERTEX_LAYOUT`],
    /// [`RenderMeshes::UV_LAYOUT`] and [`RenderMeshes::TANGENT_LAYOUT`] and draws it. A pipeline
    /// may omit either of the last two.
    ///
    /// # Errors
    /// [`Error::NoSuchRenderMesh`].
    pub fn draw(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        id: RenderId,
        instances: Range<u32>,
    ) -> Result<(), Error> {
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
