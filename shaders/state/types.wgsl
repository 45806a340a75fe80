// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.
#import state/collider_types
#import state/iteration_types

/// One cloth in one frame: offsets of its data and constants of the whole frame.
struct ClothParameters {
    /// Colliders that it collides with; their first row has the begins of the spheres, which
    /// change most often.
    colliders: ColliderParameters,
    /// Slot in `feedback`.
    cloth: u32,
    /// First particle in `current` and `previous`.
    particle_begin: u32,
    /// Number of particles.
    particle_count: u32,
    /// Iterations of this frame; 0 = the cloth is not simulated.
    iteration_count: u32,
    /// First `IterationConstants` in `frame_pool` [vec4].
    iteration_begin: u32,
    /// First `PhaseConstants` in `frame_pool` [vec4]; with the implicit solver, which has
    /// no phases, its `ImplicitConstants`.
    phase_begin: u32,
    /// Number of phases to solve.
    phase_count: u32,
    /// Matrices of a rotating local space in `frame_pool`, 15 columns, or `NO_OFFSET`.
    rotation_begin: u32,
    /// First vec4 of this cloth in `scratch`.
    scratch_begin: u32,
    /// Remainders of displacements in the cloth's scratch, one row per particle, or
    /// `NO_OFFSET` in long steps and in a rotating local space. With a second-order
    /// correction of velocities as many rows follow with the last moves by constraints, then
    /// as many with predictions.
    remainder_begin: u32,
    /// Acceleration of each particle in `input_pool` [m/s^2], or `NO_OFFSET`.
    acceleration_begin: u32,
    /// Squared iteration step, the factor on accelerations [s^2].
    acceleration_scale: f32,
    /// Largest distance that a particle may move in an iteration [m].
    max_move: f32,
    /// Exponent of the per-edge stiffness, `stiffness_frequency * h`.
    stiffness_exponent: f32,
    /// Share of the second-order correction of velocities.
    second_order: f32,
    /// Offsets of its fabric.
    fabric: FabricOffsets,
    /// Parameters of its tethers.
    tethers: TetherParameters,
    /// Parameters of the air around it.
    air: AirParameters,
    /// Spheres that its particles may not leave.
    motion: MotionParameters,
    /// Spheres that its particles may not enter.
    separation: SeparationParameters,
    /// Parameters of its test for rest.
    sleep: SleepParameters,
    /// Its resistance to bending.
    bending: BendingParameters,
    /// Its resistance to stretch and shear by yarns.
    yarns: YarnParameters,
    /// Parameters of its self collision.
    self_collision: SelfCollisionParameters,
    /// Fills the struct to a multiple of 16 bytes.
    padding: array<u32, 2>,
}

/// Offsets of a packed fabric in `fabric_pool`.
struct FabricOffsets {
    /// First fiber of each set, `[set_count + 1]`.
    set_begin: u32,
    /// First edge of each fiber, `[fiber_count + 1]`.
    fiber_begin: u32,
    /// Vertices of the fibers, `[edge_count + fiber_count]`.
    vertex_begin: u32,
    /// Rest lengths (bit-cast f32 [m]), `[edge_count]`.
    edge_begin: u32,
    /// Both particles of each edge, with `END_OF_FIBER` at the ends of the fiber,
    /// `[2 * edge_count]`.
    ends_begin: u32,
    /// Per-edge `log2(1 - stiffness)` (bit-cast f32), or `NO_OFFSET`.
    edge_stiffness_begin: u32,
    /// Anchor slot of each tether, `[tethers_per_particle * particle_count]`, then their
    /// lengths.
    tether_begin: u32,
    /// Number of tethers per particle.
    tethers_per_particle: u32,
    /// Particle of each anchor slot, `[anchor_count]`.
    anchor_begin: u32,
    /// Number of distinct anchors.
    anchor_count: u32,
    /// Corners of the triangles, `[3 * triangle_count]`.
    triangle_begin: u32,
    /// Number of triangles.
    triangle_count: u32,
    /// First corner of each particle, `[particle_count + 1]`, then the corners: three times the
    /// triangle plus the index of the corner.
    corner_begin: u32,
    /// Data of an implicit solve. Rest shapes of the triangles (bit-cast f32), five arrays with
    /// one number per triangle: weights of the second and the third corner in the derivative by
    /// u, then in that by v [1/m], and areas [m^2]. Then four rate factors per particle: of
    /// stretch along u and along v, of bending [1/m^2], and the mean edge length of its
    /// triangles [m]. Then the first bend end of each particle, `[particle_count + 1]`, and
    /// the bend ends: four times the bend plus the index of the particle. Then chains and
    /// springs.
    element_begin: u32,
    /// First bundle of virtual particles of each set, `[virtual_set_count + 1]`.
    virtual_set_begin: u32,
    /// Number of sets of virtual particles.
    virtual_set_count: u32,
    /// Each bundle: its three corners, its first virtual particle, one past its last.
    virtual_bundle_begin: u32,
    /// Weights of the virtual particles (bit-cast f32), three each.
    virtual_weight_begin: u32,
    /// Largest number of edges of a set of fibers: rows in each half of the fiber rows.
    fiber_row_count: u32,
    /// First bend of each set, `[bend_set_count + 1]`.
    bend_set_begin: u32,
    /// Number of sets of bends.
    bend_set_count: u32,
    /// Each bend: its four particles, rest angle [rad], weight, rest heights of its third and
    /// fourth particle [m], the sine of its rest angle, and the weight of its second particle
    /// in its mean curvature vector [1/m] (bit-cast f32).
    bend_begin: u32,
    /// First yarn of each set, `[yarn_set_count + 1]`.
    yarn_set_begin: u32,
    /// Number of sets of yarns.
    yarn_set_count: u32,
    /// Each yarn: its first point, one past its last, its first row of scratch, its kind.
    yarn_begin: u32,
    /// Each point of a yarn: the ends of its edge, the weight of the second, the share of each,
    /// the rest length of the segment that begins there [m], and that over the breadth
    /// (bit-cast f32).
    yarn_point_begin: u32,
}

