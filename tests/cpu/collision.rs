//! Every collision stage of the mirror against shapes as geometry knows them, in f64, from random and degenerate input.

use poplin_host::{Engine as _, LiveCloth};
use poplin_testkit::nth_cloth;
use std::sync::Arc;

use poplin_cook::{CookOptions, VirtualParticles, cook};
use poplin_gpu::EngineOptions;
use poplin_host::FramePart;
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::{ShapeArrays, cuboid};
use poplin_model::{
    Capsule, Cloth, Collider, ColliderSet, Fabric, Frame, Mesh, Parallelepiped, Particle, Phase,
    PhaseKind, Plane, Pose, Shape, TriangleMesh, VirtualParticle,
};
use poplin_reference::oracle::{
    RoundConeTouch, Sphere, WayOut, coulomb, keep_outside, leave_convex, leave_parallelepiped,
    nearest_triangle, sweep_side, sweep_sphere, touch_round_cone, touch_shapes, weigh_pushed,
};
use poplin_reference::{ReferenceEngine, Team};
use poplin_testkit::adapter::headless;
use poplin_testkit::compare::same_bits;
use poplin_testkit::rng::Rng;

/// Allowance in units of `f32::EPSILON * scale`: some ten roundings at that scale.
const FACTOR: f64 = 32.0;

/// Points nearer than this to where another answer begins are not judged \[m\]: rounding may take them across.
const BOUNDARY: f64 = 1e-5;

type Vec3 = [f64; 3];

fn wide(particle: impl Into<[f32; 4]>) -> Vec3 {
    let p = particle.into();
    [p[0], p[1], p[2]].map(f64::from)
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] - b[k])
}

fn plus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] + b[k])
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn length(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

fn distance(a: Vec3, b: Vec3) -> f64 {
    length(minus(a, b))
}

/// The same shapes with other spheres.
fn with_spheres(shapes: &ShapeArrays, spheres: &[[f32; 4]]) -> ShapeArrays {
    ShapeArrays { spheres: spheres.to_vec(), ..shapes.clone() }
}

fn is_finite(particles: &[[f32; 4]]) -> bool {
    particles.iter().flatten().all(|value| value.is_finite())
}

/// Particles that no edge moves in a collision stage.
fn cloud(particles: Vec<[f32; 4]>) -> Cloth {
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, 1],
        fiber_vertices: vec![0, 1],
        rest_lengths: vec![1.0],
        ..Default::default()
    };
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    // What friction takes off then shows in the previous positions alone.
    cloth.config.contact.friction_holds = false;
    cloth
}

/// Particles after some iterations of some stages, and their previous positions.
struct After {
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
}

/// One frame of `iterations` of some stages of a cloth that was given inputs.
fn after(
    cloth: &Cloth,
    stages: StageMask,
    iterations: u32,
    equip: impl FnOnce(&mut LiveCloth),
) -> After {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    equip(engine.cloth_mut(nth_cloth(0)).unwrap());
    engine
        .begin_frame(&Frame {
            dt: iterations as f32 / cloth.config.solver.as_pbd().unwrap().frequency,
        })
        .unwrap();
    engine
        .run_part(nth_cloth(0), &FramePart { stages, ..FramePart::WHOLE }, &mut Team::single())
        .unwrap();
    assert_eq!(engine.feedback(nth_cloth(0)).iteration_total, iterations);
    After {
        current: Particle::rows(engine.current(nth_cloth(0))).to_vec(),
        previous: Particle::rows(engine.previous(nth_cloth(0))).to_vec(),
    }
}

/// One iteration of one stage.
fn after_stage(cloth: &Cloth, stage: Stage) -> Vec<[f32; 4]> {
    after(cloth, StageMask::only(stage), 1, |_| ()).current
}

#[track_caller]
fn assert_near(what: &str, got: [f32; 4], expected: Vec3, scale: f64) {
    let allowed = FACTOR * f64::from(f32::EPSILON) * scale;
    let error = distance(wide(got), expected);
    assert!(
        error <= allowed,
        "{what}: {got:?} against {expected:?}: {error:e} above {FACTOR} eps x {scale}"
    );
}

/// Counts what a test looks at, so that one that looks at nothing does not pass.
#[derive(Debug, Default)]
struct Judged {
    seen: usize,
    judged: usize,
    pushed: usize,
}

impl Judged {
    /// Whether a sample this far from where another answer begins is judged.
    fn takes(&mut self, clearance: f64) -> bool {
        self.seen += 1;
        self.judged += usize::from(clearance > BOUNDARY);
        clearance > BOUNDARY
    }

    fn note_push(&mut self, is_pushed: bool) {
        self.pushed += usize::from(is_pushed);
    }

    /// Most samples must be judged, and some fraction of them be pushed at all.
    #[track_caller]
    fn assert_most(&self, what: &str, pushed: f64) {
        eprintln!("{what}: {self:?}");
        assert!(self.judged * 20 >= self.seen * 19, "{what}: too few are judged: {self:?}");
        assert!(
            self.pushed as f64 >= pushed * self.judged as f64,
            "{what}: too few touch anything: {self:?}"
        );
    }
}

fn random_particle(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) }]
}

fn random_particles(rng: &mut Rng, count: usize) -> Vec<[f32; 4]> {
    (0..count).map(|_| random_particle(rng)).collect()
}

fn random_sphere(rng: &mut Rng, radius: f32) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, rng.range(0.0, radius)]
}

fn spheres_of(rows: &[[f32; 4]]) -> Vec<Sphere> {
    rows.iter().map(|&row| (wide(row), f64::from(row[3]))).collect()
}

fn capsules_of(pairs: &[[u32; 2]]) -> Vec<[usize; 2]> {
    pairs.iter().map(|pair| pair.map(|end| end as usize)).collect()
}

/// Scale of the rounding of spheres and capsules for a point: numbers up to 4, and the squared distance to center or axis, of
/// coordinates up to 4 and guarded by EPSILON, which rotates the push the more the nearer the point is to them.
fn shape_scale(x: Vec3, spheres: &[Sphere], capsules: &[[usize; 2]]) -> f64 {
    let of_point = |center: Vec3, radius: f64| radius / distance(x, center).powi(2);
    let spheres_scale: f64 =
        spheres.iter().filter(|s| distance(x, s.0) < s.1).map(|s| of_point(s.0, s.1)).sum();
    let of_capsule = |&[a, b]: &[usize; 2]| {
        let touch = touch_round_cone(x, spheres[a], spheres[b]);
        let [axis, d] = [minus(spheres[b].0, spheres[a].0), minus(x, spheres[a].0)];
        let across = dot(d, d) - dot(d, axis).powi(2) / dot(axis, axis).max(1e-30);
        let side =
            dot(axis, axis) / (dot(axis, axis) - (spheres[b].1 - spheres[a].1).powi(2)).max(1e-30);
        if touch.distance < 0.0 {
            side * (1.0 + dot(d, d)) * spheres[a].1.max(spheres[b].1) / across.max(1e-30)
        } else {
            0.0
        }
    };
    4.0 + spheres_scale + capsules.iter().map(of_capsule).sum::<f64>()
}

// ---- one shape after the other ----

#[test]
fn a_sphere_pushes_to_its_surface_whatever_the_mass() {
    let mut rng = Rng::new(101);
    let mut judged = Judged::default();
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let sphere = random_sphere(&mut rng, 1.5);
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let expected = keep_outside(wide(particle), wide(sphere), f64::from(sphere[3]));
            let scale = shape_scale(wide(particle), &spheres_of(&[sphere]), &[]);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            assert_eq!(got[i][3], particle.inverse_mass, "without mass scale masses stay");
            judged.takes(1.0);
            judged.note_push(expected != wide(particle));
        }
    }
    judged.assert_most("spheres", 0.1);
}

