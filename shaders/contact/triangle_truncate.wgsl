#import lib/math
#import contact/triangle_buffers

/// Fractions of the moves of its corners that pair i leaves, so that it keeps a part of its gap whatever the others do. On a straight
/// path between positions on one side of a plane a corner stays on that side: so a plane between both simplices, which the start
/// leaves room for and the ends respect, is never crossed.
fn truncate_moves(i: u32) {
    let rows = triangle_pairs[i].rows;
    let normal = triangle_pairs[i].normal.xyz;
    let count = triangle_pairs[i].first_count;
    let origin = load_row(TRIANGLE_STARTS, rows.x);
    // How far each corner is behind the nearest of its side, and how far it comes towards the other side.
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
    // The normal is rounded: what it leaves between all corners is less, if anything.
    let gap = min(triangle_pairs[i].normal.w, nearest.x + nearest.y - triangle_pairs[i].hard);
    // What goes away makes room, if nothing can hold it back.
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
    let by_force = min(fronts, forced);
    let more = fronts - by_force;
    let room = max(min(TRIANGLE_APPROACH * gap, gap - TRIANGLE_LEAST_GAP * triangle.thickness), 0.0);
    let left = room - by_force.x - by_force.y;
    let is_known = any(normal != vec3<f32>(0.0));
    let is_cut = is_known && more.x + more.y > left;
    var fractions = vec4<f32>(1.0);
    for (var k = 0u; k < 4u && is_cut; k++) {
        let side = u32(k >= count);
        // A side that goes away, or comes by force alone, is not cut: what is allowed would be below 0.
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

/// Notes pair i at the rows of which it leaves no more than any other; of several the first.
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

/// Whether the rows move: nobody is held back who was not expected to be.
fn is_moving() -> bool {
    return atomicLoad(&triangle_lists.round.unexpected_count) == 0u;
}

/// Finds what is left of the move of row i, so that it gets no farther off its path than what is in reach was looked for, or whether it is
/// held back and was not expected to be; notes the direction of the pair that left least. Nothing stops a row without mass.
fn check_truncation(i: u32) {
    let first = atomicLoad(&triangle_lists.words[first_word(i)]);
    var block = vec3<f32>(0.0);
    if (first != 0xffffffffu) {
        let rows = triangle_pairs[first].rows;
        // Two sides that move lose nothing: the next slice pushes both alike, and momentum stays.
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
            let off = length3(step - aim * part) * fraction;
            if (off > triangle.reserve) {
                atomicStore(&triangle_lists.words[fraction_word(i)], bitcast<u32>(fraction * (triangle.reserve / off)));
            }
        } else if (fraction < 1.0 || length3(step - aim) > triangle.reserve) {
            atomicStore(&triangle_lists.words[hold_word(i)], 1u);
            atomicAdd(&triangle_lists.round.unexpected_count, 1u);
        }
    }
}

/// Moves row i by what is left of its move.
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

/// Counts a pair that is forced to cross, at the bodies of its first and last corner too.
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

/// Notes the gap of pair i, and counts it if pins or colliders press it until it is crossed: what is pressed is not as long as the others
/// make room.
fn count_forced(i: u32) {
    let rows = triangle_pairs[i].rows;
    let normal = triangle_pairs[i].normal.xyz;
    if (all(normal == vec3<f32>(0.0))) {
        add_forced(rows);
        return;
    }
    atomicMin(&triangle_lists.round.least_gap, ordered_bits(triangle_pairs[i].normal.w));
    if (triangle_pairs[i].is_pressed != 0u) {
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
