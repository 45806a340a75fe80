//! Pod twins of the structs in `shaders/contact/buffers.wgsl`, and the constants of the contact kernels.

use bytemuck::{Pod, Zeroable};

/// Lanes of a workgroup of the contact kernels.
pub const CONTACT_LANES: u32 = 64;

/// Buckets that one workgroup sums up.
pub const SCAN_BLOCK: u32 = 1024;

/// Strides of a cell's coordinates in the number of its bucket. The 27 cells around a point have 27 different buckets for
/// every power of two of buckets from 256 on, so no particle is met twice.
pub const CELL_STRIDES: [u32; 3] = [1, 89, 7921];

/// One cloth in one collision of cloths; twin of the struct in `shaders/contact/buffers.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ContactCloth {
    /// Local x axis in the world; w unused.
    pub axis_x: [f32; 4],
    /// Local y axis in the world.
    pub axis_y: [f32; 4],
    /// Local z axis in the world.
    pub axis_z: [f32; 4],
    /// Origin of the local frame in the world \[m\].
    pub origin: [f32; 4],
    /// What the local x axis has changed by in the last iteration.
    pub turn_x: [f32; 4],
    /// What the local y axis has changed by.
    pub turn_y: [f32; 4],
    /// What the local z axis has changed by.
    pub turn_z: [f32; 4],
    /// What the origin has moved by in the last iteration \[m\].
    pub shift: [f32; 4],
    /// First particle in `current` and `previous`.
    pub particle_begin: u32,
    /// Number of particles.
    pub particle_count: u32,
    /// First row of the contacts.
    pub row_begin: u32,
    /// Slot in `feedback`.
    pub cloth: u32,
    /// Groups that the cloth belongs to.
    pub group: u32,
    /// Groups that it collides with.
    pub mask: u32,
    /// Half the distance that it keeps \[m\].
    pub radius: f32,
    /// Move per iteration from which another cloth's particle wakes this one \[m\].
    pub wake_distance: f32,
}

/// The uniform of one collision of cloths.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ContactParameters {
    /// First entry of `contact_cloths`.
    pub cloth_begin: u32,
    /// Number of cloths.
    pub cloth_count: u32,
    /// Particles of all cloths.
    pub row_count: u32,
    /// Buckets of the grid, a power of two.
    pub bucket_count: u32,
    /// One over the side of a cell [1/m].
    pub cell_scale: f32,
    /// Share of an overlap removed per pass.
    pub stiffness: f32,
    /// Share of the motion along one another removed per pass.
    pub friction: f32,
    /// Fills the struct to a multiple of 16 bytes.
    pub padding: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_27_cells_around_a_point_have_27_buckets_for_every_number_of_buckets() {
        for power in 8..=31 {
            let mut buckets = Vec::new();
            for (z, y, x) in (0..27).map(|k| (k / 9, k / 3 % 3, k % 3)) {
                let number = (x as u32).wrapping_mul(CELL_STRIDES[0])
                    + (y as u32).wrapping_mul(CELL_STRIDES[1])
                    + (z as u32).wrapping_mul(CELL_STRIDES[2]);
                buckets.push(number & ((1 << power) - 1));
            }
            buckets.sort_unstable();
            buckets.dedup();
            assert_eq!(buckets.len(), 27, "2^{power} buckets");
        }
    }
}
