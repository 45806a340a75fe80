// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.
#import contact/triangle_constants
#import state/solve_constants
#import state/stage_bits

/// Offset of an array that does not exist.
const NO_OFFSET: u32 = 0xffffffffu;

/// Rows of `IterationConstants` in `frame_pool`.
const ITERATION_ROWS: u32 = 4u;

/// Rows of `PhaseConstants` in `frame_pool`.
const PHASE_ROWS: u32 = 3u;

/// Rows of `ImplicitConstants` in `frame_pool`.
const IMPLICIT_ROWS: u32 = 7u;

/// `PhaseConstants.fiber_solver`: one edge after the other.
const SOLVER_GAUSS_SEIDEL: u32 = 0u;

/// `PhaseConstants.fiber_solver`: all edges of a fiber as one system.
const SOLVER_SEMI_IMPLICIT: u32 = 1u;

/// `PhaseConstants.fiber_solver`: all edges of a fiber as one system, with many lanes.
const SOLVER_CYCLIC_REDUCTION: u32 = 2u;

/// Number of lanes of a workgroup that scatters rows.
const SCATTER_LANES: u32 = 64u;

/// Bits of a scatter address that hold the row of its target.
const ROW_MASK: u32 = 1073741823u;

/// Scatter target `cloth_parameters`.
const ROW_OF_PARAMETERS: u32 = 0u;

/// Scatter target `frame_pool`.
const ROW_OF_FRAME: u32 = 1073741824u;

/// Scatter target `input_pool`.
const ROW_OF_INPUTS: u32 = 2147483648u;

/// Scatter target `current`.
const ROW_OF_PARTICLES: u32 = 3221225472u;

/// Number of lanes of a workgroup that computes render vertices; also the items of a chunk.
const RENDER_LANES: u32 = 64u;

/// Number of words of a `VertexBinding` in `render_meshes`.
const BINDING_WORDS: u32 = 7u;

/// Squared sum of the cross products around a vertex below which it has no normal [m^4].
const MIN_SHADED_SQUARE: f32 = 1e-36;

/// Flag of an edge end (`FabricOffsets.ends_begin`) at which its fiber ends.
const END_OF_FIBER: u32 = 2147483648u;

/// Bits of an edge end that hold the particle.
const PARTICLE_MASK: u32 = 2147483647u;

/// Guard added to squared lengths before a square root or division: the f32 machine epsilon.
const EPSILON: f32 = 1.1920929e-7;

/// Largest simulated coordinate [m]; keeps its square finite.
const MAX_COORDINATE: f32 = 1e15;

/// Squared displacement relative to the air below which a triangle is at rest in it [m^2]:
/// where its direction could not be computed.
const MIN_FLOW_SQUARE: f32 = 1e-30;

/// Squared length of a triangle's normal below which it has no direction [m^4].
const MIN_NORMAL_SQUARE: f32 = 1e-30;

/// Half a rotation [rad].
const PI: f32 = 3.1415927;

/// Full rotation [rad].
const TAU: f32 = 6.2831855;

/// Squared length below which an edge has no direction [m^2].
const MIN_EDGE_SQUARE: f32 = 1e-30;

/// Smallest pivot, as a fraction of the diagonal, of an edge to a pin in a fiber that has a pin
/// before. In a straight fiber between two pins the pivot is 0 because its edges contradict
/// each other: solved together, errors of d would throw particles out of the fiber by about d /
/// sqrt(fraction), and pins that approach each other would make the cloth burst. The coupling
/// to the previous edge is reduced to keep the fraction; a compliance well above the inverse
/// masses keeps it anyway.
const MIN_HELD_FRACTION: f32 = 0.5;

/// Smallest pivot, as a fraction of the diagonal, of any other edge, where only rounding can
/// reduce it.
const MIN_PIVOT_FRACTION: f32 = 1e-6;

/// Squared ratio of a triangle's height to its longer side below which it has no normal.
const MIN_HEIGHT_SQUARE: f32 = 1e-10;

/// Squared length below which an edge cannot act as a hinge [m^2].
const MIN_HINGE_SQUARE: f32 = 1e-24;

/// Stiffness times the squared step below which a bend is skipped [N m s^2].
const MIN_BEND_STIFFNESS: f32 = 1e-30;

/// Number of words of a bend in `fabric_pool`.
const BEND_WORDS: u32 = 10u;

/// Number of words of a yarn in `fabric_pool`.
const YARN_WORDS: u32 = 4u;

/// Number of words of a point of a yarn in `fabric_pool`.
const YARN_POINT_WORDS: u32 = 7u;

/// Kind of a yarn at 45 degrees to warp and weft.
const YARN_SHEAR: u32 = 0u;

/// Kind of a yarn along the weft.
const YARN_WEFT: u32 = 1u;

/// Kind of a yarn along the warp.
const YARN_WARP: u32 = 2u;

/// Number of values of a triangle's rest shape in `fabric_pool`.
const SHAPE_WORDS: u32 = 5u;

