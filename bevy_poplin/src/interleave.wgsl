// Converts poplin's vertices to the layout of a Bevy mesh: position, normal, texture coordinates,
// tangent. Keeps texture coordinates.

struct Parameters {
    vertex_begin: u32,
    tangent_begin: u32,
    vertex_count: u32,
    // Size of a vertex [words].
    stride: u32,
    // Offset of the tangent in a vertex [words], or 0 without tangents.
    tangent_offset: u32,
}

struct Vertex {
    position: vec4<f32>,
    normal: vec4<f32>,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> vertices: array<Vertex>;
@group(0) @binding(2) var<storage, read> tangents: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> words: array<f32>;

@compute @workgroup_size(64)
fn interleave(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    let index = id.y * (workgroups.x * 64u) + id.x;
    if index < parameters.vertex_count {
        let vertex = vertices[parameters.vertex_begin + index];
        let at = index * parameters.stride;
        for (var k = 0u; k < 3u; k++) {
            words[at + k] = vertex.position[k];
            words[at + 3u + k] = vertex.normal[k];
        }
        if parameters.tangent_offset > 0u {
            let tangent = tangents[parameters.tangent_begin + index];
            for (var k = 0u; k < 4u; k++) {
                words[at + parameters.tangent_offset + k] = tangent[k];
            }
        }
    }
}