#[test]
fn a_capsule_pushes_to_the_hull_of_its_spheres_by_the_shortest_way() {
    let mut rng = Rng::new(103);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let rows = vec![random_sphere(&mut rng, 0.9), random_sphere(&mut rng, 0.9)];
        let [a, b] = [spheres_of(&rows)[0], spheres_of(&rows)[1]];
        if distance(a.0, b.0) - (a.1 - b.1).abs() < 0.02 {
            // One sphere nearly holds the other: the side is a point.
            continue;
        }
        let shapes = ShapeArrays { spheres: rows, capsules: vec![[0, 1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let touch = touch_round_cone(wide(particle), a, b);
            let is_inside = touch.distance < 0.0;
            if judged.takes(if is_inside { touch.clearance } else { touch.distance }) {
                let scale = shape_scale(wide(particle), &[a, b], &[[0, 1]]);
                let expected = plus(wide(particle), touch.push);
                assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
                judged.note_push(is_inside);
            }
        }
    }
    judged.assert_most("capsules", 0.1);
}

#[test]
fn overlapping_spheres_and_branching_capsules_push_by_their_mean() {
    let mut rng = Rng::new(107);
    let mut judged = Judged::default();
    let mut several = 0;
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let rows: Vec<_> = (0..6).map(|_| random_sphere(&mut rng, 0.6)).collect();
        // A chain of two, a branch, one capsule between the two ends of another, a free sphere.
        let pairs = vec![[0, 1], [1, 2], [1, 3], [4, 0], [2, 4]];
        let (spheres, capsules) = (spheres_of(&rows), capsules_of(&pairs));
        let gap = |&[a, b]: &[usize; 2]| {
            (distance(spheres[a].0, spheres[b].0) - (spheres[a].1 - spheres[b].1).abs()).abs()
        };
        if capsules.iter().any(|capsule| gap(capsule) < 0.02) {
            continue;
        }
        let shapes = ShapeArrays { spheres: rows, capsules: pairs, ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let found = touch_shapes(wide(particle), &spheres, &capsules);
            if judged.takes(found.clearance) {
                let scale = shape_scale(wide(particle), &spheres, &capsules);
                assert_near(
                    &format!("round {round} particle {i}"),
                    got[i],
                    plus(wide(particle), found.mean()),
                    scale,
                );
                judged.note_push(!found.touches.is_empty());
                several += usize::from(found.touches.len() > 1);
            }
        }
    }
    judged.assert_most("branching capsules", 0.1);
    assert!(several > 100, "only {several} touched several shapes");
}

fn unit(v: Vec3) -> Vec3 {
    let length = length(v);
    v.map(|x| x / length)
}

/// A half-space whose front is at `height` from the origin.
fn random_plane(rng: &mut Rng, height: f32) -> [f32; 4] {
    let normal = unit(rng.point(-1.0, 1.0).map(f64::from)).map(|x| x as f32);
    [normal[0], normal[1], normal[2], -height]
}

#[test]
fn convexes_push_through_their_nearest_plane() {
    let mut rng = Rng::new(109);
    let mut judged = Judged::default();
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let planes: Vec<_> = (0..8)
            .map(|_| {
                let height = rng.range(-0.1, 1.0);
                random_plane(&mut rng, height)
            })
            .collect();
        // Planes are shared, and one stands alone.
        let convexes = vec![vec![0, 1, 2, 3, 4], vec![4, 5, 6], vec![7]];
        let shapes = ShapeArrays {
            planes: planes.clone(),
            convexes: convexes.clone(),
            ..Default::default()
        };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideConvex);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let of_convex = |convex: &Vec<u32>| {
                let own: Vec<_> =
                    convex.iter().map(|&plane| planes[plane as usize].map(f64::from)).collect();
                let height = own
                    .iter()
                    .map(|p| dot([p[0], p[1], p[2]], wide(particle)) + p[3])
                    .fold(f64::MIN, f64::max);
                (leave_convex(wide(particle), &own), height.abs())
            };
            judge_exits(
                &mut judged,
                &format!("round {round} particle {i}"),
                got[i],
                particle.into(),
                convexes.iter().map(of_convex),
            );
        }
    }
    judged.assert_most("convexes", 0.3);
}

/// Compares a particle with the mean of the pushes out of shapes, each with its distance to the shape's surface.
#[track_caller]
fn judge_exits(
    judged: &mut Judged,
    what: &str,
    got: [f32; 4],
    particle: [f32; 4],
    exits: impl Iterator<Item = (Option<WayOut>, f64)>,
) {
    let (mut sum, mut count, mut clearance) = ([0.0; 3], 0, f64::INFINITY);
    for (exit, surface) in exits {
        clearance = clearance.min(surface);
        if let Some(exit) = exit {
            sum = plus(sum, exit.push);
            clearance = clearance.min(exit.clearance);
            count += 1;
        }
    }
    if judged.takes(clearance) {
        let expected = plus(wide(particle), sum.map(|x| x / f64::from(count.max(1))));
        assert_near(what, got, expected, 4.0);
        judged.note_push(count > 0);
    }
}

/// A skewed box whose faces are not thin: a face normal is a cross product, which loses digits there.
fn random_box(rng: &mut Rng) -> Parallelepiped {
    loop {
        let shape = Parallelepiped {
            corner: rng.point(-1.0, 0.5),
            edges: [(); 3].map(|()| rng.point(-1.5, 1.5)),
        };
        let [a, b, c] = shape.edges.map(|edge| edge.map(f64::from));
        let has_wide_faces =
            [(a, b), (b, c), (c, a)].iter().all(|&(p, q)| length(cross(p, q)) > 0.3);
        if has_wide_faces && dot(a, cross(b, c)).abs() > 0.3 {
            return shape;
        }
    }
}

#[test]
fn boxes_push_through_their_nearest_face_however_skewed() {
    let mut rng = Rng::new(113);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let boxes: Vec<_> = (0..1 + rng.index(3)).map(|_| random_box(&mut rng)).collect();
        let shapes = ShapeArrays { boxes: boxes.clone(), ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideBox);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let exits = boxes.iter().map(|shape| {
                let edges = shape.edges.map(|edge| edge.map(f64::from));
                let exit = leave_parallelepiped(wide(particle), shape.corner.map(f64::from), edges);
                // Near the surface of a single box the exit is short, and nothing jumps; of several the count does.
                (
                    exit,
                    if boxes.len() > 1 { exit.map_or(1.0, |exit| length(exit.push)) } else { 1.0 },
                )
            });
            let what = format!("round {round} particle {i}");
            judge_exits(&mut judged, &what, got[i], particle.into(), exits);
        }
    }
    judged.assert_most("boxes", 0.05);
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
}

fn wide_points(vertices: &[[f32; 3]]) -> Vec<Vec3> {
    vertices.iter().map(|v| v.map(f64::from)).collect()
}

#[test]
fn the_mesh_pushes_to_the_plane_of_the_nearest_triangle_from_behind_only() {
    let mut rng = Rng::new(127);
    let mut judged = Judged::default();
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let vertices: Vec<_> = (0..9).map(|_| rng.point(-1.0, 1.0)).collect();
        let corner = |rng: &mut Rng| rng.index(vertices.len()) as u32;
        // Loose triangles, some with a corner twice: no mesh that means anything, but all that can be.
        let triangles: Vec<[u32; 3]> =
            (0..1 + rng.index(20)).map(|_| std::array::from_fn(|_| corner(&mut rng))).collect();
        let shapes = ShapeArrays {
            mesh_vertices: vertices.clone(),
            mesh_triangles: triangles.clone(),
            ..Default::default()
        };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideTriangle);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let nearest =
                nearest_triangle(wide(particle), &wide_points(&vertices), &triangles, 1e-5);
            let (push, clearance) = nearest
                .map_or(([0.0; 3], 1.0), |(_, closest, clearance)| (closest.push(), clearance));
            if judged.takes(clearance) {
                // Slivers lose digits in their normal.
                let scale = 4.0
                    + nearest
                        .map_or(0.0, |(number, ..)| sliver_scale(&vertices, triangles[number]));
                assert_near(
                    &format!("round {round} particle {i}"),
                    got[i],
                    plus(wide(particle), push),
                    scale,
                );
                judged.note_push(push != [0.0; 3]);
            }
        }
    }
    // Where two triangles meet a nearest point is often of both.
    eprintln!("triangles: {judged:?}");
    assert!(
        judged.judged * 10 > judged.seen * 8 && judged.pushed * 4 > judged.judged,
        "{judged:?}"
    );
}

