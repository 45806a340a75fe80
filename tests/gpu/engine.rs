//! The engine as a renderer embeds it, and the input that it refuses.

use std::sync::{Arc, Mutex};

use poplin_cpu::ReferenceEngine;
use poplin_gpu::{Compilation, EngineOptions, Error, GpuEngine, Headless, Readback, wgpu};
use poplin_host::{Cloth, Engine as _, HostCloth, LoopTrips, ParticleMotion};
use poplin_layout::MemoryTier;
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{
    ClothConfig, ClothDesc, FixedStep, Pbd, PbdPhase, Phases, Shape, Solver, Sphere, Tethers, Xpbd,
};
use poplin_testkit::adapter::{devices, headless, is_real};
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::{hanging_sheet, random_cloth};
use poplin_testkit::skip::part;

/// Device as an application creates it, with default limits only.
pub(crate) fn device() -> Option<(wgpu::Device, wgpu::Queue)> {
    // The test kit reports a missing adapter.
    headless(EngineOptions::default())?;
    let adapter = poplin_gpu::list_adapters().into_iter().next().unwrap();
    let request = adapter.request_device(&wgpu::DeviceDescriptor::default());
    Some(pollster::block_on(request).unwrap())
}

fn read(device: &wgpu::Device, queue: &wgpu::Queue, engine: &mut GpuEngine) -> poplin_gpu::State {
    read_by(Readback::new(), device, queue, engine)
}

fn read_by(
    mut readback: Readback,
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    engine: &mut GpuEngine,
) -> poplin_gpu::State {
    let mut encoder = device.create_command_encoder(&Default::default());
    let ids = engine.ids().to_vec();
    readback.encode(engine, &ids, &mut encoder).unwrap();
    queue.submit([encoder.finish()]);
    let mut reading = std::pin::pin!(readback.read());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(
        reading.as_mut().poll(&mut context).is_pending(),
        "nothing may block before the application polls"
    );
    device
        .poll(wgpu::PollType::Wait {
            submission_index: None,
            timeout: Some(std::time::Duration::from_secs(60)),
        })
        .unwrap();
    pollster::block_on(reading).unwrap()
}

fn step(device: &wgpu::Device, queue: &wgpu::Queue, engine: &mut GpuEngine) {
    let mut encoder = device.create_command_encoder(&Default::default());
    engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
    queue.submit([encoder.finish()]);
}

#[test]
fn colliding_cloths_continue_while_another_one_compiles() {
    let Some((device, queue)) = device() else { return };
    let gate = Arc::new(Mutex::new(()));
    let (compilation, compile_gate) = (Compilation::Background, Some(gate.clone()));
    let options = EngineOptions { compilation, compile_gate, ..Default::default() };
    let mut engine = GpuEngine::new(&device, &queue, options).unwrap();
    let mut cloth = hanging_sheet(5, 5);
    cloth.config.cloth_collision.distance = Some(0.02);
    let first = [0, 1].map(|_| engine.add(cloth.clone()).unwrap());
    engine.finish_compiling();
    let held = gate.lock().unwrap();
    cloth.colliders.add(Shape::sphere(0.1)).unwrap();
    let last = engine.add(cloth).unwrap();
    (0..4).for_each(|_| step(&device, &queue, &mut engine));
    let count = |engine: &mut GpuEngine| {
        let state = read(&device, &queue, engine);
        [first[0], first[1], last].map(|id| state.feedback(id).iteration_total)
    };
    let [a, b, waiting] = count(&mut engine);
    assert!(a > 0 && a == b && waiting == 0, "{a}, {b}, {waiting} iterations");
    drop(held);
    engine.finish_compiling();
    step(&device, &queue, &mut engine);
    let [later, _, last] = count(&mut engine);
    assert!(later > a && last == later - a, "{later} after {a}, {last}");
    // A colliding cloth that needs another pipeline stands still from that frame on.
    let held = gate.lock().unwrap();
    let cuboid = Shape::cuboid([0.1; 3]);
    engine.cloth_mut(first[0]).unwrap().colliders_mut().add(cuboid).unwrap();
    let particles = |engine: &mut GpuEngine| {
        let state = read(&device, &queue, engine);
        first.map(|id| state.current(id).to_vec())
    };
    let [still, _] = particles(&mut engine);
    let mut near = still.clone();
    near.iter_mut().for_each(|particle| particle.position[2] += 0.005);
    engine.set_particles(first[1], &near, ParticleMotion::Rest).unwrap();
    step(&device, &queue, &mut engine);
    assert!(engine.is_compiling());
    let [after, other] = particles(&mut engine);
    same_bits("the waiting cloth", &after, &still).unwrap();
    assert_ne!(other, near);
    drop(held);
}

