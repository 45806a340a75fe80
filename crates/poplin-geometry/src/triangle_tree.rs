//! Nearest-triangle queries.

use glam::DVec3;

use crate::{Bounds, BoxTree, closest_on_triangle};

/// Relative difference of squared distances that counts as a tie, such as a shared corner found
/// from several triangles.
const TIE: f64 = 1e-9;

/// Tree over the triangles that have an area.
#[derive(Debug)]
pub struct TriangleTree(BoxTree<Triangle>);

#[derive(Debug, Clone, Copy)]
struct Triangle {
    /// Index in the input of the tree.
    index: u32,
    corners: [DVec3; 3],
    /// Unit normal.
    normal: DVec3,
}

/// Triangle nearest to a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearestTriangle {
    /// Index in the input of the tree.
    pub triangle: u32,
    /// Nearest point on the triangle \[m\].
    pub point: DVec3,
    /// Squared distance to that point \[m^2\].
    pub square: f64,
}

/// Best triangle so far.
struct Nearest {
    square: f64,
    /// Height of the point above the triangle's plane \[m\].
    height: f64,
}

impl TriangleTree {
    /// Builds the tree over triangles, corners \[m\]; degenerate triangles are omitted.
    pub fn new(triangles: impl IntoIterator<Item = [DVec3; 3]>) -> Self {
        let usable = (0..).zip(triangles).filter_map(|(index, corners)| {
            let [a, b, c] = corners;
            let normal = (b - a).cross(c - a).try_normalize()?;
            Some((Bounds::of(corners), Triangle { index, corners, normal }))
        });
        Self(BoxTree::new(usable, |_, triangle| triangle.corners.iter().sum::<DVec3>() / 3.0))
    }

    /// Distance of a point behind its nearest triangle \[m\], negative in front of it; `None`
    /// without triangles.
    ///
    /// If the nearest point is on an edge or a corner, several triangles are equally near. The one
    /// whose plane is farthest from the point determines the sign, because the projections onto the
    /// other planes may lie far outside their triangles.
    pub fn depth(&self, point: DVec3) -> Option<f64> {
        let mut nearest = Nearest { square: f64::INFINITY, height: 0.0 };
        self.0.visit_near(point, |triangle| {
            nearest.consider(triangle, point);
            // Ties must stay reachable, so the search radius includes them.
            nearest.square * (1.0 + TIE)
        });
        let is_found = nearest.square.is_finite();
        is_found.then(|| {
            if nearest.height < 0.0 { nearest.square.sqrt() } else { -nearest.square.sqrt() }
        })
    }

    /// Finds the nearest triangle whose unit normal is accepted, the first in input order on ties;
    /// `None` if there is none.
    pub fn nearest(
        &self,
        point: DVec3,
        accepts: impl Fn(DVec3) -> bool,
    ) -> Option<NearestTriangle> {
        let mut nearest: Option<NearestTriangle> = None;
        self.0.visit_near(point, |triangle| {
            if accepts(triangle.normal) {
                let foot = closest_on_triangle(point, triangle.corners);
                let found = NearestTriangle {
                    triangle: triangle.index,
                    point: foot,
                    square: point.distance_squared(foot),
                };
                let is_better = nearest.is_none_or(|best| {
                    found.square < best.square * (1.0 - TIE)
                        || found.square <= best.square * (1.0 + TIE)
                            && found.triangle < best.triangle
                });
                if is_better && found.square.is_finite() {
                    nearest = Some(found);
                }
            }
            nearest.map_or(f64::INFINITY, |best| best.square * (1.0 + TIE))
        });
        nearest
    }
}

impl Nearest {
    fn consider(&mut self, triangle: &Triangle, point: DVec3) {
        let square = point.distance_squared(closest_on_triangle(point, triangle.corners));
        if square > self.square * (1.0 + TIE) {
            return;
        }
        let height = triangle.normal.dot(point - triangle.corners[0]);
        let is_tie = square >= self.square * (1.0 - TIE);
        // Among equally near triangles, the plane farthest from the point determines the sign.
        if !is_tie || height.abs() > self.height.abs() {
            self.height = height;
        }
        self.square = self.square.min(square);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn random_point(rng: &mut Rng, size: f64) -> DVec3 {
        DVec3::from(rng.point_f64(-size, size))
    }

    /// An octahedron with outward-facing triangles.
    fn octahedron() -> TriangleTree {
        let signs = [1.0, -1.0];
        let faces = signs.into_iter().flat_map(|x| {
            signs.into_iter().flat_map(move |y| signs.into_iter().map(move |z| [x, y, z]))
        });
        TriangleTree::new(faces.map(|[x, y, z]| {
            let [a, b, c] = [DVec3::X * x, DVec3::Y * y, DVec3::Z * z];
            if x * y * z > 0.0 { [a, b, c] } else { [a, c, b] }
        }))
    }

    #[test]
    fn depth_in_an_octahedron_is_distance_to_nearest_side() {
        let (tree, mut rng) = (octahedron(), Rng::new(5));
        for _ in 0..2000 {
            let point = random_point(&mut rng, 1.0);
            let sum = point.abs().element_sum();
            let depth = tree.depth(point).unwrap();
            assert_eq!(depth > 0.0, sum < 1.0, "{point}");
            if sum < 1.0 {
                assert!((depth - (1.0 - sum) / 3.0_f64.sqrt()).abs() < 1e-12, "{point}: {depth}");
            }
        }
    }

    #[test]
    fn sign_is_correct_near_edges_and_corners() {
        let tree = octahedron();
        for point in
            [DVec3::new(1.5, 0.0, 0.0), DVec3::new(0.6, 0.6, 0.0), DVec3::new(0.0, -1.1, 0.05)]
        {
            assert!(tree.depth(point).unwrap() < 0.0, "{point} is outside");
        }
        assert!(tree.depth(DVec3::ZERO).unwrap() > 0.5);
    }

    #[test]
    fn tree_search_matches_brute_force() {
        let mut rng = Rng::new(11);
        let mut position = |size: f64| random_point(&mut rng, size);
        let triangles: Vec<_> = (0..300)
            .map(|_| (position(1.0), [position(0.1), position(0.1), position(0.1)]))
            .collect();
        let triangles: Vec<[DVec3; 3]> =
            triangles.into_iter().map(|(at, corners)| corners.map(|corner| at + corner)).collect();
        let tree = TriangleTree::new(triangles.iter().copied());
        for _ in 0..500 {
            let point = position(1.5);
            let mut nearest = Nearest { square: f64::INFINITY, height: 0.0 };
            tree.0.visit_near(point, |triangle| {
                nearest.consider(triangle, point);
                f64::INFINITY
            });
            assert!((tree.depth(point).unwrap().abs() - nearest.square.sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn depth_is_none_without_usable_triangles() {
        assert_eq!(TriangleTree::new([[DVec3::ONE; 3]]).depth(DVec3::ZERO), None);
        assert_eq!(octahedron().depth(DVec3::NAN), None);
    }
}
