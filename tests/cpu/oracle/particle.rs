//! Stages that move each particle by itself: integration, tethers, motion and separation spheres,
//! speed limit.

use std::sync::Arc;

use bytemuck::cast_slice;
use poplin_geometry::Rng;
use poplin_layout::{Stage, effective_stiffness, stiffness_to_log2};
use poplin_model::Sphere;
use poplin_oracle::{constrain_to_anchors, integrate, keep_inside, keep_outside};

use super::{
    after_stage, after_stage_with, assert_near, chain, length, minus, random_particle, wide,
};

#[test]
fn tethers_limit_the_distance_to_anchors() {
    let mut rng = Rng::new(23);
    for round in 0..200 {
        let count = 2 + rng.index(20);
        let particles: Vec<_> = (0..count).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; count - 1]);
        let per_particle = 1 + rng.index(4);
        let fabric = Arc::make_mut(&mut cloth.fabric);
        fabric.tethers_per_particle = per_particle as u32;
        fabric.tether_anchors =
            (0..per_particle * count).map(|_| rng.index(count) as u32).collect();
        fabric.tether_lengths = (0..per_particle * count).map(|_| rng.range(0.0, 2.0)).collect();
        cloth.config.tethers.stiffness = rng.range(0.1, 1.0);
        cloth.config.tethers.scale = rng.range(0.5, 1.5);
        let got = after_stage(&cloth, Stage::Tether);
        let exponent =
            cloth.config.stiffness_frequency / cloth.config.solver.as_pbd().unwrap().frequency;
        let stiffness = f64::from(effective_stiffness(
            stiffness_to_log2(cloth.config.tethers.stiffness),
            exponent,
        ));
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let anchors: Vec<_> = (0..per_particle)
                .map(|k| {
                    let tether = k * count + i;
                    let anchor = cloth.fabric.tether_anchors[tether] as usize;
                    let length = f64::from(cloth.fabric.tether_lengths[tether])
                        * f64::from(cloth.config.tethers.scale);
                    (wide(cloth.particles[anchor]), length)
                })
                .collect();
            let expected = constrain_to_anchors(wide(particle), &anchors, stiffness);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, 8.0);
        }
    }
}

#[test]
fn integrate_equals_the_damped_verlet_step() {
    let mut rng = Rng::new(31);
    for round in 0..100 {
        let particles: Vec<_> = (0..8).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; 7]);
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
            .collect();
        cloth.particle_accelerations = (0..8).map(|_| rng.point(-20.0, 20.0)).collect();
        cloth.config.gravity = rng.point(-20.0, 20.0);
        cloth.config.damping = rng.point(0.0, 1.0);
        let got = after_stage(&cloth, Stage::Integrate);
        let step = 1.0 / f64::from(cloth.config.solver.as_pbd().unwrap().frequency);
        let exponent = f64::from(cloth.config.stiffness_frequency) * step;
        // Fraction of velocity kept per step: (1 - damping)^(stiffness_frequency h).
        let kept = cloth.config.damping.map(|damping| (1.0 - f64::from(damping)).powf(exponent));
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let widen = |v: [f32; 3]| v.map(f64::from);
            let before = widen(cloth.previous_positions[i]);
            let gravity = (widen(cloth.config.gravity), step);
            let acceleration = (widen(cloth.particle_accelerations[i]), step);
            let moved = integrate(wide(particle), before, kept, 1.0, gravity, acceleration);
            let expected = if particle.inverse_mass > 0.0 { moved } else { wide(particle) };
            assert_near(&format!("round {round} particle {i}"), got[i], expected, 1.5);
        }
    }
}

/// Random sphere near the origin, sometimes of negative radius.
fn random_sphere(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, rng.range(-0.2, 1.5)]
}

/// Rounding scale of a sphere stage: values of up to 4 (positions up to 1, radii up to 3), and the
/// EPSILON in the squared distance, which changes `d * r / |d|` by `r * EPSILON / (2 |d|^2)` of its
/// length.
fn sphere_scale(x: [f64; 3], center: [f64; 3], radius: f64) -> f64 {
    4.0 + radius.abs() / (2.0 * length(minus(center, x)).powi(2))
}

#[test]
fn max_speed_clamps_around_the_previous_position() {
    let mut rng = Rng::new(48);
    for round in 0..200 {
        let particles: Vec<_> = (0..16).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; 15]);
        cloth.previous_positions = (0..16).map(|_| rng.point(-1.0, 1.0)).collect();
        cloth.config.max_speed = Some(rng.range(0.0, 600.0));
        let got = after_stage(&cloth, Stage::LimitSpeed);
        let frequency = f64::from(cloth.config.solver.as_pbd().unwrap().frequency);
        let max_move = f64::from(cloth.config.max_speed.unwrap()) / frequency;
        for (i, (&particle, previous)) in
            cloth.particles.iter().zip(&cloth.previous_positions).enumerate()
        {
            let before = previous.map(f64::from);
            let is_pin = particle.inverse_mass == 0.0;
            let expected = if is_pin {
                wide(particle)
            } else {
                keep_inside(wide(particle), before, max_move, 1.0)
            };
            assert_near(&format!("round {round}, particle {i}"), got[i], expected, 4.0);
            assert_eq!(got[i][3], particle.inverse_mass);
        }
    }
}

