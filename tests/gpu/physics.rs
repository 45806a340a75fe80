//! Analytic results: expected, got, error, on the CPU backend and where it is small on the GPU.
//!
//! Position-based dynamics is of first order in the iteration step h, and how far it gets to the constraints depends on the
//! number of iterations; every case states its discretisation and is run again with finer ones, where its error must fall.
//! `cargo xtask tables` writes the table of the guide.

use poplin_testkit::nth_cloth;
use std::sync::Arc;

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::gpu::EngineOptions;
use poplin::model::{
    Air, Cloth, ClothConfig, Fabric, FiberSolver, Frame, Mesh, Particle, Phase, PhaseKind, Solver,
};
use poplin::{Backend, Simulation, State};
use poplin_testkit::adapter::headless;
use poplin_testkit::generated::{assert_block, markdown_table};

/// Gravity [m/s^2].
const G: f64 = 9.81;

/// A measured number beside its expectation.
#[derive(Debug, Clone)]
struct Row {
    case: String,
    expected: f64,
    cpu: f64,
    gpu: Option<f64>,
}

impl Row {
    /// Relative error of the CPU backend.
    fn error(&self) -> f64 {
        (self.cpu / self.expected - 1.0).abs()
    }
}

/// Measures on both backends.
fn row(case: String, expected: f64, measure: impl Fn(Backend) -> f64) -> Row {
    let gpu = headless(EngineOptions::default()).map(|_| measure(Backend::Gpu));
    Row { case, expected, cpu: measure(Backend::Cpu), gpu }
}

/// Asserts that the GPU says what the CPU says, and that the error is at most `allowed`.
#[track_caller]
fn assert_row(row: &Row, allowed: f64) {
    assert!(
        row.error() <= allowed,
        "{}: {} against {}, error {}",
        row.case,
        row.cpu,
        row.expected,
        row.error()
    );
    if let Some(gpu) = row.gpu {
        // Backends differ by rounding, which is far below what a scheme misses.
        assert!(
            (gpu / row.cpu - 1.0).abs() <= 0.1 * allowed,
            "{}: GPU {gpu}, CPU {}",
            row.case,
            row.cpu
        );
    }
}

/// Asserts that refining by 2 takes away at least a factor of 1.6: first order, with room for terms of second order.
#[track_caller]
fn assert_first_order(what: &str, errors: &[f64]) {
    eprintln!("{what}: errors {errors:.6?} under refinement by 2");
    assert!(errors.windows(2).all(|pair| pair[0] > 1.6 * pair[1]), "{what}: {errors:?}");
}

fn run(backend: Backend, cloth: Cloth, dt: f64, seconds: f64) -> State {
    let mut simulation = Simulation::new(backend).unwrap();
    simulation.add(cloth).unwrap();
    for _ in 0..(seconds / dt).round() as u32 {
        simulation.step(&Frame { dt: dt as f32 }).unwrap();
    }
    simulation.state().unwrap()
}

/// A 1 m sheet of `side` x `side` particles that nothing holds. Cooked with pins it would not stay valid without them: fibers of a
/// set may share a pin.
fn unpinned_sheet(side: u32) -> Cloth {
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    cook(&Mesh::grid(side, side, 1.0, 1.0), &options).unwrap().into_cloth()
}

fn mean(particles: &[[f32; 4]], axis: usize) -> f64 {
    particles.iter().map(|p| f64::from(p[axis])).sum::<f64>() / particles.len() as f64
}

// ---- terminal speed ----

/// Density [kg/m^3] and drag coefficient of the falling sheet in the textbook law.
const AIR: (f64, f64) = (1.225, 1.2);

/// Drag coefficient given to the solver; what it means per step is folded into the fluid density.
const SOLVER_DRAG: f64 = 0.5;

/// A 1 m sheet of 6 x 6 particles of `sigma` kg/m^2 that nothing holds, in the plane of x and z.
///
/// Mass is by thirds of triangles, the measure in which air pushes: then a flat sheet moves flat.
fn free_sheet(sigma: f64) -> Cloth {
    let mut cloth = unpinned_sheet(6);
    let mut masses = vec![0.0; cloth.particle_count()];
    let area = 1.0 / cloth.fabric.triangles.len() as f64;
    for &corner in cloth.fabric.triangles.iter().flatten() {
        masses[corner as usize] += sigma * area / 3.0;
    }
    for (particle, mass) in cloth.particles.iter_mut().zip(&masses) {
        particle.inverse_mass = (1.0 / mass) as f32;
    }
    cloth
}

