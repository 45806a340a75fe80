//! Oscillations with damping, momentum, and repeatability.

use std::sync::Arc;

use poplin::model::{
    Bend, ClothConfig, ClothDesc, Fabric, Particle, Phase, PhaseKind, Phases, Xpbd, XpbdPhase,
};
use poplin::{Backend, Simulation, State};
use poplin_testkit::beams::G;
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;

use super::{FINE, run, thrown_sheet};

/// Largest deviation of `x(t)` from a damped oscillation that starts at 1 at rest, with `omega^2 =
/// k/m` and the rate `c/(2 m)`.
fn worst_of_oscillation(
    cloth: ClothDesc,
    stiffness: f64,
    damping: f64,
    coordinate: impl Fn(&State) -> f64,
) -> f64 {
    let (dt, rate) = (1.0 / 60.0, damping / 2.0);
    let omega = (stiffness - rate * rate).sqrt();
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    let mut worst = 0.0f64;
    for frame in 1..=120 {
        simulation.step(dt as f32).unwrap();
        let t = f64::from(frame) * dt;
        // x(t) = exp(-r t) (cos(w t) + r / w sin(w t)), at rest at t = 0.
        let expected = (-rate * t).exp() * ((omega * t).cos() + rate / omega * (omega * t).sin());
        worst = worst.max((coordinate(&simulation.state().unwrap()) - expected).abs());
    }
    worst
}

#[test]
fn an_edge_oscillates_by_its_compliance_and_damping() {
    let (stiffness, rate) = (100.0, 2.0);
    let fabric = Fabric {
        particle_count: 2,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, 1],
        fiber_vertices: vec![0, 1],
        rest_lengths: vec![1.0],
        ..Fabric::default()
    };
    // A mass of 2 kg tells a force from an acceleration.
    let mut cloth =
        ClothDesc::new(Arc::new(fabric), vec![[-1.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.5]]);
    let (compliance, damping) = (0.5 / stiffness, 2.0 * rate);
    let phase =
        XpbdPhase { fiber_solver: None, compliance: compliance as f32, damping: damping as f32 };
    let solver = Xpbd { substeps: FINE, phases: Phases::all(phase), ..Xpbd::default() }.into();
    cloth.config = ClothConfig { solver, gravity: [0.0; 3], ..ClothConfig::default() };
    let worst = worst_of_oscillation(cloth, stiffness, rate, |state| {
        f64::from(state.current(nth_cloth(0))[1].position[0]) / 0.1
    });
    eprintln!("edge: {worst}");
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn a_bend_oscillates_by_its_rigidity_and_damping() {
    let (stiffness, rate) = (100.0, 2.0);
    // A hinge of weight 3 with a wing of 2 kg that an edge holds 0.5 m from it: an inertia of 0.5
    // kg m^2.
    let fabric = Fabric {
        particle_count: 5,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, 1],
        fiber_vertices: vec![4, 3],
        rest_lengths: vec![0.5],
        bends: vec![Bend {
            particles: [0, 1, 2, 3],
            rest_angle: 0.0,
            weight: 3.0,
            wings: Default::default(),
        }],
        bend_set_ends: vec![1],
        ..Fabric::default()
    };
    let (sin, cos) = 0.1f32.sin_cos();
    let wing = [0.5, -0.5 * cos, 0.5 * sin, 0.5];
    let positions =
        vec![[0.0; 4], [1.0, 0.0, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0], wing, [0.5, 0.0, 0.0, 0.0]];
    let mut cloth = ClothDesc::new(Arc::new(fabric), positions);
    let (bending_rigidity, bending_damping) =
        ((0.5 * stiffness / 3.0) as f32, (0.5 * rate / 3.0) as f32);
    let solver = Xpbd { substeps: FINE, bending_rigidity, bending_damping, ..Xpbd::default() };
    cloth.config =
        ClothConfig { solver: solver.into(), gravity: [0.0; 3], ..ClothConfig::default() };
    let worst = worst_of_oscillation(cloth, stiffness, rate, |state| {
        let [_, y, z] = state.current(nth_cloth(0))[3].position.map(f64::from);
        z.atan2(-y) / 0.1
    });
    eprintln!("bend: {worst}");
    // The mass swings half a metre from the origin: rounding contributes as much as the scheme.
    assert!(worst < 0.015, "{worst}");
}

/// Momentum times h and angular momentum times h about the center of mass, of particles of equal
/// mass.
fn momenta(state: &State) -> [[f64; 3]; 2] {
    let wide = |particle: &Particle| particle.position.map(f64::from);
    let mut sums = [[0.0; 3]; 4];
    for (now, before) in state.current(nth_cloth(0)).iter().zip(state.previous(nth_cloth(0))) {
        let (mass, x, old) = (1.0 / f64::from(now.inverse_mass), wide(now), wide(before));
        let displacement: [f64; 3] = std::array::from_fn(|k| x[k] - old[k]);
        sums[3][0] += mass;
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            sums[0][k] += mass * displacement[k];
            sums[1][k] += mass * (x[i] * displacement[j] - x[j] * displacement[i]);
            sums[2][k] += mass * x[k];
        }
    }
    let [displacement, spin, center, [mass, ..]] = sums;
    let about = |k: usize| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        spin[k] - (center[i] * displacement[j] - center[j] * displacement[i]) / mass
    };
    [displacement, std::array::from_fn(about)]
}

#[test]
fn a_free_sheet_keeps_its_momentum_and_its_spin() {
    let (dt, h) = (1.0 / 60.0, 1.0 / 600.0);
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(thrown_sheet(h)).unwrap();
    let start = momenta(&simulation.state().unwrap());
    (0..60).for_each(|_| simulation.step(dt as f32).unwrap());
    let end = momenta(&simulation.state().unwrap());
    let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mass = 0.2;
    let lost: [f64; 3] =
        std::array::from_fn(|k| end[0][k] - start[0][k] + if k == 1 { mass * G * h } else { 0.0 });
    // Positions of 4 m round by up to 2 EPSILON, each a lasting change of velocity, in each of 600
    // steps.
    let rounding = 2.0 * f64::from(f32::EPSILON) * 600.0f64.sqrt() * mass;
    let spin = length(end[1]) / length(start[1]);
    eprintln!("momentum lost {lost:?} of {:?}, allowed {rounding:e}; spin {spin}", start[0]);
    assert!(length(lost) < 3.0 * rounding, "{lost:?}");
    // Projecting an edge that rotates by w h back onto its circle loses w^2 h / 2 of its momentum
    // per second, with w below 4 rad/s.
    assert!((spin - 1.0).abs() < 16.0 * h / 2.0, "{spin}");
}

#[test]
fn two_runs_give_the_same_bits() {
    let [a, b] = [(); 2].map(|()| run(thrown_sheet(1.0 / 600.0), 1.0 / 60.0, 0.5));
    same_bits("current", a.current(nth_cloth(0)), b.current(nth_cloth(0))).unwrap();
    same_bits("previous", a.previous(nth_cloth(0)), b.previous(nth_cloth(0))).unwrap();
}
