#import stage/collide_shape

/// Capsules that hit a particle on its path.
struct Hits {
    /// The latest four: four times the capsule, plus 1 if its first sphere must still be tested,
    /// plus 2 for the second.
    capsules: array<u32, 4>,
    /// Number of hits.
    count: u32,
}

/// Tests whether x, the end of the particle's path, is near the volume that two spheres, with two
/// rows each at `a` and `b`, sweep in this iteration: within a box that exceeds their radii by the
/// factor `continuous_reach`.
fn is_in_reach(a: u32, b: u32, x: vec3<f32>) -> bool {
    let reach = cloth_parameters[cloth_slot].colliders.continuous_reach;
    let a_now = load_scratch(a);
    let a_before = load_scratch(a + 1u);
    let b_now = load_scratch(b);
    let b_before = load_scratch(b + 1u);
    let low_a = min(a_now.xyz - a_now.w * reach, a_before.xyz - a_before.w * reach);
    let low_b = min(b_now.xyz - b_now.w * reach, b_before.xyz - b_before.w * reach);
    let high_a = max(a_now.xyz + a_now.w * reach, a_before.xyz + a_before.w * reach);
    let high_b = max(b_now.xyz + b_now.w * reach, b_before.xyz + b_before.w * reach);
    return all(x >= min(low_a, low_b)) && all(x <= max(high_a, high_b));
}

/// Moves x, coming from `before`, back to its hit on the side of capsule c, then adds its exit from
/// the capsule.
///
/// The time of the hit is found across the axis of the cone, where p = d x axis has the length of
/// the distance to the axis. The half axis changes linearly between the iterations. `end` is the
/// position before any shape moved the particle.
fn sweep_capsule(c: u32, before: vec3<f32>, end: vec3<f32>, x: ptr<function, vec3<f32>>, contacts: ptr<function, Contacts>, hits: ptr<function, Hits>) {
    let row = capsule_row(c);
    let cone = load_cone(row);
    let old = load_cone(row + 3u);
    let ends = capsule_ends(c);
    if (cone.half_length > 0.0 && old.half_length > 0.0 && is_in_reach(sphere_row(ends.x), sphere_row(ends.y), end)) {
        let e = before - old.center;
        let d = *x - cone.center;
        // Radii of the cone at the height of the particle, before and now.
        let radius_before = max(dot3(e, old.axis) * old.slope + old.radius, 0.0);
        let radius_now = max(dot3(d, cone.axis) * cone.slope + cone.radius, 0.0);
        let impact = find_impact(cross3(e, old.axis), cross3(d, cone.axis), radius_before, radius_now);
        if (impact.is_hit) {
            let path = e - d;
            let position = e - path * impact.time;
            // Axis, slope and foot at the time of the hit.
            let old_half_axis = old.axis * old.half_length;
            let rotation = cone.axis * cone.half_length - old_half_axis;
            let axis = old_half_axis + rotation * impact.time;
            let half_length = sqrt(guarded_square(axis));
            let slope = old.slope + (cone.slope - old.slope) * impact.time;
            let along = dot3(position, axis) / half_length;
            let across = sqrt(max(dot3(position, position) - along * along, 0.0));
            let foot = (along + slope * across) / half_length;
            // Hits beyond the ends belong to the spheres.
            if (abs(foot) < 1.0) {
                *x += (path + rotation * foot) * impact.rest;
            }
            let base = foot_on_cone(cone, *x);
            let own = select(0u, 1u, base < -cone.half_length) + select(0u, 2u, base > cone.half_length);
            (*hits).capsules[(*hits).count & 3u] = 4u * c + own;
            (*hits).count += 1u;
        }
    }
    touch_capsule(c, *x, contacts);
}

/// Tests whether the capsules that end in sphere s make its test unnecessary: one hit the particle
/// beside the sphere, or the particle neither hit nor is inside one.
fn is_sphere_passed(s: u32, x: vec3<f32>, hits: ptr<function, Hits>) -> bool {
    let begins = cloth_parameters[cloth_slot].colliders.sphere_capsule_begin;
    let capsules = begins + cloth_parameters[cloth_slot].colliders.sphere_count + 1u;
    let end = capsules + load_index(begins + s + 1u);
    let hit_count = min((*hits).count, 4u);
    var is_passed = false;
    for (var k = capsules + load_index(begins + s); k < end; k++) {
        let capsule = load_index(k);
        let own_bit = select(2u, 1u, capsule_ends(capsule).x == s);
        var is_done = touch_cone(load_cone(capsule_row(capsule)), x).side == CONE_OUTSIDE;
        for (var h = 0u; h < hit_count; h++) {
            let hit = (*hits).capsules[h];
            if (hit / 4u == capsule) {
                is_done = (hit & own_bit) == 0u;
            }
        }
        is_passed = is_passed || is_done;
    }
    return is_passed;
}

/// Moves x, coming from `before`, back to its hit on sphere s, then adds its exit from the sphere.
fn sweep_sphere(s: u32, before: vec3<f32>, end: vec3<f32>, x: ptr<function, vec3<f32>>, contacts: ptr<function, Contacts>, hits: ptr<function, Hits>) {
    let row = sphere_row(s);
    if (is_in_reach(row, row, end) && !is_sphere_passed(s, *x, hits)) {
        let sphere = load_scratch(row);
        let old = load_scratch(row + 1u);
        let e = before - old.xyz;
        var d = *x - sphere.xyz;
        let impact = find_impact(e, d, old.w, sphere.w);
        if (impact.is_hit) {
            *x += (e - d) * impact.rest;
            d = *x - sphere.xyz;
        }
        let slack = 1.0 - sphere.w / sqrt(guarded_square(d));
        if (slack < 0.0) {
            add_contact(contacts, s, -d * slack);
            (*contacts).travel += sphere_move(s) + spin_move(s, d - d * slack);
        }
    }
}

/// Pushes particle i out of spheres and capsules, including those that it hit on its path since the
/// last iteration.
///
/// Source: Kim, "Character Clothing in PhysX-3", 2011: the exact time of impact is a root of degree
/// six, approximated by a quadratic.
fn collide_continuous(i: u32) {
    let particle = load_current(i);
    let before = load_previous(i).xyz;
    var x = particle.xyz;
    var contacts = no_contacts();
    var hits = Hits(array<u32, 4>(0u, 0u, 0u, 0u), 0u);
    let low = min(x, before);
    let high = max(x, before);
    var node = 0u;
    loop {
        let item = next_item(cloth_parameters[cloth_slot].colliders.capsule_tree_begin, cloth_parameters[cloth_slot].colliders.capsule_tree_count, &node, low, high);
        if (item == 0u) {
            break;
        }
        sweep_capsule(load_index(cloth_parameters[cloth_slot].colliders.free_capsule_begin + item - 1u), before, particle.xyz, &x, &contacts, &hits);
    }
    node = 0u;
    loop {
        let item = next_item(cloth_parameters[cloth_slot].colliders.sphere_tree_begin, cloth_parameters[cloth_slot].colliders.sphere_tree_count, &node, low, high);
        if (item == 0u) {
            break;
        }
        sweep_sphere(load_index(cloth_parameters[cloth_slot].colliders.free_sphere_begin + item - 1u), before, particle.xyz, &x, &contacts, &hits);
    }
    if (any(x != particle.xyz)) {
        store_current(i, vec4<f32>(x, particle.w));
    }
    resolve_contacts(i, x, scaled_mass(particle.w, contacts.push), contacts);
}
