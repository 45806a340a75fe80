//! Parameters of the kernels of contact between cloths.

use crate::StructDescription;
use crate::gpu_struct::gpu_struct;

/// Structs of contact between cloths, in the order of `shaders/contact/types.wgsl`.
pub const CONTACT_STRUCTS: &[StructDescription] =
    &[ContactCloth::DESCRIPTION, ContactParameters::DESCRIPTION];

gpu_struct! {
    /// One cloth in one collision of cloths.
    pub struct ContactCloth {
        /// Local x axis in the world; w unused.
        pub axis_x: [f32; 4],
        /// Local y axis in the world.
        pub axis_y: [f32; 4],
        /// Local z axis in the world.
        pub axis_z: [f32; 4],
        /// Origin of the local space in the world \[m\].
        pub origin: [f32; 4],
        /// Change of the local x axis in the last iteration.
        pub turn_x: [f32; 4],
        /// Change of the local y axis in the last iteration.
        pub turn_y: [f32; 4],
        /// Change of the local z axis in the last iteration.
        pub turn_z: [f32; 4],
        /// Displacement of the origin in the last iteration \[m\].
        pub shift: [f32; 4],
        /// First particle in `current` and `previous`.
        pub particle_begin: u32,
        /// Number of particles.
        pub particle_count: u32,
        /// First row of its contacts.
        pub row_begin: u32,
        /// Slot in `feedback`.
        pub cloth: u32,
        /// Groups that the cloth belongs to.
        pub group: u32,
        /// Groups that the cloth collides with.
        pub mask: u32,
        /// Half the distance that it keeps \[m\].
        pub radius: f32,
        /// Displacement per iteration above which a particle of another cloth wakes this one \[m\].
        pub wake_distance: f32,
    }
}

gpu_struct! {
    /// Uniform of one collision of cloths.
    pub struct ContactParameters {
        /// First entry of `contact_cloths`.
        pub cloth_begin: u32,
        /// Number of cloths.
        pub cloth_count: u32,
        /// Number of particles of all cloths.
        pub row_count: u32,
        /// Number of buckets of the grid, a power of two.
        pub bucket_count: u32,
        /// Inverse edge length of a cell [1/m].
        pub cell_scale: f32,
        /// Fraction of an overlap removed per pass.
        pub stiffness: f32,
        /// Fraction of the tangential motion removed per pass.
        pub friction: f32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
    }
}

#[cfg(test)]
mod tests {
    use crate::{CELL_STRIDE_Y, CELL_STRIDE_Z};

    #[test]
    fn the_27_cells_around_a_point_have_distinct_buckets() {
        for power in 8..=31 {
            let mut buckets = Vec::new();
            for (z, y, x) in (0..27).map(|k| (k / 9, k / 3 % 3, k % 3)) {
                let index = (x as u32)
                    + (y as u32).wrapping_mul(CELL_STRIDE_Y)
                    + (z as u32).wrapping_mul(CELL_STRIDE_Z);
                buckets.push(index & ((1 << power) - 1));
            }
            buckets.sort_unstable();
            buckets.dedup();
            assert_eq!(buckets.len(), 27, "2^{power} buckets");
        }
    }
}
