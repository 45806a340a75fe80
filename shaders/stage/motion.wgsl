#import lib/math
#import state/shared

/// Pulls particle i into its motion sphere, regardless of its mass; a radius of 0 or less holds it
/// this iteration.
///
/// slack = 1 - r / |d| with d = center - x;  d * slack = d - r * d/|d|, the displacement into the
/// sphere.
fn constrain_motion(i: u32) {
    let sphere = load_interpolated(cloth_parameters[cloth_slot].motion.sphere_start, cloth_parameters[cloth_slot].motion.sphere_target, i);
    var particle = load_current(i);
    let delta = sphere.xyz - particle.xyz;
    let radius = max(0.0, sphere.w * cloth_parameters[cloth_slot].motion.scale + cloth_parameters[cloth_slot].motion.bias);
    let slack = 1.0 - radius / sqrt(guarded_square(delta));
    if (slack > 0.0) {
        if (radius <= 0.0) {
            particle.w = 0.0;
        }
        store_current(i, vec4<f32>(particle.xyz + delta * (slack * cloth_parameters[cloth_slot].motion.stiffness), particle.w));
    }
}
