//! Shapes without radius, axis, volume or area, and ties between equally near faces.

use poplin_cpu::{ReferenceEngine, Team};
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{Parallelepiped, Particle};
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;

use super::{after, bumpy_sphere, cloud, distance, is_finite, length, wide};

/// Runs a stage twice; checks that the result is finite and repeats to the bit.
#[track_caller]
fn settled(
    what: &str,
    particles: &[[f32; 4]],
    colliders: ShapeArrays,
    stage: Stage,
) -> Vec<[f32; 4]> {
    let mut cloth = cloud(particles.to_vec());
    cloth.colliders = colliders.to_set().unwrap();
    cloth.config.contact.friction = 0.5;
    cloth.config.contact.continuous = stage == Stage::CollideContinuous;
    cloth.previous_positions = particles.iter().map(|p| [p[0] + 0.01, p[1], p[2] - 0.02]).collect();
    let run = || after(&cloth, StageMask::only(stage), 1, |_| ());
    let (first, second) = (run(), run());
    assert!(is_finite(&first.current) && is_finite(&first.previous), "{what}: {:?}", first.current);
    same_bits(what, &first.current, &second.current).unwrap();
    same_bits(what, &first.previous, &second.previous).unwrap();
    first.current
}

#[test]
fn degenerate_spheres_and_capsules_agree_with_geometry() {
    let here = [0.25, -0.5, 0.75, 2.0];
    let beside = [0.25, -0.4, 0.75, 2.0];
    let around = |p: [f32; 4], radius: f32| [p[0], p[1], p[2], radius];
    let particles = [here, beside];
    for stage in [Stage::CollideShape, Stage::CollideContinuous] {
        let run = |what: &str, spheres: Vec<[f32; 4]>, capsules: Vec<[u32; 2]>| {
            settled(
                &format!("{what}, {}", stage.name()),
                &particles,
                ShapeArrays { spheres, capsules, ..Default::default() },
                stage,
            )
        };
        let lifted =
            |p: [f32; 4], y: f32| (p[1] - y).abs() < 1e-5 && p[0] == here[0] && p[2] == here[2];
        if stage == Stage::CollideShape {
            let got = run("at the center", vec![around(here, 0.3)], vec![]);
            assert_eq!(got[0], here, "at the center there is no exit");
            assert!(lifted(got[1], -0.2), "{got:?}");
            let got = run("coincident spheres", vec![around(here, 0.3); 2], vec![]);
            assert!(lifted(got[1], -0.2), "two equal spheres push as one: {got:?}");
            let got = run("no axis", vec![around(here, 0.3), around(here, 0.3)], vec![[0, 1]]);
            assert!(lifted(got[1], -0.2), "a capsule without an axis is its spheres: {got:?}");
            let inner = [0.25, -0.5, 0.80, 0.05];
            let got =
                run("one sphere inside the other", vec![around(here, 0.3), inner], vec![[0, 1]]);
            assert!(lifted(got[1], -0.2), "the outer sphere does it all: {got:?}");
            let got = run("the other way round", vec![inner, around(here, 0.3)], vec![[0, 1]]);
            assert!(lifted(got[1], -0.2), "the outer sphere does it all: {got:?}");
            let got = run("twice the same end", vec![around(here, 0.3)], vec![[0, 0]]);
            assert!(lifted(got[1], -0.2), "a capsule of one sphere is that sphere: {got:?}");
        }
        assert_eq!(
            run("no radius", vec![around(here, 0.0), around(beside, 0.0)], vec![]),
            particles,
            "no radius keeps nothing out"
        );
        let far = [2.0, -0.5, 0.75, 0.0];
        let got = run("capsule without radius", vec![[-1.0, -0.5, 0.75, 0.0], far], vec![[0, 1]]);
        assert_eq!(got, particles, "a line keeps nothing out");
        // A sharp cone: the radius of the tip is 0.
        let got =
            run("a tip", vec![[0.25, -0.5, 0.75, 0.0], [0.25, -1.5, 0.75, 0.4]], vec![[0, 1]]);
        assert_eq!(got[1], beside, "before the tip");
        run("nearly inside", vec![around(here, 0.3), [0.25, -0.5, 0.75001, 0.29999]], vec![[0, 1]]);
        run("just touching inside", vec![around(here, 0.3), [0.25, -0.5, 0.85, 0.2]], vec![[0, 1]]);
        run("huge", vec![[0.0, -1e6, 0.0, 1e6], [1e5, -1e6, 0.0, 1e3]], vec![[0, 1]]);
        run("tiny", vec![around(beside, 1e-20), [0.25, -0.4, 0.75 + 1e-7, 1e-9]], vec![[0, 1]]);
        run(
            "as far as may be",
            vec![[1e15, 0.0, 0.0, 1e15], [-1e15, 0.0, 0.0, 1e14]],
            vec![[0, 1]],
        );
    }
}

