//! Stale handles, and cloths in memory that other cloths used before.

use poplin::{ClothState, Error, NoSuchCloth, ParticleMotion, Simulation};
use poplin_cpu::ReferenceEngine;
use poplin_gpu::EngineOptions;
use poplin_host::Engine;
use poplin_model::{ClothContactSolver, Particle};
use poplin_testkit::adapter::{Rounding, backends, devices};
use poplin_testkit::compare::{close, same_bits};
use poplin_testkit::scenes::{equip, hanging_sheet, loose_particles, random_cloth};

use super::{equipped, run, same_cloth, same_counters};

/// Checks a cloth like [`same_cloth`], up to rounding, for adapters that may fuse multiplications
/// and additions.
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
        // Fills every buffer with values that would show.
        let mut ids: Vec<_> = (0..8).map(|seed| equipped(&mut used, 40 + seed)).collect();
        run(&mut used, 2);
        for round in 0..2 {
            // Every second cloth is removed; cloths of different sizes fill the gaps.
            ids.iter().skip(1).step_by(2).for_each(|&id| used.remove(id).unwrap());
            ids = ids.into_iter().step_by(2).collect();
            let mut fresh = Simulation::new(backend).unwrap();
            let kept = ids.len();
            let seeds: Vec<u64> = (0..4).map(|k| 100 * round + k).collect();
            ids.extend(seeds.iter().map(|&seed| equipped(&mut used, seed)));
            let fresh_ids: Vec<_> = seeds.iter().map(|&seed| equipped(&mut fresh, seed)).collect();
            for frame in 0..3 {
                // No time passes in the first frame: impulses of an earlier cloth would show.
                let dt = frame as f32 / 60.0;
                used.step(dt).unwrap();
                fresh.step(dt).unwrap();
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
fn colliding_cloths_have_the_same_bits_in_reused_memory() {
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

/// Adds, removes, resets or copies a cloth in each frame; all are of one family ([`random_cloth`]),
/// with bodies. No contact of these seeds is so close that rounding decides it.
fn play(engine: &mut dyn Engine, frame: u64) {
    let id = engine.add(random_cloth(12 + frame, 24 + 4 * (frame as u32 * 7 % 5))).unwrap();
    equip(engine.cloth_mut(id).unwrap(), frame);
    let ids = engine.ids().to_vec();
    match frame % 4 {
        1 => engine.remove(ids[0]).unwrap(),
        2 => engine.reset(ids[0]).unwrap(),
        3 => drop(engine.clone_cloth(ids[0], 2).unwrap()),
        _ => {}
    }
    engine.step(1.0 / 60.0).unwrap();
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
