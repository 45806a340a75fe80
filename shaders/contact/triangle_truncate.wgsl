#import lib/math
#import contact/triangle_buffers

/// Computes the fractions of the corners' moves that pair i allows, so that it keeps part of its
/// gap whatever other pairs do.
///
/// A corner that moves straight between two positions on one side of a plane stays on that side. A
/// plane between both simplices, which the start leaves room for and the ends respect, is therefore
/// never crossed (planar truncation).
fn truncate_moves(i: u32) {
    let rows = triangle_pairs[i].rows;
    let normal = triangle_pairs[i].normal.xyz;
    let count = triangle_pairs[i].first_count;
    let origin = load_row(TRIANGLE_STARTS, rows.x);
    // Per corner: distance behind the nearest corner of its side, and approach to the other side.
    var behind = vec4<f32>(0.0);
    var coming = vec4<f32>(0.0);
    var nearest = vec2<f32>(bitcast<f32>(0x7f7fffffu));
    for (var k = 0u; k < 4u; k++) {
        let side = u32(k >= count);
        let sign = select(-1.0, 1.0, k < count);
        behind[k] = dot3(normal, load_row(TRIANGLE_STARTS, rows[k]) - origin) * sign;
        coming[k] = -dot3(normal, load_row(TRIANGLE_MOVES, rows[k])) * sign;
        nearest[side] = min(nearest[side], behind[k]);
    }
    // The normal is rounded, so the corners may be closer along it than the distance.
    let gap = min(triangle_pairs[i].normal.w, nearest.x + nearest.y - triangle_pairs[i].hard);
    // Corners that recede make room if their moves cannot be truncated.
    var forced = vec2<f32>(0.0);
    var fronts = vec2<f32>(bitcast<f32>(0xff7fffffu));
    for (var k = 0u; k < 4u; k++) {
        let side = u32(k >= count);
        behind[k] -= nearest[side];
        let front = most_coming(rows[k], coming[k]) - behind[k];
        fronts[side] = max(fronts[side], front);
        if (is_immovable(rows[k])) {
            forced[side] = max(forced[side], front);
        }
    }
    // Immovable corners take their share of the room first; the rest is split by approach.
    let by_force = min(fronts, forced);
    let more = fronts - by_force;
    let room = max(min(TRIANGLE_APPROACH * gap, gap - TRIANGLE_LEAST_GAP * triangle.thickness), 0.0);
    let left = room - by_force.x - by_force.y;
    let is_known = any(normal != vec3<f32>(0.0));
    let is_cut = is_known && more.x + more.y > left;
    var fractions = vec4<f32>(1.0);
    for (var k = 0u; k < 4u && is_cut; k++) {
        let side = u32(k >= count);
        // A side that recedes or only moves by force is not truncated: its share could be negative.
        if (more[side] <= 0.0) {
            continue;
        }
        let part = max(left, 0.0) * more[side] / (more.x + more.y);
        let allowed = by_force[side] + part + behind[k];
        if (!is_immovable(rows[k]) && coming[k] > allowed) {
            fractions[k] = allowed / coming[k];
            atomicMin(&triangle_lists.words[fraction_word(rows[k])], bitcast<u32>(fractions[k]));
        }
    }
    triangle_pairs[i].fractions = fractions;
    triangle_pairs[i].is_pressed = u32(is_cut && left < 0.0);
}

/// Marks pair i at the rows that it limits most; the pair with the lowest index wins.
fn mark_limiting_pair(i: u32) {
    let rows = triangle_pairs[i].rows;
    let fractions = triangle_pairs[i].fractions;
    for (var k = 0u; k < 4u; k++) {
        let least = atomicLoad(&triangle_lists.words[fraction_word(rows[k])]);
        if (fractions[k] < 1.0 && bitcast<u32>(fractions[k]) == least) {
            atomicMin(&triangle_lists.words[first_word(rows[k])], i);
        }
    }
}

/// Tests whether rows move in this round: none was truncated unexpectedly.
fn is_moving() -> bool {
    return atomicLoad(&triangle_lists.round.unexpected_count) == 0u;
}

