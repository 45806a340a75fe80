//! Exact edge-triangle intersection test.

use robust::{Coord3D, orient3d};

/// Returns true if the segment passes strictly through the inside of the triangle. The signs are
/// exact for coordinates of finite `f32` (Shewchuk, 1997, Adaptive Precision Floating-Point
/// Arithmetic and Fast Robust Geometric Predicates).
pub fn properly_intersect([p, q]: [[f64; 3]; 2], [a, b, c]: [[f64; 3]; 3]) -> bool {
    // A difference of f32 has no bit below 2^-149, a product of three none below 2^-447, and no sum
    // exceeds 2^390: nothing underflows or overflows in f64, as the predicate requires.
    let [p, q, a, b, c] = [p, q, a, b, c].map(|[x, y, z]| Coord3D { x, y, z });
    let (above, below) = (orient3d(a, b, c, p), orient3d(a, b, c, q));
    if !(above > 0.0 && below < 0.0 || above < 0.0 && below > 0.0) {
        return false;
    }
    // The line passes inside if all three sides have the same orientation around it.
    let signs = [[a, b], [b, c], [c, a]].map(|[from, to]| orient3d(p, q, from, to));
    signs.iter().all(|&sign| sign > 0.0) || signs.iter().all(|&sign| sign < 0.0)
}
