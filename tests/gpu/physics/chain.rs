//! Chains: period of a pendulum, catenary, and the convergence to both.

use std::sync::Arc;

use poplin::model::{ClothDesc, Fabric, FiberSolver, Phase, PhaseKind, Solver};
use poplin::{Backend, Simulation};
use poplin_testkit::nth_cloth;

use super::{G, Row, assert_first_order, assert_row, row, run};

/// Solver effort for a chain.
#[derive(Clone, Copy)]
struct Effort {
    /// Iterations per second [1/s].
    frequency: f64,
    /// Passes over the chain in each iteration.
    passes: usize,
    fiber_solver: FiberSolver,
}

impl Effort {
    fn gauss_seidel(frequency: f64, passes: usize) -> Self {
        Self { frequency, passes, fiber_solver: FiberSolver::GaussSeidel }
    }

    fn semi_implicit(frequency: f64) -> Self {
        Self { frequency, passes: 1, fiber_solver: FiberSolver::SemiImplicit }
    }
}

/// Chain of particles along a curve, pinned where w = 0: one fiber of full stiffness.
fn chain(particles: Vec<[f32; 4]>, edge: f64, effort: Effort) -> ClothDesc {
    let count = particles.len() as u32;
    let fabric = Fabric {
        particle_count: count,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, count - 1],
        fiber_vertices: (0..count).collect(),
        rest_lengths: vec![edge as f32; count as usize - 1],
        ..Default::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    cloth.phase_order = vec![0; effort.passes];
    cloth.config.solver = Solver::pbd(effort.frequency as f32);
    cloth.config.solver.set_fiber_solver(Some(effort.fiber_solver));
    // With an exponent of 1 a stiffness of 1 removes the whole error at any frequency.
    cloth.config.stiffness_frequency = effort.frequency as f32;
    cloth
}

/// Period of a 1 m pendulum released at `degrees` \[s\]: four times the time to the lowest point.
fn period(backend: Backend, degrees: f64, frequency: f64) -> f64 {
    let angle = degrees.to_radians();
    let bob = [angle.sin() as f32, -angle.cos() as f32, 0.0, 1.0];
    let cloth = chain(vec![[0.0, 0.0, 0.0, 0.0], bob], 1.0, Effort::gauss_seidel(frequency, 1));
    let mut simulation = Simulation::new(backend).unwrap();
    simulation.add(cloth).unwrap();
    let h = 1.0 / frequency;
    let (mut last, mut count) = (f64::from(bob[0]), 0.0);
    loop {
        simulation.step(h as f32).unwrap();
        let x = f64::from(simulation.state().unwrap().current(nth_cloth(0))[1].position[0]);
        if x <= 0.0 {
            // Linear interpolation of the time at which x crosses 0.
            return 4.0 * h * (count + last / (last - x));
        }
        (last, count) = (x, count + 1.0);
    }
}

/// Amplitude in degrees, and period over that of small amplitudes, T / T0.
const PERIODS: [(f64, f64); 4] =
    [(10.0, 1.00191), (30.0, 1.01741), (60.0, 1.07318), (90.0, 1.18034)];

pub(super) fn pendulum_rows() -> Vec<Row> {
    let small = 2.0 * std::f64::consts::PI * (1.0 / G).sqrt();
    PERIODS
        .map(|(degrees, expected)| {
            row(format!("pendulum T/T0 at {degrees} deg, one edge, 480 Hz"), expected, |backend| {
                period(backend, degrees, 480.0) / small
            })
        })
        .into()
}

#[test]
fn a_pendulum_has_the_period_of_its_amplitude() {
    let small = 2.0 * std::f64::consts::PI * (1.0 / G).sqrt();
    for row in pendulum_rows() {
        // The velocity of the scheme is half a step off its position: half a step in each quarter
        // of the swing.
        assert_row(&row, 4.0 * 0.5 / 480.0 / small);
    }
    for (degrees, expected) in PERIODS {
        let errors = [60.0, 120.0, 240.0]
            .map(|f| (period(Backend::Cpu, degrees, f) / small / expected - 1.0).abs());
        assert_first_order(&format!("pendulum of {degrees} deg at 60, 120, 240 Hz"), &errors);
    }
}

/// Sag over span of a chain of `edges` edges of `length` m over a span of 1 m, at rest.
fn sag(backend: Backend, length: f64, edges: u32, effort: Effort) -> f64 {
    // Starts as a V of this length.
    let depth = ((length * length - 1.0) / 4.0).sqrt();
    let particles = (0..=edges)
        .map(|i| {
            let x = f64::from(i) / f64::from(edges);
            let y = -depth * (1.0 - (2.0 * x - 1.0).abs());
            [x as f32, y as f32, 0.0, if i == 0 || i == edges { 0.0 } else { 1.0 }]
        })
        .collect();
    let mut cloth = chain(particles, length / f64::from(edges), effort);
    // Damps 30 % of the speed per 0.1 s, as an exponent of the solver's frequency.
    cloth.config.damping = [1.0 - 0.7f32.powf(10.0 / effort.frequency as f32); 3];
    let state = run(backend, cloth, 1.0 / 30.0, 4.0);
    -state.positions(nth_cloth(0)).map(|p| f64::from(p[1])).fold(0.0, f64::min)
}

/// Length over span S/d, and sag over span of the catenary.
const CATENARIES: [(f64, f64); 5] =
    [(1.05, 0.13930), (1.1, 0.20030), (1.2, 0.29234), (1.5, 0.50263), (2.0, 0.79639)];

