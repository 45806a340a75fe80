//! Free sheets: terminal speed, pressure, parabola and spin.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{Air, ClothConfig, ClothDesc, Mesh, Particle, Solver};
use poplin::{Backend, Simulation};
use poplin_testkit::nth_cloth;

use super::{G, Row, assert_first_order, assert_row, row, run};

/// Free sheet of 1 m with `side` x `side` particles, cooked without pins: a fabric cooked with pins
/// would be invalid without them, because fibers of a set may share a pin.
fn unpinned_sheet(side: u32) -> ClothDesc {
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    cook(&Mesh::grid(side, side, 1.0, 1.0), &options).unwrap().into_cloth()
}

fn mean(particles: &[[f32; 4]], axis: usize) -> f64 {
    particles.iter().map(|p| f64::from(p[axis])).sum::<f64>() / particles.len() as f64
}

/// Air density [kg/m^3] and drag coefficient of the falling sheet in the textbook law.
const AIR: (f64, f64) = (1.225, 1.2);

/// Free sheet of 1 m with 6 x 6 particles of `sigma` kg/m^2, in the plane of x and z.
///
/// Each triangle gives a third of its mass to each corner, as it does with air forces, so that a
/// flat sheet moves flat.
fn free_sheet(sigma: f64) -> ClothDesc {
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
fn terminal_speed(backend: Backend, sigma: f64, frequency: f64) -> f64 {
    let mut cloth = free_sheet(sigma);
    cloth.config = ClothConfig {
        solver: Solver::pbd(frequency as f32),
        air: Air { drag_coefficient: AIR.1 as f32, density: AIR.0 as f32, ..Air::default() },
        ..ClothConfig::default()
    };
    // Mean over the last half second: single displacements of `f32` positions are too coarse.
    let mut simulation = Simulation::new(backend).unwrap();
    simulation.add(cloth).unwrap();
    let dt = 1.0 / 30.0;
    (0..45).for_each(|_| simulation.step(dt).unwrap());
    let before = mean(Particle::rows(simulation.state().unwrap().current(nth_cloth(0))), 1);
    (0..15).for_each(|_| simulation.step(dt).unwrap());
    (before - mean(Particle::rows(simulation.state().unwrap().current(nth_cloth(0))), 1)) / 0.5
}

pub(super) fn terminal_rows() -> Vec<Row> {
    [0.1, 0.2, 0.4]
        .map(|sigma: f64| {
            // v = sqrt(2 sigma g / (rho Cd)).
            let expected = (2.0 * sigma * G / (AIR.0 * AIR.1)).sqrt();
            let case = format!("terminal speed, {sigma} kg/m^2, 6 x 6, 600 Hz [m/s]");
            row(case, expected, |backend| terminal_speed(backend, sigma, 600.0))
        })
        .into()
}

#[test]
fn a_falling_sheet_reaches_its_terminal_speed() {
    for row in terminal_rows() {
        // In each iteration gravity acts first, then the air brakes the resulting speed: the
        // measured speed is v - g h. Positions of 4 m round by up to 2 EPSILON, always in the same
        // direction at terminal speed: a fraction of the displacement g h^2, and half of that
        // fraction of v.
        let step = 1.0 / 600.0;
        let rounding = 0.5 * 2.0 * f64::from(f32::EPSILON) / (G * step * step);
        assert_row(&row, G * step / row.expected + rounding);
    }
    let exact = (2.0 * 0.2 * G / (AIR.0 * AIR.1)).sqrt();
    let errors = [150.0, 300.0, 600.0]
        .map(|frequency| (terminal_speed(Backend::Cpu, 0.2, frequency) / exact - 1.0).abs());
    assert_first_order("terminal speed at 150, 300, 600 Hz", &errors);
}

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
    // n steps sum to n (n + 1) / 2: half a step of 300 Hz more.
    assert_row(&free, 1.0 / (300.0 * seconds) + 1e-4);
    for sign in [-1.0, 1.0] {
        // Triangles face down (corners clockwise from above) or up, and pressure on one side acts
        // against gravity.
        let pressed =
            row(format!("pressure of {sign} weights"), 1.0 - f64::from(sign), |backend| {
                fall_under(backend, sign * facing(&free_sheet(sigma)) * weight) / free.cpu
            });
        for fall in std::iter::once(pressed.cpu).chain(pressed.gpu) {
            assert!((fall - pressed.expected).abs() < 1e-3, "{}: {fall}", pressed.case);
        }
    }
}

/// Returns 1 if the triangles of a flat sheet face up, -1 if down.
fn facing(cloth: &ClothDesc) -> f32 {
    let [a, b, c] =
        cloth.fabric.triangles[0].map(|corner| cloth.particles[corner as usize].position);
    let cross_y = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2]);
    cross_y.signum()
}

/// State of a free sheet after 1 s: fall of the center \[m\], horizontal drift of the center \[m\],
/// and angular momentum about the center relative to the start.
struct Flight {
    fall: f64,
    drift: f64,
    spin: f64,
}

type Vec3 = [f64; 3];

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
}

/// Center of mass, its displacement in the last iteration, and angular momentum times h about the
/// center.
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
    // Angular momentum about the center: sum m x cross v, minus that of the center of mass.
    let orbit = cross(sums[0], sums[1].map(|x| x / total));
    [
        sums[0].map(|x| x / total),
        sums[1].map(|x| x / total),
        std::array::from_fn(|k| sums[2][k] - orbit[k]),
    ]
}

/// Throws a sheet of 8 x 8 particles with a spin and a twist, which keeps its edges at work.
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

/// Selects one value of a flight.
type TakeNumber = fn(Flight) -> f64;

pub(super) fn flight_rows() -> Vec<Row> {
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
    // Positions of up to 4 m round by up to 2 EPSILON, each a lasting change of velocity.
    let rounding = 2.0 * f64::from(f32::EPSILON) * count.powf(1.5);
    // Verlet integration falls by g h^2 N (N + 1) / 2, too far by the fraction h / t. Projecting
    // the ends of an edge that rotates by w h back onto their circle loses (w h)^2 / 2 of their
    // momentum, w^2 h / 2 per second, with w = (3.5, 1.5) rad/s at the fastest corner.
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
