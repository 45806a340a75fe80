#import lib/math
#import contact/triangle_buffers
#import contact/triangle_closest
#import contact/triangle_steps

/// Closest points of the two simplices of a pair.
fn closest_of(kind: u32, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> Closest {
    if (kind == TRIANGLE_VERTEX_PLANE) {
        return Closest(vec4<f32>(1.0, -1.0, 0.0, 0.0), a - b, true);
    }
    if (kind == TRIANGLE_EDGE_EDGE) {
        return edge_edge(a, b, c, d);
    }
    return vertex_face(a, b, c, d);
}

/// Distance between the bounding boxes of both simplices [m].
fn box_distance(kind: u32, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> f32 {
    var first_low = a;
    var first_high = a;
    var second_low = min(c, d);
    var second_high = max(c, d);
    if (kind == TRIANGLE_EDGE_EDGE) {
        first_low = min(a, b);
        first_high = max(a, b);
    } else {
        second_low = min(second_low, b);
        second_high = max(second_high, b);
    }
    return length3(max(max(first_low - second_high, second_low - first_high), vec3<f32>(0.0)));
}

/// Distance at which candidate i is kept apart [m]: the sum of the radii at its closest points, or
/// less within one body if the simplices rest closer.
fn thickness_of(i: u32, weights: vec4<f32>) -> f32 {
    let rows = triangle_candidates[i].rows;
    let a = triangle_rows[rows.x].radius * abs(weights.x);
    let b = triangle_rows[rows.y].radius * abs(weights.y);
    let c = triangle_rows[rows.z].radius * abs(weights.z);
    let d = triangle_rows[rows.w].radius * abs(weights.w);
    let thickness = a + b + c + d;
    if (triangle_candidates[i].is_own == 0u) {
        return thickness;
    }
    let kind = triangle_candidates[i].kind;
    let p = triangle_rows[rows.x].rest.xyz;
    let q = triangle_rows[rows.y].rest.xyz;
    let r = triangle_rows[rows.z].rest.xyz;
    let s = triangle_rows[rows.w].rest.xyz;
    var first = triangle_rows[rows.x].radius;
    var second = max(triangle_rows[rows.z].radius, triangle_rows[rows.w].radius);
    if (kind == TRIANGLE_EDGE_EDGE) {
        first = max(first, triangle_rows[rows.y].radius);
    } else {
        second = max(second, triangle_rows[rows.y].radius);
    }
    // Most pairs rest far apart: the exact rest distance is not needed.
    if (TRIANGLE_REST * box_distance(kind, p, q, r, s) > first + second) {
        return thickness;
    }
    return min(thickness, TRIANGLE_REST * length3(closest_of(kind, p, q, r, s).delta));
}

/// Portion of the distance of candidate i that is solid collider [m].
fn hard_of(i: u32, weights: vec4<f32>) -> f32 {
    let rows = triangle_candidates[i].rows;
    let a = triangle_rows[rows.x].hard * abs(weights.x);
    let b = triangle_rows[rows.y].hard * abs(weights.y);
    let c = triangle_rows[rows.z].hard * abs(weights.z);
    let d = triangle_rows[rows.w].hard * abs(weights.w);
    return a + b + c + d;
}

/// Direction of the edge that has one of the closest points between its ends; 0 if none has.
fn edge_of(kind: u32, weights: vec4<f32>, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> vec3<f32> {
    let has = weights != vec4<f32>(0.0);
    if (kind == TRIANGLE_VERTEX_FACE) {
        if (has.y && has.z && !has.w) {
            return c - b;
        }
        if (!has.y && has.z && has.w) {
            return d - c;
        }
        if (has.y && !has.z && has.w) {
            return d - b;
        }
        return vec3<f32>(0.0);
    }
    if (has.x && has.y) {
        return b - a;
    }
    if (has.z && has.w) {
        return d - c;
    }
    return vec3<f32>(0.0);
}

/// Separating direction of candidate i, and its distance [m], which is negative behind a plane.
fn apart(i: u32, closest: Closest) -> vec4<f32> {
    let rows = triangle_candidates[i].rows;
    let kind = triangle_candidates[i].kind;
    if (kind == TRIANGLE_VERTEX_PLANE) {
        let normal = triangle_rows[rows.y].rest.xyz;
        return vec4<f32>(normal, dot3(normal, closest.delta));
    }
    let distance_square = dot3(closest.delta, closest.delta);
    if (distance_square < MIN_SQUARE) {
        return vec4<f32>(0.0);
    }
    let distance = sqrt(distance_square);
    let direction = closest.delta / distance;
    // Over a face, or inside both edges, the normal of the sides is accurate; a short delta is not.
    let a = load_row(TRIANGLE_STARTS, rows.x);
    let b = load_row(TRIANGLE_STARTS, rows.y);
    let c = load_row(TRIANGLE_STARTS, rows.z);
    let d = load_row(TRIANGLE_STARTS, rows.w);
    var normal = vec3<f32>(0.0);
    if (closest.is_inside) {
        normal = cross3(c - b, d - b);
        if (kind == TRIANGLE_EDGE_EDGE) {
            normal = cross3(b - a, d - c);
        }
        if (dot3(normal, direction) < 0.0) {
            normal = -normal;
        }
    } else {
        // Otherwise the direction is made perpendicular to the edge that holds a closest point.
        let along = edge_of(kind, closest.weights, a, b, c, d);
        let square = dot3(along, along);
        var part = 0.0;
        if (square > 0.0) {
            part = dot3(direction, along) / square;
        }
        normal = direction - along * part;
    }
    let square = dot3(normal, normal);
    if (square > MIN_NORMAL_SQUARE) {
        return vec4<f32>(normal / sqrt(square), distance);
    }
    return vec4<f32>(direction, distance);
}

/// Tests whether candidate i owns its closest feature, so that sides and corners shared by several
/// faces push once, and the end of an edge only as a vertex. A vertex that is over the face beyond
/// a side belongs to that face.
fn owns_feature(i: u32, closest: Closest) -> bool {
    let kind = triangle_candidates[i].kind;
    let has = abs(closest.weights) > vec4<f32>(TRIANGLE_BORDER);
    if (kind == TRIANGLE_VERTEX_PLANE || all(has)) {
        return true;
    }
    if (kind == TRIANGLE_EDGE_EDGE) {
        return false;
    }
    // Bits of `owned`: three sides, then three corners.
    var feature = 32u;
    var side = 3u;
    if (has.y && has.z) {
        feature = 1u;
        side = 0u;
    } else if (has.z && has.w) {
        feature = 2u;
        side = 1u;
    } else if (has.y && has.w) {
        feature = 4u;
        side = 2u;
    } else if (has.y) {
        feature = 8u;
    } else if (has.z) {
        feature = 16u;
    }
    if ((triangle_candidates[i].owned & feature) == 0u) {
        return false;
    }
    let beyond = triangle_candidates[i].beyond[side];
    return side == 3u || beyond == NO_OFFSET || !is_over(i, side, beyond, closest);
}

/// Tests whether the vertex of candidate i, closest to a side of its face, is over the face beyond
/// that side, whose opposite corner is row `beyond`.
fn is_over(i: u32, side: u32, beyond: u32, closest: Closest) -> bool {
    let rows = triangle_candidates[i].rows;
    let vertex = load_row(TRIANGLE_STARTS, rows.x);
    let begin = load_row(TRIANGLE_STARTS, rows[1u + side]);
    let edge = load_row(TRIANGLE_STARTS, rows[1u + (side + 1u) % 3u]) - begin;
    let arm = load_row(TRIANGLE_STARTS, beyond) - (vertex - closest.delta);
    let square = dot3(edge, edge);
    var part = 0.0;
    if (square > 0.0) {
        part = dot3(arm, edge) / square;
    }
    // Part of the arm across the side: it points into the face beyond.
    let height = arm - edge * part;
    return dot3(closest.delta, height) > TRIANGLE_BEYOND * dot3(height, height);
}

/// Pair of candidate i at the start of this round. It is active, so that it may push, if it owns
/// its closest feature.
fn measure(i: u32) -> TrianglePair {
    let rows = triangle_candidates[i].rows;
    let kind = triangle_candidates[i].kind;
    let a = load_row(TRIANGLE_STARTS, rows.x);
    let b = load_row(TRIANGLE_STARTS, rows.y);
    let c = load_row(TRIANGLE_STARTS, rows.z);
    let d = load_row(TRIANGLE_STARTS, rows.w);
    let closest = closest_of(kind, a, b, c, d);
    let direction = apart(i, closest);
    let thickness = thickness_of(i, closest.weights);
    let hard = hard_of(i, closest.weights);
    var pair: TrianglePair;
    pair.rows = rows;
    pair.weights = closest.weights;
    pair.normal = vec4<f32>(direction.xyz, direction.w - hard);
    pair.drag = vec4<f32>(0.0);
    pair.change = vec4<f32>(0.0);
    pair.slide = vec4<f32>(0.0);
    pair.fractions = vec4<f32>(1.0);
    pair.closing = max(direction.w - thickness, 0.0);
    pair.hard = hard;
    pair.overlap = max(thickness - direction.w, 0.0);
    pair.friction = triangle_candidates[i].friction;
    pair.candidate = i;
    pair.first_count = select(1u, 2u, kind == TRIANGLE_EDGE_EDGE);
    pair.is_active = u32(any(direction.xyz != vec3<f32>(0.0)) && owns_feature(i, closest));
    pair.is_pressed = 0u;
    return pair;
}

/// Largest approach of the corners of one side of a pair towards the other side [m].
fn approach(pair: TrianglePair, is_first: bool) -> f32 {
    var most = bitcast<f32>(0xff7fffffu);
    for (var k = 0u; k < 4u; k++) {
        let along = dot3(pair.normal.xyz, load_row(TRIANGLE_AIMS, pair.rows[k]));
        if ((k < pair.first_count) == is_first) {
            most = max(most, most_coming(pair.rows[k], select(along, -along, is_first)));
        }
    }
    return most;
}

/// Tests whether an active pair pushes if its corners keep their contact-free moves.
fn is_near(pair: TrianglePair) -> bool {
    let change = dot3(pair.normal.xyz, mix_rows(pair.rows, pair.weights, TRIANGLE_AIMS));
    return pair.overlap > 0.0 || pair.closing + change < TRIANGLE_EAGER * triangle.reserve;
}

/// Tests whether a pair is within reach in this round: it may push, or its corners could cross if
/// each deviates from its move by at most the reserve, or stops anywhere on it if it may be
/// truncated.
fn is_in_reach(pair: TrianglePair) -> bool {
    let may_push = pair.is_active != 0u && is_near(pair);
    let come = approach(pair, true) + approach(pair, false);
    let may_cross = pair.normal.w < max(come, 0.0) + 2.0 * triangle.reserve;
    return all(pair.normal.xyz == vec3<f32>(0.0)) || may_push || may_cross;
}

/// Stores whether candidate i is within reach.
fn flag_pair(i: u32) {
    var count = 0u;
    if (i < atomicLoad(&triangle_lists.round.candidate_count) && is_due() && may_meet(i)) {
        count = u32(is_in_reach(measure(i)));
    }
    triangle_slots[i] = count;
}

/// Longest move of an immovable corner of candidate i [m].
fn longest_forced(i: u32) -> f32 {
    let rows = triangle_candidates[i].rows;
    var forced = 0.0;
    for (var k = 0u; k < 4u; k++) {
        let step = load_row(TRIANGLE_AIMS, rows[k]);
        if (is_immovable(rows[k])) {
            forced = max(forced, dot3(step, step));
        }
    }
    return sqrt(forced);
}

/// Lowers the fraction of the round that pins and colliders may advance to what the other corners
/// of candidate i can still be pushed.
fn limit_fraction(i: u32) {
    if (may_meet(i)) {
        let forced = longest_forced(i);
        let stride = TRIANGLE_STRIDE * triangle.thickness;
        if (forced > stride) {
            let pair = measure(i);
            // Distance that an immovable corner may travel: up to contact, plus one stride.
            let room = pair.closing + stride;
            if (forced > room && is_in_reach(pair)) {
                atomicMin(&triangle_lists.round.limit, bitcast<u32>(room / forced));
            }
        }
    }
}
