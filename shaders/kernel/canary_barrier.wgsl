/// What the canaries write; the host knows the values they must have.
@group(0) @binding(0) var<storage, read_write> canary: array<u32>;

/// Values to sum, one per lane.
@group(0) @binding(1) var<storage, read> samples: array<u32>;

/// Lanes of the workgroup.
override LANES: u32 = 256u;

/// Running sums.
var<workgroup> sums: array<u32, LANES>;

/// Inclusive prefix sums over the lanes (Hillis and Steele, 1986): every step needs its two barriers.
@compute @workgroup_size(LANES)
fn canary_barrier(@builtin(local_invocation_index) lane: u32) {
    sums[lane] = samples[lane];
    workgroupBarrier();
    for (var offset = 1u; offset < LANES; offset *= 2u) {
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
