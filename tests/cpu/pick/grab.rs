//! Grabbed particles: reaching the target, letting go, motion spheres, local spaces, both backends.

use poplin::gpu::EngineOptions;
use poplin::{Backend, ClothId, Error, Grab, GrabOptions, ParticleMotion, Simulation};
use poplin_cpu::CpuEngine;
use poplin_host::Engine;
use poplin_measure::metrics::stretch_strain;
use poplin_model::{Implicit, ModelError, MotionConstraints, Particle, Pose, Solver, Sphere};
use poplin_testkit::adapter::devices;
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::hanging_sheet;

use super::distance;

const FRAME: f32 = 1.0 / 60.0;

/// Sheet at rest that hangs by two corners, and a particle in the middle of its lower edge.
fn hanging(solver: Solver) -> (Simulation, ClothId, u32) {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let mut cloth = hanging_sheet(16, 16);
    cloth.config.solver = solver;
    cloth.config.damping = [0.5; 3];
    let id = simulation.add(cloth).unwrap();
    (0..240).for_each(|_| simulation.step(FRAME).unwrap());
    (simulation, id, 15 * 16 + 8)
}

fn position(simulation: &mut Simulation, id: ClothId, particle: u32) -> [f32; 3] {
    simulation.read(id).unwrap().current(id)[particle as usize].position
}

fn grab(simulation: &mut Simulation, id: ClothId, particle: u32, options: GrabOptions) -> Grab {
    let state = simulation.read(id).unwrap();
    let cloth = simulation.cloth_mut(id).unwrap();
    Grab::new(cloth, state.current(id), particle, options).unwrap()
}

/// Steps one frame with a grab; returns the particles before and after it.
fn step(simulation: &mut Simulation, id: ClothId, grab: &mut Grab) -> [Vec<Particle>; 2] {
    let before = simulation.read(id).unwrap().current(id).to_vec();
    grab.apply(simulation.cloth_mut(id).unwrap(), &before, FRAME).unwrap();
    simulation.step(FRAME).unwrap();
    let state = simulation.read(id).unwrap();
    assert_eq!(state.fault_count(id), 0);
    [before, state.current(id).to_vec()]
}

