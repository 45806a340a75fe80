//! Motion: damping, conservation and error of backward Euler.

use super::common::{G, SIGMA, assert_near, cross, dot, fixed, length, minus};
use poplin_oracle::implicit::{
    BendModel, Element, GridSheet, ImplicitCloth, ImplicitSimulation, Law, Spring, StepControl,
    bends, stretch_shear, triangle_masses, trisprings,
};

fn spring(a: usize, b: usize, stiffness: f64, rest_length: f64) -> Element {
    let law = Law::Spring(Spring { stiffness, rest_length, compression: 1.0 });
    Element { particles: [a, b, b, b], law }
}

/// Mass of 1 kg on a spring of 1 m, with the angular frequency `omega`, stretched by a tenth.
fn oscillator(omega: f64) -> ImplicitSimulation {
    let cloth = ImplicitCloth {
        inverse_masses: vec![0.0, 1.0],
        stretch: vec![spring(0, 1, omega * omega, 1.0)],
        ..ImplicitCloth::default()
    };
    let rest = [[0.0; 3], [1.0, 0.0, 0.0]];
    let mut simulation = ImplicitSimulation::new(cloth, &rest, vec![[0.0; 3], [1.1, 0.0, 0.0]]);
    simulation.gravity = [0.0; 3];
    simulation.settings = fixed(1);
    simulation.settings.tolerance = 1e-12;
    simulation.settings.has_floor = false;
    simulation
}

fn energy(simulation: &ImplicitSimulation) -> f64 {
    simulation.kinetic() + simulation.cloth.potential(&simulation.positions)
}

#[test]
fn a_step_keeps_the_energy_over_1_plus_the_square_of_omega_h() {
    for (reach, expected) in [(0.5, 0.8), (1.0, 0.5), (2.0, 0.2)] {
        let step = 0.01;
        let mut simulation = oscillator(reach / step);
        for _ in 0..5 {
            let before = energy(&simulation);
            simulation.run_frame(step);
            assert_near("energy ratio", energy(&simulation) / before, expected, 1e-6);
        }
    }
}

#[test]
fn damping_is_a_coefficient_over_a_stiffness() {
    // x'' = -omega^2 (x + beta x'): backward Euler by hand.
    let (omega, beta, step) = (50.0, 0.004, 0.01);
    let mut simulation = oscillator(omega);
    simulation.cloth.stretch_damping = beta;
    let (mut x, mut v) = (0.1, 0.0);
    for _ in 0..10 {
        simulation.run_frame(step);
        let square = omega * omega;
        v = (v - step * square * x) / (1.0 + step * square * (beta + step));
        x += step * v;
        assert_near("x", simulation.positions[1][0] - 1.0, x, 1e-9);
    }
}

/// Positions of a hanging chain of five links that starts level and swings for 0.2 s in `steps`
/// steps.
fn swing_chain(steps: u32) -> Vec<[f64; 3]> {
    let count = 6;
    let mut inverse_masses = vec![100.0; count];
    inverse_masses[0] = 0.0;
    let stretch = (1..count).map(|i| spring(i - 1, i, 100.0, 0.2)).collect();
    let cloth = ImplicitCloth { inverse_masses, stretch, ..ImplicitCloth::default() };
    let rest: Vec<_> = (0..count).map(|i| [0.2 * i as f64, 0.0, 0.0]).collect();
    let mut simulation = ImplicitSimulation::new(cloth, &rest, rest.clone());
    simulation.settings = fixed(steps);
    simulation.settings.tolerance = 1e-7;
    simulation.settings.has_floor = false;
    assert_eq!(simulation.run_frame(0.2).unconverged, 0);
    simulation.positions
}

#[test]
fn the_error_of_a_chain_halves_with_the_step() {
    // Extrapolated: the fine runs are of first order too.
    let [coarse, fine] = [3200, 6400].map(swing_chain);
    let exact: Vec<[f64; 3]> =
        coarse.iter().zip(&fine).map(|(a, b)| [0, 1, 2].map(|k| 2.0 * b[k] - a[k])).collect();
    let error = |steps| {
        let x = swing_chain(steps);
        x.iter().zip(&exact).map(|(&a, &b)| length(minus(a, b))).fold(0.0, f64::max)
    };
    let errors = [200, 400].map(error);
    let ratio = errors[0] / errors[1];
    eprintln!("errors {errors:?}, ratio {ratio}");
    assert_near("ratio", ratio, 2.01, 0.02);
}

