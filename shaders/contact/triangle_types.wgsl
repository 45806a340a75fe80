// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// Constants of a row (a vertex of a participant) while it takes part.
struct TriangleRow {
    /// Position at rest [m], or the normal of a plane; w unused.
    rest: vec4<f32>,
    /// Inverse mass [1/kg]; 0 for rows that contact cannot stop.
    inverse_mass: f32,
    /// Half the thickness of a cloth, or the radius of a sphere or capsule [m].
    radius: f32,
    /// Portion of the radius that is solid collider [m].
    hard: f32,
    /// Index of its body.
    body: u32,
}

/// Candidate pair: a vertex and a face, two edges, or a vertex and a plane that may come close.
struct TriangleCandidate {
    /// Rows of the four corners.
    rows: vec4<u32>,
    /// Sort key of candidates: both bodies, kind and first simplex, second simplex.
    rank: vec4<u32>,
    /// Rows of the far corners of the faces adjacent to a face, `NO_OFFSET` if there is none or
    /// it is the vertex; w unused.
    beyond: vec4<u32>,
    /// Kind of pair: `TRIANGLE_VERTEX_FACE` and so on.
    kind: u32,
    /// Mask of the sides and corners that a face owns.
    owned: u32,
    /// Coefficient of friction.
    friction: f32,
    /// 1 if both simplices belong to the same body, otherwise 0.
    is_own: u32,
}

/// Contact pair in reach, with its constants of a round.
struct TrianglePair {
    /// Rows of the four corners.
    rows: vec4<u32>,
    /// Barycentric weights of the corners.
    weights: vec4<f32>,
    /// Separating direction; w: distance at the start, excluding the solid portion of a
    /// collider [m].
    normal: vec4<f32>,
    /// Lagrange multiplier of friction; w: of the push [kg m].
    drag: vec4<f32>,
    /// Change of the multipliers by an iteration [kg m]; w: one over the sum of weights squared
    /// times inverse mass times contacts [kg].
    change: vec4<f32>,
    /// Displacement of the first simplex along the second by surfaces that turn in place [m];
    /// w unused.
    slide: vec4<f32>,
    /// Step fraction that the pair allows each of its corners.
    fractions: vec4<f32>,
    /// Distance by which the pair may approach: down to its thickness, 0 if it is already
    /// closer [m].
    closing: f32,
    /// Solid portion of a collider in the distance [m].
    hard: f32,
    /// Overlap: thickness minus distance [m], at least 0.
    overlap: f32,
    /// Coefficient of friction.
    friction: f32,
    /// Index of its candidate.
    candidate: u32,
    /// Number of corners of its first simplex.
    first_count: u32,
    /// 1 if the pair pushes; 0 if it only limits moves.
    is_active: u32,
    /// 1 if pins or colliders press the pair by more than its gap allows, otherwise 0.
    is_pressed: u32,
}

/// Multipliers of a pair of the last slice, per slice.
struct TriangleMultiplier {
    /// Rank of its candidate.
    rank: vec4<u32>,
    /// Lagrange multiplier of friction, in the plane of contact; w: of the push [kg m].
    drag: vec4<f32>,
}

/// Broad-phase task: simplices of a body queried against those of another body, or of the same
/// one.
struct TriangleTask {
    /// The first body.
    first_body: u32,
    /// The second body; equal to the first for a task within one body.
    second_body: u32,
    /// Kind of task: vertices of the first body and faces of the second (0), faces and vertices
    /// (1), or edges (2).
    kind: u32,
    /// First query; each simplex of the first body is one query.
    query_begin: u32,
    /// Rows of these simplices in `triangle_simplices`.
    items: u32,
    /// Root of the tree that is searched; `NO_OFFSET` if there is none.
    root: u32,
    /// Row of the plane that is tested; `NO_OFFSET` if it is not a plane.
    plane: u32,
    /// Coefficient of friction.
    friction: f32,
}

/// A node of a tree of boxes. Levels are stored one after the other, leaves first.
struct TriangleNode {
    /// First child; for a leaf its first simplex.
    first: u32,
    /// Number of children, or of simplices.
    count: u32,
    /// Offset of all simplices of the tree in `triangle_simplices`; only for a leaf.
    simplices: u32,
    /// Words per simplex of a leaf, two rows or those of a face; 0 for inner nodes.
    words: u32,
}

