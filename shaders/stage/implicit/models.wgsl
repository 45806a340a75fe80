#import state/shared
#import state/solve

/// Sets how often the step is halved that is solved from here on.
fn set_halvings(halvings: u32) {
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        solve_halvings = halvings;
    }
}

/// Whether residuals become directions by chains.
fn is_preconditioned() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_CHAINS) != 0u) {
        does = load_implicit().preconditioner == PRECONDITIONER_FIBERS;
    }
    return does;
}

/// Whether springs resist stretch and shear, in place of triangles.
fn stretches_springs() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        does = load_implicit().stretch_model == STRETCH_SPRINGS;
    }
    return does;
}

/// Whether springs resist bending, in place of bends.
fn bends_springs() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        does = load_implicit().bend_model == BEND_SPRINGS;
    }
    return does;
}

/// Whether forces of bends are taken in this evaluation.
fn takes_bends() -> bool {
    return load_scratch(solve_state(1u)).w > 0.0;
}
