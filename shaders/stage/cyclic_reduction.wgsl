#import lib/math
#import state/shared
#import stage/semi_implicit

/// Where row `edge` is stored before round `round`: rounds read one half of the rows and write the other.
///
/// Parallel cyclic reduction of the system of `solve_fiber`, one lane per edge: for sets of few long fibers.
/// Hockney, Jesshope, "Parallel Computers", 1981; on a GPU: Zhang, Cohen, Owens, "Fast Tridiagonal Solvers on the GPU", 2010.
/// Rows have 1 on the diagonal: lambda_j + x lambda_j-s + y lambda_j+s = z. A round with stride s takes x times row j - s and y
/// times row j + s from row j, which doubles s. After ceil(log2 n) rounds nothing but lambda_j = z is left. A fiber has one pin
/// at most (the host sees to it), so that no pivot vanishes but by rounding.
fn cyclic_row(edge: u32, round: u32) -> u32 {
    return fiber_row(edge) + (round & 1u) * cloth.fabric.fiber_row_count;
}

/// The fiber of a set `fibers.x .. fibers.y` that an edge belongs to.
fn fiber_of_edge(edge: u32, fibers: vec2<u32>) -> u32 {
    var low = fibers.x;
    var high = fibers.y;
    while (high - low > 1u) {
        let middle = (low + high) / 2u;
        if (fabric_pool[cloth.fabric.fiber_begin + middle] <= edge) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/// The first row of an edge; w: its fiber, counted from the first of the set.
fn build_row(edge: u32, fibers: vec2<u32>, phase: PhaseConstants) {
    let fiber = fiber_of_edge(edge, fibers);
    let vertices = cloth.fabric.vertex_begin + fiber;
    let a = fabric_pool[vertices + edge];
    let b = fabric_pool[vertices + edge + 1u];
    let pa = load_current(a);
    let pb = load_current(b);
    let direction = edge_direction(pa, pb, rest_length_of(edge));
    var row = vec4<f32>(0.0, 0.0, 0.0, f32(fiber - fibers.x));
    if (dot3(direction, direction) > 0.0) {
        let equation = edge_equation(pa, pb, displacement_of(pb, b) - displacement_of(pa, a), rest_length_of(edge), direction, phase);
        let scale = 1.0 + phase.damping;
        if (edge > fabric_pool[cloth.fabric.fiber_begin + fiber]) {
            let before = edge_direction(load_current(fabric_pool[vertices + edge - 1u]), pa, rest_length_of(edge - 1u));
            row.x = -scale * pa.w * dot3(before, direction) / equation.x;
        }
        if (edge + 1u < fabric_pool[cloth.fabric.fiber_begin + fiber + 1u]) {
            let after = edge_direction(pb, load_current(fabric_pool[vertices + edge + 2u]), rest_length_of(edge + 1u));
            row.y = -scale * pb.w * dot3(direction, after) / equation.x;
        }
        row.z = equation.y / equation.x;
    }
    store_scratch(cyclic_row(edge, 0u), row);
}

/// One round of reduction of a row among the rows of the edges of its set. Where the stride leaves the fiber x or y is 0, so
/// that any row will do.
fn reduce_row(edge: u32, round: u32, edges: vec2<u32>) {
    let stride = 1u << round;
    let row = load_scratch(cyclic_row(edge, round));
    let low = load_scratch(cyclic_row(max(edge, edges.x + stride) - stride, round));
    let high = load_scratch(cyclic_row(min(edge + stride, edges.y - 1u), round));
    let pivot = max((1.0 - row.x * low.y) - row.y * high.x, MIN_PIVOT_FRACTION);
    let right = (row.z - row.x * low.z) - row.y * high.z;
    store_scratch(cyclic_row(edge, round + 1u), vec4<f32>(-(row.x * low.x) / pivot, -(row.y * high.y) / pivot, right / pivot, row.w));
}

/// Converts the multiplier of an edge to its pull, in the other half of the rows.
fn pull_edge(edge: u32, round: u32, fibers: vec2<u32>) {
    let row = load_scratch(cyclic_row(edge, round));
    let vertices = cloth.fabric.vertex_begin + fibers.x + u32(row.w);
    let pa = load_current(fabric_pool[vertices + edge]);
    let pb = load_current(fabric_pool[vertices + edge + 1u]);
    let pull = edge_direction(pa, pb, rest_length_of(edge)) * row.z;
    store_scratch(cyclic_row(edge, round + 1u), vec4<f32>(pull, row.w));
}

/// Moves the far end of an edge by the pulls of its two edges, and the start of a fiber by that of its first.
fn move_edge(edge: u32, round: u32, fibers: vec2<u32>, edges: vec2<u32>) {
    let pull = load_scratch(cyclic_row(edge, round));
    let next = load_scratch(cyclic_row(min(edge + 1u, edges.y - 1u), round));
    let push = select(vec3<f32>(0.0), next.xyz, edge + 1u < edges.y && next.w == pull.w);
    let fiber = fibers.x + u32(pull.w);
    let vertices = cloth.fabric.vertex_begin + fiber;
    let b = fabric_pool[vertices + edge + 1u];
    let pb = load_current(b);
    // A particle without mass may belong to other fibers of the set: it is read, never written.
    if (pb.w > 0.0) {
        store_current(b, vec4<f32>(pb.xyz + (pull.xyz - push) * pb.w, pb.w));
    }
    if (edge == fabric_pool[cloth.fabric.fiber_begin + fiber]) {
        let a = fabric_pool[vertices + edge];
        let pa = load_current(a);
        if (pa.w > 0.0) {
            store_current(a, vec4<f32>(pa.xyz - pull.xyz * pa.w, pa.w));
        }
    }
}
