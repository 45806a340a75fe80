//! Surfaces of the bodies in triangle contact.

use glam::{DMat3, DVec3, Vec3};
use poplin_geometry::{edges_of, is_closed, weld_triangles, wide};
use poplin_layout::TRIANGLE_CHILDREN;
use poplin_model::{Plane, Shape};

/// Topology of a surface: vertices, edges and faces. A sphere is a vertex with a radius and a
/// capsule an edge, plus a face without area, against which vertices collide. Each list is in the
/// order of a tree in which child k of node j is node 8 j + k of the level below.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    /// Rest positions \[m\].
    pub rest: Vec<Vec3>,
    /// Corner vertices of the faces.
    pub faces: Vec<[u32; 3]>,
    /// Bit mask per face of the sides (bits 0 to 2, a to b first) and corners (bits 3 to 5) that it
    /// owns. Every side and corner of the surface has exactly one owner.
    pub owned: Vec<u8>,
    /// Opposite corner of the adjacent face across each side of a face; [`NO_CORNER`] unless the
    /// side has exactly one adjacent face.
    pub beyond: Vec<[u32; 3]>,
    /// End vertices of the edges, each edge once.
    pub edges: Vec<[u32; 2]>,
    /// Faces on both sides of each edge; [`NO_FACE`] beyond a border, and the first two of more
    /// than two.
    pub wings: Vec<[u32; 2]>,
    /// True if every edge has two faces that run along it in opposite directions, with vertices at
    /// equal positions counted as one.
    pub is_closed: bool,
    /// Vertices that collide.
    pub vertices: Vec<[u32; 1]>,
}

/// Missing face in [`Surface::wings`].
pub const NO_FACE: u32 = u32::MAX;

/// Missing corner in [`Surface::beyond`].
pub const NO_CORNER: u32 = u32::MAX;

impl Surface {
    /// Builds the surface of a triangle mesh. Degenerate triangles are dropped; vertices without a
    /// triangle do not collide.
    pub fn of_triangles(rest: Vec<Vec3>, triangles: &[[u32; 3]]) -> Self {
        let has_three = |&&[a, b, c]: &&[u32; 3]| a != b && b != c && c != a;
        let faces: Vec<[u32; 3]> = triangles.iter().filter(has_three).copied().collect();
        let faces = picked(&faces, &tree_order(&faces, &rest));
        // Sorted for the binary searches below.
        let edges = edges_of(&faces);
        let mut vertices: Vec<[u32; 1]> = faces.iter().flatten().map(|&corner| [corner]).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut owned = vec![0; faces.len()];
        let mut seen_corners = vec![false; rest.len()];
        let mut seen_edges = vec![false; edges.len()];
        let mut wings = vec![[NO_FACE; 2]; edges.len()];
        let mut side_counts = vec![0; edges.len()];
        // The first face that visits a side or corner owns it.
        for (index, (face, owned)) in (0..).zip(faces.iter().zip(&mut owned)) {
            for k in 0..3 {
                let (a, b) = (face[k], face[(k + 1) % 3]);
                let edge = edges.binary_search(&[a.min(b), a.max(b)]).unwrap_or_default();
                side_counts[edge] += 1;
                // A third face of an edge gets no wing.
                let is_second = wings[edge][0] != NO_FACE;
                if !is_second || wings[edge][1] == NO_FACE {
                    wings[edge][usize::from(is_second)] = index;
                }
                if !std::mem::replace(&mut seen_edges[edge], true) {
                    *owned |= 1 << k;
                }
                if !std::mem::replace(&mut seen_corners[a as usize], true) {
                    *owned |= 8 << k;
                }
            }
        }
        let corner_beyond = |face: u32, k: usize| {
            let corners: [u32; 3] = faces[face as usize];
            let side = [corners[k], corners[(k + 1) % 3]];
            let edge = [side[0].min(side[1]), side[0].max(side[1])];
            let edge = edges.binary_search(&edge).unwrap_or_default();
            // Two adjacent faces share the side; the corner beyond is the one that is not on it.
            let other = wings[edge].into_iter().find(|&other| other != face && other != NO_FACE);
            let corners = other.filter(|_| side_counts[edge] == 2).map(|it| faces[it as usize]);
            let corner = corners.and_then(|all| all.into_iter().find(|it| !side.contains(it)));
            corner.unwrap_or(NO_CORNER)
        };
        let all = 0..faces.len() as u32;
        let beyond = all.map(|face| [0, 1, 2].map(|k| corner_beyond(face, k))).collect();
        let is_closed = is_closed(&weld_triangles(rest.iter().map(|it| it.as_dvec3()), &faces));
        let order = tree_order(&edges, &rest);
        let (edges, wings) = (picked(&edges, &order), picked(&wings, &order));
        let vertices = picked(&vertices, &tree_order(&vertices, &rest));
        Self { rest, faces, owned, beyond, edges, wings, is_closed, vertices }
    }

