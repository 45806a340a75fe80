//! Twin of `shaders/stage/motion.wgsl`.

use crate::ClothMemory;
use crate::math::{guarded_square, particle as pack, xyz};

/// Pulls particle i into its motion sphere, whatever its mass.
pub fn constrain_motion(memory: &mut ClothMemory<'_>, i: u32) {
    let sphere = memory.load_interpolated(
        memory.cloth.motion.sphere_start,
        memory.cloth.motion.sphere_target,
        i,
    );
    let mut particle = memory.load_current(i);
    let delta = xyz(sphere) - xyz(particle);
    let radius = (sphere[3] * memory.cloth.motion.scale + memory.cloth.motion.bias).max(0.0);
    // slack = 1 - r / |d|; above 0 outside
    let slack = 1.0 - radius / guarded_square(delta).sqrt();
    if slack > 0.0 {
        if radius <= 0.0 {
            particle[3] = 0.0;
        }
        memory.store_current(
            i,
            pack(xyz(particle) + delta * (slack * memory.cloth.motion.stiffness), particle[3]),
        );
    }
}
