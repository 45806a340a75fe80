// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Constants of one iteration, rows of `frame_pool`.
struct IterationConstants {
    /// Fraction of the last displacement that is kept, per axis; w: elapsed fraction of the
    /// frame, 1 in the last iteration.
    velocity_scale: vec4<f32>,
    /// Offset added to the current position [m]; w: elapsed fraction of the frame in the last
    /// iteration, 0 in the first.
    bias: vec4<f32>,
    /// Offset added to the position that becomes previous [m]; w: 1 if remainders of the
    /// iteration before are known, else 0.
    previous_bias: vec4<f32>,
    /// Displacement of the local space relative to the wind [m]; w: 3, the corner count of a
    /// triangle, a divisor hidden from compilers.
    wind: vec4<f32>,
}

/// Constants of one configured phase in one frame, rows of `frame_pool`.
struct PhaseConstants {
    /// Fraction of an edge's error removed per iteration.
    stiffness: f32,
    /// Fraction of the error between the limits that is not corrected,
    /// `1 - multiplier^exponent`.
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
    /// Fiber solver: one of the `SOLVER` constants.
    fiber_solver: u32,
    /// Compliance of an edge in its soft range in a semi-implicit fiber, over the sum of its
    /// inverse masses.
    softness: f32,
    /// Number of rounds of cyclic reduction.
    round_count: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}

/// Constants of an implicit solver in one frame, rows of `frame_pool`: those of whole steps, of
/// half steps and so on. Stiffnesses include damping.
struct ImplicitConstants {
    /// First row of the solve in the cloth's scratch, after those of the earlier stages.
    solve_begin: u32,
    /// Model of stretch: one of the `STRETCH` constants.
    stretch_model: u32,
    /// Model of bending: one of the `BEND` constants.
    bend_model: u32,
    /// Largest number of iterations of a step.
    max_iterations: u32,
    /// Stiffness along u, or Lamé's lambda of a trispring [N/m].
    stiffness_u: f32,
    /// Stiffness along v, or Lamé's mu of a trispring [N/m].
    stiffness_v: f32,
    /// Shear stiffness [N/m].
    shear_stiffness: f32,
    /// Stiffness along u in the estimate of frequencies [N/m].
    rate_u: f32,
    /// Stiffness along v in the estimate of frequencies [N/m].
    rate_v: f32,
    /// Bending rigidity [N m].
    rigidity: f32,
    /// Weight of the last step's shape in the effective rest shape of stretch and shear, which
    /// models damping.
    stretch_memory: f32,
    /// Weight of the rest shape in the effective rest shape: the remainder.
    rest_fraction: f32,
    /// Weight of the last step's shape in the effective rest shape of bending.
    bend_memory: f32,
    /// Squared step [s^2].
    step_square: f32,
    /// Tolerance of the residual [m].
    tolerance: f32,
    /// Stiffness of contact with colliders [N/m].
    contact_stiffness: f32,
    /// Preconditioner: one of the `PRECONDITIONER` constants.
    preconditioner: u32,
    /// Number of iterations between checks.
    check_interval: u32,
    /// Largest step along a direction.
    max_step: f32,
    /// Largest number of evaluations of a whole step.
    evaluation_count: u32,
    /// Largest number of halvings.
    max_halvings: u32,
    /// Length of a step in units of `2^-max_halvings` of a whole step.
    tick_count: u32,
    /// Length of a step as a fraction of a whole step.
    fraction: f32,
    /// Number of steps in a whole step.
    split: f32,
    /// Factor on the stiffness of springs that are shorter than at rest.
    compression: f32,
    /// Weight of the rest shape in the effective rest shape of bending.
    bend_rest_fraction: f32,
    /// Number of iterations of a whole step after which no part of it is halved, and each is
    /// accepted at its first check.
    iteration_budget: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}
