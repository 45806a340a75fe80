//! Sleep: when a cloth falls asleep, the work that sleep saves, and the inputs that wake it, the
//! same on both backends.

use bytemuck::cast_slice;
use poplin::gpu::{EngineOptions, HeadlessOptions};
use poplin::model::{ClothConfig, ClothDesc, Particle, Pbd, PbdPhase, Phases, Pose, Sleep};
use poplin::{Backend, Cloth, ClothId, Simulation, SimulationOptions, State};
use poplin_testkit::adapter::{Rounding, backends, headless, roundings};
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::hanging_sheet;

/// Number of iterations in a frame of 1/60 s at 300 Hz.
const ITERATIONS_PER_FRAME: u32 = 5;

/// Length of an iteration on the clock of sleep: 1/300 s in whole milliseconds \[ms\].
const SLEEP_STEP: u32 = 3;

/// Number of frames after which every cloth of these tests is asleep.
const LONG: u32 = 24;

/// Sheet that passes every rest test at any motion: its sleep only depends on the clock.
fn drowsy_sheet(after_count: u32) -> ClothDesc {
    let mut cloth = hanging_sheet(6, 6);
    cloth.config.sleep.threshold = 1000.0;
    cloth.config.sleep.after_count = after_count;
    cloth
}

/// Sheet without gravity that rests from the start.
fn resting_sheet() -> ClothDesc {
    let mut cloth = hanging_sheet(6, 6);
    cloth.config = ClothConfig {
        gravity: [0.0; 3],
        sleep: Sleep { threshold: 1e-3, after_count: 3, ..Sleep::default() },
        ..ClothConfig::default()
    };
    cloth
}

/// Number of iterations until the last required rest test has passed, in whole frames.
fn awake_iterations(config: &ClothConfig) -> u32 {
    // Tests run on a clock in whole milliseconds; a cloth sleeps from the next frame on.
    let tested = (config.sleep.test_interval * config.sleep.after_count).div_ceil(SLEEP_STEP);
    tested.next_multiple_of(ITERATIONS_PER_FRAME)
}

fn step(simulation: &mut Simulation, frames: u32) -> State {
    (0..frames).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
    simulation.state().unwrap()
}

#[test]
fn a_cloth_sleeps_after_the_configured_count_at_no_cost() {
    for backend in backends() {
        for after_count in [1, 3, 4] {
            let mut simulation = Simulation::new(backend).unwrap();
            let cloth = drowsy_sheet(after_count);
            let awake = awake_iterations(&cloth.config);
            let id = simulation.add(cloth).unwrap();
            let what = format!("{}, {after_count} tests", backend.name());
            // The kernel detects sleep until the host reads the state; after that the host does.
            let first = step(&mut simulation, LONG);
            let slept = LONG - awake / ITERATIONS_PER_FRAME;
            assert_eq!(
                (first.iteration_total(id), first.slept_frames(id)),
                (awake, slept),
                "{what}"
            );
            let second = step(&mut simulation, LONG);
            assert_eq!(
                (second.iteration_total(id), second.slept_frames(id)),
                (awake, slept + LONG),
                "{what}"
            );
            same_bits(&what, second.current(id), first.current(id)).unwrap();
            same_bits(&what, second.previous(id), first.previous(id)).unwrap();
        }
    }
}

#[test]
fn a_moving_cloth_does_not_sleep_and_a_resting_one_does() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let mut moving = resting_sheet();
        moving.config.gravity = [0.0, -9.81, 0.0];
        let moving = simulation.add(moving).unwrap();
        let resting = simulation.add(resting_sheet()).unwrap();
        let state = step(&mut simulation, LONG);
        assert_eq!(
            (state.iteration_total(moving), state.slept_frames(moving)),
            (LONG * ITERATIONS_PER_FRAME, 0)
        );
        assert!(state.slept_frames(resting) > 0);
    }
}

/// Setter of one input to a value; equal numbers mean equal values.
type SetInput = fn(&mut Cloth, f32);

fn spheres(host: &Cloth, radius: f32) -> Vec<[f32; 4]> {
    host.desc()
        .particles
        .iter()
        .map(|&Particle { position: [x, y, z], .. }| [x, y, z, radius])
        .collect()
}

