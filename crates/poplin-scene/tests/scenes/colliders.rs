//! Colliders of scene files.

use poplin_scene::{
    BoxShape, CapsuleShape, ColliderShape, CylinderShape, PlaneShape, Scene, SphereShape,
};

use super::{message, parse, with_collider};

#[test]
fn colliders_of_every_shape_are_read() {
    let shapes = [
        (
            "sphere = { radius = 0.3 }",
            ColliderShape::Sphere(SphereShape { radius: 0.3, center: [0.0; 3] }),
        ),
        (
            "capsule = { from = [0, 0, 0], to = [0, 1, 0], radius = 0.1 }",
            ColliderShape::Capsule(CapsuleShape {
                from: [0.0; 3],
                to: [0.0, 1.0, 0.0],
                radii: [0.1; 2],
            }),
        ),
        (
            "capsule = { from = [0, 0, 0], to = [0, 1, 0], radii = [0.1, 0.05] }",
            ColliderShape::Capsule(CapsuleShape {
                from: [0.0; 3],
                to: [0.0, 1.0, 0.0],
                radii: [0.1, 0.05],
            }),
        ),
        (
            "plane = { normal = [0, 2, 0], offset = -1 }",
            ColliderShape::Plane(PlaneShape { normal: [0.0, 2.0, 0.0], offset: -1.0 }),
        ),
        (
            "[collider.box]\nsize = [1, 2, 3]\ncenter = [0, 1, 0]",
            ColliderShape::Box(BoxShape { size: [1.0, 2.0, 3.0], center: [0.0, 1.0, 0.0] }),
        ),
        (
            "cylinder = { height = 2, radius = 1, top_radius = 0, center = [0, 1, 0], sides = 3 }",
            ColliderShape::Cylinder(CylinderShape {
                height: 2.0,
                radius: 1.0,
                top_radius: Some(0.0),
                center: [0.0, 1.0, 0.0],
                sides: 3,
            }),
        ),
        (
            "convex = { planes = [{ normal = [1, 0, 0] }] }",
            ColliderShape::Convex(vec![PlaneShape { normal: [1.0, 0.0, 0.0], offset: 0.0 }]),
        ),
    ];
    for (lines, shape) in shapes {
        let scene = parse(&with_collider(lines)).unwrap();
        let collider = &scene.colliders[0];
        assert_eq!(
            (collider.name.as_str(), &collider.shape, &collider.cloths),
            ("collider 0", &shape, &None)
        );
        scene.build_colliders().unwrap()[0].shape.validate().unwrap();
    }
}

#[test]
fn the_points_behind_a_plane_are_those_below_its_offset() {
    let scene = parse(&with_collider("plane = { normal = [0, 2, 0], offset = -1 }")).unwrap();
    let shape = &scene.build_colliders().unwrap()[0].shape;
    assert_eq!(*shape, poplin_model::Plane { normal: [0.0, 1.0, 0.0], offset: -1.0 }.into());
}

#[test]
fn a_cylinder_stands_around_its_center() {
    let lines =
        "cylinder = { height = 2, radius = 0.5, center = [3, 1, 0] }\ntransform = { scale = 2 }";
    let scene = parse(&with_collider(lines)).unwrap();
    let shape = &scene.build_colliders().unwrap()[0].shape;
    let poplin_model::Shape::Convex(planes) = shape else { panic!("{shape:?}") };
    assert_eq!(planes.len(), 2 + 32);
    // Its ends are at y = 0 and 4, and x = 7 is on its side.
    let on = |normal: [f32; 3], x: [f32; 3]| {
        let plane = planes.iter().find(|plane| plane.normal == normal).unwrap();
        (0..3).map(|k| normal[k] * x[k]).sum::<f32>() - plane.offset
    };
    assert_eq!(on([0.0, -1.0, 0.0], [6.0, 0.0, 0.0]), 0.0);
    assert_eq!(on([0.0, 1.0, 0.0], [6.0, 4.0, 0.0]), 0.0);
    assert_eq!(on([1.0, 0.0, 0.0], [7.0, 1.0, 0.0]), 0.0);
}

#[test]
fn colliders_follow_their_keys_and_act_on_the_cloths_they_name() {
    let keys = "keys = [{ time = 0 }, { time = 2, translation = [4, 0, 0] }]";
    let lines = format!(
        "friction = 0.5\nsphere = {{ radius = 1 }}\ntransform = {{ translation = [0, 1, 0] }}\n{keys}\ncloths = ['sheet']"
    );
    let built = parse(&with_collider(&lines)).unwrap().build_colliders().unwrap();
    assert_eq!(built[0].rigid_at(1.0).translation.to_array(), [2.0, 0.0, 0.0]);
    let ball = |center| poplin_model::Shape::from(poplin_model::Sphere { center, radius: 1.0 });
    assert_eq!(built[0].shape_at(1.0).unwrap(), ball([2.0, 1.0, 0.0]));
    assert_eq!(built[0].collider_at(1.0).unwrap().friction, 0.5);
    assert!(built[0].acts_on("sheet") && !built[0].acts_on("shirt"));
}

