// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// One cloth in one collision of cloths.
struct ContactCloth {
    /// Local x axis in the world; w unused.
    axis_x: vec4<f32>,
    /// Local y axis in the world.
    axis_y: vec4<f32>,
    /// Local z axis in the world.
    axis_z: vec4<f32>,
    /// Origin of the local space in the world [m].
    origin: vec4<f32>,
    /// Change of the local x axis in the last iteration.
    turn_x: vec4<f32>,
    /// Change of the local y axis in the last iteration.
    turn_y: vec4<f32>,
    /// Change of the local z axis in the last iteration.
    turn_z: vec4<f32>,
    /// Displacement of the origin in the last iteration [m].
    shift: vec4<f32>,
    /// First particle in `current` and `previous`.
    particle_begin: u32,
    /// Number of particles.
    particle_count: u32,
    /// First row of its contacts.
    row_begin: u32,
    /// Slot in `feedback`.
    cloth: u32,
    /// Groups that the cloth belongs to.
    group: u32,
    /// Groups that the cloth collides with.
    mask: u32,
    /// Half the distance that it keeps [m].
    radius: f32,
    /// Displacement per iteration above which a particle of another cloth wakes this one [m].
    wake_distance: f32,
}

/// Uniform of one collision of cloths.
struct ContactParameters {
    /// First entry of `contact_cloths`.
    cloth_begin: u32,
    /// Number of cloths.
    cloth_count: u32,
    /// Number of particles of all cloths.
    row_count: u32,
    /// Number of buckets of the grid, a power of two.
    bucket_count: u32,
    /// Inverse edge length of a cell [1/m].
    cell_scale: f32,
    /// Fraction of an overlap removed per pass.
    stiffness: f32,
    /// Fraction of the tangential motion removed per pass.
    friction: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}
