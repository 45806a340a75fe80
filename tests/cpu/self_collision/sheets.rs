//! Whole cloths: a sheet over a ball and a twisted ribbon stay free of entanglement.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{
    ClothConfig, ClothDesc, Mesh, Particle, Pbd, PbdPhase, Phases, Plane, Solver, Sphere, Xpbd,
    XpbdPhase,
};
use poplin::{Backend, Simulation};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_measure::metrics::stretch_strain;
use poplin_testkit::nth_cloth;

use super::distance;

fn positions(simulation: &mut Simulation) -> Vec<[f32; 3]> {
    let state = simulation.state().unwrap();
    assert_eq!(state.fault_count(nth_cloth(0)), 0);
    state.positions(nth_cloth(0)).collect()
}

/// Free square sheet of 1 m and 0.2 kg, 0.5 m above the ground, over a ball of radius 0.2 m on the
/// ground. Its fibers run from border to border.
fn over_a_ball(side: u32) -> ClothDesc {
    let options = CookOptions { max_fiber_length: Some(side), ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(side, side, 1.0, 1.0), &options).unwrap().into_cloth();
    let w = (side * side) as f32 / 0.2;
    cloth
        .particles
        .iter_mut()
        .for_each(|p| *p = Particle::from([p.position[0] - 0.5, 0.5, p.position[2] - 0.5, w]));
    cloth.colliders.add(Sphere { center: [0.0, 0.2, 0.0], radius: 0.2 }).unwrap();
    cloth.colliders.add(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).unwrap();
    cloth.config.thickness = 0.01;
    cloth.config.contact.friction = 0.3;
    cloth
}

/// Largest depth of a particle in the ball or the ground \[m\].
fn depth(positions: &[[f32; 3]]) -> f64 {
    let depth = |p: &[f32; 3]| (0.2 - distance(p, &[0.0, 0.2, 0.0])).max(-f64::from(p[1]));
    positions.iter().map(depth).fold(f64::NEG_INFINITY, f64::max)
}

/// XPBD with little bending stiffness.
fn soft_xpbd(substeps: u32) -> Solver {
    let bending = XpbdPhase { compliance: 0.1, ..XpbdPhase::default() };
    let phases = Phases { bending, ..Phases::default() };
    Xpbd { substeps, phases, ..Xpbd::default() }.into()
}

#[test]
fn a_sheet_that_falls_over_a_ball_does_not_get_entangled() {
    let run = |(friction, offset): (f32, f32), thickness: f32, solver: Solver| {
        let name = solver.name();
        let mut cloth = over_a_ball(64);
        cloth.config.contact.friction = friction;
        cloth.config.thickness = thickness;
        cloth.config.solver = solver;
        let rest: Vec<[f32; 3]> =
            cloth.particles.iter().map(|particle| particle.position).collect();
        cloth.particles.iter_mut().for_each(|particle| particle.position[0] += offset);
        let fabric = cloth.fabric.clone();
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        simulation.add(cloth).unwrap();
        (0..180).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
        let end = positions(&mut simulation);
        let counter = EntanglementCounter::new(&rest, &fabric.triangles, &[]);
        // Neighbours at rest are exempt: along the edges of the grid and across its cells.
        let found = counter.measure(&end, 0.005, 0.023);
        let strain = stretch_strain(&fabric, simulation.state().unwrap().current(nth_cloth(0)));
        println!(
            "{name}, friction {friction}, thickness {thickness}: {found:?}, {:.0e} m deep, p99 {:.1} %",
            depth(&end),
            100.0 * strain.p99
        );
        (found, depth(&end), strain.p99)
    };
    for solver in [Solver::pbd(1200.0), soft_xpbd(12)] {
        let name = solver.name();
        let (found, depth, strain) = run((0.3, 0.0), 0.01, solver);
        assert_eq!((found.close_pairs, found.crossings), (0, 0), "{name}: {found:?}");
        assert!(depth < 1e-6, "{name}: {depth} m deep");
        assert!(strain < 0.03, "{name}: {strain}");
    }
    // Control: without thickness it does get entangled, if neither friction nor balance holds it on
    // the ball.
    let slips = (0.0, 0.003);
    let (found, ..) = run(slips, 0.01, Solver::pbd(1200.0));
    assert_eq!((found.close_pairs, found.crossings), (0, 0), "{found:?}");
    let (found, ..) = run(slips, 0.0, Solver::pbd(1200.0));
    assert!(found.close_pairs > 0 && found.crossings > 20, "{found:?}");
}

