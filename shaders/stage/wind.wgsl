#import lib/math
#import state/shared

/// Computes the air impulse on triangle t from the stage's input, and writes it to scratch.
///
/// d is the displacement of the centroid relative to the air in this step, N the unnormalised
/// normal, a = |N| twice the area, cos and sin those of the angle between N and d:
///   drag = Cd |cos| d |d|,   lift = Cl cos sin ((d x N/a) x d/|d|) |d|,
///   impulse = (drag + lift) / h * density/2 * a.
/// In a rotating local space the air rotates relative to the cloth: d = c + Q (wind - p). The
/// impulse is 0 for |d|^2 below EPSILON, where d is rounding, and for a triangle without area. N
/// points to the back, from which the pressure pushes.
fn blow_triangle(t: u32) {
    let corners = cloth.fabric.triangle_begin + 3u * t;
    let i0 = fabric_pool[corners];
    let i1 = fabric_pool[corners + 1u];
    let i2 = fabric_pool[corners + 2u];
    let c0 = load_current(i0).xyz;
    let c1 = load_current(i1).xyz;
    let c2 = load_current(i2).xyz;
    // Sums of three, divided once: drivers factor a common third out of a difference (Mesa does).
    // The divisor comes from memory: a constant one becomes a product with its rounded reciprocal
    // (SwiftShader does that).
    let corner_count = iteration.wind.w;
    let now = c0 + c1 + c2;
    let before = load_previous(i0).xyz + load_previous(i1).xyz + load_previous(i2).xyz;
    var d = (now - before) / corner_count + iteration.wind.xyz;
    if (cloth.rotation_begin != NO_OFFSET) {
        d = now / corner_count + multiply_columns(cloth.rotation_begin + 12u, iteration.wind.xyz - before / corner_count);
    }
    let normal = cross3(c2 - c0, c1 - c0);
    let d_square = dot3(d, d);
    let normal_square = dot3(normal, normal);
    var impulse = vec3<f32>(0.0);
    if (d_square >= EPSILON && normal_square > MIN_NORMAL_SQUARE) {
        let speed = sqrt(d_square);
        let double_area = sqrt(normal_square);
        let unit = normal / double_area;
        let cosine = dot3(unit, d) / speed;
        let sine = sqrt(max(0.0, 1.0 - cosine * cosine));
        let lift_direction = cross3(cross3(d, unit), d) / speed;
        let drag = d * (cloth_parameters[cloth_slot].air.drag * abs(cosine) * speed);
        let lift = lift_direction * (cloth_parameters[cloth_slot].air.lift * cosine * sine * speed);
        impulse = (drag + lift) * (cloth_parameters[cloth_slot].air.impulse_scale * double_area);
    }
    if (cloth_parameters[cloth_slot].air.pressure_scale != 0.0) {
        impulse += normal * cloth_parameters[cloth_slot].air.pressure_scale;
    }
    store_scratch(t, vec4<f32>(impulse, 0.0));
}

/// Moves particle i by the impulses of its triangles, in ascending order.
fn gather_wind(i: u32) {
    let particle = load_current(i);
    let begin = fabric_pool[cloth.fabric.corner_begin + i];
    let end = fabric_pool[cloth.fabric.corner_begin + i + 1u];
    let corners = cloth.fabric.corner_begin + cloth.particle_count + 1u;
    var impulse = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        impulse += load_scratch(fabric_pool[corners + k] / 3u).xyz;
    }
    if (particle.w > 0.0) {
        store_current(i, vec4<f32>(particle.xyz - impulse * particle.w, particle.w));
    }
}
