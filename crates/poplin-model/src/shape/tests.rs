//! Tests of shapes.

use super::*;
use crate::{Pose, Rigid};

const FLOOR: Plane = Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 };

fn mesh() -> TriangleMesh {
    let vertices = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    TriangleMesh { vertices: vertices.into(), triangles: [[0, 1, 2]].into() }
}

fn near<const N: usize>(a: [f32; N], b: [f32; N]) {
    assert!((0..N).all(|k| (a[k] - b[k]).abs() < 1e-6), "{a:?} is not {b:?}");
}

#[test]
fn backstop_surface_lies_behind_its_point() {
    let ball = Sphere::backstop([1.0, 2.0, 3.0], [0.0, 0.6, -0.8], 0.25, 0.5);
    near(ball.center, [1.0, 1.55, 3.6]);
    // From there along the normal: 0.5 m inside the sphere, 0.25 m to the point.
    let surface = std::array::from_fn(|k| ball.center[k] + ball.radius * [0.0, 0.6, -0.8][k]);
    near(surface, [1.0, 1.85, 3.2]);
}

#[test]
fn cuboid_has_expected_corner_and_edges() {
    assert_eq!(
        Parallelepiped::cuboid([1.0, 2.0, 3.0]).rows(),
        [[-1.0, -2.0, -3.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    );
}

#[test]
fn cylinder_sides_touch_the_round_surface_from_outside() {
    let (half, radii, sides) = (0.4_f32, [0.5_f32, 0.2], 24);
    let shape = Shape::cylinder(half, radii, sides);
    shape.validate().unwrap();
    let Shape::Convex(planes) = shape else { panic!() };
    let height = |x: [f32; 3]| {
        let of = |plane: &Plane| (0..3).map(|k| plane.normal[k] * x[k]).sum::<f32>() - plane.offset;
        planes.iter().map(of).fold(f32::NEG_INFINITY, f32::max)
    };
    for (y, radius) in [(-half, radii[0]), (half, radii[1])] {
        for k in 0..2 * sides {
            let angle = std::f32::consts::PI * k as f32 / sides as f32;
            let far = radius / (std::f32::consts::PI / sides as f32).cos();
            // Alternate directions meet the middle of a side and an edge between two sides.
            let reach = if k % 2 == 0 { radius } else { far };
            let at = |r: f32| height([r * angle.cos(), y * 0.999_999, r * angle.sin()]);
            assert!(at(0.999 * reach) < 0.0 && at(1.001 * reach) > 0.0, "{k}: {reach}");
        }
    }
    assert!(height([0.0, 1.001 * half, 0.0]) > 0.0 && height([0.0, -1.001 * half, 0.0]) > 0.0);
}

#[test]
fn validate_rejects_every_kind_of_damage() {
    let good = [
        Shape::sphere(1.0),
        Shape::capsule(1.0, [0.5, 0.0]),
        Shape::cylinder(1.0, [0.5, 0.0], 3),
        FLOOR.into(),
        Shape::cuboid([1.0; 3]),
        Shape::Convex([FLOOR; 2].into()),
        mesh().into(),
    ];
    good.iter().for_each(|shape| shape.validate().unwrap());
    let broken = [
        Sphere { center: [0.0, 0.0, f32::NAN], radius: 1.0 }.into(),
        Shape::sphere(-0.1),
        Shape::capsule(1.0, [0.5, -0.5]),
        Shape::capsule(f32::INFINITY, [0.5, 0.5]),
        Shape::cylinder(f32::NAN, [0.5, 0.5], 8),
        Shape::cylinder(0.0, [0.5, 0.5], 8),
        Plane { normal: [0.0, 2.0, 0.0], ..FLOOR }.into(),
        Plane { offset: f32::INFINITY, ..FLOOR }.into(),
        Shape::Convex([].into()),
        Shape::Convex([FLOOR, Plane { offset: f32::NAN, ..FLOOR }].into()),
        Shape::cuboid([1.0, f32::NAN, 1.0]),
        TriangleMesh { triangles: [[0, 1, 3]].into(), ..mesh() }.into(),
        TriangleMesh { vertices: [[1e20; 3]; 3].into(), ..mesh() }.into(),
    ];
    for shape in broken {
        assert!(shape.validate().is_err(), "{shape:?}");
    }
}

#[test]
fn placements_scale_rotate_and_translate_shapes() {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let pose = Pose { translation: [1.0, 2.0, 3.0], rotation: [0.0, half, 0.0, half] };
    let at = Placement::new(2.0, Rigid::new(pose));
    let sphere = Shape::from(Sphere { center: [1.0, 0.0, 0.0], radius: 0.5 }).transformed(&at);
    let Shape::Sphere(Sphere { center, radius }) = sphere else { panic!("{sphere:?}") };
    near(center, [1.0, 2.0, 1.0]);
    near([radius], [1.0]);
    // Points with x >= 0.5 are in front; after the transform, those with z <= 3 - 1.
    let plane = Shape::from(Plane { normal: [1.0, 0.0, 0.0], offset: 0.5 }).transformed(&at);
    let Shape::Plane(Plane { normal, offset }) = plane else { panic!("{plane:?}") };
    near(normal, [0.0, 0.0, -1.0]);
    near([offset], [-2.0]);
    let shape = Shape::cuboid([0.5, 1.0, 1.5]).transformed(&at);
    let Shape::Parallelepiped(shape) = shape else { panic!("{shape:?}") };
    near(shape.edges[0], [0.0, 0.0, -2.0]);
    near(shape.edges[2], [6.0, 0.0, 0.0]);
    let Shape::TriangleMesh(moved) = Shape::from(mesh()).transformed(&at) else { panic!() };
    near(moved.vertices[2], [1.0, 4.0, 3.0]);
}
