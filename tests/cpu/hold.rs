//! Cloth that is pinched, let go or thrown, from scene files as users write them.

use crate::friction::{GRAVITY, IMPLICIT, PBD, Vec3, XPBD, run};

/// Coefficient of friction.
const FRICTION: f64 = 0.7;
/// Length of a strip \[m\].
const LENGTH: f64 = 0.3;

/// Mean positions of a strip at the start and after each frame. It hangs by its upper edge, is
/// pinched by two boxes over its upper `pinched` rows from 0.1 s on and let go at 0.2 s.
///
/// Two boxes that overlap by `d` push a particle between them by `d / 2` an iteration of `h`
/// seconds, so friction carries the load `mu m d / (2 h^2)`, m the pinched mass: that of the strip
/// divided by `factor`.
fn pinched(solver: &str, step: f64, rows: u32, factor: f64) -> Vec<Vec3> {
    let edge = LENGTH / f64::from(rows - 1);
    let pinched = (rows - 1) / 5;
    // A particle at the edge has half of the mass of others.
    let share = (f64::from(pinched) - 0.5) / f64::from(rows - 1);
    let overlap = factor * GRAVITY / share * 2.0 * step * step / FRICTION;
    let middle = 0.1 - edge * (f64::from(pinched) - 0.5);
    let columns = (rows + 2) / 3;
    let mut text = format!(
        "[[cloth]]\nname = \"strip\"\n\
         grid = {{ columns = {columns}, rows = {rows}, width = 0.1, height = {LENGTH} }}\n\
         animated_pins = [{{ pins = \"top:0%\", release = 0.2 }}]\nperturbation = 0\n\
         contact = {{ friction = {FRICTION} }}\nfabric = {{ tethers = \"none\" }}\n{solver}"
    );
    for side in [-1.0, 1.0] {
        let [start, travel] = [0.102, 0.002 + 0.5 * overlap].map(|x| side * x);
        text += &format!(
            "[[collider]]\nbox = {{ size = [1, 0.2, 0.2] }}\n\
             transform = {{ translation = [0, {middle}, {start}] }}\n\
             keys = [{{ time = 0 }}, {{ time = 0.1, translation = [0, 0, {}] }}]\n",
            -travel
        );
    }
    run(&format!("pinched-{rows}-{factor}-{}", solver.len()), &text, "", 90)
}

/// Checks that a strip stays below 1 um/s at a load of 0.87 of what friction carries, and falls at
/// 1.1 of it.
fn check(solver: &str, step: f64) {
    for rows in [16, 31] {
        let held = pinched(solver, step, rows, 1.15);
        let fallen = pinched(solver, step, rows, 0.9);
        let creep = held[30][1] - held[90][1];
        let fall = fallen[30][1] - fallen[90][1];
        eprintln!(
            "{rows} rows: creeps {:.3} um/s, falls {:.1} mm in a second",
            1e6 * creep,
            1e3 * fall
        );
        assert!(creep.abs() < 1e-6, "{rows} rows: creeps {creep} m/s");
        assert!(fall > 0.1, "{rows} rows: held, fell by {fall} m");
    }
}

#[test]
fn two_boxes_hold_a_strip_by_coulombs_law_pbd() {
    check(PBD, 1.0 / 600.0);
}

#[test]
fn two_boxes_hold_a_strip_by_coulombs_law_xpbd() {
    check(XPBD, 1.0 / 600.0);
}

#[test]
fn two_boxes_hold_a_strip_by_coulombs_law_implicit() {
    check(IMPLICIT, 1.0 / 240.0);
}

#[test]
fn a_released_sheet_wakes_and_falls() {
    for solver in [PBD, XPBD, IMPLICIT] {
        let text = format!(
            "[[cloth]]\nname = \"sheet\"\n\
             grid = {{ columns = 5, rows = 5, width = 0.1, height = 0.1 }}\nperturbation = 0\n\
             animated_pins = [{{ pins = \"all\", release = 0.5 }}]\n\
             sleep = {{ threshold = 0.01, test_interval = 50, after_count = 2 }}\n{solver}"
        );
        let means = run(&format!("released-{}", solver.len()), &text, "", 60);
        let fall = means[0][1] - means[60][1];
        assert_eq!(means[0], means[30], "held");
        // g t^2 / 2 after half a second, with the error of first order of a step.
        assert!((fall / (0.125 * GRAVITY) - 1.0).abs() < 0.01, "falls {fall} m");
    }
}

#[test]
fn a_released_pin_keeps_the_velocity_of_its_keys() {
    let text = format!(
        "[[cloth]]\nname = \"sheet\"\ngravity = [0, 0, 0]\nperturbation = 0\n\
         grid = {{ columns = 5, rows = 5, width = 0.1, height = 0.1 }}\n\
         animated_pins = [{{ pins = \"all\", release = 0.5,\n  \
         keys = [{{ time = 0 }}, {{ time = 1, translation = [2, 0, 0] }}] }}]\n{PBD}"
    );
    let means = run("thrown", &text, "", 60);
    let [at_release, end] = [30, 60].map(|frame| means[frame][0] - means[0][0]);
    assert!((at_release - 1.0).abs() < 1e-4 && (end - 2.0).abs() < 1e-3, "{at_release}, {end} m");
}

#[test]
fn a_cloth_starts_with_its_velocity() {
    for solver in [PBD, XPBD, IMPLICIT] {
        let text = format!(
            "[[cloth]]\nname = \"sheet\"\ngravity = [0, 0, 0]\nperturbation = 0\n\
             grid = {{ columns = 11, rows = 11, width = 0.2, height = 0.2 }}\n\
             velocity = [1, 2, -0.5]\n{solver}"
        );
        let means = run(&format!("velocity-{}", solver.len()), &text, "", 60);
        let moved: Vec3 = std::array::from_fn(|k| means[60][k] - means[0][k]);
        for (moved, expected) in moved.into_iter().zip([1.0, 2.0, -0.5]) {
            assert!((moved - expected).abs() < 1e-3, "moved {moved} m, not {expected}");
        }
    }
}
