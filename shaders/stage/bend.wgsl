#import lib/math
#import state/shared

/// Tests whether a triangle has a usable height over an edge of squared length `hinge`; `side` is
/// the squared length of another side, `normal` that of its normal.
fn has_height(hinge: f32, side: f32, normal: f32) -> bool {
    // |normal| = |edge| * height
    return normal > MIN_NORMAL_SQUARE && normal > MIN_HEIGHT_SQUARE * hinge * max(hinge, side);
}

/// Solves the dihedral angle of one bend, with stiffness and damping.
///
/// C = angle - rest, with the edge e from p0 to p1, and the triangles (p0, p1, p2) and (p1, p0, p3)
/// with normals m and n:
///   angle = atan2(dot(m x n, e)/(|m||n||e|), dot(m, n)/(|m||n|)),
///   gradient at p2: -|e| m/|m|^2, at p3: -|e| n/|n|^2, at p0 and p1 those that conserve linear and
///   angular momentum.
/// Bridson, Marino, Fedkiw, "Simulation of Clothing with Folds and Wrinkles", 2003; Tamstorf,
/// Grinspun, "Discrete Bending Forces and Their Jacobians", 2013. Neither form has a singularity at
/// 0 or pi.
///
/// XPBD, eq. 26, has lambda = (-C - gamma grad C (x - x_previous)) / ((1 + gamma) W + alpha~), W =
/// sum of w |grad C|^2, alpha~ = 1/(stiffness h^2). Deviation: alpha~ - W/2 replaces alpha~. A bend
/// shares particles with a dozen others; the bends solved after it in a step leave its angle
/// W lambda/2 too far on average: where moments change slowly, the sum of W_jk lambda_k over all
/// bends k is about 0, and over those after j it is -W lambda/2. With eq. 18 unchanged a cantilever
/// of N segments is too soft by 3 N^4 g h^2/(G L). Where alpha~ is below W/2, four times the
/// difference is added to W: a bend takes the whole error at W/2, and a third where it is rigid.
/// Many rigid bends that take it whole throw small triangles beside large ones apart.
fn solve_bend(bend: u32) {
    let row = cloth.fabric.bend_begin + BEND_WORDS * bend;
    let stiffness = cloth_parameters[cloth_slot].bending.rigidity * bitcast<f32>(fabric_pool[row + 5u]);
    let first = fabric_pool[row];
    let p0 = load_current(first);
    let p1 = load_current(fabric_pool[row + 1u]);
    let p2 = load_current(fabric_pool[row + 2u]);
    let p3 = load_current(fabric_pool[row + 3u]);
    let edge = vector_between(first, p0, fabric_pool[row + 1u], p1);
    let side_2 = vector_between(first, p0, fabric_pool[row + 2u], p2);
    let side_3 = vector_between(first, p0, fabric_pool[row + 3u], p3);
    let normal_2 = cross3(edge, side_2);
    let normal_3 = cross3(side_3, edge);
    let edge_square = dot3(edge, edge);
    let square_2 = dot3(normal_2, normal_2);
    let square_3 = dot3(normal_3, normal_3);
    let is_usable = edge_square > MIN_HINGE_SQUARE && stiffness > MIN_BEND_STIFFNESS
        && has_height(edge_square, dot3(side_2, side_2), square_2) && has_height(edge_square, dot3(side_3, side_3), square_3);
    if (is_usable) {
        let edge_length = sqrt(edge_square);
        let unit_2 = normal_2 / sqrt(square_2);
        let unit_3 = normal_3 / sqrt(square_3);
        let angle = atan2_portable(dot3(cross3(unit_2, unit_3), edge / edge_length), dot3(unit_2, unit_3));
        var error = angle - bitcast<f32>(fabric_pool[row + 4u]);
        // Wraps into one turn, so that folded cloth bends back the short way.
        if (error > PI) {
            error -= TAU;
        } else if (error <= -PI) {
            error += TAU;
        }
        let gradient_2 = normal_2 * (-edge_length / square_2);
        let gradient_3 = normal_3 * (-edge_length / square_3);
        // Feet of the heights on the edge, as fractions of it from p0.
        let ratio_2 = dot3(side_2, edge) / edge_square;
        let ratio_3 = dot3(side_3, edge) / edge_square;
        let gradient_1 = gradient_2 * -ratio_2 - gradient_3 * ratio_3;
        let gradient_0 = -gradient_1 - gradient_2 - gradient_3;
        // W = sum of w |grad C|^2
        let mobility = p0.w * dot3(gradient_0, gradient_0) + p1.w * dot3(gradient_1, gradient_1)
            + p2.w * dot3(gradient_2, gradient_2) + p3.w * dot3(gradient_3, gradient_3);
        if (mobility > 0.0) {
            // The compliance in the input already contains h^2: 1/stiffness is alpha~.
            let excess = 1.0 / stiffness - 0.5 * mobility;
            var weight = max(excess, -4.0 * excess) + mobility;
            let damping = cloth_parameters[cloth_slot].bending.damping;
            if (damping > 0.0) {
                let displacement = bend_displacement(row, 0u, p0, gradient_0) + bend_displacement(row, 1u, p1, gradient_1)
                    + bend_displacement(row, 2u, p2, gradient_2) + bend_displacement(row, 3u, p3, gradient_3);
                error += damping * displacement;
                weight += damping * mobility;
            }
            let lambda = -error / weight;
            push_bend(row, p0, gradient_0 * lambda);
            push_bend(row + 1u, p1, gradient_1 * lambda);
            push_bend(row + 2u, p2, gradient_2 * lambda);
            push_bend(row + 3u, p3, gradient_3 * lambda);
        }
    }
}

/// Displacement of particle k of a bend along its gradient since the last step.
fn bend_displacement(row: u32, k: u32, particle: vec4<f32>, gradient: vec3<f32>) -> f32 {
    return dot3(gradient, displacement_of(particle, fabric_pool[row + k]));
}

/// Moves the particle whose index is at `row` of `fabric_pool` by an impulse, unless it is pinned.
fn push_bend(row: u32, particle: vec4<f32>, impulse: vec3<f32>) {
    if (particle.w > 0.0) {
        store_current(fabric_pool[row], vec4<f32>(particle.xyz + impulse * particle.w, particle.w));
    }
}