/// Free sheet of 6 x 6 particles of every kind of element, thrown with a spin and a twist.
fn thrown_sheet(model: usize, damping: f64) -> ImplicitSimulation {
    let grid = GridSheet::square(6);
    let (rest, triangles) = (grid.positions(), grid.triangles());
    let masses = triangle_masses(&rest, &triangles, SIGMA);
    let stretch = match model {
        0 => grid.springs([500.0; 2], 150.0, 1.0),
        1 => stretch_shear(&grid.coordinates(), &triangles, [500.0; 2], 150.0),
        _ => trisprings(&rest, &triangles, 500.0, 0.3),
    };
    let mut elements = bends(&rest, &triangles, 1e-3, BendModel::ALL[model]);
    elements.extend(grid.bend_springs(5.0));
    let cloth = ImplicitCloth {
        inverse_masses: masses.iter().map(|m| 1.0 / m).collect(),
        stretch,
        bends: elements,
        // The rest vector of an isometric bend's damping does not rotate with it.
        bend_damping: if model == 2 { 0.0 } else { damping },
        stretch_damping: damping,
    };
    let mut simulation = ImplicitSimulation::new(cloth, &rest, rest.clone());
    simulation.gravity = [0.0; 3];
    simulation.set_velocities(|i| {
        let [x, y, _] = rest[i];
        let (x, y) = (x - 0.5, y - 0.5);
        [0.3 - 2.0 * y, 2.0 * x, 1.0 + 2.0 * x + 3.0 * x * y]
    });
    simulation
}

/// Returns momentum [kg m/s], and the sum of `m x x v` of a step [kg m^2/s].
///
/// x is the position at the start of the step: forces at its end change this sum by a torque of 0
/// and a term of second order.
fn momenta(simulation: &ImplicitSimulation) -> [[f64; 3]; 2] {
    let mut sums = [[0.0; 3]; 2];
    for (i, &x) in simulation.positions.iter().enumerate() {
        let momentum = simulation.velocity(i).map(|v| v / simulation.cloth.inverse_masses[i]);
        let spin = cross(x, momentum);
        for k in 0..3 {
            sums[0][k] += momentum[k];
            sums[1][k] += spin[k];
        }
    }
    sums
}

#[test]
fn a_free_sheet_keeps_its_momentum_at_any_truncation() {
    for model in 0..3 {
        for (substeps, iterations) in [(1, 1), (1, 7), (4, 3), (2, 1000)] {
            let mut simulation = thrown_sheet(model, 0.002);
            simulation.settings = fixed(substeps);
            simulation.settings.iterations = iterations;
            let start = momenta(&simulation);
            (0..30).for_each(|_| _ = simulation.run_frame(1.0 / 60.0));
            let end = momenta(&simulation);
            let lost = length(minus(end[0], start[0])) / length(start[0]);
            assert!(lost < 1e-13, "model {model}, {iterations} iterations: {lost:e}");
        }
    }
}

#[test]
fn a_step_keeps_the_spin_of_its_end() {
    // Positions at the end of the step have no torque: sum of x' x (v' - v) is 0, up to the
    // tolerance.
    for model in 0..3 {
        let mut simulation = thrown_sheet(model, 0.002);
        simulation.settings = fixed(1);
        simulation.settings.tolerance = 1e-9;
        simulation.settings.has_floor = false;
        for _ in 0..5 {
            let before: Vec<_> = (0..36).map(|i| simulation.velocity(i)).collect();
            simulation.run_frame(1.0 / 60.0);
            let mut torque = [0.0; 3];
            for (i, &x) in simulation.positions.iter().enumerate() {
                let change = minus(simulation.velocity(i), before[i]);
                let part = cross(x, change.map(|v| v / simulation.cloth.inverse_masses[i]));
                (0..3).for_each(|k| torque[k] += part[k]);
            }
            let spin = length(momenta(&simulation)[1]);
            assert!(length(torque) < 1e-7 * spin, "model {model}: {torque:?} of {spin}");
        }
    }
}

#[test]
fn the_energy_of_a_free_sheet_never_rises() {
    for model in 0..3 {
        for substeps in [1, 4] {
            let mut simulation = thrown_sheet(model, 0.0);
            simulation.settings.control = StepControl::Fixed { substeps };
            simulation.settings.iterations = 1000;
            let mut before = energy(&simulation);
            let start = before;
            for frame in 0..60 {
                simulation.run_frame(1.0 / 60.0);
                let now = energy(&simulation);
                assert!(
                    now <= before + 1e-12 * start,
                    "model {model}, {substeps} steps, frame {frame}: {before} to {now}"
                );
                before = now;
            }
            assert!(before > 0.1 * start, "{before} of {start} is left");
        }
    }
}