/// `ImplicitConstants.stretch_model`: threads and the angle between them.
const STRETCH_THREADS: u32 = 0u;

/// `ImplicitConstants.stretch_model`: three coupled springs per triangle.
const STRETCH_TRISPRING: u32 = 1u;

/// `ImplicitConstants.stretch_model`: springs along edges.
const STRETCH_SPRINGS: u32 = 2u;

/// `ImplicitConstants.bend_model`: the dihedral angle between two triangles.
const BEND_FACE_ANGLE: u32 = 0u;

/// `ImplicitConstants.bend_model`: the distance of a corner from the plane of the other
/// triangle.
const BEND_PLANE_PROJECTION: u32 = 1u;

/// `ImplicitConstants.bend_model`: the mean curvature vector.
const BEND_ISOMETRIC: u32 = 2u;

/// `ImplicitConstants.bend_model`: springs along two-ring edges.
const BEND_SPRINGS: u32 = 3u;

/// Number of kinds of springs of an implicit solve.
const SPRING_KINDS: u32 = 4u;

/// Spring along the warp.
const SPRING_VERTICAL: u32 = 0u;

/// Spring along the weft.
const SPRING_HORIZONTAL: u32 = 1u;

/// Spring along a diagonal.
const SPRING_SHEARING: u32 = 2u;

/// Determinant below which a pivot is replaced by its diagonal. Without rounding it is at least
/// 1.
const MIN_DETERMINANT: f32 = 0.5;

/// `ImplicitConstants.preconditioner`: mass only.
const PRECONDITIONER_MASS: u32 = 0u;

/// `ImplicitConstants.preconditioner`: the Hessian along chains.
const PRECONDITIONER_FIBERS: u32 = 1u;

/// Stride of a cell's y in its bucket index. The 27 cells around a point have 27 different
/// buckets for every power of two of at least 256 buckets, so that no particle is found twice.
const CELL_STRIDE_Y: u32 = 89u;

/// Stride of a cell's z in its bucket index.
const CELL_STRIDE_Z: u32 = 7921u;

/// Number of parts of the self-collision grid for the prefix sum of its counts.
const GRID_PARTS: u32 = 64u;

/// Largest cell coordinate of self collision; particles beyond it are in the last cells.
const SELF_MAX_CELL: f32 = 65536.0;

/// Distance up to which two particles of a cloth coincide [m]; the square of a smaller
/// distance may be flushed to 0.
const MIN_DISTANCE: f32 = 1e-15;

/// Fraction of their rest distance at which particles are kept that rest closer than the
/// contact distance.
const SELF_COLLISION_REST_FRACTION: f32 = 0.9;

/// Square of `SELF_COLLISION_REST_FRACTION`.
const REST_FRACTION_SQUARE: f32 = 0.80999994;

/// Over-relaxation of the pushes if a particle has several contacts.
const RELAXATION: f32 = 1.5;

/// Number of rows of a prepared sphere: now and one iteration ago.
const SPHERE_ROWS: u32 = 2u;

/// Number of rows of a prepared capsule: its cone now and one iteration ago.
const CAPSULE_ROWS: u32 = 6u;

/// Rows of the motion of a convex: rotation, center at the frame's start, its shift.
const CONVEX_TWIST_ROWS: u32 = 3u;

/// Number of rows of a prepared box: its corner, then the inward normal of three faces and the
/// box's thickness along each.
const BOX_ROWS: u32 = 4u;

/// Number of rows of the nearest triangle cached per particle.
const NEARBY_ROWS: u32 = 2u;

/// Number of particles whose impulses on bodies are summed by one lane.
const CHUNK: u32 = 16u;

/// Number of rows of a rigid body in `input_pool`.
const BODY_INPUT_ROWS: u32 = 8u;

/// Number of rows of a body in scratch over a frame, before those of the chunks: impulse and
/// number of contacts, angular impulse, mass and pins in contact.
const BODY_ROWS: u32 = 3u;

/// Number of rows of each chunk of particles per body.
const CHUNK_ROWS: u32 = 2u;

/// Number of lanes of a workgroup of the contact kernels.
const CONTACT_LANES: u32 = 64u;

/// Number of buckets that one workgroup scans.
const SCAN_BLOCK: u32 = 1024u;

/// Largest cell coordinate of contact between cloths; keeps integers exact and neighbours in
/// range.
const CONTACT_MAX_CELL: f32 = 1e9;

/// Squared distance below which two particles coincide [m^2].
const MIN_SQUARE: f32 = 1e-30;

/// Number of words of a cloth's report in `feedback`.
const REPORT_WORDS: u32 = 17u;

/// Word of `fault_count` in a report.
const REPORT_FAULT_COUNT: u32 = 0u;

/// Word of `sleep_pass_count` in a report.
const REPORT_SLEEP_PASS_COUNT: u32 = 5u;

/// Word of `is_asleep` in a report.
const REPORT_IS_ASLEEP: u32 = 8u;