fn solvers() -> [(&'static str, Solver); 3] {
    let implicit = Implicit { substeps: 2, ..Implicit::default() };
    [("pbd", Solver::default()), ("xpbd", Solver::xpbd(10)), ("implicit", implicit.into())]
}

#[test]
fn a_grabbed_particle_reaches_its_target_at_its_speed() {
    for (name, solver) in solvers() {
        let (mut simulation, id, particle) = hanging(solver);
        let start = position(&mut simulation, id, particle);
        let target = [start[0] + 0.1, start[1] + 0.3, start[2] + 0.2];
        let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
        grab.move_to(target).unwrap();
        // 0.374 m at 3 m/s take 7.5 frames; lagging cloth takes a few more.
        for frame in 0..15 {
            let [before, after] = step(&mut simulation, id, &mut grab);
            let [before, after] =
                [before, after].map(|particles| particles[particle as usize].position);
            let moved = distance(before, after);
            assert!(moved < 0.0501, "{name}: {moved} m in frame {frame}");
        }
        let at = position(&mut simulation, id, particle);
        assert!(distance(at, target) < 1e-6, "{name}: {at:?} for {target:?}");
    }
}

#[test]
fn a_target_that_jumps_5_m_does_not_tear_the_cloth() {
    for (name, solver) in solvers() {
        let (mut simulation, id, particle) = hanging(solver);
        let fabric = simulation.cloth(id).unwrap().desc().fabric.clone();
        let at_rest = simulation.read(id).unwrap().current(id).to_vec();
        let strain = stretch_strain(&fabric, &at_rest).max;
        let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
        let mut worst = 0.0f32;
        for frame in 0..240 {
            // Jumps to one side, to the other, and up.
            let target = [[5.0, -1.0, 0.0], [-5.0, 3.0, 0.0], [0.5, 0.5, -5.0]][frame / 80];
            grab.move_to(target).unwrap();
            let particles = step(&mut simulation, id, &mut grab);
            worst = worst.max(stretch_strain(&fabric, &particles[1]).max);
            let [before, after] = particles.map(|all| all[particle as usize].position);
            let speed = distance(before, after) / FRAME;
            // After 60 frames it has come as far as the cloth allows.
            let limit = if frame % 80 < 60 { 3.01 } else { 0.25 };
            assert!(speed < limit, "{name}: {speed} m/s in frame {frame}");
        }
        assert!(worst < 0.4, "{name}: {worst}, at rest {strain}");
    }
}

/// Kinetic and potential energy of the free particles in the last step, of `step` seconds [J].
fn energy(simulation: &mut Simulation, id: ClothId, step: f32) -> f64 {
    let state = simulation.read(id).unwrap();
    let of = |(before, after): (&Particle, &Particle)| {
        let speed = f64::from(distance(before.position, after.position) / step);
        let middle = f64::from(0.5 * (before.position[1] + after.position[1]));
        (0.5 * speed * speed + 9.81 * middle) / f64::from(after.inverse_mass)
    };
    let free = |(_, after): &(&Particle, &Particle)| !after.is_pinned();
    state.previous(id).iter().zip(state.current(id)).filter(free).map(of).sum()
}

#[test]
fn a_particle_that_is_let_go_falls_back_to_rest() {
    for (name, solver) in solvers() {
        let length = FRAME / solver.iteration_count(FRAME) as f32;
        let (mut simulation, id, particle) = hanging(solver);
        let rest = position(&mut simulation, id, particle);
        let rest_energy = energy(&mut simulation, id, length);
        let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
        grab.move_to([rest[0], rest[1] + 0.5, rest[2] + 0.3]).unwrap();
        // Released on the way, at full speed.
        (0..8).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
        grab.release(simulation.cloth_mut(id).unwrap());
        let mut let_go = None;
        for frame in 0..600 {
            simulation.step(FRAME).unwrap();
            let state = simulation.read(id).unwrap();
            let released = state.current(id)[particle as usize];
            assert!(released.inverse_mass > 0.0, "it has its mass again");
            let now = energy(&mut simulation, id, length) - rest_energy;
            let limit = 1.02 * *let_go.get_or_insert(now);
            assert!(now < limit, "{name}: {now} J in frame {frame}, of {limit}");
        }
        let at = position(&mut simulation, id, particle);
        assert!(distance(at, rest) < 0.01, "{name}: {at:?} for {rest:?}");
    }
}

#[test]
fn user_motion_spheres_act_beside_a_grab_and_come_back() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let at_rest = simulation.read(id).unwrap().current(id).to_vec();
    let sphere = |p: &Particle| Sphere { center: p.position, radius: 0.1 };
    let spheres: Vec<_> = at_rest.iter().map(sphere).collect();
    let cloth = simulation.cloth_mut(id).unwrap();
    let mut config = cloth.desc().config.clone();
    // Radii of 0.8 x 0.1 - 0.03 = 0.05 m, and gravity that presses all of the cloth against the
    // spheres.
    config.gravity = [0.0, 0.0, 20.0];
    config.motion = MotionConstraints { scale: 0.8, bias: -0.03, stiffness: 1.0 };
    cloth.set_config(config).unwrap();
    cloth.set_motion_spheres(&spheres).unwrap();
    let options = GrabOptions { radius: 0.0, ..GrabOptions::default() };
    let mut grab = grab(&mut simulation, id, particle, options);
    let center = at_rest[particle as usize].position;
    grab.move_to([center[0], center[1] + 0.1, center[2] + 0.15]).unwrap();
    let strays = |simulation: &mut Simulation| -> Vec<f32> {
        let state = simulation.read(id).unwrap();
        state.positions(id).zip(&spheres).map(|(x, s)| distance(x, s.center)).collect()
    };
    for frame in 0..30 {
        if frame % 10 == 5 {
            // An application that animates the spheres sets them again while the grab lasts.
            simulation.cloth_mut(id).unwrap().set_motion_spheres(&spheres).unwrap();
        }
        step(&mut simulation, id, &mut grab);
        // Only the rows farther away: fibers pull at the neighbours of the grabbed particle.
        let others = &strays(&mut simulation)[..10 * 16];
        let farthest = others.iter().fold(0.0f32, |a, &b| a.max(b));
        let least = if frame < 20 { 0.0 } else { 0.049 };
        assert!((least..0.054).contains(&farthest), "{farthest} m in frame {frame}");
    }
    let held = strays(&mut simulation)[particle as usize];
    assert!(held > 0.1, "{held} m");
    grab.release(simulation.cloth_mut(id).unwrap());
    (0..60).for_each(|_| simulation.step(FRAME).unwrap());
    assert!(strays(&mut simulation).iter().all(|&stray| stray < 0.051));
}

