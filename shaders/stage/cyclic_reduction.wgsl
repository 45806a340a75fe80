#import lib/math
#import state/shared
#import stage/semi_implicit

/// Row of an edge before round `round`: each round reads one half of the rows and writes the other.
///
/// Parallel cyclic reduction of the tridiagonal system of `solve_fiber`, one lane per edge: for
/// sets of few long fibers. Hockney, Jesshope, "Parallel Computers", 1981; on a GPU: Zhang, Cohen,
/// Owens, "Fast Tridiagonal Solvers on the GPU", 2010. Rows have 1 on the diagonal:
///   lambda_j + x lambda_j-s + y lambda_j+s = z.
/// A round with stride s subtracts x times row j - s and y times row j + s from row j, which
/// doubles s. After ceil(log2 n) rounds only lambda_j = z is left. A fiber has at most one pin (the
/// host ensures it), so pivots vanish only by rounding.
fn cyclic_row(edge: u32, first: u32, round: u32) -> u32 {
    return edge - first + (round & 1u) * cloth.fabric.fiber_row_count;
}

/// Writes the row of an edge before round `round`. After the last round its multiplier is known,
/// and the row is its pull instead.
fn store_cyclic(edge: u32, first: u32, round: u32, row: vec3<f32>, phase: PhaseConstants) {
    var value = row;
    if (round == phase.round_count) {
        let ends = ends_of(edge);
        value = edge_direction(ends, load_current(ends.x), load_current(ends.y), rest_length_of(edge)) * row.z;
    }
    store_row(cyclic_row(edge, first, round), vec4<f32>(value, 0.0));
}

/// Builds the first row of an edge; `first` is the first edge of the set.
fn build_row(edge: u32, first: u32, phase: PhaseConstants) {
    let marked = load_ends(edge);
    let ends = marked & vec2<u32>(PARTICLE_MASK);
    let pa = load_current(ends.x);
    let pb = load_current(ends.y);
    let rest_length = rest_length_of(edge);
    let direction = edge_direction(ends, pa, pb, rest_length);
    var row = vec3<f32>(0.0);
    if (dot3(direction, direction) > 0.0) {
        let equation = edge_equation(ends, pa, pb, rest_length, direction, phase);
        let scale = 1.0 + phase.damping;
        if ((marked.x & END_OF_FIBER) == 0u) {
            let far = ends_of(edge - 1u).x;
            let before = edge_direction(vec2<u32>(far, ends.x), load_current(far), pa, rest_length_of(edge - 1u));
            // Coupling to the previous edge through their common particle, over the diagonal.
            row.x = -scale * pa.w * dot3(before, direction) / equation.x;
        }
        if ((marked.y & END_OF_FIBER) == 0u) {
            let far = ends_of(edge + 1u).y;
            let after = edge_direction(vec2<u32>(ends.y, far), pb, load_current(far), rest_length_of(edge + 1u));
            row.y = -scale * pb.w * dot3(direction, after) / equation.x;
        }
        row.z = equation.y / equation.x;
    }
    store_cyclic(edge, first, 0u, row, phase);
}

/// Reduces a row of a set in one round. Where the stride leaves the fiber, x or y is 0, so that any
/// row of the set may be read.
fn reduce_row(edge: u32, round: u32, edges: vec2<u32>, phase: PhaseConstants) {
    let stride = 1u << round;
    let row = load_row(cyclic_row(edge, edges.x, round));
    let low = load_row(cyclic_row(max(edge, edges.x + stride) - stride, edges.x, round));
    let high = load_row(cyclic_row(min(edge + stride, edges.y - 1u), edges.x, round));
    // Row j - x row (j - s) - y row (j + s), over its new diagonal 1 - x y_low - y x_high.
    let pivot = max((1.0 - row.x * low.y) - row.y * high.x, MIN_PIVOT_FRACTION);
    let right = (row.z - row.x * low.z) - row.y * high.z;
    let next = vec3<f32>(-(row.x * low.x) / pivot, -(row.y * high.y) / pivot, right / pivot);
    store_cyclic(edge, edges.x, round + 1u, next, phase);
}

/// Moves the particles of an edge of a solved fiber.
fn move_edge(edge: u32, first: u32, phase: PhaseConstants) {
    pull_particles(edge, first, (phase.round_count & 1u) * cloth.fabric.fiber_row_count);
}
