//! Shapes of rigid bodies, expanded by the distance that cloth keeps from them.

use glam::Vec3;
use poplin_geometry::{first_at_positions, wide};
use poplin_model::{Capsule, Parallelepiped, Plane, Shape, Sphere, TriangleMesh};

/// Ratio of a box's height to its edge length below which the box counts as flat along that edge.
const FLAT: f32 = 1e-6;
/// Largest displacement of a mesh vertex, in margins.
const SHARPEST: f32 = 2.0;

/// Returns the shape expanded by a margin \[m\]. Corners and edges stay sharp, so there the
/// expanded shape reaches farther than the margin. Very sharp corners of a mesh expand less, by
/// [`SHARPEST`].
pub(super) fn grown(shape: &Shape, margin: f32) -> Shape {
    let ball = |it: Sphere| Sphere { radius: it.radius + margin, ..it };
    let plane = |it: &Plane| Plane { offset: it.offset + margin, ..*it };
    match shape {
        Shape::Sphere(it) => Shape::Sphere(ball(*it)),
        Shape::Capsule(it) => Shape::Capsule(Capsule { ends: it.ends.map(ball) }),
        Shape::Plane(it) => Shape::Plane(plane(it)),
        Shape::Convex(planes) => Shape::Convex(planes.iter().map(plane).collect()),
        Shape::Parallelepiped(it) => Shape::Parallelepiped(grown_box(it, margin)),
        Shape::TriangleMesh(it) => Shape::TriangleMesh(grown_mesh(it, margin)),
    }
}

/// Moves the faces of a box out by the margin; keeps an edge along which the box is flat.
fn grown_box(it: &Parallelepiped, margin: f32) -> Parallelepiped {
    let edges = it.edges.map(Vec3::from);
    let mut corner = Vec3::from(it.corner);
    let mut longer = edges;
    for k in 0..3 {
        // Height over the plane of the other two edges; the edge grows by margin / height at both
        // ends.
        let normal = edges[(k + 1) % 3].cross(edges[(k + 2) % 3]).normalize_or_zero();
        let height = edges[k].dot(normal).abs();
        if height > FLAT * edges[k].length() {
            let more = edges[k] * (margin / height);
            corner -= more;
            longer[k] += 2.0 * more;
        }
    }
    Parallelepiped { corner: corner.to_array(), edges: longer.map(|edge| edge.to_array()) }
}