#[test]
fn colliders_spin_about_their_pivot() {
    let drum = |lines: &str| parse(&with_collider(&format!("sphere = {{ radius = 1 }}\n{lines}")));
    let built = drum("pivot = [2, 0, 0]\nspin = [0, 0, 90]").unwrap().build_colliders().unwrap();
    let center = |time| match built[0].shape_at(time).unwrap() {
        poplin_model::Shape::Sphere(sphere) => sphere.center,
        shape => panic!("{shape:?}"),
    };
    for (time, expected) in [(1.0, [2.0, -2.0]), (2.0, [4.0, 0.0]), (401.0, [2.0, -2.0])] {
        let [x, y, _] = center(time);
        assert!((x - expected[0]).abs() + (y - expected[1]).abs() < 1e-5, "{time}: {x} {y}");
    }
    let refused = |lines| drum(lines).unwrap_err().to_string();
    assert!(refused("spin = [0, 0, 90]").ends_with("about which the collider turns"));
    assert!(refused("pivot = [0, 0, 9]").contains("needs `spin` or `keys`"));
    assert!(refused("pivot = [0, 0, 9]\nspin = [4e4, 0, 0]").contains("-36000..=36000"));
    let limit = "collider[0].spin = 10800 is outside 0..=10740 degrees/s";
    assert!(refused("pivot = [0, 0, 9]\nspin = [0, 10800, 0]").ends_with(limit));
    let body = "pivot = [0, 0, 9]\nspin = [0, 9, 0]\nbody = { mass = 1 }";
    assert!(refused(body).contains("`keys` or `spin`"));
    let slow = drum("pivot = [0, 0, 0]\nspin = [0, 700, 0]").unwrap();
    assert!(slow.clone().with_frame_rate(4.0).is_ok());
    let message = slow.with_frame_rate(3.0).unwrap_err().to_string();
    assert!(message.ends_with("collider[0].spin = 700 is outside 0..=537 degrees/s"), "{message}");
}

