#import contact/sort

/// Rows in each lane's blocks, then in those before.
var<workgroup> shared_sums: array<u32, CONTACT_LANES>;
/// Rows in the blocks of earlier rounds.
var<workgroup> shared_total: u32;

/// Computes prefix sums of the block sums, in one workgroup.
@compute @workgroup_size(CONTACT_LANES)
fn contact_scan_sums(@builtin(local_invocation_index) lane: u32) {
    let block_begin = contact.bucket_count + SCAN_BLOCK;
    let block_end = block_begin + block_begin / SCAN_BLOCK;
    if (lane == 0u) {
        shared_total = 0u;
    }
    workgroupBarrier(); // clear -> rounds
    for (var round = block_begin; round < block_end; round += SCAN_BLOCK) {
        let begin = round + 16u * lane;
        shared_sums[lane] = sum_counts(begin, block_end);
        workgroupBarrier(); // lanes -> sum
        if (lane == 0u) {
            var sum = shared_total;
            for (var k = 0u; k < CONTACT_LANES; k++) {
                let count = shared_sums[k];
                shared_sums[k] = sum;
                sum += count;
            }
            shared_total = sum;
        }
        workgroupBarrier(); // sum -> lanes
        spread_counts(begin, block_end, shared_sums[lane]);
        workgroupBarrier(); // round -> next round
    }
}