/// Rounding of a triangle's unit normal times sizes of 4, against that of a well-shaped triangle.
fn sliver_scale(vertices: &[[f32; 3]], triangle: [u32; 3]) -> f64 {
    let [a, b, c] = triangle.map(|vertex| vertices[vertex as usize].map(f64::from));
    let area = length(cross(minus(b, a), minus(c, a)));
    let side = length(minus(b, a)).max(length(minus(c, a)));
    4.0 * side * side / area.max(1e-30)
}

/// A random shape of every kind that leaves the origin's surroundings to be pushed.
fn every_shape() -> ShapeArrays {
    let (mesh_vertices, mesh_triangles) = bumpy_sphere(2, 0.3, [0.7, 0.0, 0.5]);
    ShapeArrays {
        spheres: vec![[0.0, 0.0, 0.0, 0.3], [0.4, 0.1, 0.0, 0.15], [-0.5, 0.2, 0.3, 0.2]],
        capsules: vec![[0, 1]],
        planes: vec![[0.0, 1.0, 0.0, 0.6], [0.6, 0.8, 0.0, 0.7]],
        convexes: vec![vec![0], vec![1]],
        boxes: vec![cuboid(
            Pose { translation: [-0.4, -0.3, -0.4], ..Default::default() },
            [0.2, 0.1, 0.3],
        )],
        mesh_vertices,
        mesh_triangles,
        ..Default::default()
    }
}

// ---- degenerate shapes ----

/// Runs a stage twice: finite, and the same bits.
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
fn degenerate_spheres_and_capsules_do_what_geometry_says() {
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
        // A sharp cone: the tip has no radius.
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
fn at_the_axis_of_a_capsule_the_result_stays_within_the_capsule() {
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
    // Very thin, but a box: out through the near face.
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
    // Nearer than the floor, but without area: a corner twice, a line.
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
fn a_point_at_equal_distances_is_pushed_the_same_in_every_run() {
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
fn of_two_equally_near_triangles_the_first_pushes_whichever_was_nearest_before() {
    // Two walls that face away from each other, the origin halfway between, behind both.
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
                engine.begin_frame(&Frame { dt: 1.0 / 300.0 }).unwrap();
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

// ---- what is refused ----

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
fn shapes_that_are_not_finite_are_refused_with_what_they_are() {
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
fn setters_refuse_what_is_not_finite_and_keep_the_old_shapes() {
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

// ---- many shapes ----

/// 300 spheres in 100 chains of three with a capsule between neighbours, and 80 capsules between any two.
fn crowd(rng: &mut Rng) -> (Vec<[f32; 4]>, Vec<[u32; 2]>) {
    let mut rows = Vec::new();
    for _ in 0..100 {
        let mut center = rng.point(-1.0, 1.0);
        for _ in 0..3 {
            rows.push([center[0], center[1], center[2], rng.range(0.02, 0.09)]);
            let step = rng.point(-0.2, 0.2);
            center = std::array::from_fn(|k| center[k] + step[k]);
        }
    }
    let mut pairs: Vec<[u32; 2]> = (0..100)
        .flat_map(|chain| [[3 * chain, 3 * chain + 1], [3 * chain + 1, 3 * chain + 2]])
        .collect();
    pairs.extend((0..80).map(|_| [(); 2].map(|()| rng.index(300) as u32)));
    (rows, pairs)
}

#[test]
fn among_hundreds_of_shapes_none_is_missed() {
    let mut rng = Rng::new(131);
    let mut judged = Judged::default();
    for _ in 0..3 {
        let (rows, pairs) = crowd(&mut rng);
        let mut cloth = cloud(random_particles(&mut rng, 300));
        let (spheres, capsules) = (spheres_of(&rows), capsules_of(&pairs));
        let shapes = ShapeArrays { spheres: rows, capsules: pairs, ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let found = touch_shapes(wide(particle), &spheres, &capsules);
            if judged.takes(found.clearance) {
                let error = distance(wide(got[i]), plus(wide(particle), found.mean()));
                let allowed = 1e-6f64.max(
                    FACTOR
                        * f64::from(f32::EPSILON)
                        * shape_scale(wide(particle), &spheres, &capsules),
                );
                assert!(
                    error <= allowed,
                    "particle {i}: {error:e} m above {allowed:e} m, {found:?}"
                );
                judged.note_push(!found.touches.is_empty());
            }
        }
    }
    judged.assert_most("crowd", 0.1);
}

#[test]
fn among_hundreds_of_moving_shapes_none_is_missed() {
    let mut rng = Rng::new(137);
    let mut judged = Judged::default();
    let iterations = 5;
    let (rows, pairs) = crowd(&mut rng);
    let target: Vec<[f32; 4]> = rows
        .iter()
        .map(|row| {
            let step = rng.point(-0.3, 0.3);
            [
                row[0] + step[0],
                row[1] + step[1],
                row[2] + step[2],
                (row[3] + rng.range(-0.02, 0.02)).max(0.0),
            ]
        })
        .collect();
    let mut cloth = cloud(random_particles(&mut rng, 600));
    let capsules = capsules_of(&pairs);
    let shapes = ShapeArrays { spheres: rows.clone(), capsules: pairs, ..Default::default() };
    cloth.colliders = shapes.to_set().unwrap();
    let got = after(&cloth, StageMask::only(Stage::CollideShape), iterations, |host| {
        with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
    })
    .current;
    let at = |fraction: f64| -> Vec<Sphere> {
        let both = spheres_of(&rows).into_iter().zip(spheres_of(&target));
        both.map(|(a, b)| {
            (plus(a.0, minus(b.0, a.0).map(|x| x * fraction)), a.1 + (b.1 - a.1) * fraction)
        })
        .collect()
    };
    let steps: Vec<_> =
        (1..=iterations).map(|k| at(f64::from(k) / f64::from(iterations))).collect();
    for (i, &particle) in cloth.particles.iter().enumerate() {
        let (mut x, mut clearance, mut scale, mut touches) =
            (wide(particle), f64::INFINITY, 0.0, 0);
        for spheres in &steps {
            let found = touch_shapes(x, spheres, &capsules);
            scale += shape_scale(x, spheres, &capsules);
            clearance = clearance.min(found.clearance);
            touches += found.touches.len();
            x = plus(x, found.mean());
        }
        if judged.takes(clearance) {
            // What one iteration rounds the next one carries on, at most rotated.
            assert_near(&format!("particle {i}"), got[i], x, scale);
            judged.note_push(touches > 0);
        }
    }
    judged.assert_most("moving crowd", 0.1);
}

#[test]
fn shapes_far_away_change_nothing() {
    let mut rng = Rng::new(139);
    for stage in [Stage::CollideShape, Stage::CollideContinuous] {
        let mut cloth = cloud(random_particles(&mut rng, 400));
        cloth.config.contact.friction = 0.4;
        cloth.config.contact.continuous = stage == Stage::CollideContinuous;
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.4, 0.4)))
            .collect();
        let near = |shift: f32| {
            vec![[shift, 0.0, 0.0, 0.4], [0.5, 0.2 + shift, 0.0, 0.2], [-0.4, -0.3, 0.4, 0.3]]
        };
        let far: Vec<_> = (0..300).map(|k| [50.0 + k as f32, -20.0, 10.0, 1.0]).collect();
        let far_pairs: Vec<_> = (3..302).map(|k| [k, k + 1]).collect();
        let with = |rows: Vec<[f32; 4]>| [rows, far.clone()].concat();
        let run = |spheres: [Vec<[f32; 4]>; 2], capsules: Vec<[u32; 2]>| {
            let mut cloth = cloth.clone();
            let [start, target] = spheres;
            let shapes = ShapeArrays { spheres: start, capsules, ..Default::default() };
            cloth.colliders = shapes.to_set().unwrap();
            let stages = StageMask::only(stage);
            after(&cloth, stages, 3, |host| {
                with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
            })
        };
        let few = run([near(0.0), near(0.1)], vec![[0, 1]]);
        let many = run([with(near(0.0)), with(near(0.1))], [vec![[0, 1]], far_pairs].concat());
        // Sums may be in another order.
        poplin_testkit::compare::close("current", &few.current, &many.current, 8.0, 1.0).unwrap();
        poplin_testkit::compare::close("previous", &few.previous, &many.previous, 8.0, 1.0)
            .unwrap();
        let moved = few
            .current
            .iter()
            .zip(Particle::rows(&cloth.particles))
            .filter(|(a, b)| a != b)
            .count();
        assert!(moved > 20, "{}: {moved} moved", stage.name());
    }
}

// ---- a large mesh ----

/// A closed sphere of radius 1 with bumps of `height` \[m\], by splitting the 20 triangles of an icosahedron `splits` times.
fn bumpy_sphere(splits: u32, height: f64, center: [f32; 3]) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let phi = (1.0 + 5f64.sqrt()) / 2.0;
    let mut points: Vec<Vec3> = Vec::new();
    for (a, b) in [(1.0, phi), (-1.0, phi), (1.0, -phi), (-1.0, -phi)] {
        points.extend([[0.0, a, b], [a, b, 0.0], [b, 0.0, a]]);
    }
    points.iter_mut().for_each(|p| *p = unit(*p));
    let mut triangles: Vec<[u32; 3]> = Vec::new();
    for a in 0..12u32 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                let [p, q, r] = [a, b, c].map(|i| points[i as usize]);
                if [distance(p, q), distance(q, r), distance(r, p)].iter().all(|side| *side < 1.1) {
                    let is_outward = dot(cross(minus(q, p), minus(r, p)), p) > 0.0;
                    triangles.push(if is_outward { [a, b, c] } else { [a, c, b] });
                }
            }
        }
    }
    for _ in 0..splits {
        let mut middles = std::collections::HashMap::new();
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let mut middle = |p: u32, q: u32| {
                    *middles.entry([p.min(q), p.max(q)]).or_insert_with(|| {
                        points.push(unit(plus(points[p as usize], points[q as usize])));
                        points.len() as u32 - 1
                    })
                };
                let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    let bumps =
        |p: Vec3| 1.0 + height * ((7.0 * p[0]).sin() * (6.0 * p[1]).cos() + (5.0 * p[2]).sin());
    let vertices = points
        .iter()
        .map(|&p| std::array::from_fn(|k| (p[k] * bumps(p)) as f32 + center[k]))
        .collect();
    (vertices, triangles)
}

