//! Step control: levels, rejections, budgets, holds.

use super::common::{G, hung_sheet};
use poplin_oracle::implicit::{ImplicitSettings, ImplicitSimulation, StepControl};

const DT: f64 = 1.0 / 60.0;

fn bits(simulation: &ImplicitSimulation) -> Vec<u64> {
    let numbers =
        [&simulation.positions, &simulation.displacements].into_iter().flatten().flatten();
    numbers.map(|x| x.to_bits()).collect()
}

#[test]
fn the_first_level_brings_h_omega_g_to_40() {
    // omega_G is 4189 1/s, 8658 1/s.
    for (side, level) in [(16, 1), (32, 2)] {
        let mut simulation = hung_sheet(side, 1000.0);
        simulation.settings.iterations = 1000;
        // Nothing moves: the steps are easy, and levels go down again.
        simulation.gravity = [0.0; 3];
        let feedback = simulation.run_frame(DT);
        assert!(feedback.steps <= 1 << level && feedback.steps > 1, "{side}: {feedback:?}");
        assert_eq!(feedback.level, level - 1, "{side}: {feedback:?}");
    }
}

#[test]
fn a_rejected_step_leaves_no_trace() {
    // Too few iterations for level 0.
    let start = || {
        let mut simulation = hung_sheet(8, 1000.0);
        simulation.settings.iterations = 30;
        (0..10).for_each(|_| _ = simulation.run_frame(DT));
        simulation
    };
    let (mut rejected, mut direct) = (start(), start());
    rejected.level = Some(0);
    let feedback = rejected.run_frame(DT);
    assert!(feedback.rejections > 0, "{feedback:?}");
    // Rejections after the start of the frame would have to be repeated.
    direct.level = Some(feedback.rejections as u32);
    let other = direct.run_frame(DT);
    assert_eq!(other.rejections, 0);
    assert_eq!(bits(&rejected), bits(&direct));
    assert_eq!((feedback.steps, feedback.level), (other.steps, other.level));
}

#[test]
fn steps_fill_the_frame_whatever_their_levels() {
    let mut simulation = hung_sheet(16, 1000.0);
    let mut levels = std::collections::BTreeSet::new();
    for _ in 0..30 {
        let (mut time, mut before) = (0.0, simulation.clone());
        let feedback = simulation.run_frame(DT);
        levels.insert(feedback.level);
        assert_eq!(feedback.unconverged, 0, "{feedback:?}");
        // Without elements the same steps are free fall: a pin in uniform motion measures their
        // sum.
        before.set_velocities(|_| [0.0, 0.0, 1.0]);
        let pin = before.positions[0][2];
        _ = before.run_frame(DT);
        time += before.positions[0][2] - pin;
        assert!((time - DT).abs() < 1e-15, "{time}");
    }
    eprintln!("levels {levels:?}");
}

#[test]
fn beyond_the_budget_of_a_frame_no_step_is_rejected() {
    let start = || {
        let mut simulation = hung_sheet(16, 1000.0);
        (0..10).for_each(|_| _ = simulation.run_frame(DT));
        simulation.settings.iterations = 20;
        simulation.level = Some(0);
        simulation
    };
    let (mut free, mut bound) = (start(), start());
    let free = free.run_frame(DT);
    assert!(free.rejections > 1 && free.unconverged == 0, "{free:?}");
    bound.settings.frame_iterations = 10;
    let feedback = bound.run_frame(DT);
    assert!(feedback.rejections == 1 && feedback.unconverged > 0, "{feedback:?}");
    assert!(feedback.iterations < free.iterations, "{feedback:?}, {free:?}");
}

#[test]
fn steps_of_the_finest_level_are_accepted_as_they_are() {
    let mut simulation = hung_sheet(16, 1000.0);
    simulation.settings.control = StepControl::Adaptive { finest: 1 };
    simulation.settings.iterations = 12;
    for _ in 0..10 {
        let feedback = simulation.run_frame(DT);
        assert_eq!((feedback.steps, feedback.level), (2, 1));
        assert!(feedback.unconverged > 0 && feedback.rejections == 0, "{feedback:?}");
    }
}

#[test]
fn a_fixed_count_is_kept_and_its_misses_counted() {
    let mut simulation = hung_sheet(16, 1000.0);
    let control = StepControl::Fixed { substeps: 3 };
    simulation.settings =
        ImplicitSettings { control, iterations: 10, ..ImplicitSettings::default() };
    let mut unconverged = 0;
    for _ in 0..10 {
        let feedback = simulation.run_frame(DT);
        assert_eq!((feedback.steps, feedback.rejections, feedback.held), (3, 0, 0));
        assert!(feedback.iterations <= 30, "{feedback:?}");
        unconverged += feedback.unconverged;
    }
    assert!(unconverged > 20, "{unconverged}");
}

#[test]
fn non_finite_steps_are_held_and_finally_frozen() {
    let mut simulation = hung_sheet(8, 1000.0);
    (0..5).for_each(|_| _ = simulation.run_frame(DT));
    let good = simulation.positions.clone();
    simulation.settings.control = StepControl::Fixed { substeps: 1 };
    simulation.gravity = [0.0, f64::NAN, 0.0];
    for frame in 0..12 {
        let feedback = simulation.run_frame(DT);
        assert_eq!(feedback.held, usize::from(frame < 8));
        assert_eq!(simulation.is_frozen, frame >= 7);
        assert_eq!(simulation.positions, good);
    }
    // Four in a row do not freeze it, and it continues from rest.
    let mut simulation = hung_sheet(8, 1000.0);
    simulation.settings.control = StepControl::Adaptive { finest: 2 };
    (0..5).for_each(|_| _ = simulation.run_frame(DT));
    for _ in 0..3 {
        simulation.gravity = [0.0, 0.0, f64::INFINITY];
        assert_eq!(simulation.run_frame(DT).held, 4);
        simulation.gravity = [0.0, 0.0, -G];
        assert_eq!(simulation.run_frame(DT).held, 0);
        assert!(!simulation.is_frozen);
    }
}

#[test]
fn hard_steps_refine_and_easy_ones_coarsen() {
    let mut simulation = hung_sheet(16, 1000.0);
    (0..10).for_each(|_| _ = simulation.run_frame(DT));
    simulation.level = Some(0);
    let hard = simulation.run_frame(DT);
    assert!(hard.rejections > 0 && hard.level >= 1, "{hard:?}");
    simulation.cloth.stretch.clear();
    simulation.cloth.bends.clear();
    simulation.level = Some(6);
    // Two easy steps per level, three where the tick is odd: at 2, 8, 16, 32 and 64 of 64.
    let easy = simulation.run_frame(DT);
    assert_eq!((easy.steps, easy.level, easy.rejections), (11, 1, 0), "{easy:?}");
    assert_eq!(simulation.run_frame(DT).level, 0);
}