#[test]
fn a_device_with_a_clock_says_how_long_a_frame_took() {
    for (mut gpu, _) in devices(&EngineOptions::default()) {
        gpu.add(hanging_sheet(8, 8)).unwrap();
        assert_eq!(gpu.frame_time().unwrap(), None);
        gpu.step(1.0 / 60.0).unwrap();
        let time = gpu.frame_time().unwrap();
        let features = gpu.device().features();
        assert_eq!(
            time.is_some(),
            features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)
        );
        assert!(time.is_none_or(|time| !time.is_zero()));
        let rate = gpu.copy_rate().unwrap();
        assert_eq!(rate.is_some(), time.is_some());
        assert!(rate.is_none_or(|rate| rate.is_finite() && rate > 0.0), "{rate:?}");
        assert_eq!(gpu.frame_time().unwrap(), time, "copies are no frames");
    }
}

#[test]
fn current_particles_are_read_alone() {
    let Some((device, queue)) = device() else { return };
    let mut engine = GpuEngine::new(&device, &queue, EngineOptions::default()).unwrap();
    let ids = [3, 5].map(|side| engine.add(hanging_sheet(side, side)).unwrap());
    (0..3).for_each(|_| step(&device, &queue, &mut engine));
    let whole = read(&device, &queue, &mut engine);
    let alone = read_by(Readback::of_current(), &device, &queue, &mut engine);
    for id in ids {
        assert_eq!(alone.current(id), whole.current(id));
        assert_eq!(alone.feedback(id), whole.feedback(id));
        assert_eq!((alone.previous(id).len(), whole.previous(id).is_empty()), (0, false));
    }
}

#[test]
fn a_cloth_stands_still_until_its_pipeline_is_compiled() {
    let Some((device, queue)) = device() else { return };
    let gate = Arc::new(Mutex::new(()));
    let engine = |compilation| {
        let compile_gate = Some(gate.clone());
        let options = EngineOptions { compilation, compile_gate, ..Default::default() };
        GpuEngine::new(&device, &queue, options).unwrap()
    };
    let (mut early, mut late) = (engine(Compilation::WhenAdded), engine(Compilation::Background));
    let cloth = hanging_sheet(6, 6);
    let sphere = Shape::Sphere(Sphere { center: [0.5, -0.4, 0.1], radius: 0.3 });
    let mut held = Some(gate.lock().unwrap());
    let ids = [&mut early, &mut late].map(|engine| engine.add(cloth.clone()).unwrap());
    assert!(late.is_compiling() && !early.is_compiling());
    // Long enough for the frames, in which no time passes, to settle.
    (0..20).for_each(|_| step(&device, &queue, &mut late));
    let state = read(&device, &queue, &mut late);
    let before = state.current(ids[1]).to_vec();
    assert_eq!((state.feedback(ids[1]).iteration_total, before), (0, cloth.particles.clone()));
    held.take();
    late.finish_compiling();
    assert!(!late.is_compiling());
    for frame in 0..30 {
        if frame == 15 {
            // The new shape needs another pipeline.
            for (engine, id) in [&mut early, &mut late].into_iter().zip(ids) {
                let colliders = engine.cloth_mut(id).unwrap().colliders_mut();
                colliders.add(sphere.clone()).unwrap();
            }
            held = Some(gate.lock().unwrap());
            (0..20).for_each(|_| step(&device, &queue, &mut late));
            assert!(late.is_compiling());
            held.take();
            late.finish_compiling();
        }
        step(&device, &queue, &mut early);
        step(&device, &queue, &mut late);
    }
    let [a, b] = [&mut early, &mut late].map(|engine| read(&device, &queue, engine));
    same_bits("current", a.current(ids[0]), b.current(ids[1])).unwrap();
    assert!(a.feedback(ids[0]).iteration_total > 30);
}

#[test]
fn default_limits_suffice_for_frames_recorded_together() {
    let Some((device, queue)) = device() else { return };
    let run = |frames_per_submit: usize| {
        let mut engine = GpuEngine::new(
            &device,
            &queue,
            EngineOptions { frames_per_submit, ..Default::default() },
        )
        .unwrap();
        let id = engine.add(hanging_sheet(10, 10)).unwrap();
        for _ in 0..6 / frames_per_submit {
            let mut encoder = device.create_command_encoder(&Default::default());
            for step in 0..frames_per_submit {
                // Frames of different lengths reveal mixed-up uploads.
                engine.encode_frame(&mut encoder, (1 + step % 3) as f32 / 120.0).unwrap();
            }
            queue.submit([encoder.finish()]);
        }
        read(&device, &queue, &mut engine).current(id).to_vec()
    };
    let (three, six) = (run(3), run(6));
    same_bits("six frames in one submission", &six, &three).unwrap();
}

