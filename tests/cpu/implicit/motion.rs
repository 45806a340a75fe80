//! Momentum, energy and order of convergence of moving cloth.

use poplin::State;
use poplin::model::{BendModel, Implicit, ImplicitReport, StretchModel};
use poplin_testkit::beams::G;
use poplin_testkit::implicit::{
    energies, energy_kept, implicit_oracle, positions, report, sheet, simulate, simulation, solved,
    spin_left, swing_error, thrown,
};
use poplin_testkit::nth_cloth;

/// Momentum of the last step times h, and the sum of its absolute terms.
fn momentum(state: &State) -> ([f64; 3], f64) {
    let pairs = state.current(nth_cloth(0)).iter().zip(state.previous(nth_cloth(0)));
    let (mut sum, mut size) = ([0.0; 3], 0.0);
    for (now, before) in pairs {
        let mass = 1.0 / f64::from(now.inverse_mass);
        let both = now.position.into_iter().zip(before.position);
        for (sum, (now, before)) in sum.iter_mut().zip(both) {
            let moved = f64::from(now) - f64::from(before);
            *sum += mass * moved;
            size += mass * moved.abs();
        }
    }
    (sum, size)
}

#[test]
fn a_free_sheet_keeps_momentum_at_any_iteration_count() {
    for max_iterations in [1, 5, 96] {
        for stretch in StretchModel::ALL {
            let implicit = Implicit {
                stretch,
                bending_rigidity: 1e-4,
                stretch_damping: 1e-3,
                bending_damping: 1e-3,
                max_iterations,
                ..Implicit::default()
            };
            let cloth = thrown(1.0, implicit);
            let (start, size) = momentum(&simulate(cloth.clone(), 0, 1.0 / 60.0));
            let (end, _) = momentum(&simulate(cloth, 60, 1.0 / 60.0));
            let lost = (0..3).map(|k| (end[k] - start[k]).abs()).fold(0.0, f64::max);
            eprintln!("{stretch:?}, {max_iterations}: {lost:e} of {size:e}");
            // Positions of 0.5 m round by 3e-8 m in each of 240 steps of about 4 mm, in random
            // directions.
            assert!(lost < 1e-4 * size, "{stretch:?}, {max_iterations}: {lost} of {size}");
        }
    }
}

#[test]
fn a_sheet_in_free_fall_needs_no_iteration() {
    let cloth = solved(sheet(8, 8, 0.5, 0.5, Vec::new()), Implicit::default());
    let state = simulate(cloth, 30, 1.0 / 60.0);
    assert_eq!(report(&state), ImplicitReport { steps: 120, ..ImplicitReport::default() });
    let fallen = -positions(&state)[0][1];
    // Symplectic steps of 1/240 s: g n (n + 1) h^2 / 2.
    assert!((fallen / (G * 120.0 * 121.0 / 240.0f64.powi(2) / 2.0) - 1.0).abs() < 1e-4, "{fallen}");
}

#[test]
fn a_spinning_sheet_slows_down_as_in_backward_euler() {
    let (omega, h) = (std::f64::consts::TAU, 1.0 / 240.0);
    let implicit =
        Implicit { substeps: 4, tolerance: 0.001, max_iterations: 400, ..Implicit::default() };
    let left = spin_left(implicit).value;
    // Backward Euler lets the square of the angular velocity decay like 1 / (1 + 2 omega^2 h t),
    // here with t = 1 s.
    let expected = (1.0 + 2.0 * omega * omega * h).powf(-0.5);
    eprintln!("{left} of {expected}");
    assert!((left / expected - 1.0).abs() < 0.01, "{left} of {expected}");
}

#[test]
fn a_stiff_mode_keeps_as_much_energy_as_backward_euler_leaves() {
    for (reach, expected) in [(0.5, 0.8), (1.0, 0.5), (2.0, 0.2)] {
        let kept = energy_kept(reach);
        eprintln!("omega h {reach}: {kept:.3} of {expected}");
        assert!((kept / expected - 1.0).abs() < 0.03, "{reach}: {kept} of {expected}");
    }
}

#[test]
fn the_error_of_a_swing_halves_with_the_step() {
    let errors = [50, 100, 200].map(swing_error);
    let ratios = [errors[0] / errors[1], errors[1] / errors[2]];
    eprintln!("errors {errors:.5?}, ratios {ratios:.3?}");
    assert!(ratios.iter().all(|ratio| (ratio - 2.0).abs() < 0.1), "{errors:?}");
}

/// Total energy of a thrown sheet in each frame \[J\], and its largest rise between two frames.
fn thrown_energies(implicit: Implicit) -> (Vec<f64>, f64) {
    let h = 1.0 / 60.0 / f64::from(implicit.substeps);
    let cloth = thrown(1.0, implicit.clone());
    let oracle = implicit_oracle(&cloth, &implicit);
    let mut simulation = simulation(cloth);
    let mut total = || {
        let state = simulation.state().unwrap();
        simulation.step(1.0 / 60.0).unwrap();
        energies(&oracle, &state, h).iter().sum::<f64>()
    };
    let found: Vec<_> = (0..30).map(|_| total()).collect();
    let rise = found.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::MIN, f64::max);
    (found, rise)
}

#[test]
fn the_energy_of_a_free_sheet_never_rises() {
    let settings = Implicit {
        bending_rigidity: 1e-4,
        tolerance: 1e-3,
        max_iterations: 1000,
        ..Implicit::default()
    };
    // Covers every model at both steps and every pair of models at one of them.
    for k in 0..12 {
        let count = BendModel::ALL.len();
        let (stretch, bend, substeps) =
            (StretchModel::ALL[k % 3], BendModel::ALL[k % count], [1, 4][k / count % 2]);
        let implicit = Implicit { substeps, stretch, bend, ..settings.clone() };
        let (found, rise) = thrown_energies(implicit);
        let what = format!("{}, {}, {substeps} steps", stretch.name(), bend.name());
        eprintln!("{what}: {:.3e} to {:.3e} J, by {rise:e} at most", found[0], found[29]);
        assert!(rise < 0.0 && found[29] > 0.02 * found[0], "{what}: {found:?}");
    }
    // Control: steps taken long before they are solved.
    let (found, rise) = thrown_energies(Implicit { substeps: 1, max_iterations: 3, ..settings });
    eprintln!("3 iterations: {:.3e} to {:.3e} J, by {rise:e} at most", found[0], found[29]);
    assert!(rise > 0.0, "{found:?}");
}
