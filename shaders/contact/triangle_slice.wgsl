#import lib/math
#import contact/triangle_buffers

/// Starts the slice at row i: extends the bounds and the longest forced move of its body, and
/// clears what contact accumulates.
fn bound_row(i: u32) {
    let start = load_row(TRIANGLE_STARTS, i);
    let goal = load_row(TRIANGLE_TARGETS, i);
    let radius = triangle_rows[i].radius;
    let body = triangle_rows[i].body;
    for (var k = 0u; k < 3u; k++) {
        atomicMin(&triangle_lists.words[body_word(body, k)], ordered_bits(min(start[k], goal[k]) - radius));
        atomicMax(&triangle_lists.words[body_word(body, 3u + k)], ordered_bits(max(start[k], goal[k]) + radius));
    }
    // Floats from 0 on compare like their bits.
    let step = goal - start;
    if (is_immovable(i)) {
        atomicMax(&triangle_lists.words[body_word(body, 6u)], bitcast<u32>(dot3(step, step)));
    }
    store_row(TRIANGLE_BEGUN, i, start);
    store_row(TRIANGLE_CARRIES, i, vec3<f32>(0.0));
    store_row(TRIANGLE_BLOCKS, i, vec3<f32>(0.0));
    atomicStore(&triangle_lists.words[hold_word(i)], 0u);
}

/// Scales multiplier i of the last slice to the step length of this one.
fn scale_multiplier(i: u32) {
    if (triangle.held_scale != 1.0) {
        triangle_held[i].drag *= triangle.held_scale;
    }
}

/// Number of equal parts that the rest of the slice is divided into, the first of which is this
/// round: as many as the last round left, or more if a pair within reach requires it.
fn part_count() -> f32 {
    let most = most_parts(atomicLoad(&triangle_lists.round.round_count));
    let left = bitcast<f32>(atomicLoad(&triangle_lists.round.parts_left));
    let count = clamp(left, 1.0, most);
    let limit = bitcast<f32>(atomicLoad(&triangle_lists.round.limit));
    if (limit < 1.0) {
        return min(ceil(count / limit), most);
    }
    return count;
}

/// Fraction of the slice that is made after this round, if the rest is divided into `count` parts.
fn end_of_round(count: f32) -> f32 {
    let made = made_of_slice();
    return select(made + (1.0 - made) / count, 1.0, count == 1.0);
}

/// Decides whether another round runs, and updates the state for it.
fn begin_round() {
    let round = atomicLoad(&triangle_lists.round.round_count);
    let is_repeat = atomicLoad(&triangle_lists.round.unexpected_count) > 0u;
    let again = bitcast<f32>(atomicLoad(&triangle_lists.round.restart_parts));
    // A round runs to restart, to repeat, or because the slice is not finished.
    let is_next = again > 0.0 || is_repeat || (round < triangle.max_rounds && goes_on(round));
    let is_due = is_next && atomicLoad(&triangle_lists.round.unlisted_count) == 0u;
    atomicStore(&triangle_lists.round.gates[TRIANGLE_DUE], u32(is_due));
    atomicStore(&triangle_lists.round.gates[TRIANGLE_FRESH], u32(is_due && !is_repeat));
    if (is_due) {
        let repeats = select(0u, atomicLoad(&triangle_lists.round.repeat_count) + 1u, is_repeat);
        // After too many repeats, or late in the slice, any row may be truncated,
        // so that it does not repeat.
        let is_careful = repeats == TRIANGLE_MAX_REPEATS || 2u * (round + 1u) >= triangle.max_rounds;
        atomicStore(&triangle_lists.round.repeat_count, repeats);
        atomicStore(&triangle_lists.round.is_careful, u32(is_careful));
        atomicStore(&triangle_lists.round.round_count, round + 1u);
        atomicStore(&triangle_lists.round.unexpected_count, 0u);
        atomicStore(&triangle_lists.round.is_pressed, 0u);
        atomicStore(&triangle_lists.round.valid_part, bitcast<u32>(1.0));
        atomicStore(&triangle_lists.round.gates[TRIANGLE_OVERLAPS], 0u);
        if (again > 0.0) {
            atomicStore(&triangle_lists.round.parts_left, bitcast<u32>(again));
        } else if (!is_repeat) {
            begin_part(round);
        }
        if (!is_repeat) {
            atomicStore(&triangle_lists.round.restart_parts, 0u);
            atomicStore(&triangle_lists.round.limit, bitcast<u32>(1.0));
            atomicStore(&triangle_lists.round.contact_count, 0u);
            atomicStore(&triangle_lists.round.held_row_count, 0u);
        }
    }
}

