#import lib/math
#import contact/triangle_buffers
#import contact/triangle_path

/// Tests whether the corners of a candidate may come into contact in this round: no axis separates
/// the boxes around their moves, and a corner is movable.
fn may_meet(i: u32) -> bool {
    let rows = triangle_candidates[i].rows;
    let kind = triangle_candidates[i].kind;
    if (is_immovable(rows.x) && is_immovable(rows.y) && is_immovable(rows.z) && is_immovable(rows.w)) {
        return false;
    }
    if (kind == TRIANGLE_VERTEX_PLANE) {
        return true;
    }
    var first = path_of(rows.x);
    var second = join(path_of(rows.z), path_of(rows.w));
    if (kind == TRIANGLE_EDGE_EDGE) {
        first = join(first, path_of(rows.y));
    } else {
        second = join(second, path_of(rows.y));
    }
    return !misses(first, second);
}

/// Stores the contact-free move of row i, and boxes around it at both ends, inflated by its reach:
/// the distance within which it may push or cross, at the end along its whole move if it may be
/// truncated.
fn bound_move(i: u32) {
    let start = load_row(TRIANGLE_STARTS, i);
    let step = load_row(select(TRIANGLE_AIMS, TRIANGLE_MOVES, is_fresh()), i);
    let push = triangle_rows[i].radius + 0.5 * TRIANGLE_EAGER * triangle.reserve;
    let cross = triangle_rows[i].hard + triangle.reserve;
    let starts = along_axes(start);
    let ends = along_axes(start + step);
    let held = along_axes(select(vec3<f32>(0.0), step, may_hold(i)));
    for (var k = 0u; k < TRIANGLE_AXES; k++) {
        // A reach extends coordinates along diagonals by the root of 2.
        let lengths = axis_lengths(k);
        let section = TRIANGLE_STEPS + 4u * k;
        let wide = push * lengths;
        let around = max(wide, cross * lengths);
        // A truncated row may end anywhere on its move.
        let below = max(wide, cross * lengths + max(held[k], vec3<f32>(0.0)));
        let above = max(wide, cross * lengths + max(-held[k], vec3<f32>(0.0)));
        store_row(section, i, starts[k] - around);
        store_row(section + 1u, i, ends[k] - below);
        store_row(section + 2u, i, starts[k] + around);
        store_row(section + 3u, i, ends[k] + above);
    }
    store_row(TRIANGLE_AIMS, i, step);
    atomicStore(&triangle_lists.words[fraction_word(i)], bitcast<u32>(1.0));
    atomicStore(&triangle_lists.words[first_word(i)], 0xffffffffu);
}
