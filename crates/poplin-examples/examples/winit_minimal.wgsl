struct Seen { @builtin(position) clip: vec4f, @location(0) normal: vec3f }

@vertex
fn vertex(@location(0) position: vec4f, @location(1) normal: vec4f) -> Seen {
    // Eye in front of the middle of the flag; reversed depth: 0 at infinity, 1 at 0.1 m.
    let seen = position.xyz - vec3f(0.75, -0.5, 2.6);
    return Seen(vec4f(2.6 * seen.xy, 0.1, -seen.z), normal.xyz);
}

@fragment
fn fragment(in: Seen, @builtin(front_facing) is_front: bool) -> @location(0) vec4f {
    let normal = normalize(select(-in.normal, in.normal, is_front));
    let light = 0.1 + 0.9 * max(dot(normal, normalize(vec3f(-0.6, 0.6, 0.5))), 0.0);
    let color = select(vec3f(0.8, 0.5, 0.1), vec3f(0.7, 0.05, 0.08), is_front);
    return vec4f(color * light, 1.0);
}