/// Tests whether the slice needs another round after `round` rounds.
fn goes_on(round: u32) -> bool {
    if (round == 0u || end_of_last(round) < 1.0) {
        return true;
    }
    // Once the whole slice is made, rounds continue while rows still get nearer to their targets.
    let late = atomicLoad(&triangle_lists.round.late_count);
    let before = sqrt(bitcast<f32>(atomicLoad(&triangle_lists.round.last_farthest_square)));
    let farthest = sqrt(bitcast<f32>(atomicLoad(&triangle_lists.round.farthest_square)));
    let is_there = farthest <= TRIANGLE_ARRIVED * triangle.thickness;
    let gains = late == 0u || farthest <= TRIANGLE_GAIN * before;
    return late < TRIANGLE_MAX_LATE_ROUNDS && !is_there && gains;
}

/// Fraction of the slice that was made after `round` rounds, which none of them has stored yet.
fn end_of_last(round: u32) -> f32 {
    if (round == 0u) {
        return 0.0;
    }
    return end_of_round(bitcast<f32>(atomicLoad(&triangle_lists.round.part_count)));
}

/// Starts the next part of the slice after `round` rounds.
fn begin_part(round: u32) {
    let made = end_of_last(round);
    let left = max(bitcast<f32>(atomicLoad(&triangle_lists.round.part_count)) - 1.0, 0.0);
    atomicAdd(&triangle_lists.round.late_count, u32(made == 1.0));
    atomicStore(&triangle_lists.round.parts_left, bitcast<u32>(left));
    atomicStore(&triangle_lists.round.made, bitcast<u32>(made));
    atomicStore(&triangle_lists.round.last_farthest_square, atomicLoad(&triangle_lists.round.farthest_square));
    atomicStore(&triangle_lists.round.farthest_square, 0u);
}

/// Sets the contact-free move of row i in this round: the first of equal parts of its remaining
/// path, so that all rows arrive together.
fn plan_move(i: u32) {
    if (is_due()) {
        let count = part_count();
        let end = end_of_round(count);
        let start = load_row(TRIANGLE_STARTS, i);
        let goal = load_row(TRIANGLE_TARGETS, i);
        let begun = load_row(TRIANGLE_BEGUN, i);
        // Pins and colliders stay exactly on their path from the start of the slice.
        if (is_immovable(i)) {
            store_row(TRIANGLE_MOVES, i, begun + (goal - begun) * end - start);
        } else {
            store_row(TRIANGLE_MOVES, i, (goal - start) / count);
        }
        if (i == 0u) {
            atomicStore(&triangle_lists.round.part_count, bitcast<u32>(count));
            atomicStore(&triangle_lists.round.part, bitcast<u32>((1.0 - made_of_slice()) / count));
        }
    }
}

/// Rewrites the body indices of stored multipliers and drops those of removed bodies.
/// `triangle_begins` holds the new index of each body, 0xffffffff for none. A single lane keeps the
/// order; bodies change rarely.
fn remap_multipliers() {
    let count = atomicLoad(&triangle_lists.round.held_count);
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
    atomicStore(&triangle_lists.round.held_count, kept);
}

/// Ends the slice for row i: the truncated rest of its move stays velocity, except along the normal
/// of the pair that truncated it.
fn restore_velocity(i: u32) {
    let start = load_row(TRIANGLE_STARTS, i);
    let lost = load_row(TRIANGLE_TARGETS, i) - start;
    let block = load_row(TRIANGLE_BLOCKS, i);
    // carry -= lost - (lost . n) n
    store_row(TRIANGLE_CARRIES, i, load_row(TRIANGLE_CARRIES, i) - (lost - block * dot3(lost, block)));
    store_row(TRIANGLE_TARGETS, i, start);
}
