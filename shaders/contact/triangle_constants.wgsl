// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Triangle contact: squared sine of the angle below which two sides of a triangle, or two
/// edges, count as parallel.
const TRIANGLE_SLIVER: f32 = 1e-9;

/// Fraction of its rest distance that a pair keeps if it is closer at rest than its thickness.
const TRIANGLE_REST: f32 = 0.9;

/// Barycentric weight below which the closest point counts as lying on the side, or end,
/// opposite to the corner.
const TRIANGLE_BORDER: f32 = 0.001;

/// Barycentric weight of the corner beyond a side above which a vertex is over that face;
/// larger than `TRIANGLE_BORDER`, so that no vertex is over neither.
const TRIANGLE_BEYOND: f32 = 0.002;

/// Number of multiplier iterations per round for each configured pass of contact.
const TRIANGLE_SWEEPS: u32 = 4u;

/// Over-relaxation of the multipliers; converges below 2, since the mass of a pair is divided
/// among its contacts.
const TRIANGLE_RELAXATION: f32 = 1.8;

/// Number of words of a face in `triangle_simplices`: its rows, its owned features, and the
/// rows beyond its sides.
const TRIANGLE_FACE_WORDS: u32 = 7u;

/// Fraction of an overlap that a round removes, without adding velocity.
const TRIANGLE_RECOVERY: f32 = 0.2;

/// Number of lanes of the workgroup of `triangle_iterate_pinned`.
const TRIANGLE_PINNED_LANES: u32 = 256u;

/// Number of additional iterations while pins or colliders come too near.
const TRIANGLE_MORE_ITERATIONS: u32 = 64u;

/// Distance beyond its thickness, as a fraction of the reserve, within which a pair is solved
/// before anything pushes it.
const TRIANGLE_EAGER: f32 = 0.2;

/// Fraction of a gap that a round may close.
const TRIANGLE_APPROACH: f32 = 0.5;

/// Gap that no move may close, in thicknesses, as a margin for rounding.
const TRIANGLE_LEAST_GAP: f32 = 0.002;

/// `TriangleCandidate.kind`: a vertex and the three corners of a face.
const TRIANGLE_VERTEX_FACE: u32 = 0u;

/// `TriangleCandidate.kind`: two edges.
const TRIANGLE_EDGE_EDGE: u32 = 1u;

/// `TriangleCandidate.kind`: a vertex and a point of a plane, three times.
const TRIANGLE_VERTEX_PLANE: u32 = 2u;

/// Largest deviation of a row from its path by contact in a round, in thicknesses; the rest
/// waits for the next round.
const TRIANGLE_RESERVE: f32 = 0.25;

/// Relative motion of both sides of a pair in a round after contact, in thicknesses, following
/// the response. A longer motion makes the linearisation at the start of the round less valid
/// at its end.
const TRIANGLE_REACH: f32 = 2.0;

/// Fraction to which a round is shortened if pins or colliders press more than the response has
/// pushed.
const TRIANGLE_PRESSED_PART: f32 = 0.25;

/// Largest motion of a pin or collider in a round after contact, in thicknesses.
const TRIANGLE_STRIDE: f32 = 0.2;

/// Largest number of rounds into which a slice is divided because of fast rows.
const TRIANGLE_MAX_ROUNDS: u32 = 128u;

/// Largest number of rounds after the colliders have arrived.
const TRIANGLE_MAX_LATE_ROUNDS: u32 = 8u;

/// Largest number of times that a round repeats its broad phase for unexpectedly held rows
/// before any row may be held.
const TRIANGLE_MAX_REPEATS: u32 = 4u;

/// Distance from their targets, in thicknesses, within which rows need no further round at the
/// end of a slice.
const TRIANGLE_ARRIVED: f32 = 0.02;

/// Largest remaining fraction of that distance for which a round after the arrival of the
/// colliders is followed by another.
const TRIANGLE_GAIN: f32 = 0.75;

/// Section of `triangle_moves`, one row each: positions at the start of the round [m].
const TRIANGLE_STARTS: u32 = 0u;

/// Section of `triangle_moves`: moves in this round [m].
const TRIANGLE_MOVES: u32 = 1u;

