//! Restored snapshots on both backends, and devices that are lost or too small.

use poplin::{Backend, ClothId, Feedback, Simulation, Snapshot, State};
use poplin_gpu::{
    Compilation, EngineOptions, Error, GpuEngine, PendingSnapshot, is_software, wgpu,
};
use poplin_model::{ClothContactSolver, Collider, ContactMode, RigidBody, Shape};
use poplin_testkit::adapter::{backends, headless, noop_device};
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::{hanging_sheet, loose_particles};

use super::{END, HIDDEN, SAVED, Saved, at, restore_bytes, saved, sleeper};

/// Index of the implicit sheet, in the order of adding.
const IMPLICIT: usize = 2;

/// Index of the sleeper, in the order of adding.
const SLEEPER: usize = 3;

/// Counters that do not depend on the backend: one backend skips sleeping cloths, on the other they
/// may sleep inside their kernel.
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

#[test]
fn a_restored_scene_continues_with_the_same_bits() {
    let mut all: Vec<_> = backends().into_iter().map(saved).collect();
    // The scene exercises halved steps, sleep, waking and bodies.
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
                // Restores into another engine; on the GPU that would compile all pipelines again.
                all[to].simulation = Simulation::new(Backend::Cpu).unwrap();
                all[to].simulation.add(hanging_sheet(3, 3)).unwrap();
            }
            let Saved { scene, simulation, .. } = &mut all[to];
            // A restore removes earlier cloths and colliders.
            simulation.colliders_mut().add(Shape::sphere(9.0)).unwrap();
            let restored = simulation.restore(&snapshot).unwrap();
            assert_eq!(simulation.ids(), restored);
            // A snapshot taken right after the restore is the same, in memory and as bytes.
            let again = simulation.save().unwrap();
            simulation.restore(&again).unwrap();
            let states = scene.run(simulation, SAVED..END);
            same_states(&what, &states, &all[from].states);
            assert!(again.to_bytes().unwrap() == all[from].bytes, "{what}: other bytes");
        }
    }
}

#[test]
fn a_cloth_asleep_near_a_body_sleeps_on_after_a_restore() {
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
            simulation.step(1.0 / 60.0).unwrap();
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

#[test]
fn cloths_of_a_lost_device_continue_on_another_one() {
    let options =
        EngineOptions { compilation: Compilation::WhenNeeded, ..EngineOptions::default() };
    let Some(first) = headless(options.clone()) else { return };
    let Some(second) = headless(options.clone()) else { return };
    let (device, queue) = (first.device().clone(), first.queue().clone());
    let mut engine = GpuEngine::new(&device, &queue, options.clone()).unwrap();
    let id = engine.add(hanging_sheet(4, 4)).unwrap();
    engine.clone_cloth(id, 1).unwrap();
    let frame =
        |engine: &mut GpuEngine, (device, queue): (&wgpu::Device, &wgpu::Queue), save: bool| {
            let mut encoder = device.create_command_encoder(&Default::default());
            engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
            let pending = save.then(|| engine.encode_save(&mut encoder).unwrap());
            queue.submit([encoder.finish()]);
            pending
        };
    (0..3).for_each(|_| drop(frame(&mut engine, (&device, &queue), false)));
    let arrived = |mut pending: PendingSnapshot, device: &wgpu::Device| {
        // The first call requests the copy.
        pending.poll().unwrap().or_else(|| {
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            pending.poll().unwrap()
        })
    };
    let pending = frame(&mut engine, (&device, &queue), true).unwrap();
    let snapshot = arrived(pending, &device).unwrap();
    // Frames and a snapshot lost with the device.
    frame(&mut engine, (&device, &queue), false);
    device.destroy();
    let mut late = frame(&mut engine, (&device, &queue), true).unwrap();
    let error = late.poll().unwrap_err();
    assert!(matches!(error, Error::Readback(_)), "{error:?}");
    assert!(error.to_string().contains("the device may be lost"), "{error}");

    let mut expected = Simulation::new(Backend::Cpu).unwrap();
    let id = expected.add(hanging_sheet(4, 4)).unwrap();
    expected.clone_cloth(id, 1).unwrap();
    (0..7).for_each(|_| expected.step(1.0 / 60.0).unwrap());
    let (device, queue) = (second.device(), second.queue());
    let mut engine = GpuEngine::new(device, queue, options).unwrap();
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
    other.step(1.0 / 60.0).unwrap();
}

#[test]
fn a_restore_without_room_on_the_device_changes_nothing() {
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
    let mut engine = GpuEngine::new(&device, &queue, EngineOptions::default()).unwrap();
    let id = engine.add(hanging_sheet(4, 4)).unwrap();
    let particles = engine.particle_count();
    let result = engine.restore(&snapshot);
    assert!(matches!(result, Err(Error::TooLarge { .. })), "{result:?}");
    assert_eq!((engine.ids(), engine.particle_count()), (&[id][..], particles));
}
