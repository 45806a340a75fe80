//! Cloth on shapes, through the public interface: what friction holds, what fast shapes leave behind, where cloth comes to rest.

use poplin_testkit::nth_cloth;
use std::f64::consts::FRAC_PI_4;

use poplin::cook::{CookOptions, Tethers, cook};
use std::sync::Arc;

use poplin::model::{
    Capsule, Cloth, FiberSolver, Frame, Mesh, Particle, Plane, Pose, Shape, Sphere, TriangleMesh,
};
use poplin::{Backend, Simulation};
use poplin_measure::shape_arrays::{ShapeArrays, cuboid};
use poplin_reference::oracle::nearest_triangle;

/// Gravity [m/s^2].
const G: f64 = 9.81;

type Vec3 = [f64; 3];

/// A free sheet of `columns` x `rows` particles around the origin in the plane y = 0.
fn sheet(columns: u32, rows: u32, width: f32, pins: Vec<u32>) -> Cloth {
    let depth = width * (rows - 1) as f32 / (columns - 1) as f32;
    let options = CookOptions { pins, tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(columns, rows, width, depth), &options).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        particle.position[0] -= width / 2.0;
        particle.position[2] -= depth / 2.0;
    }
    cloth
}

fn lift(cloth: &mut Cloth, y: f32) {
    cloth.particles.iter_mut().for_each(|particle| particle.position[1] += y);
}

fn simulation(cloth: Cloth) -> Simulation {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    simulation
}

fn play(simulation: &mut Simulation, frames: u32) {
    for _ in 0..frames {
        simulation.step(&Frame::default()).unwrap();
    }
}

fn positions(simulation: &mut Simulation) -> Vec<Vec3> {
    let state = simulation.state().unwrap();
    assert_eq!(state.fault_count(nth_cloth(0)), 0);
    state.positions(nth_cloth(0)).map(|p| p.map(f64::from)).collect()
}

fn mean(points: &[Vec3]) -> Vec3 {
    std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / points.len() as f64)
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] - b[k])
}

fn length(a: Vec3) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn turned_about_z(angle: f64) -> Pose {
    let half = (angle / 2.0).sin_cos();
    Pose { rotation: [0.0, 0.0, half.0 as f32, half.1 as f32], ..Pose::default() }
}

// ---- the incline ----

/// What lies under the patch, all with their top at y = 0.
#[derive(Debug, Clone, Copy)]
enum Ground {
    Plane,
    Box,
    Triangles,
}

fn ground(kind: Ground) -> ShapeArrays {
    match kind {
        Ground::Plane => ShapeArrays {
            planes: vec![[0.0, 1.0, 0.0, 0.0]],
            convexes: vec![vec![0]],
            ..ShapeArrays::default()
        },
        Ground::Box => {
            let pose = Pose { translation: [0.0, -1.0, 0.0], ..Pose::default() };
            ShapeArrays { boxes: vec![cuboid(pose, [3.0, 1.0, 3.0])], ..ShapeArrays::default() }
        }
        Ground::Triangles => ShapeArrays {
            mesh_vertices: vec![
                [-3.0, 0.0, -3.0],
                [-3.0, 0.0, 3.0],
                [3.0, 0.0, 3.0],
                [3.0, 0.0, -3.0],
            ],
            mesh_triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..ShapeArrays::default()
        },
    }
}

/// A patch of 10 cm that lies on the ground, which is inclined by `angle` \[rad\]: gravity leans towards +x instead.
fn patch(kind: Ground, angle: f64, friction: f64, frequency: f32) -> Cloth {
    let mut cloth = sheet(4, 4, 0.1, vec![]);
    cloth.colliders = ground(kind).to_set().unwrap();
    cloth.config.gravity = [(G * angle.sin()) as f32, (-G * angle.cos()) as f32, 0.0];
    cloth.config.contact.friction = friction as f32;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = frequency;
    cloth
}

/// Path of the patch's center down the slope in two halves of `frames` frames each, after some to settle \[m\].
fn slides(cloth: Cloth, downhill: Vec3, frames: u32) -> [f64; 2] {
    let mut simulation = simulation(cloth);
    play(&mut simulation, 6);
    let mut points = vec![mean(&positions(&mut simulation))];
    for _ in 0..2 {
        play(&mut simulation, frames);
        points.push(mean(&positions(&mut simulation)));
    }
    let along = |p: Vec3, q: Vec3| (0..3).map(|k| (q[k] - p[k]) * downhill[k]).sum();
    [along(points[0], points[1]), along(points[1], points[2])]
}