#[test]
fn in_a_mesh_of_eighty_thousand_triangles_the_nearest_is_found_also_after_it_moved() {
    let mut rng = Rng::new(149);
    let (vertices, triangles) = bumpy_sphere(6, 0.08, [0.0; 3]);
    assert_eq!(triangles.len(), 81_920);
    // Half of the points near the surface, half anywhere, some of them outside.
    let points: Vec<[f32; 4]> = (0..60)
        .map(|k| {
            let [x, y, z] = rng.point(-1.0, 1.0);
            let factor = if k % 2 == 0 { 0.97 / (x * x + y * y + z * z).sqrt() } else { 1.0 };
            [x * factor, y * factor, z * factor, 1.0]
        })
        .collect();
    let mut cloth = cloud(points.clone());
    let shapes = ShapeArrays {
        mesh_vertices: vertices.clone(),
        mesh_triangles: triangles.clone(),
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    // Rotated, squeezed and shifted: the old tree's boxes fit nothing any more.
    let moved: Vec<[f32; 3]> =
        vertices.iter().map(|&[x, y, z]| [0.8 * y + 0.1, -x, 1.2 * z - 0.05]).collect();

    let mut engine = ReferenceEngine::new();
    engine.add(cloth).unwrap();
    let mut judged = Judged::default();
    for (round, vertices) in [&vertices, &moved].into_iter().enumerate() {
        let shapes = ShapeArrays { mesh_vertices: vertices.clone(), ..shapes.clone() };
        shapes.reach(engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut()).unwrap();
        // The second set is a target: its start is the first, and the search begins with what was nearest there.
        engine
            .set_state(nth_cloth(0), Particle::from_rows(&points), Particle::from_rows(&points))
            .unwrap();
        engine.begin_frame(&Frame { dt: 1.0 / 300.0 }).unwrap();
        engine
            .run_part(
                nth_cloth(0),
                &FramePart { stages: StageMask::only(Stage::CollideTriangle), ..FramePart::WHOLE },
                &mut Team::single(),
            )
            .unwrap();
        let corners = wide_points(vertices);
        for (i, &point) in points.iter().enumerate() {
            let (_, closest, clearance) =
                nearest_triangle(wide(point), &corners, &triangles, 1e-5).unwrap();
            if judged.takes(clearance.max(0.0)) {
                let expected = plus(wide(point), closest.push());
                // Edges of 0.02 m at coordinates of 1 m: the normal's error is 1/0.02 of a coordinate's.
                assert_near(
                    &format!("round {round} point {i}"),
                    engine.current(nth_cloth(0))[i].into(),
                    expected,
                    4.0 + closest.height.abs() / 0.005,
                );
                judged.note_push(closest.height < 0.0);
            }
        }
    }
    eprintln!("large mesh: {judged:?}");
    assert!(
        judged.judged * 10 > judged.seen * 7 && judged.pushed * 3 > judged.judged,
        "{judged:?}"
    );
}

// ---- friction and weight ----

/// A shape that the origin is in.
struct Sliding {
    what: &'static str,
    stage: Stage,
    /// Where the shape is at the end of the frame.
    target: ShapeArrays,
    /// Its displacement in the frame \[m\].
    shift: [f32; 3],
}

/// A shape of each kind that pushes the origin up by 0.05 m, and a plane.
fn sliding_shapes() -> [Sliding; 5] {
    let block = cuboid(Pose { translation: [0.0, -0.45, 0.0], ..Default::default() }, [0.5; 3]);
    let floor = ShapeArrays {
        mesh_vertices: vec![[-5.0, 0.05, -5.0], [0.0, 0.05, 9.0], [9.0, 0.05, 0.0]],
        mesh_triangles: vec![[0, 1, 2]],
        ..Default::default()
    };
    let sphere = ShapeArrays { spheres: vec![[0.0, -0.25, 0.0, 0.3]], ..Default::default() };
    let capsule = ShapeArrays {
        spheres: vec![[-1.0, -0.25, 0.0, 0.3], [1.0, -0.25, 0.0, 0.3]],
        capsules: vec![[0, 1]],
        ..Default::default()
    };
    let convex = ShapeArrays {
        planes: vec![[0.6, 0.8, 0.0, 0.1]],
        convexes: vec![vec![0]],
        ..Default::default()
    };
    let shift = [0.01, 0.02, -0.015];
    [
        Sliding { what: "sphere", stage: Stage::CollideShape, target: sphere, shift },
        Sliding { what: "capsule", stage: Stage::CollideShape, target: capsule, shift },
        Sliding {
            what: "box",
            stage: Stage::CollideBox,
            target: ShapeArrays { boxes: vec![block], ..Default::default() },
            shift,
        },
        Sliding { what: "triangle", stage: Stage::CollideTriangle, target: floor, shift },
        // A plane has no position along itself: it moves along its normal only, which does not slide.
        Sliding { what: "convex", stage: Stage::CollideConvex, target: convex, shift: [0.0; 3] },
    ]
}

fn shifted(colliders: &ShapeArrays, shift: [f32; 3]) -> ShapeArrays {
    let mut moved = colliders.clone();
    let by = |p: &mut [f32]| p.iter_mut().zip(shift).for_each(|(x, s)| *x += s);
    moved.spheres.iter_mut().for_each(|row| by(&mut row[..3]));
    moved.boxes.iter_mut().for_each(|shape| by(&mut shape.corner));
    moved.mesh_vertices.iter_mut().for_each(|vertex| by(vertex));
    moved
}

#[test]
fn friction_is_coulombs_law_for_every_kind_of_moving_shape() {
    let mut rng = Rng::new(151);
    let (mut stuck, mut slid) = (0, 0);
    for Sliding { what, stage, target, shift } in sliding_shapes() {
        let shape_way = shift.map(f64::from);
        let start = shifted(&target, shift.map(|x| -x));
        for round in 0..60 {
            let friction = rng.range(0.0, 2.0);
            let pushed = if what == "convex" { rng.point(-0.3, -0.2) } else { [0.0; 3] };
            let particle =
                [pushed[0], pushed[1], pushed[2], if round % 5 == 0 { 0.0 } else { 2.0 }];
            let mut cloth = cloud(vec![particle; 2]);
            let displacement = rng.point(-0.2, 0.2);
            let before: [f32; 3] = std::array::from_fn(|k| particle[k] - displacement[k]);
            cloth.previous_positions = vec![before; 2];
            cloth.colliders = start.to_set().unwrap();
            cloth.config.contact.friction = friction;
            let factor = [0.0, 0.5, 1.0, 3.0][round % 4];
            let id = cloth.colliders.iter().next().unwrap().0;
            cloth.colliders.set_friction(id, factor).unwrap();
            let got = after(&cloth, StageMask::only(stage), 1, |host| {
                let set = host.colliders_mut();
                target.reach(set).unwrap();
                // Shapes of other kinds come first in the list of factors.
                for shape in [
                    Shape::sphere(1.0),
                    Shape::capsule(1.0, [1.0; 2]),
                    Shape::cylinder(1.0, [1.0; 2], 3),
                    Shape::cuboid([1.0; 3]),
                ] {
                    let pose = Pose { translation: [100.0, 0.0, 0.0], ..Pose::default() };
                    set.add(Collider { pose, friction: 7.0, ..Collider::from(shape) }).unwrap();
                }
            });
            let friction = friction * factor;
            let push = if what == "convex" {
                let plane: [f64; 4] = target.planes[0].map(f64::from);
                leave_convex(wide(particle), &[plane]).unwrap().push
            } else {
                [0.0, 0.05, 0.0]
            };
            assert_near(what, got.current[0], plus(wide(particle), push), 2.0);
            let sliding = minus(wide(particle), before.map(f64::from));
            let slide = coulomb(sliding, shape_way, push, 1, friction.into());
            assert_near(
                &format!("{what} {round}, friction {friction}"),
                got.previous[0],
                plus(before.map(f64::from), slide),
                2.0,
            );
            assert_eq!(got.previous[0][3], particle[3], "the user's mass stays");
            let full = coulomb(sliding, shape_way, push, 1, 1e9);
            if length(full) - length(slide) < 1e-9 { stuck += 1 } else { slid += 1 }
        }
    }
    eprintln!("friction: {stuck} stuck, {slid} slid");
    assert!(stuck > 20 && slid > 20, "both must be tried: {stuck} {slid}");
}

#[test]
fn friction_of_several_shapes_takes_the_mean_push_and_way_and_the_largest_factor() {
    let mut rng = Rng::new(157);
    let mut judged = Judged::default();
    for round in 0..200 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let rows: Vec<_> = (0..5).map(|_| random_sphere(&mut rng, 0.9)).collect();
        let target: Vec<[f32; 4]> = rows
            .iter()
            .map(|row| {
                let step = rng.point(-0.05, 0.05);
                [row[0] + step[0], row[1] + step[1], row[2] + step[2], row[3]]
            })
            .collect();
        let pairs = vec![[0, 1]];
        let (before, now, capsules) = (spheres_of(&rows), spheres_of(&target), capsules_of(&pairs));
        if distance(now[0].0, now[1].0) - (now[0].1 - now[1].1).abs() < 0.02 {
            continue;
        }
        let shapes = ShapeArrays { spheres: rows, capsules: pairs, ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        cloth.config.contact.friction = rng.range(0.0, 1.0);
        // Three spheres, then the capsule over the first two rows.
        let factors = [0, 1, 2, 3].map(|_| [0.25, 0.5, 1.0, 1.5][rng.index(4)]);
        let ids: Vec<_> = cloth.colliders.iter().map(|(id, _)| id).collect();
        for (id, factor) in ids.into_iter().zip(factors) {
            cloth.colliders.set_friction(id, factor).unwrap();
        }
        let factor_of =
            |shape: usize| if (2..5).contains(&shape) { factors[shape - 2] } else { factors[3] };
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.3, 0.3)))
            .collect();
        let got = after(&cloth, StageMask::only(Stage::CollideShape), 1, |host| {
            with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
        });
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let x = wide(particle);
            let found = touch_shapes(x, &now, &capsules);
            let count = found.touches.len();
            let moved = |sphere: usize| minus(now[sphere].0, before[sphere].0);
            let shape_way = found.touches.iter().fold([0.0; 3], |sum, &(shape, ..)| {
                let displacement = if shape < now.len() {
                    moved(shape)
                } else {
                    capsule_way(x, &now, moved(0), moved(1))
                };
                plus(sum, displacement.map(|x| x / count as f64))
            });
            let factor =
                found.touches.iter().fold(0.0_f32, |most, &(shape, ..)| most.max(factor_of(shape)));
            let previous = cloth.previous_positions[i].map(f64::from);
            let slide = coulomb(
                minus(x, previous),
                shape_way,
                found.sum(),
                count,
                f64::from(cloth.config.contact.friction) * f64::from(factor),
            );
            // A small sum of large pushes has an uncertain direction.
            let longest = found.touches.iter().map(|touch| length(touch.1)).fold(0.0, f64::max);
            let cancelling = longest / length(found.sum()).max(1e-30);
            if judged.takes(if count > 0 && (cancelling > 20.0 || length(found.sum()) < 1e-3) {
                0.0
            } else {
                found.clearance
            }) {
                let scale = shape_scale(x, &now, &capsules)
                    * if count > 0 { cancelling.max(1.0) + 1.0 / length(found.sum()) } else { 1.0 };
                assert_near(
                    &format!("round {round} particle {i}"),
                    got.previous[i],
                    plus(previous, slide),
                    scale,
                );
                judged.note_push(count > 0);
            }
        }
    }
    judged.assert_most("friction of several", 0.1);
}

