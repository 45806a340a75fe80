// Shading of cloths, solids and the ground with shadow maps.

/// Offset of a point off its surface before a shadow look-up, against self-shadowing [texels].
const LIFT: f32 = 1.6;
/// Spacing of the 5 x 5 shadow look-ups of the key light [texels].
const KEY_SPREAD: f32 = 1.5;

/// Spacing of the shadow look-ups of a sky light on bodies [texels].
const SKY_SPREAD: f32 = 0.8;
/// Spacing on the ground, wider so that single shadows do not show [texels].
const GROUND_SPREAD: f32 = 7.0;

struct Vertex {
    @location(0) position: vec4<f32>,
    @location(1) normal: vec4<f32>,
    /// Signed strain of the incident edges.
    @location(2) strain: f32,
}

struct Surface {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    /// Sky visibility of the front and the back, 0 to 1.
    @location(2) sky: vec2<f32>,
    @location(3) strain: f32,
    @location(4) @interpolate(flat) front: vec4<f32>,
    @location(5) @interpolate(flat) back: vec3<f32>,
}

/// Returns coordinates and depth of a point in the shadow map of a light, offset along the normal.
fn in_map(light: Light, point: vec3<f32>, normal: vec3<f32>, lift: f32) -> vec3<f32> {
    let lifted = point + (normal + light.direction) * (light.texel * lift);
    let at = light.map_from_world * vec4<f32>(lifted, 1.0);
    // Points behind the map are shadowed by its contents.
    return vec3<f32>(at.x * 0.5 + 0.5, 0.5 - at.y * 0.5, min(at.z, 1.0));
}

/// Returns the sky visibility of a side: mean over the sky lights weighted by cosine, each with 3 x
/// 3 filtered look-ups at a spacing of `spread` texels.
fn sky_visibility(point: vec3<f32>, normal: vec3<f32>, spread: f32) -> f32 {
    let step = spread / f32(textureDimensions(sky_maps).x);
    var sum = 0.0;
    var total = 0.0;
    for (var k = 1u; k < LIGHTS; k++) {
        let weight = max(dot(normal, view.lights[k].direction), 0.0);
        if (weight == 0.0) {
            continue;
        }
        let at = in_map(view.lights[k], point, normal, LIFT);
        for (var y = -1; y <= 1; y++) {
            for (var x = -1; x <= 1; x++) {
                let offset = vec2<f32>(f32(x), f32(y)) * step;
                sum += weight * textureSampleCompareLevel(sky_maps, compare, at.xy + offset, k - 1u, at.z) / 9.0;
            }
        }
        total += weight;
    }
    return select(1.0, sum / total, total > 0.0);
}

/// Returns the visibility of the key light from a side: mean of 5 x 5 filtered look-ups.
fn key_visibility(point: vec3<f32>, normal: vec3<f32>) -> f32 {
    let at = in_map(view.lights[0], point, normal, LIFT * 2.5);
    if (any(abs(at.xy - 0.5) > vec2<f32>(0.5))) {
        return 1.0;
    }
    let step = KEY_SPREAD / f32(textureDimensions(key_map).x);
    var sum = 0.0;
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            sum += textureSampleCompareLevel(key_map, compare, at.xy + vec2<f32>(f32(x), f32(y)) * step, at.z);
        }
    }
    return sum / 25.0;
}

@vertex
fn place_vertex(vertex: Vertex, instance: Instance) -> Surface {
    let position = to_world(instance, vec4<f32>(vertex.position.xyz, 1.0));
    let normal = to_world(instance, vec4<f32>(vertex.normal.xyz, 0.0));
    let distance = select(1.0, view.solid_distance, instance.front.w > 0.5);
    var out: Surface;
    out.clip = view.clip_from_world * vec4<f32>(view.eye + (position - view.eye) * distance, 1.0);
    out.position = position;
    out.normal = normal;
    let spread = select(SKY_SPREAD, GROUND_SPREAD, instance.front.w > 1.5);
    out.sky = vec2<f32>(sky_visibility(position, normal, spread), sky_visibility(position, -normal, spread));
    out.strain = vertex.strain;
    out.front = instance.front;
    out.back = instance.back.xyz;
    return out;
}

