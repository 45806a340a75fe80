#import lib/math

/// Results of the canaries, for which the host knows the expected values.
@group(0) @binding(0) var<storage, read_write> canary: array<u32>;

/// Bits of the floats to test.
@group(0) @binding(1) var<storage, read> samples: array<u32>;

/// Applies to each sample the tests that keep NaN and infinities out of the simulation: bits 0 to
/// 2, faulty as a coordinate; bit 3, within a range; bit 4, positive; bit 5, above 1/2 when clamped
/// to 0..=1.
@compute @workgroup_size(1)
fn canary_nan() {
    for (var i = 0u; i < arrayLength(&samples); i++) {
        let value = bitcast<f32>(samples[i]);
        var bits = select(0u, 1u, is_faulty(vec3<f32>(value, 0.0, 0.0)));
        bits |= select(0u, 2u, is_faulty(vec3<f32>(0.0, value, 0.0)));
        bits |= select(0u, 4u, is_faulty(vec3<f32>(0.0, 0.0, value)));
        bits |= select(0u, 8u, is_within(value, MAX_COORDINATE));
        bits |= select(0u, 16u, is_positive(value));
        bits |= select(0u, 32u, clamp_unit(value) > 0.5);
        canary[i] = bits;
    }
}
