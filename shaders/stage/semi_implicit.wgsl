#import lib/math
#import state/shared

/// Unit vector along an edge; 0 if that has no mass, no length or no rest length, and so does
/// nothing. `ends` are its particles.
fn edge_direction(ends: vec2<u32>, pa: vec4<f32>, pb: vec4<f32>, rest_length: f32) -> vec3<f32> {
    let delta = vector_between(ends.x, pa, ends.y, pb);
    let square = dot3(delta, delta);
    if (pa.w + pb.w > 0.0 && rest_length > EPSILON && square > MIN_EDGE_SQUARE) {
        return delta / sqrt(square);
    }
    return vec3<f32>(0.0);
}

/// Diagonal and right side of the equation of the edge between particles `ends`.
fn edge_equation(
    ends: vec2<u32>, pa: vec4<f32>, pb: vec4<f32>, rest_length: f32, direction: vec3<f32>, phase: PhaseConstants,
) -> vec2<f32> {
    let length = dot3(direction, vector_between(ends.x, pa, ends.y, pb));
    var error = length - rest_length;
    var diagonal = phase.compliance + (1.0 + phase.damping) * (pa.w + pb.w);
    if (phase.softness > 0.0) {
        // The soft range acts as compliance inside, and shifts the error outside.
        let relative = error / length;
        if (relative >= phase.compression && relative <= phase.stretch) {
            diagonal += phase.softness * (pa.w + pb.w);
        } else {
            error -= phase.multiplier * (select(phase.compression, phase.stretch, relative > 0.0) * length);
        }
    }
    var displacement = vec3<f32>(0.0);
    if (phase.damping > 0.0) {
        displacement = displacement_of(pb, ends.y) - displacement_of(pa, ends.x);
    }
    return vec2<f32>(diagonal, -phase.stiffness * error - phase.damping * dot3(direction, displacement));
}

/// Particles of an edge, with `END_OF_FIBER` where its fiber ends.
fn load_ends(edge: u32) -> vec2<u32> {
    let begin = cloth.fabric.ends_begin + 2u * edge;
    return vec2<u32>(fabric_pool[begin], fabric_pool[begin + 1u]);
}

/// Particles of an edge.
fn ends_of(edge: u32) -> vec2<u32> {
    return load_ends(edge) & vec2<u32>(PARTICLE_MASK);
}

/// Builds the equation of an edge in the system of its fiber; `first` is the first edge of the set.
///
/// C_j = |b - a| - L_j with gradient n_j at b and -n_j at a. Macklin et al., "XPBD", 2016, eq. 18
/// and 26, as one system for the edges of the chain, with multipliers 0 at the start of the step
/// (Macklin et al., "Small Steps", 2019):
///   ((1 + gamma) G W G^T + alpha~ I) lambda = -C - gamma G (x - x_previous),   x += W G^T lambda.
/// G W G^T is tridiagonal: wa + wb on the diagonal, -w dot(n, n') between edges that share the
/// particle of mass 1/w. Kim, "Character Clothing in PhysX-3", 2011, has the same system without
/// compliance for PBD. There C is the fraction `stiffness` of the error, so that all edges lose
/// that fraction. An edge in its soft range has `softness` times its diagonal as compliance, so
/// that a single edge moves as in Gauss-Seidel, and the fiber stretches there instead of moving
/// like a rigid rod.
///
/// The first row of an edge holds direction and right side; the second, in the other half: the
/// diagonal, the factor of the coupling to the previous edge, 1 if the edge ends in a pin, and 1 if
/// it acts.
fn build_equation(edge: u32, first: u32, phase: PhaseConstants) {
    let ends = ends_of(edge);
    let pa = load_current(ends.x);
    let pb = load_current(ends.y);
    let rest_length = rest_length_of(edge);
    let direction = edge_direction(ends, pa, pb, rest_length);
    var right = 0.0;
    var equation = vec4<f32>(1.0, 0.0, f32(pb.w == 0.0), 0.0);
    if (dot3(direction, direction) > 0.0) {
        let values = edge_equation(ends, pa, pb, rest_length, direction, phase);
        equation = vec4<f32>(values.x, -(1.0 + phase.damping) * pa.w, equation.z, 1.0);
        right = values.y;
    }
    store_row(edge - first, vec4<f32>(direction, right));
    store_row(edge - first + cloth.fabric.fiber_row_count, equation);
}

