#import state/shared

/// Restores the user's inverse mass of particle i, unless this iteration holds it at 0.
fn restore_mass(i: u32) {
    let particle = load_current(i);
    if (particle.w > 0.0) {
        store_current(i, vec4<f32>(particle.xyz, load_previous(i).w));
    }
}