#[test]
fn points_on_the_axis_of_a_capsule_are_not_pushed() {
    let spheres = vec![[-0.5, 0.0, 0.0, 0.2], [0.5, 0.0, 0.0, 0.2]];
    let particles = [[0.1, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]];
    let colliders = ShapeArrays { spheres, capsules: vec![[0, 1]], ..Default::default() };
    assert_eq!(
        settled("axis", &particles, colliders, Stage::CollideShape),
        particles,
        "at the axis there is no exit"
    );
}

#[test]
fn boxes_without_volume_keep_nothing_out() {
    let particles = [[0.0, 0.0, 0.0, 1.0], [0.1, 0.0, 0.1, 1.0]];
    let cases = [
        ("flat in a plane", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]),
        ("without thickness", [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        ("a line", [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.5, 0.0, 0.0]]),
        ("a point", [[0.0; 3]; 3]),
    ];
    for (what, edges) in cases {
        for corner in [[0.0; 3], [-0.4, 0.0, -0.3]] {
            let colliders =
                ShapeArrays { boxes: vec![Parallelepiped { corner, edges }], ..Default::default() };
            assert_eq!(
                settled(what, &particles, colliders, Stage::CollideBox),
                particles,
                "{what}"
            );
        }
    }
    // Very thin, but still a box: out through the near face.
    let thin = Parallelepiped {
        corner: [-1.0, -1e-4, -1.0],
        edges: [[2.0, 0.0, 0.0], [0.0, 4e-4, 0.0], [0.0, 0.0, 2.0]],
    };
    let got = settled(
        "thin",
        &particles,
        ShapeArrays { boxes: vec![thin], ..Default::default() },
        Stage::CollideBox,
    );
    assert!((got[0][1] + 1e-4).abs() < 1e-9, "{got:?}");
    let mirrored = Parallelepiped {
        corner: [1.0, -0.2, -1.0],
        edges: [[-2.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 2.0]],
    };
    let got = settled(
        "left-handed",
        &particles,
        ShapeArrays { boxes: vec![mirrored], ..Default::default() },
        Stage::CollideBox,
    );
    assert!((got[0][1] - 0.1).abs() < 1e-6, "a left-handed box is a box: {got:?}");
}

