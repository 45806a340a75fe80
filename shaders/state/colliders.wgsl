#import lib/geometry
#import state/shared

/// Contacts of one particle with shapes in one stage.
struct Contacts {
    /// Sum of the exits from the shapes [m].
    push: vec3<f32>,
    /// Number of shapes.
    count: f32,
    /// Sum of the shapes' displacements in this iteration at the contacts [m].
    travel: vec3<f32>,
    /// Sum of the distances that planes advanced towards the particle in this iteration, not
    /// included in `travel` [m].
    approach: f32,
    /// Sum of the exits, those that oppose the sum so far reversed [m].
    axis: vec3<f32>,
    /// Sum of the lengths of the exits, each times the factor of its shape on friction [m].
    grip: f32,
}

/// Contacts without any shape.
fn no_contacts() -> Contacts {
    return Contacts(vec3<f32>(0.0), 0.0, vec3<f32>(0.0), 0.0, vec3<f32>(0.0), 0.0);
}

/// Adds the exit from shape `shape` [m]; indices count spheres, then capsules, convexes, boxes,
/// triangles.
fn add_contact(contacts: ptr<function, Contacts>, shape: u32, exit: vec3<f32>) {
    var factor = 1.0;
    if (cloth_parameters[cloth_slot].colliders.friction_factor_begin != NO_OFFSET) {
        factor = bitcast<f32>(load_index(cloth_parameters[cloth_slot].colliders.friction_factor_begin + shape));
    }
    (*contacts).push += exit;
    (*contacts).count += 1.0;
    (*contacts).axis += select(exit, -exit, dot3(exit, (*contacts).axis) < 0.0);
    (*contacts).grip += sqrt(dot3(exit, exit)) * factor;
}

/// Friction of contacts over that of one contact with the exit `axis`.
fn friction_factor(contacts: Contacts) -> f32 {
    return contacts.grip / sqrt(dot3(contacts.axis, contacts.axis));
}

/// Index of convex c among all shapes.
fn convex_shape(c: u32) -> u32 {
    return cloth_parameters[cloth_slot].colliders.sphere_count + cloth_parameters[cloth_slot].colliders.capsule_count + c;
}

/// Index of box b among all shapes.
fn box_shape(b: u32) -> u32 {
    return convex_shape(cloth_parameters[cloth_slot].colliders.convex_count) + b;
}

/// Index of triangle t among all shapes.
fn triangle_shape(t: u32) -> u32 {
    return box_shape(cloth_parameters[cloth_slot].colliders.box_count) + t;
}

/// Entry k of the cloth's lists of indices.
fn load_index(k: u32) -> u32 {
    // Four entries per row.
    return input_pool[cloth_parameters[cloth_slot].colliders.number_begin + (k >> 2u)][k & 3u];
}

/// First prepared row of sphere s: its position now, then one iteration ago.
fn sphere_row(s: u32) -> u32 {
    return cloth_parameters[cloth_slot].colliders.prepared_begin + SPHERE_ROWS * s;
}

/// Center and radius of sphere s now.
fn load_sphere(s: u32) -> vec4<f32> {
    return load_scratch(sphere_row(s));
}

/// Displacement of sphere s in this iteration [m].
fn sphere_move(s: u32) -> vec3<f32> {
    let row = sphere_row(s);
    return load_scratch(row).xyz - load_scratch(row + 1u).xyz;
}

/// First prepared row of capsule c: three rows of its cone now, then one iteration ago.
fn capsule_row(c: u32) -> u32 {
    return sphere_row(cloth_parameters[cloth_slot].colliders.sphere_count) + CAPSULE_ROWS * c;
}

/// Cone whose three rows begin at `row`.
fn load_cone(row: u32) -> Cone {
    let first = load_scratch(row);
    let second = load_scratch(row + 1u);
    let third = load_scratch(row + 2u);
    return Cone(first.xyz, first.w, second.xyz, second.w, third.x, third.y);
}

/// Indices of the two spheres of capsule c.
fn capsule_ends(c: u32) -> vec2<u32> {
    return input_pool[cloth_parameters[cloth_slot].colliders.capsule_begin + c].xy;
}

/// Prepared row of plane p.
fn plane_row(p: u32) -> u32 {
    return capsule_row(cloth_parameters[cloth_slot].colliders.capsule_count) + p;
}

/// First prepared row of box b.
fn box_row(b: u32) -> u32 {
    return plane_row(cloth_parameters[cloth_slot].colliders.plane_count) + BOX_ROWS * b;
}

