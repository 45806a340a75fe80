// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// One render mesh bound to the particles of one cloth. Offsets of the mesh are in words of
/// `render_meshes`.
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
    /// First particle in `render_normals`; NO_OFFSET for a mesh without vertex offsets.
    normal_begin: u32,
    /// Bindings of the vertices: three particles, three weights, offset.
    binding_begin: u32,
    /// First corner of each vertex in the list of corners, prefix sums.
    corner_begin: u32,
    /// Number of each vertex's own corners.
    own_begin: u32,
    /// List of corners, two vertices each.
    following_begin: u32,
    /// Texture coordinates.
    uv_begin: u32,
    /// First corner of each particle in the list of corners of particles, prefix sums.
    surface_begin: u32,
    /// List of corners of particles.
    surface_following_begin: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Padding, see `padding_0`.
    padding_1: u32,
    /// Padding, see `padding_0`.
    padding_2: u32,
}

/// Uniform of a dispatch over chunks of vertices or of particles.
struct RenderParameters {
    /// Interpolation weight between the kept particles (0) and the current ones (1).
    alpha: f32,
    /// 1 - alpha.
    kept_fraction: f32,
    /// First chunk in `render_chunks`.
    chunk_begin: u32,
    /// Number of chunks.
    chunk_count: u32,
}

/// A line between two points, each relative to a particle or in local space.
struct DebugLine {
    /// Start relative to its particle [m]; w unused.
    start: vec4<f32>,
    /// End relative to its particle [m]; w unused.
    end: vec4<f32>,
    /// Particle at the start; NO_OFFSET for none.
    start_particle: u32,
    /// Particle at the end; NO_OFFSET for none.
    end_particle: u32,
    /// Colour: red, green, blue, opacity from the lowest byte on.
    colour: u32,
    /// Rest length, if the line is coloured by its strain [m]; 0 to use `colour`.
    rest_length: f32,
    /// Third corner of a triangle whose normal is drawn from its center; NO_OFFSET for any
    /// other line.
    third_particle: u32,
    /// Length of the normal [m].
    normal_length: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Padding, see `padding_0`.
    padding_1: u32,
}

/// Uniform of a list of lines.
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
    /// Strain that is drawn in full red.
    strain_limit: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Padding, see `padding_0`.
    padding_1: u32,
}
