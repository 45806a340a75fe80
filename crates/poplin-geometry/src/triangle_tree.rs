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

/// Distance between nearest points, over that to the point, up to which they are one: a corner or a
/// point of an edge, found from several triangles.
const SAME: f64 = 1e-7;

/// Nearest point so far.
struct Nearest {
    square: f64,
    foot: DVec3,
    /// Sum of the unit normals of the triangles at that point, weighted by their angles there.
    normal: DVec3,
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
    /// If the nearest point is on an edge or a corner, several triangles are equally near. Their
    /// normals, weighted by the angles of the triangles there, determine the sign (Baerentzen and
    /// Aanaes, "Signed distance computation using the angle weighted pseudonormal", 2005): a single
    /// one of them may have the point on its wrong side.
    pub fn depth(&self, point: DVec3) -> Option<f64> {
        let mut nearest = Nearest::far();
        self.0.visit_near(point, |triangle| {
            nearest.consider(triangle, point);
            // Ties must stay reachable, so the search radius includes them.
            nearest.square * (1.0 + TIE)
        });
        let is_found = nearest.square.is_finite();
        is_found.then(|| {
            let height = nearest.normal.dot(point - nearest.foot);
            if height < 0.0 { nearest.square.sqrt() } else { -nearest.square.sqrt() }
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
    fn far() -> Self {
        Self { square: f64::INFINITY, foot: DVec3::ZERO, normal: DVec3::ZERO }
    }

    fn consider(&mut self, triangle: &Triangle, point: DVec3) {
        let foot = closest_on_triangle(point, triangle.corners);
        let square = point.distance_squared(foot);
        if square > self.square * (1.0 + TIE) {
            return;
        }
        let reach = SAME * square.sqrt() + SAME * SAME * foot.abs().max_element();
        let normal = triangle.normal * angle_at(foot, triangle.corners, reach);
        if square >= self.square * (1.0 - TIE) {
            if foot.distance(self.foot) <= reach {
                self.normal += normal;
            }
            self.square = self.square.min(square);
        } else {
            *self = Self { square, foot, normal };
        }
    }
}

/// Returns the angle of a triangle at one of its points, the full angle being 1. The point is a
/// corner if it is within `reach` of one, and on an edge if it is within `reach` of one.
fn angle_at(foot: DVec3, corners: [DVec3; 3], reach: f64) -> f64 {
    use std::f64::consts::TAU;
    let mut angle = 1.0;
    for k in 0..3 {
        let [a, b, c] = [0, 1, 2].map(|step| corners[(k + step) % 3]);
        if foot.distance(a) <= reach {
            return (b - a).angle_between(c - a) / TAU;
        }
        let edge = b - a;
        let across = edge.cross(foot - a).length();
        if across <= reach * edge.length() {
            angle = 0.5;
        }
    }
    angle
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
    fn a_point_before_the_tip_of_a_blade_is_outside() {
        // Two faces have the tip's point in front of them and one far behind.
        let corners =
            [[0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-1.0, 0.0994, -0.316], [-1.0, -0.0994, -0.316]];
        let corners = corners.map(DVec3::from);
        let faces = [[2, 1, 0], [1, 3, 0], [3, 2, 0], [2, 3, 1]];
        let tree = TriangleTree::new(faces.map(|face: [usize; 3]| face.map(|k| corners[k])));
        let point = DVec3::new(0.06, 0.0, 0.299);
        let depth = tree.depth(point).unwrap();
        assert!((depth + point.length()).abs() < 1e-12, "{depth}");
        let mut rng = Rng::new(7);
        for _ in 0..5000 {
            let point = random_point(&mut rng, 1.5);
            // Inside a convex solid is behind all of its faces.
            let is_inside = faces.iter().all(|face| {
                let [a, b, c] = face.map(|k| corners[k]);
                (b - a).cross(c - a).dot(point - a) < 0.0
            });
            assert_eq!(tree.depth(point).unwrap() > 0.0, is_inside, "{point}");
        }
    }

    #[test]
    fn a_point_in_a_sharp_notch_is_outside_and_one_beside_it_inside() {
        // A prism whose section is a square with a notch from its top down to its middle.
        let section = [
            [-1.0, -1.0],
            [1.0, -1.0],
            [1.0, 1.0],
            [0.1, 1.0],
            [0.0, 0.0],
            [-0.1, 1.0],
            [-1.0, 1.0],
        ];
        let at = |k: usize, z: f64| DVec3::new(section[k % 7][0], section[k % 7][1], z);
        let sides = (0..7).flat_map(|k| {
            let [a, b, c, d] = [at(k, -1.0), at(k + 1, -1.0), at(k + 1, 1.0), at(k, 1.0)];
            [[a, b, c], [a, c, d]]
        });
        // Both ends as fans from the bottom of the notch.
        let ends = (0..7).filter(|k| *k != 3 && *k != 4).flat_map(|k| {
            [[at(4, 1.0), at(k, 1.0), at(k + 1, 1.0)], [at(4, -1.0), at(k + 1, -1.0), at(k, -1.0)]]
        });
        let tree = TriangleTree::new(sides.chain(ends));
        let mut rng = Rng::new(3);
        for _ in 0..5000 {
            let point = random_point(&mut rng, 1.2);
            let is_inside = point.abs().max_element() < 1.0 && point.x.abs() > 0.1 * point.y;
            assert_eq!(tree.depth(point).unwrap() > 0.0, is_inside, "{point}");
        }
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
            let mut nearest = Nearest::far();
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
