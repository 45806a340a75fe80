#import state/colliders

/// Displacement of convex c in this iteration at a point of its surface, without the part along the
/// normal there [m].
fn slide_of_convex(c: u32, point: vec3<f32>, normal: vec3<f32>) -> vec3<f32> {
    let row = cloth_parameters[cloth_slot].colliders.twist_begin + convex_shape(0u) + CONVEX_TWIST_ROWS * c;
    let shift = input_row(row + 2u).xyz;
    let center = input_row(row + 1u).xyz + shift * iteration.velocity_scale.w;
    let spin = input_row(row).xyz;
    let arm = point - center;
    // v = shift + spin x arm, summed from the left: Mesa turns a + (b - c) into (a + b) - c.
    let travel = (shift + spin.yzx * arm.zxy - spin.zxy * arm.yzx) * cloth_parameters[cloth_slot].colliders.iteration_fraction;
    return travel - normal * dot3(normal, travel);
}

/// Adds the exit of x from convex c through its nearest plane, if x is behind all of its planes.
fn touch_convex(c: u32, x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let begins = cloth_parameters[cloth_slot].colliders.convex_plane_begin;
    let planes = begins + cloth_parameters[cloth_slot].colliders.convex_count + 1u;
    let end = planes + load_index(begins + c + 1u);
    var nearest = vec3<f32>(0.0);
    var nearest_plane = 0u;
    var distance = -3.0e38;
    for (var k = planes + load_index(begins + c); k < end; k++) {
        let p = load_index(k);
        let plane = load_scratch(plane_row(p));
        let height = dot3(plane.xyz, x) + plane.w;
        if (height > distance) {
            distance = height;
            nearest = plane.xyz;
            nearest_plane = p;
        }
    }
    if (distance < 0.0) {
        add_contact(contacts, convex_shape(c), -nearest * distance);
        (*contacts).travel += slide_of_convex(c, x - nearest * distance, nearest);
        // Distance that the plane advanced over x in this iteration.
        let before = load_at(cloth_parameters[cloth_slot].colliders.plane_start, cloth_parameters[cloth_slot].colliders.plane_target, nearest_plane, iteration.bias.w);
        (*contacts).approach += max(dot3(before.xyz, x) + before.w - distance, 0.0);
    }
}

/// Adds the exits of x from all convexes that belong to no body.
fn touch_convexes(x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let end = cloth_parameters[cloth_slot].colliders.free_convex_begin + cloth_parameters[cloth_slot].colliders.free_convex_count;
    for (var k = cloth_parameters[cloth_slot].colliders.free_convex_begin; k < end; k++) {
        touch_convex(load_index(k), x, contacts);
    }
}

/// Pushes particle i out of the convexes.
fn collide_convex(i: u32) {
    let particle = load_current(i);
    var contacts = no_contacts();
    touch_convexes(particle.xyz, &contacts);
    resolve_contacts(i, particle.xyz, particle.w, contacts);
}
