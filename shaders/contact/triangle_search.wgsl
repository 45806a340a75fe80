#import contact/triangle_path

/// Pairs of bodies to search.
@group(0) @binding(1) var<storage, read> triangle_tasks: array<TriangleTask>;
/// Flags of each body, then the rows of vertices, edges and faces, grouped by leaf.
@group(0) @binding(2) var<storage, read> triangle_simplices: array<u32>;
/// Nodes of the trees.
@group(0) @binding(4) var<storage, read> triangle_nodes: array<TriangleNode>;
/// Paths of the nodes, laid out as from `TRIANGLE_STEPS` on [m]; w unused.
@group(0) @binding(5) var<storage, read_write> triangle_boxes: array<vec4<f32>>;
/// Number of candidates of each query; after the scan: the first candidate of each.
@group(0) @binding(6) var<storage, read_write> triangle_counts: array<u32>;
/// Candidates.
@group(0) @binding(7) var<storage, read_write> triangle_found: array<TriangleCandidate>;

/// Path of a node.
fn box_of(node: u32) -> Path {
    var path: Path;
    for (var k = 0u; k < TRIANGLE_AXES; k++) {
        let slot = TRIANGLE_PATH * node + 4u * k;
        path.low_start[k] = triangle_boxes[slot].xyz;
        path.low_end[k] = triangle_boxes[slot + 1u].xyz;
        path.high_start[k] = triangle_boxes[slot + 2u].xyz;
        path.high_end[k] = triangle_boxes[slot + 3u].xyz;
    }
    return path;
}

/// Path of a simplex with `row_count` rows.
fn path_of_simplex(begin: u32, row_count: u32) -> Path {
    var path = path_of(triangle_simplices[begin]);
    for (var k = 1u; k < row_count; k++) {
        path = join(path, path_of(triangle_simplices[begin + k]));
    }
    return path;
}

/// Number of rows of a simplex that is stored in `words` words.
fn row_count_of(words: u32) -> u32 {
    return min(words, 3u);
}

/// Refits the path of node i to its children.
fn refit_node(i: u32) {
    let node = triangle_nodes[i];
    var path: Path;
    for (var k = 0u; k < node.count; k++) {
        var child: Path;
        if (node.words == 0u) {
            child = box_of(node.first + k);
        } else {
            let simplex = node.simplices + node.words * (node.first + k);
            child = path_of_simplex(simplex, row_count_of(node.words));
        }
        if (k == 0u) {
            path = child;
        }
        path = join(path, child);
    }
    for (var k = 0u; k < TRIANGLE_AXES; k++) {
        let slot = TRIANGLE_PATH * i + 4u * k;
        triangle_boxes[slot] = vec4<f32>(path.low_start[k], 0.0);
        triangle_boxes[slot + 1u] = vec4<f32>(path.low_end[k], 0.0);
        triangle_boxes[slot + 2u] = vec4<f32>(path.high_start[k], 0.0);
        triangle_boxes[slot + 3u] = vec4<f32>(path.high_end[k], 0.0);
    }
}

/// Task of a query: the last one that begins at or before it.
fn task_of(query: u32) -> u32 {
    var begin = 0u;
    var end = triangle.task_count;
    while (end - begin > 1u) {
        let middle = (begin + end) / 2u;
        if (triangle_tasks[middle].query_begin <= query) {
            begin = middle;
        } else {
            end = middle;
        }
    }
    return begin;
}

/// First candidate of a query; for the index after the last: the number of candidates.
fn found_begin(query: u32) -> u32 {
    let block = triangle.query_len + SCAN_BLOCK + query / SCAN_BLOCK;
    return triangle_counts[query] + triangle_counts[block];
}

/// Tests whether two simplices of one body share a row.
fn has_common_row(a: u32, a_count: u32, b: u32, b_count: u32) -> bool {
    var is_common = false;
    for (var k = 0u; k < a_count; k++) {
        for (var l = 0u; l < b_count; l++) {
            is_common = is_common || triangle_simplices[a + k] == triangle_simplices[b + l];
        }
    }
    return is_common;
}

