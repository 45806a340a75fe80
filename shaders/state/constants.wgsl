// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.
#import contact/triangle_constants
#import state/solve_constants
#import state/stage_bits

/// Marks an offset that points nowhere: the array is not there.
const NO_OFFSET: u32 = 0xffffffffu;

/// Rows of `IterationConstants` in `frame_pool`.
const ITERATION_ROWS: u32 = 4u;

/// Rows of `PhaseConstants` in `frame_pool`.
const PHASE_ROWS: u32 = 3u;

/// Rows of `ImplicitConstants` in `frame_pool`.
const IMPLICIT_ROWS: u32 = 7u;

/// `PhaseConstants.fiber_solver`: one edge after the other.
const SOLVER_GAUSS_SEIDEL: u32 = 0u;

/// `PhaseConstants.fiber_solver`: all edges of a fiber at once.
const SOLVER_SEMI_IMPLICIT: u32 = 1u;

/// `PhaseConstants.fiber_solver`: all edges of a fiber at once, by many lanes.
const SOLVER_CYCLIC_REDUCTION: u32 = 2u;

/// Lanes of a workgroup that scatters rows.
const SCATTER_LANES: u32 = 64u;

/// In the address of a scattered row: the row of its target.
const ROW_MASK: u32 = 1073741823u;

/// Its target: `cloth_parameters`.
const ROW_OF_PARAMETERS: u32 = 0u;

/// Its target: `frame_pool`.
const ROW_OF_FRAME: u32 = 1073741824u;

/// Its target: `input_pool`.
const ROW_OF_INPUTS: u32 = 2147483648u;

/// Its target: `current`.
const ROW_OF_PARTICLES: u32 = 3221225472u;

/// Lanes of a workgroup that makes render vertices; also items of a chunk.
const RENDER_LANES: u32 = 64u;

/// Words of a `VertexBinding` in `render_meshes`.
const BINDING_WORDS: u32 = 7u;

/// Squared sum of the cross products around a vertex below which it has no normal [m^4].
const MIN_SHADED_SQUARE: f32 = 1e-36;

/// Set at an end of an edge (`FabricOffsets.ends_begin`) where its fiber ends.
const END_OF_FIBER: u32 = 2147483648u;

/// The rest of it: the particle.
const PARTICLE_MASK: u32 = 2147483647u;

/// Added to squared lengths before a square root or division: the f32 machine epsilon.
const EPSILON: f32 = 1.1920929e-7;

/// Largest coordinate [m] that is simulated: its square stays finite.
const MAX_COORDINATE: f32 = 1e15;

/// Squared length of a triangle's normal below which it has no direction [m^4].
const MIN_NORMAL_SQUARE: f32 = 1e-30;

/// Half a rotation [rad].
const PI: f32 = 3.1415927;

/// A whole rotation [rad].
const TAU: f32 = 6.2831855;

/// Squared length below which an edge has no direction [m^2].
const MIN_EDGE_SQUARE: f32 = 1e-30;

/// Fraction of its diagonal that the pivot of an edge to a pin keeps if the fiber has a pin before. A straight fiber
/// between two pins has 0 and its edges contradict each other: solved together, errors of d would throw particles out of
/// the fiber by some d / sqrt(fraction), and pins that near each other would make the cloth burst. What the edge has in
/// common with the one before is cut down to keep the fraction; a compliance well above the inverse masses keeps it anyway.
const MIN_HELD_FRACTION: f32 = 0.5;

/// The same fraction of any other edge, which only rounding can take away.
const MIN_PIVOT_FRACTION: f32 = 1e-6;

/// Fraction of the longer side that the height of a triangle must exceed, squared: below it the triangle has no normal.
const MIN_HEIGHT_SQUARE: f32 = 1e-10;

/// Squared length below which an edge is no hinge [m^2].
const MIN_HINGE_SQUARE: f32 = 1e-24;

/// Stiffness over the squared step below which a bend is left alone [N m s^2].
const MIN_BEND_STIFFNESS: f32 = 1e-30;

/// Words of a bend in `fabric_pool`.
const BEND_WORDS: u32 = 10u;

/// Values of a rest shape of a triangle in `fabric_pool`.
const SHAPE_WORDS: u32 = 5u;

/// `ImplicitConstants.stretch_model`: threads and the angle between them.
const STRETCH_THREADS: u32 = 0u;

/// `ImplicitConstants.stretch_model`: three coupled springs a triangle.
const STRETCH_TRISPRING: u32 = 1u;

