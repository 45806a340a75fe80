#import lib/math
#import state/shared

/// Direction from a to b; 0 if the edge does nothing: no mass, no length or no rest length.
fn edge_direction(pa: vec4<f32>, pb: vec4<f32>, rest_length: f32) -> vec3<f32> {
    let delta = pb.xyz - pa.xyz;
    let square = dot3(delta, delta);
    if (pa.w + pb.w > 0.0 && rest_length > EPSILON && square > MIN_EDGE_SQUARE) {
        return delta / sqrt(square);
    }
    return vec3<f32>(0.0);
}

/// Diagonal and right side of the equation of an edge; `displacement` is that of b relative to a since the last step.
fn edge_equation(
    pa: vec4<f32>, pb: vec4<f32>, displacement: vec3<f32>, rest_length: f32, direction: vec3<f32>, phase: PhaseConstants,
) -> vec2<f32> {
    let length = dot3(direction, pb.xyz - pa.xyz);
    var error = length - rest_length;
    var diagonal = phase.compliance + (1.0 + phase.damping) * (pa.w + pb.w);
    if (phase.softness > 0.0) {
        let relative = error / length;
        if (relative >= phase.compression && relative <= phase.stretch) {
            diagonal += phase.softness * (pa.w + pb.w);
        } else {
            error -= phase.multiplier * (select(phase.compression, phase.stretch, relative > 0.0) * length);
        }
    }
    return vec2<f32>(diagonal, -phase.stiffness * error - phase.damping * dot3(direction, displacement));
}

/// Index of the row of an edge in the cloth's `scratch`. The edges of a set are contiguous and at most `fiber_row_count`.
fn fiber_row(edge: u32) -> u32 {
    return edge % cloth.fabric.fiber_row_count;
}

/// Solves all edges of one fiber at once, with stiffness and soft range or with compliance and damping.
///
/// C_j = |b - a| - L_j with gradient n_j at b and -n_j at a. Macklin et al., "XPBD", 2016, eq. 18 and 26, taken as one system
/// for the edges of the chain, with the multipliers 0 at the start of the step (Macklin et al., "Small Steps", 2019):
///   ((1 + gamma) G W G^T + alpha~ I) lambda = -C - gamma G (x - x_previous),   x += W G^T lambda.
/// G W G^T is tridiagonal: wa + wb on the diagonal, -w dot(n, n') between the edges that share the particle of mass 1/w.
/// Kim, "Character Clothing in PhysX-3", 2011, has the same system without compliance for PBD. There C is the fraction `stiffness`
/// of the error, so that all edges lose that fraction; an edge in its soft range has `softness` times its diagonal as a compliance,
/// so that a single edge moves as in Gauss-Seidel and the fiber stretches there instead of moving as a rigid rod.
/// Deviation: MIN_HELD_FRACTION, where a fiber ends in a second pin.
/// Forward elimination leaves (ratio, value) of each edge in scratch; back substitution: lambda_j = value_j - ratio_j+1 lambda_j+1.
fn solve_fiber(fiber: u32, phase: PhaseConstants) {
    let edge_begin = fabric_pool[cloth.fabric.fiber_begin + fiber];
    let edge_end = fabric_pool[cloth.fabric.fiber_begin + fiber + 1u];
    let vertices = cloth.fabric.vertex_begin + fiber;
    let scale = 1.0 + phase.damping;
    var a = fabric_pool[vertices + edge_begin];
    var pa = load_current(a);
    var displacement_a = displacement_of(pa, a);
    var last_direction = vec3<f32>(0.0);
    var last_pivot = 1.0;
    var last_value = 0.0;
    var is_held = pa.w == 0.0;
    for (var edge = edge_begin; edge < edge_end; edge++) {
        let b = fabric_pool[vertices + edge + 1u];
        let pb = load_current(b);
        let displacement_b = displacement_of(pb, b);
        let rest_length = rest_length_of(edge);
        let direction = edge_direction(pa, pb, rest_length);
        var ratio = 0.0;
        var value = 0.0;
        var pivot = 1.0;
        if (dot3(direction, direction) > 0.0) {
            let equation = edge_equation(pa, pb, displacement_b - displacement_a, rest_length, direction, phase);
            let diagonal = equation.x;
            let right = equation.y;
            var between = -scale * pa.w * dot3(last_direction, direction);
            let taken = between * (between / last_pivot);
            let fraction = select(MIN_PIVOT_FRACTION, MIN_HELD_FRACTION, is_held && pb.w == 0.0);
            let most = diagonal - fraction * diagonal;
            if (taken > most) {
                between *= sqrt(most / taken);
            }
            pivot = diagonal - min(taken, most);
            ratio = between / last_pivot;
            value = (right - between * last_value) / pivot;
        }
        store_scratch(fiber_row(edge), vec4<f32>(ratio, value, 0.0, 0.0));
        // Held: a pin comes before in the fiber, with nothing but rigid or compliant edges between.
        is_held = pb.w == 0.0 || (is_held && dot3(direction, direction) > 0.0);
        a = b;
        pa = pb;
        displacement_a = displacement_b;
        last_direction = direction;
        last_pivot = pivot;
        last_value = value;
    }

    // Backward: pa is where the last edge's end was, `push` what the edge after it does to it. A particle is written when both
    // of its edges are known, so that directions are those of the elimination.
    var push = vec3<f32>(0.0);
    var lambda = 0.0;
    var next_ratio = 0.0;
    for (var edge = edge_end; edge > edge_begin; edge--) {
        let row = load_scratch(fiber_row(edge - 1u));
        let c = fabric_pool[vertices + edge - 1u];
        let pc = load_current(c);
        let direction = edge_direction(pc, pa, rest_length_of(edge - 1u));
        lambda = row.y - next_ratio * lambda;
        next_ratio = row.x;
        let pull = direction * lambda;
        // A particle without mass may belong to other fibers of the set: it is read, never written.
        if (pa.w > 0.0) {
            store_current(a, vec4<f32>(pa.xyz + (pull - push) * pa.w, pa.w));
        }
        a = c;
        pa = pc;
        push = pull;
    }
    if (pa.w > 0.0) {
        store_current(a, vec4<f32>(pa.xyz - push * pa.w, pa.w));
    }
}

/// Displacement of particle i since the last step.
fn displacement_of(particle: vec4<f32>, i: u32) -> vec3<f32> {
    return particle.xyz - load_previous(i).xyz;
}
