//! A shared set of colliders in the world, met by cloths in their own local spaces.

use poplin::{Backend, ClothId, Simulation};
use poplin_cook::{CookOptions, Tethers, cook};
use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_gpu::EngineOptions;
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_model::{
    Capsule, ClothDesc, Collider, ColliderSet, InteractionGroups, Mesh, ModelError, Particle,
    Placement, Plane, Pose, Rigid, RigidBody, Shape, Sphere, TriangleMesh,
};
use poplin_testkit::adapter::{backends, headless};
use poplin_testkit::nth_cloth;

/// Free sheet of 1 m x 1 m in the plane y = 0.
fn sheet() -> ClothDesc {
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    cook(&Mesh::grid(12, 12, 1.0, 1.0), &options).unwrap().into_cloth()
}

fn lowest(simulation: &mut Simulation, id: ClothId) -> f32 {
    simulation.state().unwrap().positions(id).map(|[_, y, _]| y).fold(f32::MAX, f32::min)
}

const FLOOR: Plane = Plane { normal: [0.0, 1.0, 0.0], offset: -0.5 };

#[test]
fn a_plane_alone_stops_a_falling_cloth() {
    for options in backends() {
        let mut simulation = Simulation::new(options).unwrap();
        let id = simulation.add(sheet()).unwrap();
        simulation.colliders_mut().add(FLOOR).unwrap();
        (0..60).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
        let lowest = lowest(&mut simulation, id);
        assert!((lowest + 0.5).abs() < 1e-4, "the sheet lies at {lowest} m");
    }
}

#[test]
fn two_cloths_share_a_set_and_each_meets_its_groups() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let of = |filter| InteractionGroups { filter, ..InteractionGroups::default() };
    let ids = [1, 2].map(|filter| {
        simulation.add(ClothDesc { collider_groups: of(filter), ..sheet() }).unwrap()
    });
    let member = |memberships| InteractionGroups { memberships, ..InteractionGroups::default() };
    let lower = Plane { offset: -0.8, ..FLOOR };
    let set = simulation.colliders_mut();
    set.add(Collider { groups: member(1), ..Collider::from(FLOOR) }).unwrap();
    let deep = set.add(Collider { groups: member(3), ..Collider::from(lower) }).unwrap();
    (0..60).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
    for (id, expected) in ids.into_iter().zip([-0.5, -0.8]) {
        let lowest = lowest(&mut simulation, id);
        assert!((lowest - expected).abs() < 1e-4, "{lowest} m, not {expected}");
    }
    // The second cloth continues to fall after the plane under it leaves its group.
    simulation.colliders_mut().set_groups(deep, member(1)).unwrap();
    (0..30).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
    assert!((lowest(&mut simulation, ids[0]) + 0.5).abs() < 1e-4);
    assert!(lowest(&mut simulation, ids[1]) < -1.0);
}

#[test]
fn a_stale_handle_is_an_error_and_a_removed_collider_lets_go() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let cloth = simulation.add(sheet()).unwrap();
    let floor = simulation.colliders_mut().add(FLOOR).unwrap();
    (0..60).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
    simulation.colliders_mut().remove(floor).unwrap();
    (0..30).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
    assert!(lowest(&mut simulation, cloth) < -1.0);
    let other = simulation.colliders_mut().add(Shape::sphere(1.0)).unwrap();
    assert_ne!(other, floor);
    let error = simulation.colliders_mut().set_pose(floor, Pose::default()).unwrap_err();
    assert_eq!(error, ModelError::StaleHandle { what: "collider" });
}

fn pose(translation: [f32; 3], axis: [f64; 3], angle: f64) -> Pose {
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [x, y, z] = axis.map(|x| (x / length * (0.5 * angle).sin()) as f32);
    Pose { translation, rotation: [x, y, z, (0.5 * angle).cos() as f32] }
}

/// Returns a particle moved by a rigid motion.
fn moved(by: Rigid, [x, y, z, w]: [f32; 4]) -> [f32; 4] {
    let [x, y, z] = Placement::new(1.0, by).point([x, y, z]);
    [x, y, z, w]
}

/// Shapes of every kind at the start and at the end of a frame.
fn moving_shapes() -> [[Shape; 2]; 5] {
    let ball = |x: f32, radius: f32| Sphere { center: [x, 0.1, 0.2], radius };
    let capsule = |x: f32| Capsule { ends: [ball(x, 0.3), ball(x + 0.6, 0.2)] };
    let plane = |offset: f32| Plane { normal: [0.6, 0.8, 0.0], offset };
    let block = |x: f32| {
        let pose = pose([x, -0.4, 0.3], [1.0, 2.0, 0.5], 0.7);
        Shape::cuboid([0.4, 0.3, 0.5])
            .transformed(&poplin_model::Placement::new(1.0, Rigid::new(pose)))
    };
    let mesh = |x: f32| {
        let vertices = [[x, -0.8, 0.0], [x + 1.0, -0.7, 0.1], [x, -0.7, -1.0], [x, 0.4, -0.3]];
        let triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]].into();
        TriangleMesh { vertices: vertices.into(), triangles }
    };
    [
        [ball(-0.5, 0.4).into(), ball(-0.4, 0.4).into()],
        [capsule(0.0).into(), capsule(0.1).into()],
        [plane(-0.7).into(), plane(-0.6).into()],
        [block(0.3), block(0.4)],
        [mesh(-0.9).into(), mesh(-0.8).into()],
    ]
}

