//! Vectors in double precision.

use glam::DVec3;

/// Converts a vector to double precision, without rounding.
pub fn wide(vector: [f32; 3]) -> DVec3 {
    DVec3::from(vector.map(f64::from))
}