/// Inputs whose value the engine can compare with the last one.
const INPUTS: [(&str, SetInput); 10] = [
    ("a written pin", |host, value| {
        host.write_particles(&[0], &[Particle::from([0.0, 0.01 * value, 0.0, 0.0])]).unwrap()
    }),
    ("config", |host, value| {
        let config = ClothConfig { damping: [0.1 * value; 3], ..host.desc().config.clone() };
        host.set_config(config).unwrap();
    }),
    ("wind", |host, value| {
        let mut config = host.desc().config.clone();
        config.air.wind_velocity = [value, 0.0, 0.0];
        host.set_config(config).unwrap();
    }),
    ("phases", |host, value| {
        let phase = PbdPhase { stiffness: 0.1 * value, ..PbdPhase::default() };
        let mut config = host.desc().config.clone();
        config.solver = Pbd { phases: Phases::all(phase), ..Pbd::default() }.into();
        host.set_config(config).unwrap();
    }),
    ("phase order", |host, value| {
        host.set_phase_order(&[0, 1, 2, 3].repeat(value as usize)).unwrap();
    }),
    ("accelerations", |host, value| {
        let accelerations = vec![[1e-9 * value, 0.0, 0.0]; host.desc().particle_count()];
        host.set_particle_accelerations(&accelerations).unwrap();
    }),
    ("motion spheres", |host, value| {
        host.set_motion_spheres(cast_slice(&spheres(host, value))).unwrap()
    }),
    ("separation spheres", |host, value| {
        host.set_separation_spheres(cast_slice(&spheres(host, -value))).unwrap()
    }),
    ("translation", |host, value| {
        host.set_pose(Pose { translation: [0.0, value, 0.0], ..Pose::default() }).unwrap();
    }),
    ("rotation", |host, value| {
        let (sine, cosine) = (0.01 * value).sin_cos();
        host.set_pose(Pose { rotation: [0.0, sine, 0.0, cosine], ..Pose::default() }).unwrap();
    }),
];

/// Simulation with a cloth that fell asleep with an input at value 1.
fn asleep_with(backend: Backend, set: SetInput) -> (Simulation, ClothId, u32) {
    let mut simulation = Simulation::new(backend).unwrap();
    let mut cloth = resting_sheet();
    // The threshold is high enough that the motion of a frame does not keep the cloth awake.
    cloth.config.sleep.threshold = 1000.0;
    let id = simulation.add(cloth).unwrap();
    set(simulation.cloth_mut(id).unwrap(), 1.0);
    let state = step(&mut simulation, LONG);
    assert!(state.slept_frames(id) > 0, "the cloth is not asleep yet");
    (simulation, id, state.iteration_total(id))
}

#[test]
fn every_changed_input_wakes_a_sleeping_cloth() {
    for backend in backends() {
        for (name, set) in INPUTS {
            let (mut simulation, id, before) = asleep_with(backend, set);
            set(simulation.cloth_mut(id).unwrap(), 2.0);
            let after = step(&mut simulation, 1).iteration_total(id);
            assert_eq!(after, before + ITERATIONS_PER_FRAME, "{} on {}", name, backend.name());
        }
    }
}

#[test]
fn an_input_set_to_the_same_value_wakes_nothing() {
    for backend in backends() {
        for (name, set) in INPUTS {
            let (mut simulation, id, before) = asleep_with(backend, set);
            set(simulation.cloth_mut(id).unwrap(), 1.0);
            let after = step(&mut simulation, 1).iteration_total(id);
            assert_eq!(after, before, "{} on {}", name, backend.name());
        }
    }
}

#[test]
fn an_input_set_to_the_same_value_in_every_frame_wakes_nothing() {
    for backend in backends() {
        for (name, set) in INPUTS {
            let (mut simulation, id, before) = asleep_with(backend, set);
            for frame in 0..3 {
                set(simulation.cloth_mut(id).unwrap(), 1.0);
                let after = step(&mut simulation, 1).iteration_total(id);
                assert_eq!(after, before, "{} on {}, frame {frame}", name, backend.name());
            }
        }
    }
}

#[test]
fn written_particles_and_wake_calls_wake_a_sleeping_cloth() {
    let wakes: [(&str, SetInput, bool); 4] = [
        (
            "a written pin",
            |host, _| host.write_particles(&[0], &[Particle::from([0.0, 0.01, 0.0, 0.0])]).unwrap(),
            true,
        ),
        (
            "a written particle",
            |host, _| host.write_particles(&[9], &[Particle::from([0.6, 0.01, 0.2, 1.0])]).unwrap(),
            true,
        ),
        ("wake()", |host, _| host.wake(), true),
        ("no particles", |host, _| host.write_particles(&[], &[]).unwrap(), false),
    ];
    for backend in backends() {
        for (name, act, is_woken) in wakes {
            let (mut simulation, id, before) = asleep_with(backend, |_, _| ());
            act(simulation.cloth_mut(id).unwrap(), 0.0);
            let after = step(&mut simulation, 1).iteration_total(id);
            assert_eq!(
                after - before,
                if is_woken { ITERATIONS_PER_FRAME } else { 0 },
                "{name} on {}",
                backend.name()
            );
        }
    }
}

