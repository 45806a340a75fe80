//! Constants shared by Rust and the shaders; `shaders/state/constants.wgsl` is generated from this
//! table.

use std::mem::offset_of;

use poplin_model::{BendModel, FiberSolver, PhaseKind, StretchModel, VertexBinding};

use crate::gpu_struct::shared_constants;
use crate::{Feedback, ImplicitConstants, IterationConstants, PhaseConstants};

/// Size of one row of a pool of `vec4<f32>` \[bytes\].
const ROW_BYTES: usize = size_of::<[f32; 4]>();
/// Size of one word of `feedback` \[bytes\].
const WORD_BYTES: usize = size_of::<u32>();

shared_constants! {
    /// Every shared constant, in the order of the shader file.
    CONSTANTS;

    /// Offset of an array that does not exist.
    pub const NO_OFFSET: u32 = u32::MAX;
    /// Rows of [`IterationConstants`] in `frame_pool`.
    pub const ITERATION_ROWS: u32 = (size_of::<IterationConstants>() / ROW_BYTES) as u32;
    /// Rows of [`PhaseConstants`] in `frame_pool`.
    pub const PHASE_ROWS: u32 = (size_of::<PhaseConstants>() / ROW_BYTES) as u32;
    /// Rows of [`ImplicitConstants`] in `frame_pool`.
    pub const IMPLICIT_ROWS: u32 = (size_of::<ImplicitConstants>() / ROW_BYTES) as u32;
    /// `PhaseConstants.fiber_solver`: one edge after the other.
    pub const SOLVER_GAUSS_SEIDEL: u32 = FiberSolver::GaussSeidel as u32;
    /// `PhaseConstants.fiber_solver`: all edges of a fiber as one system.
    pub const SOLVER_SEMI_IMPLICIT: u32 = FiberSolver::SemiImplicit as u32;
    /// `PhaseConstants.fiber_solver`: all edges of a fiber as one system, with many lanes.
    pub const SOLVER_CYCLIC_REDUCTION: u32 = FiberSolver::CyclicReduction as u32;

    /// Number of lanes of a workgroup that scatters rows.
    pub const SCATTER_LANES: u32 = 64;
    /// Bits of a scatter address that hold the row of its target.
    pub const ROW_MASK: u32 = (1 << 30) - 1;
    /// Scatter target `cloth_parameters`.
    pub const ROW_OF_PARAMETERS: u32 = 0;
    /// Scatter target `frame_pool`.
    pub const ROW_OF_FRAME: u32 = 1 << 30;
    /// Scatter target `input_pool`.
    pub const ROW_OF_INPUTS: u32 = 2 << 30;
    /// Scatter target `current`.
    pub const ROW_OF_PARTICLES: u32 = 3 << 30;

    /// Number of lanes of a workgroup that computes render vertices; also the items of a chunk.
    pub const RENDER_LANES: u32 = 64;
    /// Number of words of a `VertexBinding` in `render_meshes`.
    pub const BINDING_WORDS: u32 = (size_of::<VertexBinding>() / WORD_BYTES) as u32;
    /// Squared sum of the cross products around a vertex below which it has no normal [m^4].
    pub const MIN_SHADED_SQUARE: f32 = 1.0e-36;

    /// Flag of an edge end (`FabricOffsets.ends_begin`) at which its fiber ends.
    pub const END_OF_FIBER: u32 = 1 << 31;
    /// Bits of an edge end that hold the particle.
    pub const PARTICLE_MASK: u32 = END_OF_FIBER - 1;

    /// Guard added to squared lengths before a square root or division: the f32 machine epsilon.
    pub const EPSILON: f32 = f32::EPSILON;
    /// Largest simulated coordinate \[m\]; keeps its square finite.
    pub const MAX_COORDINATE: f32 = poplin_model::MAX_COORDINATE;
    /// Squared displacement relative to the air below which a triangle is at rest in it [m^2]:
    /// where its direction could not be computed.
    pub const MIN_FLOW_SQUARE: f32 = 1.0e-30;
    /// Squared length of a triangle's normal below which it has no direction [m^4].
    pub const MIN_NORMAL_SQUARE: f32 = 1.0e-30;
    /// Half a rotation \[rad\].
    pub const PI: f32 = std::f32::consts::PI;
    /// Full rotation \[rad\].
    pub const TAU: f32 = std::f32::consts::TAU;

    /// Squared length below which an edge has no direction [m^2].
    pub const MIN_EDGE_SQUARE: f32 = 1.0e-30;
    /// Smallest pivot, as a fraction of the diagonal, of an edge to a pin in a fiber that has a pin
    /// before. In a straight fiber between two pins the pivot is 0 because its edges contradict
    /// each other: solved together, errors of d would throw particles out of the fiber by about d /
    /// sqrt(fraction), and pins that approach each other would make the cloth burst. The coupling
    /// to the previous edge is reduced to keep the fraction; a compliance well above the inverse
    /// masses keeps it anyway.
    pub const MIN_HELD_FRACTION: f32 = 0.5;
    /// Smallest pivot, as a fraction of the diagonal, of any other edge, where only rounding can
    /// reduce it.
    pub const MIN_PIVOT_FRACTION: f32 = 1.0e-6;

    /// Squared ratio of a triangle's height to its longer side below which it has no normal.
    pub const MIN_HEIGHT_SQUARE: f32 = 1.0e-10;
    /// Squared length below which an edge cannot act as a hinge [m^2].
    pub const MIN_HINGE_SQUARE: f32 = 1.0e-24;
    /// Stiffness times the squared step below which a bend is skipped [N m s^2].
    pub const MIN_BEND_STIFFNESS: f32 = 1.0e-30;

    /// Number of words of a bend in `fabric_pool`.
    pub const BEND_WORDS: u32 = 10;
    /// Number of words of a yarn in `fabric_pool`.
    pub const YARN_WORDS: u32 = 4;
    /// Number of words of a point of a yarn in `fabric_pool`.
    pub const YARN_POINT_WORDS: u32 = 7;
    /// Kind of a yarn at 45 degrees to warp and weft.
    pub const YARN_SHEAR: u32 = 0;
    /// Kind of a yarn along the weft.
    pub const YARN_WEFT: u32 = 1;
    /// Kind of a yarn along the warp.
    pub const YARN_WARP: u32 = 2;
    /// Number of values of a triangle's rest shape in `fabric_pool`.
    pub const SHAPE_WORDS: u32 = 5;
    /// `ImplicitConstants.stretch_model`: threads and the angle between them.
    pub const STRETCH_THREADS: u32 = StretchModel::StretchShear as u32;
    /// `ImplicitConstants.stretch_model`: three coupled springs per triangle.
    pub const STRETCH_TRISPRING: u32 = StretchModel::Trispring as u32;
    /// `ImplicitConstants.stretch_model`: springs along edges.
    pub const STRETCH_SPRINGS: u32 = StretchModel::Springs as u32;
    /// `ImplicitConstants.bend_model`: the dihedral angle between two triangles.
    pub const BEND_FACE_ANGLE: u32 = BendModel::FaceAngle as u32;
    /// `ImplicitConstants.bend_model`: the distance of a corner from the plane of the other
    /// triangle.
    pub const BEND_PLANE_PROJECTION: u32 = BendModel::PlaneProjection as u32;
    /// `ImplicitConstants.bend_model`: the mean curvature vector.
    pub const BEND_ISOMETRIC: u32 = BendModel::Isometric as u32;
    /// `ImplicitConstants.bend_model`: springs along two-ring edges.
    pub const BEND_SPRINGS: u32 = BendModel::Springs as u32;
    /// Number of kinds of springs of an implicit solve.
    pub const SPRING_KINDS: u32 = PhaseKind::ALL.len() as u32;
    /// Spring along the warp.
    pub const SPRING_VERTICAL: u32 = PhaseKind::Vertical as u32;
    /// Spring along the weft.
    pub const SPRING_HORIZONTAL: u32 = PhaseKind::Horizontal as u32;
    /// Spring along a diagonal.
    pub const SPRING_SHEARING: u32 = PhaseKind::Shearing as u32;
    /// Number of partial sums over particles in an implicit solve; each adds every `SOLVE_PARTS`-th
    /// particle.
    pub const SOLVE_PARTS: u32 = 256;
    /// Number of sums of partial sums, of `SOLVE_PARTS / SOLVE_SUMS` each.
    pub const SOLVE_SUMS: u32 = 16;
    /// Number of rows of the state of an implicit solve.
    pub const SOLVE_STATE_ROWS: u32 = 7;
    /// Number of arrays of an implicit solve with one row per particle.
    pub const SOLVE_PARTICLE_ARRAYS: u32 = 9;
    /// Array of displacements without internal forces \[m\]; w: inverse masses.
    pub const SOLVE_PREDICTIONS: u32 = 0;
    /// Array of displacements \[m\]; w: masses.
    pub const SOLVE_MOVES: u32 = 1;
    /// Array of residuals \[m\].
    pub const SOLVE_RESIDUALS: u32 = 2;
    /// Array of residuals of the trial step \[m\].
    pub const SOLVE_TRIALS: u32 = 3;
    /// Array of search directions \[m\].
    pub const SOLVE_DIRECTIONS: u32 = 4;
    /// Array of bending gradients that are kept between checks \[N\].
    pub const SOLVE_FORCES: u32 = 5;
    /// Array of contact planes: normals, w: largest displacements along them \[m\].
    pub const SOLVE_PLANES: u32 = 6;
    /// Array of displacements by inertia only \[m\]; during the solve their increment per step
    /// \[m\].
    pub const SOLVE_INERTIA: u32 = 7;
    /// Array of displacements in this step of the shapes at contact planes \[m\]; w: factors of the
    /// shapes on friction.
    pub const SOLVE_TRAVELS: u32 = 8;
    /// Squared rate times squared step, over the squared number of iterations, up to which the very
    /// first step is not halved: a sheet takes about 1.75 iterations per unit of the root of the
    /// former.
    pub const SOLVE_FIRST_REACH: f32 = 0.174;
    /// Factor on the initial squared residual above which a step is halved.
    pub const SOLVE_WORSE: f32 = 1.0e6;
    /// Number of rows of a link of a chain: columns of its coupling and the diagonal of the pivot's
    /// inverse, then the rest of the inverse.
    pub const SOLVE_CHAIN_ROWS: u32 = 4;
    /// Number of iterations of an implicit solve after which its chains are factored again, a
    /// multiple of those between checks.
    pub const SOLVE_FACTOR_INTERVAL: u32 = 20;
    /// Determinant below which a pivot is replaced by its diagonal. Without rounding it is at least
    /// 1.
    pub const MIN_DETERMINANT: f32 = 0.5;
    /// Ratio of the depth in a shape to that under the contact plane above which the plane is
    /// replaced.
    pub const SOLVE_PLANE_DEPTH: f32 = 2.0;
    /// `ImplicitConstants.preconditioner`: mass only.
    pub const PRECONDITIONER_MASS: u32 = poplin_model::Preconditioner::Mass as u32;
    /// `ImplicitConstants.preconditioner`: the Hessian along chains.
    pub const PRECONDITIONER_FIBERS: u32 = poplin_model::Preconditioner::Fibers as u32;
    /// State of an implicit solve: start with the residual at the prediction.
    pub const SOLVE_START: f32 = 0.0;
    /// State of an implicit solve: line search along a direction.
    pub const SOLVE_LINE: f32 = 1.0;
    /// State of an implicit solve: compute the residual at the current positions.
    pub const SOLVE_CHECK: f32 = 2.0;
    /// State of an implicit solve: done.
    pub const SOLVE_DONE: f32 = 3.0;
    /// Number of iterations of an implicit solve between checks, with the mass preconditioner.
    pub const SOLVE_CHECK_INTERVAL: u32 = 10;
    /// Largest ratio of the step along a direction to the trial step that measured it.
    pub const SOLVE_GROWTH: f32 = 4.0;
    /// Fraction of the last squared residual below which the next one, computed by recurrence, is
    /// rounding noise.
    pub const SOLVE_EXHAUSTED: f32 = 1.0e-5;
    /// Relative rounding error of the terms of a force.
    pub const SOLVE_ROUNDING: f32 = 2.4e-7;
    /// Ratio of the squared residual of a solved step to the squared tolerance above which the step
    /// counts as floored.
    pub const SOLVE_FLOORED: f32 = 16.0;
    /// Largest product of squared rate and squared step.
    pub const SOLVE_MAX_REACH: f32 = 1.0e30;
    /// Largest sum of an implicit solve that counts as finite.
    pub const SOLVE_MAX: f32 = 1.0e37;

    /// Stride of a cell's y in its bucket index. The 27 cells around a point have 27 different
    /// buckets for every power of two of at least 256 buckets, so that no particle is found twice.
    pub const CELL_STRIDE_Y: u32 = 89;
    /// Stride of a cell's z in its bucket index.
    pub const CELL_STRIDE_Z: u32 = 7921;

    /// Number of parts of the self-collision grid for the prefix sum of its counts.
    pub const GRID_PARTS: u32 = 64;
    /// Largest cell coordinate of self collision; particles beyond it are in the last cells.
    pub const SELF_MAX_CELL: f32 = 65536.0;
    /// Distance up to which two particles of a cloth coincide \[m\]; the square of a smaller
    /// distance may be flushed to 0.
    pub const MIN_DISTANCE: f32 = 1.0e-15;
    /// Fraction of their rest distance at which particles are kept that rest closer than the
    /// contact distance.
    pub const SELF_COLLISION_REST_FRACTION: f32 = poplin_model::SELF_COLLISION_REST_FRACTION;
    /// Square of [`SELF_COLLISION_REST_FRACTION`].
    pub const REST_FRACTION_SQUARE: f32 =
        SELF_COLLISION_REST_FRACTION * SELF_COLLISION_REST_FRACTION;
    /// Over-relaxation of the pushes if a particle has several contacts.
    pub const RELAXATION: f32 = 1.5;

    /// Number of rows of a prepared sphere: now and one iteration ago.
    pub const SPHERE_ROWS: u32 = 2;
    /// Number of rows of a prepared capsule: its cone now and one iteration ago.
    pub const CAPSULE_ROWS: u32 = 6;
    /// Rows of the motion of a convex: rotation, center at the frame's start, its shift.
    pub const CONVEX_TWIST_ROWS: u32 = 3;
    /// Number of rows of a prepared box: its corner, then the inward normal of three faces and the
    /// box's thickness along each.
    pub const BOX_ROWS: u32 = 4;
    /// Number of rows of the nearest triangle cached per particle.
    pub const NEARBY_ROWS: u32 = 2;

    /// Number of particles whose impulses on bodies are summed by one lane.
    pub const CHUNK: u32 = 16;
    /// Number of rows of a rigid body in `input_pool`.
    pub const BODY_INPUT_ROWS: u32 = 8;
    /// Number of rows of a body in scratch over a frame, before those of the chunks: impulse and
    /// number of contacts, angular impulse, mass and pins in contact.
    pub const BODY_ROWS: u32 = 3;
    /// Number of rows of each chunk of particles per body.
    pub const CHUNK_ROWS: u32 = 2;

    /// Number of lanes of a workgroup of the contact kernels.
    pub const CONTACT_LANES: u32 = 64;
    /// Number of buckets that one workgroup scans.
    pub const SCAN_BLOCK: u32 = 1024;
    /// Largest cell coordinate of contact between cloths; keeps integers exact and neighbours in
    /// range.
    pub const CONTACT_MAX_CELL: f32 = 1.0e9;
    /// Squared distance below which two particles coincide [m^2].
    pub const MIN_SQUARE: f32 = 1.0e-30;
    /// Triangle contact: squared sine of the angle below which two sides of a triangle, or two
    /// edges, count as parallel.
    pub const TRIANGLE_SLIVER: f32 = 1.0e-9;
    /// Fraction of its rest distance that a pair keeps if it is closer at rest than its thickness.
    pub const TRIANGLE_REST: f32 = 0.9;
    /// Barycentric weight below which the closest point counts as lying on the side, or end,
    /// opposite to the corner.
    pub const TRIANGLE_BORDER: f32 = 1.0e-3;
    /// Barycentric weight of the corner beyond a side above which a vertex is over that face;
    /// larger than [`TRIANGLE_BORDER`], so that no vertex is over neither.
    pub const TRIANGLE_BEYOND: f32 = 2.0e-3;
    /// Number of multiplier iterations per round for each configured pass of contact.
    pub const TRIANGLE_SWEEPS: u32 = 4;
    /// Over-relaxation of the multipliers; converges below 2, since the mass of a pair is divided
    /// among its contacts.
    pub const TRIANGLE_RELAXATION: f32 = 1.8;
    /// Number of words of a face in `triangle_simplices`: its rows, its owned features, and the
    /// rows beyond its sides.
    pub const TRIANGLE_FACE_WORDS: u32 = 7;
    /// Fraction of an overlap that a round removes, without adding velocity.
    pub const TRIANGLE_RECOVERY: f32 = 0.2;
    /// Number of lanes of the workgroup of `triangle_iterate_pinned`.
    pub const TRIANGLE_PINNED_LANES: u32 = 256;
    /// Number of additional iterations while pins or colliders come too near.
    pub const TRIANGLE_MORE_ITERATIONS: u32 = 64;
    /// Distance beyond its thickness, as a fraction of the reserve, within which a pair is solved
    /// before anything pushes it.
    pub const TRIANGLE_EAGER: f32 = 0.2;
    /// Fraction of a gap that a round may close.
    pub const TRIANGLE_APPROACH: f32 = 0.5;
    /// Gap that no move may close, in thicknesses, as a margin for rounding.
    pub const TRIANGLE_LEAST_GAP: f32 = 0.002;
    /// `TriangleCandidate.kind`: a vertex and the three corners of a face.
    pub const TRIANGLE_VERTEX_FACE: u32 = 0;
    /// `TriangleCandidate.kind`: two edges.
    pub const TRIANGLE_EDGE_EDGE: u32 = 1;
    /// `TriangleCandidate.kind`: a vertex and a point of a plane, three times.
    pub const TRIANGLE_VERTEX_PLANE: u32 = 2;
    /// Largest deviation of a row from its path by contact in a round, in thicknesses; the rest
    /// waits for the next round.
    pub const TRIANGLE_RESERVE: f32 = 0.25;
    /// Relative motion of both sides of a pair in a round after contact, in thicknesses, following
    /// the response. A longer motion makes the linearisation at the start of the round less valid
    /// at its end.
    pub const TRIANGLE_REACH: f32 = 2.0;
    /// Fraction to which a round is shortened if pins or colliders press more than the response has
    /// pushed.
    pub const TRIANGLE_PRESSED_PART: f32 = 0.25;
    /// Largest motion of a pin or collider in a round after contact, in thicknesses.
    pub const TRIANGLE_STRIDE: f32 = 0.2;
    /// Largest number of rounds into which a slice is divided because of fast rows.
    pub const TRIANGLE_MAX_ROUNDS: u32 = 128;
    /// Largest number of rounds after the colliders have arrived.
    pub const TRIANGLE_MAX_LATE_ROUNDS: u32 = 8;
    /// Largest number of times that a round repeats its broad phase for unexpectedly held rows
    /// before any row may be held.
    pub const TRIANGLE_MAX_REPEATS: u32 = 4;
    /// Distance from their targets, in thicknesses, within which rows need no further round at the
    /// end of a slice.
    pub const TRIANGLE_ARRIVED: f32 = 0.02;
    /// Largest remaining fraction of that distance for which a round after the arrival of the
    /// colliders is followed by another.
    pub const TRIANGLE_GAIN: f32 = 0.75;

    /// Section of `triangle_moves`, one row each: positions at the start of the round \[m\].
    pub const TRIANGLE_STARTS: u32 = 0;
    /// Section of `triangle_moves`: moves in this round \[m\].
    pub const TRIANGLE_MOVES: u32 = 1;
    /// Section of `triangle_moves`: moves without contact \[m\].
    pub const TRIANGLE_AIMS: u32 = 2;
    /// Section of `triangle_moves`: positions after the slice \[m\].
    pub const TRIANGLE_TARGETS: u32 = 3;
    /// Section of `triangle_moves`: corrections of the previous positions \[m\].
    pub const TRIANGLE_CARRIES: u32 = 4;
    /// Section of `triangle_moves`: direction of the pair that held the row back most; 0 if none
    /// did.
    pub const TRIANGLE_BLOCKS: u32 = 5;
    /// Section of `triangle_moves`: positions at the start of the slice \[m\].
    pub const TRIANGLE_BEGUN: u32 = 6;
    /// Section of `triangle_moves`: positions computed by the solver \[m\].
    pub const TRIANGLE_WANTED: u32 = 7;
    /// Section of `triangle_moves`: collider positions before the frame \[m\].
    pub const TRIANGLE_FRAME_STARTS: u32 = 8;
    /// Section of `triangle_moves`: collider positions after the frame \[m\].
    pub const TRIANGLE_FRAME_ENDS: u32 = 9;
    /// Section of `triangle_moves`: rotations of spheres, capsules and planes over the frame, axis
    /// times angle \[rad\]; 0 for other rows.
    pub const TRIANGLE_SPINS: u32 = 10;
    /// Section of `triangle_moves`: the same rotations over the slice \[rad\].
    pub const TRIANGLE_TURNS: u32 = 11;
    /// First section of the swept bounds: for each group of three axes the lowest coordinates at
    /// both ends, then the highest at both ends \[m\].
    pub const TRIANGLE_STEPS: u32 = 12;
    /// Number of groups of three axes of the swept bounds: the coordinate axes, and the diagonals
    /// between each two of them.
    pub const TRIANGLE_AXES: u32 = 3;
    /// Number of sections of the swept bounds, and of rows of the bounds of a node.
    pub const TRIANGLE_PATH: u32 = 4 * TRIANGLE_AXES;
    /// Length of a diagonal axis, rounded up.
    pub const TRIANGLE_DIAGONAL: f32 = 1.414_215;
    /// Number of sections of `triangle_moves`.
    pub const TRIANGLE_SECTIONS: u32 = TRIANGLE_STEPS + TRIANGLE_PATH;

    /// Index in `RoundState.gates` of the passes of every round.
    pub const TRIANGLE_DUE: u32 = 0;
    /// Index in `RoundState.gates` of the passes that a repeated round skips.
    pub const TRIANGLE_FRESH: u32 = 1;
    /// Index in `RoundState.gates` of the passes that reduce overlaps.
    pub const TRIANGLE_OVERLAPS: u32 = 2;
    /// Number of words of a body. The first seven: lowest and highest corner as ordered bits,
    /// squared length of the longest move of an immovable row as bits.
    pub const TRIANGLE_BODY_WORDS: u32 = 10;
    /// Source in the word `TRIANGLE_BODY_HURRY` of a body: the body itself.
    pub const TRIANGLE_BY_ITSELF: u32 = 1;
    /// Source in the word `TRIANGLE_BODY_HURRY` of a body: another cloth.
    pub const TRIANGLE_BY_CLOTH: u32 = 2;
    /// Source in the word `TRIANGLE_BODY_HURRY` of a body: a collider.
    pub const TRIANGLE_BY_COLLIDER: u32 = 3;
    /// Index of a word of a body: squared length of the longest move of immovable rows of the body
    /// and of bodies near it, as bits whose last two hold the source.
    pub const TRIANGLE_BODY_HURRY: u32 = 7;
    /// Index of a word of a body: number of its pairs that are forced to cross.
    pub const TRIANGLE_BODY_FORCED: u32 = 8;
    /// Index of a word of a body: one plus the largest first row of such pairs; 0 if there is none.
    pub const TRIANGLE_BODY_FORCED_ROW: u32 = 9;
    /// Flag of a body: it is a cloth.
    pub const TRIANGLE_IS_CLOTH: u32 = 1;
    /// Flag of a body: it is a plane.
    pub const TRIANGLE_IS_PLANE: u32 = 2;
    /// Largest number of children of a node, and of simplices of a leaf.
    pub const TRIANGLE_CHILDREN: u32 = 8;
    /// Largest number of levels of a tree, for as many simplices as there are indices.
    pub const TRIANGLE_LEVELS: u32 = 11;
    /// Largest number of nodes that a search keeps to visit: the siblings on each level, and the
    /// last node.
    pub const TRIANGLE_STACK: u32 = TRIANGLE_LEVELS * (TRIANGLE_CHILDREN - 1) + 1;

    /// Number of words of a cloth's report in `feedback`.
    pub const REPORT_WORDS: u32 = (size_of::<Feedback>() / WORD_BYTES) as u32;
    /// Word of `fault_count` in a report.
    pub const REPORT_FAULT_COUNT: u32 = (offset_of!(Feedback, fault_count) / WORD_BYTES) as u32;
    /// Word of `sleep_pass_count` in a report.
    pub const REPORT_SLEEP_PASS_COUNT: u32 =
        (offset_of!(Feedback, sleep_pass_count) / WORD_BYTES) as u32;
    /// Word of `is_asleep` in a report.
    pub const REPORT_IS_ASLEEP: u32 = (offset_of!(Feedback, is_asleep) / WORD_BYTES) as u32;
}
