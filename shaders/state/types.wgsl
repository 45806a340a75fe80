/// Marks an offset that points nowhere.
const NO_OFFSET: u32 = 0xffffffffu;

/// One cloth in one frame: where its data is and the constants of the frame.
struct ClothFrame {
    /// Slot in `feedback`.
    cloth: u32,
    /// First particle in `current` and `previous`.
    particle_begin: u32,
    /// Number of particles.
    particle_count: u32,
    /// Iterations of this frame.
    iteration_count: u32,
    /// First iteration constants in `frame_pool`.
    iteration_begin: u32,
    /// First phase constants in `frame_pool`.
    phase_begin: u32,
    /// Number of phases to solve.
    phase_count: u32,
    /// First fiber of each set in `fabric_pool`.
    set_begin: u32,
    /// First edge of each fiber in `fabric_pool`.
    fiber_begin: u32,
    /// Vertices of the fibers in `fabric_pool`.
    vertex_begin: u32,
    /// Rest lengths in `fabric_pool` [m].
    edge_begin: u32,
    /// Per-edge log2(1 - stiffness) in `fabric_pool`, or NO_OFFSET.
    edge_stiffness_begin: u32,
    /// Anchor slots, then lengths, of the tethers in `fabric_pool`.
    tether_begin: u32,
    /// Tethers of every particle.
    tethers_per_particle: u32,
    /// Particle of each anchor slot in `fabric_pool`.
    anchor_begin: u32,
    /// Number of anchors.
    anchor_count: u32,
    /// First vec4 in `scratch`.
    scratch_begin: u32,
    /// Accelerations in `input_pool` [m/s^2], or NO_OFFSET.
    acceleration_begin: u32,
    /// Squared iteration step [s^2].
    acceleration_scale: f32,
    /// Stiffness of one tether per iteration, divided by the tethers per particle.
    tether_stiffness: f32,
    /// Factor on tether lengths.
    tether_scale: f32,
    /// stiffness_frequency * h, the exponent of per-edge stiffness.
    stiffness_exponent: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding: vec2<u32>,
}

/// Constants of one iteration.
struct IterationConstants {
    /// Share of the last move that is kept, per axis.
    velocity_scale: vec4<f32>,
    /// Added to the current position [m].
    bias: vec4<f32>,
    /// Added to the position that becomes previous [m].
    previous_bias: vec4<f32>,
}

/// Constants of one configured phase.
struct PhaseConstants {
    /// Share of an edge's error removed per iteration.
    stiffness: f32,
    /// Share of the error between the limits that is left alone.
    multiplier: f32,
    /// 1 - 1/compression_limit, at most 0.
    compression: f32,
    /// 1 - 1/stretch_limit, at least 0.
    stretch: f32,
    /// First set.
    set_begin: u32,
    /// One past the last set.
    set_end: u32,
    /// Fills the struct to two vec4.
    padding: vec2<u32>,
}

/// Which cloths and which iterations one dispatch works.
struct DispatchParameters {
    /// First entry of `cloth_frames`.
    cloth_begin: u32,
    /// Number of cloths; workgroups beyond it do nothing.
    cloth_count: u32,
    /// Workgroups in a row of the folded dispatch.
    row_width: u32,
    /// First iteration.
    iteration_begin: u32,
    /// One past the last iteration.
    iteration_end: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// See padding_0.
    padding_1: u32,
    /// See padding_0.
    padding_2: u32,
}

/// What a cloth reports back.
struct Feedback {
    /// Particles that would have left the number range; above 0 the cloth is frozen.
    fault_count: u32,
    /// The lowest such particle.
    fault_particle: u32,
    /// Iterations run since the cloth was added.
    iteration_total: u32,
    /// Iterations run when the fault came.
    fault_iteration: u32,
}