#[test]
fn motion_constraints_clamp_into_the_sphere() {
    let mut rng = Rng::new(43);
    for round in 0..200 {
        let particles: Vec<_> = (0..16).map(|_| random_particle(&mut rng)).collect();
        let spheres: Vec<_> = (0..16).map(|_| random_sphere(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; 15]);
        cloth.config.motion.scale = rng.range(0.0, 2.0);
        cloth.config.motion.bias = rng.range(-0.3, 0.3);
        cloth.config.motion.stiffness = rng.range(0.1, 1.0);
        let got = after_stage_with(&cloth, Stage::Motion, |host| {
            host.set_motion_spheres(cast_slice(&spheres)).unwrap()
        });
        let exponent =
            cloth.config.stiffness_frequency / cloth.config.solver.as_pbd().unwrap().frequency;
        let stiffness = f64::from(effective_stiffness(
            stiffness_to_log2(cloth.config.motion.stiffness),
            exponent,
        ));
        for (i, (&particle, &sphere)) in cloth.particles.iter().zip(&spheres).enumerate() {
            let radius = f64::from(sphere[3]) * f64::from(cloth.config.motion.scale)
                + f64::from(cloth.config.motion.bias);
            let expected = keep_inside(wide(particle), wide(sphere), radius, stiffness);
            let scale = sphere_scale(wide(particle), wide(sphere), radius);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            let is_held = radius <= 0.0;
            assert_eq!(
                got[i][3],
                if is_held { 0.0 } else { particle.inverse_mass },
                "round {round} particle {i}, radius {radius}"
            );
        }
    }
}

#[test]
fn separation_constraints_push_out_of_the_sphere() {
    let mut rng = Rng::new(47);
    for round in 0..200 {
        let particles: Vec<_> = (0..16).map(|_| random_particle(&mut rng)).collect();
        let spheres: Vec<_> = (0..16).map(|_| random_sphere(&mut rng)).collect();
        let cloth = chain(particles, vec![1.0; 15]);
        let got = after_stage_with(&cloth, Stage::Separation, |host| {
            host.set_separation_spheres(cast_slice(&spheres)).unwrap()
        });
        for (i, (&particle, &sphere)) in cloth.particles.iter().zip(&spheres).enumerate() {
            let radius = f64::from(sphere[3]);
            let expected = keep_outside(wide(particle), wide(sphere), radius);
            let scale = sphere_scale(wide(particle), wide(sphere), radius);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            assert_eq!(got[i][3], particle.inverse_mass, "separation changes no mass");
        }
    }
}

#[test]
fn degenerate_motion_and_separation_spheres_act_even_on_pins() {
    let here = [0.25, -0.5, 0.75, 2.0];
    let pin = [1.0, 0.0, 0.0, 0.0];
    let cloth = chain(vec![here, pin], vec![1.0]);
    let motion = |a: [f32; 4], b: [f32; 4]| {
        after_stage_with(&cloth, Stage::Motion, |host| {
            host.set_motion_spheres(&[a, b].map(Sphere::from)).unwrap()
        })
    };
    let separation = |a: [f32; 4], b: [f32; 4]| {
        after_stage_with(&cloth, Stage::Separation, |host| {
            host.set_separation_spheres(&[a, b].map(Sphere::from)).unwrap()
        })
    };
    let around = |p: [f32; 4], radius: f32| [p[0], p[1], p[2], radius];
    assert_eq!(motion(around(here, 1.0), around(pin, 1.0)), [here, pin], "at the center");
    assert_eq!(
        motion(around(here, 0.0), around(pin, -1.0)),
        [around(here, 0.0), pin],
        "no radius holds without a move"
    );
    assert_eq!(
        separation(around(here, 1.0), around(pin, 1.0)),
        [here, pin],
        "at the center there is no exit"
    );
    assert_eq!(
        separation(around(pin, 0.0), around(here, -1.0)),
        [here, pin],
        "no radius keeps nothing out"
    );
    let pulled = motion(around(here, 1.0), [3.0, 0.0, 0.0, 1.0])[1];
    assert!(
        pulled[0] > 1.9 && pulled[0] < 2.0 && pulled[3] == 0.0,
        "a pin is pulled by 0.948 of its distance: {pulled:?}"
    );
    let pushed = separation(around(pin, 0.0), [1.5, 0.0, 0.0, 1.0])[1];
    assert!(
        (pushed[0] - 0.5).abs() < 8.0 * f32::EPSILON && pushed[3] == 0.0,
        "a pin is pushed to the surface: {pushed:?}"
    );
}
