//! Vectors, seeded numbers and sheets.

use poplin_oracle::implicit::{
    BendModel, GridSheet, ImplicitCloth, ImplicitSettings, ImplicitSimulation, Objective,
    Preconditioner, StepControl, bends, minimize_by_newton, triangle_masses,
};

/// Gravity [m/s^2].
pub(crate) const G: f64 = 9.81;

/// Mass per area [kg/m^2].
pub(crate) const SIGMA: f64 = 0.2;

pub(crate) fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(crate) fn length(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

#[track_caller]
pub(crate) fn assert_near(what: &str, got: f64, expected: f64, allowed: f64) {
    assert!((got - expected).abs() <= allowed, "{what}: {got} against {expected} +- {allowed}");
}

/// Returns settings of `substeps` steps per frame, with as many iterations as they need.
pub(crate) fn fixed(substeps: u32) -> ImplicitSettings {
    let control = StepControl::Fixed { substeps };
    ImplicitSettings { control, iterations: 20_000, ..ImplicitSettings::default() }
}

/// Sheet of the design: level, 1 m, 0.2 kg, held by two corners, with springs of G = 0.3 K and face
/// angles of 1e-5 N m.
pub(crate) fn hung_sheet(side: usize, stiffness: f64) -> ImplicitSimulation {
    let grid = GridSheet::square(side);
    let (rest, triangles) = (grid.positions(), grid.triangles());
    let masses = triangle_masses(&rest, &triangles, SIGMA);
    let mut inverse_masses: Vec<f64> = masses.iter().map(|m| 1.0 / m).collect();
    (inverse_masses[0], inverse_masses[side - 1]) = (0.0, 0.0);
    let cloth = ImplicitCloth {
        inverse_masses,
        stretch: grid.springs([stiffness; 2], 0.3 * stiffness, 1.0),
        bends: bends(&rest, &triangles, 1e-5, BendModel::FaceAngle),
        ..ImplicitCloth::default()
    };
    ImplicitSimulation::new(cloth, &rest, rest.clone())
}

/// Positions at rest under gravity: steps of 1 s that keep no velocity, by Newton's method.
pub(crate) fn settle(
    cloth: &ImplicitCloth,
    start: &[[f64; 3]],
    gravity: [f64; 3],
    fibers: &[Vec<Vec<usize>>],
    step: f64,
    count: usize,
) -> Vec<[f64; 3]> {
    let mut x = start.to_vec();
    for _ in 0..count {
        let fall = |&w: &f64| if w > 0.0 { gravity.map(|g| g * step * step) } else { [0.0; 3] };
        let prediction: Vec<_> = cloth.inverse_masses.iter().map(fall).collect();
        let objective = Objective::new(cloth, &x, &prediction, step, &[]);
        let tolerance = 1e-6 * G * step * step;
        let still = vec![[0.0; 3]; x.len()];
        let found = minimize_by_newton(
            &objective,
            &still,
            Preconditioner::Fibers(fibers),
            tolerance,
            1_000_000,
        );
        assert!(found.is_converged, "{} after {} systems", found.residual, found.systems);
        let moved = x.iter().zip(&found.displacements);
        x = moved.map(|(x, u)| [0, 1, 2].map(|k| x[k] + u[k])).collect();
    }
    x
}