/// How a capsule moved beside x, between the displacements of its two ends at `y/2 + 1/2` with y the position along the axis from the middle \[m\]:
/// the formula of the reference cases, which is a fraction only for a capsule of 2 m.
fn capsule_way(x: Vec3, spheres: &[Sphere], a: Vec3, b: Vec3) -> Vec3 {
    let axis = minus(spheres[1].0, spheres[0].0);
    let middle = plus(spheres[0].0, axis.map(|x| x / 2.0));
    let fraction = dot(minus(x, middle), axis) / length(axis) / 2.0 + 0.5;
    plus(a, minus(b, a).map(|x| x * fraction))
}

#[test]
fn a_slop_takes_from_the_friction_of_soft_contacts_only() {
    let mut cloth = cloud(vec![[0.0, -0.001, 0.0, 1.0]; 2]);
    let shapes = ShapeArrays {
        planes: vec![[0.0, 1.0, 0.0, 0.0]],
        convexes: vec![vec![0]],
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    cloth.previous_positions = vec![[-0.5, 0.0, 0.0]; 2];
    cloth.config.contact.friction = 0.5;
    let slide = |slop: f32| {
        let mut cloth = cloth.clone();
        cloth.config.contact.friction_slop = slop;
        f64::from(after(&cloth, StageMask::only(Stage::CollideConvex), 1, |_| ()).previous[0][0])
            + 0.5
    };
    let slides = [0.0, 1e-6, 1e-4, 1e-3, 1e-2].map(slide);
    eprintln!("slides by slop: {slides:?}");
    assert!((slides[0] - 0.0005).abs() < 1e-7 && (slides[1] - 0.0005).abs() < 1e-7, "{slides:?}");
    assert!(
        slides.windows(2).all(|pair| pair[1] <= pair[0] + 1e-7) && slides[4] < 0.2 * slides[0],
        "{slides:?}"
    );
}

#[test]
fn friction_that_holds_takes_the_same_slide_off_the_place() {
    let mut rng = Rng::new(77);
    for Sliding { what, stage, target, shift } in sliding_shapes() {
        let start = shifted(&target, shift.map(|x| -x));
        for _ in 0..30 {
            let particle =
                if what == "convex" { [-0.2, -0.2, -0.25, 2.0] } else { [0.0, 0.0, 0.0, 2.0] };
            let displacement = rng.point(-0.2, 0.2);
            let mut cloth = cloud(vec![particle; 2]);
            cloth.previous_positions =
                vec![std::array::from_fn(|k| particle[k] - displacement[k]); 2];
            cloth.colliders = start.to_set().unwrap();
            cloth.config.contact.friction = rng.range(0.1, 2.0);
            let run = |holds: bool| {
                let mut cloth = cloth.clone();
                cloth.config.contact.friction_holds = holds;
                after(&cloth, StageMask::only(stage), 1, |host| {
                    target.reach(host.colliders_mut()).unwrap()
                })
            };
            let (held, slowed) = (run(true), run(false));
            let before: [f64; 3] =
                std::array::from_fn(|k| f64::from(particle[k] - displacement[k]));
            let slide = minus(wide(slowed.previous[0]), before);
            assert_near(what, held.current[0], minus(wide(slowed.current[0]), slide), 2.0);
            assert_near("its previous position", held.previous[0], before, 2.0);
        }
    }
}

#[test]
fn pushed_particles_grow_heavier_by_the_square_of_the_push() {
    let mut rng = Rng::new(163);
    let mut judged = Judged::default();
    for stage in [Stage::CollideShape, Stage::CollideContinuous] {
        for round in 0..100 {
            let mut cloth = cloud(random_particles(&mut rng, 16));
            let rows: Vec<_> = (0..4).map(|_| random_sphere(&mut rng, 0.9)).collect();
            let spheres = spheres_of(&rows);
            let shapes = ShapeArrays { spheres: rows, ..Default::default() };
            cloth.colliders = shapes.to_set().unwrap();
            cloth.config.contact.mass_scale = rng.range(0.0, 100.0);
            cloth.config.contact.continuous = stage == Stage::CollideContinuous;
            let got = after_stage(&cloth, stage);
            for (i, &particle) in cloth.particles.iter().enumerate() {
                let found = touch_shapes(wide(particle), &spheres, &[]);
                if judged.takes(found.clearance) {
                    let [w, scale] =
                        [particle.inverse_mass, cloth.config.contact.mass_scale].map(f64::from);
                    let expected = weigh_pushed(w, scale, found.sum());
                    let allowed = FACTOR
                        * f64::from(f32::EPSILON)
                        * w
                        * shape_scale(wide(particle), &spheres, &[])
                        * scale.max(1.0);
                    let error = (f64::from(got[i][3]) - expected).abs();
                    assert!(
                        error <= allowed,
                        "{} {round} particle {i}: {error:e} above {allowed:e}",
                        stage.name()
                    );
                    judged.note_push(!found.touches.is_empty());
                }
            }
        }
    }
    judged.assert_most("mass scale", 0.2);
}

// ---- virtual particles ----

/// A triangle with one virtual particle.
fn with_virtual(corners: [[f32; 4]; 3], weights: [f32; 3]) -> Cloth {
    let mut cloth = cloud(corners.to_vec());
    Arc::make_mut(&mut cloth.fabric).triangles = vec![[0, 1, 2]];
    Arc::make_mut(&mut cloth.fabric).virtual_particles =
        vec![VirtualParticle { corners: [0, 1, 2], weights }];
    cloth
}

fn blend(points: [Vec3; 3], weights: [f32; 3]) -> Vec3 {
    std::array::from_fn(|k| (0..3).map(|c| points[c][k] * f64::from(weights[c])).sum())
}

#[test]
fn a_pushed_virtual_particle_lands_on_the_surface_and_its_corners_share_the_way() {
    let mut rng = Rng::new(167);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut corners = [(); 3].map(|()| random_particle(&mut rng));
        corners.iter_mut().for_each(|corner| corner[3] = corner[3].max(0.1));
        let (b, c) = (rng.range(0.05, 0.5), rng.range(0.05, 0.45));
        let weights = [1.0 - b - c, b, c];
        let pin = rng.index(6);
        if pin < 3 {
            corners[pin][3] = 0.0;
        }
        let mut cloth = with_virtual(corners, weights);
        let sphere = random_sphere(&mut rng, 1.2);
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        cloth.config.contact.mass_scale = rng.range(0.0, 50.0);
        let got = after_stage(&cloth, Stage::VirtualParticles);
        let old = corners.map(wide);
        let x = blend(old, weights);
        let expected = keep_outside(x, wide(sphere), sphere[3].into());
        let push = minus(expected, x);
        let is_pushed = push != [0.0; 3];
        if !judged.takes((distance(x, wide(sphere)) - f64::from(sphere[3])).abs()) {
            continue;
        }
        judged.note_push(is_pushed);
        let square: f64 = weights.iter().map(|&w| f64::from(w) * f64::from(w)).sum();
        let scale = shape_scale(x, &spheres_of(&[sphere]), &[]) / square.sqrt();
        for k in 0..3 {
            let fraction = if corners[k][3] > 0.0 { f64::from(weights[k]) / square } else { 0.0 };
            let position: Vec3 = std::array::from_fn(|axis| old[k][axis] + push[axis] * fraction);
            assert_near(&format!("round {round} corner {k}"), got[k], position, scale);
            // The corner's weight is that of a particle with this fraction of the push's effect.
            let heavy = weigh_pushed(1.0, cloth.config.contact.mass_scale.into(), push);
            let w = f64::from(corners[k][3]) * (1.0 + f64::from(weights[k]) * (heavy - 1.0));
            let allowed =
                FACTOR * f64::from(f32::EPSILON) * f64::from(corners[k][3]) * scale * 50.0;
            assert!(
                (f64::from(got[k][3]) - w).abs() <= allowed,
                "round {round} corner {k}: {} against {w}",
                got[k][3]
            );
        }
        if pin >= 3 {
            let landed = blend([got[0], got[1], got[2]].map(wide), weights);
            assert!(
                distance(landed, expected) < FACTOR * f64::from(f32::EPSILON) * scale,
                "round {round}: {landed:?} {expected:?}"
            );
        }
    }
    judged.assert_most("virtual particles", 0.1);
}