#[test]
fn a_grab_changes_no_bits_of_other_cloths() {
    let run = |grabs: bool| {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let sheet = hanging_sheet(8, 8);
        let ids = [0; 3].map(|_| simulation.add(sheet.clone()).unwrap());
        let spheres = |x: f32| vec![Sphere { center: [x, 0.0, 0.0], radius: 1.1 }; 64];
        simulation.cloth_mut(ids[2]).unwrap().set_motion_spheres(&spheres(0.0)).unwrap();
        let mut held = grabs.then(|| grab(&mut simulation, ids[0], 60, GrabOptions::default()));
        for frame in 0..20 {
            if grabs && frame == 3 {
                // Grabbed and released between two frames.
                let other = grab(&mut simulation, ids[2], 60, GrabOptions::default());
                other.release(simulation.cloth_mut(ids[2]).unwrap());
            }
            let x = 0.01 * frame as f32;
            simulation.cloth_mut(ids[2]).unwrap().set_motion_spheres(&spheres(x)).unwrap();
            if let Some(grab) = &mut held {
                grab.move_to([2.0, 1.0, 0.0]).unwrap();
                step(&mut simulation, ids[0], grab);
            } else {
                simulation.step(FRAME).unwrap();
            }
        }
        let state = simulation.state().unwrap();
        ids.map(|id| state.current(id).to_vec())
    };
    let ([held, beside, sphered], [alone, other_beside, other_sphered]) = (run(true), run(false));
    assert_ne!(held, alone);
    same_bits("beside", &beside, &other_beside).unwrap();
    same_bits("with spheres", &sphered, &other_sphered).unwrap();
}

#[test]
fn a_reset_lets_go_and_a_copy_is_not_held() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let mut fresh = Simulation::new(Backend::Cpu).unwrap();
    let sheet = simulation.cloth(id).unwrap().desc().clone();
    let fresh_id = fresh.add(sheet).unwrap();
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    grab.move_to([0.0, 1.0, 0.0]).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    let copy = simulation.clone_cloth(id, 1).unwrap()[0];
    let copied = position(&mut simulation, copy, particle);
    (0..20).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    let [held, let_go] = [id, copy].map(|id| position(&mut simulation, id, particle));
    assert!(held[1] > -0.2 && let_go[1] < copied[1] - 0.1, "{held:?} {let_go:?} {copied:?}");

    simulation.reset(id).unwrap();
    let state = simulation.read(id).unwrap();
    let cloth = simulation.cloth_mut(id).unwrap();
    let error = grab.apply(cloth, state.current(id), FRAME).unwrap_err();
    assert_eq!(error, ModelError::StaleHandle { what: "hold" });
    grab.release(cloth);
    for _ in 0..5 {
        simulation.step(FRAME).unwrap();
        fresh.step(FRAME).unwrap();
    }
    let (a, b) = (simulation.read(id).unwrap(), fresh.read(fresh_id).unwrap());
    same_bits("reset", a.current(id), b.current(fresh_id)).unwrap();

    let mut grab = self::grab(&mut simulation, id, particle, GrabOptions::default());
    let particles = simulation.read(id).unwrap().current(id).to_vec();
    simulation.set_particles(id, &particles, ParticleMotion::Rest).unwrap();
    assert!(grab.apply(simulation.cloth_mut(id).unwrap(), &particles, FRAME).is_err());
    simulation.remove(id).unwrap();
    assert!(matches!(simulation.cloth_mut(id), Err(Error::NoSuchCloth(_))));
}

#[test]
fn a_dragged_pin_stays_where_it_is_released() {
    let (mut simulation, id, _) = hanging(Solver::default());
    let start = position(&mut simulation, id, 0);
    let target = [start[0] + 0.2, start[1] + 0.1, start[2]];
    let mut grab = grab(&mut simulation, id, 0, GrabOptions::default());
    grab.move_to(target).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    grab.release(simulation.cloth_mut(id).unwrap());
    (0..10).for_each(|_| simulation.step(FRAME).unwrap());
    let state = simulation.read(id).unwrap();
    assert!(distance(state.current(id)[0].position, target) < 1e-6);
    assert!(state.current(id)[0].is_pinned() && state.current(id)[15].is_pinned());
}

