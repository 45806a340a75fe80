// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

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

/// What a cloth collides with in one frame. Offsets of lists without entries mean nothing.
struct ColliderParameters {
    /// Spheres at the frame's start in `input_pool`.
    sphere_start: u32,
    /// Spheres at the frame's end.
    sphere_target: u32,
    /// Number of spheres.
    sphere_count: u32,
    /// Number of capsules.
    capsule_count: u32,
    /// Indices of the two spheres of each capsule in `input_pool`, one vec4 each.
    capsule_begin: u32,
    /// Number of planes.
    plane_count: u32,
    /// Planes at the frame's start in `input_pool`.
    plane_start: u32,
    /// Planes at the frame's end.
    plane_target: u32,
    /// Number of boxes.
    box_count: u32,
    /// Corner and edges of each box at the frame's start in `input_pool`, four vec4 each.
    box_start: u32,
    /// Boxes at the frame's end.
    box_target: u32,
    /// Vertices of the mesh at the frame's start in `input_pool`.
    vertex_start: u32,
    /// Vertices of the mesh at the frame's end.
    vertex_target: u32,
    /// Vertices of each triangle of the mesh in `input_pool`, one vec4 each.
    triangle_begin: u32,
    /// Number of triangles of the mesh.
    triangle_count: u32,
    /// Tree over the triangles in `input_pool`, two vec4 a node.
    triangle_tree_begin: u32,
    /// Nodes of that tree.
    triangle_tree_count: u32,
    /// 1 if the mesh is closed: then nothing outside of its bounds is behind it.
    is_mesh_closed: u32,
    /// Tree over the free spheres in `input_pool`.
    sphere_tree_begin: u32,
    /// Nodes of that tree.
    sphere_tree_count: u32,
    /// Tree over the free capsules in `input_pool`.
    capsule_tree_begin: u32,
    /// Nodes of that tree.
    capsule_tree_count: u32,
    /// Lists of indices in `input_pool`, four to a vec4; the offsets of the lists below count indices.
    number_begin: u32,
    /// Spheres that belong to no body.
    free_sphere_begin: u32,
    /// Capsules that belong to no body.
    free_capsule_begin: u32,
    /// Convexes that belong to no body.
    free_convex_begin: u32,
    /// How many.
    free_convex_count: u32,
    /// Boxes that belong to no body.
    free_box_begin: u32,
    /// How many.
    free_box_count: u32,
    /// First capsule of each sphere, `[sphere_count + 1]`, then the capsules that end in it.
    sphere_capsule_begin: u32,
    /// First plane of each convex, `[convex_count + 1]`, then the planes.
    convex_plane_begin: u32,
    /// Number of convexes.
    convex_count: u32,
    /// Rigid bodies in `input_pool`, eight vec4 each.
    body_begin: u32,
    /// Number of bodies.
    body_count: u32,
    /// The running iteration's shapes in the cloth's scratch: spheres (2 vec4), capsules (6), planes (1), boxes (4).
    prepared_begin: u32,
    /// What each particle remembers of the mesh in the cloth's scratch, two vec4 each.
    nearest_begin: u32,
    /// Impulses on bodies in the cloth's scratch.
    impulse_begin: u32,
    /// Coefficient of friction.
    friction: f32,
    /// Factors on friction, one per sphere, capsule, convex, box and triangle, or `NO_OFFSET` if all are 1.
    friction_factor_begin: u32,
    /// Length below which pushes and slides count less in friction [m].
    friction_slop: f32,
    /// 1 if friction moves particles back, 0 if it only slows them down.
    friction_holds: u32,
    /// Gain of mass by the squared push [1/m^2].
    mass_scale: f32,
    /// Factor on the radii beyond which a particle that ends there is not caught.
    continuous_reach: f32,
    /// How far a particle comes out of a shape that it was in before, in one iteration [m].
    depenetration_step: f32,
    /// Longest path of a vertex of the mesh in one iteration, huge if the mesh has jumped [m].
    mesh_step: f32,
    /// Iteration step [s].
    step: f32,
    /// Fraction of a frame's motion that falls to one iteration.
    iteration_fraction: f32,
}

