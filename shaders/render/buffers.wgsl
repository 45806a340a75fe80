#import lib/math
#import state/constants
#import render/types

/// Parameters of the pass: its chunks, and the interpolation between frames.
@group(0) @binding(0) var<uniform> render: RenderParameters;
/// Render meshes, each stored once.
@group(0) @binding(1) var<storage, read> render_meshes: array<u32>;
/// Render meshes with their cloths.
@group(0) @binding(2) var<storage, read> render_instances: array<RenderInstance>;
/// Chunks of vertices or particles: instance, first item.
@group(0) @binding(3) var<storage, read> render_chunks: array<vec2<u32>>;
/// Position [m] of each particle of all cloths; w unused.
@group(0) @binding(4) var<storage, read> render_particles: array<vec4<f32>>;
/// Position [m] of each particle one frame ago; w unused.
@group(0) @binding(5) var<storage, read> render_kept: array<vec4<f32>>;
/// Normals of particles.
@group(0) @binding(6) var<storage, read_write> render_normals_of: array<vec4<f32>>;
/// Vertices, two rows each: position [m] and 1; normal and 0.
@group(0) @binding(7) var<storage, read_write> render_vertices: array<vec4<f32>>;
/// Tangents of vertices; w is the sign of the bitangent.
@group(0) @binding(8) var<storage, read_write> render_tangents: array<vec4<f32>>;

/// Instance whose items the lane processes.
var<private> instance: u32;

/// Drawn position of a particle of the instance [m].
fn drawn_position(particle: u32) -> vec3<f32> {
    let row = render_instances[instance].particle_begin + particle;
    var x = render_particles[row].xyz;
    if (render.alpha < 1.0) {
        // Not kept + (x - kept) * alpha: drivers replace that by their own mix (Mesa does).
        x = render_kept[row].xyz * render.kept_fraction + x * render.alpha;
    }
    return x;
}

/// Position of a vertex of the instance [m].
fn placed_position(vertex: u32) -> vec3<f32> {
    return render_vertices[2u * (render_instances[instance].vertex_begin + vertex)].xyz;
}

/// Adds the cross product of two edges to a sum, product by product: drivers use this order however
/// it is written (Mesa does).
fn add_cross(sum: vec3<f32>, p: vec3<f32>, q: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(
        sum.x + p.y * q.z - p.z * q.y,
        sum.y + p.z * q.x - p.x * q.z,
        sum.z + p.x * q.y - p.y * q.x,
    );
}

/// Point or direction of a triangle by its weights.
fn weigh(a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, weights: vec3<f32>) -> vec3<f32> {
    return a * weights.x + b * weights.y + c * weights.z;
}

/// Normalized sum of cross products around a point; +y if it vanishes.
fn unit_normal(sum: vec3<f32>) -> vec3<f32> {
    let square = dot3(sum, sum);
    if (square > MIN_SHADED_SQUARE) {
        return sum * (1.0 / sqrt(square));
    }
    return vec3<f32>(0.0, 1.0, 0.0);
}