    /// Builds the surface of a sphere. Where cloth is flat for the sphere, the points of its faces
    /// that are closest change from step to step; its vertices stay.
    pub fn of_sphere(center: Vec3) -> Self {
        Self {
            rest: vec![center],
            faces: vec![[0; 3]],
            owned: vec![0b1000],
            beyond: vec![[NO_CORNER; 3]],
            vertices: vec![[0]],
            ..Self::default()
        }
    }

    /// Builds the surface of a capsule with its axis between these points. A vertex beside the axis
    /// collides with the side of the face, not with an edge pair; one beyond an end with a corner.
    pub fn of_capsule(ends: [Vec3; 2]) -> Self {
        Self {
            rest: ends.to_vec(),
            faces: vec![[0, 1, 1]],
            owned: vec![0b1_1001],
            beyond: vec![[NO_CORNER; 3]],
            edges: vec![[0, 1]],
            vertices: vec![[0], [1]],
            ..Self::default()
        }
    }

    /// True if no face has an area, as for spheres, capsules and planes: nothing can cross such a
    /// body.
    pub fn is_round(&self) -> bool {
        self.faces.iter().all(|[_, b, c]| b == c)
    }
}

/// Builds the surface of a convex shape in its own space. Corners are intersections of three planes
/// that lie behind all other planes.
fn convex_surface(planes: &[Plane]) -> Surface {
    let normal = |k: usize| wide(planes[k].normal);
    let offset = |k: usize| f64::from(planes[k].offset);
    let mut corners: Vec<DVec3> = Vec::new();
    let mut sides = vec![Vec::new(); planes.len()];
    for a in 0..planes.len() {
        for b in a + 1..planes.len() {
            for c in b + 1..planes.len() {
                let matrix = DMat3::from_cols(normal(a), normal(b), normal(c)).transpose();
                // Skips planes that are nearly parallel to a common line.
                if matrix.determinant().abs() < 1e-9 {
                    continue;
                }
                // n_a . x = d_a, n_b . x = d_b, n_c . x = d_c
                let corner = matrix.inverse() * DVec3::new(offset(a), offset(b), offset(c));
                let is_behind = |k: usize| normal(k).dot(corner) <= offset(k) + 1e-6;
                if !(0..planes.len()).all(is_behind) {
                    continue;
                }
                // More than three planes may meet in a corner.
                let same = corners.iter().position(|other| other.distance(corner) < 1e-6);
                let index = same.unwrap_or_else(|| {
                    corners.push(corner);
                    corners.len() - 1
                });
                for side in [a, b, c] {
                    if !sides[side].contains(&index) {
                        sides[side].push(index);
                    }
                }
            }
        }
    }
    let mut triangles = Vec::new();
    // Sorts the corners of each side around its center, then triangulates it as a fan.
    for (k, side) in sides.iter_mut().enumerate().filter(|(_, side)| side.len() > 2) {
        let center = side.iter().map(|&i| corners[i]).sum::<DVec3>() / side.len() as f64;
        let first = (corners[side[0]] - center).normalize_or_zero();
        let second = normal(k).cross(first);
        let angle = |i: usize| {
            let arm = corners[i] - center;
            arm.dot(second).atan2(arm.dot(first))
        };
        // Counterclockwise around the outward normal.
        side.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)));
        for pair in side[1..].windows(2) {
            triangles.push([side[0] as u32, pair[0] as u32, pair[1] as u32]);
        }
    }
    Surface::of_triangles(corners.iter().map(|corner| corner.as_vec3()).collect(), &triangles)
}