#[test]
fn friction_of_a_virtual_particle_goes_back_to_its_corners() {
    let mut rng = Rng::new(173);
    for round in 0..100 {
        let corners = [[-0.3, 0.0, -0.2, 1.0], [0.4, 0.0, -0.1, 2.0], [0.0, 0.0, 0.5, 3.0]];
        let weights = [0.3, 0.3, 0.4];
        let mut cloth = with_virtual(corners, weights);
        let sphere = [0.02, -0.25, 0.04, 0.3];
        let target = [0.03, -0.25, 0.04, 0.3];
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        cloth.config.contact.friction = rng.range(0.0, 1.0);
        cloth.previous_positions =
            corners.map(|p| std::array::from_fn(|k| p[k] + rng.range(-0.1, 0.1))).to_vec();
        let got = after(&cloth, StageMask::only(Stage::VirtualParticles), 1, |host| {
            with_spheres(&shapes, &[target]).reach(host.colliders_mut()).unwrap()
        });
        let old: [Vec3; 3] = std::array::from_fn(|k| cloth.previous_positions[k].map(f64::from));
        let x = blend(corners.map(wide), weights);
        let push = minus(keep_outside(x, wide(target), 0.3f32.into()), x);
        assert!(length(push) > 0.01);
        let sphere_way = minus(wide(target), wide(sphere));
        let slide = coulomb(
            minus(x, blend(old, weights)),
            sphere_way,
            push,
            1,
            cloth.config.contact.friction.into(),
        );
        let now = blend([got.previous[0], got.previous[1], got.previous[2]].map(wide), weights);
        let expected = plus(blend(old, weights), slide);
        assert!(distance(now, expected) < 2e-6, "round {round}: {now:?} against {expected:?}");
    }
}

