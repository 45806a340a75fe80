//! Snapshots: what is restored from one, or from its bytes, on either backend, goes on with the bits it would have had.

use std::sync::Arc;

use poplin::{
    Backend, ClothId, Error, Feedback, SAVE_VERSION, SaveError, Simulation, Snapshot, State,
};
use poplin_gpu::{
    Compilation, Engine, EngineOptions, GpuError, PendingSnapshot, is_software, wgpu,
};
use poplin_model::{
    Cloth, ClothContactSolver, Collider, ColliderId, ContactMode, Frame, InteractionGroups,
    ModelError, Pose, RigidBody, Shape, Sphere, TriangleMesh,
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

/// Bytes before the payload.
const HEADER_LEN: usize = 22;

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
            let angle = 0.3 * t * (1 + k % 3) as f32;
            set.set_pose(bone, at([0.05 * angle.sin(), 0.0, 0.04 * angle.cos()])).unwrap();
        }
        set.set_pose(self.mesh, at([0.2, -0.3 - 0.01 * t, 0.6])).unwrap();
        if frame == SAVED {
            set.teleport(self.heavy, at([0.7, -0.2, 0.5])).unwrap();
        }
        if frame == SAVED + 3 {
            set.set_pose(self.hidden, at([0.0, 5.0, 0.3])).unwrap();
        }
        let angle = 0.02 * t;
        let pose = Pose {
            translation: [0.03 * t, 0.01 * t * t, 0.0],
            rotation: [0.0, angle.sin(), 0.0, angle.cos()],
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
            same_states(&what, &states, &all[from].states);
            assert!(again.to_bytes().unwrap() == all[from].bytes, "{what}: other bytes");
        }
    }
}

#[test]
fn what_sleeps_near_a_body_sleeps_on_with_contact_of_triangles() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let contact = ContactMode::Triangles;
    let settings = ClothContactSolver { contact, ..ClothContactSolver::default() };
    simulation.set_cloth_contact_solver(settings).unwrap();
    let mut cloth = sleeper();
    cloth.config.thickness = 0.1;
    let id = simulation.add(cloth).unwrap();
    let set = simulation.colliders_mut();
    let body = set.add_body(RigidBody::default()).unwrap();
    let ball = Collider { body: Some(body), groups: HIDDEN, ..Shape::sphere(0.5).into() };
    set.add(Collider { pose: at([0.0, 5.0, 2.0]), ..ball }).unwrap();
    let run = |simulation: &mut Simulation| -> Vec<State> {
        let step = |_| {
            simulation.step(&Frame::default()).unwrap();
            simulation.state().unwrap()
        };
        (0..30).map(step).collect()
    };
    let before = run(&mut simulation);
    let slept = before[29].slept_frames(id);
    assert!(slept > 10, "it sleeps: {slept}");
    let bytes = simulation.save().unwrap().to_bytes().unwrap();
    let expected = run(&mut simulation);
    assert_eq!(expected[29].slept_frames(id), slept + 30);
    let mut restored = Simulation::new(Backend::Cpu).unwrap();
    restore_bytes(&mut restored, &bytes).unwrap();
    same_states("restored", &run(&mut restored), &expected);
}

fn restore_bytes(simulation: &mut Simulation, bytes: &[u8]) -> Result<Vec<ClothId>, Error> {
    simulation.restore(&Snapshot::from_bytes(bytes)?)
}

#[test]
fn a_shared_fabric_is_written_once() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(hanging_sheet(16, 16)).unwrap();
    let one = simulation.save().unwrap().to_bytes().unwrap().len();
    simulation.clone_cloth(id, 1).unwrap();
    let two = simulation.save().unwrap().to_bytes().unwrap().len();
    // 256 particles: as added, now and before.
    assert!((256 * 36..256 * 56).contains(&(two - one)), "{one} bytes, then {two}");
    assert!(one > 2 * (two - one), "{one} bytes, then {two}");
    let mut other = Simulation::new(Backend::Cpu).unwrap();
    let bytes = simulation.save().unwrap().to_bytes().unwrap();
    let ids = restore_bytes(&mut other, &bytes).unwrap();
    let fabric = |id: ClothId| other.cloth(id).unwrap().cloth().fabric.clone();
    assert!(Arc::ptr_eq(&fabric(ids[0]), &fabric(ids[1])));
}

/// The bytes with a header that fits the payload.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let payload = &bytes[HEADER_LEN..];
    let (checksum, len) = (crc32fast::hash(payload), payload.len() as u64);
    bytes[10..14].copy_from_slice(&checksum.to_le_bytes());
    bytes[14..22].copy_from_slice(&len.to_le_bytes());
    bytes
}

