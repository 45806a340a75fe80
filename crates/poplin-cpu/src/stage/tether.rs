//! Twin of `shaders/stage/tether.wgsl`.

use glam::Vec3;

use crate::ClothMemory;
use crate::math::{guarded_square, particle as pack, xyz};

/// Copies the anchor of a slot to scratch, where all particles read it.
pub fn gather_anchor(memory: &mut ClothMemory<'_>, slot: u32) {
    let anchor = memory.fabric(memory.cloth.fabric.anchor_begin + slot);
    memory.store_scratch(slot, memory.load_current(anchor));
}

/// Pulls particle i back to within the length of each of its tethers, whatever its mass.
pub fn constrain_tethers(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let here = xyz(particle);
    let tether_count = memory.cloth.fabric.tethers_per_particle * memory.cloth.particle_count;
    let mut offset = Vec3::ZERO;
    for k in 0..memory.cloth.fabric.tethers_per_particle {
        let tether = memory.cloth.fabric.tether_begin + k * memory.cloth.particle_count + i;
        let anchor = xyz(memory.load_scratch(memory.fabric(tether)));
        let length = memory.fabric_f32(tether + tether_count) * memory.cloth.tethers.scale;
        let delta = anchor - here;
        // slack = 1 - L / |d|
        let slack = 1.0 - length / guarded_square(delta).sqrt();
        offset += delta * slack.max(0.0);
    }
    memory.store_current(i, pack(here + offset * memory.cloth.tethers.stiffness, particle[3]));
}
