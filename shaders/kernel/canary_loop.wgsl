/// Results of the canaries, for which the host knows the expected values.
@group(0) @binding(0) var<storage, read_write> canary: array<u32>;

/// Trips of the inner loop; read-only storage, so that no compiler can fold the loops.
@group(0) @binding(1) var<storage, read> trip_count: array<u32>;

/// Counts trip_count[0] * trip_count[1] trips of nested loops. Some drivers stop at 65,535 without
/// an error.
@compute @workgroup_size(1)
fn canary_loop() {
    var count = 0u;
    for (var outer = 0u; outer < trip_count[0]; outer++) {
        for (var inner = 0u; inner < trip_count[1]; inner++) {
            count += 1u;
        }
    }
    canary[0] = count;
}
