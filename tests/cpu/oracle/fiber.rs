//! Fibers solved as one linear system, by the Thomas algorithm and by cyclic reduction, against a
//! dense solver.

use std::sync::Arc;

use bytemuck::cast_slice;
use poplin_cpu::HostCloth;
use poplin_geometry::Rng;
use poplin_layout::{Stage, effective_stiffness, stiffness_to_log2};
use poplin_model::{ClothDesc, FiberSolver, PbdPhase, Phase, PhaseKind, Solver, XpbdPhase};
use poplin_oracle::{Chain, ChainSolution, SoftRange, solve_chain};
use poplin_testkit::scenes::random_ropes;

use super::{
    STEP, after_stage, assert_near, chain, compliant_chain, length, minus, stiff_chain, wide, xpbd,
};

/// PBD and XPBD settings of the first phase of a cloth; defaults for the solver that the cloth does
/// not use.
fn first_phase(cloth: &ClothDesc) -> (PbdPhase, XpbdPhase) {
    let kind = cloth.fabric.phases[0].kind;
    match &cloth.config.solver {
        Solver::Pbd(solver) => (*solver.phases.of(0, kind), XpbdPhase::default()),
        Solver::Xpbd(solver) => (PbdPhase::default(), *solver.phases.of(0, kind)),
        Solver::Implicit(_) | Solver::Multilevel(_) => panic!("it has no phases"),
    }
}

/// Solution of one fiber of a cloth with one phase by the dense `f64` oracle.
fn solve_dense(cloth: &ClothDesc, fiber: usize) -> ChainSolution {
    let (config, elastic) = first_phase(cloth);
    let (compliance, damping) = (f64::from(elastic.compliance), f64::from(elastic.damping));
    let exponent = (f64::from(cloth.config.stiffness_frequency) * STEP) as f32;
    let is_xpbd = cloth.config.solver.is_xpbd();
    let soft = SoftRange {
        multiplier: f64::from(effective_stiffness(
            stiffness_to_log2(1.0 - config.stiffness_multiplier),
            exponent,
        )),
        compression_limit: f64::from(config.compression_limit),
        stretch_limit: f64::from(config.stretch_limit),
    };
    let fabric = &cloth.fabric;
    let vertices = || fabric.fiber_vertices(fiber).iter().map(|&vertex| vertex as usize);
    let edges =
        fabric.fiber_edge_begin[fiber] as usize..fabric.fiber_edge_begin[fiber + 1] as usize;
    solve_chain(&Chain {
        positions: &vertices().map(|i| wide(cloth.particles[i])).collect::<Vec<_>>(),
        previous: &vertices()
            .map(|i| cloth.previous_positions[i].map(f64::from))
            .collect::<Vec<_>>(),
        inverse_masses: &vertices()
            .map(|i| f64::from(cloth.particles[i].inverse_mass))
            .collect::<Vec<_>>(),
        rest_lengths: &fabric.rest_lengths[edges].iter().map(|&x| f64::from(x)).collect::<Vec<_>>(),
        // alpha / h^2 and the damping beta alpha / h of XPBD.
        compliance: compliance / (STEP * STEP),
        damping: compliance * damping / STEP,
        stiffness: if is_xpbd {
            1.0
        } else {
            f64::from(effective_stiffness(stiffness_to_log2(config.stiffness), exponent))
        },
        soft: (!is_xpbd).then_some(soft),
    })
}

/// Compares the particles of a fiber with the oracle, within the conditioning of the system.
/// Returns true if the system is conditioned well enough to reveal an error of 0.4 %, and the
/// largest displacement.
fn assert_solved(what: &str, cloth: &ClothDesc, fiber: usize, got: &[[f32; 4]]) -> (bool, f64) {
    assert!(got.iter().flatten().all(|x| x.is_finite()), "{what}: {got:?}");
    let expected = solve_dense(cloth, fiber);
    if expected.positions.iter().flatten().any(|x| !x.is_finite()) {
        return (false, 0.0); // Two pins in one place and no compliance: there is no solution.
    }
    let vertices = cloth.fabric.fiber_vertices(fiber);
    let position = |i: u32| wide(cloth.particles[i as usize]);
    // Solving A lambda = r with A + dA and r + dr gives an error of |A^-1| (dr + dA |lambda|).
    // Positions of 1 m yield dr = 1, and damping as much. Directions of edges of 1e-5 m are exact
    // to 0.01 only; an edge this short is constrained no better by its neighbours, which counts as
    // dA = |A| / length.
    let lengths =
        vertices.windows(2).map(|pair| length(minus(position(pair[1]), position(pair[0]))));
    let shortest = lengths.filter(|&x| x > 0.0).fold(1.0, f64::min);
    let (_, elastic) = first_phase(cloth);
    let right = 1.0 + f64::from(elastic.compliance) * f64::from(elastic.damping) / STEP;
    let error = expected.inverse_norm * (right + expected.norm * expected.multiplier / shortest);
    let (mut is_sharp, mut farthest) = (true, 0.0f64);
    for (&i, &position) in vertices.iter().zip(&expected.positions) {
        let before = cloth.particles[i as usize];
        let scale = 2.0 + f64::from(before.inverse_mass) * (error + expected.multiplier / shortest);
        is_sharp &= scale < 1e3;
        assert_near(&format!("{what} particle {i}"), got[i as usize], position, scale);
        farthest = farthest.max(length(minus(position, wide(before))));
    }
    (is_sharp, farthest)
}

