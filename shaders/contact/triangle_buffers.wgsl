#import lib/math
#import contact/triangle_state

/// Pairs that may touch, in the order of their ranks.
@group(0) @binding(1) var<storage, read> triangle_candidates: array<TriangleCandidate>;
/// What each row keeps.
@group(0) @binding(2) var<storage, read> triangle_rows: array<TriangleRow>;
/// Pairs in reach, in the order of their candidates.
@group(0) @binding(4) var<storage, read_write> triangle_pairs: array<TrianglePair>;
/// Multipliers of the last slice, in the order of ranks.
@group(0) @binding(5) var<storage, read_write> triangle_held: array<TriangleMultiplier>;
/// Whether each candidate is in reach: 0 or 1; after the scan: where its pair is.
@group(0) @binding(6) var<storage, read_write> triangle_slots: array<u32>;
/// Corners of active pairs of each row; after the scan: where they begin.
@group(0) @binding(7) var<storage, read_write> triangle_begins: array<atomic<u32>>;

/// Whether nothing can stop a row.
fn is_immovable(row: u32) -> bool {
    return triangle_rows[row].inverse_mass == 0.0;
}

/// Whether a row may be held back in this round: those that were in this slice, all in a careful round.
fn may_hold(row: u32) -> bool {
    let is_held = atomicLoad(&triangle_lists.round.is_careful) != 0u || atomicLoad(&triangle_lists.words[hold_word(row)]) != 0u;
    return is_held && !is_immovable(row);
}

/// How far a corner that moves so far towards the other side may come: of one that may be held back, less.
fn most_coming(row: u32, coming: f32) -> f32 {
    return select(coming, max(coming, 0.0), may_hold(row));
}

/// Where the pair of a candidate is, if it is in reach; of the index after the last: how many there are.
fn slot_of(candidate: u32) -> u32 {
    let block = triangle.slot_len + SCAN_BLOCK + candidate / SCAN_BLOCK;
    return triangle_slots[candidate] + triangle_slots[block];
}

/// Pairs in reach.
fn pair_count() -> u32 {
    return slot_of(triangle.capacity);
}

/// Where the corners of a row begin; of the index after the last: how many there are.
fn begin_of(row: u32) -> u32 {
    let block = triangle.begin_len + SCAN_BLOCK + row / SCAN_BLOCK;
    return atomicLoad(&triangle_begins[row]) + atomicLoad(&triangle_begins[block]);
}

/// Word of the fraction that is left of the move of a row.
fn fraction_word(row: u32) -> u32 {
    return row;
}

/// Word of the first pair that leaves no more.
fn first_word(row: u32) -> u32 {
    return triangle.row_count + row;
}

/// Word that says whether a row was held back in this slice: 0 or 1.
fn hold_word(row: u32) -> u32 {
    return 2u * triangle.row_count + row;
}

/// Word of the index of a corner of a pair at its row.
fn index_word(corner: u32) -> u32 {
    return 3u * triangle.row_count + corner;
}

/// Word of a corner in the lists of the rows.
fn corner_word(entry: u32) -> u32 {
    return 3u * triangle.row_count + 4u * triangle.capacity + entry;
}

/// Sum of what a section is at the corners of a pair, by weight.
fn mix_rows(rows: vec4<u32>, weights: vec4<f32>, section: u32) -> vec3<f32> {
    let a = load_row(section, rows.x) * weights.x;
    let b = load_row(section, rows.y) * weights.y;
    let c = load_row(section, rows.z) * weights.z;
    let d = load_row(section, rows.w) * weights.w;
    return a + b + c + d;
}