#[test]
fn a_ribbon_twisted_by_three_turns_and_back_returns() {
    let (columns, rows) = (7, 61);
    let ends: Vec<u32> = (0..columns).chain(columns * (rows - 1)..columns * rows).collect();
    let bending = PbdPhase { stiffness: 0.5, ..PbdPhase::default() };
    let phases = Phases { bending, ..Phases::default() };
    let pbd = Solver::Pbd(Pbd { frequency: 1200.0, phases, ..Pbd::default() });
    let run = |solver: &Solver, thickness: f32, revolutions: f32| {
        let mesh = Mesh::grid(columns, rows, 0.1, 1.0);
        let options =
            CookOptions { pins: ends.clone(), tethers: Tethers::None, ..CookOptions::default() };
        let mut cloth = cook(&mesh, &options).unwrap().into_cloth();
        let flat: Vec<[f32; 4]> = cloth
            .particles
            .iter()
            .map(|p| [p.position[0] - 0.05, p.position[1], p.position[2] - 0.5, p.inverse_mass])
            .collect();
        cloth.particles = Particle::from_rows(&flat).to_vec();
        let (solver, name) = (solver.clone(), solver.name());
        cloth.config =
            ClothConfig { thickness, solver, damping: [0.5; 3], ..ClothConfig::default() };
        let fabric = cloth.fabric.clone();
        let rest: Vec<[f32; 3]> = flat.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
        let counter = EntanglementCounter::new(&rest, &fabric.triangles, &[]);
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        simulation.add(cloth).unwrap();
        let mut most = 0;
        for frame in 1..=480 {
            // Three revolutions in 3.5 s and back in as long, with the ends 0.35 m closer in
            // between; then a second of rest.
            let fraction = revolutions / 3.0 * frame.min(420 - frame.min(420)) as f32 / 210.0;
            let targets: Vec<[f32; 4]> = ends
                .iter()
                .map(|&i| {
                    let [x, _, z, _] = flat[i as usize];
                    // The two ends rotate in opposite directions.
                    let (sin, cos) = (fraction * 3.0 * std::f32::consts::PI * z.signum()).sin_cos();
                    [x * cos, x * sin, z - 0.175 * fraction * z.signum(), 0.0]
                })
                .collect();
            simulation
                .cloth_mut(nth_cloth(0))
                .unwrap()
                .write_particles(&ends, Particle::from_rows(&targets))
                .unwrap();
            simulation.step(1.0 / 60.0).unwrap();
            if frame % 30 == 0 {
                most = most.max(counter.crossings(&positions(&mut simulation)));
            }
        }
        let end = positions(&mut simulation);
        let left = counter.crossings(&end);
        println!(
            "{name}, thickness {thickness}, {revolutions} revolutions: at most {most} crossings, {left} at the end"
        );
        (most, left, end)
    };
    for solver in [&pbd, &soft_xpbd(20)] {
        let (most, left, end) = run(solver, 0.01, 3.0);
        assert_eq!((most, left), (0, 0));
        // Reference: a ribbon that was never twisted.
        let (_, _, straight) = run(solver, 0.01, 0.0);
        let off = end.iter().zip(&straight).map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
        println!("off by {off:.4} m");
        assert!(off < 0.01, "{}: the ribbon ends {off} m off one never twisted", solver.name());
    }
    // Control: without thickness it does get entangled.
    assert!(run(&pbd, 0.0, 3.0).0 > 0);
}

#[test]
fn runs_repeat_to_the_bit() {
    let run = || {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        simulation.add(over_a_ball(24)).unwrap();
        (0..60).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
        simulation.state().unwrap().current(nth_cloth(0)).to_vec()
    };
    assert_eq!(run(), run());
}
