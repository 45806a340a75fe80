// Shading of cloth, solids and ground: a key light with shadows, a fill light, sky and floor.

/// Offset of a point off its surface before a shadow look-up, against self-shadowing [texels].
const LIFT: f32 = 3.0;
/// Spacing of the 5 x 5 shadow look-ups [texels].
const SPREAD: f32 = 1.5;

struct View {
    clip_from_world: mat4x4<f32>,
    /// Matrix from world space to the shadow map: `-1..1` across, `0..1` deep.
    map_from_world: mat4x4<f32>,
    eye: vec3<f32>,
    wrap: f32,
    /// Unit vectors to the lights.
    key_direction: vec3<f32>,
    transmission: f32,
    fill_direction: vec3<f32>,
    sheen: f32,
    key: vec3<f32>,
    bounce: f32,
    fill: vec3<f32>,
    /// Width of a texel of the shadow map [m].
    texel: f32,
    sky: vec3<f32>,
    grid_spacing: f32,
    floor: vec3<f32>,
    line_width: f32,
    ground: vec3<f32>,
    ground_radius: f32,
    grid_line: vec3<f32>,
    shadow_fraction: f32,
    shadow: vec3<f32>,
    /// Factor on the distance of solids from the eye, so that they do not cover touching cloth.
    solid_distance: f32,
    ground_center: vec3<f32>,
    unused: f32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var shadow_map: texture_depth_2d;
@group(0) @binding(2) var compare: sampler_comparison;

struct Vertex {
    @location(0) position: vec4<f32>,
    @location(1) normal: vec4<f32>,
    /// Rows of the matrix from local space to world space.
    @location(4) row_0: vec4<f32>,
    @location(5) row_1: vec4<f32>,
    @location(6) row_2: vec4<f32>,
    /// Linear colour of the front, and 1 for a solid.
    @location(7) front: vec4<f32>,
    /// Linear colour of the back.
    @location(8) back: vec4<f32>,
}

struct Surface {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) @interpolate(flat) front: vec3<f32>,
    @location(3) @interpolate(flat) back: vec3<f32>,
}

fn to_world(vertex: Vertex, point: vec4<f32>) -> vec3<f32> {
    return vec3<f32>(dot(vertex.row_0, point), dot(vertex.row_1, point), dot(vertex.row_2, point));
}

/// Returns the visibility of the key light from a side: mean of 5 x 5 filtered look-ups.
fn key_visibility(point: vec3<f32>, normal: vec3<f32>) -> f32 {
    let lifted = point + (normal + view.key_direction) * (view.texel * LIFT);
    let in_map = view.map_from_world * vec4<f32>(lifted, 1.0);
    let at = vec2<f32>(in_map.x * 0.5 + 0.5, 0.5 - in_map.y * 0.5);
    if (any(abs(at - 0.5) > vec2<f32>(0.5))) {
        return 1.0;
    }
    let step = SPREAD / f32(textureDimensions(shadow_map).x);
    var sum = 0.0;
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            let offset = vec2<f32>(f32(x), f32(y)) * step;
            sum += textureSampleCompareLevel(shadow_map, compare, at + offset, min(in_map.z, 1.0));
        }
    }
    return sum / 25.0;
}

@vertex
fn place_in_map(vertex: Vertex) -> @builtin(position) vec4<f32> {
    return view.map_from_world * vec4<f32>(to_world(vertex, vec4<f32>(vertex.position.xyz, 1.0)), 1.0);
}

@vertex
fn place_vertex(vertex: Vertex) -> Surface {
    let position = to_world(vertex, vec4<f32>(vertex.position.xyz, 1.0));
    let normal = to_world(vertex, vec4<f32>(vertex.normal.xyz, 0.0));
    let distance = select(1.0, view.solid_distance, vertex.front.w > 0.5);
    let clip = view.clip_from_world * vec4<f32>(view.eye + (position - view.eye) * distance, 1.0);
    return Surface(clip, position, normal, vertex.front.xyz, vertex.back.xyz);
}

@fragment
fn shade(in: Surface, @builtin(front_facing) is_front: bool) -> @location(0) vec4<f32> {
    let to_eye = normalize(view.eye - in.position);
    let size = length(in.normal);
    let front_normal = select(to_eye, in.normal / size, size > 1e-6);
    let normal = select(-front_normal, front_normal, is_front);
    let albedo = select(in.back, in.front, is_front);
    let wrapped = (vec2<f32>(dot(normal, view.key_direction), dot(normal, view.fill_direction)) + view.wrap)
        / (1.0 + view.wrap);
    let visible = key_visibility(in.position, normal);
    let key = max(wrapped.x, 0.0) * mix(view.transmission, 1.0, visible);
    let around = view.fill * max(wrapped.y, 0.0) + mix(view.floor, view.sky, normal.y * 0.5 + 0.5);
    // Sky and fill light are dimmer in the shadow of the key light.
    let light = view.key * key + around * mix(view.bounce, 1.0, 0.7 + 0.3 * visible);
    let grazing = 1.0 - min(abs(dot(normal, to_eye)), 1.0);
    return vec4<f32>((albedo + view.sheen * grazing * grazing * grazing) * light, 1.0);
}

/// Returns the fraction of a pixel that a grid line along one axis covers; `width` is the pixel's
/// extent on the ground [m].
fn line_cover(coordinate: f32, width: f32) -> f32 {
    let lines = coordinate / view.grid_spacing;
    let distance = abs(lines - round(lines)) * view.grid_spacing;
    let wide = max(width, 1e-9) * view.line_width;
    // Lines closer than a few pixels fade out, to avoid flicker.
    return clamp(1.0 - distance / wide, 0.0, 1.0) * clamp(1.0 - 4.0 * wide / view.grid_spacing, 0.0, 1.0);
}

struct Ground {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
}

/// Projects a square that faces up around the ground's center.
@vertex
fn place_ground(@builtin(vertex_index) index: u32) -> Ground {
    let corner = vec2<f32>(f32(index >> 1u), f32(index & 1u)) * 2.0 - 1.0;
    let position = view.ground_center + vec3<f32>(corner.x, 0.0, corner.y) * view.ground_radius;
    return Ground(view.clip_from_world * vec4<f32>(position, 1.0), position);
}

@fragment
fn shade_ground(in: Ground) -> @location(0) vec4<f32> {
    let extent = fwidth(in.position.xz);
    // The ground fades into the paper, without a visible horizon.
    let fade = smoothstep(0.0, 1.0, 1.0 - length(in.position - view.ground_center) / view.ground_radius);
    let lines = max(line_cover(in.position.x, extent.x), line_cover(in.position.z, extent.y));
    let color = mix(view.ground, view.grid_line, lines);
    let hidden = 1.0 - key_visibility(in.position, vec3<f32>(0.0, 1.0, 0.0));
    let dark = hidden * view.shadow_fraction * fade;
    let cover = fade * 0.8;
    return vec4<f32>(color * cover * (1.0 - dark) + view.shadow * dark, 1.0 - (1.0 - cover) * (1.0 - dark));
}
