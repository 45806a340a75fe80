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
    /// Iterations of this frame; 0 = the cloth is not simulated.
    iteration_count: u32,
    /// First IterationConstants in `frame_pool` [vec4].
    iteration_begin: u32,
    /// First PhaseConstants in `frame_pool` [vec4].
    phase_begin: u32,
    /// Number of phases to solve.
    phase_count: u32,
    /// Matrices of a turning frame in `frame_pool`, 15 columns, or NO_OFFSET.
    turn_begin: u32,
    /// First fiber of each set in `fabric_pool`, [set_count + 1].
    set_begin: u32,
    /// First edge of each fiber in `fabric_pool`, [fiber_count + 1].
    fiber_begin: u32,
    /// Vertices of the fibers in `fabric_pool`, [edge_count + fiber_count].
    vertex_begin: u32,
    /// Rest lengths in `fabric_pool` (bit-cast f32 [m]), [edge_count].
    edge_begin: u32,
    /// Per-edge `log2(1 - stiffness)` in `fabric_pool` (bit-cast f32), or NO_OFFSET.
    edge_stiffness_begin: u32,
    /// Anchor slot of each tether in `fabric_pool`, [tethers_per_particle * particle_count], then their lengths.
    tether_begin: u32,
    /// Tethers of every particle.
    tethers_per_particle: u32,
    /// Particle of each anchor slot in `fabric_pool`, [anchor_count].
    anchor_begin: u32,
    /// Number of anchors.
    anchor_count: u32,
    /// Corners of the triangles in `fabric_pool`, [3 * triangle_count].
    triangle_begin: u32,
    /// Number of triangles.
    triangle_count: u32,
    /// First triangle of each particle, [particle_count + 1], then the triangles, in `fabric_pool`.
    corner_begin: u32,
    /// First vec4 of this cloth in `scratch`.
    scratch_begin: u32,
    /// Acceleration of each particle in `input_pool` [m/s^2], or NO_OFFSET.
    acceleration_begin: u32,
    /// Motion spheres at the frame's start in `input_pool`, or NO_OFFSET.
    motion_start: u32,
    /// Motion spheres at the frame's end.
    motion_target: u32,
    /// Separation spheres at the frame's start in `input_pool`, or NO_OFFSET.
    separation_start: u32,
    /// Separation spheres at the frame's end.
    separation_target: u32,
    /// How often an input has changed; a new count starts the sleep counters anew.
    wake_count: u32,
    /// Squared iteration step, the factor on accelerations [s^2].
    acceleration_scale: f32,
    /// Stiffness of one tether in this frame's iterations, already divided by the tethers per particle.
    tether_stiffness: f32,
    /// Factor on tether lengths.
    tether_scale: f32,
    /// `stiffness_frequency * h`, the exponent of per-edge stiffness.
    stiffness_exponent: f32,
    /// Drag coefficient of this step.
    drag: f32,
    /// Lift coefficient of this step.
    lift: f32,
    /// Half the fluid density over the step [kg/m^3/s].
    wind_scale: f32,
    /// Factor on the radii of the motion spheres.
    motion_scale: f32,
    /// Added to the scaled radii [m].
    motion_bias: f32,
    /// Pull of the motion spheres per iteration.
    motion_stiffness: f32,
    /// Move per iteration below which a particle rests [m].
    sleep_distance: f32,
    /// Iteration step [ms], at least 1.
    sleep_step: u32,
    /// Time between tests for rest [ms].
    sleep_interval: u32,
    /// Passed tests after which the cloth sleeps.
    sleep_after_count: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// See padding_0.
    padding_1: u32,
    /// See padding_0.
    padding_2: u32,
}

/// Constants of one iteration.
struct IterationConstants {
    /// Share of the last move that is kept, per axis; w: share of the frame that is over, 1 in the last iteration.
    velocity_scale: vec4<f32>,
    /// Added to the current position [m]; w unused.
    bias: vec4<f32>,
    /// Added to the position that becomes previous [m]; w unused.
    previous_bias: vec4<f32>,
    /// Move of the frame against the wind [m]; w unused.
    wind: vec4<f32>,
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
    /// Particles that would have become NaN, infinite or farther than [`poplin_model::MAX_COORDINATE`]; above 0 the cloth is frozen.
    fault_count: u32,
    /// The lowest such particle, NO_OFFSET if none.
    fault_particle: u32,
    /// Iterations run since the cloth was added.
    iteration_total: u32,
    /// Iterations run when the fault came.
    fault_iteration: u32,
    /// Time since the last test for rest [ms].
    sleep_time: u32,
    /// Passed tests for rest in a row; from `sleep_after_count` on the cloth sleeps.
    sleep_pass_count: u32,
    /// Frames slept in the kernel since the cloth was added.
    sleep_frame_count: u32,
    /// The wake count that the sleep counters belong to.
    wake_count: u32,
    /// 1 if the cloth slept through the last frame.
    is_asleep: u32,
}
