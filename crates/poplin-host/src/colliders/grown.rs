//! Shapes of rigid bodies as cloth meets them that keeps a distance.

use glam::Vec3;
use poplin_model::{Capsule, Parallelepiped, Plane, Shape, Sphere, TriangleMesh};

/// A shape that reaches farther by a margin \[m\]. Corners and edges of planes and boxes stay sharp, and a mesh goes out along the mean normal of
/// the triangles at each vertex: there it reaches farther than a distance to the shape would, or less far.
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

/// A box whose faces are farther out; as it is along an edge that has no height over the others.
fn grown_box(it: &Parallelepiped, margin: f32) -> Parallelepiped {
    let edges = it.edges.map(Vec3::from);
    let mut corner = Vec3::from(it.corner);
    let mut longer = edges;
    for k in 0..3 {
        let normal = edges[(k + 1) % 3].cross(edges[(k + 2) % 3]).normalize_or_zero();
        let height = edges[k].dot(normal).abs();
        if height > 0.0 {
            let more = edges[k] * (margin / height);
            corner -= more;
            longer[k] += 2.0 * more;
        }
    }
    Parallelepiped { corner: corner.to_array(), edges: longer.map(|edge| edge.to_array()) }
}

fn grown_mesh(it: &TriangleMesh, margin: f32) -> TriangleMesh {
    let mut normals = vec![Vec3::ZERO; it.vertices.len()];
    for corners in it.triangles.iter() {
        let [a, b, c] = corners.map(|corner| Vec3::from(it.vertices[corner as usize]));
        let normal = (b - a).cross(c - a);
        corners.iter().for_each(|&corner| normals[corner as usize] += normal);
    }
    let vertices = it.vertices.iter().zip(normals);
    let farther = |(vertex, normal): (&[f32; 3], Vec3)| {
        (Vec3::from(*vertex) + normal.normalize_or_zero() * margin).to_array()
    };
    TriangleMesh { vertices: vertices.map(farther).collect(), triangles: it.triangles.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_reach_farther_by_the_margin() {
        let shape = |it: Shape| grown(&it, 0.5);
        let ball = Sphere { center: [1.0, 2.0, 3.0], radius: 2.0 };
        assert_eq!(shape(Shape::Sphere(ball)), Shape::Sphere(Sphere { radius: 2.5, ..ball }));
        let plane = Plane { normal: [0.0, 1.0, 0.0], offset: 1.0 };
        let farther = Plane { offset: 1.5, ..plane };
        assert_eq!(shape(Shape::Convex([plane].into())), Shape::Convex([farther].into()));
        // Skewed: faces are 2, 3 and 4 m apart, whatever the edges.
        let edges = [[2.0, 0.0, 0.0], [5.0, 3.0, 0.0], [0.0, 0.0, 4.0]];
        let it = Shape::Parallelepiped(Parallelepiped { corner: [0.0; 3], edges });
        let Shape::Parallelepiped(it) = shape(it) else { panic!("a box stays one") };
        let at = |k: [f32; 3]| {
            let along = |axis: usize| Vec3::from(it.edges[axis]) * k[axis];
            Vec3::from(it.corner) + along(0) + along(1) + along(2)
        };
        let (low, high) = (at([0.0; 3]), at([1.0; 3]));
        assert_eq!((low.y, high.y, low.z, high.z), (-0.5, 3.5, -0.5, 4.5));
        // The sides along the second edge: x - 5 y / 3 is 0 on one of them and 2 on the other.
        let out = |p: Vec3| (p.x - 5.0 / 3.0 * p.y) / (1.0f32 + 25.0 / 9.0).sqrt();
        let side = 2.0 / (1.0f32 + 25.0 / 9.0).sqrt();
        assert!((out(low) + 0.5).abs() < 1e-5 && (out(high) - side - 0.5).abs() < 1e-5);
        let flat = Parallelepiped { corner: [0.0; 3], edges: [[1.0, 0.0, 0.0]; 3] };
        let flat = Shape::Parallelepiped(flat);
        assert_eq!(grown(&flat, 0.5), flat);
        let triangle = TriangleMesh {
            vertices: [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [7.0; 3]].into(),
            triangles: [[0, 1, 2]].into(),
        };
        let Shape::TriangleMesh(it) = shape(Shape::TriangleMesh(triangle)) else {
            panic!("a mesh stays one")
        };
        assert_eq!(*it.vertices, [[0.0, 0.0, 0.5], [1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [7.0; 3]]);
    }
}
