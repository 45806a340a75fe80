//! Parameters of the kernels that compute render vertices.

use bytemuck::cast;
use poplin_model::RenderMesh;

use crate::gpu_struct::gpu_struct;
use crate::{BINDING_WORDS, NO_OFFSET, StructDescription};

/// Structs of render meshes, in the order of `shaders/render/types.wgsl`.
pub const RENDER_STRUCTS: &[StructDescription] = &[
    RenderInstance::DESCRIPTION,
    RenderParameters::DESCRIPTION,
    DebugLine::DESCRIPTION,
    DebugParameters::DESCRIPTION,
];

gpu_struct! {
    /// One render mesh bound to the particles of one cloth. Offsets of the mesh are in words of
    /// `render_meshes`.
    pub struct RenderInstance {
        /// First particle in the buffer of particles.
        pub particle_begin: u32,
        /// Number of particles.
        pub particle_count: u32,
        /// First vertex in `render_vertices`.
        pub vertex_begin: u32,
        /// Number of vertices.
        pub vertex_count: u32,
        /// First vertex in `render_tangents`; NO_OFFSET for a mesh without tangents.
        pub tangent_begin: u32,
        /// First particle in `render_normals`; NO_OFFSET for a mesh without vertex offsets.
        pub normal_begin: u32,
        /// Bindings of the vertices: three particles, three weights, offset.
        pub binding_begin: u32,
        /// First corner of each vertex in the list of corners, prefix sums.
        pub corner_begin: u32,
        /// Number of each vertex's own corners.
        pub own_begin: u32,
        /// List of corners, two vertices each.
        pub following_begin: u32,
        /// Texture coordinates.
        pub uv_begin: u32,
        /// First corner of each particle in the list of corners of particles, prefix sums.
        pub surface_begin: u32,
        /// List of corners of particles.
        pub surface_following_begin: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// Padding, see `padding_0`.
        pub padding_1: u32,
        /// Padding, see `padding_0`.
        pub padding_2: u32,
    }
}

gpu_struct! {
    /// Uniform of a dispatch over chunks of vertices or of particles.
    pub struct RenderParameters {
        /// Interpolation weight between the kept particles (0) and the current ones (1).
        pub alpha: f32,
        /// 1 - alpha.
        pub kept_fraction: f32,
        /// First chunk in `render_chunks`.
        pub chunk_begin: u32,
        /// Number of chunks.
        pub chunk_count: u32,
    }
}

gpu_struct! {
    /// A line between two points, each relative to a particle or in local space.
    pub struct DebugLine {
        /// Start relative to its particle \[m\]; w unused.
        pub start: [f32; 4],
        /// End relative to its particle \[m\]; w unused.
        pub end: [f32; 4],
        /// Particle at the start; NO_OFFSET for none.
        pub start_particle: u32,
        /// Particle at the end; NO_OFFSET for none.
        pub end_particle: u32,
        /// Colour: red, green, blue, opacity from the lowest byte on.
        pub colour: u32,
        /// Rest length, if the line is coloured by its strain \[m\]; 0 to use `colour`.
        pub rest_length: f32,
        /// Third corner of a triangle whose normal is drawn from its center; NO_OFFSET for any
        /// other line.
        pub third_particle: u32,
        /// Length of the normal \[m\].
        pub normal_length: f32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// Padding, see `padding_0`.
        pub padding_1: u32,
    }
}

gpu_struct! {
    /// Uniform of a list of lines.
    pub struct DebugParameters {
        /// First column of the matrix from local to clip space.
        pub clip_x: [f32; 4],
        /// Second column.
        pub clip_y: [f32; 4],
        /// Third column.
        pub clip_z: [f32; 4],
        /// Fourth column.
        pub clip_w: [f32; 4],
        /// First particle of the cloth in the buffer of particles.
        pub particle_begin: u32,
        /// Strain that is drawn in full red.
        pub strain_limit: f32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// Padding, see `padding_0`.
        pub padding_1: u32,
    }
}

impl RenderInstance {
    /// Shifts the offsets of the mesh by `begin` words.
    #[must_use]
    pub fn moved_by(self, begin: u32) -> Self {
        let moved = |offset: u32| if offset == NO_OFFSET { NO_OFFSET } else { offset + begin };
        Self {
            binding_begin: moved(self.binding_begin),
            corner_begin: moved(self.corner_begin),
            own_begin: moved(self.own_begin),
            following_begin: moved(self.following_begin),
            uv_begin: moved(self.uv_begin),
            surface_begin: moved(self.surface_begin),
            surface_following_begin: moved(self.surface_following_begin),
            ..self
        }
    }
}

/// Appends a valid render mesh to `words`. Returns an instance with the offsets of its parts
/// relative to the start of `words`, and no particles or vertices assigned yet.
pub fn pack_render_mesh(mesh: &RenderMesh, words: &mut Vec<u32>) -> RenderInstance {
    let mut append = |part: &mut dyn Iterator<Item = u32>| {
        let begin = words.len() as u32;
        words.extend(part);
        begin
    };
    let bindings = mesh.bindings.iter().flat_map(|binding| {
        let [a, b, c] = binding.particles;
        let [u, v, w] = binding.weights.map(f32::to_bits);
        let words: [u32; BINDING_WORDS as usize] = [a, b, c, u, v, w, binding.offset.to_bits()];
        words
    });
    // Floats are stored as their bits.
    let uvs = mesh.uvs.iter().flat_map(|&uv| cast::<_, [u32; 2]>(uv));
    let flat = |pairs: &[[u32; 2]]| pairs.iter().copied().flatten().collect::<Vec<_>>();
    RenderInstance {
        particle_begin: NO_OFFSET,
        particle_count: mesh.particle_count,
        vertex_begin: NO_OFFSET,
        vertex_count: mesh.vertex_count() as u32,
        tangent_begin: NO_OFFSET,
        normal_begin: NO_OFFSET,
        binding_begin: append(&mut bindings.into_iter()),
        corner_begin: append(&mut mesh.corners.begin.iter().copied()),
        own_begin: append(&mut mesh.own_corner_counts.iter().copied()),
        following_begin: append(&mut flat(&mesh.corners.following).into_iter()),
        uv_begin: append(&mut uvs.into_iter()),
        surface_begin: append(&mut mesh.surface.begin.iter().copied()),
        surface_following_begin: append(&mut flat(&mesh.surface.following).into_iter()),
        padding_0: 0,
        padding_1: 0,
        padding_2: 0,
    }
}
