//! XPBD bends against the dihedral angle and its numerical gradient.

use std::sync::Arc;

use poplin_geometry::Rng;
use poplin_layout::Stage;
use poplin_model::{Bend, ClothDesc, Fabric, Particle, Xpbd};
use poplin_oracle::{BendStep, bend_angle, bend_gradient, solve_bend};

use super::{STEP, after_stage, assert_near, hinge, length, minus, wide};

#[test]
fn a_bend_equals_xpbd_with_the_angle_and_its_differences() {
    let mut rng = Rng::new(73);
    let mut farthest = 0.0f64;
    for round in 0..500 {
        let cloth = hinge(&mut rng);
        let got = after_stage(&cloth, Stage::Bend);
        let bend = cloth.fabric.bends[0];
        let positions: [[f64; 3]; 4] = std::array::from_fn(|i| wide(cloth.particles[i]));
        let solver = cloth.config.solver.as_xpbd().unwrap();
        let stiffness = f64::from(solver.bending_rigidity) * f64::from(bend.weight);
        let damping = f64::from(solver.bending_damping) / f64::from(solver.bending_rigidity) / STEP;
        let step = BendStep {
            previous: std::array::from_fn(|i| cloth.previous_positions[i].map(f64::from)),
            inverse_masses: std::array::from_fn(|i| f64::from(cloth.particles[i].inverse_mass)),
            rest_angle: f64::from(bend.rest_angle),
            compliance: 1.0 / (stiffness * STEP * STEP),
            damping,
        };
        let expected = solve_bend(positions, &step);
        let gradient = bend_gradient(positions, 1e-6);
        for i in 0..4 {
            // Rounding at positions of 1 m: angle and displacement are exact to the gradient of
            // 10/m, and the gradient, which depends on the square of a height of 0.1 m, to 100
            // times itself times the displacement; the largest multiplier bounds all of them.
            let slope = gradient.iter().map(|&g| length(g)).fold(0.0, f64::max);
            let moved = length(minus(expected[i], positions[i]));
            let mobility: f64 =
                (0..4).map(|i| step.inverse_masses[i] * length(gradient[i]).powi(2)).sum();
            let rest = (1.0 + damping) * mobility + (step.compliance - 0.5 * mobility).max(0.0);
            let of_error = step.inverse_masses[i] * length(gradient[i]) * slope * (1.0 + damping)
                / rest.max(1e-30);
            let scale = 2.0 + 2.0 * of_error + 4.0 * slope * moved;
            assert_near(&format!("round {round} particle {i}"), got[i], expected[i], scale);
            farthest = farthest.max(moved);
        }
    }
    assert!(farthest > 0.1, "no bend moved anything far enough to be tested: {farthest}");
}

#[test]
fn the_dihedral_angle_is_continuous_except_at_pi() {
    let at = |angle: f64| {
        bend_angle([[0.0; 3], [1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.6, -angle.cos(), -angle.sin()]])
    };
    for k in -31..=31 {
        let angle = 0.1 * f64::from(k);
        assert!((at(angle) - angle).abs() < 1e-12, "{angle}: {}", at(angle));
    }
    // An angle beyond pi returns along the shorter arc.
    for (angle, rest) in [(3.1f64, -3.1f32), (-3.1, 3.1), (3.1, 3.0), (0.0, 0.1)] {
        let wing = [0.6, -angle.cos() as f32, -angle.sin() as f32, 1.0];
        let fabric = Fabric {
            particle_count: 4,
            bends: vec![Bend {
                particles: [0, 1, 2, 3],
                rest_angle: rest,
                weight: 1e6,
                wings: Default::default(),
            }],
            bend_set_ends: vec![1],
            ..Fabric::default()
        };
        let mut cloth = ClothDesc::new(
            Arc::new(fabric),
            vec![[0.0; 4], [1.0, 0.0, 0.0, 0.0], [0.3, 1.0, 0.0, 0.0], wing],
        );
        cloth.config.solver = Xpbd { substeps: 1, bending_rigidity: 1e6, ..Xpbd::default() }.into();
        let got = after_stage(&cloth, Stage::Bend);
        let after = bend_angle(std::array::from_fn(|i| wide(got[i])));
        let away = |angle: f64| {
            let away = (angle - f64::from(rest)).rem_euclid(std::f64::consts::TAU);
            away.min(std::f64::consts::TAU - away)
        };
        // A rigid bend takes a third of its error.
        assert!(
            (away(after) - away(angle) * 2.0 / 3.0).abs() < 1e-3,
            "from {angle} towards {rest}: {after}"
        );
    }
}

#[test]
fn degenerate_bends_move_nothing_and_folded_ones_stay_finite() {
    let run = |c: [f32; 3], d: [f32; 3], rest_angle: f32| {
        let mut cloth =
            ClothDesc::new(Arc::default(), vec![[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]);
        cloth.particles.extend([c, d].map(|position| Particle { position, inverse_mass: 1.0 }));
        let bends = vec![Bend {
            particles: [0, 1, 2, 3],
            rest_angle,
            weight: 1.0,
            wings: Default::default(),
        }];
        cloth.fabric = Arc::new(Fabric {
            particle_count: 4,
            bends,
            bend_set_ends: vec![1],
            ..Fabric::default()
        });
        cloth.config.solver = Xpbd { substeps: 1, bending_rigidity: 1e5, ..Xpbd::default() }.into();
        let got = after_stage(&cloth, Stage::Bend);
        assert!(got.iter().flatten().all(|x| x.is_finite()), "{got:?}");
        (got != Particle::rows(&cloth.particles), got)
    };
    assert!(!run([0.5, 1.0, 0.0], [0.5, -1.0, 0.0], 0.0).0, "flat at rest");
    assert!(!run([0.5, 0.0, 0.0], [0.5, -1.0, 0.0], 1.0).0, "no area");
    assert!(!run([0.5, 1e-6, 0.0], [0.5, -1.0, 0.0], 1.0).0, "hardly any area");
    assert!(run([0.5, 1e-4, 0.0], [0.5, -1.0, 0.0], 1.0).0, "small, but an area");
    for rest in [0.0, 1.0, -1.0] {
        let (is_moved, got) = run([0.5, 1.0, 0.0], [0.5, 1.0, 0.0], rest);
        assert!(is_moved, "folded onto itself");
        // From pi the shorter arc leads up to 1 and down to -1: the wings part to the sides given
        // by the sign.
        assert!(
            rest == 0.0 || (got[2][2] - got[3][2]).signum() == rest.signum(),
            "{rest}: {got:?}"
        );
    }
}
