// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

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

/// Determinant below which a pivot is taken as its diagonal. Without rounding none is below 1.
const MIN_DETERMINANT: f32 = 0.5;

/// Depth in a shape over that under the plane of contact beyond which there is a new plane.
const SOLVE_PLANE_DEPTH: f32 = 2.0;

/// `ImplicitConstants.preconditioner`: none but the mass.
const PRECONDITIONER_MASS: u32 = 0u;

/// `ImplicitConstants.preconditioner`: the Hessian along chains.
const PRECONDITIONER_FIBERS: u32 = 1u;

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

/// Contact of triangles: square of the sine of the angle below which two sides of a triangle, or two edges, count as parallel.
const TRIANGLE_SLIVER: f32 = 1e-9;

/// Part of its distance at rest that a pair keeps which rests closer than it is thick.
const TRIANGLE_REST: f32 = 0.9;

/// Weight of a corner below which closest points count as on the side, or at the end, without it.
const TRIANGLE_BORDER: f32 = 0.001;

/// Weight of the corner beyond a side above which a vertex is over that face: more, so that no vertex is over neither.
const TRIANGLE_BEYOND: f32 = 0.002;

/// Iterations of a round for each that is set: contact of particles has as many passes.
const TRIANGLE_SWEEPS: u32 = 4u;

/// Over-relaxation of the multipliers: below 2 what a pair lacks becomes less, since its mass is divided among its contacts.
const TRIANGLE_RELAXATION: f32 = 1.8;

/// Words of a face in `triangle_simplices`: its rows, what it answers for, and the rows beyond its sides.
const TRIANGLE_FACE_WORDS: u32 = 7u;

/// Part of an overlap that a slice removes, without velocity.
const TRIANGLE_RECOVERY: f32 = 0.2;

/// Lanes of the workgroup that makes those iterations.
const TRIANGLE_PINNED_LANES: u32 = 256u;

/// Iterations that are added while pins or colliders come too near.
const TRIANGLE_MORE_ITERATIONS: u32 = 64u;

/// Distance beyond its thickness at which a pair is solved even if nothing pushes it yet, as a part of the reserve.
const TRIANGLE_EAGER: f32 = 0.2;

/// Part of a gap that a round may take.
const TRIANGLE_APPROACH: f32 = 0.5;

/// Gap that no move may close, in thicknesses: what is left for rounding.
const TRIANGLE_LEAST_GAP: f32 = 0.002;

/// `TriangleCandidate.kind`: a vertex and the three of a face.
const TRIANGLE_VERTEX_FACE: u32 = 0u;

/// Two edges.
const TRIANGLE_EDGE_EDGE: u32 = 1u;

/// A vertex and a point of a plane, three times.
const TRIANGLE_VERTEX_PLANE: u32 = 2u;

/// How far contact may take a row off its path in a round, in thicknesses; what is more waits for the next one.
const TRIANGLE_RESERVE: f32 = 0.25;

/// How far both sides of a pair move against each other in a round once they touch, in thicknesses, after the response: the longer, the
/// less the end is what was seen at the start.
const TRIANGLE_REACH: f32 = 2.0;

/// The part that a round is made of again if pins or colliders press more than the response has pushed.
const TRIANGLE_PRESSED_PART: f32 = 0.25;

/// How far a pin or collider moves in a round once it touches, in thicknesses.
const TRIANGLE_STRIDE: f32 = 0.2;

/// Most of the rounds that a slice is cut into because rows are fast.
const TRIANGLE_MAX_ROUNDS: u32 = 128u;

/// Rounds after the colliders have arrived.
const TRIANGLE_MAX_LATE_ROUNDS: u32 = 8u;

/// How often a round looks again at what is in reach because rows are held back, before any row may be.
const TRIANGLE_MAX_REPEATS: u32 = 4u;

/// What rows may still be away from where they go when a slice ends, in thicknesses, without another round.
const TRIANGLE_ARRIVED: f32 = 0.02;

