// Small kernels of the self-check, each with a known result in `out`.

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

const ROUNDS = 2000u;
override LANES: u32;

// Every lane writes a row of storage, and reads that of a lane of another subgroup after a barrier.
// out[LANES + lane] counts wrong rows.
@compute @workgroup_size(LANES)
fn exchange(@builtin(local_invocation_index) lane: u32) {
    let other = (lane + LANES / 2u + 1u) % LANES;
    var wrong = 0u;
    for (var round = 0u; round < ROUNDS; round++) {
        out[lane] = round * LANES + lane;
        storageBarrier();
        if out[other] != round * LANES + other {
            wrong++;
        }
        storageBarrier();
    }
    out[LANES + lane] = wrong;
}

// One step of a chain: each dispatch must see what the one before has written.
@compute @workgroup_size(1)
fn advance() {
    out[0] = out[0] * 5u + 1u;
}

// Counts workgroups, and their lanes in out[1].
@compute @workgroup_size(64)
fn count(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        atomicAdd(&counts[0], 1u);
    }
    atomicAdd(&counts[1], 1u);
}

@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;

// Writes the last row of the largest binding.
@compute @workgroup_size(1)
fn touch_last() {
    out[arrayLength(&out) - 1u] = 0x600du;
}
