//! Twin of `shaders/stage/separation.wgsl`.

use crate::ClothMemory;
use crate::math::{guarded_square, particle as pack, xyz};

/// Pushes particle i out of its separation sphere, whatever its mass.
pub fn constrain_separation(memory: &mut ClothMemory<'_>, i: u32) {
    let sphere = memory.load_interpolated(
        memory.cloth.separation.sphere_start,
        memory.cloth.separation.sphere_target,
        i,
    );
    let particle = memory.load_current(i);
    let delta = xyz(sphere) - xyz(particle);
    // slack = 1 - r / |d|; below 0 inside
    let slack = 1.0 - sphere[3] / guarded_square(delta).sqrt();
    if slack < 0.0 {
        memory.store_current(i, pack(xyz(particle) + delta * slack, particle[3]));
    }
}