/// Steady acceleration [m/s^2] that two paths in equal times show.
fn acceleration(paths: [f64; 2], frames: u32) -> f64 {
    let time = f64::from(frames) / 60.0;
    (paths[1] - paths[0]) / (time * time)
}

/// Smallest angle at which a patch slides faster and faster, within 0.05 degrees \[degrees\].
///
/// A degree above the angle of friction it would gain
/// 0.17 m/s every second.
fn slip_angle(slides_at: impl Fn(f64) -> [f64; 2], frames: u32) -> f64 {
    let slips = |angle: f64| acceleration(slides_at(angle.to_radians()), frames) > 0.02;
    let (mut low, mut high) = (0.0, 80.0);
    assert!(slips(high) && !slips(low), "there is no angle between");
    while high - low > 0.05 {
        let middle = 0.5 * (low + high);
        if slips(middle) { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

#[test]
fn a_patch_slips_at_the_angle_of_friction() {
    for frequency in [300.0, 60.0] {
        for kind in [Ground::Plane, Ground::Box, Ground::Triangles] {
            let mut worst = 0.0f64;
            for step in 1..=10 {
                let friction = 0.1 * f64::from(step);
                let got = slip_angle(
                    |angle| slides(patch(kind, angle, friction, frequency), [1.0, 0.0, 0.0], 15),
                    15,
                );
                let expected = friction.atan().to_degrees();
                worst = worst.max((got - expected).abs());
                assert!(
                    (got - expected).abs() < 1.0,
                    "{kind:?} {frequency} Hz, friction {friction}: slips at {got}, not {expected}"
                );
            }
            eprintln!("slip angle on {kind:?} at {frequency} Hz: at most {worst:.3} degrees off");
        }
    }
}

#[test]
fn a_patch_slips_on_a_tilted_plane_as_under_tilted_gravity() {
    let friction = 0.5;
    let slides_at = |angle: f64| {
        let mut cloth = patch(Ground::Plane, 0.0, friction, 300.0);
        // Rotated clockwise: downhill is +x.
        let pose = turned_about_z(-angle);
        for particle in &mut cloth.particles {
            let [x, y, z] =
                pose.apply([particle.position[0], particle.position[1], particle.position[2]]);
            particle.position = [x, y, z];
        }
        let [x, y, z] = pose.apply([0.0, 1.0, 0.0]);
        cloth.colliders.clear();
        cloth.colliders.add(Plane { normal: [x, y, z], offset: 0.0 }).unwrap();
        slides(cloth, [angle.cos(), -angle.sin(), 0.0], 15)
    };
    let got = slip_angle(slides_at, 15);
    let expected = friction.atan().to_degrees();
    eprintln!("slip angle on a tilted plane: {got:.3}, expected {expected:.3}");
    assert!((got - expected).abs() < 1.0, "slips at {got}, not {expected}");
}

#[test]
fn a_patch_slides_down_45_degrees_as_coulomb_says() {
    for frequency in [300.0, 60.0] {
        for kind in [Ground::Plane, Ground::Box, Ground::Triangles] {
            for (friction, expected) in [(0.1, 6.243), (0.3, 4.856), (0.5, 3.468)] {
                let paths =
                    slides(patch(kind, FRAC_PI_4, friction, frequency), [1.0, 0.0, 0.0], 18);
                let got = acceleration(paths, 18);
                eprintln!(
                    "{kind:?} {frequency} Hz, friction {friction}: {got:.4} of {expected} m/s^2"
                );
                assert!(
                    (got / expected - 1.0).abs() < 0.03,
                    "{kind:?} {frequency} Hz, friction {friction}: {got} of {expected}"
                );
            }
        }
    }
}

#[test]
fn a_patch_that_friction_holds_stays_where_it_is() {
    for frequency in [60.0, 300.0, 600.0] {
        for holds in [true, false] {
            let angle = 10f64.to_radians();
            let mut cloth = patch(Ground::Plane, angle, 0.5, frequency);
            cloth.config.contact.friction_holds = holds;
            let paths = slides(cloth, [1.0, 0.0, 0.0], 30);
            let speed = paths[1] / 0.5;
            // Friction that only slows down takes the speed that gravity adds in an iteration, not the displacement.
            let expected = if holds { 0.0 } else { G * angle.sin() / f64::from(frequency) };
            eprintln!(
                "10 degrees, {frequency} Hz, friction_holds = {holds}: {speed:.5} of {expected:.5} m/s"
            );
            assert!(
                (speed - expected).abs() < 0.02 * expected + 1e-5,
                "{frequency} Hz: {speed} of {expected}"
            );
            assert!(acceleration(paths, 30).abs() < 1e-3);
        }
    }
}

// ---- fast shapes ----

/// Radius of the bullets \[m\].
const RADIUS: f32 = 0.02;

/// How far below the sheet the bullet's center stops \[m\]: what was in its path is then pushed down by two radii. A taut sheet that
/// is pushed much farther opens around a small bullet, however slow: that is no miss.
const DEPTH: f32 = 0.02;

/// What is shot at the sheet.
#[derive(Debug, Clone, Copy)]
enum Bullet {
    Sphere,
    Capsule,
}

fn bullet(kind: Bullet, y: f32) -> ShapeArrays {
    match kind {
        Bullet::Sphere => {
            ShapeArrays { spheres: vec![[0.0, y, 0.0, RADIUS]], ..ShapeArrays::default() }
        }
        // Tapered by half.
        Bullet::Capsule => ShapeArrays {
            spheres: vec![[-0.05, y, 0.0, RADIUS], [0.05, y, 0.0, 0.5 * RADIUS]],
            capsules: vec![[0, 1]],
            ..ShapeArrays::default()
        },
    }
}

/// Whether a point is within `fraction` of the radius of the line along which the bullet's parts went down.
fn is_in_tube(kind: Bullet, p: Vec3, fraction: f64) -> bool {
    let radius = f64::from(RADIUS) * fraction;
    match kind {
        Bullet::Sphere => p[0].hypot(p[2]) < radius,
        Bullet::Capsule => {
            let t = (p[0] + 0.05) / 0.1;
            (0.0..=1.0).contains(&t) && p[2].abs() < radius * (1.0 - 0.5 * t)
        }
    }
}

/// Free particles under the bullet's path, and how many of them it left behind, when it came down from above on a pinned sheet at
/// `speed` radii per frame and has stopped below it.
///
/// A taut sheet stays on the bullet if its edges are worked one by one. Whole fibers pull so hard that it opens, so there it is
/// slack, and iterates four times as often.
fn left_behind(
    kind: Bullet,
    speed: f32,
    is_continuous: bool,
    fiber_solver: FiberSolver,
) -> [usize; 2] {
    let count = 41;
    let pins = (0..count * count)
        .filter(|i| [0, count - 1].contains(&(i % count)) || [0, count - 1].contains(&(i / count)))
        .collect();
    let mut cloth = sheet(count, count, 0.4, pins);
    if fiber_solver == FiberSolver::SemiImplicit {
        Arc::make_mut(&mut cloth.fabric).scale_rest_lengths(1.04);
        cloth.config.solver.as_pbd_mut().unwrap().frequency = 1200.0;
    } else {
        cloth.config.solver.set_fiber_solver(Some(fiber_solver));
    }
    cloth.config.contact.continuous = is_continuous;
    cloth.config.gravity = [0.0; 3];
    cloth.config.damping = [0.5; 3];
    let step = speed * RADIUS;
    // The last frame ends DEPTH below; the bullet begins clear above.
    let frames = ((DEPTH + 2.5 * RADIUS) / step).ceil();
    let at = |frame: f32| bullet(kind, -DEPTH + step * (frames - frame).max(0.0));
    cloth.colliders = at(0.0).to_set().unwrap();
    let tube: Vec<usize> = (0..cloth.particle_count())
        .filter(|&i| {
            is_in_tube(kind, [0, 1, 2].map(|k| f64::from(cloth.particles[i].position[k])), 0.75)
        })
        .collect();
    let mut simulation = simulation(cloth);
    for frame in 1..=frames as u32 {
        let set = simulation.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
        at(frame as f32).reach(set).unwrap();
        play(&mut simulation, 1);
    }
    play(&mut simulation, 5);
    let points = positions(&mut simulation);
    [tube.len(), tube.iter().filter(|&&i| points[i][1] > -f64::from(DEPTH)).count()]
}

#[test]
fn continuous_collision_leaves_no_particle_behind_a_fast_shape() {
    for kind in [Bullet::Sphere, Bullet::Capsule] {
        let mut discrete = Vec::new();
        let mut continuous = Vec::new();
        for speed in [1.0, 3.0, 10.0, 30.0, 100.0] {
            discrete.push(left_behind(kind, speed, false, FiberSolver::GaussSeidel));
            continuous.push(left_behind(kind, speed, true, FiberSolver::GaussSeidel));
            continuous.push(left_behind(kind, speed, true, FiberSolver::SemiImplicit));
        }
        eprintln!(
            "{kind:?} at 1, 3, 10, 30, 100 radii a frame, [in the path, left behind]: discrete {discrete:?}"
        );
        eprintln!("{kind:?}, continuous, by edges and by fibers in turn: {continuous:?}");
        assert!(discrete[0][0] >= 5, "too few in the path to mean anything");
        assert!(
            discrete[3..].iter().all(|left| left[1] > left[0] / 2),
            "{kind:?}: the discrete test must lose at speed: {discrete:?}"
        );
        assert!(continuous.iter().all(|left| left[1] == 0), "{kind:?}: {continuous:?}");
    }
}

// ---- three forms of a box ----

/// A box of half extents as a box, as planes, as triangles.
fn boxes(pose: Pose, half: [f32; 3]) -> [ShapeArrays; 3] {
    let corner = |i: usize| {
        pose.apply(std::array::from_fn(|k| if i >> k & 1 == 1 { half[k] } else { -half[k] }))
    };
    let vertices: Vec<[f32; 3]> = (0..8).map(corner).collect();
    // Bit k of a corner's index is its side along axis k.
    let quads =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let plane = |axis: usize, side: f32| {
        let tip = pose.apply(std::array::from_fn(|k| if k == axis { side } else { 0.0 }));
        let normal: [f32; 3] = std::array::from_fn(|k| tip[k] - pose.translation[k]);
        let offset: f32 = (0..3).map(|k| normal[k] * pose.translation[k]).sum();
        [normal[0], normal[1], normal[2], -offset - half[axis]]
    };
    let planes = (0..3).flat_map(|axis| [plane(axis, -1.0), plane(axis, 1.0)]).collect();
    [
        ShapeArrays { boxes: vec![cuboid(pose, half)], ..ShapeArrays::default() },
        ShapeArrays { planes, convexes: vec![(0..6).collect()], ..ShapeArrays::default() },
        ShapeArrays {
            mesh_vertices: vertices,
            mesh_triangles: triangles,
            ..ShapeArrays::default()
        },
    ]
}

#[test]
fn a_box_of_planes_and_one_of_triangles_carry_a_sheet_like_a_box() {
    let half = [0.2, 0.1, 0.15];
    for tilt in [0.0, 0.3] {
        let pose = Pose { translation: [0.05, -0.2, 0.02], ..turned_about_z(tilt) };
        let back = turned_about_z(-tilt);
        let means = boxes(pose, half).map(|colliders| {
            let mut cloth = sheet(17, 17, 0.6, vec![]);
            cloth.colliders = colliders.to_set().unwrap();
            cloth.config.contact.friction = 0.8;
            cloth.config.damping = [0.3; 3];
            let mut simulation = simulation(cloth);
            play(&mut simulation, 120);
            let points = positions(&mut simulation);
            // Heights over the top, of what lies over it well within its rims.
            let local =
                |p: &Vec3| back.apply(std::array::from_fn(|k| p[k] as f32 - pose.translation[k]));
            let over: Vec<f64> = points
                .iter()
                .map(local)
                .filter(|p| p[0].abs() < 0.8 * half[0] && p[2].abs() < 0.8 * half[2] && p[1] > 0.0)
                .map(|p| f64::from(p[1] - half[1]))
                .collect();
            let lowest = points.iter().map(|p| p[1]).fold(f64::MAX, f64::min);
            let highest = over.iter().copied().fold(f64::MIN, f64::max);
            let deepest = over.iter().copied().fold(f64::MAX, f64::min);
            (over.len(), over.iter().sum::<f64>() / over.len() as f64, deepest, highest, lowest)
        });
        eprintln!(
            "tilt {tilt}, box, planes, triangles: (particles over the top, mean, lowest, highest, lowest of all): {means:.5?}"
        );
        for (over, mean, deepest, ..) in means {
            assert!(over > 30, "the sheet has slipped off: {means:?}");
            assert!((mean - means[0].1).abs() < 0.001, "tilt {tilt}: {means:?}");
            assert!(
                (-1e-5..0.001).contains(&deepest),
                "the sheet must lie on the top, tilt {tilt}: {means:?}"
            );
        }
    }
}

// ---- rest ----

/// What a sheet does in ten seconds after it had three to come to rest: largest speed [m/s], drift of its mean height and largest
/// drift of a particle \[m\], least clearance \[m\].
fn unrest(cloth: Cloth, clearance: impl Fn(Vec3) -> f64) -> [f64; 4] {
    let mut simulation = simulation(cloth);
    play(&mut simulation, 180);
    let settled = positions(&mut simulation);
    let (mut last, mut speed, mut least) = (settled.clone(), 0.0f64, f64::MAX);
    for _ in 0..600 {
        play(&mut simulation, 1);
        let now = positions(&mut simulation);
        speed =
            now.iter().zip(&last).map(|(p, q)| 60.0 * length(minus(*p, *q))).fold(speed, f64::max);
        least = now.iter().map(|&p| clearance(p)).fold(least, f64::min);
        last = now;
    }
    let drift = last.iter().zip(&settled).map(|(p, q)| length(minus(*p, *q))).fold(0.0, f64::max);
    [speed, (mean(&last)[1] - mean(&settled)[1]).abs(), drift, least]
}

fn resting(colliders: ShapeArrays) -> Cloth {
    let mut cloth = sheet(12, 12, 0.5, vec![]);
    lift(&mut cloth, 0.01);
    cloth.colliders = colliders.to_set().unwrap();
    cloth.config.contact.friction = 0.5;
    cloth.config.damping = [0.5; 3];
    cloth
}

#[track_caller]
fn assert_at_rest(what: &str, [speed, height, drift, least]: [f64; 4]) {
    eprintln!(
        "rest on a {what}: speed {speed:.2e} m/s, height {height:.2e} m, drift {drift:.2e} m, clearance {least:.2e} m"
    );
    assert!(least > -1e-5, "{what}: {least} m inside");
    assert!(speed < 0.01, "{what}: jitters at {speed} m/s");
    assert!(height < 0.001, "{what}: sinks by {height} m");
}

#[test]
fn a_sheet_at_rest_on_a_plane_neither_drifts_nor_jitters_nor_sinks_in() {
    let unrest = unrest(resting(ground(Ground::Plane)), |p| p[1]);
    assert_at_rest("plane", unrest);
    assert!(unrest[0] < 1e-4 && unrest[2] < 1e-4, "on the level nothing may move: {unrest:?}");
}

#[test]
fn a_sheet_at_rest_on_a_sphere_neither_drifts_nor_jitters_nor_sinks_in() {
    let center = [0.0, -0.3, 0.0];
    let sphere = ShapeArrays { spheres: vec![[0.0, -0.3, 0.0, 0.3]], ..ShapeArrays::default() };
    assert_at_rest("sphere", unrest(resting(sphere), |p| length(minus(p, center)) - 0.3));
}

// ---- a body ----

/// A closed ball of radius 0.25 m with bumps, of `rings` x `segments` quads as triangles, and triangles at its poles.
fn bumpy_ball(rings: u32, segments: u32) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let point = |theta: f64, phi: f64| -> [f32; 3] {
        let radius = 0.25 * (1.0 + 0.06 * (5.0 * theta).sin() * (6.0 * phi).cos());
        [theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin()].map(|x| (x * radius) as f32)
    };
    let mut vertices = vec![point(0.0, 0.0), point(std::f64::consts::PI, 0.0)];
    for ring in 1..=rings {
        for segment in 0..segments {
            let theta = std::f64::consts::PI * f64::from(ring) / f64::from(rings + 1);
            vertices.push(point(
                theta,
                std::f64::consts::TAU * f64::from(segment) / f64::from(segments),
            ));
        }
    }
    let at = |ring: u32, segment: u32| 2 + ring * segments + segment % segments;
    let mut triangles = Vec::new();
    for segment in 0..segments {
        triangles.push([0, at(0, segment + 1), at(0, segment)]);
        triangles.push([1, at(rings - 1, segment), at(rings - 1, segment + 1)]);
        for ring in 0..rings - 1 {
            let [a, b, c, d] = [
                at(ring, segment),
                at(ring, segment + 1),
                at(ring + 1, segment + 1),
                at(ring + 1, segment),
            ];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    (vertices, triangles)
}

#[test]
fn a_tube_dropped_on_a_bumpy_body_stays_outside() {
    let (vertices, triangles) = bumpy_ball(50, 60);
    assert!(triangles.len() >= 5000);
    let points: Vec<Vec3> = vertices.iter().map(|v| v.map(f64::from)).collect();
    let (_, top, _) = nearest_triangle([0.0, 1.0, 0.0], &points, &triangles, 1e-5).unwrap();
    assert!(top.height > 0.0, "the body's front is outside");
    // A skirt too narrow at the top to fall past the body.
    let mesh = Mesh::tube(32, 16, 0.12, 0.4, 0.4);
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&mesh, &options).unwrap().into_cloth();
    lift(&mut cloth, 0.45);
    cloth.config.contact.friction = 0.3;
    cloth.config.damping = [0.1; 3];
    let shapes = ShapeArrays {
        mesh_vertices: vertices,
        mesh_triangles: triangles.clone(),
        ..ShapeArrays::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    let mut simulation = simulation(cloth);
    play(&mut simulation, 120);
    let cloth = positions(&mut simulation);
    let heights: Vec<f64> = cloth
        .iter()
        .map(|&p| nearest_triangle(p, &points, &triangles, 1e-5).unwrap().1.height)
        .collect();
    let deepest = heights.iter().copied().fold(f64::MAX, f64::min);
    let touching = heights.iter().filter(|height| height.abs() < 0.002).count();
    eprintln!(
        "tube on a body: deepest {deepest:.2e} m, {touching} of {} touch, center at {:.3?}",
        cloth.len(),
        mean(&cloth)
    );
    assert!(touching > 20, "the tube must hang on the body: {touching}, {:?}", mean(&cloth));
    assert!(deepest > -0.002, "{deepest} m inside");
}

// ---- pins that were moved ----

/// A sheet that hangs by a row of pins, which are held `shift` \[m\] aside of where they began, after ten seconds.
fn hung_aside(shift: f32, drag: f32) -> (Vec<Vec3>, u32) {
    let pins: Vec<u32> = (0..8).collect();
    let mut cloth = sheet(8, 8, 0.5, pins.clone());
    cloth.config.damping = [0.5; 3];
    cloth.config.air.drag = drag;
    cloth.config.air.density = 0.01;
    cloth.config.sleep.threshold = 1.0;
    let held: Vec<_> = cloth.particles[..8]
        .iter()
        .map(|&Particle { position: [x, y, z], inverse_mass: w }| [x, y, z + shift, w])
        .collect();
    let mut simulation = simulation(cloth);
    for _ in 0..600 {
        simulation
            .cloth_mut(nth_cloth(0))
            .unwrap()
            .write_particles(&pins, Particle::from_rows(&held))
            .unwrap();
        play(&mut simulation, 1);
    }
    let slept = simulation.state().unwrap().slept_frames(nth_cloth(0));
    (positions(&mut simulation), slept)
}

#[test]
fn a_cloth_whose_pins_were_moved_falls_asleep_again() {
    assert!(hung_aside(0.0, 0.0).1 > 100, "unmoved");
    assert!(
        hung_aside(0.05, 0.0).1 > 100,
        "the previous position of a moved pin must not keep the cloth awake"
    );
}

#[test]
fn a_cloth_whose_pins_were_moved_feels_no_wind_for_it() {
    let [still, moved] =
        [0.0, 0.2].map(|shift| mean(&hung_aside(shift, 0.1).0)[2] - f64::from(shift));
    eprintln!("mean position behind the pins: {still:.4} m, after a move of 0.2 m {moved:.4} m");
    let airless = mean(&hung_aside(0.2, 0.0).0)[2] - 0.2;
    assert!(
        (moved - airless).abs() < 0.002,
        "hangs at {moved}, not {airless}: blown by a move that is long over"
    );
}

#[test]
fn a_closed_mesh_gives_the_same_as_one_that_is_searched_every_time() {
    // Particles remember how far a closed mesh is and search it no sooner. A far triangle opens the mesh: then all search.
    let (vertices, triangles) = bumpy_ball(20, 24);
    let points_at = |frame: u32, far: bool| -> Vec<[f32; 3]> {
        let t = frame as f32 * 0.1;
        let moved = vertices.iter().map(|v| {
            [v[0] + 0.3 * (3.0 * t).sin(), v[1] + 0.2 * (2.0 * t).sin(), v[2] + 0.1 * t.sin()]
        });
        let corners = [[90.0, 0.0, 0.0], [91.0, 0.0, 0.0], [90.0, 1.0, 0.0]];
        moved.chain(corners.into_iter().filter(|_| far)).collect()
    };
    let run = |far: bool| {
        let mut cloth =
            cook(&Mesh::grid(20, 20, 1.0, 1.0), &CookOptions::default()).unwrap().into_cloth();
        cloth.particles.iter_mut().for_each(|p| {
            (p.position[0], p.position[1], p.position[2]) =
                (p.position[0] - 0.5, 0.4, p.position[2] - 0.5)
        });
        cloth.config.contact.friction = 0.3;
        let mut simulation = simulation(cloth);
        let count = vertices.len() as u32;
        let mut triangles = triangles.clone();
        triangles.extend(far.then_some([count, count + 1, count + 2]));
        let mut shared: Arc<[[u32; 3]]> = Arc::default();
        for frame in 0..60 {
            // At frame 30 the mesh jumps: other triangles, so that it is not reached over the frame.
            if frame == 30 {
                triangles.rotate_left(7);
            }
            let set = simulation.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
            if frame == 0 || frame == 30 {
                shared = triangles.clone().into();
            }
            let vertices = points_at(frame + 40 * u32::from(frame >= 30), far).into();
            let mesh = TriangleMesh { vertices, triangles: shared.clone() };
            let known = set.iter().next().map(|(id, _)| id);
            if let Some(id) = known {
                set.set_shape(id, mesh).unwrap();
            } else {
                set.add(mesh).unwrap();
            }
            simulation.step(&Frame::default()).unwrap();
        }
        positions(&mut simulation)
    };
    let (closed, opened) = (run(false), run(true));
    let worst = closed.iter().zip(&opened).map(|(&a, &b)| length(minus(a, b))).fold(0.0, f64::max);
    eprintln!("a mesh remembered and a mesh searched: {worst:.1e} m apart");
    assert!(worst < 1e-6, "{worst} m");
}

// ---- out of depth ----

/// A block of triangles around the origin.
fn block(half: [f32; 3]) -> TriangleMesh {
    let corner =
        |k: u32| std::array::from_fn(|axis| [-1.0, 1.0][(k >> axis & 1) as usize] * half[axis]);
    let sides =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let halves = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
    let vertices: Vec<_> = (0..8).map(corner).collect();
    let triangles: Vec<_> = sides.into_iter().flat_map(halves).collect();
    TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
}

/// Solids whose surface is 0.2 m above the origin.
fn solids() -> [(&'static str, Shape); 5] {
    let end = |x: f32| Sphere { center: [x, 0.0, 0.0], radius: 0.2 };
    [
        ("sphere", Shape::sphere(0.2)),
        ("capsule", Capsule { ends: [end(-0.3), end(0.3)] }.into()),
        ("plane", Plane { normal: [0.0, 1.0, 0.0], offset: 0.2 }.into()),
        ("box", Shape::cuboid([0.2; 3])),
        ("mesh", block([0.2; 3]).into()),
    ]
}

/// A small free sheet, 0.15 m above the origin, without gravity.
fn sheet_in_depth(depenetration_speed: f32) -> Cloth {
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(3, 3, 0.02, 0.02), &options).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        let [x, _, z] = particle.position;
        particle.position = [x - 0.01, 0.15, z - 0.01];
    }
    cloth.config.gravity = [0.0; 3];
    cloth.config.contact.depenetration_speed = depenetration_speed;
    cloth
}

/// Height of the middle of the sheet \[m\].
fn height(simulation: &mut Simulation, id: poplin::ClothId) -> f32 {
    simulation.state().unwrap().current(id)[4].position[1]
}

#[test]
fn cloth_comes_out_of_depth_at_the_speed_asked_for() {
    for (name, shape) in solids() {
        for (speed, halfway) in [(0.1, 0.175), (1e6, 0.2)] {
            let mut simulation = Simulation::new(Backend::Cpu).unwrap();
            let id = simulation.add(sheet_in_depth(speed)).unwrap();
            simulation.colliders_mut().add(shape.clone()).unwrap();
            (0..15).for_each(|_| simulation.step(&Frame::default()).unwrap());
            let at = height(&mut simulation, id);
            if speed < 1.0 {
                assert!((at - halfway).abs() < 1e-3, "{name}: at {at} m after 0.25 s");
            } else {
                assert!(at > halfway, "{name}: at {at} m after 0.25 s, pushed out at once");
            }
            (0..45).for_each(|_| simulation.step(&Frame::default()).unwrap());
            let at = height(&mut simulation, id);
            if speed < 1.0 {
                // It may drift on for the half second that is left.
                assert!((0.199..0.25).contains(&at), "{name}: at {at} m after a second");
            } else {
                assert!(at > 0.5, "{name}: pushed out at once it flies off, to {at} m");
            }
        }
    }
}

#[test]
fn a_shape_that_comes_fast_is_not_let_in_by_a_slow_way_out() {
    for (name, shape) in solids() {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let mut cloth = sheet_in_depth(0.01);
        cloth.particles.iter_mut().for_each(|particle| particle.position[1] = 0.25);
        let id = simulation.add(cloth).unwrap();
        let collider = simulation.colliders_mut().add(shape).unwrap();
        for frame in 1..=20 {
            // 3 m/s.
            let translation = [0.0, 0.05 * frame as f32, 0.0];
            let pose = Pose { translation, ..Pose::default() };
            simulation.colliders_mut().set_pose(collider, pose).unwrap();
            simulation.step(&Frame::default()).unwrap();
            let depth = 0.2 + translation[1] - height(&mut simulation, id);
            assert!(depth < 1e-3, "{name}: {depth} m deep in frame {frame}");
        }
    }
}

#[test]
fn a_thin_part_lets_nothing_out_on_the_far_side_that_came_in_on_the_near_one() {
    // 20 mm thick; at 4.8 m/s and 300 Hz a particle moves by 16 mm an iteration, mostly beyond the middle.
    let backends = poplin_testkit::adapter::backends();
    for (backend, depenetration_speed) in backends.into_iter().flat_map(|it| [(it, 1e6), (it, 0.5)])
    {
        let heights = (0..40).map(|k| 0.02 + 0.0009 * k as f32);
        let particles =
            heights.clone().enumerate().map(|(k, y)| [0.04 * k as f32 - 0.8, y, 0.0, 1.0]);
        let mut cloth = poplin_testkit::scenes::loose_particles(particles.collect());
        cloth.config.contact.depenetration_speed = depenetration_speed;
        cloth.config.solver.as_pbd_mut().unwrap().frequency = 300.0;
        cloth.previous_positions = heights
            .enumerate()
            .map(|(k, y)| [0.04 * k as f32 - 0.8, y + 4.8 / 300.0, 0.0])
            .collect();
        let mut simulation = Simulation::new(backend).unwrap();
        let id = simulation.add(cloth).unwrap();
        simulation.colliders_mut().add(block([1.0, 0.01, 1.0])).unwrap();
        (0..20).for_each(|_| simulation.step(&Frame::default()).unwrap());
        let state = simulation.state().unwrap();
        let lowest = state.current(id).iter().map(|p| p.position[1]).fold(f32::MAX, f32::min);
        assert!(lowest > 0.0099, "{backend:?}: one ends at {lowest} m, the near side is at 0.01 m");
    }
}