/// Terminal speed of a [`free_sheet`] after 2 s of falling [m/s].
///
/// The solver moves each corner of a triangle of area A by `Cd' |d| d / h * rho_s/2 * 2A * w`, d = v h, with
/// `Cd' = 1 - (1 - Cd)^(f h)`. Three corners take up the momentum `3 Cd' rho_s A v^2 h` per iteration of h, so the force
/// `3 Cd' rho_s A v^2 / h * h = F h`, and `F = 3 Cd' rho_s A v^2 / h`. The textbook has `F = rho/2 Cd A v^2`, hence
/// `rho_s = rho Cd h / (6 Cd')`: half the density of the textbook is in it, the doubled area and the three corners too.
fn terminal_speed(backend: Backend, sigma: f64, frequency: f64) -> f64 {
    let mut cloth = free_sheet(sigma);
    let h = 1.0 / frequency;
    let (rho, drag) = AIR;
    let per_step = 1.0 - (1.0 - SOLVER_DRAG).powf(10.0 * h);
    cloth.config = ClothConfig {
        solver: Solver::pbd(frequency as f32),
        air: Air {
            drag: SOLVER_DRAG as f32,
            density: (rho * drag * h / (6.0 * per_step)) as f32,
            ..Air::default()
        },
        ..ClothConfig::default()
    };
    // Mean over the last half second: single moves of f32 positions are rough.
    let mut simulation = Simulation::new(backend).unwrap();
    simulation.add(cloth).unwrap();
    let frame = Frame { dt: 1.0 / 30.0 };
    (0..45).for_each(|_| simulation.step(&frame).unwrap());
    let before = mean(Particle::rows(simulation.state().unwrap().current(nth_cloth(0))), 1);
    (0..15).for_each(|_| simulation.step(&frame).unwrap());
    (before - mean(Particle::rows(simulation.state().unwrap().current(nth_cloth(0))), 1)) / 0.5
}

fn terminal_rows() -> Vec<Row> {
    [0.1, 0.2, 0.4]
        .map(|sigma: f64| {
            let expected = (2.0 * sigma * G / (AIR.0 * AIR.1)).sqrt();
            let case = format!("terminal speed, {sigma} kg/m^2, 6 x 6, 600 Hz [m/s]");
            row(case, expected, |backend| terminal_speed(backend, sigma, 600.0))
        })
        .into()
}

#[test]
fn a_falling_sheet_reaches_its_terminal_speed() {
    for row in terminal_rows() {
        // Each iteration gravity acts first, then the air brakes what is then the speed: measured is v - g h. Positions of 4 m
        // round by up to 2 EPSILON, always alike at terminal speed: that is a fraction of the move g h^2 and half of it one of v.
        let step = 1.0 / 600.0;
        let rounding = 0.5 * 2.0 * f64::from(f32::EPSILON) / (G * step * step);
        assert_row(&row, G * step / row.expected + rounding);
    }
    let exact = (2.0 * 0.2 * G / (AIR.0 * AIR.1)).sqrt();
    let errors = [150.0, 300.0, 600.0]
        .map(|frequency| (terminal_speed(Backend::Cpu, 0.2, frequency) / exact - 1.0).abs());
    assert_first_order("terminal speed at 150, 300, 600 Hz", &errors);
}

// ---- pressure ----

#[test]
fn pressure_accelerates_a_sheet_by_force_over_mass() {
    let (sigma, seconds) = (0.2, 0.5);
    let weight = (sigma * G) as f32;
    let fall_under = |backend, pressure| {
        let mut cloth = free_sheet(sigma);
        cloth.config.air.pressure = pressure;
        let before = mean(Particle::rows(&cloth.particles), 1);
        let state = run(backend, cloth, 1.0 / 60.0, seconds);
        before - mean(Particle::rows(state.current(nth_cloth(0))), 1)
    };
    let free = row("free fall".to_owned(), 0.5 * G * seconds * seconds, |backend| {
        fall_under(backend, 0.0)
    });
    // The sum of n steps is n (n + 1) / 2: half a step of 300 Hz more.
    assert_row(&free, 1.0 / (300.0 * seconds) + 1e-4);
    for sign in [-1.0, 1.0] {
        // Triangles face down (their corners are clockwise from above) or up, and one side is pushed against gravity.
        let pressed =
            row(format!("pressure of {sign} weights"), 1.0 - f64::from(sign), |backend| {
                fall_under(backend, sign * facing(&free_sheet(sigma)) * weight) / free.cpu
            });
        for fall in std::iter::once(pressed.cpu).chain(pressed.gpu) {
            assert!((fall - pressed.expected).abs() < 1e-3, "{}: {fall}", pressed.case);
        }
    }
}