/// `ImplicitConstants.stretch_model`: springs along edges.
const STRETCH_SPRINGS: u32 = 2u;

/// `ImplicitConstants.bend_model`: the angle between two triangles.
const BEND_FACE_ANGLE: u32 = 0u;

/// `ImplicitConstants.bend_model`: the distance of a corner from the plane of the other triangle.
const BEND_PLANE_PROJECTION: u32 = 1u;

/// `ImplicitConstants.bend_model`: the mean curvature vector.
const BEND_ISOMETRIC: u32 = 2u;

/// `ImplicitConstants.bend_model`: springs along two-ring edges.
const BEND_SPRINGS: u32 = 3u;

/// Kinds of springs of an implicit solve.
const SPRING_KINDS: u32 = 4u;

/// Spring along the warp.
const SPRING_VERTICAL: u32 = 0u;

/// Spring along the weft.
const SPRING_HORIZONTAL: u32 = 1u;

/// Spring along a diagonal.
const SPRING_SHEARING: u32 = 2u;

/// Determinant below which a pivot is taken as its diagonal. Without rounding none is below 1.
const MIN_DETERMINANT: f32 = 0.5;

/// `ImplicitConstants.preconditioner`: none but the mass.
const PRECONDITIONER_MASS: u32 = 0u;

/// `ImplicitConstants.preconditioner`: the Hessian along chains.
const PRECONDITIONER_FIBERS: u32 = 1u;

/// Stride of a cell's y in the index of its bucket. The 27 cells around a point have 27 different buckets for every power
/// of two of buckets from 256 on, so that no particle is met twice.
const CELL_STRIDE_Y: u32 = 89u;

/// Stride of a cell's z in the index of its bucket.
const CELL_STRIDE_Z: u32 = 7921u;

/// Parts into which the grid of self collision is cut to sum up its counts.
const GRID_PARTS: u32 = 64u;

/// Largest cell coordinate of self collision; what lies beyond is in the last cells.
const SELF_MAX_CELL: f32 = 65536.0;

/// Distance up to which two particles of a cloth coincide [m]: the square of a smaller one may be flushed to 0.
const MIN_DISTANCE: f32 = 1e-15;

/// Fraction of their distance at rest to which particles that rest closer than the distance are kept apart.
const SELF_COLLISION_REST_FRACTION: f32 = 0.9;

/// Square of `SELF_COLLISION_REST_FRACTION`.
const REST_FRACTION_SQUARE: f32 = 0.80999994;

/// Over-relaxation of the pushes of several contacts of one particle.
const RELAXATION: f32 = 1.5;

/// Rows of a prepared sphere: now, one iteration ago.
const SPHERE_ROWS: u32 = 2u;

/// Rows of a prepared capsule: its cone now, one iteration ago.
const CAPSULE_ROWS: u32 = 6u;

/// Rows of a prepared box: its corner, then the inward normal of three faces and the box's thickness along each.
const BOX_ROWS: u32 = 4u;

/// Rows that a particle remembers of the mesh.
const NEARBY_ROWS: u32 = 2u;

/// Particles whose impulses on bodies are summed by one lane.
const CHUNK: u32 = 16u;

/// Rows of a rigid body in `input_pool`.
const BODY_INPUT_ROWS: u32 = 8u;

/// Rows that a body keeps in scratch over a frame, in front of those of the chunks: impulse and number of contacts, angular
/// impulse, mass and pins in contact.
const BODY_ROWS: u32 = 3u;

/// Rows that each chunk of particles has for each body.
const CHUNK_ROWS: u32 = 2u;

/// Lanes of a workgroup of the contact kernels.
const CONTACT_LANES: u32 = 64u;

/// Buckets that one workgroup sums up.
const SCAN_BLOCK: u32 = 1024u;

/// Largest coordinate of a cell of collision between cloths: whole numbers stay exact and neighbours stay in range.
const CONTACT_MAX_CELL: f32 = 1e9;

/// Squared distance below which two particles coincide [m^2].
const MIN_SQUARE: f32 = 1e-30;

/// Words of a cloth's report in `feedback`.
const REPORT_WORDS: u32 = 16u;

/// Word of `fault_count` in a report.
const REPORT_FAULT_COUNT: u32 = 0u;

/// Word of `sleep_pass_count` in a report.
const REPORT_SLEEP_PASS_COUNT: u32 = 5u;

/// Word of `is_asleep` in a report.
const REPORT_IS_ASLEEP: u32 = 8u;