/// Section of `triangle_moves`: moves without contact [m].
const TRIANGLE_AIMS: u32 = 2u;

/// Section of `triangle_moves`: positions after the slice [m].
const TRIANGLE_TARGETS: u32 = 3u;

/// Section of `triangle_moves`: corrections of the previous positions [m].
const TRIANGLE_CARRIES: u32 = 4u;

/// Section of `triangle_moves`: direction of the pair that held the row back most; 0 if none
/// did.
const TRIANGLE_BLOCKS: u32 = 5u;

/// Section of `triangle_moves`: positions at the start of the slice [m].
const TRIANGLE_BEGUN: u32 = 6u;

/// Section of `triangle_moves`: positions computed by the solver [m].
const TRIANGLE_WANTED: u32 = 7u;

/// Section of `triangle_moves`: collider positions before the frame [m].
const TRIANGLE_FRAME_STARTS: u32 = 8u;

/// Section of `triangle_moves`: collider positions after the frame [m].
const TRIANGLE_FRAME_ENDS: u32 = 9u;

/// Section of `triangle_moves`: rotations of spheres, capsules and planes over the frame, axis
/// times angle [rad]; 0 for other rows.
const TRIANGLE_SPINS: u32 = 10u;

/// Section of `triangle_moves`: the same rotations over the slice [rad].
const TRIANGLE_TURNS: u32 = 11u;

/// First section of the swept bounds: for each group of three axes the lowest coordinates at
/// both ends, then the highest at both ends [m].
const TRIANGLE_STEPS: u32 = 12u;

/// Number of groups of three axes of the swept bounds: the coordinate axes, and the diagonals
/// between each two of them.
const TRIANGLE_AXES: u32 = 3u;

/// Number of sections of the swept bounds, and of rows of the bounds of a node.
const TRIANGLE_PATH: u32 = 12u;

/// Length of a diagonal axis, rounded up.
const TRIANGLE_DIAGONAL: f32 = 1.414215;

/// Number of sections of `triangle_moves`.
const TRIANGLE_SECTIONS: u32 = 24u;

/// Index in `RoundState.gates` of the passes of every round.
const TRIANGLE_DUE: u32 = 0u;

/// Index in `RoundState.gates` of the passes that a repeated round skips.
const TRIANGLE_FRESH: u32 = 1u;

/// Index in `RoundState.gates` of the passes that reduce overlaps.
const TRIANGLE_OVERLAPS: u32 = 2u;

/// Number of words of a body. The first seven: lowest and highest corner as ordered bits,
/// squared length of the longest move of an immovable row as bits.
const TRIANGLE_BODY_WORDS: u32 = 10u;

/// Source in the word `TRIANGLE_BODY_HURRY` of a body: the body itself.
const TRIANGLE_BY_ITSELF: u32 = 1u;

/// Source in the word `TRIANGLE_BODY_HURRY` of a body: another cloth.
const TRIANGLE_BY_CLOTH: u32 = 2u;

/// Source in the word `TRIANGLE_BODY_HURRY` of a body: a collider.
const TRIANGLE_BY_COLLIDER: u32 = 3u;

/// Index of a word of a body: squared length of the longest move of immovable rows of the body
/// and of bodies near it, as bits whose last two hold the source.
const TRIANGLE_BODY_HURRY: u32 = 7u;

/// Index of a word of a body: number of its pairs that are forced to cross.
const TRIANGLE_BODY_FORCED: u32 = 8u;

/// Index of a word of a body: one plus the largest first row of such pairs; 0 if there is none.
const TRIANGLE_BODY_FORCED_ROW: u32 = 9u;

/// Flag of a body: it is a cloth.
const TRIANGLE_IS_CLOTH: u32 = 1u;

/// Flag of a body: it is a plane.
const TRIANGLE_IS_PLANE: u32 = 2u;

/// Largest number of children of a node, and of simplices of a leaf.
const TRIANGLE_CHILDREN: u32 = 8u;

/// Largest number of levels of a tree, for as many simplices as there are indices.
const TRIANGLE_LEVELS: u32 = 11u;

/// Largest number of nodes that a search keeps to visit: the siblings on each level, and the
/// last node.
const TRIANGLE_STACK: u32 = 78u;