/// Number of edges, and sag over span of the exact chain of that many edges at S/d = 1.2.
const CHAINS: [(u32, f64); 3] = [(8, 0.29473), (16, 0.29293), (32, 0.29249)];

/// Frequency [1/s] and passes of the catenaries.
const CATENARY_EFFORT: (f64, usize) = (600.0, 16);

pub(super) fn catenary_rows() -> Vec<Row> {
    let (frequency, passes) = CATENARY_EFFORT;
    let (name, effort) =
        (format!("{frequency} Hz x {passes} passes"), Effort::gauss_seidel(frequency, passes));
    let smooth = CATENARIES.iter().map(|&(length, expected)| {
        let case = format!("catenary sag/d at S/d = {length}, 32 edges, {name}");
        row(case, expected, |backend| sag(backend, length, 32, effort))
    });
    let discrete = CHAINS.iter().map(|&(edges, expected)| {
        let case = format!("exact chain of {edges} edges, sag/d at S/d = 1.2, {name}");
        row(case, expected, |backend| sag(backend, 1.2, edges, effort))
    });
    smooth.chain(discrete).collect()
}

pub(super) fn semi_implicit_rows() -> Vec<Row> {
    let effort = Effort::semi_implicit(600.0);
    let chain = |&(edges, expected): &(u32, f64)| {
        let case =
            format!("exact chain of {edges} edges, sag/d at S/d = 1.2, 600 Hz, semi-implicit");
        row(case, expected, |backend| sag(backend, 1.2, edges, effort))
    };
    CHAINS.iter().map(chain).collect()
}

#[test]
fn a_hanging_chain_is_a_catenary() {
    let (frequency, passes) = CATENARY_EFFORT;
    semi_implicit_rows().iter().for_each(|row| assert_row(row, 1e-3));
    for (index, row) in catenary_rows().iter().enumerate() {
        let (length, edges, mesh_error) = match index.checked_sub(CATENARIES.len()) {
            // A chain of N edges sags more than a catenary, by 0.53 / N^2 at S/d = 1.2; the bound
            // leaves room for different lengths.
            None => (CATENARIES[index].0, 32, 1.0 / (32.0 * 32.0)),
            Some(index) => (1.2, CHAINS[index].0, 0.0),
        };
        assert_row(
            row,
            mesh_error + sag_of_stretch(length, row.expected, f64::from(edges), frequency, passes),
        );
    }
}

/// Upper bound of the relative sag that a chain gains from the stretch that the solver leaves.
///
/// At rest an iteration moves every particle down by g h^2 and the edges move it back up. An edge
/// stretched by s moves its ends by s / 2 in each pass, so that an edge with tension T is stretched
/// by `2 (T/m) h^2 / passes`. T is largest at a pin: half the weight vertically and, for a flat
/// parabola, weight / (8 sag/d) horizontally. The sag follows the length by `d ln sag / d ln S = S
/// / (2 (S - d))`, again of the parabola. PBD never removes this stretch; more passes or smaller
/// steps reduce it, and more edges increase it by N^2.
fn sag_of_stretch(length: f64, sag: f64, edges: f64, frequency: f64, passes: usize) -> f64 {
    let tension = edges * G * 0.5f64.hypot(1.0 / (8.0 * sag));
    let stretch = 2.0 * tension / (frequency * frequency) / passes as f64;
    let strain = stretch / (length / edges);
    strain * length / (2.0 * (length - 1.0))
}

#[test]
fn a_hanging_chain_converges_to_the_exact_chain_and_catenary() {
    let (edges, exact) = CHAINS[2];
    let error = |frequency, passes| {
        (sag(Backend::Cpu, 1.2, edges, Effort::gauss_seidel(frequency, passes)) / exact - 1.0).abs()
    };
    assert_first_order(
        "chain of 32 edges, 600 Hz, 1 2 4 8 passes",
        &[1, 2, 4, 8].map(|passes| error(600.0, passes)),
    );
    let errors = [150.0, 300.0, 600.0].map(|frequency| error(frequency, 4));
    eprintln!("chain of 32 edges, 150 300 600 Hz, 4 passes: {errors:.6?}");
    assert!(
        errors.windows(2).all(|pair| pair[0] > 3.2 * pair[1]),
        "the stretch is of second order in h: {errors:?}"
    );
    let smooth = CATENARIES[2].1;
    let errors = [8, 16].map(|edges| {
        (sag(Backend::Cpu, 1.2, edges, Effort::gauss_seidel(600.0, 16)) / smooth - 1.0).abs()
    });
    eprintln!("catenary by 8 and 16 edges: {errors:.6?}");
    assert!(
        errors[0] > 3.2 * errors[1],
        "the mesh error is of second order in the edge: {errors:?}"
    );
}

#[test]
fn a_semi_implicit_chain_is_exact_after_one_pass() {
    for (edges, exact) in CHAINS {
        let error = |effort| (sag(Backend::Cpu, 1.2, edges, effort) / exact - 1.0).abs();
        let errors = [150.0, 300.0, 600.0].map(|frequency| error(Effort::semi_implicit(frequency)));
        eprintln!("chain of {edges} edges, semi-implicit, 150 300 600 Hz: {errors:.6?}");
        // The last edge before the second pin keeps half of its error, which is of second order in
        // h; from 1e-3 on the rounding of positions counts.
        assert!(
            errors[0] > 3.2 * errors[1] && (errors[1] < 1e-3 || errors[1] > 3.2 * errors[2]),
            "{errors:?}"
        );
        let by_edges = error(Effort::gauss_seidel(150.0, 1));
        assert!(8.0 * errors[0] < by_edges, "one pass at 150 Hz: {} against {by_edges}", errors[0]);
    }
}