/// Returns the colour of a strain: blue for shorter, red for longer than at rest.
fn strain_color(strain: f32) -> vec3<f32> {
    let part = clamp(strain / view.strain_limit, -1.0, 1.0);
    let end = select(vec3<f32>(0.03, 0.13, 0.55), vec3<f32>(0.62, 0.04, 0.03), part > 0.0);
    return mix(vec3<f32>(0.56, 0.55, 0.52), end, sqrt(abs(part)));
}

@fragment
fn shade(in: Surface, @builtin(front_facing) is_front: bool) -> @location(0) vec4<f32> {
    let to_eye = normalize(view.eye - in.position);
    let size = length(in.normal);
    let front_normal = select(to_eye, in.normal / size, size > 1e-6);
    let normal = select(-front_normal, front_normal, is_front);
    var albedo = select(in.back, in.front.xyz, is_front);
    if (view.strain_limit > 0.0 && in.front.w < 0.5) {
        albedo = strain_color(in.strain);
    }
    let sky = select(in.sky.y, in.sky.x, is_front);
    // Wrapped diffuse: max((n . l + w) / (1 + w), 0).
    let wrapped_key = max((dot(normal, view.lights[0].direction) + view.wrap) / (1.0 + view.wrap), 0.0);
    let wrapped_fill = max((dot(normal, view.fill_direction) + view.wrap) / (1.0 + view.wrap), 0.0);
    let key = wrapped_key * mix(view.transmission, 1.0, key_visibility(in.position, normal));
    let around = view.fill * wrapped_fill + mix(view.floor, view.sky, normal.y * 0.5 + 0.5);
    let light = view.key * key + around * mix(view.bounce, 1.0, sky);
    let grazing = 1.0 - min(abs(dot(normal, to_eye)), 1.0);
    return vec4<f32>((albedo + view.sheen * grazing * grazing * grazing) * light, 1.0);
}

/// Returns the fraction of a pixel that a grid line along one axis covers; `width` is the pixel's
/// extent on the floor [m].
fn line_cover(coordinate: f32, width: f32) -> f32 {
    let lines = coordinate / view.grid_spacing;
    let distance = abs(lines - round(lines)) * view.grid_spacing;
    let wide = max(width, 1e-9) * view.line_width;
    // Lines closer than a few pixels fade out, to avoid flicker.
    return clamp(1.0 - distance / wide, 0.0, 1.0) * clamp(1.0 - 4.0 * wide / view.grid_spacing, 0.0, 1.0);
}

@fragment
fn shade_ground(in: Surface) -> @location(0) vec4<f32> {
    let extent = fwidth(in.position.xz);
    // The floor fades into the paper, without a visible horizon.
    let fade = smoothstep(0.0, 1.0, 1.0 - length(in.position - view.ground_center) / view.ground_radius);
    let lines = max(line_cover(in.position.x, extent.x), line_cover(in.position.z, extent.y));
    let floor = mix(view.ground, view.grid_line, lines);
    if (fade == 0.0) {
        return vec4<f32>();
    }
    let hidden = 0.6 * (1.0 - key_visibility(in.position, vec3<f32>(0.0, 1.0, 0.0))) + 1.1 * (1.0 - in.sky.x);
    let dark = min(hidden, 1.0) * view.shadow_fraction * fade;
    let cover = fade * 0.8;
    return vec4<f32>(floor * cover * (1.0 - dark) + view.shadow * dark, 1.0 - (1.0 - cover) * (1.0 - dark));
}

/// Index of the light whose map is drawn.
@group(1) @binding(0) var<uniform> light_index: vec4<u32>;

@vertex
fn place_in_map(@location(0) position: vec4<f32>, instance: Instance) -> @builtin(position) vec4<f32> {
    let world = to_world(instance, vec4<f32>(position.xyz, 1.0));
    return view.lights[light_index.x].map_from_world * vec4<f32>(world, 1.0);
}
