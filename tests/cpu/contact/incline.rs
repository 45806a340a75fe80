//! Patches on an incline against Coulomb's law: slip angle, acceleration, static friction.

use std::f64::consts::FRAC_PI_4;

use poplin::model::{ClothDesc, Plane};

use super::{Ground, Vec3, ground, mean, play, positions, sheet, simulation, turned_about_z};

/// Gravity [m/s^2].
const G: f64 = 9.81;

/// Patch of 10 cm on a ground inclined by `angle` \[rad\]: the ground stays level, and gravity
/// leans towards +x.
fn patch(kind: Ground, angle: f64, friction: f64, frequency: f32) -> ClothDesc {
    let mut cloth = sheet(4, 4, 0.1, vec![]);
    cloth.colliders = ground(kind).to_set().unwrap();
    cloth.config.gravity = [(G * angle.sin()) as f32, (-G * angle.cos()) as f32, 0.0];
    cloth.config.contact.friction = friction as f32;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = frequency;
    cloth
}

/// Distance that the center of the patch slides in each of two periods of `frames` frames, after
/// six frames to settle \[m\].
fn slides(cloth: ClothDesc, downhill: Vec3, frames: u32) -> [f64; 2] {
    let mut simulation = simulation(cloth);
    play(&mut simulation, 6);
    let mut points = vec![mean(&positions(&mut simulation))];
    for _ in 0..2 {
        play(&mut simulation, frames);
        points.push(mean(&positions(&mut simulation)));
    }
    let along = |p: Vec3, q: Vec3| (0..3).map(|k| (q[k] - p[k]) * downhill[k]).sum();
    [along(points[0], points[1]), along(points[1], points[2])]
}

/// Constant acceleration [m/s^2] that follows from the distances in two equal periods.
fn acceleration(paths: [f64; 2], frames: u32) -> f64 {
    let time = f64::from(frames) / 60.0;
    // Distances in equal times grow by a t^2, whatever the initial speed.
    (paths[1] - paths[0]) / (time * time)
}

/// Smallest angle at which a patch accelerates, to within 0.05 degrees \[degrees\].
///
/// One degree above the angle of friction it gains 0.17 m/s every second.
fn slip_angle(slides_at: impl Fn(f64) -> [f64; 2], frames: u32) -> f64 {
    let slips = |angle: f64| acceleration(slides_at(angle.to_radians()), frames) > 0.02;
    let (mut low, mut high) = (0.0, 80.0);
    assert!(slips(high) && !slips(low), "there is no angle between");
    while high - low > 0.05 {
        // Bisection.
        let middle = 0.5 * (low + high);
        if slips(middle) { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

#[test]
fn a_patch_slips_at_the_angle_of_friction() {
    for frequency in [300.0, 60.0] {
        for kind in [Ground::Plane, Ground::Box, Ground::Triangles] {
            let mut worst = 0.0f64;
            for step in 1..=10 {
                let friction = 0.1 * f64::from(step);
                let got = slip_angle(
                    |angle| slides(patch(kind, angle, friction, frequency), [1.0, 0.0, 0.0], 15),
                    15,
                );
                // Coulomb: slip starts at tan(angle) = friction.
                let expected = friction.atan().to_degrees();
                worst = worst.max((got - expected).abs());
                assert!(
                    (got - expected).abs() < 1.0,
                    "{kind:?} {frequency} Hz, friction {friction}: slips at {got}, not {expected}"
                );
            }
            eprintln!("slip angle on {kind:?} at {frequency} Hz: at most {worst:.3} degrees off");
        }
    }
}

#[test]
fn a_patch_slips_on_a_tilted_plane_as_under_tilted_gravity() {
    let friction = 0.5;
    let slides_at = |angle: f64| {
        let mut cloth = patch(Ground::Plane, 0.0, friction, 300.0);
        // Clockwise rotation: downhill is +x.
        let pose = turned_about_z(-angle);
        for particle in &mut cloth.particles {
            let [x, y, z] =
                pose.apply([particle.position[0], particle.position[1], particle.position[2]]);
            particle.position = [x, y, z];
        }
        let [x, y, z] = pose.apply([0.0, 1.0, 0.0]);
        cloth.colliders.clear();
        cloth.colliders.add(Plane { normal: [x, y, z], offset: 0.0 }).unwrap();
        slides(cloth, [angle.cos(), -angle.sin(), 0.0], 15)
    };
    let got = slip_angle(slides_at, 15);
    let expected = friction.atan().to_degrees();
    eprintln!("slip angle on a tilted plane: {got:.3}, expected {expected:.3}");
    assert!((got - expected).abs() < 1.0, "slips at {got}, not {expected}");
}

#[test]
fn a_patch_slides_down_45_degrees_by_coulombs_law() {
    for frequency in [300.0, 60.0] {
        for kind in [Ground::Plane, Ground::Box, Ground::Triangles] {
            for (friction, expected) in [(0.1, 6.243), (0.3, 4.856), (0.5, 3.468)] {
                let paths =
                    slides(patch(kind, FRAC_PI_4, friction, frequency), [1.0, 0.0, 0.0], 18);
                let got = acceleration(paths, 18);
                eprintln!(
                    "{kind:?} {frequency} Hz, friction {friction}: {got:.4} of {expected} m/s^2"
                );
                assert!(
                    (got / expected - 1.0).abs() < 0.03,
                    "{kind:?} {frequency} Hz, friction {friction}: {got} of {expected}"
                );
            }
        }
    }
}

#[test]
fn friction_holds_keeps_a_patch_in_place() {
    for frequency in [60.0, 300.0, 600.0] {
        for holds in [true, false] {
            let angle = 10f64.to_radians();
            let mut cloth = patch(Ground::Plane, angle, 0.5, frequency);
            cloth.config.contact.friction_holds = holds;
            let paths = slides(cloth, [1.0, 0.0, 0.0], 30);
            let speed = paths[1] / 0.5;
            // Without `friction_holds` the speed that gravity adds in an iteration is removed, but
            // not the displacement.
            let expected = if holds { 0.0 } else { G * angle.sin() / f64::from(frequency) };
            eprintln!(
                "10 degrees, {frequency} Hz, friction_holds = {holds}: {speed:.5} of {expected:.5} m/s"
            );
            assert!(
                (speed - expected).abs() < 0.02 * expected + 1e-5,
                "{frequency} Hz: {speed} of {expected}"
            );
            assert!(acceleration(paths, 30).abs() < 1e-3);
        }
    }
}