/// Limits the truncated move of row i to the reserve around its path, within which pairs were
/// searched, or flags a row that was truncated unexpectedly. Stores the normal of the pair that
/// limits it. Pins and colliders are never truncated.
fn check_truncation(i: u32) {
    let first = atomicLoad(&triangle_lists.words[first_word(i)]);
    var block = vec3<f32>(0.0);
    if (first != 0xffffffffu) {
        let rows = triangle_pairs[first].rows;
        // Between movable sides nothing is lost: the next slice pushes both, and momentum is
        // conserved.
        if (is_immovable(rows.x) || is_immovable(rows.y) || is_immovable(rows.z) || is_immovable(rows.w)) {
            block = triangle_pairs[first].normal.xyz;
        }
    }
    store_row(TRIANGLE_BLOCKS, i, block);
    if (!is_immovable(i)) {
        let step = load_row(TRIANGLE_MOVES, i);
        let aim = load_row(TRIANGLE_AIMS, i);
        let fraction = bitcast<f32>(atomicLoad(&triangle_lists.words[fraction_word(i)]));
        if (may_hold(i)) {
            let square = dot3(aim, aim);
            var part = 0.0;
            if (square > 0.0) {
                part = clamp_unit(dot3(step, aim) / square);
            }
            // Distance of the truncated end from the nearest point of the path.
            let off = length3(step - aim * part) * fraction;
            if (off > triangle.reserve) {
                atomicStore(&triangle_lists.words[fraction_word(i)], bitcast<u32>(fraction * (triangle.reserve / off)));
            }
        } else if (fraction < 1.0 || length3(step - aim) > triangle.reserve) {
            // Pairs were searched for its full move only, so the round repeats.
            atomicStore(&triangle_lists.words[hold_word(i)], 1u);
            atomicAdd(&triangle_lists.round.unexpected_count, 1u);
        }
    }
}

/// Moves row i by the allowed fraction of its move, and its target by the correction that contact
/// made.
fn move_row(i: u32) {
    let fraction = bitcast<f32>(atomicLoad(&triangle_lists.words[fraction_word(i)]));
    if (fraction < 1.0) {
        atomicAdd(&triangle_lists.round.held_row_count, 1u);
    }
    let step = load_row(TRIANGLE_MOVES, i);
    let end = load_row(TRIANGLE_STARTS, i) + step * fraction;
    let goal = load_row(TRIANGLE_TARGETS, i) + (step - load_row(TRIANGLE_AIMS, i));
    let left = goal - end;
    atomicMax(&triangle_lists.round.farthest_square, bitcast<u32>(dot3(left, left)));
    store_row(TRIANGLE_STARTS, i, end);
    store_row(TRIANGLE_TARGETS, i, goal);
}

/// Counts a pair that is forced to cross, also at the bodies of its first and last corner.
fn add_forced(rows: vec4<u32>) {
    let first = triangle_rows[rows.x].body;
    let second = triangle_rows[rows.w].body;
    atomicAdd(&triangle_lists.round.forced_count, 1u);
    atomicAdd(&triangle_lists.words[body_word(first, TRIANGLE_BODY_FORCED)], 1u);
    atomicMax(&triangle_lists.words[body_word(first, TRIANGLE_BODY_FORCED_ROW)], rows.x + 1u);
    if (second != first) {
        atomicAdd(&triangle_lists.words[body_word(second, TRIANGLE_BODY_FORCED)], 1u);
        atomicMax(&triangle_lists.words[body_word(second, TRIANGLE_BODY_FORCED_ROW)], rows.w + 1u);
    }
}

/// Records the gap of pair i, and counts it if pins or colliders press it across: a pressed pair is
/// not crossed while its other corners make room.
fn count_forced(i: u32) {
    let rows = triangle_pairs[i].rows;
    let normal = triangle_pairs[i].normal.xyz;
    if (all(normal == vec3<f32>(0.0))) {
        add_forced(rows);
        return;
    }
    atomicMin(&triangle_lists.round.least_gap, ordered_bits(triangle_pairs[i].normal.w));
    if (triangle_pairs[i].is_pressed != 0u) {
        // Heights along the normal after the move: crossed if the first side is not above the
        // second.
        let a = dot3(normal, load_row(TRIANGLE_STARTS, rows.x));
        let b = dot3(normal, load_row(TRIANGLE_STARTS, rows.y));
        let c = dot3(normal, load_row(TRIANGLE_STARTS, rows.z));
        let d = dot3(normal, load_row(TRIANGLE_STARTS, rows.w));
        var first = a;
        var second = max(c, d);
        if (triangle_pairs[i].first_count == 2u) {
            first = min(a, b);
        } else {
            second = max(second, b);
        }
        if (first - second <= triangle_pairs[i].hard) {
            add_forced(rows);
        }
    }
}
