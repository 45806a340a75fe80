// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

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
