/// What the canaries write; the host knows the values they must have.
@group(0) @binding(0) var<storage, read_write> canary: array<vec4<u32>>;

/// Rows as the pools hold them: a position as its bits, then an index, which as a float would be subnormal.
@group(0) @binding(1) var<storage, read> samples: array<vec4<u32>>;

/// A row passed as floats.
var<private> floats: vec4<f32>;

/// Row i with its position taken out as floats and put back, as stages do.
fn copy_row(i: u32) {
    let row = samples[i];
    canary[i] = vec4<u32>(bitcast<vec3<u32>>(bitcast<vec3<f32>>(row.xyz)), row.w);
}

/// Per sample: the first coordinate and the index of the copied row, then the bits of the index if it is passed as a float, and
/// those of that float plus itself. An adapter may flush the last two to 0, never the index.
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
