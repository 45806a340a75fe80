//! Gauss-Seidel over the edges of a chain against the distance constraint.

use poplin_geometry::Rng;
use poplin_layout::{Stage, effective_stiffness, stiffness_to_log2};
use poplin_model::{FiberSolver, PbdPhase};
use poplin_oracle::{SoftRange, project_distance};

use super::{after_stage, assert_near, chain, pbd, random_particle, wide};

#[test]
fn gauss_seidel_equals_the_distance_constraint_edge_by_edge() {
    let mut rng = Rng::new(11);
    for round in 0..200 {
        let edges = 1 + rng.index(12);
        let particles: Vec<_> = (0..=edges).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, (0..edges).map(|_| rng.range(0.05, 2.0)).collect());
        let config = PbdPhase {
            fiber_solver: Some(FiberSolver::GaussSeidel),
            stiffness: rng.range(0.1, 1.0),
            stiffness_multiplier: rng.range(0.0, 1.0),
            compression_limit: rng.range(0.4, 1.0),
            stretch_limit: rng.range(1.0, 2.5),
        };
        cloth.config.solver = pbd(config);
        let got = after_stage(&cloth, Stage::GaussSeidel);

        let exponent =
            cloth.config.stiffness_frequency / cloth.config.solver.as_pbd().unwrap().frequency;
        let stiffness =
            f64::from(effective_stiffness(stiffness_to_log2(config.stiffness), exponent));
        let soft = SoftRange {
            multiplier: 1.0 - f64::from(config.stiffness_multiplier).powf(f64::from(exponent)),
            compression_limit: f64::from(config.compression_limit),
            stretch_limit: f64::from(config.stretch_limit),
        };
        let mut expected: Vec<_> = cloth.particles.iter().map(|&p| wide(p)).collect();
        for edge in 0..edges {
            let w = [
                f64::from(cloth.particles[edge].inverse_mass),
                f64::from(cloth.particles[edge + 1].inverse_mass),
            ];
            let rest = f64::from(cloth.fabric.rest_lengths[edge]);
            // Gauss-Seidel: each edge starts from the result of the edge before.
            let [a, b] = project_distance(
                expected[edge],
                expected[edge + 1],
                w,
                rest,
                stiffness,
                Some(soft),
            );
            expected[edge] = a;
            expected[edge + 1] = b;
        }
        // Errors accumulate along the chain; the guard adds EPSILON to masses and to squared
        // lengths of 0.05^2 and more.
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
    let far = after_stage(
        &chain(vec![[1e9, 0.0, 0.0, 1e9], [-1e9, 1.0, 0.0, 1e-9]], vec![1e-5]),
        Stage::GaussSeidel,
    );
    assert!(far.iter().flatten().all(|value| value.is_finite()), "{far:?}");
}
