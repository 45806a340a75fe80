//! Cantilevers and buckling strips, independent of step and mesh.

use poplin::model::{BendModel, Implicit};
use poplin_testkit::beams::{GREENHILL, strip_on_end};
use poplin_testkit::implicit::{beam, bow, cantilever, positions, sheet, simulate, solved};

#[test]
fn a_heavy_cantilever_drops_alike_at_any_step_and_mesh() {
    let (load, expected) = (10.0, 0.70020);
    let (face, plane) = (BendModel::FaceAngle, BendModel::PlaneProjection);
    for (bend, segments, substeps) in [
        (face, 10, 1),
        (face, 10, 16),
        (face, 20, 4),
        (face, 40, 4),
        (face, 80, 8),
        (plane, 10, 4),
        (plane, 20, 1),
        (plane, 40, 4),
        (BendModel::Isometric, 10, 16),
        (BendModel::Isometric, 20, 4),
        (BendModel::Isometric, 40, 1),
    ] {
        let error = cantilever(segments, beam(load, substeps, bend), 100).value / expected - 1.0;
        let name = bend.name();
        eprintln!("{name}, {segments} segments, {substeps} steps: {:+.2} %", 100.0 * error);
        // Of second order at the clamp, see `tests/cpu/xpbd`.
        let at_clamp = f64::from(segments).powi(-2);
        assert!((error - at_clamp).abs() < 0.02, "{name}, {segments}, {substeps}: {error}");
    }
}

/// Deflection \[m\] of the end of a strip of 1 m and `rows` rows clamped level at its first two,
/// with `w L^3 / B = 10`.
fn strip_drop(rows: u32, bend: BendModel) -> f64 {
    let edge = 1.0 / (f64::from(rows) - 2.0);
    let (columns, length) = (rows / 5 + 1, edge * f64::from(rows - 1));
    let mut cloth = sheet(columns, rows, 0.2, length as f32, (0..2 * columns).collect());
    cloth.config.damping = [0.5; 3];
    let implicit = Implicit { tolerance: 0.01, ..beam(10.0, 4, bend) };
    let state = simulate(solved(cloth, implicit), 120, 1.0 / 60.0);
    -positions(&state).last().unwrap()[1]
}

#[test]
fn two_ring_springs_do_not_converge_to_a_bending_rigidity() {
    let drops = |bend| [11, 21].map(|rows| strip_drop(rows, bend));
    let (angles, springs) = (drops(BendModel::FaceAngle), drops(BendModel::Springs));
    eprintln!("11 and 21 rows: angles {angles:.3?}, springs {springs:.3?}");
    assert!((angles[1] / angles[0] - 1.0).abs() < 0.02, "{angles:?}");
    // A fold of less than half a radian per edge is too soft, and a finer mesh folds by less per
    // edge.
    assert!(springs[0] > 1.1 * angles[0] && springs[1] > 1.05 * springs[0], "{springs:?}");
}

#[test]
fn a_strip_on_end_buckles_under_the_load_of_theory_at_any_step() {
    for (segments, substeps, bend) in [
        (20, 1, BendModel::FaceAngle),
        (20, 4, BendModel::PlaneProjection),
        (40, 4, BendModel::FaceAngle),
    ] {
        let [holds, falls] = [0.95, 1.05].map(|part| {
            let beam = beam(part * GREENHILL, substeps, bend);
            bow(strip_on_end(segments), segments, beam.into(), 360).value
        });
        eprintln!("{}, {segments} segments, {substeps} steps: {holds:.3}, {falls:.1}", bend.name());
        // Near its load it leans by the error that the tolerance allows: 0.003 of its weight
        // sideways amounts to 6 cm at 0.95.
        assert!(holds < 6.0 && falls > 5.0 * holds, "{segments}, {substeps}: {holds}, {falls}");
    }
}

#[test]
fn halved_steps_solve_a_cantilever_of_80_segments() {
    let drop_error = |max_halvings, max_iterations, frames| {
        let settings = beam(10.0, 1, BendModel::FaceAngle);
        let found = cantilever(80, Implicit { max_halvings, max_iterations, ..settings }, frames);
        eprintln!("{max_halvings}: {found:?}");
        100.0 * (found.value / 0.70020 - 1.0)
    };
    let (whole, halved) = (drop_error(0, 1000, 100), drop_error(6, 1000, 100));
    assert!(whole > 2.0 && halved.abs() < 2.0, "{whole}, {halved}");
}
