//! Snapshots: what is restored from one, or from its bytes, on either backend, goes on with the bits it would have had.

use std::sync::Arc;

use poplin::{
    Backend, ClothId, Error, Feedback, ParticleMotion, SAVE_VERSION, SaveError, Simulation,
    Snapshot, State,
};
use poplin_gpu::{Compilation, Engine, EngineOptions, GpuError, is_software, wgpu};
use poplin_model::{
    Cloth, ClothContactSolver, Collider, ColliderId, Frame, InteractionGroups, ModelError,
    Particle, Pose, RigidBody, Shape, Solver, Sphere, TriangleMesh,
};
use poplin_testkit::adapter::{backends, headless, noop_device};
use poplin_testkit::compare::same_bits;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::{
    equip, hanging_sheet, implicit_sheet, loose_particles, random_cloth, random_xpbd_cloth,
};

/// Frame before which the snapshot is taken, and how many there are.
const SAVED: usize = 6;
const END: usize = SAVED + 6;

/// Positions of cloths in the order of adding.
const EQUIPPED: usize = 0;
const IMPLICIT: usize = 2;
const SLEEPER: usize = 3;
const SHEETS: std::ops::Range<usize> = 4..7;

/// Of the sleeper and what it meets, and of what it does not meet.
const HIDDEN: InteractionGroups = InteractionGroups { memberships: 2, filter: 2 };
const PLAIN: InteractionGroups = InteractionGroups { memberships: 1, filter: u32::MAX };

/// A scene whose every input changes from frame to frame.
struct Scene {
    /// Shared: a chain of capsules, a mesh, a ball with a body, a ball that only the sleeper meets.
    chain: Vec<ColliderId>,
    mesh: ColliderId,
    heavy: ColliderId,
    hidden: ColliderId,
}

fn at(translation: [f32; 3]) -> Pose {
    Pose { translation, ..Pose::default() }
}

/// A closed mesh.
fn tetrahedron() -> TriangleMesh {
    let vertices = [[0.0, 0.3, 0.0], [0.3, -0.1, 0.0], [-0.2, -0.1, 0.3], [-0.2, -0.1, -0.3]];
    let triangles = [[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]];
    TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
}

/// Two sheets that collide with themselves and each other would do; three share a fabric.
fn sheet() -> Cloth {
    let mut cloth = hanging_sheet(5, 5);
    cloth.config.self_collision.distance = Some(0.15);
    cloth.config.cloth_collision.distance = Some(0.1);
    cloth.config.contact.friction = 0.4;
    cloth.config.air.drag = 0.2;
    cloth
}

/// What does not move, and would fall asleep.
fn sleeper() -> Cloth {
    let mut cloth = loose_particles((0..4).map(|k| [k as f32, 5.0, 0.0, 1.0]).collect());
    cloth.config.sleep.threshold = 1e-3;
    cloth.config.sleep.test_interval = 10;
    cloth.config.sleep.after_count = 3;
    cloth.collider_groups = HIDDEN;
    cloth
}

impl Scene {
    fn build(simulation: &mut Simulation) -> Self {
        let set = simulation.colliders_mut();
        let ball = |x: f32| Sphere { center: [x, -0.5, 0.1], radius: 0.25 };
        let bone = |k: usize| poplin_model::Capsule {
            ends: [ball(0.1 * k as f32), ball(0.1 * (k + 1) as f32)],
        };
        let gone = set.add(Shape::sphere(1.0)).unwrap();
        let chain = (0..12).map(|k| Collider { groups: PLAIN, ..bone(k).into() });
        let chain = chain.map(|bone| set.add(bone).unwrap()).collect();
        let mesh = set
            .add(Collider { groups: PLAIN, pose: at([0.2, -0.3, 0.6]), ..tetrahedron().into() })
            .unwrap();
        let body = set.add_body(RigidBody { inverse_mass: 0.5, ..RigidBody::default() }).unwrap();
        let heavy = Collider {
            body: Some(body),
            groups: PLAIN,
            pose: at([0.8, -0.2, 0.5]),
            ..Shape::sphere(0.3).into()
        };
        let heavy = set.add(heavy).unwrap();
        let hidden =
            Collider { groups: HIDDEN, pose: at([0.0, 5.0, 2.0]), ..Shape::sphere(0.5).into() };
        let hidden = set.add(hidden).unwrap();
        set.remove(gone).unwrap();

        let mut random = random_cloth(5, 24);
        random.config.cloth_collision.distance = Some(0.0);
        let id = simulation.add(random).unwrap();
        equip(simulation.cloth_mut(id).unwrap(), 5);
        let gone = simulation.add(hanging_sheet(5, 5)).unwrap();
        simulation.add(random_xpbd_cloth(3, 26)).unwrap();
        let mut implicit = implicit_sheet(4, 4);
        let solver = implicit.config.solver.as_implicit_mut().unwrap();
        (solver.max_iterations, solver.stretch_stiffness) = (6, [1e4; 2]);
        simulation.add(implicit).unwrap();
        simulation.add(sleeper()).unwrap();
        let first = simulation.add(sheet()).unwrap();
        let copies = simulation.clone_cloth(first, 2).unwrap();
        for (k, copy) in (1..).zip(copies) {
            let pose = at([0.05, -0.06 * k as f32, 0.02]);
            simulation.cloth_mut(copy).unwrap().teleport_to(pose).unwrap();
        }
        let settings =
            ClothContactSolver { friction: 0.2, every: 2, ..ClothContactSolver::default() };
        simulation.set_cloth_contact_solver(settings).unwrap();
        simulation.remove(gone).unwrap();
        Self { chain, mesh, heavy, hidden }
    }

