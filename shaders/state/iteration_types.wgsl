// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

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
