//! Air drag and lift of triangles against the summed impulses of the oracle.

use std::sync::Arc;

use poplin_geometry::Rng;
use poplin_layout::{MIN_FLOW_SQUARE, Stage, effective_stiffness, stiffness_to_log2};
use poplin_model::{ClothDesc, Pose};
use poplin_oracle::{Air, air_impulse};

use super::{
    after_stage, after_stage_with, assert_near, chain, length, minus, random_particle, rotated,
    wide,
};

fn mean(points: [[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|k| (points[0][k] + points[1][k] + points[2][k]) / 3.0)
}

/// Motion of the local space in the single iteration of a wind test: a rotation about an axis, and
/// a shift \[m\].
struct FrameMove {
    axis: [f64; 3],
    angle: f64,
    shift: [f32; 3],
}

/// Positions after wind by the oracle, each with the scale of its rounding errors, and the number
/// of triangles at the bound of what air may do.
///
/// In the world a triangle moves from `before` to `rotation * now + shift`, relative to the
/// displacement of the wind; the cloth sees the difference in the rotated local space. Triangles
/// are summed in descending order, which reveals a dependence of the stage on the order.
fn blown(cloth: &ClothDesc, frame: &FrameMove) -> (Vec<([f64; 3], f64)>, usize) {
    let config = &cloth.config;
    let step = 1.0 / f64::from(config.solver.as_pbd().unwrap().frequency);
    let exponent = config.stiffness_frequency / config.solver.as_pbd().unwrap().frequency;
    let coefficient =
        |value: f32| f64::from(effective_stiffness(stiffness_to_log2(value), exponent));
    let air = Air {
        drag: coefficient(config.air.drag),
        lift: coefficient(config.air.lift),
        density: f64::from(config.air.density),
        step,
        still: f64::from(MIN_FLOW_SQUARE),
    };
    let mut moved: Vec<_> = cloth.particles.iter().map(|&particle| (wide(particle), 1.0)).collect();
    let mut bounded = 0;
    let share = |i: u32| {
        let all = cloth.fabric.triangles.iter().flatten();
        f64::from(cloth.particles[i as usize].inverse_mass)
            * all.filter(|&&k| k == i).count() as f64
    };
    for triangle in cloth.fabric.triangles.iter().rev() {
        let corners = triangle.map(|i| wide(cloth.particles[i as usize]));
        let before = mean(triangle.map(|i| cloth.previous_positions[i as usize].map(f64::from)));
        let left: [f64; 3] = std::array::from_fn(|k| {
            f64::from(frame.shift[k]) - step * f64::from(config.air.wind_velocity[k]) - before[k]
        });
        let left = rotated(left, frame.axis, -frame.angle);
        let displacement: [f64; 3] = std::array::from_fn(|k| mean(corners)[k] + left[k]);
        let share = triangle.map(share).into_iter().fold(0.0, f64::max);
        let (impulse, is_bounded) = air_impulse(corners, displacement, share, air);
        bounded += usize::from(is_bounded);
        // Rounding errors: a few EPSILON of the impulse (area |d|^2), of d, a difference of
        // positions p (area |d| p), and of the normal, a difference of squared edges e (|d|^2 e^2).
        let size = 1.0 + length(before) + length(left);
        let edge = length(minus(corners[1], corners[0])).max(length(minus(corners[2], corners[0])));
        let (e2, d) = (edge * edge, length(displacement));
        let rounding =
            air.density / 2.0 / step * (air.drag + air.lift) * (2.0 * e2 * d * d + e2 * d * size);
        // At the bound the impulse is a part of d itself.
        let rounding = rounding + if is_bounded { size / share } else { 0.0 };
        for &corner in triangle {
            let w = f64::from(cloth.particles[corner as usize].inverse_mass);
            let (position, scale) = &mut moved[corner as usize];
            (0..3).for_each(|k| position[k] -= impulse[k] * w);
            *scale += rounding * w;
        }
    }
    (moved, bounded)
}

/// Random particles and triangles in random air.
fn windy_cloth(rng: &mut Rng, count: usize) -> ClothDesc {
    let particles: Vec<_> = (0..count).map(|_| random_particle(rng)).collect();
    let mut cloth = chain(particles, vec![1.0; count - 1]);
    let mut corner = || rng.index(count) as u32;
    Arc::make_mut(&mut cloth.fabric).triangles =
        (0..2 * count).map(|_| [corner(), corner(), corner()]).collect();
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    cloth.config.air.wind_velocity = rng.point(-20.0, 20.0);
    cloth.config.air.drag = rng.range(0.0, 1.0);
    cloth.config.air.lift = rng.range(0.0, 1.0);
    cloth.config.air.density = rng.range(0.001, 0.1);
    cloth
}

#[test]
fn wind_equals_the_summed_impulses_of_the_triangles() {
    let mut rng = Rng::new(41);
    let (mut farthest, mut bounded, mut free) = (0.0f64, 0, 0);
    for round in 0..400 {
        let count = 3 + rng.index(20);
        let mut cloth = windy_cloth(&mut rng, count);
        // Dense enough for the bound, and thin enough for no bound.
        cloth.config.air.density *= if round % 4 < 2 { 0.05 } else { 2.0 };
        let axis = rng.point(-1.0, 1.0).map(f64::from);
        let axis = axis.map(|x| x / length(axis));
        let is_turning = round % 2 == 1;
        let angle = if is_turning { f64::from(rng.range(-0.2, 0.2)) } else { 0.0 };
        let shift = rng.point(-0.1, 0.1);
        // Quaternion of the rotation.
        let half = (angle / 2.0).sin_cos();
        let rotation =
            [axis[0] * half.0, axis[1] * half.0, axis[2] * half.0, half.1].map(|x| x as f32);
        let got = after_stage_with(&cloth, Stage::Wind, |host| {
            host.set_pose(Pose { translation: shift, rotation }).unwrap();
        });
        let (expected, at_bound) = blown(&cloth, &FrameMove { axis, angle, shift });
        bounded += at_bound;
        free += cloth.fabric.triangles.len() - at_bound;
        for (i, (expected, scale)) in expected.into_iter().enumerate() {
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            farthest = farthest.max(length(minus(expected, wide(cloth.particles[i]))));
        }
    }
    assert!(farthest > 0.01, "the wind moved nothing far enough to be tested: {farthest}");
    assert!(bounded > 1000 && free > 1000, "{bounded} triangles at the bound, {free} below it");
}

/// Energy of the motion relative to the air, as masses times squared displacements.
fn relative_energy(cloth: &ClothDesc, particles: &[[f32; 4]], step: f64) -> f64 {
    let of = |(now, before): (&[f32; 4], &[f32; 3])| {
        let wind = cloth.config.air.wind_velocity.map(f64::from);
        let d = minus(minus(wide(*now), before.map(f64::from)), wind.map(|v| v * step));
        length(d).powi(2) / f64::from(now[3])
    };
    particles.iter().zip(&cloth.previous_positions).map(of).sum()
}

#[test]
fn air_never_adds_energy_of_motion_relative_to_it() {
    let mut rng = Rng::new(43);
    let mut least = 1.0f64;
    for round in 0..400 {
        let count = 3 + rng.index(20);
        let mut cloth = windy_cloth(&mut rng, count);
        for particle in &mut cloth.particles {
            particle.inverse_mass = particle.inverse_mass.max(0.01);
        }
        // From no drag and no lift to more than any gale needs.
        cloth.config.air.drag_coefficient = [0.0, 1.0, 100.0][rng.index(3)];
        cloth.config.air.lift_coefficient = [0.0, 1.0, 100.0][rng.index(3)];
        cloth.config.air.density = [0.01, 1.0, 1000.0][rng.index(3)];
        let step = 1.0 / f64::from(cloth.config.solver.as_pbd().unwrap().frequency);
        let before: Vec<_> = cloth.particles.iter().map(|&particle| particle.into()).collect();
        let before = relative_energy(&cloth, &before, step);
        let after = relative_energy(&cloth, &after_stage(&cloth, Stage::Wind), step);
        assert!(after < before * (1.0 + 1e-5), "round {round}: {after} from {before}");
        least = least.min(after / before);
    }
    assert!(least < 0.7, "the air took {least} of the energy at most");
}

#[test]
fn still_triangles_zero_areas_and_pins_get_no_wind() {
    let corners =
        [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.5, 0.0, 0.5, 1.0]];
    let run = |particles: [[f32; 4]; 4], triangle: [u32; 3], fall: f32| {
        let mut cloth = chain(particles.to_vec(), vec![1.0; 3]);
        Arc::make_mut(&mut cloth.fabric).triangles = vec![triangle];
        cloth.previous_positions = particles.iter().map(|p| [p[0], p[1] + fall, p[2]]).collect();
        cloth.config.air.drag = 1.0;
        cloth.config.air.lift = 1.0;
        after_stage(&cloth, Stage::Wind)
    };
    let threshold = MIN_FLOW_SQUARE.sqrt();
    assert_ne!(
        run(corners, [0, 1, 2], threshold * 1.01),
        corners,
        "just above the threshold the air must act"
    );
    assert_eq!(run(corners, [0, 1, 2], threshold * 0.99), corners, "below the threshold");
    assert_eq!(run(corners, [0, 0, 2], 0.1), corners, "a corner twice");
    assert_eq!(run(corners, [1, 2, 3], 0.1), corners, "three corners in a line");
    let pinned = corners.map(|[x, y, z, _]| [x, y, z, 0.0]);
    assert_eq!(run(pinned, [0, 1, 2], 0.1), pinned, "pins");
    // One pinned corner: the other corners move as before.
    let mut half = corners;
    half[0][3] = 0.0;
    let got = run(half, [0, 1, 2], 0.1);
    assert_eq!(got[0], half[0]);
    assert_eq!(got[1..], run(corners, [0, 1, 2], 0.1)[1..]);
}
