// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.

/// What a row keeps while it takes part.
struct TriangleRow {
    /// Position at rest [m]; the normal of a plane; w unused.
    rest: vec4<f32>,
    /// Inverse mass [1/kg]; 0: nothing can stop it.
    inverse_mass: f32,
    /// Half the thickness of a cloth, the radius of a ball or capsule [m].
    radius: f32,
    /// What of it is the volume of a collider [m].
    hard: f32,
    /// Its body.
    body: u32,
}

/// A vertex and a face, two edges, or a vertex and a plane that may come close.
struct TriangleCandidate {
    /// Rows of its four corners.
    rows: vec4<u32>,
    /// Both bodies, the kind and the first simplex, and the second: candidates are in this order.
    rank: vec4<u32>,
    /// Of a face: rows of the corners beyond its sides, `NO_OFFSET` if there is none or it is the vertex; w unused.
    beyond: vec4<u32>,
    /// What its corners are: `TRIANGLE_VERTEX_FACE` and so on.
    kind: u32,
    /// Of a face: the sides and corners that it answers for.
    owned: u32,
    /// Coefficient of friction.
    friction: f32,
    /// Whether both simplices are of one body: 0 or 1.
    is_own: u32,
}

/// A pair in reach, with what a round keeps constant.
struct TrianglePair {
    /// Rows of its four corners.
    rows: vec4<u32>,
    /// Weights of the corners.
    weights: vec4<f32>,
    /// Direction in which it is apart; w: distance at the start, without the volume of a collider [m].
    normal: vec4<f32>,
    /// Multiplier of friction; w: of the push [kg m].
    drag: vec4<f32>,
    /// What an iteration adds to the multipliers [kg m]; w: one over the sum of weights squared times inverse mass times contacts [kg].
    change: vec4<f32>,
    /// What it leaves of the moves of its corners.
    fractions: vec4<f32>,
    /// What the distance may close by: down to the thickness, or not at all [m].
    closing: f32,
    /// The volume of a collider in the distance [m].
    hard: f32,
    /// How much nearer than its thickness it is [m].
    overlap: f32,
    /// Coefficient of friction.
    friction: f32,
    /// Its candidate.
    candidate: u32,
    /// Corners of its first simplex.
    first_count: u32,
    /// Whether it pushes; others only limit moves: 0 or 1.
    is_active: u32,
    /// Whether pins or colliders press it by more than its gap leaves: 0 or 1.
    is_pressed: u32,
}

/// Multipliers of a pair of the last slice, per slice.
struct TriangleMultiplier {
    /// That of its candidate.
    rank: vec4<u32>,
    /// Of friction, in the plane of contact; w: of the push [kg m].
    drag: vec4<f32>,
}

/// Simplices of a body that look for those of another one, or of their own.
struct TriangleTask {
    /// The first body.
    first_body: u32,
    /// The second body; the same: within one.
    second_body: u32,
    /// Vertices of the first body and faces of the second (0), the other order (1), or edges (2).
    kind: u32,
    /// Its first query; each simplex is one.
    query_begin: u32,
    /// Rows of these simplices in `triangle_simplices`.
    items: u32,
    /// Root of the tree of those that they look for; `NO_OFFSET` if there is none.
    root: u32,
    /// Row of the plane that they look for; `NO_OFFSET` if it is none.
    plane: u32,
    /// Coefficient of friction.
    friction: f32,
}

/// A node of a tree of boxes. Levels follow one another, leaves first.
struct TriangleNode {
    /// Its first child; of a leaf its first simplex.
    first: u32,
    /// How many there are.
    count: u32,
    /// Of a leaf: where all simplices of the tree are in `triangle_simplices`.
    simplices: u32,
    /// Of a leaf: words of a simplex, two rows or those of a face; of others 0.
    words: u32,
}

/// The uniform of a pass of contact of triangles.
struct TriangleParameters {
    /// Rows of all bodies.
    row_count: u32,
    /// Bodies.
    body_count: u32,
    /// Tasks of a search.
    task_count: u32,
    /// Queries of all tasks.
    query_count: u32,
    /// Candidates that there is room for.
    capacity: u32,
    /// Counts of `triangle_slots`, a multiple of `SCAN_BLOCK`, but for its last block.
    slot_len: u32,
    /// Counts of `triangle_begins`, likewise.
    begin_len: u32,
    /// Counts of `triangle_counts`, likewise.
    query_len: u32,
    /// Index in `RoundState.gates` of the condition that this pass runs under.
    gate: u32,
    /// First node of the level of this pass.
    node_begin: u32,
    /// The end of its nodes.
    node_end: u32,
    /// Smallest thickness of a cloth [m].
    thickness: f32,
    /// How far contact may take a row off its path in a round [m].
    reserve: f32,
    /// Factor on the multipliers of the last slice.
    held_scale: f32,
    /// First entry of `triangle_cloths`.
    cloth_begin: u32,
    /// Cloths: the first bodies.
    cloth_count: u32,
    /// Where colliders are: fraction of the frame.
    fraction: f32,
    /// Most rounds of a slice.
    max_rounds: u32,
    /// 1 in the first slice of a frame, else 0.
    is_first: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
}

/// What the device reports of contact of triangles of a cloth since it was added or reset. Frames count from 1; 0: never.
struct TriangleReport {
    /// Where one of the most pairs was that were forced to cross [m]; w unused.
    forced_at: vec4<f32>,
    /// The middle of the cloth when something last moved too far to be followed, or there was no room for the pairs [m]; w unused.
    middle: vec4<f32>,
    /// Frames with contact of triangles.
    frames: u32,
    /// First frame in which pairs were forced to cross.
    forced_first: u32,
    /// The last one.
    forced_last: u32,
    /// The most pairs of a slice.
    forced_most: u32,
    /// First frame in which something moved too far to be followed.
    hurried_first: u32,
    /// The last one.
    hurried_last: u32,
    /// First frame in which there was no room for the pairs.
    lack_first: u32,
    /// The last one.
    lack_last: u32,
    /// The most candidates that were found then.
    lack_most: u32,
    /// What was too fast last: `TRIANGLE_BY_ITSELF` and so on.
    hurried_by: u32,
    /// Fills the struct to a multiple of 16 bytes.
    padding_0: u32,
    /// Fills it.
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
    /// Candidates of a search that found more than the list can hold, which ends the slice; else 0.
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
}
