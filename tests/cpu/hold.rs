//! Cloth that is pinched, let go or thrown, from scene files as users write them.

use poplin::{Backend, Simulation};
use poplin_run::{Job, JobSimulation};
use poplin_testkit::Scratch;

use crate::friction::{GRAVITY, IMPLICIT, MULTILEVEL, PBD, Vec3, XPBD, run};

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
    let columns = rows.div_ceil(3);
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

/// Fall of a strip in the second that begins half a second after it is let go \[m\], and force on
/// the jaw that presses it over that of its drive. The latter is `factor` times what holds the
/// strip, by friction on both faces.
fn jaw(solver: &str, contact: &str, factor: f64) -> [f64; 2] {
    let (density, width) = (0.75, 0.1);
    let force = factor * density * width * LENGTH * GRAVITY / (2.0 * FRICTION);
    let thickness = if contact == "triangles" { 0.004 } else { 0.0 };
    let [anvil, start] = [-0.1 - 0.5 * thickness, 0.1001 + 0.5 * thickness];
    let box_at = |z: f64| {
        format!(
            "[[collider]]\nbox = {{ size = [1, 0.2, 0.2] }}\n\
             transform = {{ translation = [0, 0.05, {z}] }}\n"
        )
    };
    let text = format!(
        "cloth_contact_solver = {{ contact = \"{contact}\" }}\n[[cloth]]\nname = \"strip\"\n\
         grid = {{ columns = 6, rows = 16, width = {width}, height = {LENGTH} }}\n\
         animated_pins = [{{ pins = \"top:0%\", release = 0.5 }}]\nperturbation = 0\n\
         density = {density}\nthickness = {thickness}\ncontact = {{ friction = {FRICTION} }}\n\
         fabric = {{ tethers = \"none\" }}\n{solver}{}{}\
         [collider.body]\nmass = 0.02\naxis = [0, 0, -1]\nforce = {force}\nmax_speed = 0.01\n",
        box_at(anvil),
        box_at(start)
    );
    let folder = Scratch::new(&format!("jaw-{contact}-{factor}-{}", solver.len()));
    let scene = folder.path("scene.toml");
    std::fs::write(&scene, &text).unwrap();
    let job =
        Job::of_scene(&scene, None, |_| Ok(())).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut running = JobSimulation::new(Simulation::new(Backend::Cpu).unwrap(), &job).unwrap();
    let id = running.ids[0][0];
    let mut heights = Vec::new();
    let mut pressed = 0.0;
    for frame in 1..=120 {
        running.advance(&job, frame).unwrap();
        let state = running.simulation.state().unwrap();
        let (sum, count) = state
            .positions(id)
            .fold((0.0, 0.0), |(sum, count), p| (sum + f64::from(p[1]), count + 1.0));
        heights.push(sum / count);
        // Of the last of 8 steps of 1/480 s.
        let impulses = state.body_impulses(id);
        pressed = impulses.iter().map(|it| f64::from(it.linear[2])).sum::<f64>() * 480.0;
    }
    [heights[59] - heights[119], pressed / force]
}

/// Checks that a jaw grips with its force: a strip holds at 1.1 of what friction on both faces
/// needs, creeping by less than `creep` [m/s], and falls at 0.95.
fn check_jaw(solver: &str, contact: &str, creep: f64) {
    let [held, pressed] = jaw(solver, contact, 1.1);
    let [fallen, _] = jaw(solver, contact, 0.95);
    eprintln!(
        "{contact}: creeps {:.3} um/s at {pressed:.4} of the force, falls {fallen:.3} m",
        1e6 * held
    );
    assert!(held.abs() < creep && (pressed - 1.0).abs() < 0.01, "{contact}: {held} m, {pressed}");
    assert!(fallen > 0.05, "{contact}: falls {fallen} m");
}

#[test]
fn a_jaw_grips_particles_with_its_force() {
    for solver in [PBD, XPBD, IMPLICIT, MULTILEVEL] {
        check_jaw(solver, "particles", 5e-6);
    }
}

#[test]
fn a_jaw_grips_triangles_with_its_force() {
    for solver in [PBD, XPBD, IMPLICIT] {
        check_jaw(solver, "triangles", 1e-4);
    }
}

#[test]
fn a_released_sheet_wakes_and_falls() {
    for solver in [PBD, XPBD, IMPLICIT, MULTILEVEL] {
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
    for solver in [PBD, XPBD, IMPLICIT, MULTILEVEL] {
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