#[test]
fn a_mesh_collider_is_read_beside_the_scene() {
    let folder = std::env::temp_dir().join(format!("poplin-io-collider-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("quad.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
        .unwrap();
    let text = with_collider("mesh = 'quad.obj'\nopen = true\ntransform = { scale = 3 }");
    std::fs::write(folder.join("scene.toml"), text).unwrap();
    let scene = Scene::load(folder.join("scene.toml")).unwrap();
    let shape = &scene.build_colliders().unwrap()[0].shape;
    let poplin_model::Shape::TriangleMesh(mesh) = shape else { panic!("{shape:?}") };
    assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 2));
    assert_eq!(mesh.vertices[2], [3.0, 3.0, 0.0]);
    std::fs::write(folder.join("quad.obj"), "v 0 0 0\nf 1 2 3\n").unwrap();
    assert!(scene.build_colliders().unwrap_err().to_string().contains("quad.obj:2: "));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_collider_has_exactly_one_shape() {
    let needs = "scene.toml:4:1: collider[0] needs exactly one of `sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` and `mesh`; it has";
    assert_eq!(message(&with_collider("name = 'x'")), format!("{needs} none"));
    assert_eq!(
        message(&with_collider("sphere = { radius = 1 }\nbox = { size = [1, 1, 1] }")),
        format!("{needs} `sphere`, `box`")
    );
    let capsule = |radii: &str| {
        message(&with_collider(&format!("capsule = {{ from = [0, 0, 0], to = [0, 1, 0]{radii} }}")))
    };
    let needs =
        "scene.toml:5:1: collider[0].capsule needs exactly one of `radius` and `radii`; it has";
    assert_eq!(capsule(""), format!("{needs} none"));
    assert_eq!(capsule(", radius = 1, radii = [1, 1]"), format!("{needs} `radius`, `radii`"));
}

#[test]
fn faulty_colliders_are_reported_with_their_line() {
    let sphere = "sphere = { radius = 1 }";
    let cases = [
        (
            "sphere = { radius = -1 }",
            "5:12: collider[0].sphere.radius = -1 is outside 1e-6..=1000000 m",
        ),
        (
            "sphere = { radius = 1, center = [0, nan, 0] }",
            "5:24: collider[0].sphere.center = NaN is outside -1000000..=1000000 m",
        ),
        (
            "capsule = { from = [0, 0, 0], to = [0, 1, 0], radii = [1, 0] }",
            "5:47: collider[0].capsule.radii = 0 is outside 1e-6..=1000000 m",
        ),
        (
            "capsule = { from = [0, 0, inf], to = [0, 1, 0], radius = 1 }",
            "5:13: collider[0].capsule.from = inf is outside -1000000..=1000000 m",
        ),
        (
            "plane = { normal = [0, 0, 0] }",
            "5:11: collider[0].plane.normal has no direction: [0.0, 0.0, 0.0]",
        ),
        (
            "plane = { normal = [0, 1, 0], offset = nan }",
            "5:31: collider[0].plane.offset = NaN is outside -1000000..=1000000 m",
        ),
        ("box = { size = [1, 0, 1] }", "5:9: collider[0].box.size = 0 is outside 1e-6..=1000000 m"),
        (
            "cylinder = { height = 1, radius = 1, sides = 2 }",
            "5:38: collider[0].cylinder.sides = 2 is outside 3..=1024",
        ),
        (
            "cylinder = { height = 1, radius = 1, top_radius = -1 }",
            "5:38: collider[0].cylinder.top_radius = -1 is outside 0..=1000000 m",
        ),
        (
            "convex = { planes = [] }",
            "5:12: collider[0].convex.planes is empty; it needs at least one plane",
        ),
        (
            "[[collider.convex.planes]]\nnormal = [0, 1, 0]\n[[collider.convex.planes]]\nnormal = [0, 0, 0]",
            "8:1: collider[0].convex.planes[1].normal has no direction: [0.0, 0.0, 0.0]",
        ),
        (
            "sphere = { radius = 1 }\nfriction = -1",
            "6:1: collider[0].friction = -1 is outside 0..=100",
        ),
        ("mesh = 'no.obj'", "5:1: collider[0].mesh: there is no file no.obj"),
        (
            "sphere = { radius = 1, centre = [0, 0, 0] }",
            "5:24: unknown key `centre` in [collider.sphere]; did you mean `center`?",
        ),
        (
            "spere = { radius = 1 }",
            "5:1: unknown key `spere` in [[collider]]; did you mean `sphere`?",
        ),
        (
            "plane = { normals = [0, 1, 0] }",
            "5:11: unknown key `normals` in [collider.plane]; did you mean `normal`?",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(message(&with_collider(lines)), format!("scene.toml:{expected}"));
    }
    let cases = [
        (
            "transform = { scale = 0 }",
            "6:15: collider[0].transform.scale = 0 is outside 1e-6..=1000000",
        ),
        (
            "keys = [{ time = 1 }, { time = 1 }]",
            "6:23: collider[0].keys[1]: time 1 s is not after the previous key at 1 s",
        ),
        (
            "keys = [{ time = 0, rotation = [nan, 0, 0] }]",
            "6:21: collider[0].keys[0].rotation = NaN is outside -36000..=36000 degrees",
        ),
        (
            "keys = [{ tim = 0 }]",
            "6:11: unknown key `tim` in [[collider.keys]]; did you mean `time`?",
        ),
        ("cloths = []", "6:1: collider[0].cloths is empty; it needs at least one cloth"),
        ("cloths = ['shet']", "6:11: unknown cloth `shet` in [[collider]]; did you mean `sheet`?"),
        (
            "cloths = ['sheet', 'x']",
            "6:20: unknown cloth `x` in [[collider]]; expected one of `sheet`",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(
            message(&with_collider(&format!("{sphere}\n{lines}"))),
            format!("scene.toml:{expected}")
        );
    }
}

#[test]
fn planes_without_a_common_inside_are_rejected() {
    let convex = |planes: &[([f32; 3], f32)]| {
        let rows = planes
            .iter()
            .map(|(normal, offset)| format!("{{ normal = {normal:?}, offset = {offset} }}, "));
        with_collider(&format!("convex.planes = [{}]", rows.collect::<String>()))
    };
    let [left, right] = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    // An inverted slab; a wedge with a third plane in front of it; a box with one offset of the
    // wrong sign.
    let wedge = [([1.0, 1.0, 0.0], 0.0), ([-1.0, 1.0, 0.0], 0.0)];
    let cube = |offset| {
        let axes = [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], left];
        let mut planes: Vec<_> = axes.map(|normal| (normal, 0.2)).into();
        planes.push((right, offset));
        planes
    };
    let below = ([0.0, -1.0, 0.0], -1.0);
    for planes in [&[(left, -0.5), (right, 0.4)][..], &[wedge[0], wedge[1], below], &cube(-0.3)] {
        let expected = format!(
            "scene.toml:5:8: collider[0].convex.planes is empty: no point is behind all of its {} planes; normals face outwards",
            planes.len()
        );
        let error = parse(&convex(planes)).unwrap_err().to_string();
        assert!(error.starts_with(&expected), "{error}");
    }
    for planes in [
        &[(left, 0.5), (right, 0.4)][..],
        &[(left, -1000.0), (right, 1000.001)],
        &[wedge[0], wedge[1], ([0.0, -1.0, 0.0], 1.0)],
        &[wedge[0], wedge[0]],
        &cube(-0.1),
        &cube(0.2),
    ] {
        parse(&convex(planes)).unwrap();
    }
}