#[test]
fn a_spin_slows_down_as_backward_euler_says() {
    // L/L0 = (1 + 2 omega^2 h t)^-1/2 of a rigid body: a ring of springs of the highest stiffness.
    let (omega, rate) = (std::f64::consts::TAU, 240.0);
    let count = 12;
    let rest: Vec<[f64; 3]> = (0..count)
        .map(|i| {
            let angle = std::f64::consts::TAU * i as f64 / count as f64;
            [0.5 * angle.cos(), 0.5 * angle.sin(), 0.0]
        })
        .collect();
    let mut stretch = Vec::new();
    for a in 0..count {
        for b in a + 1..count {
            stretch.push(spring(a, b, 2e4, length(minus(rest[a], rest[b]))));
        }
    }
    let cloth =
        ImplicitCloth { inverse_masses: vec![100.0; count], stretch, ..ImplicitCloth::default() };
    let mut simulation = ImplicitSimulation::new(cloth, &rest, rest.clone());
    simulation.gravity = [0.0; 3];
    simulation.settings = fixed(1);
    simulation.settings.tolerance = 1e-4;
    simulation.settings.has_floor = false;
    simulation.set_velocities(|i| cross([0.0, 0.0, omega], rest[i]));
    let start = momenta(&simulation)[1][2];
    (0..240).for_each(|_| _ = simulation.run_frame(1.0 / rate));
    let ratio = momenta(&simulation)[1][2] / start;
    let expected = (1.0 + 2.0 * omega * omega / rate).powf(-0.5);
    eprintln!("spin {ratio:.4} of {expected:.4}");
    assert_near("closed form", expected, 0.868, 1e-3);
    assert_near("spin", ratio, expected, 2e-3);
}

#[test]
fn free_fall_takes_no_iteration() {
    let mut simulation = thrown_sheet(0, 0.0);
    simulation.set_velocities(|_| [1.0, -2.0, 0.5]);
    simulation.gravity = [0.0, 0.0, -G];
    let mut height = simulation.positions[7][2];
    for frame in 1..=30 {
        let feedback = simulation.run_frame(1.0 / 60.0);
        assert_eq!(feedback.iterations, 0);
        // Backward Euler: the new velocity moves the particle.
        let steps = 1u32 << feedback.level;
        let h = 1.0 / 60.0 / f64::from(steps);
        height += (0..steps).fold(0.0, |sum, i| {
            let t = f64::from(frame - 1) / 60.0 + h * f64::from(i + 1);
            sum + h * (0.5 - G * t)
        });
        assert_near("height", simulation.positions[7][2], height, 1e-12);
    }
}

#[test]
fn a_fold_swings_alike_at_any_step_as_its_rigidity_says() {
    // A wing over a hinge on a rod: a pendulum of stiffness k / (m l^2).
    let grid = GridSheet::square(2);
    let rest = grid.positions();
    let rigidity = 0.5;
    for model in BendModel::ALL {
        let elements = bends(&rest, &grid.triangles(), rigidity, model);
        // One hinge along the diagonal of a square of 1 m: |e| = sqrt 2, both heights 1 / sqrt 2.
        let [Element { particles, .. }] = elements[..] else { panic!("{elements:?}") };
        let far = particles[3];
        let mut inverse_masses = vec![0.0; 4];
        inverse_masses[far] = 1.0;
        let rod = |i: usize| spring(i, far, 1e5, length(minus(rest[i], rest[far])));
        let cloth = ImplicitCloth {
            inverse_masses,
            stretch: vec![rod(particles[0]), rod(particles[1])],
            bends: elements,
            ..ImplicitCloth::default()
        };
        let angle = 0.05f64;
        let mut start = rest.clone();
        let [a, b] = [particles[0], particles[1]].map(|i| rest[i]);
        let middle: [f64; 3] = [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]));
        let arm = minus(rest[far], middle);
        start[far] = [0, 1, 2].map(|k| middle[k] + angle.cos() * arm[k]);
        start[far][2] = angle.sin() * length(arm);
        let stiffness = rigidity * 2.0;
        let omega = (stiffness / dot(arm, arm)).sqrt();
        let mut simulation = ImplicitSimulation::new(cloth, &rest, start);
        simulation.gravity = [0.0; 3];
        simulation.settings = fixed(40);
        simulation.settings.tolerance = 1e-6;
        simulation.settings.has_floor = false;
        let quarter = std::f64::consts::FRAC_PI_2 / omega;
        let frames = (quarter * 60.0).round();
        (0..frames as usize).for_each(|_| _ = simulation.run_frame(quarter / frames));
        // After a quarter of a period the wing is level: the swing is what 40 steps a frame leave.
        let left = simulation.positions[far][2] / (angle.sin() * length(arm));
        assert_near(&format!("{model:?}"), left, 0.0, 0.01);
    }
}
