#import lib/math
#import state/shared

/// Pushes particle i out of its separation sphere, regardless of its mass.
///
/// slack = 1 - r / |d| with d = center - x is negative inside;  x += d * slack puts x on the
/// sphere.
fn constrain_separation(i: u32) {
    let sphere = load_interpolated(cloth_parameters[cloth_slot].separation.sphere_start, cloth_parameters[cloth_slot].separation.sphere_target, i);
    let particle = load_current(i);
    let delta = sphere.xyz - particle.xyz;
    let slack = 1.0 - sphere.w / sqrt(guarded_square(delta));
    if (slack < 0.0) {
        store_current(i, vec4<f32>(particle.xyz + delta * slack, particle.w));
    }
}
