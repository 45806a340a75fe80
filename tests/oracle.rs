//! Every stage of the mirror against the f64 oracle, from random and degenerate input.

use std::sync::Arc;

use poplin_layout::{FramePart, Stage, StageMask, effective_stiffness, stiffness_to_log2};
use poplin_model::{Cloth, Fabric, Frame, Phase, PhaseConfig, PhaseKind};
use poplin_reference::oracle::{SoftRange, constrain_to_anchors, integrate, project_distance};
use poplin_reference::{ReferenceEngine, Team};
use poplin_testkit::rng::Rng;

/// Allowance in units of `f32::EPSILON * scale`: some ten roundings of numbers of that scale.
const FACTOR: f64 = 32.0;

fn wide(p: [f32; 4]) -> [f64; 3] {
    std::array::from_fn(|k| f64::from(p[k]))
}

fn after_stage(cloth: &Cloth, stage: Stage) -> Vec<[f32; 4]> {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    engine.begin_frame(&Frame { dt: 1.0 / cloth.config.solver_frequency }).unwrap();
    let part = FramePart { stages: StageMask::only(stage), ..FramePart::WHOLE };
    engine.run_part(0, &part, &mut Team::single());
    engine.current(0).to_vec()
}

#[track_caller]
fn assert_near(what: &str, got: [f32; 4], expected: [f64; 3], scale: f64) {
    for k in 0..3 {
        let error = (f64::from(got[k]) - expected[k]).abs();
        let allowed = FACTOR * f64::from(f32::EPSILON) * scale;
        assert!(error <= allowed, "{what}: {got:?} against {expected:?}: {error:e} above {FACTOR} eps x {scale}");
    }
}

/// A chain over the given particles, one fiber in one set.
fn chain(particles: Vec<[f32; 4]>, rest_lengths: Vec<f32>) -> Cloth {
    let count = particles.len() as u32;
    let fabric = Fabric {
        particle_count: count,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, rest_lengths.len() as u32],
        fiber_vertices: (0..count).collect(),
        rest_lengths,
        ..Default::default()
    };
    Cloth::new(Arc::new(fabric), particles)
}

fn random_particle(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) }]
}

#[test]
fn gauss_seidel_equals_the_distance_constraint_edge_by_edge() {
    let mut rng = Rng::new(11);
    for round in 0..200 {
        let edges = 1 + rng.index(12);
        let particles: Vec<_> = (0..=edges).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, (0..edges).map(|_| rng.range(0.05, 2.0)).collect());
        let config = PhaseConfig {
            phase: 0,
            stiffness: rng.range(0.1, 1.0),
            stiffness_multiplier: rng.range(0.0, 1.0),
            compression_limit: rng.range(0.4, 1.0),
            stretch_limit: rng.range(1.0, 2.5),
        };
        cloth.phase_configs = vec![config];
        let got = after_stage(&cloth, Stage::GaussSeidel);

        let exponent = cloth.config.stiffness_frequency / cloth.config.solver_frequency;
        let stiffness = f64::from(effective_stiffness(stiffness_to_log2(config.stiffness), exponent));
        let soft = SoftRange {
            multiplier: 1.0 - f64::from(config.stiffness_multiplier).powf(f64::from(exponent)),
            compression_limit: f64::from(config.compression_limit),
            stretch_limit: f64::from(config.stretch_limit),
        };
        let mut expected: Vec<_> = cloth.particles.iter().map(|&p| wide(p)).collect();
        for edge in 0..edges {
            let w = [f64::from(cloth.particles[edge][3]), f64::from(cloth.particles[edge + 1][3])];
            let rest = f64::from(cloth.fabric.rest_lengths[edge]);
            let [a, b] = project_distance(expected[edge], expected[edge + 1], w, rest, stiffness, Some(soft));
            expected[edge] = a;
            expected[edge + 1] = b;
        }
        // Errors add up along the chain; the guard adds EPSILON to squared lengths of 0.05^2 and more, and to masses.
        let scale = 4.0 * edges as f64;
        for (i, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
            assert_near(&format!("round {round} particle {i}"), got, expected, scale);
        }
    }
}

