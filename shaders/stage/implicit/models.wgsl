#import state/shared
#import state/solve

/// Sets the number of halvings of the step that is solved from here on.
fn set_halvings(halvings: u32) {
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        solve_halvings = halvings;
    }
}

/// Tests whether the chains precondition residuals.
fn is_preconditioned() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_CHAINS) != 0u) {
        does = load_implicit().preconditioner == PRECONDITIONER_FIBERS;
    }
    return does;
}

/// Tests whether springs resist stretch and shear instead of triangles.
fn stretches_springs() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        does = load_implicit().stretch_model == STRETCH_SPRINGS;
    }
    return does;
}

/// Tests whether springs resist bending instead of bend elements.
fn bends_springs() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        does = load_implicit().bend_model == BEND_SPRINGS;
    }
    return does;
}

/// Tests whether this evaluation updates the forces of bending.
fn takes_bends() -> bool {
    return load_scratch(solve_state(1u)).w > 0.0;
}
