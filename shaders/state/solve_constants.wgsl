// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Parts into which an implicit solve cuts its sums over particles: one of every so many particles each.
const SOLVE_PARTS: u32 = 256u;

/// Sums of parts, of as many parts each.
const SOLVE_SUMS: u32 = 16u;

/// Rows of the state of an implicit solve.
const SOLVE_STATE_ROWS: u32 = 7u;

/// Arrays of a row a particle of an implicit solve.
const SOLVE_PARTICLE_ARRAYS: u32 = 8u;

/// Arrays of an implicit solve: displacements without forces of the cloth [m], inverse masses.
const SOLVE_PREDICTIONS: u32 = 0u;

/// Displacements [m], masses.
const SOLVE_MOVES: u32 = 1u;

/// Residuals [m].
const SOLVE_RESIDUALS: u32 = 2u;

/// Residuals of the trial [m].
const SOLVE_TRIALS: u32 = 3u;

/// Directions [m].
const SOLVE_DIRECTIONS: u32 = 4u;

/// Gradients of bending that are held between checks [N].
const SOLVE_FORCES: u32 = 5u;

/// Planes of contact: normals, largest displacements along them [m]; after the solve the pushes that it bore [m].
const SOLVE_PLANES: u32 = 6u;

/// What inertia alone moves them by [m]; in the solve what is added to that in each step [m].
const SOLVE_INERTIA: u32 = 7u;

/// Squared rate times squared step up to which the very first step is not halved, over the squared number of its iterations: a sheet
/// takes about 1.75 times the root of the former.
const SOLVE_FIRST_REACH: f32 = 0.174;

/// Factor on its squared residual at the start from which a step is halved.
const SOLVE_WORSE: f32 = 1000000.0;

/// Rows of a link of a chain: columns of its coupling, diagonal of the pivot's inverse; the rest of that.
const SOLVE_CHAIN_ROWS: u32 = 4u;

/// Iterations of an implicit solve after which its chains are factored again, a multiple of those between checks.
const SOLVE_FACTOR_INTERVAL: u32 = 20u;

/// Depth in a shape over that under the plane of contact beyond which there is a new plane.
const SOLVE_PLANE_DEPTH: f32 = 2.0;

/// An implicit solve begins with what is left at the prediction.
const SOLVE_START: f32 = 0.0;

/// It looks along a direction.
const SOLVE_LINE: f32 = 1.0;

/// It takes what is left where it is.
const SOLVE_CHECK: f32 = 2.0;

/// It is done.
const SOLVE_DONE: f32 = 3.0;

/// Iterations of an implicit solve between checks, by the mass.
const SOLVE_CHECK_INTERVAL: u32 = 10u;

/// Largest step along a direction over the trial that measured it.
const SOLVE_GROWTH: f32 = 4.0;

/// Fraction of the last squared residual below which the next one, by recurrence, is rounding.
const SOLVE_EXHAUSTED: f32 = 1e-5;

/// Relative rounding of a force's terms.
const SOLVE_ROUNDING: f32 = 2.4e-7;

/// Largest squared rate times squared step.
const SOLVE_MAX_REACH: f32 = 1e30;

/// Largest sum of an implicit solve that counts as finite.
const SOLVE_MAX: f32 = 1e37;