#[test]
fn the_target_is_in_world_space_in_any_local_space() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let start = position(&mut simulation, id, particle);
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    let target = [start[0], start[1] + 0.2, start[2]];
    grab.move_to(target).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    for frame in 1..=10 {
        let half: f32 = 0.005 * frame as f32;
        let rotation = [0.0, half.sin(), 0.0, half.cos()];
        let pose = Pose { translation: [0.01 * frame as f32, 0.0, 0.0], rotation };
        simulation.cloth_mut(id).unwrap().set_pose(pose).unwrap();
        step(&mut simulation, id, &mut grab);
        let at = position(&mut simulation, id, particle);
        let at = simulation.cloth(id).unwrap().pose().apply(at);
        assert!(distance(at, target) < 1e-5, "{at:?} for {target:?} in frame {frame}");
    }
}

#[test]
fn a_grab_without_read_back_keeps_its_speed() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let start = position(&mut simulation, id, particle);
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    grab.move_to([start[0], start[1] + 0.3, start[2]]).unwrap();
    assert!(grab.move_to([f32::NAN; 3]).is_err());
    let cloth = simulation.cloth_mut(id).unwrap();
    assert!(grab.apply(cloth, &[Particle::default(); 3], FRAME).is_err());
    assert!(grab.apply(cloth, &[], f32::NAN).is_err());
    for (particle, radius) in [(256, 0.1), (0, -1.0), (0, f32::NAN), (0, 1e9)] {
        let options = GrabOptions { radius, ..GrabOptions::default() };
        let particles = vec![Particle::default(); 256];
        assert!(Grab::new(cloth, &particles, particle, options).is_err());
    }
    let sphere = Sphere { center: [0.0; 3], radius: 1.0 };
    assert!(cloth.hold(&[256], &[sphere]).is_err() && cloth.hold(&[0, 1], &[sphere]).is_err());
    for _ in 0..3 {
        grab.apply(simulation.cloth_mut(id).unwrap(), &[], FRAME).unwrap();
        simulation.step(FRAME).unwrap();
    }
    let at = position(&mut simulation, id, particle);
    let expected = [start[0], start[1] + 0.15, start[2]];
    assert!(distance(at, expected) < 1e-5, "{at:?} for {expected:?}");
}

#[test]
fn a_grab_holds_with_motion_spheres_switched_off() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let start = position(&mut simulation, id, particle);
    let cloth = simulation.cloth_mut(id).unwrap();
    let mut config = cloth.desc().config.clone();
    config.motion = MotionConstraints { scale: 0.0, bias: 0.0, stiffness: 0.0 };
    cloth.set_config(config).unwrap();
    cloth.set_motion_spheres(&[Sphere { center: [9.0; 3], radius: 0.0 }; 256]).unwrap();
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    grab.move_to([start[0], start[1] + 0.1, start[2]]).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    let at = position(&mut simulation, id, particle);
    assert!((distance(at, start) - 0.1).abs() < 1e-5, "{at:?}");
    assert!(distance(position(&mut simulation, id, 120), [9.0; 3]) > 8.0);
}

/// Particles after each frame of a sheet that is grabbed, moved and released.
fn held_sheet(engine: &mut dyn Engine) -> Vec<Vec<Particle>> {
    let id = engine.add(hanging_sheet(4, 4)).unwrap();
    let state = engine.read(id).unwrap();
    let options = GrabOptions { radius: 0.4, ..GrabOptions::default() };
    let cloth = engine.cloth_mut(id).unwrap();
    let mut grab = Grab::new(cloth, state.current(id), 13, options).unwrap();
    grab.move_to([0.3, 0.4, 1.1]).unwrap();
    let mut frames = Vec::new();
    for _ in 0..4 {
        let state = engine.read(id).unwrap();
        grab.apply(engine.cloth_mut(id).unwrap(), state.current(id), FRAME).unwrap();
        engine.step(FRAME).unwrap();
        frames.push(engine.read(id).unwrap().current(id).to_vec());
    }
    grab.release(engine.cloth_mut(id).unwrap());
    engine.step(FRAME).unwrap();
    frames.push(engine.read(id).unwrap().current(id).to_vec());
    frames
}

#[test]
fn both_backends_hold_cloth_alike() {
    let expected = held_sheet(&mut CpuEngine::default());
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        for (frame, (gpu, cpu)) in held_sheet(&mut gpu).iter().zip(&expected).enumerate() {
            rounding.agree(&format!("frame {frame}"), gpu, cpu, 256.0).unwrap();
        }
    }
}
