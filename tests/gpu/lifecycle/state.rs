//! Cloths reset, copied and set to given particles and velocities.

use poplin::{Error, ParticleMotion, Simulation};
use poplin_model::{ClothDesc, Particle};
use poplin_testkit::adapter::backends;
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::{hanging_sheet, loose_particles};

use super::{equipped, run, same_cloth};

#[test]
fn a_reset_cloth_behaves_like_a_new_one() {
    for backend in backends() {
        let (mut reset, mut fresh) =
            (Simulation::new(backend).unwrap(), Simulation::new(backend).unwrap());
        let id = reset.add(hanging_sheet(6, 6)).unwrap();
        let moved = poplin::model::Pose { translation: [0.3, 0.0, 0.1], ..Default::default() };
        reset.cloth_mut(id).unwrap().set_pose(moved).unwrap();
        let mut config = reset.cloth(id).unwrap().desc().config.clone();
        config.damping = [0.2; 3];
        reset.cloth_mut(id).unwrap().set_config(config.clone()).unwrap();
        reset.step(1.0 / 30.0).unwrap();
        run(&mut reset, 3);
        // Inputs written for the next frame are reset too.
        reset
            .cloth_mut(id)
            .unwrap()
            .write_particles(&[20], &[Particle::from([5.0, 5.0, 5.0, 1.0])])
            .unwrap();
        reset.reset(id).unwrap();
        let fresh_id = fresh.add(ClothDesc { config, ..hanging_sheet(6, 6) }).unwrap();
        same_cloth("at once", (&reset.state().unwrap(), id), (&fresh.state().unwrap(), fresh_id));
        assert_eq!(reset.cloth(id).unwrap().pose(), fresh.cloth(fresh_id).unwrap().pose());
        for _ in 0..3 {
            reset.step(1.0 / 60.0).unwrap();
            fresh.step(1.0 / 60.0).unwrap();
        }
        same_cloth("later", (&reset.state().unwrap(), id), (&fresh.state().unwrap(), fresh_id));
    }
}

#[test]
fn copies_continue_exactly_like_the_original() {
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
                // Impulses belong to a frame, which new copies have not stepped yet.
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
fn setting_the_current_particles_changes_nothing() {
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
fn set_velocities_are_per_second_and_unfreeze_a_cloth() {
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
                simulation.step(dt).unwrap();
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
                    // Each of 30 iterations rounds a coordinate of up to 9 m and a displacement.
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
