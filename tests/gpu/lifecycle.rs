//! Cloths that are added, copied, reset, replaced and removed: on both backends, with the same bits as in a fresh engine.

use poplin::{
    Backend, ClothId, ClothState, Error, NoSuchCloth, ParticleMotion, Reading, Simulation, State,
};
use poplin_gpu::{Engine, EngineOptions, Headless, Readback, wgpu};
use poplin_host::{Cloths, Engine as _};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{Cloth, ClothContactSolver, Fabric, Frame, Particle};
use poplin_reference::ReferenceEngine;
use poplin_testkit::adapter::{Rounding, backends, devices, headless, noop_device};
use poplin_testkit::compare::{close, same_bits};
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::{equip, hanging_sheet, loose_particles, random_cloth};
use std::sync::Arc;

fn run(simulation: &mut Simulation, frames: usize) {
    (0..frames).for_each(|_| simulation.step(&Frame::default()).unwrap());
}

/// Particles and counters of a cloth are the same bits in both states; `wake_count` only counts changes of inputs.
fn same_cloth(what: &str, (a, a_id): (&State, ClothId), (b, b_id): (&State, ClothId)) {
    let (a, b) = (a.cloth(a_id).unwrap(), b.cloth(b_id).unwrap());
    same_bits(&format!("{what}: current"), a.current, b.current).unwrap();
    same_bits(&format!("{what}: previous"), a.previous, b.previous).unwrap();
    same_counters(what, &a, &b);
    assert_eq!(a.body_impulses, b.body_impulses, "{what}");
}

fn same_counters(what: &str, a: &ClothState<'_>, b: &ClothState<'_>) {
    let counters = |state: &poplin::Feedback| poplin::Feedback { wake_count: 0, ..*state };
    assert_eq!(counters(a.feedback), counters(b.feedback), "{what}");
    assert_eq!(a.slept_frames, b.slept_frames, "{what}");
}

/// As [`same_cloth`] where multiply-adds may be fused: roundings apart.
fn nearly_same_cloth(what: &str, a: &ClothState<'_>, b: &ClothState<'_>) {
    close(&format!("{what}: current"), a.current, b.current, 256.0, 1.0).unwrap();
    close(&format!("{what}: previous"), a.previous, b.previous, 256.0, 1.0).unwrap();
    same_counters(what, a, b);
    let impulses = |state: &ClothState<'_>| -> Vec<_> {
        let impulses = state.body_impulses.own.iter().chain(&state.body_impulses.world);
        impulses.map(|impulse| (impulse.body, impulse.linear, impulse.angular)).collect()
    };
    let (a, b) = (impulses(a), impulses(b));
    assert_eq!(a.len(), b.len(), "{what}");
    for (a, b) in a.iter().zip(&b) {
        let values = a.1.iter().chain(&a.2).zip(b.1.iter().chain(&b.2));
        let is_near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4 * b.abs().max(1.0);
        assert!(a.0 == b.0 && values.into_iter().all(is_near), "{what}: {a:?} against {b:?}");
    }
}

/// A cloth with inputs of every kind, bodies among them; all of one family ([`random_cloth`]), so that one kernel serves them.
fn equipped(simulation: &mut Simulation, seed: u64) -> ClothId {
    let mut cloth = random_cloth(seed, 20 + 4 * (seed * 7 % 11) as u32);
    cloth.config.cloth_collision.distance = Some(0.0);
    let id = simulation.add(cloth).unwrap();
    equip(simulation.cloth_mut(id).unwrap(), seed);
    id
}

