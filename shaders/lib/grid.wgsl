#import state/constants

/// Bucket of a cell among `bucket_count`, a power of two from 256 on: x + 89 y + 89^2 z modulo
/// that. The 27 cells around a position have 27 different buckets, so no particle is visited twice;
/// a distance test rejects particles from farther away that share a bucket. The bucket of a sum of
/// cells is the sum of their buckets.
fn bucket_of_cell(cell: vec3<i32>, bucket_count: u32) -> u32 {
    let coordinates = bitcast<vec3<u32>>(cell);
    return (coordinates.x + CELL_STRIDE_Y * coordinates.y + CELL_STRIDE_Z * coordinates.z) & (bucket_count - 1u);
}
