//! Twin of `shaders/lib/grid.wgsl`.

use poplin_layout::{CELL_STRIDE_Y, CELL_STRIDE_Z};

/// Hash of a cell, not yet reduced to a bucket count.
pub(crate) const fn hash_of_cell([x, y, z]: [i32; 3]) -> u32 {
    (x as u32)
        .wrapping_add(CELL_STRIDE_Y.wrapping_mul(y as u32))
        .wrapping_add(CELL_STRIDE_Z.wrapping_mul(z as u32))
}

/// Returns the bucket of a cell among `bucket_count`, a power of two of at least 256.
#[inline]
pub fn bucket_of_cell(cell: [i32; 3], bucket_count: u32) -> u32 {
    hash_of_cell(cell) & (bucket_count - 1)
}
