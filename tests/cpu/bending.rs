//! Laws of bending on cells of quads and of triangles, as scenes cook them.

use poplin::model::{BendModel, ClothConfig, ClothDesc, Implicit, Solver, Xpbd};
use poplin_testkit::beams::{Cells, G, GREENHILL, SIGMA, damping, sheet, sheet_on_end};
use poplin_testkit::implicit::{beam, bow, positions, simulate};

/// Drop over length of the middle of the free end of a sheet of 1 m x 0.2 m clamped level, and its
/// twist \[degrees\].
fn cantilever(cells: Cells, segments: u32, solver: Solver) -> [f64; 2] {
    let edge = 1.0 / f64::from(segments);
    let columns = segments / 5;
    let position = |along, side| [along - edge - 0.5, 0.0, side];
    let mut cloth = sheet(cells, [columns, segments + 1], edge, position, 2);
    cloth.config = ClothConfig { solver, damping: damping(8.0), ..ClothConfig::default() };
    let end = positions(&simulate(cloth, 150, 1.0 / 60.0))
        .split_off(((columns + 1) * (segments + 1)) as usize);
    let [left, right] = [end[0], end[columns as usize]].map(|corner| corner[1]);
    [-0.5 * (left + right), ((right - left) / 0.2).atan().to_degrees()]
}

#[test]
fn sheet_drops_like_the_elastica_and_does_not_twist() {
    let (load, expected) = (5.0, 0.49591);
    let bending_rigidity = (SIGMA * G / load) as f32;
    for cells in Cells::ALL {
        for segments in [10, 20] {
            let implicit =
                |bend| -> Solver { Implicit { tolerance: 1e-3, ..beam(load, 4, bend) }.into() };
            // Steps of a quarter of a^2 sqrt(sigma / B), see `tests/cpu/xpbd`.
            let substeps = segments * segments / 5;
            let xpbd = Xpbd { substeps, bending_rigidity, ..Xpbd::default() };
            let mut solvers = vec![implicit(BendModel::FaceAngle), xpbd.into()];
            if segments == 10 {
                solvers.extend([BendModel::PlaneProjection, BendModel::Isometric].map(implicit));
            }
            for solver in solvers {
                let what = format!("{cells:?}, {segments} segments, {solver:?}");
                let [drop, twist] = cantilever(cells, segments, solver);
                eprintln!("{:+.2} %, {twist:+.3} degrees: {what}", 100.0 * (drop / expected - 1.0));
                assert!((drop / expected - 1.0).abs() < 0.02, "{drop}: {what}");
                assert!(twist.abs() < 0.2, "{twist} degrees: {what}");
            }
        }
    }
}

#[test]
fn sheet_on_end_buckles_under_the_load_of_theory() {
    for cells in Cells::ALL {
        for segments in [10, 20] {
            let [holds, falls] = [0.95, 1.05].map(|part| {
                let implicit =
                    Implicit { tolerance: 1e-4, ..beam(part * GREENHILL, 4, BendModel::FaceAngle) };
                let cloth = sheet_on_end(cells, 4, segments);
                bow(cloth, segments, implicit.into(), 600).value
            });
            eprintln!("{cells:?}, {segments} segments: {holds:.3} at 0.95, {falls:.1} at 1.05");
            assert!(holds < 6.0 && falls > 5.0 * holds, "{cells:?}, {segments}: {holds}, {falls}");
        }
    }
}