#[test]
fn whole_fibers_equal_the_dense_system_of_their_edges() {
    let mut rng = Rng::new(71);
    let (mut sharp, mut farthest) = ([[0; 2]; 2], 0.0f64);
    for round in 0..600 {
        let is_xpbd = round % 2 == 0;
        let edges = 1 + rng.index([8, 64, if round % 20 == 2 { 256 } else { 30 }][round % 3]);
        let mut cloth =
            if is_xpbd { compliant_chain(&mut rng, edges) } else { stiff_chain(&mut rng, edges) };
        for (k, stage) in [Stage::SemiImplicit, Stage::CyclicReduction].into_iter().enumerate() {
            if k == 1 && cloth.particles.iter().filter(|p| p.is_pinned()).count() > 1 {
                continue; // Not for cyclic reduction.
            }
            let solver = [FiberSolver::SemiImplicit, FiberSolver::CyclicReduction][k];
            cloth.config.solver.set_fiber_solver(Some(solver));
            let got = after_stage(&cloth, stage);
            let (is_sharp, displacement) =
                assert_solved(&format!("{stage:?} round {round}, {edges} edges,"), &cloth, 0, &got);
            sharp[k][usize::from(is_xpbd)] += usize::from(is_sharp);
            farthest = farthest.max(displacement);
        }
    }
    let is_enough = sharp.iter().flatten().all(|&rounds| rounds > 60);
    assert!(
        is_enough && farthest > 0.1,
        "only {sharp:?} rounds were sharp, the farthest move {farthest} m"
    );
}

#[test]
fn a_gauss_seidel_edge_yields_by_its_compliance() {
    let mut rng = Rng::new(73);
    let mut sharp = 0;
    for round in 0..200 {
        let mut cloth = compliant_chain(&mut rng, 1);
        if length(minus(wide(cloth.particles[0]), wide(cloth.particles[1]))) < 0.05 {
            continue; // EPSILON, which Gauss-Seidel adds to squared lengths, counts.
        }
        cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
        let got = after_stage(&cloth, Stage::GaussSeidel);
        sharp += usize::from(assert_solved(&format!("round {round}"), &cloth, 0, &got).0);
    }
    assert!(sharp > 100, "only {sharp} rounds were sharp");
}

#[test]
fn cyclic_reduction_is_off_for_two_pins_and_motion_spheres() {
    let mut cloth = chain((0..9).map(|i| [i as f32, 0.0, 0.0, 1.0]).collect(), vec![1.1; 8]);
    cloth.config.solver.set_fiber_solver(Some(FiberSolver::CyclicReduction));
    let stages = |cloth: &ClothDesc, spheres: &[[f32; 4]]| {
        let mut host = HostCloth::new(cloth.clone()).unwrap();
        host.live_mut().set_motion_spheres(cast_slice(spheres)).unwrap();
        [Stage::CyclicReduction, Stage::SemiImplicit].map(|stage| host.stages().contains(stage))
    };
    cloth.particles[4].inverse_mass = 0.0;
    assert_eq!(stages(&cloth, &[]), [true, false], "one pin");
    assert_eq!(stages(&cloth, &[[0.0, 0.0, 0.0, 1.0]; 9]), [false, true], "motion spheres");
    cloth.particles[8].inverse_mass = 0.0;
    assert_eq!(stages(&cloth, &[]), [false, true], "two pins");
}

