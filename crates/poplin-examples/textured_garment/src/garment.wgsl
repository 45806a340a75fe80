@group(0) @binding(0) var checker: texture_2d<f32>;

struct Seen {
    @builtin(position) clip: vec4f,
    @location(0) normal: vec3f,
    @location(1) uv: vec2f,
}

@vertex
fn vertex(@location(0) position: vec4f, @location(1) normal: vec4f, @location(2) uv: vec2f) -> Seen {
    // From an eye in front of the skirt and a little above; depth is reversed: 0 is infinitely far,
    // 1 is 0.1 m away.
    let moved = position.xyz - vec3f(0.0, 0.2, 1.1);
    let seen = vec3f(moved.x, 0.927 * moved.y - 0.375 * moved.z, 0.375 * moved.y + 0.927 * moved.z);
    return Seen(vec4f(2.4 * seen.xy, 0.1, -seen.z), normal.xyz, uv);
}

@fragment
fn fragment(in: Seen, @builtin(front_facing) is_front: bool) -> @location(0) vec4f {
    let normal = normalize(select(-in.normal, in.normal, is_front));
    let light = 0.1 + 0.9 * max(dot(normal, normalize(vec3f(-0.6, 0.5, 0.6))), 0.0);
    return vec4f(textureLoad(checker, vec2u(in.uv * vec2f(24.0, 10.0)) % 2, 0).rgb * light, 1.0);
}
