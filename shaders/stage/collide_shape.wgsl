#import state/colliders

/// Displacement in this iteration that the rotation of sphere or capsule `shape` gives to the point
/// of its surface at `arm` from its center or axis [m].
fn spin_move(shape: u32, arm: vec3<f32>) -> vec3<f32> {
    let spin = input_row(cloth_parameters[cloth_slot].colliders.twist_begin + shape).xyz;
    return cross3(spin, arm) * cloth_parameters[cloth_slot].colliders.iteration_fraction;
}

/// Adds the exit of x through the side of capsule c.
fn touch_capsule(c: u32, x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let cone = load_cone(capsule_row(c));
    let touch = touch_cone(cone, x);
    if (touch.side == CONE_INSIDE) {
        let shape = cloth_parameters[cloth_slot].colliders.sphere_count + c;
        add_contact(contacts, shape, touch.push);
        let arm = x - cone.center - cone.axis * touch.foot + touch.push;
        (*contacts).travel += capsule_move(c, touch.foot / cone.half_length * 0.5 + 0.5) + spin_move(shape, arm);
    }
}

/// Displacement of capsule c in this iteration at a fraction of its axis, interpolated between its
/// spheres [m].
fn capsule_move(c: u32, fraction: f32) -> vec3<f32> {
    let ends = capsule_ends(c);
    let a = sphere_move(ends.x);
    let b = sphere_move(ends.y);
    return a + (b - a) * fraction;
}

/// Tests whether a capsule that ends in sphere s makes its test unnecessary for x: x is outside the
/// capsule's cone, which contains the sphere, or the cone's side pushes x.
fn is_sphere_covered(s: u32, x: vec3<f32>) -> bool {
    let begins = cloth_parameters[cloth_slot].colliders.sphere_capsule_begin;
    let capsules = begins + cloth_parameters[cloth_slot].colliders.sphere_count + 1u;
    let end = capsules + load_index(begins + s + 1u);
    var is_covered = false;
    for (var k = capsules + load_index(begins + s); k < end; k++) {
        let capsule = load_index(k);
        let side = touch_cone(load_cone(capsule_row(capsule)), x).side;
        let is_first = capsule_ends(capsule).x == s;
        let is_own = side == CONE_OFF || (side == CONE_BEFORE && is_first) || (side == CONE_BEYOND && !is_first);
        is_covered = is_covered || !is_own;
    }
    return is_covered;
}

/// Adds the exit of x from sphere s, unless a capsule handles it.
///
/// slack = 1 - r / |d| with d = x - center is negative inside;  x - d * slack is on the sphere.
fn touch_sphere(s: u32, x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let sphere = load_sphere(s);
    let d = x - sphere.xyz;
    let slack = 1.0 - sphere.w / sqrt(guarded_square(d));
    if (slack < 0.0) {
        if (!is_sphere_covered(s, x)) {
            add_contact(contacts, s, -d * slack);
            (*contacts).travel += sphere_move(s) + spin_move(s, d - d * slack);
        }
    }
}

/// Adds the exits of x from all capsules and spheres that belong to no body.
fn touch_shapes(x: vec3<f32>, contacts: ptr<function, Contacts>) {
    var node = 0u;
    loop {
        let item = next_item(cloth_parameters[cloth_slot].colliders.capsule_tree_begin, cloth_parameters[cloth_slot].colliders.capsule_tree_count, &node, x, x);
        if (item == 0u) {
            break;
        }
        touch_capsule(load_index(cloth_parameters[cloth_slot].colliders.free_capsule_begin + item - 1u), x, contacts);
    }
    node = 0u;
    loop {
        let item = next_item(cloth_parameters[cloth_slot].colliders.sphere_tree_begin, cloth_parameters[cloth_slot].colliders.sphere_tree_count, &node, x, x);
        if (item == 0u) {
            break;
        }
        touch_sphere(load_index(cloth_parameters[cloth_slot].colliders.free_sphere_begin + item - 1u), x, contacts);
    }
}

/// Inverse mass of a particle that shapes have pushed: smaller, so that its neighbours give way.
fn scaled_mass(w: f32, push: vec3<f32>) -> f32 {
    return w / (1.0 + cloth_parameters[cloth_slot].colliders.mass_scale * dot3(push, push));
}

/// Pushes particle i out of spheres and capsules.
fn collide_shape(i: u32) {
    let particle = load_current(i);
    var contacts = no_contacts();
    touch_shapes(particle.xyz, &contacts);
    resolve_contacts(i, particle.xyz, scaled_mass(particle.w, contacts.push), contacts);
}
