// Shading of a character, its clothes and the ground by sun and sky.

struct Scene {
    clip_from_world: mat4x4f,
    /// Matrix from world space to the shadow map: -1..1 across, 0..1 deep.
    map_from_world: mat4x4f,
    /// Matrix from the local space of the character to world space.
    world_from_local: mat4x4f,
    eye: vec3f,
    /// Unit vector to the sun.
    sun: vec3f,
    /// World position between the character's feet.
    center: vec3f,
    bones: array<mat4x4f, 18>,
}

@group(0) @binding(0) var<uniform> scene: Scene;
@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var compare: sampler_comparison;

const SUN = 2.6 * vec3f(1.0, 0.94, 0.84);
const SKY = 0.6 * vec3f(0.86, 0.95, 1.1);
const BOUNCE = 0.36 * vec3f(0.92, 0.88, 0.84);
const BACKGROUND = vec3f(0.63, 0.68, 0.74);

struct Surface {
    @builtin(position) clip: vec4f,
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) @interpolate(flat) front: vec3f,
    @location(3) @interpolate(flat) back: vec3f,
}

fn surface(local: vec3f, normal: vec3f, front: vec3f, back: vec3f) -> Surface {
    let position = scene.world_from_local * vec4f(local, 1.0);
    let direction = (scene.world_from_local * vec4f(normal, 0.0)).xyz;
    return Surface(scene.clip_from_world * position, position.xyz, direction, front, back);
}

struct BodyVertex {
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) bones: vec4u,
    @location(3) weights: vec4f,
}

/// Returns the matrix of linear blend skinning.
fn local_from_rest(in: BodyVertex) -> mat4x4f {
    var sum = scene.bones[in.bones.x] * in.weights.x;
    sum += scene.bones[in.bones.y] * in.weights.y;
    sum += scene.bones[in.bones.z] * in.weights.z;
    return sum + scene.bones[in.bones.w] * in.weights.w;
}

@vertex
fn body(in: BodyVertex) -> Surface {
    let moved = local_from_rest(in);
    let color = vec3f(0.66, 0.58, 0.50);
    return surface((moved * vec4f(in.position, 1.0)).xyz, (moved * vec4f(in.normal, 0.0)).xyz, color, color);
}

@vertex
fn body_in_map(in: BodyVertex) -> @builtin(position) vec4f {
    return scene.map_from_world * scene.world_from_local * local_from_rest(in) * vec4f(in.position, 1.0);
}

/// Projects a vertex of the cape (instance 0) or the skirt (instance 1).
@vertex
fn cloth(@location(0) position: vec4f, @location(1) normal: vec4f, @builtin(instance_index) index: u32) -> Surface {
    let fronts = array(vec3f(0.40, 0.022, 0.035), vec3f(0.035, 0.13, 0.25));
    let backs = array(vec3f(0.56, 0.34, 0.09), vec3f(0.10, 0.21, 0.31));
    return surface(position.xyz, normal.xyz, fronts[index], backs[index]);
}

@vertex
fn cloth_in_map(@location(0) position: vec4f) -> @builtin(position) vec4f {
    return scene.map_from_world * scene.world_from_local * vec4f(position.xyz, 1.0);
}

/// Returns the visibility of the sun: mean of 5 x 5 filtered look-ups.
fn sunlight(position: vec3f, normal: vec3f) -> f32 {
    let at = scene.map_from_world * vec4f(position + 0.008 * normal + 0.004 * scene.sun, 1.0);
    let uv = vec2f(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y);
    let texel = 1.0 / vec2f(textureDimensions(shadow_map));
    var sum = 0.0;
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            sum += textureSampleCompareLevel(shadow_map, compare, uv + 1.5 * texel * vec2f(f32(x), f32(y)), at.z);
        }
    }
    return select(1.0, sum / 25.0, all(abs(at.xy) < vec2f(0.98)));
}

@fragment
fn shade(in: Surface, @builtin(front_facing) is_front: bool) -> @location(0) vec4f {
    let normal = normalize(select(-in.normal, in.normal, is_front));
    let color = select(in.back, in.front, is_front);
    let to_eye = normalize(scene.eye - in.position);
    let sun = sunlight(in.position, normal);
    // Wrapped diffuse light approximates scattering in threads; the rim term approximates fuzz.
    let direct = SUN * sun * max((dot(normal, scene.sun) + 0.15) / 1.15, 0.0);
    let ambient = mix(BOUNCE, SKY, 0.5 + 0.5 * normal.y) * select(0.7, 1.0, is_front);
    let rim = 0.12 * pow(1.0 - max(dot(normal, to_eye), 0.0), 3.0);
    let glint = 0.05 * pow(max(dot(normal, normalize(to_eye + scene.sun)), 0.0), 24.0);
    return vec4f(film((color + rim) * (direct + ambient) * 0.62 + glint * sun * SUN), 1.0);
}

@vertex
fn ground(@builtin(vertex_index) index: u32) -> Surface {
    let corner = 14.0 * (vec2f(vec2u(index & 1u, index >> 1u)) * 2.0 - 1.0);
    let position = vec3f(scene.center.x + corner.x, 0.0, scene.center.z - corner.y);
    return Surface(scene.clip_from_world * vec4f(position, 1.0), position, vec3f(0.0, 1.0, 0.0), vec3f(), vec3f());
}

/// Returns the fraction of a pixel covered by grid lines of this spacing and width [m].
fn grid(at: vec2f, spacing: f32, width: f32) -> f32 {
    let pixel = fwidth(at);
    let distance = abs(at - spacing * round(at / spacing));
    let cover = clamp((0.5 * width + 0.5 * pixel - distance) / pixel, vec2f(), min(width / pixel, vec2f(1.0)));
    return max(cover.x, cover.y);
}

@fragment
fn shade_ground(in: Surface) -> @location(0) vec4f {
    let lines = max(grid(in.position.xz, 1.0, 0.014), 0.45 * grid(in.position.xz, 0.25, 0.008));
    let color = vec3f(0.50, 0.51, 0.53) * (1.0 - 0.38 * lines);
    let sun = sunlight(in.position, in.normal);
    let lit = film(color * (SUN * sun * scene.sun.y + SKY) * 0.62);
    let far = smoothstep(2.0, 11.0, distance(in.position, scene.center));
    return vec4f(mix(lit, BACKGROUND, far), 1.0);
}

/// Tone maps light: bright values saturate softly.
fn film(light: vec3f) -> vec3f {
    return light * (1.0 + 0.3 * light) / (1.0 + light);
}
