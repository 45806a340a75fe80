//! Recorded frames, read-back without waiting, the application's device and threads.

use std::sync::Arc;

use poplin::{Backend, ClothId, Error, NoSuchCloth, Reading, Simulation, State};
use poplin_cpu::ReferenceEngine;
use poplin_gpu::{EngineOptions, GpuEngine, Headless, Readback, wgpu};
use poplin_host::Cloths;
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{ClothDesc, Fabric, Particle};
use poplin_testkit::adapter::{backends, headless};
use poplin_testkit::scenes::hanging_sheet;

use super::{run, same_cloth};

/// Change made between two recorded frames.
type Change = fn(&mut GpuEngine, &[ClothId]);

#[test]
fn recorded_frames_keep_working_when_cloths_come_and_go() {
    let Some(probe) = headless(EngineOptions::default()) else { return };
    let (device, queue) = (probe.device(), probe.queue());
    let changes: [(&str, Change); 2] = [
        ("cloths for which every buffer must grow", |engine, _| {
            (0..6).for_each(|_| engine.add(hanging_sheet(8, 8)).map(drop).unwrap());
        }),
        (
            "cloths in the memory of another, a reset one and one with its first colliders",
            |engine, ids| {
                engine.remove(ids[0]).unwrap();
                engine.add(hanging_sheet(6, 6)).map(drop).unwrap();
                engine.clone_cloth(ids[1], 2).map(drop).unwrap();
                engine.reset(ids[1]).unwrap();
                let spheres: Vec<_> = (0..30).map(|k| [0.1 * k as f32, -0.1, 0.4, 0.12]).collect();
                let set = engine.cloth_mut(ids[2]).unwrap().colliders_mut();
                ShapeArrays { spheres, ..ShapeArrays::default() }.reach(set).unwrap();
            },
        ),
    ];
    let mut expected: Option<(State, ClothId)> = None;
    for (what, change) in [("nothing", (|_, _| {}) as Change)].into_iter().chain(changes) {
        let finish = |submit_late: bool| {
            let options = EngineOptions { frames_per_submit: 2, ..EngineOptions::default() };
            let mut engine = GpuEngine::new(device, queue, options).unwrap();
            let ids: Vec<_> =
                [6, 7, 8, 5].map(|side| engine.add(hanging_sheet(side, side)).unwrap()).into();
            let mut first = device.create_command_encoder(&Default::default());
            engine.encode_frame(&mut first, 1.0 / 50.0).unwrap();
            let first = first.finish();
            let mut waiting = Some(first);
            if !submit_late {
                queue.submit(waiting.take());
            }
            change(&mut engine, &ids);
            let mut second = device.create_command_encoder(&Default::default());
            engine.encode_frame(&mut second, 1.0 / 60.0).unwrap();
            queue.submit(waiting.into_iter().chain([second.finish()]));
            let mut readback = Readback::new();
            let mut encoder = device.create_command_encoder(&Default::default());
            let ids = engine.ids().to_vec();
            readback.encode(&mut engine, &ids, &mut encoder).unwrap();
            queue.submit([encoder.finish()]);
            let mut state = None;
            while state.is_none() {
                device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
                state = readback.poll().unwrap();
            }
            state.unwrap()
        };
        let (early, late) = (finish(false), finish(true));
        assert_eq!(early.ids(), late.ids());
        // No change concerns the last of the first four cloths, so that its result must not change.
        let last = poplin_testkit::nth_cloth(3);
        let (state, id) = expected.get_or_insert_with(|| (early.clone(), last));
        same_cloth(what, (&late, last), (&*state, *id));
        for &id in early.ids() {
            assert!(early.iteration_total(id) > 0 && !early.current(id).is_empty());
            same_cloth(&format!("{what}, {id}"), (&late, id), (&early, id));
        }
    }
}

#[test]
fn a_state_can_be_asked_for_without_waiting() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let ids = [5, 6, 7].map(|side| simulation.add(hanging_sheet(side, side)).unwrap());
        run(&mut simulation, 2);
        let mut polled = simulation.begin_read(&[ids[2], ids[0]]).unwrap();
        let awaited: Reading = simulation.begin_read(&ids).unwrap();
        let expected = simulation.state().unwrap();
        run(&mut simulation, 1);
        simulation.wait().unwrap();
        let awaited = pollster::block_on(awaited.receive()).unwrap();
        let mut state = polled.poll().unwrap();
        while state.is_none() {
            state = polled.poll().unwrap();
        }
        let state = state.unwrap();
        assert_eq!(state.ids(), [ids[2], ids[0]]);
        assert!(state.cloth(ids[1]).is_err());
        for id in [ids[2], ids[0]] {
            same_cloth("polled", (&state, id), (&expected, id));
            same_cloth("awaited", (&awaited, id), (&expected, id));
        }
    }
}

#[test]
fn a_simulation_runs_on_the_applications_device() {
    let Some(probe) = headless(EngineOptions::default()) else { return };
    let mut simulation =
        Simulation::with_device(probe.device(), probe.queue(), EngineOptions::default()).unwrap();
    let id = simulation.add(hanging_sheet(6, 6)).unwrap();
    run(&mut simulation, 2);
    let expected = simulation.read(id).unwrap();
    let gpu = simulation.gpu().unwrap();
    assert_eq!(gpu.engine().particle_range(id), Ok(0..36));
    let bytes = gpu.read_buffer(gpu.engine().particle_buffer()).unwrap();
    assert_eq!(bytemuck::cast_slice::<u8, Particle>(&bytes)[..36], *expected.current(id));
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    let engine = simulation.gpu_mut().unwrap().engine_mut();
    engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
    simulation.gpu().unwrap().queue().submit([encoder.finish()]);
    assert_eq!(simulation.read(id).unwrap().iteration_total(id), 15);
    assert!(Simulation::new(Backend::Cpu).unwrap().gpu().is_none());
}

#[test]
fn what_users_move_between_threads_may_be_moved() {
    fn send_and_sync<T: Send + Sync + std::fmt::Debug>() {}
    send_and_sync::<Simulation>();
    send_and_sync::<State>();
    send_and_sync::<Reading>();
    send_and_sync::<ClothId>();
    send_and_sync::<NoSuchCloth>();
    send_and_sync::<Error>();
    send_and_sync::<ReferenceEngine>();
    send_and_sync::<GpuEngine>();
    send_and_sync::<Headless>();
    send_and_sync::<Readback>();
    send_and_sync::<poplin::Cloth>();
    send_and_sync::<poplin_host::HostCloth>();
    send_and_sync::<Cloths<u8>>();
    send_and_sync::<ClothDesc>();
    send_and_sync::<Arc<Fabric>>();
    send_and_sync::<poplin::model::Mesh>();
    send_and_sync::<poplin::cook::CookOptions>();
    // A future awaited on another thread.
    fn send<T: Send>(_: T) {}
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    send(simulation.begin_read(&[]).unwrap().receive());
    assert!(format!("{simulation:?}").contains("cloth_count: 0"));
}
