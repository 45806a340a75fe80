#import lib/math

/// Results of the canaries, for which the host knows the expected values.
@group(0) @binding(0) var<storage, read_write> canary: array<u32>;

/// Bits of the floats to test.
@group(0) @binding(1) var<storage, read> samples: array<u32>;

/// Applies to each sample the test that keeps NaN and infinities out of the simulation.
@compute @workgroup_size(1)
fn canary_nan() {
    for (var i = 0u; i < arrayLength(&samples); i++) {
        let value = bitcast<f32>(samples[i]);
        canary[i] = select(0u, 1u, is_faulty(vec3<f32>(0.0, value, 0.0)));
    }
}
