// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.
#import state/collider_types
#import state/iteration_types

/// One cloth in one frame: where its data is and the constants that hold for the whole frame.
struct ClothParameters {
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
    /// First `PhaseConstants` in `frame_pool` [vec4]; with the implicit solver, which has none, its `ImplicitConstants`.
    phase_begin: u32,
    /// Number of phases to solve.
    phase_count: u32,
    /// Matrices of a rotating local space in `frame_pool`, 15 columns, or `NO_OFFSET`.
    rotation_begin: u32,
    /// First vec4 of this cloth in `scratch`.
    scratch_begin: u32,
    /// Acceleration of each particle in `input_pool` [m/s^2], or `NO_OFFSET`.
    acceleration_begin: u32,
    /// Squared iteration step, the factor on accelerations [s^2].
    acceleration_scale: f32,
    /// Largest distance of a particle from where it was an iteration ago [m].
    max_move: f32,
    /// `stiffness_frequency * h`, the exponent of per-edge stiffness.
    stiffness_exponent: f32,
    /// Its fabric.
    fabric: FabricOffsets,
    /// How its tethers hold.
    tethers: TetherParameters,
    /// The air around it.
    air: AirParameters,
    /// Spheres that its particles may not leave.
    motion: MotionParameters,
    /// Spheres that its particles may not enter.
    separation: SeparationParameters,
    /// When it rests.
    sleep: SleepParameters,
    /// Its resistance to bending.
    bending: BendingParameters,
    /// How it collides with itself.
    self_collision: SelfCollisionParameters,
    /// What it collides with.
    colliders: ColliderParameters,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}

/// Where a packed fabric lies in `fabric_pool`.
struct FabricOffsets {
    /// First fiber of each set, `[set_count + 1]`.
    set_begin: u32,
    /// First edge of each fiber, `[fiber_count + 1]`.
    fiber_begin: u32,
    /// Vertices of the fibers, `[edge_count + fiber_count]`.
    vertex_begin: u32,
    /// Rest lengths (bit-cast f32 [m]), `[edge_count]`.
    edge_begin: u32,
    /// Both particles of each edge, with `END_OF_FIBER` where the fiber ends, `[2 * edge_count]`.
    ends_begin: u32,
    /// Per-edge `log2(1 - stiffness)` (bit-cast f32), or `NO_OFFSET`.
    edge_stiffness_begin: u32,
    /// Anchor slot of each tether, `[tethers_per_particle * particle_count]`, then their lengths.
    tether_begin: u32,
    /// Tethers of every particle.
    tethers_per_particle: u32,
    /// Particle of each anchor slot, `[anchor_count]`.
    anchor_begin: u32,
    /// Number of different anchors.
    anchor_count: u32,
    /// Corners of the triangles, `[3 * triangle_count]`.
    triangle_begin: u32,
    /// Number of triangles.
    triangle_count: u32,
    /// First corner of each particle, `[particle_count + 1]`, then the corners: three times the triangle plus which of its three.
    corner_begin: u32,
    /// For an implicit solve. Rest shapes of the triangles (bit-cast f32), five arrays of a number a triangle: how derivatives by u
    /// weigh the second and the third corner, how those by v do [1/m], and areas [m^2]. Then what stiffnesses are multiplied with at each particle, four numbers:
    /// for rates of stretch along u and along v, of bending [1/m^2], and the mean length of the edges of its triangles [m].
    /// Then the first bend end of each particle, `[particle_count + 1]`, and these: four times the bend plus which of its
    /// four. Then chains and springs.
    element_begin: u32,
    /// First bundle of virtual particles of each set, `[virtual_set_count + 1]`.
    virtual_set_begin: u32,
    /// Number of sets of virtual particles.
    virtual_set_count: u32,
    /// Each bundle: its three corners, its first virtual particle, one past its last.
    virtual_bundle_begin: u32,
    /// Weights of the virtual particles (bit-cast f32), three each.
    virtual_weight_begin: u32,
    /// Most edges of a set of fibers: rows in each half of those of whole fibers.
    fiber_row_count: u32,
    /// First bend of each set, `[bend_set_count + 1]`.
    bend_set_begin: u32,
    /// Number of sets of bends.
    bend_set_count: u32,
    /// Each bend: its four particles, its rest angle [rad], its weight, the heights of its third and fourth particle at rest
    /// [m], the sine of its rest angle, and what its second particle weighs in its mean curvature vector [1/m] (bit-cast
    /// f32).
    bend_begin: u32,
}

/// How tethers hold; which there are is in `FabricOffsets`.
struct TetherParameters {
    /// Stiffness of one tether in this frame's iterations, already divided by the tethers per particle.
    stiffness: f32,
    /// Factor on tether lengths.
    scale: f32,
}

/// The air on a cloth's triangles.
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
    /// Added to the scaled radii [m].
    bias: f32,
    /// Fraction of the distance to the sphere that one iteration takes back.
    stiffness: f32,
}

/// Spheres that particles may not enter.
struct SeparationParameters {
    /// Spheres at the frame's start in `input_pool`, or `NO_OFFSET`.
    sphere_start: u32,
    /// Spheres at the frame's end.
    sphere_target: u32,
}

/// When a cloth rests.
struct SleepParameters {
    /// Displacement per iteration below which a particle rests [m].
    distance: f32,
    /// Iteration step [ms], at least 1.
    step: u32,
    /// Time between tests for rest [ms].
    interval: u32,
    /// Passed tests after which the cloth sleeps.
    after_count: u32,
    /// How often an input has changed; a new count restarts the sleep counters.
    wake_count: u32,
}

/// Stiffness and damping of bends; which there are is in `FabricOffsets`.
struct BendingParameters {
    /// Bending rigidity times the squared iteration step [N m s^2].
    rigidity: f32,
    /// Damping of bending over its rigidity and the iteration step.
    damping: f32,
}

/// The uniform of one dispatch: which cloths and which iterations.
struct DispatchParameters {
    /// Entries of `cloth_parameters` in `fabric_pool`, one per cloth.
    list_begin: u32,
    /// Number of cloths; workgroups beyond it do nothing.
    cloth_count: u32,
    /// Workgroups in a row of the folded dispatch.
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

/// The uniform of a dispatch that writes rows: how many.
struct ScatterParameters {
    /// Number of rows.
    row_count: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// As `padding_0`.
    padding_1: u32,
    /// As `padding_0`.
    padding_2: u32,
}

/// What a cloth reports back.
struct Feedback {
    /// Particles that would have become NaN, infinite or farther than `MAX_COORDINATE`; above 0 the cloth is frozen.
    fault_count: u32,
    /// The lowest such particle, `NO_OFFSET` if none.
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
    /// Implicit steps since the cloth was added.
    implicit_steps: u32,
    /// Iterations of all of them.
    implicit_iterations: u32,
    /// Those that were taken as they were after the most iterations.
    implicit_unconverged: u32,
    /// Those in which nothing moved, as nothing finite was found.
    implicit_held: u32,
    /// Those that were taken back and halved.
    implicit_rejections: u32,
    /// How often steps are halved.
    implicit_halvings: u32,
    /// Steps in a row that were solved in few iterations, 0 or 1.
    implicit_quick: u32,
}
