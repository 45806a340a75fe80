//! Shapes that a collider set rejects: not finite, out of range, above a limit.

use poplin_model::{
    Capsule, Collider, ColliderSet, Parallelepiped, Plane, Pose, Shape, TriangleMesh,
};

const FLOOR: Plane = Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 };

fn ball(center: [f32; 3], radius: f32) -> poplin_model::Sphere {
    poplin_model::Sphere { center, radius }
}

fn tetrahedron(vertices: [[f32; 3]; 4]) -> TriangleMesh {
    let triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]].into();
    TriangleMesh { vertices: vertices.into(), triangles }
}

const CORNERS: [[f32; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

#[test]
fn non_finite_shapes_are_refused_by_name() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e16] {
        let mut cases: Vec<(&str, Shape)> = vec![
            ("sphere (center, radius)", ball([0.0, 0.0, 0.3], value).into()),
            ("plane (normal, offset)", Plane { offset: value, ..FLOOR }.into()),
        ];
        for k in 0..3 {
            let mut center = [0.4, 0.1, 0.0];
            center[k] = value;
            let mut normal = FLOOR.normal;
            normal[k] = value;
            let mut corners = CORNERS;
            corners[k + 1][k] = value;
            let cuboid = Parallelepiped::cuboid([1.0; 3]);
            let mut edges = cuboid.edges;
            edges[1][k] = value;
            cases.extend([
                ("sphere (center, radius)", ball(center, 0.15).into()),
                (
                    "sphere (center, radius)",
                    Capsule { ends: [ball([0.0; 3], 0.3), ball(center, 0.1)] }.into(),
                ),
                ("plane (normal, offset)", Plane { normal, ..FLOOR }.into()),
                (
                    "plane (normal, offset)",
                    Shape::Convex([FLOOR, Plane { normal, ..FLOOR }].into()),
                ),
                ("rows of a box", Parallelepiped { corner: center, ..cuboid }.into()),
                ("rows of a box", Parallelepiped { edges, ..cuboid }.into()),
                (
                    ["mesh vertices[1]", "mesh vertices[2]", "mesh vertices[3]"][k],
                    tetrahedron(corners).into(),
                ),
            ]);
        }
        for (what, shape) in cases {
            let mut set = ColliderSet::new();
            let id = set.add(Shape::sphere(1.0)).unwrap();
            let message = set.add(shape.clone()).unwrap_err().to_string();
            assert!(
                message.contains(what) && message.contains(&format!("{value}")),
                "{what} = {value}: {message}"
            );
            assert_eq!(set.set_shape(id, shape).unwrap_err().to_string(), message);
            let kept: Vec<_> = set.iter().map(|(_, it)| it.shape.clone()).collect();
            assert_eq!(kept, [Shape::sphere(1.0)], "the old colliders stay");
        }
    }
}

#[test]
fn setters_refuse_non_finite_values_and_keep_the_old_shapes() {
    let nan = f32::NAN;
    let mut set = ColliderSet::new();
    let sphere = set.add(Shape::sphere(1.0)).unwrap();
    let mesh = set.add(tetrahedron(CORNERS)).unwrap();
    let before = set.clone();
    let mut vertices = CORNERS;
    vertices[3][1] = nan;
    let triangles = [[0, 1, 7]].into();
    let pose = |x: f32, w: f32| Pose { translation: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, w] };
    let attempts = [
        ("pose translation", set.set_pose(sphere, pose(nan, 1.0))),
        ("pose rotation length", set.set_pose(sphere, pose(0.0, 0.5))),
        ("pose translation", set.teleport(sphere, pose(nan, 1.0))),
        ("sphere (center, radius)", set.set_shape(sphere, ball([0.0, nan, 0.0], 1.0))),
        ("sphere (center, radius)", set.replace_shape(sphere, ball([0.0; 3], nan))),
        ("plane's normal", set.set_shape(sphere, Plane { normal: [0.0; 3], offset: 0.0 })),
        ("a convex's list of planes is empty", set.set_shape(sphere, Shape::Convex([].into()))),
        ("sphere radius", set.set_shape(sphere, Shape::sphere(-0.1))),
        ("mesh vertices[3]", set.set_vertices(mesh, vertices)),
        ("mesh vertices has 1 entries; expected", set.set_vertices(mesh, [[0.0; 3]])),
        (
            "mesh triangles[2] is 7",
            set.set_shape(mesh, TriangleMesh { vertices: [[0.0; 3]; 3].into(), triangles }),
        ),
        ("vertices has 4 entries; expected 0", set.set_vertices(sphere, CORNERS)),
    ];
    for (what, result) in attempts {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(what), "{what}: {message}");
    }
    assert_eq!(set, before);
}

#[test]
fn too_many_shapes_are_refused_with_the_limit() {
    let many = 65_536;
    let cases: [(&str, Shape); 4] = [
        ("spheres: 65537", Shape::sphere(1.0)),
        ("capsules: 65537", Shape::capsule(1.0, [0.5; 2])),
        ("planes and convexes: 65537", FLOOR.into()),
        ("boxes: 65537", Shape::cuboid([1.0; 3])),
    ];
    for (what, shape) in cases {
        let mut set = ColliderSet::new();
        for _ in 0..many {
            set.add(shape.clone()).unwrap();
        }
        let message = set.add(Collider::from(shape)).unwrap_err().to_string();
        assert!(message.contains(what) && message.contains("limit 65536"), "{message}");
        assert_eq!(set.len(), many);
    }
}
