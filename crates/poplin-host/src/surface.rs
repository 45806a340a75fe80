//! Surfaces of what takes part in contact of triangles.

use glam::{DMat3, DVec3, Vec3};
use poplin_layout::TRIANGLE_CHILDREN;
use poplin_model::{Parallelepiped, Plane, Shape};

use crate::colliders::is_closed;
use crate::weld::welded;

/// Vertices, edges and faces of a surface, which do not change. A ball is a vertex with a radius, a capsule an edge and, so that vertices
/// meet it, a face without area. Each are in the order of a tree over them, of which child k of node j is node 8 j + k of the level below.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    /// Positions at rest \[m\].
    pub rest: Vec<Vec3>,
    /// Corners of the faces.
    pub faces: Vec<[u32; 3]>,
    /// Which of their sides (a to b first) and corners a face answers for: bits 0 to 2 and 3 to 5. Every side and corner of the
    /// surface has one face.
    pub owned: Vec<u8>,
    /// Of each side of a face the corner of the face beyond that is not on it, [`NO_CORNER`] if there is not just one.
    pub beyond: Vec<[u32; 3]>,
    /// Ends of the edges, each once.
    pub edges: Vec<[u32; 2]>,
    /// The faces on both sides of each edge; `u32::MAX` beyond a border, and of more than two the first two.
    pub wings: Vec<[u32; 2]>,
    /// Whether every edge has two faces that run along it in opposite directions, where vertices in one spot count as one.
    pub is_closed: bool,
    /// The vertices that collide.
    pub vertices: Vec<[u32; 1]>,
}

/// No face of [`Surface::wings`].
pub const NO_FACE: u32 = u32::MAX;

/// No corner of [`Surface::beyond`].
pub const NO_CORNER: u32 = u32::MAX;