#[test]
fn triangles_without_area_are_ignored_and_slivers_stay_finite() {
    let particles = [[0.0, -0.1, 0.0, 1.0], [0.2, -0.3, 0.1, 1.0]];
    let mesh = |mesh_vertices: Vec<[f32; 3]>, mesh_triangles: Vec<[u32; 3]>| ShapeArrays {
        mesh_vertices,
        mesh_triangles,
        ..Default::default()
    };
    // Seen from above the floor is counter-clockwise.
    let floor = [[-5.0, 0.0, -5.0], [0.0, 0.0, 9.0], [9.0, 0.0, 0.0]];
    let run = |what: &str, colliders: ShapeArrays| {
        settled(what, &particles, colliders, Stage::CollideTriangle)
    };
    let got = run("floor", mesh(floor.to_vec(), vec![[0, 1, 2]]));
    assert!(got.iter().all(|p| p[1].abs() < 1e-7), "{got:?}");
    // Nearer than the floor, but without area: a repeated corner, a line.
    let with = |extra: [[f32; 3]; 3], triangle: [u32; 3]| {
        let vertices: Vec<_> = floor.into_iter().chain(extra).collect();
        run("floor and a triangle without area", mesh(vertices, vec![triangle, [0, 1, 2]]))
    };
    let line = [[-0.1, -0.1, 0.0], [0.0, -0.1, 0.0], [0.1, -0.1, 0.0]];
    assert_eq!(with(line, [3, 4, 5]), got);
    assert_eq!(with(line, [3, 3, 5]), got);
    assert_eq!(with([[0.0, -0.1, 0.0]; 3], [3, 4, 5]), got);
    assert_eq!(run("only a line", mesh(line.to_vec(), vec![[0, 1, 2]])), particles);
    assert_eq!(
        run("upside down", mesh(floor.to_vec(), vec![[0, 2, 1]])),
        particles,
        "a mesh is one-sided"
    );
    for width in [1e-3, 1e-5, 1e-7, 1e-9, 1e-20, 1e-38] {
        let sliver = vec![[-1.0, 0.0, 0.0], [0.0, 0.0, width], [1.0, 0.0, 0.0]];
        let got = run("sliver", mesh(sliver, vec![[0, 1, 2]]));
        assert!(distance(wide(got[0]), wide(particles[0])) < 0.11, "{width}: {got:?}");
    }
}

#[test]
fn ties_between_faces_resolve_the_same_in_every_run() {
    let center = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]];
    let cube = Parallelepiped::cuboid([0.5; 3]);
    let got = settled(
        "cube",
        &center,
        ShapeArrays { boxes: vec![cube], ..Default::default() },
        Stage::CollideBox,
    );
    assert!(
        (length(wide(got[0])) - 0.5).abs() < 1e-6 && got[0] == got[1],
        "out through one of six faces: {got:?}"
    );
    let (mesh_vertices, mesh_triangles) = bumpy_sphere(1, 0.0, [0.0; 3]);
    let colliders = ShapeArrays { mesh_vertices, mesh_triangles, ..Default::default() };
    let got = settled("ball", &center, colliders, Stage::CollideTriangle);
    assert!(
        length(wide(got[0])) > 0.8 && got[0] == got[1],
        "out through one of the triangles: {got:?}"
    );
}

#[test]
fn ties_between_triangles_go_to_the_first_one() {
    // Two walls that face away from each other; the origin is halfway between them and behind both.
    let wall = |x: f32| [[x, -1.0, -1.0], [x, 2.0, 0.0], [x, -1.0, 1.0]];
    let mesh_vertices = [wall(0.5), wall(-0.5)].concat();
    for (triangles, expected) in [([[0, 1, 2], [3, 5, 4]], 0.5), ([[3, 5, 4], [0, 1, 2]], -0.5)] {
        for last in [-0.4, 0.4] {
            let mut cloth = cloud(vec![[last, 0.0, 0.0, 1.0]; 2]);
            let shapes = ShapeArrays {
                mesh_vertices: mesh_vertices.clone(),
                mesh_triangles: triangles.to_vec(),
                ..Default::default()
            };
            cloth.colliders = shapes.to_set().unwrap();
            let mut engine = ReferenceEngine::new();
            engine.add(cloth).unwrap();
            let mut step = || {
                engine.begin_frame(1.0 / 300.0).unwrap();
                let part = FramePart {
                    stages: StageMask::only(Stage::CollideTriangle),
                    ..FramePart::WHOLE
                };
                engine.run_part(nth_cloth(0), &part, &mut Team::single()).unwrap();
                let x = engine.current(nth_cloth(0))[0].position[0];
                engine
                    .set_state(
                        nth_cloth(0),
                        &[Particle::from([0.0, 0.0, 0.0, 1.0]); 2],
                        &[Particle::from([0.0, 0.0, 0.0, 1.0]); 2],
                    )
                    .unwrap();
                x
            };
            assert_eq!([step(), step()], [0.5 * last.signum(), expected], "coming from {last}");
        }
    }
}