/// Returns loose particles after one iteration of collision with moving shapes in a moving local
/// space.
fn collide(on_gpu: bool, particles: &[[f32; 4]], space: [Pose; 2]) -> Option<Vec<[f32; 4]>> {
    let mut cloth = sheet();
    cloth.particles = Particle::from_rows(particles).to_vec();
    cloth.config.gravity = [0.0; 3];
    cloth.pose = space[0];
    let stages = [Stage::CollideConvex, Stage::CollideBox, Stage::CollideTriangle];
    let stages = stages.into_iter().fold(StageMask::only(Stage::CollideShape), StageMask::with);
    let (part, dt) = (FramePart { stages, ..FramePart::WHOLE }, 1.0 / 300.0);
    let fill = |set: &mut ColliderSet| {
        for [start, target] in moving_shapes() {
            let id = set.add(start).unwrap();
            set.set_shape(id, target).unwrap();
        }
    };
    if on_gpu {
        let mut gpu = headless(EngineOptions::default())?;
        let id = gpu.add(cloth).unwrap();
        fill(gpu.engine_mut().colliders_mut());
        gpu.engine_mut().cloth_mut(id).unwrap().set_pose(space[1]).unwrap();
        gpu.engine_mut().begin_frame(dt).unwrap();
        gpu.step_part(&part).unwrap();
        return Some(Particle::rows(gpu.state().unwrap().current(id)).to_vec());
    }
    let mut cpu = ReferenceEngine::new();
    let id = cpu.add(cloth).unwrap();
    fill(cpu.colliders_mut());
    cpu.cloth_mut(id).unwrap().set_pose(space[1]).unwrap();
    cpu.begin_frame(dt).unwrap();
    cpu.run_part(id, &part, &mut Team::single()).unwrap();
    Some(Particle::rows(cpu.current(nth_cloth(0))).to_vec())
}

#[test]
fn a_moving_rotated_local_space_meets_the_world_where_it_is() {
    let mut rng = Rng::new(211);
    let space = [
        pose([2.0, -1.0, 0.5], [1.0, 2.0, 3.0], 0.8),
        pose([2.1, -0.9, 0.3], [1.0, 2.0, 3.1], 0.9),
    ];
    let into_local = Rigid::new(space[1]).inverse();
    let to_world = Rigid::new(space[1]);
    let count = sheet().particle_count();
    let in_world: Vec<[f32; 4]> = (0..count)
        .map(|_| {
            let [x, y, z] = rng.point(-1.0, 1.0);
            [x, y, z, 1.0]
        })
        .collect();
    let in_local: Vec<_> = in_world.iter().map(|&p| moved(into_local, p)).collect();
    // A few roundings of values up to 4 m, there and back; contact divides by the area of a
    // triangle of 0.5 m^2.
    let tolerance = 64.0 * f32::EPSILON * 4.0;
    for on_gpu in [false, true] {
        let still = [Pose::default(); 2];
        let (Some(expected), Some(got)) =
            (collide(on_gpu, &in_world, still), collide(on_gpu, &in_local, space))
        else {
            continue;
        };
        let pushed = expected.iter().zip(&in_world).filter(|(a, b)| a != b).count();
        assert!(pushed > count / 4, "only {pushed} of {count} touch something");
        let mut off = 0;
        for (expected, got) in expected.iter().zip(&got) {
            let got = moved(to_world, *got);
            let error = (0..3).map(|k| (got[k] - expected[k]).abs()).fold(0.0, f32::max);
            off += usize::from(error > tolerance);
        }
        // One particle may be as near to another face and leave through that one.
        assert!(off <= 1, "on the GPU: {on_gpu}: {off} of {count} elsewhere");
    }
}

#[test]
fn impulses_on_a_body_come_back_in_world_axes() {
    let mut found = Vec::new();
    for space in [Pose::default(), pose([1.0, 0.5, -2.0], [1.0, 2.0, 3.0], 1.1)] {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let mut cloth = sheet();
        cloth.config.gravity = [0.0; 3];
        let into_local = Rigid::new(space).inverse();
        cloth.particles.iter_mut().for_each(|p| *p = moved(into_local, (*p).into()).into());
        cloth.pose = space;
        simulation.add(cloth).unwrap();
        let set = simulation.colliders_mut();
        let body = set
            .add_body(RigidBody {
                inverse_mass: 2.5,
                inverse_inertia: [[30.0, 5.0, 0.0], [5.0, 20.0, 1.0], [0.0, 1.0, 40.0]],
                center: [0.45, 0.14, 0.55],
                velocity: [0.3, -2.0, 0.1],
                angular_velocity: [0.5, 3.0, -1.0],
                restitution: 0.2,
            })
            .unwrap();
        let ball = Sphere { center: [0.45, 0.14, 0.55], radius: 0.15 };
        set.add(Collider { body: Some(body), ..Collider::from(ball) }).unwrap();
        simulation.step(1.0 / 300.0).unwrap();
        let impulse = simulation.state().unwrap().body_impulse(body);
        assert!(impulse.contact_count > 0);
        found.push(impulse);
    }
    let (a, b) = (found[0], found[1]);
    let size = a.linear.iter().map(|x| x.abs()).fold(0.0, f32::max);
    for k in 0..3 {
        assert!((a.linear[k] - b.linear[k]).abs() < 1e-4 * size, "{a:?} against {b:?}");
        assert!((a.angular[k] - b.angular[k]).abs() < 1e-4 * size, "{a:?} against {b:?}");
    }
}
