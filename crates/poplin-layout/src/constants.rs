//! Constants that both Rust and the shaders know; `shaders/state/constants.wgsl` is written from this table.

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

    /// Marks an offset that points nowhere: the array is not there.
    pub const NO_OFFSET: u32 = u32::MAX;
    /// Rows of [`IterationConstants`] in `frame_pool`.
    pub const ITERATION_ROWS: u32 = (size_of::<IterationConstants>() / ROW_BYTES) as u32;
    /// Rows of [`PhaseConstants`] in `frame_pool`.
    pub const PHASE_ROWS: u32 = (size_of::<PhaseConstants>() / ROW_BYTES) as u32;
    /// Rows of [`ImplicitConstants`] in `frame_pool`.
    pub const IMPLICIT_ROWS: u32 = (size_of::<ImplicitConstants>() / ROW_BYTES) as u32;
    /// `PhaseConstants.fiber_solver`: one edge after the other.
    pub const SOLVER_GAUSS_SEIDEL: u32 = FiberSolver::GaussSeidel as u32;
    /// `PhaseConstants.fiber_solver`: all edges of a fiber at once.
    pub const SOLVER_SEMI_IMPLICIT: u32 = FiberSolver::SemiImplicit as u32;
    /// `PhaseConstants.fiber_solver`: all edges of a fiber at once, by many lanes.
    pub const SOLVER_CYCLIC_REDUCTION: u32 = FiberSolver::CyclicReduction as u32;

    /// Lanes of a workgroup that scatters rows.
    pub const SCATTER_LANES: u32 = 64;
    /// In the address of a scattered row: the row of its target.
    pub const ROW_MASK: u32 = (1 << 30) - 1;
    /// Its target: `cloth_parameters`.
    pub const ROW_OF_PARAMETERS: u32 = 0;
    /// Its target: `frame_pool`.
    pub const ROW_OF_FRAME: u32 = 1 << 30;
    /// Its target: `input_pool`.
    pub const ROW_OF_INPUTS: u32 = 2 << 30;
    /// Its target: `current`.
    pub const ROW_OF_PARTICLES: u32 = 3 << 30;

    /// Lanes of a workgroup that makes render vertices; also items of a chunk.
    pub const RENDER_LANES: u32 = 64;
    /// Words of a `VertexBinding` in `render_meshes`.
    pub const BINDING_WORDS: u32 = (size_of::<VertexBinding>() / WORD_BYTES) as u32;
    /// Squared sum of the cross products around a vertex below which it has no normal [m^4].
    pub const MIN_SHADED_SQUARE: f32 = 1.0e-36;

    /// Set at an end of an edge (`FabricOffsets.ends_begin`) where its fiber ends.
    pub const END_OF_FIBER: u32 = 1 << 31;
    /// The rest of it: the particle.
    pub const PARTICLE_MASK: u32 = END_OF_FIBER - 1;

    /// Added to squared lengths before a square root or division: the f32 machine epsilon.
    pub const EPSILON: f32 = f32::EPSILON;
    /// Largest coordinate \[m\] that is simulated: its square stays finite.
    pub const MAX_COORDINATE: f32 = poplin_model::MAX_COORDINATE;
    /// Squared length of a triangle's normal below which it has no direction [m^4].
    pub const MIN_NORMAL_SQUARE: f32 = 1.0e-30;
    /// Half a rotation \[rad\].
    pub const PI: f32 = std::f32::consts::PI;
    /// A whole rotation \[rad\].
    pub const TAU: f32 = std::f32::consts::TAU;

    /// Squared length below which an edge has no direction [m^2].
    pub const MIN_EDGE_SQUARE: f32 = 1.0e-30;
    /// Fraction of its diagonal that the pivot of an edge to a pin keeps if the fiber has a pin before. A straight fiber
    /// between two pins has 0 and its edges contradict each other: solved together, errors of d would throw particles out of
    /// the fiber by some d / sqrt(fraction), and pins that near each other would make the cloth burst. What the edge has in
    /// common with the one before is cut down to keep the fraction; a compliance well above the inverse masses keeps it anyway.
    pub const MIN_HELD_FRACTION: f32 = 0.5;
    /// The same fraction of any other edge, which only rounding can take away.
    pub const MIN_PIVOT_FRACTION: f32 = 1.0e-6;

    /// Fraction of the longer side that the height of a triangle must exceed, squared: below it the triangle has no normal.
    pub const MIN_HEIGHT_SQUARE: f32 = 1.0e-10;
    /// Squared length below which an edge is no hinge [m^2].
    pub const MIN_HINGE_SQUARE: f32 = 1.0e-24;
    /// Stiffness over the squared step below which a bend is left alone [N m s^2].
    pub const MIN_BEND_STIFFNESS: f32 = 1.0e-30;

    /// Words of a bend in `fabric_pool`.
    pub const BEND_WORDS: u32 = 10;
    /// Values of a rest shape of a triangle in `fabric_pool`.
    pub const SHAPE_WORDS: u32 = 5;
    /// `ImplicitConstants.stretch_model`: threads and the angle between them.
    pub const STRETCH_THREADS: u32 = StretchModel::StretchShear as u32;
    /// `ImplicitConstants.stretch_model`: three coupled springs a triangle.
    pub const STRETCH_TRISPRING: u32 = StretchModel::Trispring as u32;
    /// `ImplicitConstants.stretch_model`: springs along edges.
    pub const STRETCH_SPRINGS: u32 = StretchModel::Springs as u32;
    /// `ImplicitConstants.bend_model`: the angle between two triangles.
    pub const BEND_FACE_ANGLE: u32 = BendModel::FaceAngle as u32;
    /// `ImplicitConstants.bend_model`: the distance of a corner from the plane of the other triangle.
    pub const BEND_PLANE_PROJECTION: u32 = BendModel::PlaneProjection as u32;
    /// `ImplicitConstants.bend_model`: the mean curvature vector.
    pub const BEND_ISOMETRIC: u32 = BendModel::Isometric as u32;
    /// `ImplicitConstants.bend_model`: springs along two-ring edges.
    pub const BEND_SPRINGS: u32 = BendModel::Springs as u32;
    /// Kinds of springs of an implicit solve.
    pub const SPRING_KINDS: u32 = PhaseKind::ALL.len() as u32;
    /// Spring along the warp.
    pub const SPRING_VERTICAL: u32 = PhaseKind::Vertical as u32;
    /// Spring along the weft.
    pub const SPRING_HORIZONTAL: u32 = PhaseKind::Horizontal as u32;
    /// Spring along a diagonal.
    pub const SPRING_SHEARING: u32 = PhaseKind::Shearing as u32;
    /// Parts into which an implicit solve cuts its sums over particles: one of every so many particles each.
    pub const SOLVE_PARTS: u32 = 256;
    /// Sums of parts, of as many parts each.
    pub const SOLVE_SUMS: u32 = 16;
    /// Rows of the state of an implicit solve.
    pub const SOLVE_STATE_ROWS: u32 = 7;
    /// Arrays of a row a particle of an implicit solve.
    pub const SOLVE_PARTICLE_ARRAYS: u32 = 8;
    /// Arrays of an implicit solve: displacements without forces of the cloth \[m\], inverse masses.
    pub const SOLVE_PREDICTIONS: u32 = 0;
    /// Displacements \[m\], masses.
    pub const SOLVE_MOVES: u32 = 1;
    /// Residuals \[m\].
    pub const SOLVE_RESIDUALS: u32 = 2;
    /// Residuals of the trial \[m\].
    pub const SOLVE_TRIALS: u32 = 3;
    /// Directions \[m\].
    pub const SOLVE_DIRECTIONS: u32 = 4;
    /// Gradients of bending that are held between checks \[N\].
    pub const SOLVE_FORCES: u32 = 5;
    /// Planes of contact: normals, largest displacements along them \[m\]; after the solve the pushes that it bore \[m\].
    pub const SOLVE_PLANES: u32 = 6;
    /// What inertia alone moves them by \[m\]; in the solve what is added to that in each step \[m\].
    pub const SOLVE_INERTIA: u32 = 7;
    /// Squared rate times squared step up to which the very first step is not halved, over the squared number of its iterations: a sheet
    /// takes about 1.75 times the root of the former.
    pub const SOLVE_FIRST_REACH: f32 = 0.174;
    /// Factor on its squared residual at the start from which a step is halved.
    pub const SOLVE_WORSE: f32 = 1.0e6;
    /// Rows of a link of a chain: columns of its coupling, diagonal of the pivot's inverse; the rest of that.
    pub const SOLVE_CHAIN_ROWS: u32 = 4;
    /// Iterations of an implicit solve after which its chains are factored again, a multiple of those between checks.
    pub const SOLVE_FACTOR_INTERVAL: u32 = 20;
    /// Determinant below which a pivot is taken as its diagonal. Without rounding none is below 1.
    pub const MIN_DETERMINANT: f32 = 0.5;
    /// Depth in a shape over that under the plane of contact beyond which there is a new plane.
    pub const SOLVE_PLANE_DEPTH: f32 = 2.0;
    /// `ImplicitConstants.preconditioner`: none but the mass.
    pub const PRECONDITIONER_MASS: u32 = poplin_model::Preconditioner::Mass as u32;
    /// `ImplicitConstants.preconditioner`: the Hessian along chains.
    pub const PRECONDITIONER_FIBERS: u32 = poplin_model::Preconditioner::Fibers as u32;
    /// An implicit solve begins with what is left at the prediction.
    pub const SOLVE_START: f32 = 0.0;
    /// It looks along a direction.
    pub const SOLVE_LINE: f32 = 1.0;
    /// It takes what is left where it is.
    pub const SOLVE_CHECK: f32 = 2.0;
    /// It is done.
    pub const SOLVE_DONE: f32 = 3.0;
    /// Iterations of an implicit solve between checks, by the mass.
    pub const SOLVE_CHECK_INTERVAL: u32 = 10;
    /// Largest step along a direction over the trial that measured it.
    pub const SOLVE_GROWTH: f32 = 4.0;
    /// Fraction of the last squared residual below which the next one, by recurrence, is rounding.
    pub const SOLVE_EXHAUSTED: f32 = 1.0e-5;
    /// Relative rounding of a force's terms.
    pub const SOLVE_ROUNDING: f32 = 2.4e-7;
    /// Largest squared rate times squared step.
    pub const SOLVE_MAX_REACH: f32 = 1.0e30;
    /// Largest sum of an implicit solve that counts as finite.
    pub const SOLVE_MAX: f32 = 1.0e37;

    /// Stride of a cell's y in the index of its bucket. The 27 cells around a point have 27 different buckets for every power
    /// of two of buckets from 256 on, so that no particle is met twice.
    pub const CELL_STRIDE_Y: u32 = 89;
    /// Stride of a cell's z in the index of its bucket.
    pub const CELL_STRIDE_Z: u32 = 7921;

    /// Parts into which the grid of self collision is cut to sum up its counts.
    pub const GRID_PARTS: u32 = 64;
    /// Largest cell coordinate of self collision; what lies beyond is in the last cells.
    pub const SELF_MAX_CELL: f32 = 65536.0;
    /// Distance up to which two particles of a cloth coincide \[m\]: the square of a smaller one may be flushed to 0.
    pub const MIN_DISTANCE: f32 = 1.0e-15;
    /// Fraction of their distance at rest to which particles that rest closer than the distance are kept apart.
    pub const SELF_COLLISION_REST_FRACTION: f32 = poplin_model::SELF_COLLISION_REST_FRACTION;
    /// Square of [`SELF_COLLISION_REST_FRACTION`].
    pub const REST_FRACTION_SQUARE: f32 =
        SELF_COLLISION_REST_FRACTION * SELF_COLLISION_REST_FRACTION;
    /// Over-relaxation of the pushes of several contacts of one particle.
    pub const RELAXATION: f32 = 1.5;

    /// Rows of a prepared sphere: now, one iteration ago.
    pub const SPHERE_ROWS: u32 = 2;
    /// Rows of a prepared capsule: its cone now, one iteration ago.
    pub const CAPSULE_ROWS: u32 = 6;
    /// Rows of a prepared box: its corner, then the inward normal of three faces and the box's thickness along each.
    pub const BOX_ROWS: u32 = 4;
    /// Rows that a particle remembers of the mesh.
    pub const NEARBY_ROWS: u32 = 2;

    /// Particles whose impulses on bodies are summed by one lane.
    pub const CHUNK: u32 = 16;
    /// Rows of a rigid body in `input_pool`.
    pub const BODY_INPUT_ROWS: u32 = 8;
    /// Rows that a body keeps in scratch over a frame, in front of those of the chunks: impulse and number of contacts, angular
    /// impulse, mass and pins in contact.
    pub const BODY_ROWS: u32 = 3;
    /// Rows that each chunk of particles has for each body.
    pub const CHUNK_ROWS: u32 = 2;

    /// Lanes of a workgroup of the contact kernels.
    pub const CONTACT_LANES: u32 = 64;
    /// Buckets that one workgroup sums up.
    pub const SCAN_BLOCK: u32 = 1024;
    /// Largest coordinate of a cell of collision between cloths: whole numbers stay exact and neighbours stay in range.
    pub const CONTACT_MAX_CELL: f32 = 1.0e9;
    /// Squared distance below which two particles coincide [m^2].
    pub const MIN_SQUARE: f32 = 1.0e-30;
    /// Contact of triangles: square of the sine of the angle below which two sides of a triangle, or two edges, count as parallel.
    pub const TRIANGLE_SLIVER: f32 = 1.0e-9;
    /// Part of its distance at rest that a pair keeps which rests closer than it is thick.
    pub const TRIANGLE_REST: f32 = 0.9;
    /// Weight of a corner below which closest points count as on the side, or at the end, without it.
    pub const TRIANGLE_BORDER: f32 = 1.0e-3;
    /// Weight of the corner beyond a side above which a vertex is over that face: more, so that no vertex is over neither.
    pub const TRIANGLE_BEYOND: f32 = 2.0e-3;
    /// Iterations of a round for each that is set: contact of particles has as many passes.
    pub const TRIANGLE_SWEEPS: u32 = 4;
    /// Over-relaxation of the multipliers: below 2 what a pair lacks becomes less, since its mass is divided among its contacts.
    pub const TRIANGLE_RELAXATION: f32 = 1.8;
    /// Words of a face in `triangle_simplices`: its rows, what it answers for, and the rows beyond its sides.
    pub const TRIANGLE_FACE_WORDS: u32 = 7;
    /// Part of an overlap that a slice removes, without velocity.
    pub const TRIANGLE_RECOVERY: f32 = 0.2;
    /// Lanes of the workgroup that makes those iterations.
    pub const TRIANGLE_PINNED_LANES: u32 = 256;
    /// Iterations that are added while pins or colliders come too near.
    pub const TRIANGLE_MORE_ITERATIONS: u32 = 64;
    /// Distance beyond its thickness at which a pair is solved even if nothing pushes it yet, as a part of the reserve.
    pub const TRIANGLE_EAGER: f32 = 0.2;
    /// Part of a gap that a round may take.
    pub const TRIANGLE_APPROACH: f32 = 0.5;
    /// Gap that no move may close, in thicknesses: what is left for rounding.
    pub const TRIANGLE_LEAST_GAP: f32 = 0.002;
    /// `TriangleCandidate.kind`: a vertex and the three of a face.
    pub const TRIANGLE_VERTEX_FACE: u32 = 0;
    /// Two edges.
    pub const TRIANGLE_EDGE_EDGE: u32 = 1;
    /// A vertex and a point of a plane, three times.
    pub const TRIANGLE_VERTEX_PLANE: u32 = 2;
    /// How far contact may take a row off its path in a round, in thicknesses; what is more waits for the next one.
    pub const TRIANGLE_RESERVE: f32 = 0.25;
    /// How far both sides of a pair move against each other in a round once they touch, in thicknesses, after the response: the longer, the
    /// less the end is what was seen at the start.
    pub const TRIANGLE_REACH: f32 = 2.0;
    /// The part that a round is made of again if pins or colliders press more than the response has pushed.
    pub const TRIANGLE_PRESSED_PART: f32 = 0.25;
    /// How far a pin or collider moves in a round once it touches, in thicknesses.
    pub const TRIANGLE_STRIDE: f32 = 0.2;
    /// Most of the rounds that a slice is cut into because rows are fast.
    pub const TRIANGLE_MAX_ROUNDS: u32 = 128;
    /// Rounds after the colliders have arrived.
    pub const TRIANGLE_MAX_LATE_ROUNDS: u32 = 8;
    /// How often a round looks again at what is in reach because rows are held back, before any row may be.
    pub const TRIANGLE_MAX_REPEATS: u32 = 4;
    /// What rows may still be away from where they go when a slice ends, in thicknesses, without another round.
    pub const TRIANGLE_ARRIVED: f32 = 0.02;
    /// Which part of that a round after the colliders have arrived leaves at most, or it is the last.
    pub const TRIANGLE_GAIN: f32 = 0.75;

    /// Sections of `triangle_moves`, a row each: positions at the start of the round \[m\].
    pub const TRIANGLE_STARTS: u32 = 0;
    /// Where they move in this round \[m\].
    pub const TRIANGLE_MOVES: u32 = 1;
    /// Where they would move without contact \[m\].
    pub const TRIANGLE_AIMS: u32 = 2;
    /// Where they would be after the slice \[m\].
    pub const TRIANGLE_TARGETS: u32 = 3;
    /// By how much previous positions have to move \[m\].
    pub const TRIANGLE_CARRIES: u32 = 4;
    /// Direction of the pair that held them back most; 0 if none did.
    pub const TRIANGLE_BLOCKS: u32 = 5;
    /// Where they were at the start of the slice \[m\].
    pub const TRIANGLE_BEGUN: u32 = 6;
    /// Where the solver has put them \[m\].
    pub const TRIANGLE_WANTED: u32 = 7;
    /// Where rows of colliders are before the frame \[m\].
    pub const TRIANGLE_FRAME_STARTS: u32 = 8;
    /// Where they are after it \[m\].
    pub const TRIANGLE_FRAME_ENDS: u32 = 9;
    /// First of the ranges of what is in reach: for each three axes lowest coordinates at both ends, highest at both ends \[m\].
    pub const TRIANGLE_STEPS: u32 = 10;
    /// Axes of a path, three at a time: those of space, and the diagonals between each two of them.
    pub const TRIANGLE_AXES: u32 = 3;
    /// Sections of a path, and rows of the ranges of a node.
    pub const TRIANGLE_PATH: u32 = 4 * TRIANGLE_AXES;
    /// Length of a diagonal axis, rounded up.
    pub const TRIANGLE_DIAGONAL: f32 = 1.414_215;
    /// Sections in all.
    pub const TRIANGLE_SECTIONS: u32 = TRIANGLE_STEPS + TRIANGLE_PATH;

    /// Index in `RoundState.gates` of the passes of every round.
    pub const TRIANGLE_DUE: u32 = 0;
    /// Index in `RoundState.gates` of the passes that a repeated round skips.
    pub const TRIANGLE_FRESH: u32 = 1;
    /// Index in `RoundState.gates` of the passes that reduce overlaps.
    pub const TRIANGLE_OVERLAPS: u32 = 2;
    /// Words of a body: its lowest and highest corner as ordered bits, the square of the longest move of rows that nothing can stop as bits.
    pub const TRIANGLE_BODY_WORDS: u32 = 10;
    /// Word of a body: the square of the longest move of rows that nothing can stop, of it and of those near it, as bits, the last two
    /// of which say whose it is: its own,
    pub const TRIANGLE_BY_ITSELF: u32 = 1;
    /// that of another cloth,
    pub const TRIANGLE_BY_CLOTH: u32 = 2;
    /// or that of a collider.
    pub const TRIANGLE_BY_COLLIDER: u32 = 3;
    /// The index of that word.
    pub const TRIANGLE_BODY_HURRY: u32 = 7;
    /// Word of a body: pairs of it that are forced to cross.
    pub const TRIANGLE_BODY_FORCED: u32 = 8;
    /// Word of a body: the first row of one of those, and 1.
    pub const TRIANGLE_BODY_FORCED_ROW: u32 = 9;
    /// Flag of a body: it is a cloth.
    pub const TRIANGLE_IS_CLOTH: u32 = 1;
    /// Flag of a body: it is a plane.
    pub const TRIANGLE_IS_PLANE: u32 = 2;
    /// Children of a node, and simplices of a leaf.
    pub const TRIANGLE_CHILDREN: u32 = 8;
    /// Most levels of a tree: it may have as many simplices as there are indices.
    pub const TRIANGLE_LEVELS: u32 = 11;
    /// Nodes that a search keeps to visit: of each level those beside the one it is in, and the last.
    pub const TRIANGLE_STACK: u32 = TRIANGLE_LEVELS * (TRIANGLE_CHILDREN - 1) + 1;

    /// Words of a cloth's report in `feedback`.
    pub const REPORT_WORDS: u32 = (size_of::<Feedback>() / WORD_BYTES) as u32;
    /// Word of `fault_count` in a report.
    pub const REPORT_FAULT_COUNT: u32 = (offset_of!(Feedback, fault_count) / WORD_BYTES) as u32;
    /// Word of `sleep_pass_count` in a report.
    pub const REPORT_SLEEP_PASS_COUNT: u32 =
        (offset_of!(Feedback, sleep_pass_count) / WORD_BYTES) as u32;
    /// Word of `is_asleep` in a report.
    pub const REPORT_IS_ASLEEP: u32 = (offset_of!(Feedback, is_asleep) / WORD_BYTES) as u32;
}
