#import lib/math
#import state/shared

/// Inverse mass of particle i, times the number of its triangles, which share its motion.
fn shared_weight(i: u32) -> f32 {
    let corner = cloth.fabric.corner_begin + i;
    return load_current(i).w * f32(fabric_pool[corner + 1u] - fabric_pool[corner]);
}

/// Computes the air impulse on triangle t from the stage's input, and writes it to scratch.
///
/// d is the displacement of the centroid relative to the air in this step, N the unnormalised
/// normal, a = |N| twice the area, cos and sin those of the angle between N and d:
///   drag = Cd |cos| d |d|,   lift = Cl cos sin ((d x N/a) x d/|d|) |d|,
///   impulse = (drag + lift) / h * density/2 * a,
/// within the bound below.
/// In a rotating local space the air rotates relative to the cloth: d = c + Q (wind - p). The
/// impulse is 0 where d or the area is. N points to the back, from which the pressure pushes.
///
/// Bound: with the share s = max over the corners of their inverse masses times the number of their
/// triangles, drag takes the part A = s |drag| / |d| of the motion relative to the air, and lift
/// turns it by B = s |lift| / |d|. A stays within 1 - sqrt(1 - B^2)..=1 and B within 1, so that
/// (1 - A)^2 + B^2 <= 1: what the air does never adds energy of motion relative to it, at any step,
/// mass and mesh.
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
    if (d_square >= MIN_FLOW_SQUARE && normal_square > MIN_NORMAL_SQUARE) {
        let speed = sqrt(d_square);
        let double_area = sqrt(normal_square);
        let unit = normal / double_area;
        let cosine = dot3(unit, d) / speed;
        let sine = sqrt(max(0.0, 1.0 - cosine * cosine));
        let lift_direction = cross3(cross3(d, unit), d) / speed;
        let drag = d * (cloth_parameters[cloth_slot].air.drag * abs(cosine) * speed);
        let lift = lift_direction * (cloth_parameters[cloth_slot].air.lift * cosine * sine * speed);
        let scale = cloth_parameters[cloth_slot].air.impulse_scale * double_area;
        impulse = (drag + lift) * scale;
        let share = max(max(shared_weight(i0), shared_weight(i1)), shared_weight(i2));
        let blown = share * scale * speed * abs(cosine);
        let along = cloth_parameters[cloth_slot].air.drag * blown;
        let across = cloth_parameters[cloth_slot].air.lift * blown * sine * sine;
        let turned = min(across, 1.0);
        let least = turned * turned / (1.0 + sqrt(1.0 - turned * turned));
        if (along < least || along > 1.0 || across > 1.0) {
            let kept_lift = lift * (scale * select(1.0, 1.0 / across, across > 1.0));
            impulse = d * (clamp(along, least, 1.0) / share) + kept_lift;
        }
    }
    if (cloth_parameters[cloth_slot].air.pressure_scale != 0.0) {
        impulse += normal * cloth_parameters[cloth_slot].air.pressure_scale;
    }
    store_scratch(t, vec4<f32>(impulse, 0.0));
}

/// Moves particle i by the impulses of its triangles, in ascending order.
///
/// In short steps, what its position lacks of that after rounding is added to the remainder of its
/// displacement, and to the rest of its position: a breeze of 0.5 m/s moves cloth by 0.01 um in a
/// step of 1/5000 s, less than a position of 1 m resolves.
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
        let position = particle.xyz - impulse * particle.w;
        if (cloth.remainder_begin != NO_OFFSET) {
            let lost = lost_displacement(-(impulse * particle.w), position, particle.xyz);
            let remainder = load_scratch(cloth.remainder_begin + i).xyz;
            store_scratch(cloth.remainder_begin + i, vec4<f32>(remainder + lost, 0.0));
            if (is_displaced()) {
                store_scratch(rest_row(i), vec4<f32>(load_scratch(rest_row(i)).xyz + lost, 0.0));
            }
        }
        store_current(i, vec4<f32>(position, particle.w));
    }
}
