#import state/solve
#import stage/collide_convex
#import stage/collide_box
#import stage/collide_triangle
#import stage/collide_shape

/// Whether this evaluation looks for contacts: where forces are taken as they are.
fn probes_contacts() -> bool {
    var is_due = false;
    if ((STAGES & STAGES_OF_PROBES) != 0u) {
        is_due = load_scratch(solve_state(1u)).z != SOLVE_LINE;
    }
    return is_due;
}

/// Looks whether the trial has particle i in shapes. If so, it is kept out from here on by the plane of its mean exit, with the energy
/// kc/2 max(0, o - n . u)^2, u its displacement.
///
/// A plane never moves a particle outwards that was behind it one step ago, other than with the shape: the stages behind the solve do. It
/// is kept as long as it explains half of how deep the particle is, so that rounding of positions does not disturb the solve.
fn probe_contacts(i: u32) {
    let particle = load_current(i);
    if (particle.w > 0.0) {
        let x = load_previous(i).xyz + particle.xyz;
        var contacts = no_contacts();
        if ((STAGES & STAGE_COLLIDE_CONVEX) != 0u) {
            touch_convexes(x, &contacts);
        }
        if ((STAGES & STAGE_COLLIDE_BOX) != 0u) {
            touch_boxes(x, &contacts);
        }
        if ((STAGES & STAGE_COLLIDE_TRIANGLE) != 0u) {
            touch_mesh(i, x, &contacts);
        }
        if ((STAGES & STAGES_OF_SPHERES) != 0u) {
            touch_shapes(x, &contacts);
        }
        if (contacts.count > 0.0) {
            let push = contacts.push / contacts.count;
            let depth = sqrt(dot3(push, push));
            let plane = load_scratch(solve_row(SOLVE_PLANES, i));
            if (depth > SOLVE_PLANE_DEPTH * plane_depth(plane, particle.xyz)) {
                let normal = push / depth;
                let advance = contacts.approach / contacts.count + dot3(contacts.travel, normal) / contacts.count;
                let reach = min(dot3(normal, particle.xyz) + depth, max(advance, 0.0));
                store_scratch(solve_row(SOLVE_PLANES, i), vec4<f32>(normal, reach));
            }
        }
    }
}

/// How far a particle that moves by u is behind a plane of contact [m].
fn plane_depth(plane: vec4<f32>, u: vec3<f32>) -> f32 {
    return max(plane.w - dot3(plane.xyz, u), 0.0);
}
