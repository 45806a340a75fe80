//! Wind by physical coefficients, and wind that no cloth can resist.

use poplin::model::{Air, ClothConfig, ClothDesc, Implicit, Mesh, Multilevel, Pbd, Solver, Xpbd};
use poplin::{Backend, Simulation};
use poplin_cook::{CookOptions, cook};
use poplin_measure::metrics::max_speed;
use poplin_testkit::beams::Cells;
use poplin_testkit::nth_cloth;

/// Air of 15 degrees Celsius [kg/m^3].
const DENSITY: f32 = 1.2;

/// Solvers of `frequency` steps or iterations per second, in frames of `1 / fps`.
fn solvers(frequency: f32, fps: f32) -> [Solver; 3] {
    let substeps = (frequency / fps).round() as u32;
    [
        Pbd { frequency, ..Pbd::default() }.into(),
        Xpbd { substeps, bending_rigidity: 1e-5, ..Xpbd::default() }.into(),
        Implicit { substeps, bending_rigidity: 1e-5, ..Implicit::default() }.into(),
    ]
}

/// Horizontal sheet of 1 m x 1 m and `sigma` [kg/m^2] without pins.
fn sheet(cells: Cells, rows: u32, sigma: f32) -> ClothDesc {
    let mesh = cells.mesh(rows, rows);
    let side = rows as f32;
    let positions = mesh.positions.iter().map(|[x, _, z]| [x / side, 0.0, z / side]);
    let mesh = Mesh { positions: positions.collect(), ..mesh };
    let options =
        CookOptions { bends: true, levels: true, density: sigma, ..CookOptions::default() };
    let mut cloth = cook(&mesh, &options).expect("the mesh is valid").into_cloth();
    cloth.config = ClothConfig { damping: [0.0; 3], ..ClothConfig::default() };
    cloth
}

/// Mean velocity over the last frame of `1 / fps`, given the positions before it \[m/s\].
fn mean_speed(simulation: &mut Simulation, fps: f32) -> f64 {
    let height = |simulation: &mut Simulation| {
        let state = simulation.state().unwrap();
        let (mut sum, mut mass) = (0.0, 0.0);
        for particle in state.current(nth_cloth(0)) {
            let own = 1.0 / f64::from(particle.inverse_mass);
            sum += own * f64::from(particle.position[1]);
            mass += own;
        }
        sum / mass
    };
    let before = height(simulation);
    simulation.step(1.0 / fps).unwrap();
    (height(simulation) - before) * f64::from(fps)
}