/// Number of shapes to prepare.
fn prepared_count() -> u32 {
    return cloth_parameters[cloth_slot].colliders.sphere_count + cloth_parameters[cloth_slot].colliders.capsule_count + cloth_parameters[cloth_slot].colliders.plane_count + cloth_parameters[cloth_slot].colliders.box_count;
}

/// Sphere s at a fraction of the frame.
fn sphere_at(s: u32, fraction: f32) -> vec4<f32> {
    return load_at(cloth_parameters[cloth_slot].colliders.sphere_start, cloth_parameters[cloth_slot].colliders.sphere_target, s, fraction);
}

/// Writes the cone of capsule c at a fraction of the frame to three rows.
fn prepare_cone(c: u32, fraction: f32, row: u32) {
    let ends = capsule_ends(c);
    let cone = cone_between(sphere_at(ends.x, fraction), sphere_at(ends.y, fraction));
    store_scratch(row, vec4<f32>(cone.center, cone.half_length));
    store_scratch(row + 1u, vec4<f32>(cone.axis, cone.slope));
    store_scratch(row + 2u, vec4<f32>(cone.radius, cone.cosine_square, 0.0, 0.0));
}

/// Writes one face direction of a box: the unit normal of the face of edges a and b that points
/// along `edge`, and the thickness of the box along it. A flat box has thickness 0.
fn prepare_face(a: vec3<f32>, b: vec3<f32>, edge: vec3<f32>, row: u32) {
    let normal = cross3(a, b);
    let area_square = dot3(normal, normal);
    var face = vec4<f32>(0.0);
    if (area_square > MIN_NORMAL_SQUARE) {
        let unit = normal / sqrt(area_square);
        let thickness = dot3(unit, edge);
        face = select(vec4<f32>(unit, thickness), vec4<f32>(-unit, -thickness), thickness < 0.0);
    }
    store_scratch(row, face);
}

/// Prepares shape `shape` for this iteration; indices count spheres, then capsules, planes, boxes.
fn prepare_shape(shape: u32) {
    let fraction = iteration.velocity_scale.w;
    let fraction_before = iteration.bias.w;
    let sphere_end = cloth_parameters[cloth_slot].colliders.sphere_count;
    let capsule_end = sphere_end + cloth_parameters[cloth_slot].colliders.capsule_count;
    let plane_end = capsule_end + cloth_parameters[cloth_slot].colliders.plane_count;
    if (shape < sphere_end) {
        let row = sphere_row(shape);
        store_scratch(row, sphere_at(shape, fraction));
        store_scratch(row + 1u, sphere_at(shape, fraction_before));
    } else if (shape < capsule_end) {
        let capsule = shape - sphere_end;
        for (var before = 0u; before < 2u; before++) {
            prepare_cone(capsule, select(fraction, fraction_before, before == 1u), capsule_row(capsule) + 3u * before);
        }
    } else if (shape < plane_end) {
        let plane = shape - capsule_end;
        store_scratch(plane_row(plane), load_at(cloth_parameters[cloth_slot].colliders.plane_start, cloth_parameters[cloth_slot].colliders.plane_target, plane, fraction));
    } else {
        let box_index = shape - plane_end;
        let begin = cloth_parameters[cloth_slot].colliders.box_start;
        let destination = cloth_parameters[cloth_slot].colliders.box_target;
        let corner = load_at(begin, destination, 4u * box_index, fraction);
        let a = load_at(begin, destination, 4u * box_index + 1u, fraction).xyz;
        let b = load_at(begin, destination, 4u * box_index + 2u, fraction).xyz;
        let c = load_at(begin, destination, 4u * box_index + 3u, fraction).xyz;
        let row = box_row(box_index);
        store_scratch(row, corner);
        prepare_face(b, c, a, row + 1u);
        prepare_face(c, a, b, row + 2u);
        prepare_face(a, b, c, row + 3u);
    }
}

/// Tests whether the box of a tree node, whose two rows begin at `row`, overlaps the box from `low`
/// to `high`.
fn meets_node(row: u32, low: vec3<f32>, high: vec3<f32>) -> bool {
    let node_low = input_row(row).xyz;
    let node_high = input_row(row + 1u).xyz;
    return node_low.x <= high.x && node_low.y <= high.y && node_low.z <= high.z
        && low.x <= node_high.x && low.y <= node_high.y && low.z <= node_high.z;
}

/// Node that follows the subtree of a node.
fn node_escape(row: u32) -> u32 {
    return input_pool[row].w;
}

/// Item of a leaf plus 1; 0 for an inner node.
fn node_item(row: u32) -> u32 {
    return input_pool[row + 1u].w;
}