    /// The inputs of a frame.
    fn drive(&self, simulation: &mut Simulation, frame: usize) {
        let t = frame as f32;
        let ids = simulation.ids().to_vec();
        let set = simulation.colliders_mut();
        for (k, &bone) in self.chain.iter().enumerate() {
            // Some leave their neighbours, so that trees are fitted and built anew.
            let turn = 0.3 * t * (1 + k % 3) as f32;
            set.set_pose(bone, at([0.05 * turn.sin(), 0.0, 0.04 * turn.cos()])).unwrap();
        }
        set.set_pose(self.mesh, at([0.2, -0.3 - 0.01 * t, 0.6])).unwrap();
        if frame == SAVED {
            set.teleport(self.heavy, at([0.7, -0.2, 0.5])).unwrap();
        }
        if frame == SAVED + 3 {
            set.set_pose(self.hidden, at([0.0, 5.0, 0.3])).unwrap();
        }
        let turn = 0.02 * t;
        let pose = Pose {
            translation: [0.03 * t, 0.01 * t * t, 0.0],
            rotation: [0.0, turn.sin(), 0.0, turn.cos()],
        };
        let equipped = simulation.cloth_mut(ids[EQUIPPED]).unwrap();
        equipped.set_pose(pose).unwrap();
        let count = equipped.cloth().particle_count();
        let sphere =
            |k: usize| Sphere { center: [0.1 * k as f32 - 1.0, 0.02 * t, 0.0], radius: 1.0 };
        equipped.set_motion_spheres(&(0..count).map(sphere).collect::<Vec<_>>()).unwrap();
        if frame % 4 == 2 {
            equipped.ignore_velocity_discontinuity();
            let accelerations = vec![[0.0, t, 0.0]; count];
            equipped.set_particle_accelerations(&accelerations).unwrap();
        }
        let first = simulation.cloth_mut(ids[SHEETS.start]).unwrap();
        let mut pin = first.cloth().particles[0];
        pin.position[1] += 0.01 * t;
        first.write_particles(&[0], &[pin]).unwrap();
        first.set_pose(at([0.01 * t, 0.0, 0.0])).unwrap();
        if frame == SAVED - 1 {
            let mut config = first.cloth().config.clone();
            config.air.wind_velocity = [3.0, 0.0, 1.0];
            first.set_config(config).unwrap();
            let order: Vec<u32> = first.cloth().phase_order.iter().rev().copied().collect();
            first.set_phase_order(&order).unwrap();
        }
    }

    /// Drives and steps frames; returns the state after each.
    fn run(&self, simulation: &mut Simulation, frames: std::ops::Range<usize>) -> Vec<State> {
        let step = |frame| {
            self.drive(simulation, frame);
            // Not all are equally long.
            simulation
                .step(&Frame { dt: if frame % 3 == 1 { 1.0 / 50.0 } else { 1.0 / 60.0 } })
                .unwrap();
            simulation.state().unwrap()
        };
        frames.map(step).collect()
    }
}

