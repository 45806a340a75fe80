//! Semi-implicit fibers against Gauss-Seidel: less stretch after an iteration and at rest, and
//! fewer iterations for a swinging sheet; no gain for fibers of single edges.
//!
//! CPU backend, no wall times. `cargo run --release -p poplin-testkit --example convergence`
//! measures the same in detail.

use poplin_cook::Tethers;
use poplin_model::ClothDesc;
use poplin_testkit::fibers::{
    FreeFall, Mix, Pins, Swing, SwingSolver, Swung, WHOLE, hang, hanging_chain, hanging_sheet,
};

/// RMS strain of a cloth after a fall of 1/60 s and this number of iterations of its fibers.
fn left(cloth: &ClothDesc, mix: Mix, iterations: usize) -> f32 {
    let strain = FreeFall::new(cloth, mix).residuals(iterations)[iterations].rms;
    println!("{} x {iterations}: RMS {:.4} %", mix.name(), 100.0 * strain);
    strain
}

#[test]
fn one_iteration_of_a_chain_beats_500_of_gauss_seidel() {
    let chain = hanging_chain(64);
    // Rounding only: positions at 1 m are 6e-8 m apart, edges 1/64 m long.
    assert!(left(&chain, Mix::All, 1) < 2.0 * 64.0 * f32::EPSILON);
    assert!(left(&chain, Mix::GaussSeidel, 500) > 1e-3);
}

#[test]
fn one_iteration_of_a_sheet_on_a_row_beats_30_of_gauss_seidel() {
    let sheet = hanging_sheet(32, Pins::TopRow, WHOLE);
    let gauss_seidel = left(&sheet, Mix::GaussSeidel, 30);
    assert!(gauss_seidel > 1e-3);
    for mix in [Mix::Stretch, Mix::All] {
        assert!(left(&sheet, mix, 1) < 0.1 * gauss_seidel);
    }
    // In this mix Gauss-Seidel phases run first and spread the strain of the fall sideways.
    assert!(left(&sheet, Mix::Vertical, 1) < 0.7 * gauss_seidel);
}

#[test]
fn one_iteration_of_a_sheet_on_corners_beats_30_of_gauss_seidel() {
    let sheet = hanging_sheet(32, Pins::Corners, WHOLE);
    let gauss_seidel = left(&sheet, Mix::GaussSeidel, 30);
    for mix in [Mix::Stretch, Mix::All] {
        assert!(left(&sheet, mix, 1) < 0.85 * gauss_seidel);
    }
}

#[test]
fn fibers_of_single_edges_gain_nothing() {
    let sheet = hanging_sheet(32, Pins::TopRow, 1);
    let [gauss_seidel, whole] = [Mix::GaussSeidel, Mix::All].map(|mix| left(&sheet, mix, 4));
    assert!((whole / gauss_seidel - 1.0).abs() < 0.01, "{whole} against {gauss_seidel}");
}

/// 99th percentile of the strain of a cloth at rest.
fn at_rest(cloth: &ClothDesc, mix: Mix, frequency: u32, passes: u32) -> f32 {
    let hanging = hang(cloth, mix, frequency, passes);
    println!("{} x {passes} at {frequency} Hz: {hanging:?}", mix.name());
    hanging.strain.p99
}

#[test]
fn one_pass_keeps_the_length_of_a_hanging_chain() {
    let chain = hanging_chain(64);
    assert!(at_rest(&chain, Mix::All, 60, 1) < 1e-4);
    assert!(at_rest(&chain, Mix::GaussSeidel, 60, 30) > 0.3);
}

#[test]
fn one_pass_of_a_hanging_sheet_beats_15_of_gauss_seidel() {
    let sheet = hanging_sheet(32, Pins::TopRow, WHOLE);
    assert!(at_rest(&sheet, Mix::All, 60, 1) < 0.5 * at_rest(&sheet, Mix::GaussSeidel, 60, 15));
}

/// Runs a swinging sheet of `side` x `side` particles with tethers and fibers from border to
/// border.
fn swing(side: u32, solver: SwingSolver, iterations: u32) -> Swung {
    let swung = Swing {
        side,
        max_fiber_length: Some(WHOLE),
        tethers: Tethers::Geodesic,
        solver,
        iterations,
    }
    .run();
    let [second, end] = [swung.second, swung.end].map(|strain| 100.0 * strain.p99);
    println!(
        "{side}: {solver:?}, {iterations} a frame: p99 {second:.3} % in the second second, {end:.3} % at the end"
    );
    swung
}

#[test]
fn a_small_swinging_sheet_stays_within_1_percent_strain() {
    for iterations in [2, 3, 5] {
        assert!(swing(16, SwingSolver::Pbd(Mix::Stretch), iterations).second.p99 < 0.008);
        assert!(swing(16, SwingSolver::Pbd(Mix::GaussSeidel), iterations).second.p99 > 0.02);
    }
}

#[test]
fn a_large_swinging_sheet_needs_a_fifth_of_the_iterations() {
    // Full stiffness in each iteration, the best case of Gauss-Seidel.
    for iterations in [2, 3] {
        assert!(swing(64, SwingSolver::PbdFully(Mix::All), iterations).second.p99 < 0.008);
        let edges = swing(64, SwingSolver::PbdFully(Mix::GaussSeidel), 5 * iterations);
        assert!(edges.second.p99 > 0.01);
    }
    // Default settings.
    assert!(swing(64, SwingSolver::Pbd(Mix::Stretch), 5).second.p99 < 0.008);
    assert!(swing(64, SwingSolver::Pbd(Mix::GaussSeidel), 25).second.p99 > 0.0125);
}
