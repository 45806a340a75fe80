// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// One render mesh with the particles of one cloth. Offsets of its mesh are words of `render_meshes`.
struct RenderInstance {
    /// First particle in the buffer of particles.
    particle_begin: u32,
    /// Number of particles.
    particle_count: u32,
    /// First vertex in `render_vertices`.
    vertex_begin: u32,
    /// Number of vertices.
    vertex_count: u32,
    /// First vertex in `render_tangents`; NO_OFFSET for a mesh without tangents.
    tangent_begin: u32,
    /// First particle in `render_normals`; NO_OFFSET for a mesh that follows particles without offset.
    normal_begin: u32,
    /// What each vertex follows: three particles, three weights, offset.
    binding_begin: u32,
    /// Where the corners of each vertex begin in their list, and one past the last.
    corner_begin: u32,
    /// How many of them are its own.
    own_begin: u32,
    /// The list of corners: two vertices each.
    following_begin: u32,
    /// Texture coordinates.
    uv_begin: u32,
    /// Where the corners of each particle begin in their list, and one past the last.
    surface_begin: u32,
    /// The list of corners of particles.
    surface_following_begin: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Likewise.
    padding_1: u32,
    /// Likewise.
    padding_2: u32,
}

/// The uniform of a dispatch over chunks of vertices or of particles.
struct RenderParameters {
    /// What is drawn lies between the kept particles at 0 and those of now at 1.
    alpha: f32,
    /// 1 - alpha.
    kept_fraction: f32,
    /// First of its chunks in `render_chunks`.
    chunk_begin: u32,
    /// Number of chunks.
    chunk_count: u32,
}

/// A line between two points, each beside a particle or in local space.
struct DebugLine {
    /// Where it starts beside its particle [m]; w unused.
    start: vec4<f32>,
    /// Where it ends beside its particle [m]; w unused.
    end: vec4<f32>,
    /// Particle that it starts at; NO_OFFSET for none.
    start_particle: u32,
    /// Particle that it ends at; NO_OFFSET for none.
    end_particle: u32,
    /// Red, green, blue, opacity from the lowest byte on.
    colour: u32,
    /// Length at which its strain is 0, by which it is coloured then [m]; 0 for its colour.
    rest_length: f32,
    /// Third corner of a triangle, of which this is the normal, from the middle on; NO_OFFSET for another line.
    third_particle: u32,
    /// Length of the normal [m].
    normal_length: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Likewise.
    padding_1: u32,
}

/// The uniform of a list of lines.
struct DebugParameters {
    /// First column of the matrix from local to clip space.
    clip_x: vec4<f32>,
    /// Second column.
    clip_y: vec4<f32>,
    /// Third column.
    clip_z: vec4<f32>,
    /// Fourth column.
    clip_w: vec4<f32>,
    /// First particle of the cloth in the buffer of particles.
    particle_begin: u32,
    /// Strain that is drawn red.
    strain_limit: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Likewise.
    padding_1: u32,
}
