#import stage/implicit/models
#import stage/implicit/contacts
#import stage/implicit/springs

/// Gradient of the stretch energy at particle i [N]: of its triangles in ascending order, or of its
/// springs.
fn stretch_gradient(i: u32) -> vec3<f32> {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (stretches_springs()) {
            return spring_gradient(i, false);
        }
    }
    let begin = fabric_pool[cloth.fabric.corner_begin + i];
    let end = fabric_pool[cloth.fabric.corner_begin + i + 1u];
    let corners = cloth.fabric.corner_begin + cloth.particle_count + 1u;
    var gradient = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        gradient += load_scratch(corner_row(fabric_pool[corners + k])).xyz;
    }
    return gradient;
}

/// Gradient of the bending energy at particle i [N]: of its bends in ascending order, or of its
/// springs.
fn bend_gradient(i: u32) -> vec3<f32> {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (bends_springs()) {
            return spring_gradient(i, true);
        }
    }
    let begins = rate_row(cloth.particle_count);
    let begin = fabric_pool[begins + i];
    let end = fabric_pool[begins + i + 1u];
    let ends = begins + cloth.particle_count + 1u;
    var gradient = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        gradient += load_scratch(bend_end_row(fabric_pool[ends + k])).xyz;
    }
    return gradient;
}

/// Residual r1 of the trial of particle i, which has inverse mass [m]: y - u - h^2 w grad E, the
/// negative gradient of m/(2 h^2) |u - y|^2 + E(x + u) in the metric m/h^2.
fn trial_residual(i: u32) -> vec3<f32> {
    let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
    var force = load_scratch(solve_row(SOLVE_FORCES, i)).xyz;
    // Between updates the bending force of the last one is reused.
    if (takes_bends()) {
        force = bend_gradient(i);
        store_scratch(solve_row(SOLVE_FORCES, i), vec4<f32>(force, 0.0));
    }
    force = stretch_gradient(i) + force;
    let plane = load_scratch(solve_row(SOLVE_PLANES, i));
    // Contact pushes along the plane's normal: grad E_c = -kc depth n.
    force -= plane.xyz * (load_implicit().contact_stiffness * plane_depth(plane, load_current(i).xyz));
    return prediction.xyz - load_current(i).xyz - force * (load_implicit().step_square * prediction.w);
}

/// Computes the residual of the trial of particle i and writes it to scratch for the chains; 0
/// without inverse mass.
fn find_residual(i: u32) {
    var trial = vec3<f32>(0.0);
    if (load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w > 0.0) {
        trial = trial_residual(i);
    }
    store_scratch(solve_row(SOLVE_TRIALS, i), vec4<f32>(trial, 0.0));
}
