#import contact/triangle_solve

/// 1 if a pair is pressed in this iteration.
var<workgroup> triangle_pinned_found: atomic<u32>;
/// `triangle_pinned_found` after all lanes have tested their pairs.
var<workgroup> triangle_pinned_next: u32;
/// Smallest fraction of the round for which a pair stays valid, as bits.
var<workgroup> triangle_pinned_part: atomic<u32>;

/// Adds iterations while pins or colliders come nearer to pairs than moves may, then decides
/// whether the round restarts.
///
/// It runs in one workgroup, whose lanes can wait for each other; nearly always
/// `triangle_find_pressed` has found that there is nothing to iterate.
@compute @workgroup_size(TRIANGLE_PINNED_LANES)
fn triangle_iterate_pinned(@builtin(local_invocation_index) lane: u32) {
    let is_needed = is_due() && atomicLoad(&triangle_lists.round.is_pressed) != 0u;
    let count = select(0u, pair_count(), is_needed);
    for (var more = 0u; more < TRIANGLE_MORE_ITERATIONS; more++) {
        if (lane == 0u) {
            atomicStore(&triangle_pinned_found, 0u);
        }
        workgroupBarrier();
        for (var i = lane; i < count; i += TRIANGLE_PINNED_LANES) {
            if (is_pressed(i)) {
                atomicStore(&triangle_pinned_found, 1u);
            }
        }
        workgroupBarrier();
        if (lane == 0u) {
            triangle_pinned_next = atomicLoad(&triangle_pinned_found);
        }
        if (workgroupUniformLoad(&triangle_pinned_next) == 0u) {
            break;
        }
        for (var i = lane; i < count; i += TRIANGLE_PINNED_LANES) {
            solve_pair(i);
        }
        storageBarrier();
        for (var i = lane; i < triangle.row_count; i += TRIANGLE_PINNED_LANES) {
            gather_corrections(i);
        }
        storageBarrier();
    }
    if (lane == 0u) {
        atomicStore(&triangle_pinned_part, bitcast<u32>(1.0));
    }
    workgroupBarrier();
    for (var i = lane; i < count; i += TRIANGLE_PINNED_LANES) {
        atomicMin(&triangle_pinned_part, bitcast<u32>(valid_part(i)));
    }
    workgroupBarrier();
    if (lane == 0u && is_due()) {
        let changed = atomicLoad(&triangle_pinned_part);
        let part = select(atomicLoad(&triangle_lists.round.valid_part), changed, is_needed);
        restart_round(bitcast<f32>(part));
    }
}
