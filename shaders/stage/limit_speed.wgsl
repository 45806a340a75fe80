#import lib/math
#import state/shared

/// Limits the displacement of particle i in this iteration to the largest move.
///
/// The displacement is that from the position before: where the local space changes its velocity,
/// `integrate` has moved previous positions by a share of that change. The velocity that remains is
/// limited as well.
fn limit_speed(i: u32) {
    let particle = load_current(i);
    let before = load_previous(i);
    let shift = iteration.previous_bias.xyz;
    let start = before.xyz - shift;
    let displacement = particle.xyz - start;
    let square = dot3(displacement, displacement);
    let most = cloth.max_move;
    var position = particle.xyz;
    if (particle.w > 0.0 && square > most * most) {
        position = start + displacement * (most / sqrt(square));
        store_current(i, vec4<f32>(position, particle.w));
    }
    let velocity = position - before.xyz;
    let velocity_square = dot3(velocity, velocity);
    if (particle.w > 0.0 && any(shift != vec3<f32>(0.0)) && velocity_square > most * most) {
        store_previous(i, vec4<f32>(position - velocity * (most / sqrt(velocity_square)), before.w));
    }
}