/// 1 if the triangles of a flat sheet face up, -1 if down.
fn facing(cloth: &Cloth) -> f32 {
    let [a, b, c] =
        cloth.fabric.triangles[0].map(|corner| cloth.particles[corner as usize].position);
    let cross_y = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2]);
    cross_y.signum()
}

// ---- chains ----

/// How hard a chain is worked.
#[derive(Clone, Copy)]
struct Effort {
    /// Iterations per second [1/s].
    frequency: f64,
    /// How often the chain is worked in an iteration.
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

/// A chain of particles along a curve, pinned where w = 0: one fiber, fully stiff.
fn chain(particles: Vec<[f32; 4]>, edge: f64, effort: Effort) -> Cloth {
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
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.phase_order = vec![0; effort.passes];
    cloth.config.solver = Solver::pbd(effort.frequency as f32);
    cloth.config.solver.set_fiber_solver(Some(effort.fiber_solver));
    // An exponent of 1: a stiffness of 1 removes the whole error, at any frequency.
    cloth.config.stiffness_frequency = effort.frequency as f32;
    cloth
}

/// Period of a 1 m pendulum let go at `degrees` \[s\]: four times the time to the lowest point.
fn period(backend: Backend, degrees: f64, frequency: f64) -> f64 {
    let angle = degrees.to_radians();
    let bob = [angle.sin() as f32, -angle.cos() as f32, 0.0, 1.0];
    let cloth = chain(vec![[0.0, 0.0, 0.0, 0.0], bob], 1.0, Effort::gauss_seidel(frequency, 1));
    let mut simulation = Simulation::new(backend).unwrap();
    simulation.add(cloth).unwrap();
    let h = 1.0 / frequency;
    let (mut last, mut count) = (f64::from(bob[0]), 0.0);
    loop {
        simulation.step(&Frame { dt: h as f32 }).unwrap();
        let x = f64::from(simulation.state().unwrap().current(nth_cloth(0))[1].position[0]);
        if x <= 0.0 {
            return 4.0 * h * (count + last / (last - x));
        }
        (last, count) = (x, count + 1.0);
    }
}

/// Amplitude in degrees and T / T0.
const PERIODS: [(f64, f64); 4] =
    [(10.0, 1.00191), (30.0, 1.01741), (60.0, 1.07318), (90.0, 1.18034)];

fn pendulum_rows() -> Vec<Row> {
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
        // The scheme's velocity is half a step away from its position: half a step in each quarter of the swing.
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
    // It starts as a V of that length.
    let depth = ((length * length - 1.0) / 4.0).sqrt();
    let particles = (0..=edges)
        .map(|i| {
            let x = f64::from(i) / f64::from(edges);
            let y = -depth * (1.0 - (2.0 * x - 1.0).abs());
            [x as f32, y as f32, 0.0, if i == 0 || i == edges { 0.0 } else { 1.0 }]
        })
        .collect();
    let mut cloth = chain(particles, length / f64::from(edges), effort);
    // 30 % of the speed per 0.1 s, as an exponent of the solver's frequency.
    cloth.config.damping = [1.0 - 0.7f32.powf(10.0 / effort.frequency as f32); 3];
    let state = run(backend, cloth, 1.0 / 30.0, 4.0);
    -state.positions(nth_cloth(0)).map(|p| f64::from(p[1])).fold(0.0, f64::min)
}

/// Length over span, and sag over span.
const CATENARIES: [(f64, f64); 5] =
    [(1.05, 0.13930), (1.1, 0.20030), (1.2, 0.29234), (1.5, 0.50263), (2.0, 0.79639)];

/// Edges, and sag over span of the exact chain of that many edges at S/d = 1.2.
const CHAINS: [(u32, f64); 3] = [(8, 0.29473), (16, 0.29293), (32, 0.29249)];

/// Frequency and passes of the catenaries.
const CATENARY_EFFORT: (f64, usize) = (600.0, 16);

fn catenary_rows() -> Vec<Row> {
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

fn semi_implicit_rows() -> Vec<Row> {
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
            // A chain of N edges sags more than a catenary: 0.53 / N^2 at S/d = 1.2, with room for other lengths.
            None => (CATENARIES[index].0, 32, 1.0 / (32.0 * 32.0)),
            Some(index) => (1.2, CHAINS[index].0, 0.0),
        };
        assert_row(
            row,
            mesh_error + sag_of_stretch(length, row.expected, f64::from(edges), frequency, passes),
        );
    }
}

