#import lib/math
#import contact/triangle_state

/// Pairs that may come into contact, in the order of their ranks.
@group(0) @binding(1) var<storage, read> triangle_candidates: array<TriangleCandidate>;
/// Constants of each row.
@group(0) @binding(2) var<storage, read> triangle_rows: array<TriangleRow>;
/// Pairs within reach, in the order of their candidates.
@group(0) @binding(4) var<storage, read_write> triangle_pairs: array<TrianglePair>;
/// Multipliers of the last slice, in the order of ranks.
@group(0) @binding(5) var<storage, read_write> triangle_held: array<TriangleMultiplier>;
/// 1 for each candidate within reach, else 0; after the scan: the index of its pair.
@group(0) @binding(6) var<storage, read_write> triangle_slots: array<u32>;
/// Number of corners of active pairs at each row; after the scan: the first corner of each row.
@group(0) @binding(7) var<storage, read_write> triangle_begins: array<atomic<u32>>;

/// Tests whether contact cannot move a row: a pin or a collider.
fn is_immovable(row: u32) -> bool {
    return triangle_rows[row].inverse_mass == 0.0;
}

/// Tests whether the move of a row may be truncated in this round: if it was truncated in this
/// slice, and every movable row in a careful round.
fn may_hold(row: u32) -> bool {
    let is_held = atomicLoad(&triangle_lists.round.is_careful) != 0u || atomicLoad(&triangle_lists.words[hold_word(row)]) != 0u;
    return is_held && !is_immovable(row);
}

/// Largest approach of a corner towards the other side, which is 0 or more if its move may be
/// truncated.
fn most_coming(row: u32, coming: f32) -> f32 {
    return select(coming, max(coming, 0.0), may_hold(row));
}

/// Index of the pair of a candidate within reach; for the index after the last: the number of
/// pairs.
fn slot_of(candidate: u32) -> u32 {
    let block = triangle.slot_len + SCAN_BLOCK + candidate / SCAN_BLOCK;
    return triangle_slots[candidate] + triangle_slots[block];
}

/// Number of pairs within reach.
fn pair_count() -> u32 {
    return slot_of(triangle.capacity);
}

/// First corner of a row; for the index after the last: the number of corners.
fn begin_of(row: u32) -> u32 {
    let block = triangle.begin_len + SCAN_BLOCK + row / SCAN_BLOCK;
    return atomicLoad(&triangle_begins[row]) + atomicLoad(&triangle_begins[block]);
}

/// Address of the fraction of a row's move that is left.
fn fraction_word(row: u32) -> u32 {
    return row;
}

/// Address of the first pair that limits a row's move.
fn first_word(row: u32) -> u32 {
    return triangle.row_count + row;
}

/// Address of the flag that a row was truncated in this slice.
fn hold_word(row: u32) -> u32 {
    return 2u * triangle.row_count + row;
}

/// Address of the index of a pair's corner at its row, in order of arrival.
fn index_word(corner: u32) -> u32 {
    return 3u * triangle.row_count + corner;
}

/// Address of an entry of the corners by row, sorted. They replace the indices of corners, which
/// nothing reads once all have arrived.
fn corner_word(entry: u32) -> u32 {
    return 3u * triangle.row_count + entry;
}

/// Address of an entry of the corners by row, in order of arrival.
fn arrival_word(entry: u32) -> u32 {
    return 3u * triangle.row_count + 4u * triangle.capacity + entry;
}

/// Weighted sum of a section over the corners of a pair.
fn mix_rows(rows: vec4<u32>, weights: vec4<f32>, section: u32) -> vec3<f32> {
    let a = load_row(section, rows.x) * weights.x;
    let b = load_row(section, rows.y) * weights.y;
    let c = load_row(section, rows.z) * weights.z;
    let d = load_row(section, rows.w) * weights.w;
    return a + b + c + d;
}