/// How a cloth collides with itself in one frame.
struct SelfCollisionParameters {
    /// Distance at which particles are kept apart [m], 0 = off.
    distance: f32,
    /// Fraction of an overlap removed per iteration.
    stiffness: f32,
    /// Fraction of the sideways motion of touching particles lost per iteration.
    friction: f32,
    /// Largest displacement of a particle by its velocity in an iteration [m], 0 = unlimited.
    max_move: f32,
    /// One over the edge of a grid cell [1/m].
    inverse_cell: f32,
    /// Particles that take part.
    member_count: u32,
    /// Indices of these particles in `input_pool`, four to a vec4, or `NO_OFFSET` for all.
    member_begin: u32,
    /// Positions at rest in `input_pool`.
    rest_begin: u32,
    /// The sorted particles in the cloth's scratch, three vec4 each.
    grid_begin: u32,
}

/// Constants of one iteration, rows of `frame_pool`.
struct IterationConstants {
    /// Fraction of the last displacement that is kept, per axis; w: fraction of the frame that is over, 1 in the last iteration.
    velocity_scale: vec4<f32>,
    /// Added to the current position [m]; w: fraction of the frame that was over in the last iteration, 0 in the first.
    bias: vec4<f32>,
    /// Added to the position that becomes previous [m]; w unused.
    previous_bias: vec4<f32>,
    /// Displacement of the local space against the wind [m]; w: corners of a triangle, 3, a divisor that no compiler may see.
    wind: vec4<f32>,
}

/// Constants of one configured phase in one frame, rows of `frame_pool`.
struct PhaseConstants {
    /// Fraction of an edge's error removed per iteration.
    stiffness: f32,
    /// Fraction of the error between the limits that is left alone, `1 - multiplier^exponent`.
    multiplier: f32,
    /// `1 - 1/compression_limit`, at most 0.
    compression: f32,
    /// `1 - 1/stretch_limit`, at least 0.
    stretch: f32,
    /// First set.
    set_begin: u32,
    /// One past the last set.
    set_end: u32,
    /// Compliance over the squared iteration step [1/kg].
    compliance: f32,
    /// Compliance times damping over the iteration step.
    damping: f32,
    /// How fibers are solved: one of the `SOLVER` constants.
    fiber_solver: u32,
    /// Compliance of an edge in its soft range in a semi-implicit fiber, over the sum of its inverse masses.
    softness: f32,
    /// Rounds of cyclic reduction.
    round_count: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}

/// Constants of an implicit solver in one frame, rows of `frame_pool`: those of whole steps, of half steps and so on. Stiffnesses
/// are those with their damping.
struct ImplicitConstants {
    /// First row of the solve in the cloth's scratch: behind those of the stages before it.
    solve_begin: u32,
    /// What resists stretch: one of the `STRETCH` constants.
    stretch_model: u32,
    /// What resists bending: one of the `BEND` constants.
    bend_model: u32,
    /// Iterations in which a step must be solved.
    max_iterations: u32,
    /// Stiffness along u, or lambda of Lamé of a trispring [N/m].
    stiffness_u: f32,
    /// Stiffness along v, or mu of Lamé of a trispring [N/m].
    stiffness_v: f32,
    /// Stiffness of shear [N/m].
    shear_stiffness: f32,
    /// What the rate along u counts [N/m].
    rate_u: f32,
    /// What the rate along v counts [N/m].
    rate_v: f32,
    /// Bending rigidity [N m].
    rigidity: f32,
    /// Fraction of the last step in the shape that stretch and shear resist a change of.
    stretch_memory: f32,
    /// Fraction of the shape at rest in it: what is left.
    rest_fraction: f32,
    /// The same of bending.
    bend_memory: f32,
    /// Squared step [s^2].
    step_square: f32,
    /// What may be left of a residual [m].
    tolerance: f32,
    /// Stiffness of contact with colliders [N/m].
    contact_stiffness: f32,
    /// What directions are improved by: one of the `PRECONDITIONER` constants.
    preconditioner: u32,
    /// Iterations between checks.
    check_interval: u32,
    /// Largest step along a direction.
    max_step: f32,
    /// Most evaluations of a whole step.
    evaluation_count: u32,
    /// How often a step may be halved.
    max_halvings: u32,
    /// Parts of a whole step that a step has, of `2^max_halvings`.
    tick_count: u32,
    /// Fraction of a whole step.
    fraction: f32,
    /// Steps in a whole one.
    split: f32,
    /// Fraction of their stiffness that springs have where they are shorter than at rest.
    compression: f32,
    /// Fraction of the shape at rest in the shape that bends resist a change of.
    bend_rest_fraction: f32,
    /// Iterations of a whole step behind which no part of it is halved, and each is taken as it is at its first check.
    iteration_budget: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
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
