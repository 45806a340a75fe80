// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Number of partial sums over particles in an implicit solve; each adds every `SOLVE_PARTS`-th
/// particle.
const SOLVE_PARTS: u32 = 256u;

/// Number of sums of partial sums, of `SOLVE_PARTS / SOLVE_SUMS` each.
const SOLVE_SUMS: u32 = 16u;

/// Number of rows of the state of an implicit solve.
const SOLVE_STATE_ROWS: u32 = 7u;

/// Number of arrays of an implicit solve with one row per particle.
const SOLVE_PARTICLE_ARRAYS: u32 = 9u;

/// Array of displacements without internal forces [m]; w: inverse masses.
const SOLVE_PREDICTIONS: u32 = 0u;

/// Array of displacements [m]; w: masses.
const SOLVE_MOVES: u32 = 1u;

/// Array of residuals [m].
const SOLVE_RESIDUALS: u32 = 2u;

/// Array of residuals of the trial step [m].
const SOLVE_TRIALS: u32 = 3u;

/// Array of search directions [m].
const SOLVE_DIRECTIONS: u32 = 4u;

/// Array of bending gradients that are kept between checks [N].
const SOLVE_FORCES: u32 = 5u;

/// Array of contact planes: normals, w: largest displacements along them [m].
const SOLVE_PLANES: u32 = 6u;

/// Array of displacements by inertia only [m]; during the solve their increment per step
/// [m].
const SOLVE_INERTIA: u32 = 7u;

/// Array of displacements in this step of the shapes at contact planes [m]; w: factors of the
/// shapes on friction.
const SOLVE_TRAVELS: u32 = 8u;

/// Squared rate times squared step, over the squared number of iterations, up to which the very
/// first step is not halved: a sheet takes about 1.75 iterations per unit of the root of the
/// former.
const SOLVE_FIRST_REACH: f32 = 0.174;

/// Factor on the initial squared residual above which a step is halved.
const SOLVE_WORSE: f32 = 1000000.0;

/// Number of rows of a link of a chain: columns of its coupling and the diagonal of the pivot's
/// inverse, then the rest of the inverse.
const SOLVE_CHAIN_ROWS: u32 = 4u;

/// Number of iterations of an implicit solve after which its chains are factored again, a
/// multiple of those between checks.
const SOLVE_FACTOR_INTERVAL: u32 = 20u;

/// Ratio of the depth in a shape to that under the contact plane above which the plane is
/// replaced.
const SOLVE_PLANE_DEPTH: f32 = 2.0;

/// State of an implicit solve: start with the residual at the prediction.
const SOLVE_START: f32 = 0.0;

/// State of an implicit solve: line search along a direction.
const SOLVE_LINE: f32 = 1.0;

/// State of an implicit solve: compute the residual at the current positions.
const SOLVE_CHECK: f32 = 2.0;

/// State of an implicit solve: done.
const SOLVE_DONE: f32 = 3.0;

/// Number of iterations of an implicit solve between checks, with the mass preconditioner.
const SOLVE_CHECK_INTERVAL: u32 = 10u;

/// Largest ratio of the step along a direction to the trial step that measured it.
const SOLVE_GROWTH: f32 = 4.0;

/// Fraction of the last squared residual below which the next one, computed by recurrence, is
/// rounding noise.
const SOLVE_EXHAUSTED: f32 = 1e-5;

/// Relative rounding error of the terms of a force.
const SOLVE_ROUNDING: f32 = 2.4e-7;

/// Ratio of the squared residual of a solved step to the squared tolerance above which the step
/// counts as floored.
const SOLVE_FLOORED: f32 = 16.0;

/// Largest product of squared rate and squared step.
const SOLVE_MAX_REACH: f32 = 1e30;

/// Largest sum of an implicit solve that counts as finite.
const SOLVE_MAX: f32 = 1e37;