/// Builds the surface of a collider, at rest in the shape's own space.
pub(crate) fn surface_of(shape: &Shape) -> Surface {
    let zeros = |count: usize| vec![Vec3::ZERO; count];
    match shape {
        Shape::Sphere(_) => Surface::of_sphere(Vec3::ZERO),
        Shape::Capsule(_) => Surface::of_capsule([Vec3::ZERO; 2]),
        Shape::Plane(_) => Surface { rest: zeros(1), ..Surface::default() },
        Shape::Convex(planes) => convex_surface(planes),
        _ => {
            let mesh = shape.mesh().unwrap_or_default();
            let rest = mesh.vertices.iter().map(|&vertex| Vec3::from(vertex)).collect();
            Surface::of_triangles(rest, &mesh.triangles)
        }
    }
}

/// Sorts items so that those of each tree node are near each other; `unit` is the capacity of a
/// child.
fn arrange(items: &mut [u32], mut unit: usize, centers: &[Vec3]) {
    // A child that fits into one node of a lower level is divided there.
    while items.len() <= unit {
        if unit == 1 {
            return;
        }
        unit /= FAN;
    }
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for &item in items.iter() {
        (low, high) = (low.min(centers[item as usize]), high.max(centers[item as usize]));
    }
    // Splits at the median along the longest axis, rounded to whole children.
    let axis = (high - low).max_position();
    let middle = items.len().div_ceil(unit) / 2 * unit;
    items.select_nth_unstable_by(middle, |&a, &b| {
        let key = |item: u32| centers[item as usize][axis];
        // Ties are broken by index, so that the order does not depend on the sort.
        key(a).total_cmp(&key(b)).then(a.cmp(&b))
    });
    let (first, second) = items.split_at_mut(middle);
    arrange(first, unit, centers);
    arrange(second, unit, centers);
}

/// Selects items by their indices.
fn picked<T: Copy>(items: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|&index| items[index as usize]).collect()
}

/// Number of children of a tree node.
const FAN: usize = TRIANGLE_CHILDREN as usize;

/// Order of simplices with these corners in a tree, split by their rest positions.
fn tree_order<const N: usize>(simplices: &[[u32; N]], rest: &[Vec3]) -> Vec<u32> {
    let center = |corners: &[u32; N]| {
        corners.iter().map(|&corner| rest[corner as usize]).sum::<Vec3>() / N as f32
    };
    let centers: Vec<Vec3> = simplices.iter().map(center).collect();
    let mut items: Vec<u32> = (0..simplices.len() as u32).collect();
    let mut unit = 1;
    while items.len() > FAN * unit {
        unit *= FAN;
    }
    arrange(&mut items, unit, &centers);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_is_the_opposite_corner_of_the_only_adjacent_face() {
        let corners =
            [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
        let rest = corners.map(Vec3::from).to_vec();
        let beyond = |faces: &[[u32; 3]]| {
            let surface = Surface::of_triangles(rest.clone(), faces);
            let sides = surface.faces.iter().zip(&surface.beyond);
            let sides = sides.flat_map(|(face, beyond)| {
                (0..3).map(move |k| ([face[k], face[(k + 1) % 3]], beyond[k]))
            });
            let mut inner: Vec<_> = sides.filter(|(_, beyond)| *beyond != NO_CORNER).collect();
            inner.sort_unstable();
            inner
        };
        assert_eq!(beyond(&[[0, 1, 2], [2, 1, 3]]), [([1, 2], 3), ([2, 1], 0)]);
        assert_eq!(beyond(&[[0, 1, 2], [2, 1, 3], [1, 2, 4]]), []);
    }
}
