#import stage/implicit/models
#import stage/implicit/springs

/// Upper bound of the stiffness of the bends, or bending springs, at particle i [N/m].
fn bend_rate(i: u32) -> f32 {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (bends_springs()) {
            return 2.0 * spring_sum(i, true);
        }
    }
    return load_implicit().rigidity * bitcast<f32>(fabric_pool[rate_row(i) + 2u]);
}

/// Stiffness of the triangles at particle i at rest, or of its springs drawn straight [N/m].
fn stretch_rate(i: u32) -> f32 {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (stretches_springs()) {
            return spring_sum(i, false);
        }
    }
    let along_u = load_implicit().rate_u * bitcast<f32>(fabric_pool[rate_row(i)]);
    let along_v = load_implicit().rate_v * bitcast<f32>(fabric_pool[rate_row(i) + 1u]);
    return along_u + along_v;
}

/// Squared rates of particle i: of stretch and contact [1/s^2], of bending [1/s^2], and of stretch
/// times the length of its edges [m/s^2].
fn particle_rates(i: u32, inverse_mass: f32, has_plane: bool) -> vec4<f32> {
    let stretch = stretch_rate(i) * inverse_mass;
    let bend = bend_rate(i) * inverse_mass;
    let contact = select(0.0, load_implicit().contact_stiffness * inverse_mass, has_plane);
    return vec4<f32>(stretch + contact, bend, stretch * bitcast<f32>(fabric_pool[rate_row(i) + 3u]), 0.0);
}