/// Moves the vertices of a mesh along the angle-weighted mean normal of their triangles, so that
/// the triangles move out by the margin. Vertices at equal positions, for example along texture
/// seams, stay together.
fn grown_mesh(it: &TriangleMesh, margin: f32) -> TriangleMesh {
    let firsts = first_at_positions(it.vertices.iter().copied().map(wide));
    let faces = it.triangles.iter().map(|corners| {
        let at = corners.map(|corner| Vec3::from(it.vertices[corner as usize]));
        let normal = (at[1] - at[0]).cross(at[2] - at[0]).normalize_or_zero();
        (corners.map(|corner| firsts[corner as usize] as usize), at, normal)
    });
    let mut means = vec![Vec3::ZERO; it.vertices.len()];
    for (corners, at, normal) in faces.clone() {
        for k in 0..3 {
            let [from, next, last] = [0, 1, 2].map(|i| at[(k + i) % 3]);
            let sides = [next - from, last - from].map(Vec3::normalize_or_zero);
            let angle = sides[0].dot(sides[1]).clamp(-1.0, 1.0).acos();
            means[corners[k]] += normal * angle;
        }
    }
    means.iter_mut().for_each(|mean| *mean = mean.normalize_or_zero());
    // Smallest cosine between a vertex's mean normal and the normals of its triangles.
    let mut least_cosines = vec![1.0f32; means.len()];
    for (corners, _, normal) in faces.filter(|(_, _, normal)| *normal != Vec3::ZERO) {
        for corner in corners {
            least_cosines[corner] = least_cosines[corner].min(means[corner].dot(normal));
        }
    }
    let farther = |(vertex, &first): (&[f32; 3], &u32)| {
        let (mean, cosine) = (means[first as usize], least_cosines[first as usize]);
        // A plane whose normal is at this angle moves by cosine * distance, hence margin / cosine.
        (Vec3::from(*vertex) + mean * (margin / cosine.max(1.0 / SHARPEST))).to_array()
    };
    let vertices = it.vertices.iter().zip(&firsts).map(farther).collect();
    TriangleMesh { vertices, triangles: it.triangles.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_expand_by_the_margin() {
        let shape = |it: Shape| grown(&it, 0.5);
        let ball = Sphere { center: [1.0, 2.0, 3.0], radius: 2.0 };
        assert_eq!(shape(Shape::Sphere(ball)), Shape::Sphere(Sphere { radius: 2.5, ..ball }));
        let plane = Plane { normal: [0.0, 1.0, 0.0], offset: 1.0 };
        let farther = Plane { offset: 1.5, ..plane };
        assert_eq!(shape(Shape::Convex([plane].into())), Shape::Convex([farther].into()));
        // Skewed box: its faces are 2, 3 and 4 m apart.
        let edges = [[2.0, 0.0, 0.0], [5.0, 3.0, 0.0], [0.0, 0.0, 4.0]];
        let it = Shape::Parallelepiped(Parallelepiped { corner: [0.0; 3], edges });
        let Shape::Parallelepiped(it) = shape(it) else { panic!("a box stays a box") };
        let at = |k: [f32; 3]| {
            let along = |axis: usize| Vec3::from(it.edges[axis]) * k[axis];
            Vec3::from(it.corner) + along(0) + along(1) + along(2)
        };
        let (low, high) = (at([0.0; 3]), at([1.0; 3]));
        assert_eq!((low.y, high.y, low.z, high.z), (-0.5, 3.5, -0.5, 4.5));
        // Sides along the second edge: x - 5 y / 3 is 0 on one of them and 2 on the other.
        let out = |p: Vec3| (p.x - 5.0 / 3.0 * p.y) / (1.0f32 + 25.0 / 9.0).sqrt();
        let side = 2.0 / (1.0f32 + 25.0 / 9.0).sqrt();
        assert!((out(low) + 0.5).abs() < 1e-5 && (out(high) - side - 0.5).abs() < 1e-5);
        let flat = Parallelepiped { corner: [0.0; 3], edges: [[1.0, 0.0, 0.0]; 3] };
        let flat = Shape::Parallelepiped(flat);
        assert_eq!(grown(&flat, 0.5), flat);
        let nearly = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1e-8]];
        let nearly = Parallelepiped { corner: [0.0; 3], edges: nearly };
        let Shape::Parallelepiped(it) = shape(Shape::Parallelepiped(nearly)) else {
            panic!("a box stays a box")
        };
        assert_eq!(it.edges[2], nearly.edges[2]);
        let triangle = TriangleMesh {
            vertices: [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [7.0; 3]].into(),
            triangles: [[0, 1, 2]].into(),
        };
        let Shape::TriangleMesh(it) = shape(Shape::TriangleMesh(triangle)) else {
            panic!("a mesh stays a mesh")
        };
        assert_eq!(*it.vertices, [[0.0, 0.0, 0.5], [1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [7.0; 3]]);
        // A triangulated cube grows to a cube.
        let corner = |k: u32| [0, 1, 2].map(|axis| (k >> axis & 1) as f32);
        let face = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
        let faces =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let cube = TriangleMesh {
            vertices: (0..8).map(corner).collect(),
            triangles: faces.into_iter().flat_map(face).collect(),
        };
        let Shape::TriangleMesh(it) = shape(Shape::TriangleMesh(cube)) else {
            panic!("a mesh stays a mesh")
        };
        for (k, vertex) in (0..).zip(it.vertices.iter()) {
            let expected = corner(k).map(|x| 2.0 * x - 0.5);
            let off = Vec3::from(*vertex) - Vec3::from(expected);
            assert!(off.length() < 1e-5, "{vertex:?} instead of {expected:?}");
        }
        // A seam between two faces at a right angle stays closed, with zeros of either sign.
        let seam = TriangleMesh {
            vertices: [
                [0.0; 3],
                [1.0, 0.0, 0.0],
                [0.0, 1.0, 0.0],
                [1.0, 0.0, -0.0],
                [-0.0, 0.0, 0.0],
                [0.0, 0.0, -1.0],
            ]
            .into(),
            triangles: [[0, 1, 2], [3, 4, 5]].into(),
        };
        let Shape::TriangleMesh(it) = shape(Shape::TriangleMesh(seam)) else {
            panic!("a mesh stays a mesh")
        };
        assert_eq!((it.vertices[0], it.vertices[1]), (it.vertices[4], it.vertices[3]));
        assert!(it.vertices[0][1] < -0.3 && it.vertices[0][2] > 0.3, "{:?}", it.vertices);
    }
}
