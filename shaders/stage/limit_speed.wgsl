#import lib/math
#import state/shared

/// Limits the displacement of particle i in this iteration to the largest move.
fn limit_speed(i: u32) {
    let particle = load_current(i);
    let before = load_previous(i).xyz;
    let displacement = particle.xyz - before;
    let square = dot3(displacement, displacement);
    if (particle.w > 0.0 && square > cloth.max_move * cloth.max_move) {
        store_current(i, vec4<f32>(before + displacement * (cloth.max_move / sqrt(square)), particle.w));
    }
}
