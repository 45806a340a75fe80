// Bindings shared by all shaders of the viewer: camera, lights, colours.

/// Number of lights with a depth map: the key light first, then the sky lights.
const LIGHTS: u32 = 17u;

/// Directional light with its depth map.
struct Light {
    /// Matrix from world space to the map: `-1..1` across, `0..1` deep.
    map_from_world: mat4x4<f32>,
    /// Unit vector to the light.
    direction: vec3<f32>,
    /// Width of a texel of the map [m].
    texel: f32,
}

struct View {
    clip_from_world: mat4x4<f32>,
    eye: vec3<f32>,
    wrap: f32,
    /// Unit vector to the fill light.
    fill_direction: vec3<f32>,
    transmission: f32,
    key: vec3<f32>,
    bounce: f32,
    fill: vec3<f32>,
    sheen: f32,
    sky: vec3<f32>,
    /// Strain with the strongest colour; 0 shows the colours of cloths.
    strain_limit: f32,
    floor: vec3<f32>,
    /// Factor on the distance of solids from the eye, so that they do not cover touching cloth.
    solid_distance: f32,
    paper_top: vec3<f32>,
    grid_spacing: f32,
    paper_bottom: vec3<f32>,
    line_width: f32,
    ground: vec3<f32>,
    ground_radius: f32,
    grid_line: vec3<f32>,
    shadow_fraction: f32,
    shadow: vec3<f32>,
    unused_0: f32,
    ground_center: vec3<f32>,
    unused_1: f32,
    /// Size of the picture [pixels].
    size: vec2<f32>,
    unused_2: vec2<f32>,
    lights: array<Light, LIGHTS>,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var key_map: texture_depth_2d;
@group(0) @binding(2) var sky_maps: texture_depth_2d_array;
@group(0) @binding(3) var compare: sampler_comparison;

/// Drawn object: a cloth, a solid, the ground.
struct Instance {
    /// Rows of the matrix from its local space to the world.
    @location(3) row_0: vec4<f32>,
    @location(4) row_1: vec4<f32>,
    @location(5) row_2: vec4<f32>,
    /// Linear colour of the front, and 0 for a cloth, 1 for a solid, 2 for the ground.
    @location(6) front: vec4<f32>,
    /// Linear colour of the back.
    @location(7) back: vec4<f32>,
}

fn to_world(instance: Instance, point: vec4<f32>) -> vec3<f32> {
    return vec3<f32>(dot(instance.row_0, point), dot(instance.row_1, point), dot(instance.row_2, point));
}