#[test]
fn pinned_corners_of_a_virtual_particle_stay_also_in_their_previous_place() {
    let corners = [[-0.3, 0.0, -0.2, 0.0], [0.4, 0.0, -0.1, 2.0], [0.0, 0.0, 0.5, 3.0]];
    let mut cloth = with_virtual(corners, [0.3, 0.3, 0.4]);
    let shapes = ShapeArrays { spheres: vec![[0.02, -0.25, 0.04, 0.3]], ..Default::default() };
    cloth.colliders = shapes.to_set().unwrap();
    cloth.config.contact.friction = 0.8;
    cloth.previous_positions = corners.map(|p| [p[0] - 0.1, p[1], p[2]]).to_vec();
    let got = after(&cloth, StageMask::only(Stage::VirtualParticles), 1, |_| ());
    assert_ne!(got.current[1], corners[1], "the particle must be touched");
    assert_eq!(got.current[0], corners[0]);
    // solver.md, section 7: "the push goes back for dynamic corners, friction likewise on prev".
    assert_eq!(
        &got.previous[0][..3],
        &cloth.previous_positions[0],
        "friction moved the previous position of a pin"
    );
}

// ---- along the path ----

#[test]
fn a_point_on_its_way_through_a_sphere_stops_on_its_side_as_the_exact_time_of_impact_says() {
    let mut rng = Rng::new(179);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        cloth.config.contact.continuous = true;
        let long = if round % 4 == 0 { 30.0 } else { 1.0 };
        cloth.previous_positions = (0..16).map(|_| rng.point(-long, long)).collect();
        let mut sphere = random_sphere(&mut rng, 0.8);
        sphere[3] += 0.05;
        let shift = rng.point(-long, long);
        let target = [sphere[0] + shift[0], sphere[1] + shift[1], sphere[2] + shift[2], sphere[3]];
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after(&cloth, StageMask::only(Stage::CollideContinuous), 1, |host| {
            with_spheres(&shapes, &[target]).reach(host.colliders_mut()).unwrap()
        })
        .current;
        let radius = f64::from(sphere[3]);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let before = cloth.previous_positions[i].map(f64::from);
            let sweep = sweep_sphere(before, wide(particle), [wide(sphere), wide(target)], radius);
            let expected = keep_outside(sweep.position, wide(target), radius);
            let start = distance(before, wide(sphere));
            // Whether a path enters is unclear where it ends or starts at the surface, or at its steepest allowed graze.
            let ends =
                [start - radius, distance(wide(particle), wide(target)) - radius].map(f64::abs);
            let clearance =
                ends[0].min(ends[1]).min((sweep.offset - 0.8).abs()) / (1.0 + f64::from(long));
            if judged.takes(clearance / 10.0) {
                let reach = 2.0 * f64::from(long) + 4.0;
                let scale = reach
                    * reach
                    * (1.0 + radius / distance(sweep.position, wide(target)).max(1e-3))
                    / radius;
                assert_near(
                    &format!("round {round} particle {i}, {sweep:?}"),
                    got[i],
                    expected,
                    scale,
                );
                judged.note_push(sweep.is_hit);
            }
        }
    }
    judged.assert_most("swept spheres", 0.05);
}

