//! Shapes with flat faces: convexes of planes and parallelepipeds.

use super::vector::{cross, dot, length, minus};

/// Exit from a shape through its nearest face.
#[derive(Debug, Clone, Copy)]
pub struct WayOut {
    /// Displacement to the surface \[m\].
    pub push: [f64; 3],
    /// Difference between the distances to the second nearest and the nearest face \[m\].
    pub clearance: f64,
}

/// Returns the exit through the nearest face, from the outward normal of each and the height of the
/// point over it; `None` if the point is in front of any.
fn nearest_exit(faces: impl IntoIterator<Item = ([f64; 3], f64)>) -> Option<WayOut> {
    let mut faces: Vec<_> = faces.into_iter().collect();
    faces.sort_by(|a, b| b.1.total_cmp(&a.1));
    let &(normal, height) = faces.first().filter(|face| face.1 < 0.0)?;
    let clearance = faces.get(1).map_or(f64::INFINITY, |next| height - next.1);
    Some(WayOut { push: normal.map(|x| -x * height), clearance })
}

/// Returns the exit of x from the intersection of half-spaces behind planes (unit normal, offset).
pub fn leave_convex(x: [f64; 3], planes: &[[f64; 4]]) -> Option<WayOut> {
    nearest_exit(planes.iter().map(|&[a, b, c, d]| ([a, b, c], dot([a, b, c], x) + d)))
}

/// Returns the exit of x from the parallelepiped of a corner and three edges; `None` if it has no
/// volume.
///
/// x is `corner + s a + t b + u c`, by Cramer's rule, and inside if all three lie in `0..1`. Two
/// faces lie across each edge, at a distance of the volume over their area.
pub fn leave_parallelepiped(x: [f64; 3], corner: [f64; 3], edges: [[f64; 3]; 3]) -> Option<WayOut> {
    let volume = dot(edges[0], cross(edges[1], edges[2]));
    if volume == 0.0 {
        return None;
    }
    let d = minus(x, corner);
    nearest_exit((0..3).flat_map(|k| {
        let across = cross(edges[(k + 1) % 3], edges[(k + 2) % 3]);
        let fraction = dot(d, across) / volume;
        let apart = volume.abs() / length(across);
        // From the near face to the far one.
        let normal = across.map(|x| x * volume.signum() / length(across));
        [(normal.map(|x| -x), -fraction * apart), (normal, (fraction - 1.0) * apart)]
    }))
}
