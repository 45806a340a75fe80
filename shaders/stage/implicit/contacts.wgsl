#import state/solve
#import stage/collide_convex
#import stage/collide_box
#import stage/collide_triangle
#import stage/collide_shape
#import stage/sweep

/// Tests whether this evaluation searches for contacts: only where residuals are evaluated, not
/// extrapolated.
fn probes_contacts() -> bool {
    var is_due = false;
    if ((STAGES & STAGES_OF_PROBES) != 0u) {
        is_due = load_scratch(solve_state(1u)).z != SOLVE_LINE;
    }
    return is_due;
}

/// Tests the trial of particle i against the shapes. A particle inside is kept out from here on by
/// the plane of its mean exit, with the energy
///   kc/2 max(0, o - n . u)^2,  u its displacement, n the normal of the plane and o its offset.
///
/// A plane moves a particle outwards that was behind it one step ago only as far as the shape
/// itself moves; the stages after the solve do the rest. A plane is kept as long as it explains
/// half the depth of the particle, so that rounding of positions does not disturb the solve.
fn probe_contacts(i: u32) {
    let particle = load_current(i);
    if (particle.w > 0.0) {
        let before = load_previous(i).xyz;
        let end = before + particle.xyz;
        var back = vec3<f32>(0.0);
        if ((STAGES & STAGE_SWEEP) != 0u) {
            back = swept_back(i, before, end);
        }
        let x = end + back;
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
            let push = contacts.push / contacts.count + back;
            // Direction and depth of the mean exit of all shapes.
            let depth = sqrt(dot3(push, push));
            let plane = load_scratch(solve_row(SOLVE_PLANES, i));
            if (depth > SOLVE_PLANE_DEPTH * plane_depth(plane, particle.xyz)) {
                let normal = push / depth;
                let advance = contacts.approach / contacts.count + dot3(contacts.travel, normal) / contacts.count;
                // The offset is the end of the exit, but no farther than the shapes advanced in
                // this step.
                let reach = min(dot3(normal, particle.xyz) + depth, max(advance, 0.0));
                store_scratch(solve_row(SOLVE_PLANES, i), vec4<f32>(normal, reach));
                store_scratch(solve_row(SOLVE_TRAVELS, i), vec4<f32>(contacts.travel / contacts.count, friction_factor(contacts)));
            }
        }
    }
}

/// Displacement that friction takes off particle i, which the solve has moved by `displacement` and
/// pressed against its contact plane [m].
///
/// The push of the plane is kc w h^2 depth, h the whole step.
fn plane_slide(i: u32, displacement: vec3<f32>, inverse_mass: f32) -> vec3<f32> {
    let split = load_implicit().split;
    let plane = load_scratch(solve_row(SOLVE_PLANES, i));
    let travel = load_scratch(solve_row(SOLVE_TRAVELS, i));
    let strength = load_implicit().contact_stiffness * load_implicit().step_square * inverse_mass;
    let push = strength * plane_depth(plane, displacement) * (split * split);
    let contacts = Contacts(vec3<f32>(0.0), 1.0, travel.xyz, 0.0, plane.xyz * push, push * travel.w);
    return friction_slide(displacement * split, contacts);
}

/// Depth of a particle with displacement u behind its contact plane [m].
fn plane_depth(plane: vec4<f32>, u: vec3<f32>) -> f32 {
    return max(plane.w - dot3(plane.xyz, u), 0.0);
}