/// Which part of that a round after the colliders have arrived leaves at most, or it is the last.
const TRIANGLE_GAIN: f32 = 0.75;

/// Sections of `triangle_moves`, a row each: positions at the start of the round [m].
const TRIANGLE_STARTS: u32 = 0u;

/// Where they move in this round [m].
const TRIANGLE_MOVES: u32 = 1u;

/// Where they would move without contact [m].
const TRIANGLE_AIMS: u32 = 2u;

/// Where they would be after the slice [m].
const TRIANGLE_TARGETS: u32 = 3u;

/// By how much previous positions have to move [m].
const TRIANGLE_CARRIES: u32 = 4u;

/// Direction of the pair that held them back most; 0 if none did.
const TRIANGLE_BLOCKS: u32 = 5u;

/// Where they were at the start of the slice [m].
const TRIANGLE_BEGUN: u32 = 6u;

/// Where the solver has put them [m].
const TRIANGLE_WANTED: u32 = 7u;

/// Where rows of colliders are before the frame [m].
const TRIANGLE_FRAME_STARTS: u32 = 8u;

/// Where they are after it [m].
const TRIANGLE_FRAME_ENDS: u32 = 9u;

/// First of the ranges of what is in reach: for each three axes lowest coordinates at both ends, highest at both ends [m].
const TRIANGLE_STEPS: u32 = 10u;

/// Axes of a path, three at a time: those of space, and the diagonals between each two of them.
const TRIANGLE_AXES: u32 = 3u;

/// Sections of a path, and rows of the ranges of a node.
const TRIANGLE_PATH: u32 = 12u;

/// Length of a diagonal axis, rounded up.
const TRIANGLE_DIAGONAL: f32 = 1.414215;

/// Sections in all.
const TRIANGLE_SECTIONS: u32 = 22u;

/// Index in `RoundState.gates` of the passes of every round.
const TRIANGLE_DUE: u32 = 0u;

/// Index in `RoundState.gates` of the passes that a repeated round skips.
const TRIANGLE_FRESH: u32 = 1u;

/// Index in `RoundState.gates` of the passes that reduce overlaps.
const TRIANGLE_OVERLAPS: u32 = 2u;

/// Words of a body: its lowest and highest corner as ordered bits, the square of the longest move of rows that nothing can stop as bits.
const TRIANGLE_BODY_WORDS: u32 = 10u;

/// Word of a body: the square of the longest move of rows that nothing can stop, of it and of those near it, as bits, the last two
/// of which say whose it is: its own,
const TRIANGLE_BY_ITSELF: u32 = 1u;

/// that of another cloth,
const TRIANGLE_BY_CLOTH: u32 = 2u;

/// or that of a collider.
const TRIANGLE_BY_COLLIDER: u32 = 3u;

/// The index of that word.
const TRIANGLE_BODY_HURRY: u32 = 7u;

/// Word of a body: pairs of it that are forced to cross.
const TRIANGLE_BODY_FORCED: u32 = 8u;

/// Word of a body: the first row of one of those, and 1.
const TRIANGLE_BODY_FORCED_ROW: u32 = 9u;

/// Flag of a body: it is a cloth.
const TRIANGLE_IS_CLOTH: u32 = 1u;

/// Flag of a body: it is a plane.
const TRIANGLE_IS_PLANE: u32 = 2u;

/// Children of a node, and simplices of a leaf.
const TRIANGLE_CHILDREN: u32 = 8u;

/// Most levels of a tree: it may have as many simplices as there are indices.
const TRIANGLE_LEVELS: u32 = 11u;

/// Nodes that a search keeps to visit: of each level those beside the one it is in, and the last.
const TRIANGLE_STACK: u32 = 78u;

/// Words of a cloth's report in `feedback`.
const REPORT_WORDS: u32 = 16u;

/// Word of `fault_count` in a report.
const REPORT_FAULT_COUNT: u32 = 0u;

/// Word of `sleep_pass_count` in a report.
const REPORT_SLEEP_PASS_COUNT: u32 = 5u;

