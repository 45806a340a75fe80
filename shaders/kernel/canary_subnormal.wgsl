/// Results of the canaries, for which the host knows the expected values.
@group(0) @binding(0) var<storage, read_write> canary: array<vec4<u32>>;

/// Rows as the pools store them: the bits of a position, then an index, which would be subnormal as
/// a float.
@group(0) @binding(1) var<storage, read> samples: array<vec4<u32>>;

/// Row that is passed as floats.
var<private> floats: vec4<f32>;

/// Copies row i, passing its position through floats as stages do.
fn copy_row(i: u32) {
    let row = samples[i];
    canary[i] = vec4<u32>(bitcast<vec3<u32>>(bitcast<vec3<f32>>(row.xyz)), row.w);
}

/// Writes per sample: the first coordinate and the index of the copied row, the bits of the index
/// when passed as a float, and those of that float plus itself. An adapter may flush the last two
/// to 0, never the index.
@compute @workgroup_size(1)
fn canary_subnormal() {
    for (var i = 0u; i < arrayLength(&samples); i++) {
        copy_row(i);
        let row = canary[i];
        floats = bitcast<vec4<f32>>(samples[i]);
        let passed = select(vec4<f32>(0.0), floats, floats.x > 0.0).w;
        canary[i] = vec4<u32>(row.x, row.w, bitcast<u32>(passed), bitcast<u32>(passed + passed));
    }
}
