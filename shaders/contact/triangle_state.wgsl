#import lib/math
#import state/constants
#import contact/triangle_types

/// State of the round, followed by lists whose lengths depend on the numbers of rows, pairs and
/// bodies.
struct TriangleLists {
    /// State of the round.
    round: RoundState,
    /// Lists, one after another. Per row: the fraction of its move that is left as bits, the first
    /// pair that limits it, and 1 if it was truncated in this slice. Corners by row, each four
    /// times its pair plus its number, sorted and in order of arrival. Per body:
    /// TRIANGLE_BODY_WORDS words.
    words: array<atomic<u32>>,
}

/// Parameters of the pass.
@group(0) @binding(0) var<uniform> triangle: TriangleParameters;
/// Sections with an entry per row, from TRIANGLE_STARTS on; w unused.
@group(0) @binding(3) var<storage, read_write> triangle_moves: array<vec4<f32>>;
/// State of the round and lists; `fraction_word` and its neighbours return addresses.
@group(0) @binding(8) var<storage, read_write> triangle_lists: TriangleLists;

/// Vector of a row in a section.
fn load_row(section: u32, row: u32) -> vec3<f32> {
    return triangle_moves[section * triangle.row_count + row].xyz;
}

/// Writes the vector of a row in a section.
fn store_row(section: u32, row: u32, value: vec3<f32>) {
    triangle_moves[section * triangle.row_count + row] = vec4<f32>(value, 0.0);
}

/// Tests the gate of the pass: false if it has nothing to do.
fn is_due() -> bool {
    return atomicLoad(&triangle_lists.round.gates[triangle.gate]) != 0u;
}

/// Tests whether this round is not a repeat, which only truncates with more pairs.
fn is_fresh() -> bool {
    return atomicLoad(&triangle_lists.round.gates[TRIANGLE_FRESH]) != 0u;
}

/// Fraction of the slice that this round advances.
fn part_of_slice() -> f32 {
    return bitcast<f32>(atomicLoad(&triangle_lists.round.part));
}

/// Fraction of the slice that was made before this round.
fn made_of_slice() -> f32 {
    return bitcast<f32>(atomicLoad(&triangle_lists.round.made));
}

/// Largest number of parts that a round, counted from 1, may divide the rest of the slice into. No
/// part is much shorter than 1 / TRIANGLE_MAX_ROUNDS of the slice; otherwise a row that gets no
/// nearer to its target would halve the rest forever.
fn most_parts(round: u32) -> f32 {
    let strides = min(TRIANGLE_MAX_ROUNDS, triangle.max_rounds);
    let rounds = f32(strides - min(round - 1u, strides - 1u));
    let parts = ceil((1.0 - made_of_slice()) * f32(TRIANGLE_MAX_ROUNDS));
    return min(rounds, max(parts, 1.0));
}

/// Address of word k of a body.
fn body_word(body: u32, k: u32) -> u32 {
    return 3u * triangle.row_count + 8u * triangle.capacity + TRIANGLE_BODY_WORDS * body + k;
}
