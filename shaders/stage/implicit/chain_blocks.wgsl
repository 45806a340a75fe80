#import stage/implicit/springs

/// Writes the ingredients of the Hessian of triangle t to the rows of its corners: the derivatives
/// wu and wv of the trial, each with the fraction max(1 - 1/|w|, 0) of its stiffness that acts in
/// all directions, and the remaining fractions over |w|^2.
fn direct_triangle(t: u32) {
    let corners = cloth.fabric.triangle_begin + 3u * t;
    let i0 = fabric_pool[corners];
    let p = trial_edge(i0, fabric_pool[corners + 1u]);
    let q = trial_edge(i0, fabric_pool[corners + 2u]);
    let wu = p * shape_value(0u, t) + q * shape_value(1u, t);
    let wv = p * shape_value(2u, t) + q * shape_value(3u, t);
    let all_u = max(slack(wu, 1.0), 0.0);
    let all_v = max(slack(wv, 1.0), 0.0);
    let row = corner_row(3u * t);
    store_scratch(row, vec4<f32>(wu, all_u));
    store_scratch(row + 1u, vec4<f32>(wv, all_v));
    store_scratch(row + 2u, vec4<f32>(remainder_over_square(wu, all_u), remainder_over_square(wv, all_v), 0.0, 0.0));
}

/// Remaining fraction over the squared length, (1 - all) / |w|^2; 0 if the length vanishes.
fn remainder_over_square(w: vec3<f32>, all: f32) -> f32 {
    let square = dot3(w, w);
    if (square > MIN_EDGE_SQUARE) {
        return (1.0 - all) / square;
    }
    return 0.0;
}

/// Matrix of three by three.
struct Block {
    /// First column.
    x: vec3<f32>,
    /// Second column.
    y: vec3<f32>,
    /// Third column.
    z: vec3<f32>,
}

/// Weights of a corner of triangle t in the derivatives by u and v.
fn corner_weights(t: u32, corner: u32) -> vec2<f32> {
    let second = vec2<f32>(shape_value(0u, t), shape_value(2u, t));
    let third = vec2<f32>(shape_value(1u, t), shape_value(3u, t));
    if (corner == 0u) {
        return -(second + third);
    }
    return select(third, second, corner == 1u);
}

/// Stiffness along u, along v and of shear [N/m]; for a trispring those of small strains, without
/// lateral contraction.
fn chain_stiffness() -> vec3<f32> {
    let implicit = load_implicit();
    if (implicit.stretch_model == STRETCH_THREADS) {
        return vec3<f32>(implicit.stiffness_u, implicit.stiffness_v, implicit.shear_stiffness);
    }
    let along = implicit.stiffness_u + 2.0 * implicit.stiffness_v;
    return vec3<f32>(along, along, implicit.stiffness_v);
}

/// Columns of the Hessian of triangle t between two of its corners with weights a and b, positive
/// semi-definite if they are one corner:
///   along u:  A Ku au bu (all I + rest wu wu^T), along v likewise,
///   of shear: A G ga gb^T,  ga = au wv + av wu, gb likewise.
fn corner_block(t: u32, a: vec2<f32>, b: vec2<f32>) -> Block {
    let row = corner_row(3u * t);
    let wu = load_scratch(row);
    let wv = load_scratch(row + 1u);
    let remainders = load_scratch(row + 2u).xy;
    let stiffness = chain_stiffness() * shape_value(4u, t);
    let along_u = stiffness.x * (a.x * b.x);
    let along_v = stiffness.y * (a.y * b.y);
    let all = along_u * wu.w + along_v * wv.w;
    let in_u = wu.xyz * (along_u * remainders.x);
    let in_v = wv.xyz * (along_v * remainders.y);
    let ga = (wv.xyz * a.x + wu.xyz * a.y) * stiffness.z;
    let gb = wv.xyz * b.x + wu.xyz * b.y;
    return Block(
        vec3<f32>(all, 0.0, 0.0) + in_u * wu.x + in_v * wv.x + ga * gb.x,
        vec3<f32>(0.0, all, 0.0) + in_u * wu.y + in_v * wv.y + ga * gb.y,
        vec3<f32>(0.0, 0.0, all) + in_u * wu.z + in_v * wv.z + ga * gb.z,
    );
}

/// Columns of the Hessian of a spring at particle i, positive semi-definite: k (all I + rest d
/// d^T), as those of triangles.
fn spring_block(spring: u32, i: u32) -> Block {
    let edge = trial_edge(i, spring_end(spring, i));
    let all = max(slack(edge, rest_length_of(fabric_pool[spring] / SPRING_KINDS)), 0.0);
    let stiffness = spring_stiffness(spring);
    let along = edge * (stiffness * remainder_over_square(edge, all));
    let beside = stiffness * all;
    return Block(
        vec3<f32>(beside, 0.0, 0.0) + along * edge.x,
        vec3<f32>(0.0, beside, 0.0) + along * edge.y,
        vec3<f32>(0.0, 0.0, beside) + along * edge.z,
    );
}
