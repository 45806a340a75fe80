#import contact/triangle_solve

/// Whether a pair is pressed in this iteration.
var<workgroup> triangle_pinned_found: atomic<u32>;
/// The same once all lanes have looked.
var<workgroup> triangle_pinned_next: u32;
/// The least part that a pair leaves, as bits.
var<workgroup> triangle_pinned_part: atomic<u32>;

/// Goes on with iterations while pins or colliders come nearer to pairs than moves may. One workgroup does it, which needs to wait for
/// no other: nearly always there is none to do. Then it finds whether the round has to begin again.
@compute @workgroup_size(TRIANGLE_PINNED_LANES)
fn triangle_iterate_pinned(@builtin(local_invocation_index) lane: u32) {
    let count = select(0u, pair_count(), is_due());
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
    if (lane == 0u && count > 0u) {
        restart_round(bitcast<f32>(atomicLoad(&triangle_pinned_part)));
    }
}