/// Relative sag that a chain gains because the solver leaves it stretched, an upper bound.
///
/// At rest an iteration moves every particle down by g h^2 and the edges back up. An edge stretched by s moves its ends by
/// s / 2 in each pass, so one that carries the tension T is stretched by `2 (T/m) h^2 / passes`; T is largest at a pin:
/// half the weight down and, of a flat parabola, weight / (8 sag/d) across. The sag follows the length by
/// `d ln sag / d ln S = S / (2 (S - d))`, again from the parabola. PBD never gets rid of this; more passes or smaller steps
/// make it smaller, more edges larger by N^2.
fn sag_of_stretch(length: f64, sag: f64, edges: f64, frequency: f64, passes: usize) -> f64 {
    let tension = edges * G * 0.5f64.hypot(1.0 / (8.0 * sag));
    let stretch = 2.0 * tension / (frequency * frequency) / passes as f64;
    let strain = stretch / (length / edges);
    strain * length / (2.0 * (length - 1.0))
}

#[test]
fn a_hanging_chain_nears_the_exact_one_with_passes_and_steps_and_the_catenary_with_edges() {
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
        // The last edge before the second pin keeps half of its error, which is of second order in h; from 1e-3 on the rounding
        // of positions counts.
        assert!(
            errors[0] > 3.2 * errors[1] && (errors[1] < 1e-3 || errors[1] > 3.2 * errors[2]),
            "{errors:?}"
        );
        let by_edges = error(Effort::gauss_seidel(150.0, 1));
        assert!(8.0 * errors[0] < by_edges, "one pass at 150 Hz: {} against {by_edges}", errors[0]);
    }
}

// ---- free flight ----

/// What a free sheet does after 1 s: the fall of its center, the drift of its center across, its angular momentum about
/// the center over that at the start.
struct Flight {
    fall: f64,
    drift: f64,
    spin: f64,
}

type Vec3 = [f64; 3];

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
}

/// Center of mass, its displacement in the last iteration, and angular momentum times h about the center.
fn moments(current: &[[f32; 4]], previous: &[[f32; 4]]) -> [Vec3; 3] {
    let wide = |p: &[f32; 4]| -> Vec3 { [p[0], p[1], p[2]].map(f64::from) };
    let mut sums = [[0.0; 3]; 3];
    let mut total = 0.0;
    for (now, before) in current.iter().zip(previous) {
        let mass = 1.0 / f64::from(now[3]);
        let (x, old) = (wide(now), wide(before));
        let displacement: Vec3 = std::array::from_fn(|k| x[k] - old[k]);
        let moment = cross(x, displacement);
        total += mass;
        for k in 0..3 {
            sums[0][k] += mass * x[k];
            sums[1][k] += mass * displacement[k];
            sums[2][k] += mass * moment[k];
        }
    }
    let orbit = cross(sums[0], sums[1].map(|x| x / total));
    [
        sums[0].map(|x| x / total),
        sums[1].map(|x| x / total),
        std::array::from_fn(|k| sums[2][k] - orbit[k]),
    ]
}