/// Paths of up to `long` through a tapered capsule that moves by up to `long` \[m\], against the exact time of impact with its side:
/// how many hit, and where the stage says otherwise.
fn judge_side_sweeps(seed: u64, long: f32) -> (usize, Vec<String>) {
    let mut rng = Rng::new(seed);
    let (mut hits, mut wrong) = (0, Vec::new());
    for _ in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        cloth.config.contact.continuous = true;
        cloth.previous_positions = (0..16).map(|_| rng.point(-long, long)).collect();
        let shift = rng.point(-long, long);
        let sphere = |rng: &mut Rng, x: f32| {
            [x, rng.range(-0.3, 0.3), rng.range(-0.3, 0.3), rng.range(0.1, 0.5)]
        };
        let target = [sphere(&mut rng, -0.7), sphere(&mut rng, 0.7)];
        let start = target.map(|[x, y, z, r]| [x - shift[0], y - shift[1], z - shift[2], r]);
        let shapes =
            ShapeArrays { spheres: start.to_vec(), capsules: vec![[0, 1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after(&cloth, StageMask::only(Stage::CollideContinuous), 1, |host| {
            with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
        })
        .current;
        let ends = [spheres_of(&target)[0], spheres_of(&target)[1]];
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let before = cloth.previous_positions[i].map(f64::from);
            let sweep = sweep_side(before, wide(particle), ends, shift.map(f64::from));
            let touch = touch_round_cone(sweep.position, ends[0], ends[1]);
            // Hits of the side after which the side pushes too; all else is the spheres' matter, or unclear.
            let begins_outside =
                touch_round_cone(plus(before, shift.map(f64::from)), ends[0], ends[1]).distance
                    > 1e-3;
            let is_side = (0.001..0.999).contains(&touch.fraction)
                && sweep.foot.abs() < 0.99
                && sweep.offset < 0.75;
            if begins_outside && sweep.is_hit && is_side {
                hits += 1;
                // The squared path is up to reach^2; the slope of the side and the distance to the axis rotate the push.
                let reach = 2.0 * f64::from(long) + 4.0;
                let across =
                    (ends[0].1 + (ends[1].1 - ends[0].1) * touch.fraction + touch.distance)
                        .max(1e-3);
                let allowed =
                    FACTOR * f64::from(f32::EPSILON) * reach * reach * 40.0 * (1.0 + 1.0 / across);
                let expected = plus(sweep.position, touch.push);
                if distance(wide(got[i]), expected) > allowed {
                    wrong.push(format!(
                        "from {before:?}, {particle:?} to {:?}, not {expected:?}; {target:?} by {shift:?}",
                        got[i]
                    ));
                }
            }
        }
    }
    (hits, wrong)
}

#[test]
fn a_point_on_its_way_through_the_side_of_a_capsule_stops_as_the_exact_time_of_impact_says() {
    let mut report = Vec::new();
    for long in [0.2, 1.0, 5.0] {
        let (hits, wrong) = judge_side_sweeps(193, long);
        eprintln!("swept sides, paths up to {long} m: {hits} hits, {} of them wrong", wrong.len());
        assert!(hits > 100, "{hits} hits");
        report.extend(wrong.into_iter().take(1));
    }
    assert!(report.is_empty(), "{report:#?}");
}

/// Where a particle stands to a tapered capsule.
fn touch_of(rows: &[[f32; 4]], x: [f32; 4]) -> RoundConeTouch {
    let spheres = spheres_of(rows);
    touch_round_cone(wide(x), spheres[0], spheres[1])
}

#[test]
fn a_point_on_its_way_through_the_side_of_a_capsule_stays_on_its_side() {
    let mut rng = Rng::new(181);
    let mut hits = 0;
    for round in 0..400 {
        // Across a capsule along x that grows from 0.1 to 0.2, within 0.7 of its radius of the axis; capsule and point move.
        let speed = [0.5, 2.0, 20.0][round % 3];
        let capsule = [[-0.5, 0.0, 0.0, 0.1], [0.5, 0.0, 0.0, 0.2]];
        let offset = rng.range(-0.07, 0.07);
        let along = rng.range(-0.4, 0.4);
        let height = rng.range(0.25, 0.4);
        let point = [along, height, offset, 1.0];
        let mut cloth = cloud(vec![point; 2]);
        cloth.config.contact.continuous = true;
        let shapes =
            ShapeArrays { spheres: capsule.to_vec(), capsules: vec![[0, 1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        // Either the point falls, or the capsule rises, or both.
        let part = [0.0, 1.0, 0.5][round / 3 % 3];
        let end = [along, height - speed * part, offset, 1.0];
        let target = capsule.map(|[x, y, z, r]| [x, y + speed * (1.0 - part), z, r]);
        let run = |is_continuous: bool| {
            let mut engine = ReferenceEngine::new();
            let mut cloth = cloth.clone();
            cloth.config.contact.continuous = is_continuous;
            engine.add(cloth).unwrap();
            engine.set_state(nth_cloth(0), &[end.into(); 2], &[point.into(); 2]).unwrap();
            let set = engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
            with_spheres(&shapes, &target).reach(set).unwrap();
            engine.begin_frame(&Frame { dt: 1.0 / 300.0 }).unwrap();
            let stage = if is_continuous { Stage::CollideContinuous } else { Stage::CollideShape };
            engine
                .run_part(
                    nth_cloth(0),
                    &FramePart { stages: StageMask::only(stage), ..FramePart::WHOLE },
                    &mut Team::single(),
                )
                .unwrap();
            engine.current(nth_cloth(0))[0]
        };
        let is_through = |x: [f32; 4]| x[1] < target[0][1];
        let (discrete, continuous) = (run(false), run(true));
        hits += usize::from(is_through(discrete.into()));
        assert!(
            !is_through(continuous.into()),
            "round {round}: {continuous:?} fell through {target:?}"
        );
        let touch = touch_of(&target, continuous.into());
        assert!(
            touch.distance > -1e-4 * f64::from(speed).max(1.0),
            "round {round}: {} m inside",
            -touch.distance
        );
        // It is put near the surface that it met, not somewhere.
        assert!(
            touch.distance < 0.2,
            "round {round}: {continuous:?} is {} m off {target:?}",
            touch.distance
        );
    }
    assert!(hits > 200, "only {hits} would have fallen through");
}

#[test]
fn a_point_beyond_the_reach_of_a_shape_is_not_caught_by_it() {
    // The sphere rises from 0 to 1 m while the point falls past it from 5 m.
    let run = |reach: f32, end: f32| {
        let mut cloth = cloud(vec![[0.0, end, 0.0, 1.0]; 2]);
        cloth.previous_positions = vec![[0.0, 5.0, 0.0]; 2];
        cloth.config.contact.continuous = true;
        cloth.config.contact.continuous_reach = reach;
        let shapes = ShapeArrays { spheres: vec![[0.0, 0.0, 0.0, 0.1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let target = [[0.0, 1.0, 0.0, 0.1]];
        after(&cloth, StageMask::only(Stage::CollideContinuous), 1, |host| {
            with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
        })
        .current[0][1]
    };
    // Ends at -1 m: 0.9 m, or nine radii, below all that the sphere sweeps.
    assert_eq!(run(8.9, -1.0), -1.0, "beyond the reach");
    assert!(run(9.1, -1.0) > 1.0, "within the reach");
    assert!(run(1e6, -50.0) > 1.0, "by default no reach is too long");
    assert!(run(0.0, 0.5) > 1.0, "what ends in the swept space is always caught");
}

#[test]
fn a_pin_that_was_set_elsewhere_is_not_dragged_back_to_a_shape_between() {
    // The pin has been put from above the sphere to below it, a second ago; nothing moves any more.
    for is_continuous in [false, true] {
        let mut cloth = cloud(vec![[0.0, 0.5, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]]);
        cloth.config.contact.continuous = is_continuous;
        let mut engine = ReferenceEngine::new();
        engine.add(cloth).unwrap();
        let pin = [0.0, -0.5, 0.0, 0.0];
        engine
            .cloth_mut(nth_cloth(0))
            .unwrap()
            .write_particles(&[0], &[Particle::from(pin)])
            .unwrap();
        (0..60).for_each(|_| engine.step(&Frame::default()).unwrap());
        engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut().add(Shape::sphere(0.1)).unwrap();
        engine.step(&Frame::default()).unwrap();
        assert_eq!(
            engine.current(nth_cloth(0))[0],
            Particle::from(pin),
            "continuous: {is_continuous}"
        );
    }
}

#[test]
fn points_that_meet_nothing_stay_where_they_are() {
    let mut rng = Rng::new(191);
    let mut cloth = cloud(random_particles(&mut rng, 200));
    cloth.config.contact.continuous = true;
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.5, 0.5)))
        .collect();
    let shapes = ShapeArrays {
        spheres: vec![[4.0, 0.0, 0.0, 1.0], [4.0, 2.0, 0.0, 0.5]],
        capsules: vec![[0, 1]],
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    assert_eq!(after_stage(&cloth, Stage::CollideContinuous), Particle::rows(&cloth.particles));
}

// ---- the same bits ----

/// A sheet over every kind of shape, with friction, weight and virtual particles.
fn whole_scene(is_continuous: bool) -> Cloth {
    let options = CookOptions {
        pins: vec![0],
        virtual_particles: VirtualParticles::PerTriangle(1),
        ..Default::default()
    };
    let mut cloth = cook(&Mesh::grid(16, 16, 1.6, 1.6), &options).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        particle.position =
            [particle.position[0] - 0.8, particle.position[1] + 0.35, particle.position[2] - 0.8];
    }
    cloth.colliders = every_shape().to_set().unwrap();
    cloth.config.contact.friction = 0.4;
    cloth.config.contact.mass_scale = 20.0;
    cloth.config.contact.continuous = is_continuous;
    cloth
}

/// The shapes of a frame: all of them move.
fn moved_shapes(frame: u32) -> ShapeArrays {
    let angle = frame as f32 * 0.1;
    let mut shapes = shifted(&every_shape(), [0.05 * angle.sin(), 0.02 * angle.cos(), 0.0]);
    shapes.planes[0][3] += 0.03 * angle.sin();
    shapes
}

fn play(engine: &mut ReferenceEngine, frames: u32) {
    for frame in 0..frames {
        let set = engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
        moved_shapes(frame).reach(set).unwrap();
        engine.step(&Frame::default()).unwrap();
    }
}

#[test]
fn a_scene_of_every_shape_gives_the_same_bits_in_every_run() {
    for is_continuous in [false, true] {
        let run = || {
            let mut engine = ReferenceEngine::new();
            engine.add(whole_scene(is_continuous)).unwrap();
            play(&mut engine, 60);
            assert_eq!(engine.feedback(nth_cloth(0)).fault_count, 0);
            After {
                current: Particle::rows(engine.current(nth_cloth(0))).to_vec(),
                previous: Particle::rows(engine.previous(nth_cloth(0))).to_vec(),
            }
        };
        let (first, second) = (run(), run());
        assert!(is_finite(&first.current));
        same_bits("current", &first.current, &second.current).unwrap();
        same_bits("previous", &first.previous, &second.previous).unwrap();
    }
}

#[test]
fn a_scene_of_every_shape_gives_the_same_bits_in_every_run_on_the_gpu() {
    for is_continuous in [false, true] {
        let run = || {
            let mut gpu = headless(EngineOptions::default())?;
            let id = gpu.add(whole_scene(is_continuous)).unwrap();
            for frame in 0..60 {
                let set = gpu.engine_mut().cloth_mut(id).unwrap().colliders_mut();
                moved_shapes(frame).reach(set).unwrap();
                gpu.step(&Frame::default()).unwrap();
            }
            let snapshot = gpu.state().unwrap();
            Some(After {
                current: Particle::rows(snapshot.current(id)).to_vec(),
                previous: Particle::rows(snapshot.previous(id)).to_vec(),
            })
        };
        let (Some(first), Some(second)) = (run(), run()) else { return };
        assert!(is_finite(&first.current));
        same_bits("current", &first.current, &second.current).unwrap();
        same_bits("previous", &first.previous, &second.previous).unwrap();
    }
}