#[test]
fn bytes_that_are_no_snapshot_are_refused_by_name() {
    let good = saved(Backend::Cpu).bytes;
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(hanging_sheet(4, 4)).unwrap();
    let before = simulation.save().unwrap().to_bytes().unwrap();
    let with = |index: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[index] = byte;
        bytes
    };
    let len = good.len() as u64;
    let newer = SAVE_VERSION + 1;
    for (bytes, expected) in [
        (
            Vec::new(),
            "these bytes are no snapshot of poplin: they do not begin with `POPLIN`".into(),
        ),
        (b"PK\x03\x04 and more".to_vec(), SaveError::Foreign.to_string()),
        (good[..9].to_vec(), "the snapshot has 9 bytes; 22 were written".into()),
        (
            with(6, newer as u8),
            format!("the snapshot has version {newer}; this poplin reads version 4 alone"),
        ),
        (
            good[..good.len() - 1].to_vec(),
            format!("the snapshot has {} bytes; {len} were written", len - 1),
        ),
        (
            [&good[..], &[0]].concat(),
            format!("the snapshot has {} bytes; {len} were written", len + 1),
        ),
    ] {
        let error = restore_bytes(&mut simulation, &bytes).unwrap_err();
        assert!(matches!(error, Error::Save(_)), "{error:?}");
        assert_eq!(error.to_string(), expected);
    }
    let error = restore_bytes(&mut simulation, &with(100, good[100] ^ 1)).unwrap_err().to_string();
    assert!(error.starts_with("the snapshot is damaged: its checksum is 0x"), "{error}");
    let error = restore_bytes(&mut simulation, &sealed(good[..200].to_vec())).unwrap_err();
    assert!(error.to_string().starts_with("the snapshot cannot be read: "), "{error}");
    // Nothing has changed.
    assert_eq!(simulation.ids(), [id]);
    assert!(simulation.save().unwrap().to_bytes().unwrap() == before);
}

#[test]
fn no_bytes_make_it_panic_or_take_much_memory() {
    let good = saved(Backend::Cpu).bytes;
    let mut rng = Rng::new(17);
    let (mut refused, mut restored) = (0, 0);
    for round in 0..4000 {
        let mut bytes = good.clone();
        for _ in 0..1 + rng.index(3) {
            let index = HEADER_LEN + rng.index(bytes.len() - HEADER_LEN);
            match rng.index(6) {
                0 => bytes[index] = 0xff,
                1 => bytes[index] = 0,
                // A huge length or index.
                2 => bytes.splice(index..index + 1, [0xff, 0xff, 0xff, 0xff, 0x0f]).for_each(drop),
                3 => bytes.truncate(index + 1),
                4 => drop(bytes.remove(index)),
                _ => bytes[index] ^= 1 << rng.index(8),
            }
        }
        let bytes = sealed(bytes);
        match Snapshot::from_bytes(&bytes) {
            Err(_) => refused += 1,
            Ok(snapshot) => {
                restored += 1;
                if round % 8 == 0 {
                    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
                    simulation.restore(&snapshot).unwrap();
                    // Some frames are refused, of frequencies that are too high.
                    for _ in 0..2 {
                        let _ = simulation.step(&Frame { dt: 1.0 / 240.0 });
                    }
                    simulation.state().unwrap();
                    let _ = simulation.save().unwrap().to_bytes();
                }
            }
        }
    }
    assert!(refused > 500 && restored > 500, "{refused} refused, {restored} restored");
}

#[test]
fn a_pinned_particle_stays_pinned_whatever_the_bytes_say() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(loose_particles(vec![[1.0, 2.0, 3.0, 0.0]])).unwrap();
    let good = simulation.save().unwrap().to_bytes().unwrap();
    let row = [1.0f32, 2.0, 3.0, 0.0].map(f32::to_le_bytes).concat();
    // As added, then now.
    let positions: Vec<_> = (0..good.len() - 15).filter(|&k| good[k..k + 16] == row[..]).collect();
    assert_eq!(positions.len(), 2);
    let mut bytes = good;
    bytes[positions[1] + 12..][..4].copy_from_slice(&1.0f32.to_le_bytes());
    let error = Snapshot::from_bytes(&sealed(bytes)).unwrap_err();
    let source = ModelError::PinnedParticle { particle: 0, inverse_mass: 1.0 };
    assert_eq!(error, SaveError::Cloth { cloth: 0, source });
}

#[test]
fn the_bytes_of_a_version_are_always_the_same() {
    let bytes = |simulation: &mut Simulation| simulation.save().unwrap().to_bytes().unwrap();
    let mut full = Simulation::new(Backend::Cpu).unwrap();
    Scene::build(&mut full);
    // No sine or root is in it, which machines may round differently.
    let mut plain = Simulation::new(Backend::Cpu).unwrap();
    plain.add(sleeper()).unwrap();
    plain.colliders_mut().add(tetrahedron()).unwrap();
    let checksum = crc32fast::hash(&bytes(&mut plain));
    // If these are others, what is written has changed: raise SAVE_VERSION.
    assert_eq!((SAVE_VERSION, bytes(&mut full).len(), checksum), (4, 33_988, 124_715_145));
}

