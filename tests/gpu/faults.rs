//! Faults are reported as data: a cloth that leaves the range of `f32` is frozen and counted, the
//! others continue. Invalid input is an error.

use poplin::model::{ClothConfig, ModelError, Particle, Solver};
use poplin::{Backend, Error, NoSuchCloth, Simulation, State};
use poplin_testkit::adapter::backends;
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::hanging_sheet;

/// Three cloths; the second one is thrown out of the range of `f32` after two frames.
fn run_with_a_fault(backend: Backend) -> State {
    let mut simulation = Simulation::new(backend).unwrap();
    for _ in 0..3 {
        simulation.add(hanging_sheet(6, 6)).unwrap();
    }
    for frame in 0..6 {
        if frame == 2 {
            let config = ClothConfig {
                gravity: [0.0, -1e15, 0.0],
                solver: Solver::pbd(1.0),
                ..ClothConfig::default()
            };
            simulation.cloth_mut(nth_cloth(1)).unwrap().set_config(config).unwrap();
            simulation.step(1.4).unwrap();
        } else {
            simulation.step(1.0 / 60.0).unwrap();
        }
    }
    simulation.state().unwrap()
}

#[test]
fn a_faulty_cloth_is_frozen_and_the_others_go_on() {
    let states: Vec<State> = backends().into_iter().map(run_with_a_fault).collect();
    for state in &states {
        assert_eq!((state.fault_count(nth_cloth(0)), state.fault_count(nth_cloth(2))), (0, 0));
        assert!(state.fault_count(nth_cloth(1)) > 0, "nothing left the range of f32");
        assert_eq!(state.fault_particle(nth_cloth(1)), Some(1));
        assert!(
            Particle::rows(state.current(nth_cloth(1)))
                .iter()
                .flatten()
                .all(|value| value.is_finite()),
            "a frozen cloth stays drawable"
        );
        assert!(state.iteration_total(nth_cloth(1)) < state.iteration_total(nth_cloth(0)));
        assert_eq!(state.current(nth_cloth(0)), state.current(nth_cloth(2)));
    }
    for state in &states[1..] {
        for cloth in 0..3 {
            let id = nth_cloth(cloth);
            assert_eq!(state.fault_count(id), states[0].fault_count(id));
            assert_eq!(state.iteration_total(id), states[0].iteration_total(id));
        }
    }
}

#[test]
fn bad_calls_are_errors_and_change_nothing() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let id = simulation.add(hanging_sheet(4, 4)).unwrap();
        let before = simulation.state().unwrap().current(id).to_vec();
        let nowhere = nth_cloth(7);
        assert!(matches!(
            simulation.cloth_mut(nowhere),
            Err(Error::NoSuchCloth(NoSuchCloth { id })) if id == nowhere
        ));
        assert!(matches!(
            simulation.cloth(nowhere),
            Err(Error::NoSuchCloth(NoSuchCloth { id })) if id == nowhere
        ));
        let host = simulation.cloth_mut(id).unwrap();
        assert!(host.set_phase_order(&[99]).is_err());
        assert!(host.set_particle_accelerations(&[[0.0; 3]; 3]).is_err());
        assert!(host.set_particle_accelerations(&[[f32::NAN; 3]; 16]).is_err());
        let pinned = host.write_particles(&[0], &[Particle::from([0.0, 0.0, 0.0, 1.0])]);
        assert_eq!(pinned, Err(ModelError::PinnedParticle { particle: 0, inverse_mass: 1.0 }));
        assert!(host.write_particles(&[99], &[Particle::from([0.0; 4])]).is_err());
        let config = ClothConfig { solver: Solver::pbd(10_000.0), ..ClothConfig::default() };
        host.set_config(config).unwrap();
        for dt in [f32::NAN, -1.0, 11.0, f32::INFINITY] {
            assert!(simulation.step(dt).is_err(), "dt {dt}");
        }
        let error = simulation.step(5.0).unwrap_err();
        assert!(error.to_string().contains("50000 is more than the limit 20000"), "{error}");
        assert_eq!(simulation.state().unwrap().current(id), before);
    }
}

#[test]
fn a_frame_of_no_time_changes_nothing() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        let id = simulation.add(hanging_sheet(4, 4)).unwrap();
        simulation.step(1.0 / 60.0).unwrap();
        let before = simulation.state().unwrap().current(id).to_vec();
        simulation.step(0.0).unwrap();
        assert_eq!(simulation.state().unwrap().current(id), before);
    }
}

#[test]
fn a_simulation_without_cloths_steps() {
    for backend in backends() {
        let mut simulation = Simulation::new(backend).unwrap();
        simulation.step(1.0 / 60.0).unwrap();
        assert_eq!(simulation.state().unwrap().cloth_count(), 0);
    }
}