#[test]
fn a_stale_handle_is_an_error_and_never_another_cloth() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let stale = simulation.add(hanging_sheet(4, 4)).unwrap();
        simulation.remove(stale).unwrap();
        let id = simulation.add(hanging_sheet(4, 4)).unwrap();
        let before = simulation.state().unwrap();
        let expected = Error::NoSuchCloth(NoSuchCloth { id: stale });
        let particles = [Particle::default(); 16];
        let attempts = [
            simulation.remove(stale).err(),
            simulation.reset(stale).err(),
            simulation.set_particles(stale, &particles, ParticleMotion::Rest).err(),
            simulation.clone_cloth(stale, 2).err(),
            simulation.read(stale).err(),
            simulation.begin_read(&[id, stale]).err(),
            simulation.cloth(stale).err(),
            simulation.cloth_mut(stale).err(),
            before.cloth(stale).err().map(Error::from),
        ];
        for (number, error) in attempts.into_iter().enumerate() {
            assert!(
                matches!(error, Some(Error::NoSuchCloth(NoSuchCloth { id })) if id == stale),
                "{backend:?}, attempt {number}"
            );
        }
        assert_eq!(
            expected.to_string(),
            format!("no cloth {stale}: it was removed or belongs to another engine")
        );
        assert_eq!(simulation.ids(), [id]);
        same_cloth("untouched", (&simulation.state().unwrap(), id), (&before, id));
    }
}

#[test]
fn reused_memory_leaves_no_trace() {
    for backend in backends() {
        let mut used = Simulation::new(backend).unwrap();
        // Fills every buffer with numbers that would show.
        let mut ids: Vec<_> = (0..8).map(|seed| equipped(&mut used, 40 + seed)).collect();
        run(&mut used, 2);
        for round in 0..2 {
            // Every second cloth goes; others of other sizes come into the gaps.
            ids.iter().skip(1).step_by(2).for_each(|&id| used.remove(id).unwrap());
            ids = ids.into_iter().step_by(2).collect();
            let mut fresh = Simulation::new(backend).unwrap();
            let kept = ids.len();
            let seeds: Vec<u64> = (0..4).map(|k| 100 * round + k).collect();
            ids.extend(seeds.iter().map(|&seed| equipped(&mut used, seed)));
            let fresh_ids: Vec<_> = seeds.iter().map(|&seed| equipped(&mut fresh, seed)).collect();
            for frame in 0..3 {
                // No time passes in the first frame: nothing of another cloth's impulses may show.
                let frame = Frame { dt: frame as f32 / 60.0 };
                used.step(&frame).unwrap();
                fresh.step(&frame).unwrap();
                let (a, b) = (used.state().unwrap(), fresh.state().unwrap());
                for (&id, &fresh_id) in ids[kept..].iter().zip(&fresh_ids) {
                    same_cloth(&format!("{backend:?}, {id}"), (&a, id), (&b, fresh_id));
                }
            }
        }
    }
}

#[test]
fn the_feedback_of_a_frozen_cloth_is_not_inherited() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let mut frozen = loose_particles(vec![[9e14, 0.0, 0.0, 1.0]; 16]);
        frozen.previous_positions = vec![[8e14, 0.0, 0.0]; 16];
        let first = simulation.add(frozen).unwrap();
        run(&mut simulation, 2);
        assert!(
            simulation.read(first).unwrap().fault_count(first) > 0,
            "{backend:?}: never frozen"
        );
        simulation.remove(first).unwrap();
        let second = simulation.add(hanging_sheet(4, 4)).unwrap();
        run(&mut simulation, 1);
        let state = simulation.read(second).unwrap();
        assert_eq!(
            (state.fault_count(second), state.iteration_total(second)),
            (0, 5),
            "{backend:?}"
        );
    }
}

#[test]
fn cloths_that_collide_give_the_same_bits_whoever_was_there_before() {
    let sheet = |height: f32| {
        let mut cloth = hanging_sheet(6, 6);
        cloth.particles.iter_mut().for_each(|p| {
            *p = Particle::from([p.position[0], p.position[1] + height, p.position[2], 1.0])
        });
        cloth.config.cloth_collision.distance = Some(0.05);
        cloth
    };
    for backend in backends() {
        let run = |strangers: bool| {
            let mut simulation = Simulation::new(backend).unwrap();
            let settings = ClothContactSolver { friction: 0.3, ..ClothContactSolver::default() };
            simulation.set_cloth_contact_solver(settings).unwrap();
            let stranger = |simulation: &mut Simulation, height| {
                strangers.then(|| simulation.add(sheet(height)).unwrap())
            };
            let first = stranger(&mut simulation, 0.5);
            let low = simulation.add(sheet(0.0)).unwrap();
            let second = stranger(&mut simulation, 1.5);
            let high = simulation.add(sheet(0.02)).unwrap();
            first.into_iter().chain(second).for_each(|id| simulation.remove(id).unwrap());
            assert_eq!(simulation.ids(), [low, high], "{backend:?}");
            run(&mut simulation, 3);
            [low, high].map(|id| simulation.read(id).unwrap().current(id).to_vec())
        };
        let ([low, high], [other_low, other_high]) = (run(false), run(true));
        assert_ne!(low, sheet(0.0).particles, "nothing has moved");
        same_bits("low", &low, &other_low).unwrap();
        same_bits("high", &high, &other_high).unwrap();
    }
}

