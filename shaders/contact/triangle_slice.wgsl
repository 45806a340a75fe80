#import lib/math
#import contact/triangle_buffers

/// Begins the slice for row i: its body has bounds and a longest move, and nothing is carried yet.
fn span_row(i: u32) {
    let start = load_row(TRIANGLE_STARTS, i);
    let goal = load_row(TRIANGLE_TARGETS, i);
    let radius = triangle_rows[i].radius;
    let body = triangle_rows[i].body;
    for (var k = 0u; k < 3u; k++) {
        atomicMin(&triangle_lists[body_word(body, k)], ordered_bits(min(start[k], goal[k]) - radius));
        atomicMax(&triangle_lists[body_word(body, 3u + k)], ordered_bits(max(start[k], goal[k]) + radius));
    }
    let step = goal - start;
    atomicMax(&triangle_lists[body_word(body, select(6u, 7u, is_immovable(i)))], bitcast<u32>(dot3(step, step)));
    store_row(TRIANGLE_BEGUN, i, start);
    store_row(TRIANGLE_CARRIES, i, vec3<f32>(0.0));
    store_row(TRIANGLE_BLOCKS, i, vec3<f32>(0.0));
}

/// Scales multiplier i of the last slice to the step of this one.
fn scale_held(i: u32) {
    if (triangle.held_scale != 1.0) {
        triangle_held[i].drag *= triangle.held_scale;
    }
}

/// Rounds in which the fastest row makes its move.
fn stride_count() -> u32 {
    let free = sqrt(bitcast<f32>(atomicLoad(&triangle_lists[TRIANGLE_FREE_MOVE])));
    let forced = sqrt(bitcast<f32>(atomicLoad(&triangle_lists[TRIANGLE_FORCED_MOVE])));
    let strides = max(forced / (TRIANGLE_STRIDE * triangle.thickness), free / (TRIANGLE_REACH * triangle.thickness));
    return u32(clamp(ceil(strides), 1.0, f32(min(TRIANGLE_MAX_ROUNDS, triangle.max_rounds))));
}

/// Determines whether there is another round, and which part of the slice it is.
fn begin_round() {
    let round = atomicLoad(&triangle_lists[TRIANGLE_ROUNDS]);
    let strides = stride_count();
    let farthest = sqrt(bitcast<f32>(atomicLoad(&triangle_lists[TRIANGLE_FARTHEST])));
    let is_there = farthest <= TRIANGLE_ARRIVED * triangle.thickness;
    let is_last = round >= strides && (round + 1u - strides > TRIANGLE_MAX_LATE_ROUNDS || is_there);
    let is_next = !is_last && round < triangle.max_rounds && atomicLoad(&triangle_lists[TRIANGLE_LACK]) == 0u;
    atomicStore(&triangle_lists[TRIANGLE_DUE], u32(is_next));
    if (is_next) {
        let part = select(0.0, 1.0 / f32(strides), round < strides);
        atomicStore(&triangle_lists[TRIANGLE_ROUNDS], round + 1u);
        atomicStore(&triangle_lists[TRIANGLE_PART], bitcast<u32>(part));
        atomicStore(&triangle_lists[TRIANGLE_FARTHEST], 0u);
    }
}

/// Where row i goes in this round: a part of what is left of its path, so that all arrive together.
fn aim_row(i: u32) {
    if (is_due()) {
        let round = atomicLoad(&triangle_lists[TRIANGLE_ROUNDS]) - 1u;
        let strides = stride_count();
        let start = load_row(TRIANGLE_STARTS, i);
        let goal = load_row(TRIANGLE_TARGETS, i);
        let begun = load_row(TRIANGLE_BEGUN, i);
        let part = 1.0 / f32(strides - min(round, strides - 1u));
        let fraction = min(f32(round + 1u) / f32(strides), 1.0);
        if (is_immovable(i)) {
            store_row(TRIANGLE_MOVES, i, begun + (goal - begun) * fraction - start);
        } else {
            store_row(TRIANGLE_MOVES, i, (goal - start) * part);
        }
    }
}

/// Renames multipliers to the new indices of their bodies and leaves out those of bodies that are gone. `triangle_begins` has the new index
/// of each body, 0xffffffff for none. One lane does it, in order: it is rare.
fn rename_held() {
    let count = atomicLoad(&triangle_lists[TRIANGLE_HELD]);
    var kept = 0u;
    for (var i = 0u; i < count; i++) {
        var held = triangle_held[i];
        let first = atomicLoad(&triangle_begins[held.rank.x]);
        let second = atomicLoad(&triangle_begins[held.rank.y]);
        if (held.drag.w > 0.0 && max(first, second) != 0xffffffffu) {
            held.rank.x = first;
            held.rank.y = second;
            triangle_held[kept] = held;
            kept++;
        }
    }
    atomicStore(&triangle_lists[TRIANGLE_HELD], kept);
}

/// Ends the slice for row i: what was held back of its moves stays velocity, but for what is against the pair that held it.
fn finish_row(i: u32) {
    let start = load_row(TRIANGLE_STARTS, i);
    let lost = load_row(TRIANGLE_TARGETS, i) - start;
    let block = load_row(TRIANGLE_BLOCKS, i);
    store_row(TRIANGLE_CARRIES, i, load_row(TRIANGLE_CARRIES, i) - (lost - block * dot3(lost, block)));
    store_row(TRIANGLE_TARGETS, i, start);
}
