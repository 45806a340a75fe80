#import lib/math
#import contact/triangle_buffers

/// Adds the multiplier changes of incident pairs to the move of row i, in the order of pairs.
fn gather_corrections(i: u32) {
    let begin = begin_of(i);
    let end = begin_of(i + 1u);
    if (is_due() && begin < end && !is_immovable(i)) {
        var sum = vec3<f32>(0.0);
        for (var entry = begin; entry < end; entry++) {
            let corner = atomicLoad(&triangle_lists.words[corner_word(entry)]);
            sum += triangle_pairs[corner / 4u].change.xyz * triangle_pairs[corner / 4u].weights[corner % 4u];
        }
        // dx = w * sum of weight * change
        let push = sum * triangle_rows[i].inverse_mass;
        store_row(TRIANGLE_MOVES, i, load_row(TRIANGLE_MOVES, i) + push);
        // Corrections of overlaps do not become velocity.
        if (triangle.gate == TRIANGLE_OVERLAPS) {
            store_row(TRIANGLE_CARRIES, i, load_row(TRIANGLE_CARRIES, i) + push);
        }
    }
}

/// Updates the multipliers of pair i from its remaining distance and tangential motion.
fn solve_pair(i: u32) {
    if (triangle_pairs[i].is_active != 0u) {
        let normal = triangle_pairs[i].normal.xyz;
        let old = triangle_pairs[i].drag;
        let compliance = triangle_pairs[i].change.w;
        let relative = mix_rows(triangle_pairs[i].rows, triangle_pairs[i].weights, TRIANGLE_MOVES);
        let along = dot3(normal, relative);
        let part = TRIANGLE_RELAXATION * compliance;
        // Normal: lambda = max(lambda - k (n . dx + closing), 0), k over-relaxed.
        let push = max(old.w - (along + triangle_pairs[i].closing) * part, 0.0);
        let slide = relative - normal * along + triangle_pairs[i].slide.xyz;
        // Friction: clamped to the cone |drag| <= mu lambda.
        let drag = shorten(old.xyz - slide * part, triangle_pairs[i].friction * push);
        triangle_pairs[i].change = vec4<f32>(normal * (push - old.w) + drag - old.xyz, compliance);
        triangle_pairs[i].drag = vec4<f32>(drag, push);
    }
}

/// Tests whether pins or colliders come nearer to the other side of pair i than moves may.
fn is_pressed(i: u32) -> bool {
    let rows = triangle_pairs[i].rows;
    let has_pin = is_immovable(rows.x) || is_immovable(rows.y) || is_immovable(rows.z) || is_immovable(rows.w);
    if (has_pin && triangle_pairs[i].is_active != 0u) {
        let normal = triangle_pairs[i].normal;
        let along = dot3(normal.xyz, mix_rows(rows, triangle_pairs[i].weights, TRIANGLE_MOVES));
        return along < -TRIANGLE_APPROACH * normal.w;
    }
    return false;
}

/// Largest fraction of this round for which the linearised contact of pair i stays valid: its sides
/// move at most TRIANGLE_REACH against each other once they touch, and pressed corners get out of
/// the way.
fn valid_part(i: u32) -> f32 {
    let rows = triangle_pairs[i].rows;
    let first_count = triangle_pairs[i].first_count;
    var square = 0.0;
    for (var k = 0u; k < first_count; k++) {
        for (var l = first_count; l < 4u; l++) {
            let against = load_row(TRIANGLE_MOVES, rows[k]) - load_row(TRIANGLE_MOVES, rows[l]);
            square = max(square, dot3(against, against));
        }
    }
    // Relative motion up to contact, plus the reach afterwards.
    let room = triangle_pairs[i].closing + TRIANGLE_REACH * triangle.thickness;
    let length = sqrt(square);
    var part = 1.0;
    if (length > room) {
        part = room / length;
    }
    if (TRIANGLE_APPROACH * triangle_pairs[i].normal.w > 0.0 && is_pressed(i)) {
        part = min(part, TRIANGLE_PRESSED_PART);
    }
    return part;
}

/// Restarts the round with shorter parts if `part` of it is less than all; nothing has moved yet.
fn restart_round(part: f32) {
    let count = bitcast<f32>(atomicLoad(&triangle_lists.round.part_count));
    let next = atomicLoad(&triangle_lists.round.round_count) + 1u;
    let allows_more = 2u * next < triangle.max_rounds && count < most_parts(next);
    if (part < 1.0 && part_of_slice() > 0.0 && allows_more) {
        atomicStore(&triangle_lists.round.restart_parts, bitcast<u32>(ceil(count / part)));
        atomicStore(&triangle_lists.round.gates[TRIANGLE_FRESH], 0u);
        atomicStore(&triangle_lists.round.gates[TRIANGLE_DUE], 0u);
    }
}

/// Computes the correction that removes part of the overlap of pair i without velocity, and stores
/// its multipliers for the next slice.
fn reduce_overlap(i: u32) {
    let normal = triangle_pairs[i].normal.xyz;
    let compliance = triangle_pairs[i].change.w;
    var change = vec3<f32>(0.0);
    if (triangle_pairs[i].is_active != 0u && triangle_pairs[i].overlap > 0.0) {
        let along = dot3(normal, mix_rows(triangle_pairs[i].rows, triangle_pairs[i].weights, TRIANGLE_MOVES));
        // Overlap that the response has not removed by itself.
        let need = max(TRIANGLE_RECOVERY * triangle_pairs[i].overlap - along, 0.0);
        change = normal * (need * compliance);
        if (need > 0.0) {
            atomicStore(&triangle_lists.round.gates[triangle.gate], 1u);
        }
    }
    triangle_pairs[i].change = vec4<f32>(change, compliance);
    let drag = triangle_pairs[i].drag;
    if (drag.w > 0.0) {
        atomicAdd(&triangle_lists.round.contact_count, 1u);
    }
    let part = part_of_slice();
    if (part > 0.0) {
        triangle_held[i].rank = triangle_candidates[triangle_pairs[i].candidate].rank;
        // Stored per slice, as the next one may be divided differently.
        triangle_held[i].drag = drag / part;
    }
}