impl Surface {
    /// The surface of a triangle mesh. Triangles with a corner twice are left out, vertices without a triangle do not collide.
    pub fn of_triangles(rest: Vec<Vec3>, triangles: &[[u32; 3]]) -> Self {
        let has_three = |&&[a, b, c]: &&[u32; 3]| a != b && b != c && c != a;
        let faces: Vec<[u32; 3]> = triangles.iter().filter(has_three).copied().collect();
        let faces = picked(&faces, &tree_order(&faces, &rest));
        let sides = faces.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let mut edges: Vec<[u32; 2]> = sides.map(|[a, b]| [a.min(b), a.max(b)]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut vertices: Vec<[u32; 1]> = faces.iter().flatten().map(|&corner| [corner]).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut owned = vec![0; faces.len()];
        let mut seen_corners = vec![false; rest.len()];
        let mut seen_edges = vec![false; edges.len()];
        let mut wings = vec![[NO_FACE; 2]; edges.len()];
        let mut side_counts = vec![0; edges.len()];
        for (index, (face, owned)) in (0..).zip(faces.iter().zip(&mut owned)) {
            for k in 0..3 {
                let (a, b) = (face[k], face[(k + 1) % 3]);
                let edge = edges.binary_search(&[a.min(b), a.max(b)]).unwrap_or_default();
                side_counts[edge] += 1;
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
            let other = wings[edge].into_iter().find(|&other| other != face && other != NO_FACE);
            let corners = other.filter(|_| side_counts[edge] == 2).map(|it| faces[it as usize]);
            let corner = corners.and_then(|all| all.into_iter().find(|it| !side.contains(it)));
            corner.unwrap_or(NO_CORNER)
        };
        let all = 0..faces.len() as u32;
        let beyond = all.map(|face| [0, 1, 2].map(|k| corner_beyond(face, k))).collect();
        let is_closed = is_closed(&welded(&rest, &faces));
        let order = tree_order(&edges, &rest);
        let (edges, wings) = (picked(&edges, &order), picked(&wings, &order));
        let vertices = picked(&vertices, &tree_order(&vertices, &rest));
        Self { rest, faces, owned, beyond, edges, wings, is_closed, vertices }
    }

    /// The surface of a capsule with its axis between these points. No pair of edges speaks for a vertex over the axis: the side of its
    /// face does.
    pub fn of_capsule(ends: [Vec3; 2]) -> Self {
        Self {
            rest: ends.to_vec(),
            faces: vec![[0, 1, 1]],
            owned: vec![1],
            beyond: vec![[NO_CORNER; 3]],
            edges: vec![[0, 1]],
            vertices: vec![[0], [1]],
            ..Self::default()
        }
    }

    /// Whether no face has an area, as of balls, capsules and planes: nothing crosses them.
    pub fn is_round(&self) -> bool {
        self.faces.iter().all(|[_, b, c]| b == c)
    }
}

/// The corners of a convex and its faces, in its own space: cuts of three planes that are behind all others.
fn convex_surface(planes: &[Plane]) -> Surface {
    let normal = |k: usize| Vec3::from(planes[k].normal).as_dvec3();
    let offset = |k: usize| f64::from(planes[k].offset);
    let mut corners: Vec<DVec3> = Vec::new();
    let mut sides = vec![Vec::new(); planes.len()];
    for a in 0..planes.len() {
        for b in a + 1..planes.len() {
            for c in b + 1..planes.len() {
                let matrix = DMat3::from_cols(normal(a), normal(b), normal(c)).transpose();
                if matrix.determinant().abs() < 1e-9 {
                    continue;
                }
                let corner = matrix.inverse() * DVec3::new(offset(a), offset(b), offset(c));
                let is_behind = |k: usize| normal(k).dot(corner) <= offset(k) + 1e-6;
                if !(0..planes.len()).all(is_behind) {
                    continue;
                }
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
    for (k, side) in sides.iter_mut().enumerate().filter(|(_, side)| side.len() > 2) {
        let center = side.iter().map(|&i| corners[i]).sum::<DVec3>() / side.len() as f64;
        let first = (corners[side[0]] - center).normalize_or_zero();
        let second = normal(k).cross(first);
        let angle = |i: usize| {
            let arm = corners[i] - center;
            arm.dot(second).atan2(arm.dot(first))
        };
        side.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)));
        for pair in side[1..].windows(2) {
            triangles.push([side[0] as u32, pair[0] as u32, pair[1] as u32]);
        }
    }
    Surface::of_triangles(corners.iter().map(|corner| corner.as_vec3()).collect(), &triangles)
}

/// The surface of a collider, at rest where its shape is in its own space.
pub(crate) fn surface_of(shape: &Shape) -> Surface {
    let zeros = |count: usize| vec![Vec3::ZERO; count];
    match shape {
        Shape::Sphere(_) => Surface { rest: zeros(1), vertices: vec![[0]], ..Surface::default() },
        Shape::Capsule(_) => Surface::of_capsule([Vec3::ZERO; 2]),
        Shape::Plane(_) => Surface { rest: zeros(1), ..Surface::default() },
        Shape::Parallelepiped(it) => {
            let corners = it.corners().map(Vec3::from).to_vec();
            Surface::of_triangles(corners, &Parallelepiped::TRIANGLES)
        }
        Shape::Convex(planes) => convex_surface(planes),
        Shape::TriangleMesh(mesh) => {
            let rest = mesh.vertices.iter().map(|&vertex| Vec3::from(vertex)).collect();
            Surface::of_triangles(rest, &mesh.triangles)
        }
    }
}

/// Brings items into an order in which those of each node are near each other. `unit` is how many a child may have.
fn arrange(items: &mut [u32], mut unit: usize, centers: &[Vec3]) {
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
    let axis = (high - low).max_position();
    let middle = items.len().div_ceil(unit) / 2 * unit;
    items.select_nth_unstable_by(middle, |&a, &b| {
        let key = |item: u32| centers[item as usize][axis];
        key(a).total_cmp(&key(b)).then(a.cmp(&b))
    });
    let (first, second) = items.split_at_mut(middle);
    arrange(first, unit, centers);
    arrange(second, unit, centers);
}

/// Some items by their indices.
fn picked<T: Copy>(items: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|&index| items[index as usize]).collect()
}

/// Children of a node of a tree over simplices.
const FAN: usize = TRIANGLE_CHILDREN as usize;

/// Simplices with these corners in the order in which a tree over them has them, split by where they are at rest.
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
    fn beyond_a_side_is_the_corner_of_the_one_other_face() {
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