/// Solves the tridiagonal system of one fiber; its rows become the pulls of its edges.
///
/// Forward elimination (Thomas algorithm) with off-diagonal b_j and diagonal a_j:
///   ratio_j = b_j / pivot_j-1,   pivot_j = a_j - b_j ratio_j,
///   value_j = (r_j - b_j value_j-1) / pivot_j.
/// Back substitution: lambda_j = value_j - ratio_j+1 lambda_j+1. Deviation: a pivot is at least
/// MIN_PIVOT_FRACTION of its diagonal, and MIN_HELD_FRACTION where a fiber ends in a second pin.
fn solve_fiber(fiber: u32, first: u32) {
    let edge_begin = fabric_pool[cloth.fabric.fiber_begin + fiber];
    let edge_end = fabric_pool[cloth.fabric.fiber_begin + fiber + 1u];
    let start = load_current(fabric_pool[cloth.fabric.vertex_begin + fiber + edge_begin]);
    let half = cloth.fabric.fiber_row_count;
    var last_direction = vec3<f32>(0.0);
    var last_pivot = 1.0;
    var last_value = 0.0;
    var is_held = start.w == 0.0;
    for (var row = edge_begin - first; row < edge_end - first; row++) {
        let built = load_row(row);
        let equation = load_row(row + half);
        var between = equation.y * dot3(last_direction, built.xyz);
        let is_pin = equation.z != 0.0;
        let acts = equation.w != 0.0;
        var ratio = 0.0;
        var value = 0.0;
        var pivot = 1.0;
        if (acts) {
            ratio = between / last_pivot;
            let taken = between * ratio;
            let fraction = select(MIN_PIVOT_FRACTION, MIN_HELD_FRACTION, is_held && is_pin);
            let most = equation.x - fraction * equation.x;
            // A pivot that would vanish is bounded by weakening the coupling.
            if (taken > most) {
                between *= sqrt(most / taken);
                ratio = between / last_pivot;
            }
            pivot = equation.x - min(taken, most);
            value = (built.w - between * last_value) / pivot;
        }
        store_row(row + half, vec4<f32>(ratio, value, 0.0, 0.0));
        // Held: a pin precedes in the fiber, connected by rigid or compliant edges only.
        is_held = is_pin || (is_held && acts);
        last_direction = built.xyz;
        last_pivot = pivot;
        last_value = value;
    }
    var lambda = 0.0;
    var next_ratio = 0.0;
    for (var end = edge_end - first; end > edge_begin - first; end--) {
        let solved = load_row(end - 1u + half);
        lambda = solved.y - next_ratio * lambda;
        next_ratio = solved.x;
        store_row(end - 1u, vec4<f32>(load_row(end - 1u).xyz * lambda, 0.0));
    }
}

/// Moves particles by the pulls of the edges of a set, whose first row is `half`: the end of an
/// edge by its own pull and that of the next edge, the start of a fiber by that of its first edge.
fn pull_particles(edge: u32, first: u32, half: u32) {
    let marked = load_ends(edge);
    let ends = marked & vec2<u32>(PARTICLE_MASK);
    let row = half + edge - first;
    let pull = load_row(row).xyz;
    var push = vec3<f32>(0.0);
    if ((marked.y & END_OF_FIBER) == 0u) {
        push = load_row(row + 1u).xyz;
    }
    let pb = load_current(ends.y);
    // A particle without mass may belong to other fibers of the set: it is read, never written.
    if (pb.w > 0.0) {
        store_current(ends.y, vec4<f32>(pb.xyz + (pull - push) * pb.w, pb.w));
    }
    if ((marked.x & END_OF_FIBER) != 0u) {
        let pa = load_current(ends.x);
        if (pa.w > 0.0) {
            store_current(ends.x, vec4<f32>(pa.xyz - pull * pa.w, pa.w));
        }
    }
}

/// Moves the particles of an edge of a solved fiber.
fn push_edge(edge: u32, first: u32) {
    pull_particles(edge, first, 0u);
}