#[test]
fn a_reset_cloth_does_what_a_new_one_does() {
    for backend in backends() {
        let (mut reset, mut fresh) =
            (Simulation::new(backend).unwrap(), Simulation::new(backend).unwrap());
        let id = reset.add(hanging_sheet(6, 6)).unwrap();
        let moved = poplin::model::Pose { translation: [0.3, 0.0, 0.1], ..Default::default() };
        reset.cloth_mut(id).unwrap().set_pose(moved).unwrap();
        let mut config = reset.cloth(id).unwrap().cloth().config.clone();
        config.damping = [0.2; 3];
        reset.cloth_mut(id).unwrap().set_config(config.clone()).unwrap();
        reset.step(&Frame { dt: 1.0 / 30.0 }).unwrap();
        run(&mut reset, 3);
        // What was written for the coming frame goes as well.
        reset
            .cloth_mut(id)
            .unwrap()
            .write_particles(&[20], &[Particle::from([5.0, 5.0, 5.0, 1.0])])
            .unwrap();
        reset.reset(id).unwrap();
        let fresh_id = fresh.add(Cloth { config, ..hanging_sheet(6, 6) }).unwrap();
        same_cloth("at once", (&reset.state().unwrap(), id), (&fresh.state().unwrap(), fresh_id));
        assert_eq!(reset.cloth(id).unwrap().pose(), fresh.cloth(fresh_id).unwrap().pose());
        for _ in 0..3 {
            reset.step(&Frame::default()).unwrap();
            fresh.step(&Frame::default()).unwrap();
        }
        same_cloth("later", (&reset.state().unwrap(), id), (&fresh.state().unwrap(), fresh_id));
    }
}

#[test]
fn copies_go_on_exactly_as_the_cloth_does() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let source = equipped(&mut simulation, 41);
        run(&mut simulation, 2);
        let pin = simulation.read(source).unwrap().current(source)[7];
        let held = [pin.position[0], pin.position[1] + 0.01, pin.position[2], 0.0];
        simulation
            .cloth_mut(source)
            .unwrap()
            .write_particles(&[7], &[Particle::from(held)])
            .unwrap();
        let copies = simulation.clone_cloth(source, 3).unwrap();
        assert_eq!(simulation.ids(), [&[source], copies.as_slice()].concat());
        for frame in 0..3 {
            let state = simulation.state().unwrap();
            for &copy in &copies {
                let what = format!("{backend:?}, {copy} in frame {frame}");
                // Impulses are of a frame, which the copies have not lived through at first.
                if frame == 0 {
                    same_bits(&what, state.current(copy), state.current(source)).unwrap();
                } else {
                    same_cloth(&what, (&state, copy), (&state, source));
                }
            }
            run(&mut simulation, 1);
        }
        simulation.remove(source).unwrap();
        simulation.remove(copies[1]).unwrap();
        run(&mut simulation, 1);
        let state = simulation.state().unwrap();
        same_cloth("without the source", (&state, copies[0]), (&state, copies[2]));
    }
}

#[test]
fn particles_put_where_they_are_go_on_as_if_nothing_had_happened() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let (id, other) = (
            simulation.add(hanging_sheet(6, 6)).unwrap(),
            simulation.add(hanging_sheet(6, 6)).unwrap(),
        );
        run(&mut simulation, 3);
        let state = simulation.read(id).unwrap();
        let previous: Vec<_> =
            state.previous(id).iter().map(|particle| particle.position).collect();
        let motion = ParticleMotion::PreviousPositions(&previous);
        simulation.set_particles(id, state.current(id), motion).unwrap();
        run(&mut simulation, 2);
        let state = simulation.state().unwrap();
        same_bits("current", state.current(id), state.current(other)).unwrap();
        same_bits("previous", state.previous(id), state.previous(other)).unwrap();
    }
}