/// A sheet of 8 x 8 particles thrown with a spin and a twist, its edges at work all the time.
fn flight(backend: Backend, frequency: f64) -> Flight {
    let mut cloth = unpinned_sheet(8);
    let h = 1.0 / frequency;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = frequency as f32;
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|&Particle { position: [x, y, z], .. }| {
            let [x, y, z] = [x, y, z].map(f64::from);
            let velocity = [1.0, 3.0 + 2.0 * (x - 0.5) + 3.0 * (x - 0.5) * (z - 0.5), 0.5];
            [x - velocity[0] * h, y - velocity[1] * h, z - velocity[2] * h].map(|x| x as f32)
        })
        .collect();
    let previous: Vec<_> = cloth
        .previous_positions
        .iter()
        .zip(&cloth.particles)
        .map(|(p, q)| [p[0], p[1], p[2], q.inverse_mass])
        .collect();
    let [center, displacement, spin] = moments(Particle::rows(&cloth.particles), &previous);
    // 75, 150, 300 and 600 Hz all give whole iterations.
    let state = run(backend, cloth, 1.0 / 25.0, 1.0);
    let [end, _, end_spin] = moments(
        Particle::rows(state.current(nth_cloth(0))),
        Particle::rows(state.previous(nth_cloth(0))),
    );
    let gone: Vec3 = std::array::from_fn(|k| end[k] - center[k] - displacement[k] / h);
    let length = |v: Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    Flight { fall: -gone[1], drift: gone[0].hypot(gone[2]), spin: length(end_spin) / length(spin) }
}

/// One number of a flight.
type TakeNumber = fn(Flight) -> f64;

fn flight_rows() -> Vec<Row> {
    let rows: [(&str, f64, TakeNumber); 3] = [
        ("free flight, fall of the center in 1 s [m]", G / 2.0, |flight| flight.fall),
        ("free flight, displacement of the center across in 1 s [m]", 1.25f64.sqrt(), |flight| {
            1.25f64.sqrt() + flight.drift
        }),
        ("free flight, angular momentum after 1 s over that at the start", 1.0, |flight| {
            flight.spin
        }),
    ];
    rows.map(|(name, expected, take)| {
        row(format!("{name}, 8 x 8, 600 Hz"), expected, |backend| take(flight(backend, 600.0)))
    })
    .into()
}

#[test]
fn a_free_sheet_flies_on_its_parabola_and_keeps_its_spin() {
    let (count, h) = (600.0f64, 1.0 / 600.0);
    // Positions of up to 4 m round by up to 2 EPSILON, each a velocity that goes on.
    let rounding = 2.0 * f64::from(f32::EPSILON) * count.powf(1.5);
    // Verlet falls g h^2 N (N + 1) / 2: by the fraction h / t too far. Projecting the ends of an edge that rotates by w h back onto
    // their circle loses (w h)^2 / 2 of their momentum: w^2 h / 2 per second, with w = (3.5, 1.5) rad/s at the fastest corner.
    let turn_square = 3.5 * 3.5 + 1.5 * 1.5;
    let allowed = [h + rounding / (G / 2.0), rounding / 1.25f64.sqrt(), turn_square * h / 2.0];
    for (row, allowed) in flight_rows().iter().zip(allowed) {
        assert_row(row, allowed);
    }
    let flights = [75.0, 150.0, 300.0].map(|frequency| flight(Backend::Cpu, frequency));
    let fall_errors: Vec<f64> =
        flights.iter().map(|flight| (flight.fall / (G / 2.0) - 1.0).abs()).collect();
    let spin_errors: Vec<f64> = flights.iter().map(|flight| (flight.spin - 1.0).abs()).collect();
    assert_first_order("parabola at 75, 150, 300 Hz", &fall_errors);
    assert_first_order("angular momentum at 75, 150, 300 Hz", &spin_errors);
}

#[test]
fn table_of_all_rows() {
    let rows =
        [terminal_rows(), pendulum_rows(), catenary_rows(), semi_implicit_rows(), flight_rows()];
    let cells = rows.concat().into_iter().map(|row| {
        // The tests above bound what both miss; here both must miss the same.
        assert_row(&row, 0.05);
        vec![
            row.case.replace('[', "\\[").replace(']', "\\]"),
            format!("{:.5}", row.expected),
            format!("{:.5}", row.cpu),
            format!("{:.2} %", 100.0 * row.error()),
        ]
    });
    let table = markdown_table(&["case", "expected", "got", "error"], &cells.collect::<Vec<_>>());
    assert_block("crates/poplin/guide/validation.md", "physics", &table);
}