/// Advances a stackless tree traversal from `node` on. Returns 1 + the next item whose box overlaps
/// the box from `low` to `high`, 0 at the end.
fn next_item(begin: u32, count: u32, node: ptr<function, u32>, low: vec3<f32>, high: vec3<f32>) -> u32 {
    var item = 0u;
    while (item == 0u && *node < count) {
        let row = begin + 2u * *node;
        if (meets_node(row, low, high)) {
            item = node_item(row);
            *node += 1u;
        } else {
            *node = node_escape(row);
        }
    }
    return item;
}

/// Moves particle i, now at x, out of the shapes in contact by the mean of the exits, and applies
/// friction.
///
/// Friction moves the particle back by its slide, or its previous position forward: both take the
/// slide off its velocity, but only the first holds it. It takes at most `friction * |push|` of
/// each shape, times its factor, off the tangential displacement relative to the shapes, also where
/// pushes cancel (Coulomb's law for positions, Mueller et al., "Position Based Dynamics", 2006,
/// section 3.4). Pushes and displacements shorter than `friction_slop` count less.
fn resolve_contacts(i: u32, x: vec3<f32>, w: f32, contacts: Contacts) {
    if (contacts.count > 0.0) {
        let push = contacts.push / contacts.count;
        var made = contacts;
        var position = x + push;
        let has_friction = cloth_parameters[cloth_slot].colliders.friction > 0.0;
        let is_far = is_deep(push);
        if (has_friction || is_far) {
            let previous_particle = load_previous(i);
            var before = previous_particle.xyz;
            let displacement = x - before;
            if (is_far) {
                // The part of the push that moves the previous position, too, leaves no velocity.
                let fractions = push_fractions(displacement, contacts);
                made.axis *= fractions.x;
                made.grip *= fractions.x;
                position = x + push * fractions.x;
                before += push * fractions.y;
            }
            if (has_friction) {
                let slide = friction_slide(displacement, made);
                if (cloth_parameters[cloth_slot].colliders.friction_holds != 0u) {
                    position -= slide;
                } else {
                    before += slide;
                }
            }
            if (any(before != previous_particle.xyz)) {
                store_previous(i, vec4<f32>(before, previous_particle.w));
            }
        }
        store_current(i, vec4<f32>(position, w));
    }
}

/// Tests whether a push is longer than `depenetration_step`, so that it may take several
/// iterations.
fn is_deep(push: vec3<f32>) -> bool {
    let limit = cloth_parameters[cloth_slot].colliders.depenetration_step;
    return dot3(push, push) > limit * limit;
}

/// Fraction of a deep push that is made in this iteration, and fraction that leaves no velocity.
///
/// A particle is pushed out by the distance that it went in, or the shapes advanced, in this
/// iteration. Of the penetration from before, `depenetration_step` is removed, which moves the
/// previous position along.
fn push_fractions(displacement: vec3<f32>, contacts: Contacts) -> vec2<f32> {
    let push = contacts.push / contacts.count;
    let length = sqrt(dot3(push, push));
    let relative = displacement - contacts.travel / contacts.count;
    // Distance into the shapes in this iteration, along the push.
    let inward = contacts.approach / contacts.count - dot3(relative, push) / length;
    let allowed = max(inward, 0.0) + cloth_parameters[cloth_slot].colliders.depenetration_step;
    var fractions = vec2<f32>(1.0, 0.0);
    if (length > allowed) {
        fractions = vec2<f32>(allowed / length, cloth_parameters[cloth_slot].colliders.depenetration_step / length);
    }
    return fractions;
}

/// Displacement that friction takes off a particle in contact that moved by `displacement` [m].
fn friction_slide(displacement: vec3<f32>, contacts: Contacts) -> vec3<f32> {
    let relative = displacement - contacts.travel / contacts.count;
    let axis_square = dot3(contacts.axis, contacts.axis);
    let grip_square = contacts.grip * contacts.grip;
    var slide = vec3<f32>(0.0);
    if (axis_square > 0.0 && grip_square > 0.0) {
        let slop_square = cloth_parameters[cloth_slot].colliders.friction_slop * cloth_parameters[cloth_slot].colliders.friction_slop;
        // tangent = v - (v . n) n,  with lengths softened by the slop: |p|^2 -> |p|^2 + slop^2
        let along = dot3(relative, contacts.axis) / (slop_square + axis_square);
        let tangent = relative - contacts.axis * along;
        let tangent_square = slop_square + dot3(tangent, tangent);
        if (tangent_square > 0.0) {
            let push = grip_square / sqrt(slop_square + grip_square) / contacts.count;
            // slide = tangent min(mu sum |push| / |tangent|, 1)
            slide = tangent * min(cloth_parameters[cloth_slot].colliders.friction * push / sqrt(tangent_square), 1.0);
        }
    }
    return slide;
}
