//! Flags drawn directly from the engine's particle buffer, their poles, and the meadow.

struct View {
    eye: vec3f,
    // Aspect ratio of the picture, width / height.
    aspect: f32,
    target_: vec3f,
    // Cotangent of half the vertical field of view.
    zoom: f32,
}

// Particles of a flag along each side, flags along each side of the field, and their spacing [m].
override columns: u32;
override rows: u32;
override field: u32;
override spacing: f32;
// Height of the upper edge of a flag [m].
const POLE = 2.0;
const TO_SUN = vec3f(-0.48, 0.6, 0.64);
const SKY = vec3f(0.62, 0.74, 0.86);

@group(0) @binding(0) var<uniform> view: View;
// Position and inverse mass of every particle of the engine.
@group(0) @binding(1) var<storage, read> particles: array<vec4f>;

struct Seen {
    @builtin(position) clip: vec4f,
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) color: vec3f,
}

// Projects to clip space with reversed depth: 0 at infinity, 1 at 0.1 m from the eye.
fn project(position: vec3f) -> vec4f {
    let forward = normalize(view.target_ - view.eye);
    let right = normalize(cross(forward, vec3f(0.0, 1.0, 0.0)));
    let seen = position - view.eye;
    let x = dot(seen, right) * view.zoom / view.aspect;
    return vec4f(x, dot(seen, cross(right, forward)) * view.zoom, 0.1, dot(seen, forward));
}

fn foot_of_pole(flag: u32) -> vec3f {
    let cell = vec2f(f32(flag % field), f32(flag / field)) - 0.5 * f32(field - 1);
    return spacing * vec3f(cell.x, 0.0, cell.y);
}

fn particle(first: u32, column: u32, row: u32) -> vec3f {
    return particles[first + row * columns + column].xyz;
}

@vertex
fn vertex_of_flag(
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) flag: u32,
    @location(0) first: u32,
) -> Seen {
    let column = vertex % columns;
    let row = vertex / columns;
    let along = particle(first, min(column + 1, columns - 1), row) - particle(first, max(column, 1) - 1, row);
    let down = particle(first, column, min(row + 1, rows - 1)) - particle(first, column, max(row, 1) - 1);
    let position = particle(first, column, row) + foot_of_pole(flag) + vec3f(0.0, POLE, 0.0);
    // Three stripes, coloured by the position of the flag.
    let stripe = 3 * row / rows;
    let kind = ((flag % field) / 8 + 3 * (flag / field / 8)) % 6;
    var colors = array(
        vec3f(0.66, 0.03, 0.05), vec3f(0.86, 0.84, 0.78), vec3f(0.02, 0.09, 0.36),
        vec3f(0.85, 0.5, 0.02), vec3f(0.02, 0.3, 0.14), vec3f(0.05, 0.05, 0.06),
    );
    return Seen(project(position), position, cross(down, along), colors[(kind + stripe * (1 + kind % 2)) % 6]);
}

@vertex
fn vertex_of_pole(@builtin(vertex_index) vertex: u32, @builtin(instance_index) flag: u32) -> Seen {
    // A strip that faces the eye.
    let foot = foot_of_pole(flag);
    let side = normalize(cross(view.eye - foot, vec3f(0.0, 1.0, 0.0)));
    let across = 2.0 * f32(vertex & 1) - 1.0;
    let position = foot + 0.015 * across * side + vec3f(-0.015, (POLE + 0.05) * f32(vertex >> 1), 0.0);
    return Seen(project(position), position, normalize(view.eye - foot) + across * side, vec3f(0.25));
}

@vertex
fn vertex_of_meadow(@builtin(vertex_index) vertex: u32) -> Seen {
    let corner = 400.0 * (vec2f(f32(vertex & 1), f32(vertex >> 1)) - 0.5);
    let position = vec3f(corner.x, 0.0, corner.y);
    return Seen(project(position), position, vec3f(0.0), vec3f(0.1, 0.17, 0.06));
}

fn in_haze(color: vec3f, position: vec3f) -> vec4f {
    return vec4f(mix(SKY, color, exp(-0.004 * distance(position, view.eye))), 1.0);
}

@fragment
fn fragment(in: Seen) -> @location(0) vec4f {
    let to_eye = view.eye - in.position;
    let normal = normalize(select(-in.normal, in.normal, dot(in.normal, to_eye) > 0.0));
    // Translucency: some light passes through from the other side.
    let sun = dot(normal, TO_SUN);
    let light = 0.9 * max(sun, 0.0) + 0.3 * max(-sun, 0.0);
    let from_sky = SKY * (0.3 + 0.15 * normal.y);
    return in_haze(in.color * (light * vec3f(1.1, 1.0, 0.86) + from_sky), in.position);
}

// Grass, darker near poles as an approximate shadow.
@fragment
fn fragment_of_meadow(in: Seen) -> @location(0) vec4f {
    let cell = in.position.xz / spacing + 0.5 * f32(field - 1);
    let nearest = spacing * (cell - round(cell));
    let is_inside = all(abs(cell - 0.5 * f32(field - 1)) < vec2f(0.5 * f32(field)));
    let shade = select(0.0, 0.5 * exp(-12.0 * dot(nearest, nearest)), is_inside);
    let stripe = 0.92 + 0.08 * f32(i32(floor(cell.y + 0.5)) & 1);
    return in_haze(in.color * stripe * (1.25 - shade), in.position);
}
