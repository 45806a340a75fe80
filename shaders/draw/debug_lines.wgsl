#import state/constants
#import render/types

/// Parameters of the lines: first particle, projection to clip space, strain limit.
@group(0) @binding(0) var<uniform> debug: DebugParameters;
/// Lines.
@group(0) @binding(1) var<storage, read> debug_lines_of: array<DebugLine>;
/// Position [m] of each particle of all cloths; w unused.
@group(0) @binding(2) var<storage, read> debug_particles: array<vec4<f32>>;

/// End of a line.
struct DebugVertex {
    /// Position in clip space.
    @builtin(position) position: vec4<f32>,
    /// Colour, not premultiplied.
    @location(0) colour: vec4<f32>,
}

/// Position of an end [m]: that of its particle, if it has one, plus an offset.
fn end_position(beside: vec3<f32>, particle: u32) -> vec3<f32> {
    if (particle == NO_OFFSET) {
        return beside;
    }
    return debug_particles[debug.particle_begin + particle].xyz + beside;
}

/// Colour of a strain: blue for shorter than at rest, grey at rest, then yellow, and red for longer
/// by the whole limit.
fn strain_colour(strain: f32) -> vec4<f32> {
    let part = clamp(strain / debug.strain_limit, -1.0, 1.0);
    if (part < 0.0) {
        return vec4<f32>(mix(vec3<f32>(0.55, 0.6, 0.6), vec3<f32>(0.1, 0.25, 1.0), -part), 1.0);
    }
    let low = mix(vec3<f32>(0.55, 0.6, 0.6), vec3<f32>(0.95, 0.85, 0.1), min(2.0 * part, 1.0));
    return vec4<f32>(mix(low, vec3<f32>(0.95, 0.1, 0.05), max(2.0 * part - 1.0, 0.0)), 1.0);
}

/// Computes an end of a line per vertex, a line per instance.
@vertex
fn debug_line(@builtin(vertex_index) end: u32, @builtin(instance_index) index: u32) -> DebugVertex {
    let line = debug_lines_of[index];
    var start = end_position(line.start.xyz, line.start_particle);
    var last = end_position(line.end.xyz, line.end_particle);
    if (line.third_particle != NO_OFFSET) {
        // A line with a third particle is the normal of the triangle, from its centroid.
        let third = end_position(vec3<f32>(), line.third_particle);
        let normal = cross(last - start, third - start);
        let size = length(normal);
        start = (start + last + third) / 3.0;
        last = start + normal * select(0.0, line.normal_length / size, size > 0.0);
    }
    let local = vec4<f32>(select(start, last, end == 1u), 1.0);
    var vertex: DebugVertex;
    vertex.position = debug.clip_x * local.x + debug.clip_y * local.y + debug.clip_z * local.z + debug.clip_w;
    vertex.colour = unpack4x8unorm(line.colour);
    if (line.rest_length > 0.0) {
        vertex.colour = strain_colour(length(last - start) / line.rest_length - 1.0);
    }
    return vertex;
}

/// Colour of the line.
@fragment
fn debug_colour(vertex: DebugVertex) -> @location(0) vec4<f32> {
    return vertex.colour;
}
