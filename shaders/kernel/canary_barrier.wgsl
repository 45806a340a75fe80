/// Results of the canaries, for which the host knows the expected values.
@group(0) @binding(0) var<storage, read_write> canary: array<u32>;

/// Values to sum, one per lane.
@group(0) @binding(1) var<storage, read> samples: array<u32>;

/// Lanes of the workgroup.
override LANES: u32 = 256u;

/// Running sums.
var<workgroup> sums: array<u32, LANES>;

/// Computes inclusive prefix sums over the lanes (Hillis and Steele, 1986), in which each step
/// needs both of its barriers.
@compute @workgroup_size(LANES)
fn canary_barrier(@builtin(local_invocation_index) lane: u32) {
    sums[lane] = samples[lane];
    workgroupBarrier();
    for (var offset = 1u; offset < LANES; offset *= 2u) {
        // Between the barriers lanes only read, so none sees a sum of this step.
        var addend = 0u;
        if (lane >= offset) {
            addend = sums[lane - offset];
        }
        workgroupBarrier();
        sums[lane] += addend;
        workgroupBarrier();
    }
    canary[lane] = sums[lane];
}