/// The counters that both backends have in common: one leaves sleeping cloths out, for the other they may sleep in their kernel.
fn counters(state: &State, id: ClothId) -> (Feedback, u32) {
    let feedback = state.feedback(id);
    let own = Feedback { wake_count: 0, sleep_frame_count: 0, is_asleep: 0, ..feedback };
    (own, state.slept_frames(id))
}

fn same_states(what: &str, states: &[State], expected: &[State]) {
    assert_eq!(states.len(), expected.len(), "{what}");
    for (frame, (a, b)) in states.iter().zip(expected).enumerate() {
        assert_eq!(a.cloth_count(), b.cloth_count(), "{what}");
        for (index, (&a_id, &b_id)) in a.ids().iter().zip(b.ids()).enumerate() {
            let what = format!("{what}, frame {frame} after the snapshot, cloth {index}");
            assert_eq!(counters(a, a_id), counters(b, b_id), "{what}");
            same_bits(&format!("{what}: current"), a.current(a_id), b.current(b_id)).unwrap();
            same_bits(&format!("{what}: previous"), a.previous(a_id), b.previous(b_id)).unwrap();
            assert_eq!(a.body_impulses(a_id), b.body_impulses(b_id), "{what}");
            assert_eq!(a.own_body_impulses(a_id), b.own_body_impulses(b_id), "{what}");
        }
    }
}

/// What a simulation was before a frame, with inputs that wait for it, and its states after that and later frames.
struct Saved {
    scene: Scene,
    bytes: Vec<u8>,
    simulation: Simulation,
    states: Vec<State>,
}

fn saved(backend: Backend) -> Saved {
    let mut simulation = Simulation::new(backend).unwrap();
    let scene = Scene::build(&mut simulation);
    scene.run(&mut simulation, 0..SAVED);
    scene.drive(&mut simulation, SAVED);
    let bytes = simulation.save().unwrap().to_bytes().unwrap();
    let states = scene.run(&mut simulation, SAVED..END);
    Saved { scene, bytes, simulation, states }
}

#[test]
fn what_is_restored_goes_on_with_the_same_bits_on_either_backend() {
    let mut all: Vec<_> = backends().into_iter().map(saved).collect();
    // The scene does what it is for.
    let (first, last) = (&all[0].states[0], &all[0].states[END - SAVED - 1]);
    let ids = first.ids();
    assert!(first.implicit_report(ids[IMPLICIT]).rejections > 0, "no step was halved");
    let slept = [first, last].map(|state| state.slept_frames(ids[SLEEPER]));
    assert!(slept[0] > 1, "nothing slept");
    assert!(slept[1] > slept[0] && slept[1] < slept[0] + 5, "it was not woken: {slept:?}");
    assert!(ids.iter().all(|&id| last.fault_count(id) == 0));
    let contacts =
        |&id: &ClothId| last.body_impulses(id).iter().map(|it| it.contact_count).sum::<u32>();
    assert!(ids.iter().map(contacts).sum::<u32>() > 0, "no cloth meets the body");

    let is_real =
        |saved: &Saved| saved.simulation.gpu().is_some_and(|gpu| !is_software(gpu.adapter_info()));
    let rounds_alike = !all.iter().any(is_real);
    if let Some(gpu) = all.get(1).filter(|_| rounds_alike) {
        same_states("the GPU", &gpu.states, &all[0].states);
    }
    for from in 0..all.len() {
        let snapshot = Snapshot::from_bytes(&all[from].bytes).unwrap();
        for to in (0..all.len()).filter(|&to| to == from || rounds_alike) {
            let what = format!("{from} to {to} of {:?}", backends());
            if to == 0 {
                // Into another engine; on the GPU that would compile everything again.
                all[to].simulation = Simulation::new(Backend::Cpu).unwrap();
                all[to].simulation.add(hanging_sheet(3, 3)).unwrap();
            }
            let Saved { scene, simulation, .. } = &mut all[to];
            // What has been there goes.
            simulation.colliders_mut().add(Shape::sphere(9.0)).unwrap();
            let restored = simulation.restore(&snapshot).unwrap();
            assert_eq!(simulation.ids(), restored);
            // Taken again at once, in memory and as bytes, it is the same.
            let again = simulation.save().unwrap();
            simulation.restore(&again).unwrap();
            let states = scene.run(simulation, SAVED..END);
            assert!(again.to_bytes().unwrap() == all[from].bytes, "{what}: other bytes");
            same_states(&what, &states, &all[from].states);
        }
    }
}
