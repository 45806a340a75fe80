//! Laws of bending on cells of quads and of triangles, as scenes cook them.
//!
//! `cargo xtask tables` writes the rows of the guide.

use poplin::model::{BendModel, ClothConfig, Implicit, Particle, Solver, Xpbd};
use poplin_testkit::beams::{Cells, G, GREENHILL, SIGMA, damping, sheet, sheet_on_end};
use poplin_testkit::generated::{assert_block, markdown_table};
use poplin_testkit::implicit::{beam, bow, positions, simulate};
use poplin_testkit::skip::part;

/// Load `w L^3 / B` of cantilevers, and drop over length of the elastica.
const CANTILEVER: (f64, f64) = (5.0, 0.49591);

/// Largest error of a law.
const ALLOWED: f64 = 0.02;

/// Largest twist of a sheet clamped level \[degrees\].
const MAX_TWIST: f64 = 0.2;

/// Both on four irregular columns of ten rows, where most patches touch a border.
const COARSE: [f64; 2] = [0.025, 0.3];

fn implicit(load: f64, bend: BendModel) -> Solver {
    Implicit { tolerance: 1e-4, ..beam(load, 4, bend) }.into()
}

/// XPBD with steps of at most a quarter of `a^2 sqrt(sigma / B)` for edges of a m.
fn xpbd(cells: Cells, load: f64, segments: u32) -> Solver {
    let rigidity = SIGMA * G / load;
    // Threads of crossed cells are half of their diagonals.
    let edge_square = if cells == Cells::Cross { 0.5 } else { 1.0 } / f64::from(segments).powi(2);
    let longest = 0.25 * edge_square * (SIGMA / rigidity).sqrt();
    let substeps = (1.0 / 60.0 / longest).ceil() as u32;
    Xpbd { substeps, bending_rigidity: rigidity as f32, ..Xpbd::default() }.into()
}

/// Drop over length of the free end of a sheet of 1 m x 0.4 m clamped level, relative to the
/// elastica, and its twist \[degrees\].
fn cantilever(cells: Cells, segments: u32, solver: Solver) -> [f64; 2] {
    let edge = 1.0 / f64::from(segments);
    let place = |along, across| [along - edge - 0.5, 0.0, across];
    let mut cloth = sheet(cells, [2 * segments / 5, segments + 1], edge, place, 2);
    // The end and one side of the sheet cross at its last particle.
    let [end, _, side] = cloth.particles.last().expect("it has particles").position;
    let is_other = |it: &Particle| it.position[0] == end && it.position[2] == 0.0;
    let other = cloth.particles.iter().position(is_other).expect("it has another corner");
    cloth.config = ClothConfig { solver, damping: damping(8.0), ..ClothConfig::default() };
    let positions = positions(&simulate(cloth, 180, 1.0 / 60.0));
    let [left, right] = [positions[other], positions[positions.len() - 1]].map(|corner| corner[1]);
    let twist = ((right - left) / f64::from(side)).atan().to_degrees();
    [-0.5 * (left + right) / CANTILEVER.1, twist]
}

/// Parts of Greenhill's load at which a sheet must stand and fall.
const PARTS: [f64; 2] = [0.95, 1.05];

/// True for each of [`PARTS`] of Greenhill's load if a sheet of 4 columns that is clamped upright,
/// with its end 1 cm off, is more than 10 cm off after 8 s.
fn falls(cells: Cells, segments: u32, solver: impl Fn(f64) -> Solver) -> [bool; 2] {
    let cloth = sheet_on_end(cells, 4, segments);
    let bow = |part| bow(cloth.clone(), segments, solver(part * GREENHILL), 480).value;
    let bows = PARTS.map(bow);
    eprintln!("{cells:?}, {segments} segments: {:.3} cm, {:.1} cm", bows[0], bows[1]);
    bows.map(|bow| bow > 10.0)
}

#[test]
fn sheet_drops_like_the_elastica_and_does_not_twist() {
    for cells in part([Cells::OtherWay].into_iter().chain(Cells::ALL), 4) {
        for segments in [10, 20] {
            let mut solvers = vec![
                implicit(CANTILEVER.0, BendModel::FaceAngle),
                xpbd(cells, CANTILEVER.0, segments),
            ];
            if segments == 10 {
                let others = [BendModel::PlaneProjection, BendModel::Isometric];
                solvers.extend(others.map(|bend| implicit(CANTILEVER.0, bend)));
            }
            for solver in solvers {
                let what = format!("{cells:?}, {segments} segments, {solver:?}");
                let [drop, twist] = cantilever(cells, segments, solver);
                eprintln!("{:+.2} %, {twist:+.3} degrees: {what}", 100.0 * (drop - 1.0));
                let is_coarse = cells == Cells::Irregular && segments == 10;
                let [error, most] = if is_coarse { COARSE } else { [ALLOWED, MAX_TWIST] };
                assert!((drop - 1.0).abs() < error, "{drop}: {what}");
                assert!(twist.abs() < most, "{twist} degrees: {what}");
            }
        }
    }
}

#[test]
fn sheet_on_end_buckles_under_the_load_of_theory() {
    for cells in part([Cells::OtherWay].into_iter().chain(Cells::ALL), 6) {
        for segments in [10, 20] {
            let falls = [
                falls(cells, segments, |load| implicit(load, BendModel::FaceAngle)),
                falls(cells, segments, |load| xpbd(cells, load, segments)),
            ];
            assert_eq!(falls, [[false, true]; 2], "{cells:?}, {segments} segments");
        }
    }
}

#[test]
fn table_of_cells() {
    let bold = |text: String, is_wrong: bool| if is_wrong { format!("**{text}**") } else { text };
    let mut rows = Vec::new();
    for cells in Cells::ALL {
        for segments in [10, 20] {
            let mut row = vec![cells.name().to_owned(), segments.to_string()];
            for is_implicit in [true, false] {
                let solver = |load| match is_implicit {
                    true => implicit(load, BendModel::FaceAngle),
                    false => xpbd(cells, load, segments),
                };
                let [drop, twist] = cantilever(cells, segments, solver(CANTILEVER.0));
                let error = drop - 1.0;
                row.push(bold(format!("{:+.1} %", 100.0 * error), error.abs() > ALLOWED));
                row.push(bold(format!("{:.2}", twist.abs()), twist.abs() > MAX_TWIST));
                row.push(match falls(cells, segments, solver) {
                    [false, true] => "0.95 to 1.05".to_owned(),
                    [true, _] => "**below 0.95**".to_owned(),
                    [false, false] => "**above 1.05**".to_owned(),
                });
            }
            rows.push(row);
        }
    }
    let head = ["cells", "rows", "implicit: drop", "twist", "load", "XPBD: drop", "twist", "load"];
    assert_block("crates/poplin/guide/validation.md", "bending", &markdown_table(&head, &rows));
}