#[test]
fn all_frames_of_a_clock_fit_into_one_submission() {
    let Some((device, queue)) = device() else { return };
    let count = FixedStep::default().advance(1.0).count;
    assert!(count > 1);
    let run = |per_submission: u32| {
        let mut engine = GpuEngine::new(&device, &queue, EngineOptions::default()).unwrap();
        let id = engine.add(hanging_sheet(6, 6)).unwrap();
        let numbers: Vec<_> = (0..2 * count).collect();
        for numbers in numbers.chunks(per_submission as usize) {
            let mut encoder = device.create_command_encoder(&Default::default());
            for &number in numbers {
                let cloth = engine.cloth_mut(id).unwrap();
                let gravity = [number as f32, -9.8, 0.0];
                cloth.set_config(ClothConfig { gravity, ..cloth.desc().config.clone() }).unwrap();
                engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
            }
            queue.submit([encoder.finish()]);
        }
        read(&device, &queue, &mut engine).current(id).to_vec()
    };
    same_bits("one submission", &run(count), &run(1)).unwrap();
}

#[test]
fn the_particle_buffer_is_a_vertex_and_a_storage_buffer() {
    let Some((device, queue)) = device() else { return };
    let options =
        EngineOptions { particle_usages: wgpu::BufferUsages::INDEX, ..Default::default() };
    let mut engine = GpuEngine::new(&device, &queue, options).unwrap();
    let first = engine.add(hanging_sheet(4, 4)).unwrap();
    let second = engine.add(hanging_sheet(5, 5)).unwrap();
    let usage = engine.particle_buffer().usage();
    assert!(usage.contains(
        wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDEX
    ));
    assert_eq!(
        (engine.particle_range(first).unwrap(), engine.particle_range(second).unwrap()),
        (0..16, 16..41)
    );
}

#[test]
fn a_cloth_added_later_leaves_the_others_as_they_are() {
    let Some(mut gpu) = headless(EngineOptions::default()) else { return };
    let first = gpu.add(hanging_sheet(6, 6)).unwrap();
    (0..3).for_each(|_| gpu.step(1.0 / 60.0).unwrap());
    let before = gpu.state().unwrap().current(first).to_vec();
    // Large enough to make every buffer grow.
    let second = gpu.add(hanging_sheet(40, 40)).unwrap();
    let snapshot = gpu.state().unwrap();
    same_bits("first", snapshot.current(first), &before).unwrap();
    assert_eq!(snapshot.current(second).len(), 1600);
}

/// Sets settings and inputs that change from frame to frame.
fn change_settings(host: &mut Cloth, frame: u32) {
    let phase = PbdPhase { stiffness: 0.2 * frame as f32, ..PbdPhase::default() };
    let config = ClothConfig {
        damping: [0.1 * frame as f32; 3],
        tethers: Tethers { stiffness: (frame % 2) as f32, ..Tethers::default() },
        solver: Pbd { phases: Phases::all(phase), ..Pbd::default() }.into(),
        ..Default::default()
    };
    host.set_config(config).unwrap();
    host.set_phase_order(&[3, 2, 1, 0]).unwrap();
    host.set_particle_accelerations(&vec![[frame as f32, 0.0, 1.0]; 36]).unwrap();
    host.write_particles(&[0], &[[0.01 * frame as f32, 0.1, 0.0, 0.0].into()]).unwrap();
}

#[test]
fn changed_settings_and_inputs_act_alike_on_both_backends() {
    let cloth = hanging_sheet(6, 6);
    let mut cpu = ReferenceEngine::new();
    cpu.add(cloth.clone()).unwrap();
    for frame in 0..5 {
        change_settings(cpu.cloth_mut(nth_cloth(0)).unwrap(), frame);
        cpu.step(1.0 / 60.0).unwrap();
    }
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        let id = gpu.add(cloth.clone()).unwrap();
        for frame in 0..5 {
            change_settings(gpu.engine_mut().cloth_mut(id).unwrap(), frame);
            gpu.step(1.0 / 60.0).unwrap();
        }
        let snapshot = gpu.state().unwrap();
        rounding.agree("current", snapshot.current(id), cpu.current(nth_cloth(0)), 64.0).unwrap();
    }
}

