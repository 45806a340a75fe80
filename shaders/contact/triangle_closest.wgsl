#import lib/math

/// Closest points of two simplices.
struct Closest {
    /// Barycentric weights of the four corners: those of the first simplex sum to 1, those of the
    /// second to -1.
    weights: vec4<f32>,
    /// Vector from the closest point of the second simplex to that of the first [m].
    delta: vec3<f32>,
    /// True if the closest points lie inside the face, or inside both edges, and not on their
    /// borders.
    is_inside: bool,
}

/// Parameter of the point of a segment that is closest to p.
fn on_segment(p: vec3<f32>, a: vec3<f32>, b: vec3<f32>) -> f32 {
    let along = b - a;
    let square = dot3(along, along);
    if (square > 0.0) {
        return clamp_unit(dot3(p - a, along) / square);
    }
    return 0.0;
}

/// Squared distance between p and the point of a side at a parameter [m^2].
fn side_square(p: vec3<f32>, a: vec3<f32>, b: vec3<f32>, parameter: f32) -> f32 {
    let left = (p - a) - (b - a) * parameter;
    return dot3(left, left);
}

/// Weights of the point on the border of a triangle that is closest to p.
fn on_border(p: vec3<f32>, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>) -> vec3<f32> {
    let s = on_segment(p, a, b);
    let t = on_segment(p, b, c);
    let u = on_segment(p, c, a);
    let at_s = side_square(p, a, b, s);
    let at_t = side_square(p, b, c, t);
    let at_u = side_square(p, c, a, u);
    if (at_s <= at_t && at_s <= at_u) {
        return vec3<f32>(1.0 - s, s, 0.0);
    }
    if (at_t <= at_u) {
        return vec3<f32>(0.0, 1.0 - t, t);
    }
    return vec3<f32>(u, 0.0, 1.0 - u);
}

/// Closest points of a vertex and a face.
fn vertex_face(p: vec3<f32>, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>) -> Closest {
    let ab = b - a;
    let ac = c - a;
    let ap = p - a;
    let normal = cross3(ab, ac);
    let square = dot3(normal, normal);
    var v = 0.0;
    var w = 0.0;
    var is_inside = false;
    // In a sliver the inside cannot be told from the border.
    if (square > TRIANGLE_SLIVER * dot3(ab, ab) * dot3(ac, ac)) {
        // Solves p - a = v ab + w ac + h normal, then once more for the residual: rounding is large
        // in slivers.
        for (var k = 0u; k < 2u; k++) {
            let left = ap - (ab * v + ac * w);
            v += dot3(normal, cross3(left, ac)) / square;
            w += dot3(normal, cross3(ab, left)) / square;
        }
        is_inside = v > 0.0 && w > 0.0 && v + w < 1.0;
    }
    var on_face = vec3<f32>(1.0 - v - w, v, w);
    if (!is_inside) {
        on_face = on_border(p, a, b, c);
    }
    return Closest(vec4<f32>(1.0, -on_face), ap - (ab * on_face.y + ac * on_face.z), is_inside);
}

/// Vector from a point of the second edge to a point of the first, by their parameters [m].
fn edge_delta(between: vec3<f32>, along: vec3<f32>, across: vec3<f32>, at: vec2<f32>) -> vec3<f32> {
    return between + along * at.x - across * at.y;
}

/// Closest points of two edges.
fn edge_edge(a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) -> Closest {
    let along = b - a;
    let across = d - c;
    let between = a - c;
    let normal = cross3(along, across);
    let square = dot3(normal, normal);
    var at = vec2<f32>(0.0);
    var is_inside = false;
    if (square > TRIANGLE_SLIVER * dot3(along, along) * dot3(across, across)) {
        // Solves a + s along + h normal = c + t across, refined once as in `vertex_face`.
        for (var k = 0u; k < 2u; k++) {
            let left = edge_delta(between, along, across, at);
            let s = dot3(normal, cross3(left, across)) / square;
            let t = dot3(normal, cross3(left, along)) / square;
            at = vec2<f32>(at.x - s, at.y - t);
        }
        is_inside = at.x > 0.0 && at.x < 1.0 && at.y > 0.0 && at.y < 1.0;
    }
    if (!is_inside) {
        // Otherwise an end is closest: the best of four end-edge pairs.
        var least = 0.0;
        for (var k = 0u; k < 4u; k++) {
            var end = vec2<f32>(0.0, on_segment(a, c, d));
            if (k == 1u) {
                end = vec2<f32>(1.0, on_segment(b, c, d));
            } else if (k == 2u) {
                end = vec2<f32>(on_segment(c, a, b), 0.0);
            } else if (k == 3u) {
                end = vec2<f32>(on_segment(d, a, b), 1.0);
            }
            let delta = edge_delta(between, along, across, end);
            let distance = dot3(delta, delta);
            if (k == 0u || distance < least) {
                least = distance;
                at = end;
            }
        }
    }
    let weights = vec4<f32>(1.0 - at.x, at.x, at.y - 1.0, -at.y);
    return Closest(weights, edge_delta(between, along, across, at), is_inside);
}