#[test]
fn velocities_are_per_second_whatever_the_step_was_and_a_frozen_cloth_goes_on() {
    for backend in backends() {
        for first_frame in [None, Some(1.0 / 25.0)] {
            let mut simulation = Simulation::new(backend).unwrap();
            let mut cloth = loose_particles(vec![[0.0, 0.0, 0.0, 1.0]; 9]);
            cloth.config.gravity = [0.0; 3];
            cloth.config.damping = [0.0; 3];
            let id = simulation.add(cloth).unwrap();
            if let Some(dt) = first_frame {
                let far = [Particle::from([9e14, 0.0, 0.0, 1.0]); 9];
                let motion = ParticleMotion::PreviousPositions(&[[8e14, 0.0, 0.0]; 9]);
                simulation.set_particles(id, &far, motion).unwrap();
                simulation.step(&Frame { dt }).unwrap();
                assert!(simulation.read(id).unwrap().fault_count(id) > 0, "{backend:?}");
            }
            let start: Vec<_> = (0..9).map(|k| [k as f32, 0.0, 1.0, 1.0]).collect();
            let velocities: Vec<_> = (0..9).map(|k| [0.0, k as f32, -2.0]).collect();
            let motion = ParticleMotion::Velocities(&velocities);
            simulation.set_particles(id, Particle::from_rows(&start), motion).unwrap();
            run(&mut simulation, 6);
            let state = simulation.read(id).unwrap();
            assert_eq!(state.fault_count(id), 0, "{backend:?}");
            for ((end, start), v) in state.current(id).iter().zip(&start).zip(&velocities) {
                for k in 0..3 {
                    // 30 iterations round a coordinate of up to 9 m and a displacement each.
                    let expected = start[k] + 0.1 * v[k];
                    let error = (end.position[k] - expected).abs();
                    assert!(
                        error < 60.0 * 9.0 * f32::EPSILON,
                        "{backend:?}: {end:?} for {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn particles_that_are_not_valid_are_refused_and_change_nothing() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let id = simulation.add(hanging_sheet(4, 4)).unwrap();
        run(&mut simulation, 1);
        let before = simulation.state().unwrap();
        let good = before.current(id).to_vec();
        let (mut nan, mut loose) = (good.clone(), good.clone());
        nan[5].position[1] = f32::NAN;
        let pin = good.iter().position(|particle| particle.is_pinned()).unwrap();
        loose[pin].inverse_mass = 1.0;
        let rest = ParticleMotion::Rest;
        for (what, particles, motion) in [
            ("15", &good[..15], rest),
            ("written particle", &nan, rest),
            ("pinned", &loose, rest),
            ("velocities", &good, ParticleMotion::Velocities(&[[0.0; 3]; 3])),
            ("previous positions", &good, ParticleMotion::PreviousPositions(&[[f32::NAN; 3]; 16])),
        ] {
            let error = simulation.set_particles(id, particles, motion).unwrap_err();
            assert!(matches!(error, Error::Model(_)), "{error}");
            assert!(error.to_string().contains(what), "{what}: {error}");
        }
        same_cloth("untouched", (&simulation.state().unwrap(), id), (&before, id));
    }
}

/// What happens between two recorded frames.
type Change = fn(&mut Engine, &[ClothId]);

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
            let mut engine = Engine::new(device, queue, options).unwrap();
            let ids: Vec<_> =
                [6, 7, 8, 5].map(|side| engine.add(hanging_sheet(side, side)).unwrap()).into();
            let mut first = device.create_command_encoder(&Default::default());
            engine.encode_frame(&mut first, &Frame { dt: 1.0 / 50.0 }).unwrap();
            let first = first.finish();
            let mut waiting = Some(first);
            if !submit_late {
                queue.submit(waiting.take());
            }
            change(&mut engine, &ids);
            let mut second = device.create_command_encoder(&Default::default());
            engine.encode_frame(&mut second, &Frame::default()).unwrap();
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
        // The last of the first cloths, which no change is about, never notices one.
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
    engine.encode_frame(&mut encoder, &Frame::default()).unwrap();
    simulation.gpu().unwrap().queue().submit([encoder.finish()]);
    assert_eq!(simulation.read(id).unwrap().iteration_total(id), 15);
    assert!(Simulation::new(Backend::Cpu).unwrap().gpu().is_none());
}

/// A device on which nothing is computed, but everything is checked and allocated.
fn noop_engine() -> Engine {
    let (device, queue) = noop_device(wgpu::Limits::default());
    let options = EngineOptions { lane_count: Some(64), ..EngineOptions::default() };
    Engine::new(&device, &queue, options).unwrap()
}

/// Sheets of 2 x 2 to 8 x 8 particles, which share a kernel: the number of dispatches, whose uniforms take memory too, does not
/// go by the sizes drawn.
fn sheets() -> Vec<Cloth> {
    (2..9).flat_map(|rows| (2..9).map(move |columns| hanging_sheet(columns, rows))).collect()
}

/// Cloths that are there at once.
const LIVE: usize = 8;

/// Most spheres that a round may ask for.
const MOST_SPHERES: usize = 6;

/// Adds, steps and removes cloths of random sizes, each with a fabric of its own. Returns what `memory` says after 100, 1,000 and
/// 10,000 rounds, when all cloths are of the largest size and meet the most spheres, and after they are gone.
fn rounds<E>(
    engine: &mut E,
    add: impl Fn(&mut E, Cloth) -> ClothId,
    step: impl Fn(&mut E, ClothId, usize),
    remove: impl Fn(&mut E, ClothId),
    memory: impl Fn(&E) -> u64,
) -> [u64; 4] {
    let (sheets, mut rng) = (sheets(), Rng::new(11));
    let (mut live, mut curve) = (Vec::new(), Vec::new());
    for round in 1..=10_000 {
        let is_measured =
            [100, 1_000, 10_000].iter().any(|&end| (end - LIVE + 1..=end).contains(&round));
        let size = if is_measured { sheets.len() - 1 } else { rng.index(sheets.len()) };
        let mut cloth = sheets[size].clone();
        cloth.fabric = Arc::new(Fabric::clone(&cloth.fabric));
        if live.len() == LIVE {
            let index = if is_measured { 0 } else { rng.index(LIVE) };
            remove(engine, live.remove(index));
        }
        let id = add(engine, cloth);
        live.push(id);
        let sphere_count = rng.index(MOST_SPHERES + 1);
        step(engine, id, if is_measured { MOST_SPHERES } else { sphere_count });
        if [100, 1_000, 10_000].contains(&round) {
            curve.push(memory(engine));
        }
    }
    live.into_iter().for_each(|id| remove(engine, id));
    curve.push(memory(engine));
    curve.try_into().unwrap()
}

#[test]
fn ten_thousand_rounds_take_no_more_memory_than_a_hundred_on_the_gpu() {
    let mut engine = noop_engine();
    let step = |engine: &mut Engine, newest: ClothId, sphere_count: usize| {
        // Inputs of different lengths come and go with the cloths.
        let spheres = vec![[0.0, -9.0, 0.0, 0.1]; 1 + sphere_count];
        let set = engine.cloth_mut(newest).unwrap().colliders_mut();
        ShapeArrays { spheres, ..ShapeArrays::default() }.reach(set).unwrap();
        let mut encoder = engine.device().create_command_encoder(&Default::default());
        engine.encode_frame(&mut encoder, &Frame::default()).unwrap();
        encoder.finish();
    };
    let curve = rounds(
        &mut engine,
        |engine, cloth| engine.add(cloth).unwrap(),
        step,
        |engine, id| engine.remove(id).unwrap(),
        Engine::memory_bytes,
    );
    eprintln!("GPU: {curve:?} bytes after 100, 1,000, 10,000 rounds and when all cloths are gone");
    assert!(curve[1] <= curve[0] && curve[2] <= curve[0], "{curve:?}");
    assert_eq!((engine.particle_count(), engine.fabric_bytes()), (0, 0));
}

#[test]
fn ten_thousand_rounds_take_no_more_memory_than_a_hundred_on_the_cpu() {
    let mut engine = ReferenceEngine::new();
    let curve = rounds(
        &mut engine,
        |engine, cloth| engine.add(cloth).unwrap(),
        |engine, _, _| engine.step(&Frame { dt: 1.0 / 300.0 }).unwrap(),
        |engine, id| engine.remove(id).unwrap(),
        ReferenceEngine::memory_bytes,
    );
    eprintln!("CPU: {curve:?} bytes after 100, 1,000, 10,000 rounds and when all cloths are gone");
    assert!(curve[1] <= curve[0] && curve[2] <= curve[0], "{curve:?}");
    assert_eq!(curve[3], 0, "{curve:?}");
}

#[test]
fn four_thousand_copies_of_a_garment_store_its_fabric_once() {
    let mut engine = noop_engine();
    let source = engine.add(hanging_sheet(12, 12)).unwrap();
    let fabric_bytes = engine.fabric_bytes();
    assert!(fabric_bytes > 1_000);
    let ids = engine.clone_cloth(source, 4_095).unwrap();
    assert_eq!((engine.ids().len(), engine.fabric_bytes()), (4_096, fabric_bytes));
    assert_eq!(engine.particle_count(), 4_096 * 144);
    let mut encoder = engine.device().create_command_encoder(&Default::default());
    engine.encode_frame(&mut encoder, &Frame::default()).unwrap();
    ids.into_iter().for_each(|id| engine.remove(id).unwrap());
    assert_eq!(engine.fabric_bytes(), fabric_bytes);
    engine.clear();
    assert_eq!((engine.fabric_bytes(), engine.particle_count(), engine.ids().len()), (0, 0, 0));
}

#[test]
fn copies_that_do_not_fit_are_refused_and_leave_nothing() {
    let mut engine = noop_engine();
    let source = engine.add(hanging_sheet(60, 60)).unwrap();
    // 3,600 particles of 16 bytes: at most 2,330 cloths in a buffer of 128 MiB.
    assert!(engine.clone_cloth(source, 3_000).is_err());
    assert_eq!((engine.ids(), engine.particle_count()), (&[source][..], 3_600));
    engine.clone_cloth(source, 3).unwrap();
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
    send_and_sync::<Engine>();
    send_and_sync::<Headless>();
    send_and_sync::<Readback>();
    send_and_sync::<poplin::LiveCloth>();
    send_and_sync::<poplin_host::HostCloth>();
    send_and_sync::<Cloths<u8>>();
    send_and_sync::<Cloth>();
    send_and_sync::<Arc<Fabric>>();
    send_and_sync::<poplin::model::Mesh>();
    send_and_sync::<poplin::cook::CookOptions>();
    // A future that is awaited on another thread.
    fn send<T: Send>(_: T) {}
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    send(simulation.begin_read(&[]).unwrap().receive());
    assert!(format!("{simulation:?}").contains("cloth_count: 0"));
}

/// Adds, removes, resets and copies cloths, one of these a frame; all of one family ([`random_cloth`]), with bodies. No contact of
/// these seeds is so close that a rounding decides it.
fn play<E: poplin_host::Engine>(engine: &mut E, frame: u64) {
    let id = engine.add(random_cloth(12 + frame, 24 + 4 * (frame as u32 * 7 % 5))).unwrap();
    equip(engine.cloth_mut(id).unwrap(), frame);
    let ids = engine.ids().to_vec();
    match frame % 4 {
        1 => engine.remove(ids[0]).unwrap(),
        2 => engine.reset(ids[0]).unwrap(),
        3 => drop(engine.clone_cloth(ids[0], 2).unwrap()),
        _ => {}
    }
    engine.step(&Frame::default()).unwrap();
}

#[test]
fn both_backends_agree_while_cloths_come_and_go() {
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        let mut cpu = ReferenceEngine::new();
        for frame in 0..6 {
            play(&mut cpu, frame);
            play(&mut gpu, frame);
            let (a, b) = (gpu.state().unwrap(), cpu.state().unwrap());
            assert_eq!(a.ids(), b.ids());
            for &id in a.ids() {
                let what = format!("{id} in frame {frame}, {rounding:?}");
                match rounding {
                    Rounding::AsMirror => same_cloth(&what, (&a, id), (&b, id)),
                    Rounding::MayFuse => {
                        nearly_same_cloth(&what, &a.cloth(id).unwrap(), &b.cloth(id).unwrap())
                    }
                }
            }
        }
    }
}
