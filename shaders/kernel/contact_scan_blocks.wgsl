#import contact/sort

/// Rows in each lane's buckets, then in those before.
var<workgroup> shared_sums: array<u32, CONTACT_LANES>;

/// Computes prefix sums of the counts within one block of buckets per workgroup, and the sum of the
/// block.
@compute @workgroup_size(CONTACT_LANES)
fn contact_scan_blocks(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    let block_begin = contact.bucket_count + SCAN_BLOCK;
    let is_inside = block < block_begin / SCAN_BLOCK;
    let begin = block * SCAN_BLOCK + 16u * lane;
    let end = select(0u, block_begin, is_inside);
    shared_sums[lane] = sum_counts(begin, end);
    workgroupBarrier(); // lanes -> sum
    if (lane == 0u) {
        // One lane scans the lane sums: CONTACT_LANES are few.
        var sum = 0u;
        for (var k = 0u; k < CONTACT_LANES; k++) {
            let count = shared_sums[k];
            shared_sums[k] = sum;
            sum += count;
        }
        if (is_inside) {
            atomicStore(&contact_cells[block_begin + block], sum);
        }
    }
    workgroupBarrier(); // sum -> lanes
    spread_counts(begin, end, shared_sums[lane]);
}