/// Strength of tethers; their list is in `FabricOffsets`.
struct TetherParameters {
    /// Stiffness of one tether in an iteration of this frame, already divided by the tethers
    /// per particle.
    stiffness: f32,
    /// Factor on tether lengths.
    scale: f32,
}

/// Air forces on the triangles of a cloth.
struct AirParameters {
    /// Drag coefficient of this step.
    drag: f32,
    /// Lift coefficient of this step.
    lift: f32,
    /// Half the fluid density over the step [kg/m^3/s].
    impulse_scale: f32,
    /// Impulse of the pressure per unnormalised normal of a triangle, for each corner [kg/m].
    pressure_scale: f32,
}

/// Spheres that particles may not leave.
struct MotionParameters {
    /// Spheres at the frame's start in `input_pool`, or `NO_OFFSET`.
    sphere_start: u32,
    /// Spheres at the frame's end.
    sphere_target: u32,
    /// Factor on the radii.
    scale: f32,
    /// Length added to the scaled radii [m].
    bias: f32,
    /// Fraction of the distance outside the sphere that one iteration removes.
    stiffness: f32,
}

/// Spheres that particles may not enter.
struct SeparationParameters {
    /// Spheres at the frame's start in `input_pool`, or `NO_OFFSET`.
    sphere_start: u32,
    /// Spheres at the frame's end.
    sphere_target: u32,
}

/// Parameters of the test for rest.
struct SleepParameters {
    /// Displacement per iteration below which a particle is at rest [m].
    distance: f32,
    /// Iteration step [ms], at least 1.
    step: u32,
    /// Time between tests for rest [ms].
    interval: u32,
    /// Number of passed tests after which the cloth sleeps.
    after_count: u32,
    /// Number of input changes so far; a change restarts the sleep counters.
    wake_count: u32,
}

/// Stiffness and damping of bends; their list is in `FabricOffsets`.
struct BendingParameters {
    /// Bending rigidity times the squared iteration step [N m s^2].
    rigidity: f32,
    /// Damping of bending over its rigidity and the iteration step.
    damping: f32,
}

/// Compliance and damping of yarns; their list is in `FabricOffsets`.
struct YarnParameters {
    /// Compliance of yarns along the warp: 1 over membrane stiffness and squared iteration step
    /// [m/(N s^2)].
    warp_compliance: f32,
    /// Compliance of yarns along the weft.
    weft_compliance: f32,
    /// Compliance of yarns at 45 degrees to both.
    shear_compliance: f32,
    /// Damping time of yarns at 45 degrees over the iteration step.
    shear_damping: f32,
}

/// Uniform of one dispatch: range of cloths, iterations and phases.
struct DispatchParameters {
    /// Entries of `cloth_parameters` in `fabric_pool`, one per cloth.
    list_begin: u32,
    /// Number of cloths; workgroups beyond it are idle.
    cloth_count: u32,
    /// Number of workgroups in a row of the folded dispatch.
    row_width: u32,
    /// First iteration of each cloth.
    iteration_begin: u32,
    /// One past the last iteration (capped by each cloth's count).
    iteration_end: u32,
    /// First phase of each cloth.
    phase_begin: u32,
    /// One past the last phase (capped by each cloth's count).
    phase_end: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}

/// Uniform of a dispatch that scatters rows.
struct ScatterParameters {
    /// Number of rows.
    row_count: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Padding, see `padding_0`.
    padding_1: u32,
    /// Padding, see `padding_0`.
    padding_2: u32,
}

/// Feedback of a cloth.
struct Feedback {
    /// Number of particles that would have become NaN, infinite or farther than
    /// `MAX_COORDINATE`; above 0 the cloth is frozen.
    fault_count: u32,
    /// Lowest of these particles, `NO_OFFSET` if none.
    fault_particle: u32,
    /// Number of iterations since the cloth was added.
    iteration_total: u32,
    /// Value of `iteration_total` when the fault occurred.
    fault_iteration: u32,
    /// Time since the last test for rest [ms].
    sleep_time: u32,
    /// Consecutive passed tests for rest; the cloth sleeps from `sleep_after_count` on.
    sleep_pass_count: u32,
    /// Frames slept in the kernel since the cloth was added.
    sleep_frame_count: u32,
    /// Wake count for which the sleep counters are valid.
    wake_count: u32,
    /// 1 if the cloth slept through the last frame.
    is_asleep: u32,
    /// Number of implicit steps since the cloth was added.
    implicit_steps: u32,
    /// Iterations of all implicit steps.
    implicit_iterations: u32,
    /// Implicit steps accepted without being solved, after the largest number of iterations.
    implicit_unconverged: u32,
    /// Implicit steps that moved nothing, because no finite solution was found.
    implicit_held: u32,
    /// Implicit steps solved only to the rounding of f32, not to their tolerance.
    implicit_floored: u32,
    /// Implicit steps that were rejected and halved.
    implicit_rejections: u32,
    /// Current number of halvings.
    implicit_halvings: u32,
    /// Consecutive steps solved in few iterations, 0 or 1.
    implicit_quick: u32,
}
