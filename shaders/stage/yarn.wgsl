#import lib/math
#import state/shared

/// Row of a point of a yarn in `fabric_pool`.
fn yarn_point_row(point: u32) -> u32 {
    return cloth.fabric.yarn_point_begin + YARN_POINT_WORDS * point;
}

/// Position of a point of a yarn, and its inverse mass: at least that of a force on it if all
/// points of the yarn are pushed at once.
fn load_yarn_point(row: u32) -> vec4<f32> {
    let a = load_current(fabric_pool[row]);
    let b = load_current(fabric_pool[row + 1u]);
    let position = a.xyz + (b.xyz - a.xyz) * bitcast<f32>(fabric_pool[row + 2u]);
    return vec4<f32>(position, bitcast<f32>(fabric_pool[row + 3u]) * a.w + bitcast<f32>(fabric_pool[row + 4u]) * b.w);
}

/// Vector between two points of a yarn, whose rows are `row` and `next_row`.
fn vector_between_points(row: u32, point: vec4<f32>, next_row: u32, next: vec4<f32>) -> vec3<f32> {
    let delta = next.xyz - point.xyz;
    if (!is_displaced()) {
        return delta;
    }
    let a = load_previous(fabric_pool[row]).xyz;
    let b = load_previous(fabric_pool[next_row]).xyz;
    let along_a = (load_previous(fabric_pool[row + 1u]).xyz - a) * bitcast<f32>(fabric_pool[row + 2u]);
    let along_b = (load_previous(fabric_pool[next_row + 1u]).xyz - b) * bitcast<f32>(fabric_pool[next_row + 2u]);
    // Mesa sums in another order otherwise.
    return ((b - a) + unchanged(along_b - along_a)) + delta;
}

/// Displacement of a point of a yarn since the last step.
fn yarn_displacement(row: u32) -> vec3<f32> {
    let a = fabric_pool[row];
    let b = fabric_pool[row + 1u];
    let of_a = displacement_of(load_current(a), a);
    let of_b = displacement_of(load_current(b), b);
    return of_a + (of_b - of_a) * bitcast<f32>(fabric_pool[row + 2u]);
}

/// Compliance of a yarn of breadth and length 1, over the squared step.
fn yarn_compliance(kind: u32) -> f32 {
    if (kind == YARN_WARP) {
        return cloth_parameters[cloth_slot].yarns.warp_compliance;
    }
    return select(cloth_parameters[cloth_slot].yarns.shear_compliance, cloth_parameters[cloth_slot].yarns.weft_compliance, kind == YARN_WEFT);
}

/// Solves the segments of one yarn as one system, with compliance, and damping if it is diagonal.
///
/// The points p = (1 - t) x_a + t x_b of a yarn lie on edges of the mesh, on a line that is
/// straight at rest, so that a uniform tension pulls no particle, whatever the mesh. C_j =
/// |p_j+1 - p_j| - L_j has the compliance L_j / (K breadth). XPBD, eq. 26, for all segments at
/// once, multipliers 0 at the start of the step:
///   ((1 + gamma) V + alpha~ I) lambda = -C - gamma G (x - x_previous),   x += W G^T lambda.
/// Deviation: V, tridiagonal, takes the place of G W G^T, in which segments that share particles
/// are coupled too. It is that of a chain of points without shared particles and with the inverse
/// masses v_j = sum over i of w_i t_ij S_i, S_i = sum over j of t_ij: G W G^T <= V, since
///   w_i |sum_j t_ij f_j|^2 <= w_i S_i sum_j t_ij |f_j|^2   (Cauchy, Schwarz),
/// and V gives the same, nothing, for a uniform tension. Elimination as in `solve_fiber`.
///
/// Macklin, Mueller, Chentanez, "XPBD", 2016. The first row of a segment in scratch has its
/// direction and ratio, the second its value.
fn solve_yarn(yarn: u32) {
    let row = cloth.fabric.yarn_begin + YARN_WORDS * yarn;
    let begin = fabric_pool[row];
    let end = fabric_pool[row + 1u];
    let scratch_row = fabric_pool[row + 2u];
    let kind = fabric_pool[row + 3u];
    let compliance = yarn_compliance(kind);
    let damping = select(0.0, cloth_parameters[cloth_slot].yarns.shear_damping, kind == YARN_SHEAR);
    var last = load_yarn_point(yarn_point_row(begin));
    var last_direction = vec3<f32>(0.0);
    var last_pivot = 1.0;
    var last_value = 0.0;
    for (var point = begin; point + 1u < end; point++) {
        let at = yarn_point_row(point);
        let next = load_yarn_point(at + YARN_POINT_WORDS);
        let delta = vector_between_points(at, last, at + YARN_POINT_WORDS, next);
        let square = dot3(delta, delta);
        let mobility = (1.0 + damping) * (last.w + next.w);
        var direction = vec3<f32>(0.0);
        var ratio = 0.0;
        var value = 0.0;
        var pivot = 1.0;
        if (mobility > 0.0 && square > MIN_EDGE_SQUARE) {
            let length = sqrt(square);
            direction = delta / length;
            var right = bitcast<f32>(fabric_pool[at + 5u]) - length;
            if (damping > 0.0) {
                right -= damping * dot3(direction, yarn_displacement(at + YARN_POINT_WORDS) - yarn_displacement(at));
            }
            let diagonal = mobility + compliance * bitcast<f32>(fabric_pool[at + 6u]);
            var between = -(1.0 + damping) * last.w * dot3(last_direction, direction);
            ratio = between / last_pivot;
            let taken = between * ratio;
            let most = diagonal - MIN_PIVOT_FRACTION * diagonal;
            // A pivot that would vanish is bounded by weakening the coupling.
            if (taken > most) {
                between *= sqrt(most / taken);
                ratio = between / last_pivot;
            }
            pivot = diagonal - min(taken, most);
            value = (right - between * last_value) / pivot;
        }
        store_scratch(scratch_row + 2u * (point - begin), vec4<f32>(direction, ratio));
        store_scratch(scratch_row + 2u * (point - begin) + 1u, vec4<f32>(value, 0.0, 0.0, 0.0));
        last = next;
        last_direction = direction;
        last_pivot = pivot;
        last_value = value;
    }
    var pull = vec3<f32>(0.0);
    var lambda = 0.0;
    var next_ratio = 0.0;
    for (var point = end - 1u; point > begin; point--) {
        let segment = scratch_row + 2u * (point - 1u - begin);
        let built = load_scratch(segment);
        lambda = load_scratch(segment + 1u).x - next_ratio * lambda;
        next_ratio = built.w;
        let next_pull = pull;
        pull = built.xyz * lambda;
        push_yarn_point(point, pull - next_pull);
    }
    push_yarn_point(begin, -pull);
}

/// Moves the particles of a point of a yarn by an impulse on it.
fn push_yarn_point(point: u32, impulse: vec3<f32>) {
    let row = yarn_point_row(point);
    let weight = bitcast<f32>(fabric_pool[row + 2u]);
    push_yarn_particle(fabric_pool[row], impulse, 1.0 - weight);
    push_yarn_particle(fabric_pool[row + 1u], impulse, weight);
}

/// Moves a particle by a part of an impulse, unless it is pinned.
fn push_yarn_particle(i: u32, impulse: vec3<f32>, weight: f32) {
    let particle = load_current(i);
    if (particle.w > 0.0) {
        store_current(i, vec4<f32>(particle.xyz + impulse * (weight * particle.w), particle.w));
    }
}