#[test]
fn a_device_may_be_lost_and_its_cloths_go_on_on_another_one() {
    let options =
        EngineOptions { compilation: Compilation::WhenNeeded, ..EngineOptions::default() };
    let Some(first) = headless(options.clone()) else { return };
    let Some(second) = headless(options.clone()) else { return };
    let (device, queue) = (first.device().clone(), first.queue().clone());
    let mut engine = Engine::new(&device, &queue, options.clone()).unwrap();
    let id = engine.add(hanging_sheet(4, 4)).unwrap();
    engine.clone_cloth(id, 1).unwrap();
    let frame =
        |engine: &mut Engine, (device, queue): (&wgpu::Device, &wgpu::Queue), save: bool| {
            let mut encoder = device.create_command_encoder(&Default::default());
            engine.encode_frame(&mut encoder, &Frame::default()).unwrap();
            let pending = save.then(|| engine.encode_save(&mut encoder).unwrap());
            queue.submit([encoder.finish()]);
            pending
        };
    (0..3).for_each(|_| drop(frame(&mut engine, (&device, &queue), false)));
    let arrived = |mut pending: PendingSnapshot, device: &wgpu::Device| {
        // The first call asks for the copy.
        pending.poll().unwrap().or_else(|| {
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            pending.poll().unwrap()
        })
    };
    let pending = frame(&mut engine, (&device, &queue), true).unwrap();
    let snapshot = arrived(pending, &device).unwrap();
    // Frames and a snapshot that are lost with the device.
    frame(&mut engine, (&device, &queue), false);
    device.destroy();
    let mut late = frame(&mut engine, (&device, &queue), true).unwrap();
    let error = late.poll().unwrap_err();
    assert!(matches!(error, GpuError::Readback(_)), "{error:?}");
    assert!(error.to_string().contains("the device may be lost"), "{error}");

    let mut expected = Simulation::new(Backend::Cpu).unwrap();
    let id = expected.add(hanging_sheet(4, 4)).unwrap();
    expected.clone_cloth(id, 1).unwrap();
    (0..7).for_each(|_| expected.step(&Frame::default()).unwrap());
    let (device, queue) = (second.device(), second.queue());
    let mut engine = Engine::new(device, queue, options).unwrap();
    engine.restore(&snapshot).unwrap();
    (0..2).for_each(|_| drop(frame(&mut engine, (device, queue), false)));
    let pending = frame(&mut engine, (device, queue), true).unwrap();
    let last = arrived(pending, device).unwrap();
    let state = expected.state().unwrap();
    if is_software(second.adapter_info()) {
        for (cloth, &id) in last.cloths().iter().zip(state.ids()) {
            same_bits("current", &cloth.current, state.current(id)).unwrap();
            same_bits("previous", &cloth.previous, state.previous(id)).unwrap();
        }
    }
}

#[test]
fn a_simulation_whose_device_is_lost_says_so() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let (device, queue) = (gpu.device(), gpu.queue());
    let mut simulation = Simulation::with_device(device, queue, EngineOptions::default()).unwrap();
    simulation.add(loose_particles(vec![[0.0, 0.0, 0.0, 1.0]])).unwrap();
    let bytes = simulation.save().unwrap().to_bytes().unwrap();
    device.destroy();
    for error in [simulation.save().err(), simulation.state().err()] {
        let message = error.expect("nothing can be read").to_string();
        assert!(message.contains("the device may be lost"), "{message}");
    }
    let mut other = Simulation::new(Backend::Cpu).unwrap();
    restore_bytes(&mut other, &bytes).unwrap();
    other.step(&Frame::default()).unwrap();
}

#[test]
fn what_has_no_room_on_the_device_is_refused_and_nothing_changes() {
    let mut large = Simulation::new(Backend::Cpu).unwrap();
    for _ in 0..3 {
        large.add(loose_particles(vec![[0.0, 0.0, 0.0, 1.0]; 20_000])).unwrap();
    }
    let snapshot = large.save().unwrap();
    let limits = wgpu::Limits {
        max_storage_buffer_binding_size: 1 << 19,
        max_buffer_size: 1 << 19,
        ..wgpu::Limits::default()
    };
    let (device, queue) = noop_device(limits);
    let mut engine = Engine::new(&device, &queue, EngineOptions::default()).unwrap();
    let id = engine.add(hanging_sheet(4, 4)).unwrap();
    let particles = engine.particle_count();
    let result = engine.restore(&snapshot);
    assert!(matches!(result, Err(GpuError::TooLarge { .. })), "{result:?}");
    assert_eq!((engine.ids(), engine.particle_count()), (&[id][..], particles));
}