/// Word of `is_asleep` in a report.
const REPORT_IS_ASLEEP: u32 = 8u;

/// Bit of the stage `integrate` in `STAGES`.
const STAGE_INTEGRATE: u32 = 0x1u;

/// Bit of the stage `wind` in `STAGES`.
const STAGE_WIND: u32 = 0x2u;

/// Bit of the stage `motion` in `STAGES`.
const STAGE_MOTION: u32 = 0x4u;

/// Bit of the stage `tether` in `STAGES`.
const STAGE_TETHER: u32 = 0x8u;

/// Bit of the stage `implicit` in `STAGES`.
const STAGE_IMPLICIT: u32 = 0x10u;

/// Bit of the stage `gauss_seidel` in `STAGES`.
const STAGE_GAUSS_SEIDEL: u32 = 0x20u;

/// Bit of the stage `semi_implicit` in `STAGES`.
const STAGE_SEMI_IMPLICIT: u32 = 0x40u;

/// Bit of the stage `cyclic_reduction` in `STAGES`.
const STAGE_CYCLIC_REDUCTION: u32 = 0x80u;

/// Bit of the stage `bend` in `STAGES`.
const STAGE_BEND: u32 = 0x100u;

/// Bit of the stage `separation` in `STAGES`.
const STAGE_SEPARATION: u32 = 0x200u;

/// Bit of the stage `self_collide` in `STAGES`.
const STAGE_SELF_COLLIDE: u32 = 0x400u;

/// Bit of the stage `collide_convex` in `STAGES`.
const STAGE_COLLIDE_CONVEX: u32 = 0x800u;

/// Bit of the stage `collide_box` in `STAGES`.
const STAGE_COLLIDE_BOX: u32 = 0x1000u;

/// Bit of the stage `collide_triangle` in `STAGES`.
const STAGE_COLLIDE_TRIANGLE: u32 = 0x2000u;

/// Bit of the stage `mass` in `STAGES`.
const STAGE_MASS: u32 = 0x4000u;

/// Bit of the stage `collide_shape` in `STAGES`.
const STAGE_COLLIDE_SHAPE: u32 = 0x8000u;

/// Bit of the stage `collide_continuous` in `STAGES`.
const STAGE_COLLIDE_CONTINUOUS: u32 = 0x10000u;

/// Bit of the stage `collide_body` in `STAGES`.
const STAGE_COLLIDE_BODY: u32 = 0x20000u;

/// Bit of the stage `virtual_particles` in `STAGES`.
const STAGE_VIRTUAL_PARTICLES: u32 = 0x40000u;

/// Bit of the stage `limit_speed` in `STAGES`.
const STAGE_LIMIT_SPEED: u32 = 0x80000u;

/// Bit of the stage `sleep` in `STAGES`.
const STAGE_SLEEP: u32 = 0x100000u;

/// Bits of the stages that solve fibers.
const STAGES_OF_FIBERS: u32 = 0xe0u;

/// Bits of the stages that read prepared shapes.
const STAGES_OF_SHAPES: u32 = 0x7b800u;

/// Bits of the stages that touch spheres and capsules.
const STAGES_OF_SPHERES: u32 = 0x18000u;

/// Bits of the stages whose contacts an implicit solve looks for.
const STAGES_OF_PROBES: u32 = 0x1b800u;

/// Bits of triangles that resist stretch in an implicit solve.
const IMPLICIT_TRIANGLES: u32 = 0x8000000u;

/// Bits of bends that resist bending in it.
const IMPLICIT_BENDS: u32 = 0x10000000u;

/// Bits of springs that resist stretch or bending in it.
const IMPLICIT_SPRINGS: u32 = 0x20000000u;

/// Bits of chains that precondition it.
const IMPLICIT_CHAINS: u32 = 0x40000000u;

/// Bits of steps of it that may be halved.
const IMPLICIT_HALVINGS: u32 = 0x80000000u;
