#import lib/math
#import contact/triangle_pairs

/// Tests whether rank a precedes rank b.
fn ranks_before(a: vec4<u32>, b: vec4<u32>) -> bool {
    for (var k = 0u; k < 3u; k++) {
        if (a[k] != b[k]) {
            return a[k] < b[k];
        }
    }
    return a.w < b.w;
}

/// Multipliers of the pair of candidate i in the last slice, by binary search; 0 if it had none.
fn find_held(i: u32) -> vec4<f32> {
    let rank = triangle_candidates[i].rank;
    let count = atomicLoad(&triangle_lists.round.held_count);
    var begin = 0u;
    var end = count;
    while (begin < end) {
        let middle = (begin + end) / 2u;
        if (ranks_before(triangle_held[middle].rank, rank)) {
            begin = middle + 1u;
        } else {
            end = middle;
        }
    }
    if (begin < count && all(triangle_held[begin].rank == rank)) {
        return triangle_held[begin].drag;
    }
    return vec4<f32>(0.0);
}

/// Displacement of the first side of a pair along the second in this round by spheres, capsules and
/// planes that turn [m].
fn slide_of(pair: TrianglePair) -> vec3<f32> {
    let spin = load_row(TRIANGLE_TURNS, pair.rows.x) + load_row(TRIANGLE_TURNS, pair.rows.w);
    var slide = vec3<f32>(0.0);
    if (any(spin != vec3<f32>(0.0))) {
        // From the center of the turning side to its surface; -(spin x arm) as the second side.
        let normal = pair.normal.xyz;
        let arm = mix_rows(pair.rows, pair.weights, TRIANGLE_STARTS) - normal * pair.normal.w;
        let turned = cross3(arm, spin) * part_of_slice();
        slide = turned - normal * dot3(normal, turned);
    }
    return slide;
}

/// Tests whether a pair is listed at the row of a corner of this weight.
fn has_corner(row: u32, weight: f32) -> bool {
    return weight != 0.0 && !is_immovable(row);
}

/// Writes the pair of candidate i if it is within reach, warm-started with the multipliers of the
/// last slice, and counts its corners at movable rows. Nothing is summed at pins and colliders,
/// where thousands of corners may meet.
fn build_pair(i: u32) {
    let slot = slot_of(i);
    if (slot_of(i + 1u) != slot) {
        var pair = measure(i);
        let normal = pair.normal.xyz;
        let held = find_held(i);
        let part = part_of_slice();
        if (part > 0.0 && held.w > 0.0) {
            let push = held.w * part;
            // The stored friction is projected into the new contact plane and limited by the cone.
            let drag = (held.xyz - normal * dot3(held.xyz, normal)) * part;
            pair.drag = vec4<f32>(shorten(drag, pair.friction * push), push);
        }
        pair.is_active = pair.is_active & u32(pair.drag.w > 0.0 || is_near(pair));
        pair.change = vec4<f32>(normal * pair.drag.w + pair.drag.xyz, 0.0);
        pair.slide = vec4<f32>(slide_of(pair), 0.0);
        triangle_pairs[slot] = pair;
        for (var k = 0u; k < 4u; k++) {
            if (is_fresh() && pair.is_active != 0u && has_corner(pair.rows[k], pair.weights[k])) {
                let index = atomicAdd(&triangle_begins[pair.rows[k]], 1u);
                atomicStore(&triangle_lists.words[index_word(4u * slot + k)], index);
            }
        }
    }
}

/// Writes the corners of pair i into the lists of their rows, in order of arrival, and computes the
/// step of its multiplier.
fn scatter_incidence(i: u32) {
    if (triangle_pairs[i].is_active != 0u) {
        let rows = triangle_pairs[i].rows;
        let weights = triangle_pairs[i].weights;
        var sum = 0.0;
        for (var k = 0u; k < 4u; k++) {
            let begin = begin_of(rows[k]);
            let count = f32(begin_of(rows[k] + 1u) - begin);
            // sum = sum of c^2 w n,  n the contacts of the row among which its mass is split
            sum += weights[k] * weights[k] * triangle_rows[rows[k]].inverse_mass * count;
            if (has_corner(rows[k], weights[k])) {
                let entry = begin + atomicLoad(&triangle_lists.words[index_word(4u * i + k)]);
                atomicStore(&triangle_lists.words[arrival_word(entry)], 4u * i + k);
            }
        }
        var compliance = 0.0;
        if (sum > 0.0) {
            compliance = 1.0 / sum;
        }
        triangle_pairs[i].change.w = compliance;
        triangle_pairs[i].is_active = u32(sum > 0.0);
    }
}

/// Moves the corner that arrived at an entry to its place among those of its row, ascending, so
/// that sums do not depend on the order of arrival. Its place is the number of corners before it.
fn sort_incidence(entry: u32) {
    let corner = atomicLoad(&triangle_lists.words[arrival_word(entry)]);
    let row = triangle_pairs[corner / 4u].rows[corner % 4u];
    let begin = begin_of(row);
    let end = begin_of(row + 1u);
    var place = begin;
    for (var other = begin; other < end; other++) {
        place += u32(atomicLoad(&triangle_lists.words[arrival_word(other)]) < corner);
    }
    atomicStore(&triangle_lists.words[corner_word(place)], corner);
}