#[test]
fn whole_fibers_stay_finite_for_extreme_input() {
    let mut rng = Rng::new(77);
    for round in 0..3000 {
        let edges = 1 + rng.index([4, 40][round % 2]);
        let mut pick = |values: &[f32]| values[rng.index(values.len())];
        let particles: Vec<[f32; 4]> = (0..=edges)
            .map(|_| {
                let position = std::array::from_fn::<_, 3, _>(|_| {
                    pick(&[0.0, 1e-20, 1e-3, 1.0, -1.0, 1e6, 1e15, -1e15])
                });
                [
                    position[0],
                    position[1],
                    position[2],
                    pick(&[0.0, 1e-15, 1e-6, 1.0, 1.0, 1e6, 1e15]),
                ]
            })
            .collect();
        let lengths = (0..edges).map(|_| pick(&[0.0, 1e-9, 1e-3, 1.0, 1e6])).collect();
        let mut cloth = chain(particles, lengths);
        for stage in [Stage::SemiImplicit, Stage::CyclicReduction] {
            let solver = if stage == Stage::SemiImplicit {
                FiberSolver::SemiImplicit
            } else {
                FiberSolver::CyclicReduction
            };
            cloth.config.solver.set_fiber_solver(Some(solver));
            let got = after_stage(&cloth, stage);
            assert!(
                got.iter().flatten().all(|x| x.is_finite()),
                "{stage:?} round {round}: {:?} {got:?}",
                cloth.particles
            );
        }
    }
}

#[test]
fn cyclic_reduction_solves_fibers_of_a_set_separately() {
    let mut sharp = 0;
    for seed in 0..20 {
        let mut cloth = random_ropes(seed, 150 + 4 * seed as u32);
        // Only the first set: the next one would start from the result of this one.
        let fabric = Arc::make_mut(&mut cloth.fabric);
        fabric.set_fiber_begin.truncate(2);
        fabric.fiber_edge_begin.truncate(fabric.set_fiber_begin[1] as usize + 1);
        fabric.rest_lengths.truncate(*fabric.fiber_edge_begin.last().unwrap() as usize);
        fabric.fiber_vertices.truncate(fabric.edge_count() + fabric.fiber_count());
        fabric.phases = vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }];
        cloth.phase_order.truncate(1);
        match &mut cloth.config.solver {
            Solver::Pbd(pbd) => pbd.phases.single.truncate(1),
            Solver::Xpbd(xpbd) => xpbd.phases.single.truncate(1),
            Solver::Implicit(_) | Solver::Multilevel(_) => {}
        }
        let got = after_stage(&cloth, Stage::CyclicReduction);
        for fiber in 0..cloth.fabric.fiber_count() {
            sharp += usize::from(
                assert_solved(&format!("seed {seed} fiber {fiber}"), &cloth, fiber, &got).0,
            );
        }
    }
    assert!(sharp > 20, "only {sharp} fibers were sharp");
}

#[test]
fn a_fiber_of_one_edge_is_xpbd_and_pins_split_a_fiber() {
    let mut cloth = chain(vec![[0.0, 0.0, 0.0, 1.0], [1.5, 0.0, 0.0, 2.0]], vec![1.0]);
    let compliance = (6.0 * STEP * STEP) as f32;
    cloth.config.solver = xpbd(XpbdPhase { compliance, ..XpbdPhase::default() });
    let got = after_stage(&cloth, Stage::SemiImplicit);
    // lambda = -0.5 / (1 + 2 + 6)
    assert_near("left", got[0], [0.5 / 9.0, 0.0, 0.0], 1.0);
    assert_near("right", got[1], [1.5 - 1.0 / 9.0, 0.0, 0.0], 1.0);
    let still =
        [[0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 1.0], [3.0, 1.0, 0.0, 1.0]];
    cloth = chain(still.to_vec(), vec![1.0, 0.5, 1.0]);
    cloth.config.solver = Solver::xpbd(1);
    assert_eq!(
        after_stage(&cloth, Stage::SemiImplicit),
        still,
        "pins, an edge without length, an edge at rest"
    );
}

#[test]
fn a_straight_fiber_between_two_pins_stays_bounded() {
    // Without compliance the edges contradict each other: the last pivot is 0.
    let particles: Vec<_> =
        (0..=8).map(|i| [i as f32, 0.0, 0.0, if i % 8 == 0 { 0.0 } else { 1.0 }]).collect();
    let mut cloth = chain(particles, vec![0.75; 8]);
    cloth.config.solver = Solver::xpbd(1);
    let got = after_stage(&cloth, Stage::SemiImplicit);
    assert!(got.iter().all(|p| (0.0..=8.0).contains(&p[0]) && p[1] == 0.0), "{got:?}");
    // Nearly straight, the edge errors of 0.25 m each, 2 m in sum, could throw particles sideways
    // by metres.
    for i in 1..8 {
        cloth.particles[i].position[1] = [0.01, -0.01][i % 2];
    }
    let got = after_stage(&cloth, Stage::SemiImplicit);
    assert!(got.iter().all(|p| p[1].abs() < 0.5), "{got:?}");
}