/// Uniform of a pass of triangle contact.
struct TriangleParameters {
    /// Number of rows of all bodies.
    row_count: u32,
    /// Number of bodies.
    body_count: u32,
    /// Number of tasks of a search.
    task_count: u32,
    /// Number of queries of all tasks.
    query_count: u32,
    /// Capacity for candidates.
    capacity: u32,
    /// Number of counters in `triangle_slots`, a multiple of `SCAN_BLOCK` except for its last
    /// block.
    slot_len: u32,
    /// Number of counters in `triangle_begins`, likewise.
    begin_len: u32,
    /// Number of counters in `triangle_counts`, likewise.
    query_len: u32,
    /// Index in `RoundState.gates` of the condition that this pass runs under.
    gate: u32,
    /// First node of the level of this pass.
    node_begin: u32,
    /// One past the last node of the level.
    node_end: u32,
    /// Smallest thickness of a cloth [m].
    thickness: f32,
    /// Largest deviation of a row from its path by contact in a round [m].
    reserve: f32,
    /// Factor on the multipliers of the last slice.
    held_scale: f32,
    /// First entry of `triangle_cloths`.
    cloth_begin: u32,
    /// Number of cloths, which are the first bodies.
    cloth_count: u32,
    /// Time of the collider positions as a fraction of the frame.
    fraction: f32,
    /// Largest number of rounds of a slice.
    max_rounds: u32,
    /// 1 in the first slice of a frame, otherwise 0.
    is_first: u32,
    /// Fraction of the frame that the slice takes.
    slice_part: f32,
}

/// Report of triangle contact of a cloth since it was added or reset. Frames count from 1; 0 =
/// never.
struct TriangleReport {
    /// Position of one of the forced pairs, from the frame with the most of them [m]; w
    /// unused.
    forced_at: vec4<f32>,
    /// Center of the cloth when something last moved too far to be followed, or the pair buffer
    /// was too small [m]; w unused.
    middle: vec4<f32>,
    /// Number of frames with triangle contact.
    frames: u32,
    /// First frame in which pairs were forced to cross.
    forced_first: u32,
    /// Last frame in which pairs were forced to cross.
    forced_last: u32,
    /// Largest number of forced pairs in a slice.
    forced_most: u32,
    /// First frame in which something moved too far to be followed.
    hurried_first: u32,
    /// Last frame in which something moved too far to be followed.
    hurried_last: u32,
    /// First frame in which the pair buffer was too small.
    lack_first: u32,
    /// Last frame in which the pair buffer was too small.
    lack_last: u32,
    /// Largest number of candidates found in such a frame.
    lack_most: u32,
    /// Origin of the last excessive speed: `TRIANGLE_BY_ITSELF` and so on.
    hurried_by: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Padding, see `padding_0`.
    padding_1: u32,
}

/// State of the current slice and round of triangle contact, at the start of `triangle_lists`.
struct RoundState {
    /// Conditions that passes run under, 0 or 1 each, by `TRIANGLE_DUE`, `TRIANGLE_FRESH` and
    /// `TRIANGLE_OVERLAPS`.
    gates: array<atomic<u32>, 3>,
    /// Pairs with a normal multiplier above 0.
    contact_count: atomic<u32>,
    /// Rows whose moves were truncated.
    held_row_count: atomic<u32>,
    /// Pairs that pins or colliders force to cross.
    forced_count: atomic<u32>,
    /// Smallest gap of the pairs of the slice [m], as ordered bits.
    least_gap: atomic<u32>,
    /// Multipliers in `triangle_held`, kept from the last slice.
    held_count: atomic<u32>,
    /// Rounds of this slice that have begun.
    round_count: atomic<u32>,
    /// Fraction of the slice that this round advances, as bits; 0 once the whole slice is made.
    part: atomic<u32>,
    /// Largest squared distance between a row and its target after the round [m^2], as bits.
    farthest_square: atomic<u32>,
    /// Squared length of the longest move of an immovable row [m^2], as bits.
    forced_move_square: atomic<u32>,
    /// Candidates in the list.
    candidate_count: atomic<u32>,
    /// Number of candidates of a search that overflows the list, which ends the slice; else 0.
    unlisted_count: atomic<u32>,
    /// Fraction of the slice that was made before this round, as bits.
    made: atomic<u32>,
    /// Rounds since the whole slice was made.
    late_count: atomic<u32>,
    /// Largest fraction of the round's moves that candidates allow pins and colliders, as bits.
    limit: atomic<u32>,
    /// Number of equal parts that the round divides the rest of the slice into, as bits.
    part_count: atomic<u32>,
    /// Number of those parts that were left after the last round, as bits.
    parts_left: atomic<u32>,
    /// `farthest_square` of the round before [m^2], as bits.
    last_farthest_square: atomic<u32>,
    /// Rows that were truncated unexpectedly; nothing moves then, and the round repeats.
    unexpected_count: atomic<u32>,
    /// Number of repeats of the current round.
    repeat_count: atomic<u32>,
    /// 1 if the moves of all movable rows may be truncated in the round, else 0.
    is_careful: atomic<u32>,
    /// Number of parts to restart the round with, as bits; 0 if it does not restart.
    restart_parts: atomic<u32>,
    /// 1 if pins or colliders come nearer to a pair of the round than moves may, else 0.
    is_pressed: atomic<u32>,
    /// Smallest fraction of the round for which the linearised contact of all pairs stays
    /// valid, as bits.
    valid_part: atomic<u32>,
}
