#import lib/math
#import state/constants
#import contact/triangle_types

/// The state of a round, followed by lists that are as long as there are rows, pairs and bodies.
struct TriangleLists {
    /// State of the round.
    round: RoundState,
    /// Per row: the fraction of its move that is left as bits, the first pair that limits it, and
    /// whether it was truncated in this slice. Per corner of a pair: its index at its row. The corners by
    /// row, each four times its pair plus its number. Per body: its words.
    words: array<atomic<u32>>,
}

/// Parameters of this pass.
@group(0) @binding(0) var<uniform> triangle: TriangleParameters;
/// Sections with an entry per row: TRIANGLE_STARTS and so on; w unused.
@group(0) @binding(3) var<storage, read_write> triangle_moves: array<vec4<f32>>;
/// State of the round and lists, whose addresses are in words: see `fraction_word` and so on.
@group(0) @binding(8) var<storage, read_write> triangle_lists: TriangleLists;

/// A row of a section.
fn load_row(section: u32, row: u32) -> vec3<f32> {
    return triangle_moves[section * triangle.row_count + row].xyz;
}

/// Writes a row of a section.
fn store_row(section: u32, row: u32, value: vec3<f32>) {
    triangle_moves[section * triangle.row_count + row] = vec4<f32>(value, 0.0);
}

/// Whether this pass has anything to do.
fn is_due() -> bool {
    return atomicLoad(&triangle_lists.round.gates[triangle.gate]) != 0u;
}

/// Whether this round is not one that only looks again at what is in reach.
fn is_fresh() -> bool {
    return atomicLoad(&triangle_lists.round.gates[TRIANGLE_FRESH]) != 0u;
}

/// The part of the slice that this round is.
fn part_of_slice() -> f32 {
    return bitcast<f32>(atomicLoad(&triangle_lists.round.part));
}

/// Part of the slice that has been made before this round.
fn made_of_slice() -> f32 {
    return bitcast<f32>(atomicLoad(&triangle_lists.round.made));
}

/// Most parts that what is left of the slice is cut into in a round; they count from 1. None is much less of the slice than one of
/// `TRIANGLE_MAX_ROUNDS`: a row that gets no nearer to where it goes would halve what is left for ever.
fn most_parts(round: u32) -> f32 {
    let strides = min(TRIANGLE_MAX_ROUNDS, triangle.max_rounds);
    let rounds = f32(strides - min(round - 1u, strides - 1u));
    let parts = ceil((1.0 - made_of_slice()) * f32(TRIANGLE_MAX_ROUNDS));
    return min(rounds, max(parts, 1.0));
}

/// A word of a body.
fn body_word(body: u32, k: u32) -> u32 {
    return 3u * triangle.row_count + 8u * triangle.capacity + TRIANGLE_BODY_WORDS * body + k;
}
