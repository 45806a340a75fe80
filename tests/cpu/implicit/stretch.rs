//! Stretch and shear at rest against closed forms.

use poplin::model::{Implicit, StretchModel};
use poplin_testkit::implicit::{
    Measured, elongation, hung_settings, shear_force, sheared_springs, width_ratio,
};

#[test]
fn a_hanging_strip_has_the_length_of_its_stiffness_at_any_step() {
    // Threads and springs: w L^2 / 2 K. A trispring stiffens as it is pulled.
    for (stretch, expected) in [
        (StretchModel::StretchShear, 9.810e-3),
        (StretchModel::Trispring, 9.625e-3),
        (StretchModel::Springs, 9.810e-3),
    ] {
        for substeps in [1, 4] {
            let Measured { value: found, report } = elongation(hung_settings(stretch, substeps));
            assert_eq!(report.unconverged, 0, "{report:?}");
            eprintln!("{stretch:?}, {substeps} steps: {found:.6} of {expected}");
            assert!((found / expected - 1.0).abs() < 2e-3, "{stretch:?}: {found} of {expected}");
        }
    }
}

#[test]
fn a_sheared_square_resists_by_its_stiffness() {
    // Threads: G gamma plus the tension of the stretched threads. Membrane: K / (2 (1 + nu)) gamma
    // plus the same term of St. Venant-Kirchhoff. Springs: diagonals that rotate and lengthen (by
    // hand, `sheared_springs`).
    for (stretch, expected) in [
        (StretchModel::StretchShear, 30.496),
        (StretchModel::Trispring, 39.011),
        (StretchModel::Springs, sheared_springs(0.1)),
    ] {
        let force = shear_force(Implicit { stretch, ..Implicit::default() });
        eprintln!("{stretch:?}: {force:.3} N of {expected}");
        assert!((force / expected - 1.0).abs() < 1e-3, "{stretch:?}: {force} of {expected}");
    }
}

#[test]
fn a_trispring_narrows_by_its_poisson_ratio() {
    let width = |poisson_ratio| {
        let settings = hung_settings(StretchModel::Trispring, 1);
        width_ratio(Implicit { poisson_ratio, ..settings }).value
    };
    // The strain at half height is w L / 2 K; the width shrinks by the ratio times that.
    let widths = [0.0, 0.3].map(width);
    eprintln!("{widths:?}");
    assert!((widths[0] - 1.0).abs() < 1e-4 && (widths[1] - 0.9971).abs() < 3e-4, "{widths:?}");
}