/// Loop trips of each of 32 lanes in an iteration.
fn trips_with_32_lanes(cloth: &ClothDesc) -> u64 {
    let host = HostCloth::new(cloth.clone()).unwrap();
    LoopTrips::new(&cloth.fabric, 32).of(&cloth.phase_order, &host)
}

#[test]
fn a_frame_beyond_the_drivers_loop_limit_is_split_and_right() {
    let cloth = hanging_sheet(24, 24);
    let trips = trips_with_32_lanes(&cloth);
    let dt = 1.5;
    let iterations = u64::from((dt * cloth.config.solver.as_pbd().unwrap().frequency) as u32);
    assert!(trips * iterations > 65_535, "{} trips would not reach the limit", trips * iterations);
    let mut cpu = ReferenceEngine::new();
    cpu.add(cloth.clone()).unwrap();
    cpu.step(dt).unwrap();
    for (mut gpu, rounding) in
        devices(&EngineOptions { lane_count: Some(32), ..Default::default() })
    {
        let id = gpu.add(cloth.clone()).unwrap();
        gpu.step(dt).unwrap();
        let snapshot = gpu.state().unwrap();
        assert_eq!(u64::from(snapshot.feedback(id).iteration_total), iterations);
        let (current, mirror) = (snapshot.current(id), cpu.current(nth_cloth(0)));
        rounding.agree_on_average("current", current, mirror, 5e-4).unwrap();
    }
}

#[test]
fn large_cloths_get_more_lanes_on_a_software_adapter() {
    let Some((device, queue)) = device() else { return };
    let cloth = hanging_sheet(24, 24);
    let trips = trips_with_32_lanes(&cloth);
    let options = EngineOptions { loop_limit: Some(trips - 1), ..Default::default() };
    GpuEngine::new(&device, &queue, options.clone()).unwrap().add(cloth.clone()).unwrap();
    let few = EngineOptions { lane_count: Some(32), ..options };
    assert!(GpuEngine::new(&device, &queue, few).unwrap().add(cloth).is_err());
}

#[test]
fn a_cloth_gets_more_lanes_when_colliders_make_its_loops_longer() {
    let cloth = hanging_sheet(24, 24);
    let trips = trips_with_32_lanes(&cloth);
    let ball = Shape::Sphere(Sphere { center: [0.0, -0.2, 0.0], radius: 0.2 });
    let mut cpu = ReferenceEngine::new();
    let id = cpu.add(cloth.clone()).unwrap();
    cpu.step(1.0 / 60.0).unwrap();
    cpu.colliders_mut().add(ball.clone()).unwrap();
    cpu.step(1.0 / 60.0).unwrap();
    let options = EngineOptions { loop_limit: Some(trips), ..Default::default() };
    for (mut gpu, rounding) in devices(&options) {
        gpu.add(cloth.clone()).unwrap();
        gpu.step(1.0 / 60.0).unwrap();
        // A real GPU has 64 lanes or more from the start.
        let few = gpu.engine().tier(id).unwrap().1;
        assert!(few == 32 || is_real());
        gpu.colliders_mut().add(ball.clone()).unwrap();
        gpu.step(1.0 / 60.0).unwrap();
        assert_eq!(gpu.engine().tier(id).unwrap().1, few.max(64));
        let state = gpu.state().unwrap();
        rounding.agree("current", state.current(id), cpu.current(id), 64.0).unwrap();
    }
}

#[test]
fn cloths_beyond_a_limit_are_refused_and_change_nothing() {
    let large = hanging_sheet(60, 60);
    let Some(mut resident) =
        headless(EngineOptions { tier: Some(MemoryTier::Resident), ..Default::default() })
    else {
        return;
    };
    let error = resident.add(large.clone()).unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { buffer: "workgroup memory", bytes: 115_200, .. }),
        "{error}"
    );
    let mut short: Headless =
        headless(EngineOptions { loop_limit: Some(100), ..Default::default() }).unwrap();
    let error = short.add(large).unwrap_err();
    assert!(matches!(error, Error::LoopTooLong { limit: 100, .. }), "{error}");
    assert_eq!((resident.engine().cloth_count(), short.engine().cloth_count()), (0, 0));
    short.step(1.0 / 60.0).unwrap();
    assert!(short.engine().cloth(nth_cloth(0)).is_err());
    let mut bad = random_cloth(1, 30);
    bad.particles[3].position[1] = f32::NAN;
    assert!(matches!(resident.add(bad), Err(Error::Model(_))));
}