/// Searches the tree for simplices that a query may meet in this round and returns their number;
/// writes them from `begin` on if `is_listing`.
fn visit_query(query: u32, begin: u32, is_listing: bool) -> u32 {
    let task = triangle_tasks[task_of(query)];
    let item = query - task.query_begin;
    let item_rows = select(1u, 2u, task.kind == 2u);
    let simplex = task.items + item_rows * item;
    let is_own = task.first_body == task.second_body;
    var candidate: TriangleCandidate;
    candidate.rank = vec4<u32>(task.first_body, task.second_body, (task.kind << 28u) | item, 0u);
    candidate.friction = task.friction;
    candidate.is_own = u32(is_own);
    candidate.rows = vec4<u32>(triangle_simplices[simplex], task.plane, task.plane, task.plane);
    candidate.kind = TRIANGLE_VERTEX_PLANE;
    var count = 0u;
    if (task.plane != NO_OFFSET) {
        if (is_listing) {
            triangle_found[begin] = candidate;
        }
        count = 1u;
    } else if (task.root != NO_OFFSET) {
        // Depth-first traversal with an explicit stack; children are pushed last first.
        let path = path_of_simplex(simplex, item_rows);
        var stack: array<u32, TRIANGLE_STACK>;
        stack[0] = task.root;
        var depth = 1u;
        while (depth > 0u) {
            depth--;
            let index = stack[depth];
            let node = triangle_nodes[index];
            let child_count = select(node.count, 0u, misses(box_of(index), path));
            for (var k = 0u; k < child_count; k++) {
                if (node.words == 0u) {
                    // The first child is visited next, so that candidates are found in order.
                    stack[depth] = node.first + child_count - 1u - k;
                    depth++;
                    continue;
                }
                let other = node.first + k;
                let second = node.simplices + node.words * other;
                let rows = row_count_of(node.words);
                // Within a body each pair of edges is found once, and neighbours never are.
                let is_again = task.kind == 2u && other <= item;
                if (is_own && (is_again || has_common_row(simplex, item_rows, second, rows))) {
                    continue;
                }
                if (misses(path, path_of_simplex(second, rows))) {
                    continue;
                }
                if (is_listing) {
                    candidate.rank.w = other;
                    if (task.kind == 2u) {
                        candidate.kind = TRIANGLE_EDGE_EDGE;
                        candidate.rows.y = triangle_simplices[simplex + 1u];
                        candidate.rows.z = triangle_simplices[second];
                        candidate.rows.w = triangle_simplices[second + 1u];
                    } else {
                        candidate.kind = TRIANGLE_VERTEX_FACE;
                        candidate.rows.y = triangle_simplices[second];
                        candidate.rows.z = triangle_simplices[second + 1u];
                        candidate.rows.w = triangle_simplices[second + 2u];
                        candidate.owned = triangle_simplices[second + 3u];
                        for (var side = 0u; side < 3u; side++) {
                            let row = triangle_simplices[second + 4u + side];
                            candidate.beyond[side] = select(row, NO_OFFSET, row == candidate.rows.x);
                        }
                    }
                    triangle_found[begin + count] = candidate;
                }
                count++;
            }
        }
    }
    return count;
}

/// Stores the number of candidates of a query.
fn count_candidates(query: u32) {
    var count = 0u;
    if (query < triangle.query_count && is_due()) {
        count = visit_query(query, 0u, false);
    }
    triangle_counts[query] = count;
}

/// Writes the candidates of a query, if the list can hold those of all queries.
fn list_candidates(query: u32) {
    if (found_begin(triangle.query_count) <= triangle.capacity && is_due()) {
        _ = visit_query(query, found_begin(query), true);
    }
}

/// Stores the number of candidates. If the list cannot hold them the slice ends, since nothing may
/// move unchecked.
fn record_candidate_count() {
    let count = found_begin(triangle.query_count);
    if (count <= triangle.capacity) {
        atomicStore(&triangle_lists.round.candidate_count, count);
    } else {
        atomicStore(&triangle_lists.round.candidate_count, 0u);
        atomicStore(&triangle_lists.round.unlisted_count, count);
        atomicStore(&triangle_lists.round.gates[TRIANGLE_DUE], 0u);
        atomicStore(&triangle_lists.round.gates[TRIANGLE_FRESH], 0u);
    }
}

/// Tests whether the bounds of two bodies are closer than twice the thickness; always true for
/// planes.
fn bounds_meet(a: u32, b: u32) -> bool {
    if (((triangle_simplices[a] | triangle_simplices[b]) & TRIANGLE_IS_PLANE) != 0u) {
        return true;
    }
    var is_near = true;
    for (var k = 0u; k < 3u; k++) {
        let low_a = from_ordered(atomicLoad(&triangle_lists.words[body_word(a, k)])) - triangle.thickness;
        let low_b = from_ordered(atomicLoad(&triangle_lists.words[body_word(b, k)])) - triangle.thickness;
        let high_a = from_ordered(atomicLoad(&triangle_lists.words[body_word(a, 3u + k)])) + triangle.thickness;
        let high_b = from_ordered(atomicLoad(&triangle_lists.words[body_word(b, 3u + k)])) + triangle.thickness;
        is_near = is_near && low_b <= high_a && low_a <= high_b;
    }
    return is_near;
}

/// Raises the longest forced move of the slice to that of a body; reports compare it with what the
/// rounds can follow.
fn raise_forced_move(body: u32) {
    atomicMax(&triangle_lists.round.forced_move_square, atomicLoad(&triangle_lists.words[body_word(body, 6u)]));
}

/// Records the longest forced move of a body at another one that it may meet, and whose it is.
fn note_hurry(body: u32, other: u32) {
    var who = TRIANGLE_BY_COLLIDER;
    if (body == other) {
        who = TRIANGLE_BY_ITSELF;
    } else if ((triangle_simplices[other] & TRIANGLE_IS_CLOTH) != 0u) {
        who = TRIANGLE_BY_CLOTH;
    }
    let longest = atomicLoad(&triangle_lists.words[body_word(other, 6u)]);
    atomicMax(&triangle_lists.words[body_word(body, TRIANGLE_BODY_HURRY)], (longest & 0xfffffffcu) | who);
}

/// Raises the longest forced move to those of both bodies of task i, if they are near each other.
fn find_task_moves(i: u32) {
    let a = triangle_tasks[i].first_body;
    let b = triangle_tasks[i].second_body;
    if (triangle_tasks[i].kind == 0u && a != b && bounds_meet(a, b)) {
        raise_forced_move(a);
        raise_forced_move(b);
        note_hurry(a, b);
        note_hurry(b, a);
    }
}

/// Raises the longest forced move to that of a cloth.
fn find_cloth_move(i: u32) {
    if ((triangle_simplices[i] & TRIANGLE_IS_CLOTH) != 0u) {
        raise_forced_move(i);
        note_hurry(i, i);
    }
}
