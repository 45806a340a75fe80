//! Refused settings, and a change of solver between frames.

use std::sync::Arc;

use poplin::model::{ClothConfig, ModelError, Particle, Solver};
use poplin::{Backend, Simulation};

use super::{FINE, thrown_sheet};

#[test]
fn settings_that_do_not_fit_the_fabric_are_refused() {
    let xpbd = thrown_sheet(1.0 / 600.0);
    xpbd.validate().unwrap();
    let mut without_bends = xpbd.clone();
    let fabric = Arc::make_mut(&mut without_bends.fabric);
    (fabric.bends, fabric.bend_set_ends) = Default::default();
    assert_eq!(
        without_bends.validate(),
        Err(ModelError::NoBends { solver: "xpbd", rigidity: 1e-3 })
    );
    let mut stiffness_per_edge = xpbd.clone();
    let fabric = Arc::make_mut(&mut stiffness_per_edge.fabric);
    fabric.edge_stiffness_log2 = vec![-1.0; fabric.edge_count()];
    let refused = stiffness_per_edge.validate();
    assert!(
        matches!(refused, Err(ModelError::EdgeStiffness { needed: "solver.pbd", .. })),
        "{refused:?}"
    );
    let solver = |substeps| Solver::xpbd(substeps).validate();
    assert!(solver(0).is_err() && solver(20_001).is_err() && solver(20_000).is_ok());
}

#[test]
fn the_solver_of_a_cloth_can_change_between_frames() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(thrown_sheet(1.0 / 600.0)).unwrap();
    simulation.step(1.0 / 60.0).unwrap();
    for solver in [Solver::default(), Solver::xpbd(FINE)] {
        let config = ClothConfig { solver, ..ClothConfig::default() };
        simulation.cloth_mut(id).unwrap().set_config(config).unwrap();
        simulation.step(1.0 / 60.0).unwrap();
    }
    let state = simulation.state().unwrap();
    assert!(Particle::rows(state.current(id)).iter().flatten().all(|x| x.is_finite()));
}
