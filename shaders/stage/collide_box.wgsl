#import state/colliders

/// Adds the exit of x from box b through its nearest face, if x is inside.
///
/// The height over a face is negative inside. The displacement of the box at x is that of its
/// corner plus those of its edges, each by the fraction of the edge between corner and x.
fn touch_box(b: u32, x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let row = box_row(b);
    let d = x - load_scratch(row).xyz;
    var distance = -3.0e38;
    var direction = vec3<f32>(0.0);
    var fractions = vec3<f32>(0.0);
    for (var k = 0u; k < 3u; k++) {
        let face = load_scratch(row + 1u + k);
        let depth = dot3(face.xyz, d);
        let far_height = depth - face.w;
        // The face through the corner, then the opposite one.
        if (-depth > distance) {
            distance = -depth;
            direction = -face.xyz;
        }
        if (far_height > distance) {
            distance = far_height;
            direction = face.xyz;
        }
        if (face.w > 0.0) {
            fractions[k] = depth / face.w;
        }
    }
    if (distance < 0.0) {
        add_contact(contacts, box_shape(b), -direction * distance);
        var moved = input_row(cloth_parameters[cloth_slot].colliders.box_target + 4u * b).xyz - input_row(cloth_parameters[cloth_slot].colliders.box_start + 4u * b).xyz;
        for (var k = 0u; k < 3u; k++) {
            let edge = 4u * b + 1u + k;
            let edge_move = input_row(cloth_parameters[cloth_slot].colliders.box_target + edge).xyz - input_row(cloth_parameters[cloth_slot].colliders.box_start + edge).xyz;
            moved += edge_move * fractions[k];
        }
        (*contacts).travel += moved * cloth_parameters[cloth_slot].colliders.iteration_fraction;
    }
}

/// Adds the exits of x from all boxes that belong to no body.
fn touch_boxes(x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let end = cloth_parameters[cloth_slot].colliders.free_box_begin + cloth_parameters[cloth_slot].colliders.free_box_count;
    for (var k = cloth_parameters[cloth_slot].colliders.free_box_begin; k < end; k++) {
        touch_box(load_index(k), x, contacts);
    }
}

/// Pushes particle i out of the boxes.
fn collide_box(i: u32) {
    let particle = load_current(i);
    var contacts = no_contacts();
    touch_boxes(particle.xyz, &contacts);
    resolve_contacts(i, particle.xyz, particle.w, contacts);
}