#[test]
fn degenerate_edges_move_nothing_or_stay_finite() {
    let cases = [
        ("both pinned", [[0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]], 1.0),
        ("coincident", [[0.5, 0.5, 0.5, 1.0], [0.5, 0.5, 0.5, 1.0]], 1.0),
        ("no rest length", [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]], 0.0),
    ];
    for (what, particles, rest) in cases {
        let got = after_stage(&chain(particles.to_vec(), vec![rest]), Stage::GaussSeidel);
        assert_eq!(got, particles, "{what}");
    }
    let far = after_stage(&chain(vec![[1e9, 0.0, 0.0, 1e9], [-1e9, 1.0, 0.0, 1e-9]], vec![1e-5]), Stage::GaussSeidel);
    assert!(far.iter().flatten().all(|value| value.is_finite()), "{far:?}");
}

#[test]
fn momentum_is_kept_by_an_edge() {
    let mut rng = Rng::new(5);
    for _ in 0..100 {
        let mut particles = vec![random_particle(&mut rng), random_particle(&mut rng)];
        particles.iter_mut().for_each(|p| p[3] = p[3].max(0.1));
        let got = after_stage(&chain(particles.clone(), vec![0.3]), Stage::GaussSeidel);
        for k in 0..3 {
            let moved: f64 =
                (0..2).map(|i| (f64::from(got[i][k]) - f64::from(particles[i][k])) / f64::from(particles[i][3])).sum();
            assert!(moved.abs() < 20.0 * f64::from(f32::EPSILON), "{moved}");
        }
    }
}

#[test]
fn tether_equals_the_largest_distance_to_anchors() {
    let mut rng = Rng::new(23);
    for round in 0..200 {
        let count = 2 + rng.index(20);
        let particles: Vec<_> = (0..count).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; count - 1]);
        let per_particle = 1 + rng.index(4);
        let fabric = Arc::make_mut(&mut cloth.fabric);
        fabric.tethers_per_particle = per_particle as u32;
        fabric.tether_anchors = (0..per_particle * count).map(|_| rng.index(count) as u32).collect();
        fabric.tether_lengths = (0..per_particle * count).map(|_| rng.range(0.0, 2.0)).collect();
        cloth.config.tether_stiffness = rng.range(0.1, 1.0);
        cloth.config.tether_scale = rng.range(0.5, 1.5);
        let got = after_stage(&cloth, Stage::Tether);
        let exponent = cloth.config.stiffness_frequency / cloth.config.solver_frequency;
        let stiffness = f64::from(effective_stiffness(stiffness_to_log2(cloth.config.tether_stiffness), exponent));
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let anchors: Vec<_> = (0..per_particle)
                .map(|k| {
                    let tether = k * count + i;
                    let anchor = cloth.fabric.tether_anchors[tether] as usize;
                    let length = f64::from(cloth.fabric.tether_lengths[tether]) * f64::from(cloth.config.tether_scale);
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
        cloth.previous_positions = cloth.particles.iter().map(|p| std::array::from_fn(|k| p[k] + rng.range(-0.1, 0.1))).collect();
        cloth.particle_accelerations = (0..8).map(|_| rng.point(-20.0, 20.0)).collect();
        cloth.config.gravity = rng.point(-20.0, 20.0);
        cloth.config.damping = rng.point(0.0, 1.0);
        let got = after_stage(&cloth, Stage::Integrate);
        let step = 1.0 / f64::from(cloth.config.solver_frequency);
        let exponent = f64::from(cloth.config.stiffness_frequency) * step;
        let kept = cloth.config.damping.map(|damping| (1.0 - f64::from(damping)).powf(exponent));
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let widen = |v: [f32; 3]| v.map(f64::from);
            let before = widen(cloth.previous_positions[i]);
            let gravity = (widen(cloth.config.gravity), step);
            let acceleration = (widen(cloth.particle_accelerations[i]), step);
            let moved = integrate(wide(particle), before, kept, 1.0, gravity, acceleration);
            let expected = if particle[3] > 0.0 { moved } else { wide(particle) };
            assert_near(&format!("round {round} particle {i}"), got[i], expected, 1.5);
        }
    }
}