#[test]
fn a_woken_cloth_sleeps_again_after_the_full_count() {
    for backend in backends() {
        let (mut simulation, id, before) = asleep_with(backend, |_, _| ());
        let awake = awake_iterations(&simulation.cloth(id).unwrap().desc().config);
        simulation.cloth_mut(id).unwrap().wake();
        let state = step(&mut simulation, LONG);
        assert_eq!(state.iteration_total(id) - before, awake, "{}", backend.name());
    }
}

/// Runs three sheets; the middle one falls asleep, is woken and falls asleep again.
fn run_of_three(options: SimulationOptions, middle: ClothDesc) -> State {
    let mut simulation = Simulation::new(options).unwrap();
    for cloth in [hanging_sheet(7, 5), middle, hanging_sheet(5, 8)] {
        simulation.add(cloth).unwrap();
    }
    for frame in 0..2 * LONG {
        if frame == LONG {
            simulation
                .cloth_mut(nth_cloth(1))
                .unwrap()
                .write_particles(&[0], &[Particle::from([0.02, 0.03, 0.0, 0.0])])
                .unwrap();
        }
        simulation.step(1.0 / 60.0).unwrap();
    }
    simulation.state().unwrap()
}

#[test]
fn a_sleeping_cloth_leaves_the_bits_of_the_others_alone() {
    for backend in backends() {
        let with_sleep = run_of_three(backend.into(), drowsy_sheet(3));
        let without = run_of_three(backend.into(), hanging_sheet(6, 6));
        assert!(with_sleep.slept_frames(nth_cloth(1)) > 0);
        for other in [nth_cloth(0), nth_cloth(2)] {
            same_bits(backend.name(), with_sleep.current(other), without.current(other)).unwrap();
            same_bits(backend.name(), with_sleep.previous(other), without.previous(other)).unwrap();
        }
        assert!(
            same_bits("middle", with_sleep.current(nth_cloth(1)), without.current(nth_cloth(1)))
                .is_err()
        );
    }
}

/// Checks that two runs agree: all cloths, as far as rounding allows, and their counters.
fn assert_agree(what: &str, rounding: Rounding, a: &State, b: &State) {
    for id in (0..3).map(nth_cloth) {
        rounding.agree_on_average(what, a.current(id), b.current(id), 1e-4).unwrap();
        rounding.agree_on_average(what, a.previous(id), b.previous(id), 1e-4).unwrap();
        let counters = |state: &State| {
            (state.iteration_total(id), state.slept_frames(id), state.sleep_pass_count(id))
        };
        assert_eq!(counters(a), counters(b), "{what}, cloth {id}");
    }
}

#[test]
fn both_backends_sleep_and_wake_alike() {
    let cpu = run_of_three(Backend::Cpu.into(), drowsy_sheet(3));
    for (engine, rounding) in roundings(&EngineOptions::default()) {
        let gpu = HeadlessOptions { engine, ..HeadlessOptions::default() };
        let gpu = SimulationOptions { backend: Backend::Gpu, gpu };
        let gpu = run_of_three(gpu, drowsy_sheet(3));
        assert_agree("GPU against CPU", rounding, &gpu, &cpu);
    }
}

#[test]
fn split_dispatches_sleep_like_whole_ones() {
    if headless(EngineOptions::default()).is_none() {
        return;
    }
    let run = |trips_per_dispatch: u64, after_count: u32| {
        let engine = EngineOptions { trips_per_dispatch, ..Default::default() };
        let gpu = HeadlessOptions { engine, ..Default::default() };
        run_of_three(SimulationOptions { backend: Backend::Gpu, gpu }, drowsy_sheet(after_count))
    };
    // A test passes in iteration 17, the second one of its frame: the rest of the frame must still
    // run.
    assert_ne!(50u32.div_ceil(SLEEP_STEP) % ITERATIONS_PER_FRAME, 0);
    for after_count in [1, 3] {
        let whole = run(u64::MAX, after_count);
        assert!(whole.slept_frames(nth_cloth(1)) > 0);
        assert_agree(
            &format!("{after_count} tests"),
            Rounding::AsMirror,
            &run(1, after_count),
            &whole,
        );
    }
}