#[test]
fn no_adapter_of_that_name_is_an_error_that_says_what_to_do() {
    let options = poplin_gpu::HeadlessOptions {
        adapter_name: Some("no such card".to_owned()),
        ..Default::default()
    };
    let error = Headless::new(options).err().unwrap().to_string();
    assert!(error.contains("no such card") && error.contains("install"), "{error}");
}

/// Changes the colliders and inputs of a cloth for this frame: some are added, some removed.
fn change_colliders(host: &mut Cloth, frame: u32) {
    let sphere = |k: u32| [0.1 * k as f32, -0.1, 0.4, 0.12];
    let mut shapes = ShapeArrays::default();
    match frame {
        1 => shapes.spheres = vec![sphere(3)],
        2 | 4 => shapes.spheres = (0..9).map(sphere).collect(),
        3 => {
            let count = host.desc().particle_count();
            return host.set_motion_spheres(&vec![[0.0, 0.0, 0.0, 1.2].into(); count]).unwrap();
        }
        5 => {}
        _ => return,
    }
    if frame >= 4 {
        shapes.mesh_vertices = vec![[-2.0, -0.02, -2.0], [0.5, -0.02, 4.0], [3.0, -0.02, -2.0]];
        shapes.mesh_triangles = vec![[0, 1, 2]];
    }
    shapes.reach(host.colliders_mut()).unwrap();
}

#[test]
fn colliders_that_come_and_grow_act_alike_on_both_backends() {
    let mut cloths = [hanging_sheet(9, 9), hanging_sheet(8, 8)];
    // In short steps displacements have remainders, which move as its scratch grows.
    cloths[0].config.solver = Solver::pbd(480.0);
    let mut engines = part(devices(&EngineOptions::default()), 2);
    let mut cpu = ReferenceEngine::new();
    for cloth in cloths {
        cpu.add(cloth.clone()).unwrap();
        engines.iter_mut().for_each(|(gpu, _)| assert!(gpu.add(cloth.clone()).is_ok()));
    }
    for frame in 0..7 {
        // At first the second cloth has no colliders.
        let changed = if frame > 2 { 2 } else { 1 };
        (0..changed).for_each(|k| change_colliders(cpu.cloth_mut(nth_cloth(k)).unwrap(), frame));
        cpu.step(1.0 / 60.0).unwrap();
        for (gpu, rounding) in &mut engines {
            for id in (0..changed).map(nth_cloth) {
                change_colliders(gpu.engine_mut().cloth_mut(id).unwrap(), frame);
            }
            gpu.step(1.0 / 60.0).unwrap();
            let snapshot = gpu.state().unwrap();
            for id in [0, 1].map(nth_cloth) {
                let what = format!("{id} in frame {frame}");
                rounding.agree(&what, snapshot.current(id), cpu.current(id), 64.0).unwrap();
            }
        }
    }
}

#[test]
fn changes_of_the_step_and_the_order_act_alike_on_both_backends() {
    let mut cloth = hanging_sheet(9, 9);
    let mut engines = part(devices(&EngineOptions::default()), 2);
    let mut cpu = ReferenceEngine::new();
    cloth.config.solver = Solver::xpbd(4);
    cpu.add(cloth.clone()).unwrap();
    engines.iter_mut().for_each(|(gpu, _)| assert!(gpu.add(cloth.clone()).is_ok()));
    let change = |host: &mut Cloth, frame: u32| {
        change_colliders(host, frame);
        let second_order = if matches!(frame, 1 | 2 | 4 | 5 | 8) { 0.8 } else { 0.0 };
        // Positions, at first without a correction without remainders, then displacements.
        let substeps = [4, 4, 7, 8, 16, 7][frame as usize / 2];
        let mut config = host.desc().config.clone();
        config.solver = Xpbd { substeps, second_order, ..Xpbd::default() }.into();
        host.set_config(config).unwrap();
    };
    for frame in 0..12 {
        change(cpu.cloth_mut(nth_cloth(0)).unwrap(), frame);
        cpu.step(1.0 / 60.0).unwrap();
        for (gpu, rounding) in &mut engines {
            change(gpu.engine_mut().cloth_mut(nth_cloth(0)).unwrap(), frame);
            gpu.step(1.0 / 60.0).unwrap();
            let (snapshot, id) = (gpu.state().unwrap(), nth_cloth(0));
            let what = format!("frame {frame}");
            rounding.agree(&what, snapshot.current(id), cpu.current(id), 64.0).unwrap();
        }
    }
}
