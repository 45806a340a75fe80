//! Exact edge-triangle intersections.

use glam::Vec3;
use robust::{Coord3D, orient3d};

use crate::{Bounds, BoxTree};

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

/// Point where an edge passes through a face \[m\], and its parameter on the edge: 0 at the first
/// end, 1 at the second.
pub fn crossing_point(ends: [Vec3; 2], corners: [Vec3; 3]) -> Option<(Vec3, f32)> {
    let wide = |v: Vec3| v.as_dvec3().to_array();
    if !properly_intersect(ends.map(wide), corners.map(wide)) {
        return None;
    }
    let ([a, b], [x, y, z]) = (ends, corners);
    let normal = (y - x).as_dvec3().cross((z - x).as_dvec3());
    let (above, below) = (normal.dot((a - x).as_dvec3()), normal.dot((b - x).as_dvec3()));
    // t = d_a / (d_a - d_b) for signed distances d_a, d_b of the ends; not finite for degenerate
    // faces.
    let along = (above / (above - below)).clamp(0.0, 1.0) as f32;
    let along = if along.is_finite() { along } else { 0.5 };
    Some((a + (b - a) * along, along))
}

/// Faces by location, for the exact search of edges that pass through them.
#[derive(Debug)]
pub struct FaceTree(BoxTree<Face>);

#[derive(Debug, Clone, Copy)]
struct Face {
    index: u32,
    corners: [Vec3; 3],
}

impl FaceTree {
    /// Builds the tree of faces with these corners \[m\]. Faces with two equal corners or with a
    /// coordinate that is not finite are never crossed.
    pub fn new(faces: impl IntoIterator<Item = [Vec3; 3]>) -> Self {
        Self(BoxTree::new(solid(faces), |bounds, _| bounds.center()))
    }

    /// Builds the tree of faces that are already ordered by location, and visits them in that
    /// order. Otherwise as [`FaceTree::new`].
    pub fn in_order(faces: impl IntoIterator<Item = [Vec3; 3]>) -> Self {
        Self(BoxTree::in_order(solid(faces)))
    }

    /// Visits the faces among those that `is_tested` accepts through whose inside an edge passes:
    /// index of the face, and the [`crossing_point`]. An edge that is not finite crosses nothing.
    pub fn visit_crossings(
        &self,
        ends: [Vec3; 2],
        is_tested: impl Fn(u32) -> bool,
        mut found: impl FnMut(u32, Vec3, f32),
    ) {
        // The exact signs decide this as well, but zeros take longest.
        if ends[0] == ends[1] || !ends.iter().all(|end| end.is_finite()) {
            return;
        }
        self.0.visit(&Bounds::of(ends.map(|end| end.as_dvec3())), |face| {
            if is_tested(face.index)
                && let Some((at, along)) = crossing_point(ends, face.corners)
            {
                found(face.index, at, along);
            }
        });
    }
}

/// Faces that an edge can cross, with their boxes.
fn solid(faces: impl IntoIterator<Item = [Vec3; 3]>) -> impl Iterator<Item = (Bounds, Face)> {
    (0..).zip(faces).filter_map(|(index, corners)| {
        let [a, b, c] = corners;
        let is_solid = a != b && b != c && c != a && corners.iter().all(|it| it.is_finite());
        is_solid.then(|| (Bounds::of(corners.map(|it| it.as_dvec3())), Face { index, corners }))
    })
}