#[test]
fn a_sheet_across_the_wind_gets_the_force_of_its_coefficient() {
    const WIND: f64 = 6.0;
    let mut wrong = Vec::new();
    for (cells, rows) in [(Cells::Quads, 6), (Cells::Quads, 12), (Cells::Irregular, 8)] {
        for (frequency, fps) in [(300.0, 60.0), (1200.0, 60.0), (1200.0, 24.0)] {
            for solver in solvers(frequency, fps) {
                for (sigma, coefficient) in [(0.1f32, 1.2f32), (0.3, 2.0)] {
                    let mut cloth = sheet(cells, rows, sigma);
                    cloth.config.solver = solver.clone();
                    cloth.config.gravity = [0.0; 3];
                    cloth.config.air = Air {
                        wind_velocity: [0.0, WIND as f32, 0.0],
                        drag_coefficient: coefficient,
                        density: DENSITY,
                        ..Air::default()
                    };
                    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
                    simulation.add(cloth).unwrap();
                    let frames = (0.125 * fps).round() as u32;
                    let speeds = (0..frames).map(|_| mean_speed(&mut simulation, fps));
                    let speed = speeds.last().unwrap();
                    // dv/dt = k (U - v)^2, with k = rho C / (2 sigma): U - v = 1 / (1/U + k t). Its
                    // mean over the last frame is the difference of log(1/U + k t) / k.
                    let k = f64::from(DENSITY * coefficient / (2.0 * sigma));
                    let integral = |t: f64| (1.0 / WIND + k * t).ln() / k;
                    let (end, frame) = (f64::from(frames) / f64::from(fps), 1.0 / f64::from(fps));
                    let slip = (integral(end) - integral(end - frame)) / frame;
                    let error = (WIND - speed) / slip - 1.0;
                    // The force is explicit: an error of first order in the step.
                    let allowed = 0.005 + 0.45 * k * WIND / f64::from(frequency);
                    let name = solver.name();
                    let what = format!(
                        "{:+.2} % of {:.2}: {name}, {frequency} Hz, {fps} frames/s, {cells:?} {rows}, \
                         {sigma} kg/m^2",
                        100.0 * error,
                        100.0 * allowed
                    );
                    eprintln!("{what}");
                    if error.abs() > allowed {
                        wrong.push(what);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_breeze_pushes_cloth_alike_at_any_step() {
    const SIGMA: f32 = 0.05;
    const COEFFICIENT: f32 = 1.2;
    let mut wrong = Vec::new();
    for (cells, height) in [(Cells::Quads, 0.0), (Cells::Irregular, 3.0)] {
        for frequency in [300.0, 1200.0, 4980.0, 9960.0] {
            let substeps = (frequency / 60.0f32).round() as u32;
            let levels = Multilevel { substeps, ..Multilevel::default() }.into();
            for solver in solvers(frequency, 60.0).into_iter().chain([levels]) {
                for wind in [0.1, 0.5] {
                    let mut cloth = sheet(cells, 6, SIGMA);
                    cloth.particles.iter_mut().for_each(|it| it.position[1] += height);
                    cloth.config.solver = solver.clone();
                    cloth.config.gravity = [0.0; 3];
                    cloth.config.air = Air {
                        wind_velocity: [0.0, wind, 0.0],
                        drag_coefficient: COEFFICIENT,
                        density: DENSITY,
                        ..Air::default()
                    };
                    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
                    simulation.add(cloth).unwrap();
                    (0..59).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
                    let speed = mean_speed(&mut simulation, 60.0);
                    // From rest, U - v = 1 / (1/U + k t), here in the middle of the last frame.
                    let k = f64::from(DENSITY * COEFFICIENT / (2.0 * SIGMA));
                    let slip = 1.0 / (1.0 / f64::from(wind) + k * 59.5 / 60.0);
                    let error = speed / (f64::from(wind) - slip) - 1.0;
                    let what = format!(
                        "{:+.2} %: {}, {frequency} Hz, {wind} m/s, {cells:?} {height} m up",
                        100.0 * error,
                        solver.name()
                    );
                    eprintln!("{what}");
                    if error.abs() > 0.02 {
                        wrong.push(what);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_flag_is_at_most_twice_as_fast_as_the_wind() {
    let mut wrong = Vec::new();
    for cells in [Cells::Quads, Cells::Irregular] {
        for rows in [10, 20] {
            for (speed, air) in [
                (3.0, Air { drag: 1.0, ..Air::default() }),
                (3.0, Air { lift: 1.0, ..Air::default() }),
                (14.0, Air { drag: 0.5, lift: 0.3, ..Air::default() }),
                (40.0, Air { drag: 1.0, lift: 1.0, density: 1000.0, ..Air::default() }),
                (40.0, Air { drag_coefficient: 1.2, lift_coefficient: 2.0, ..Air::default() }),
            ] {
                for (k, solver) in
                    solvers(300.0, 60.0).into_iter().chain(solvers(60.0, 60.0)).enumerate()
                {
                    let mut cloth = sheet(cells, rows, 0.05);
                    let left = |x: f32| x < 1e-3;
                    for particle in &mut cloth.particles {
                        if left(particle.position[0]) {
                            particle.inverse_mass = 0.0;
                        }
                    }
                    let name = format!("{}, {} steps", solver.name(), k);
                    cloth.config.solver = solver;
                    cloth.config.gravity = [0.0; 3];
                    cloth.config.air = Air { wind_velocity: [speed, 0.0, 0.1 * speed], ..air };
                    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
                    let id = simulation.add(cloth).unwrap();
                    let mut before = simulation.state().unwrap().current(id).to_vec();
                    let mut most = 0.0f32;
                    for frame in 1..=120 {
                        simulation.step(1.0 / 60.0).unwrap();
                        let state = simulation.state().unwrap();
                        if state.fault_count(id) > 0 {
                            most = f32::INFINITY;
                        }
                        most = most.max(max_speed(&before, state.current(id), 1.0 / 60.0));
                        // Motion to and fro within a frame shows in its last iteration only.
                        let step = frame as f32 / (60.0 * state.iteration_total(id) as f32);
                        most = most.max(max_speed(state.previous(id), state.current(id), step));
                        before = state.current(id).to_vec();
                    }
                    if most > 2.0 * speed {
                        wrong.push(format!(
                            "{most} m/s in {speed}: {name}, {cells:?} {rows}, {air:?}"
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
