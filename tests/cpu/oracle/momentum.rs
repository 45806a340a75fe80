//! Momentum and angular momentum of free edges, fibers and bends.

use poplin_geometry::Rng;
use poplin_layout::Stage;
use poplin_model::FiberSolver;

use super::{
    after_stage, chain, compliant_chain, hinge, length, minus, random_particle, stiff_chain, wide,
};

#[test]
fn an_edge_conserves_momentum() {
    let mut rng = Rng::new(5);
    for _ in 0..100 {
        let mut particles = vec![random_particle(&mut rng), random_particle(&mut rng)];
        particles.iter_mut().for_each(|p| p[3] = p[3].max(0.1));
        let got = after_stage(&chain(particles.clone(), vec![0.3]), Stage::GaussSeidel);
        for k in 0..3 {
            let moved: f64 = (0..2)
                .map(|i| {
                    (f64::from(got[i][k]) - f64::from(particles[i][k])) / f64::from(particles[i][3])
                })
                .sum();
            assert!(moved.abs() < 20.0 * f64::from(f32::EPSILON), "{moved}");
        }
    }
}

#[test]
fn free_fibers_and_bends_conserve_momentum() {
    let mut rng = Rng::new(79);
    for round in 0..200 {
        let edges = 1 + rng.index(20);
        let mut cloth = match round % 3 {
            0 => compliant_chain(&mut rng, edges),
            1 => stiff_chain(&mut rng, edges),
            _ => hinge(&mut rng),
        };
        cloth.particles.iter_mut().for_each(|p| p.inverse_mass = p.inverse_mass.max(0.1));
        let stage = match round % 6 {
            0 | 1 => Stage::SemiImplicit,
            3 | 4 => {
                cloth.config.solver.set_fiber_solver(Some(FiberSolver::CyclicReduction));
                Stage::CyclicReduction
            }
            _ => Stage::Bend,
        };
        let got = after_stage(&cloth, stage);
        let (mut sum, mut moment, mut size) = ([0.0; 3], [0.0; 3], 0.0f64);
        for (before, after) in cloth.particles.iter().zip(&got) {
            let (x, mass) = (wide(*before), 1.0 / f64::from(before.inverse_mass));
            let impulse = minus(wide(*after), x).map(|displacement| mass * displacement);
            for k in 0..3 {
                sum[k] += impulse[k];
                // x cross impulse.
                moment[k] +=
                    x[(k + 1) % 3] * impulse[(k + 2) % 3] - x[(k + 2) % 3] * impulse[(k + 1) % 3];
            }
            // Positions are exact to EPSILON, constraint impulses to a few EPSILON of their size.
            size += mass + length(impulse);
        }
        let allowed = 8.0 * f64::from(f32::EPSILON) * size;
        assert!(
            length(sum) < allowed && length(moment) < 2.0 * allowed,
            "round {round}: {sum:?} {moment:?} above {allowed:e}"
        );
    }
}
