#import lib/math
#import state/shared

/// Copies the anchor of a slot to scratch, so that tethers read the stage's input in any order of
/// particles.
fn gather_anchor(slot: u32) {
    let anchor = fabric_pool[cloth.fabric.anchor_begin + slot];
    store_scratch(slot, load_current(anchor));
}

/// Pulls particle i back within the length of each of its tethers, regardless of its mass.
///
/// C = |d| - L <= 0 with d = anchor - x;  slack = 1 - L / |d|;  d * slack = d - L * d/|d|, the
/// error along d. Source: Kim, Chentanez, Mueller, "Long Range Attachments", 2012; averaged over
/// the tethers.
fn constrain_tethers(i: u32) {
    let particle = load_current(i);
    let tether_count = cloth.fabric.tethers_per_particle * cloth.particle_count;
    var offset = vec3<f32>(0.0);
    for (var k = 0u; k < cloth.fabric.tethers_per_particle; k++) {
        let tether = cloth.fabric.tether_begin + k * cloth.particle_count + i;
        let anchor = load_scratch(fabric_pool[tether]).xyz;
        let length = bitcast<f32>(fabric_pool[tether + tether_count]) * cloth.tethers.scale;
        let delta = anchor - particle.xyz;
        let slack = 1.0 - length / sqrt(guarded_square(delta));
        offset += delta * max(slack, 0.0);
    }
    store_current(i, vec4<f32>(particle.xyz + offset * cloth.tethers.stiffness, particle.w));
}
