//! Laws of bending on cells of quads and of triangles, as scenes cook them.
//!
//! `cargo xtask tables` writes the rows of the guide.

use poplin::model::{BendModel, ClothConfig, ClothDesc, Implicit, Solver, Xpbd};
use poplin_testkit::beams::{Cells, G, GREENHILL, SIGMA, damping, sheet};
use poplin_testkit::generated::{assert_block, markdown_table};
use poplin_testkit::implicit::{beam, positions, simulate};

/// Load `w L^3 / B` of cantilevers, and drop over length of the elastica.
const CANTILEVER: (f64, f64) = (5.0, 0.49591);

/// Largest error of a law.
const ALLOWED: f64 = 0.02;

/// Largest twist of a sheet clamped level \[degrees\].
const MAX_TWIST: f64 = 0.2;

fn implicit(load: f64, bend: BendModel) -> Solver {
    Implicit { tolerance: 3e-4, ..beam(load, 4, bend) }.into()
}

/// XPBD with steps of at most a quarter of `a^2 sqrt(sigma / B)` for cells of 1 m / `segments`.
fn xpbd(load: f64, segments: u32) -> Solver {
    let rigidity = SIGMA * G / load;
    let longest = 0.25 * f64::from(segments).powi(-2) * (SIGMA / rigidity).sqrt();
    let substeps = (1.0 / 60.0 / longest).ceil() as u32;
    Xpbd { substeps, bending_rigidity: rigidity as f32, ..Xpbd::default() }.into()
}

/// State of a sheet of 1 m x 0.4 m clamped at one end after some seconds: both corners of the free
/// end.
fn corners(
    cells: Cells,
    segments: u32,
    position: impl Fn(f64, f64) -> [f64; 3],
    config: ClothConfig,
) -> [[f64; 3]; 2] {
    let edge = 1.0 / f64::from(segments);
    let columns = 2 * segments / 5;
    let place = |along: f64, across| position(along - edge, across);
    let mut cloth: ClothDesc = sheet(cells, [columns, segments + 1], edge, place, 2);
    let ends = [0.0, f64::from(columns) * edge].map(|across| {
        let corner = position(1.0, across).map(|x| x as f32);
        let distance = |p: [f32; 3]| (0..3).map(|k| (p[k] - corner[k]).powi(2)).sum::<f32>();
        let nearest = (0..cloth.particles.len()).min_by(|&i, &k| {
            let [i, k] = [i, k].map(|i| distance(cloth.particles[i].position));
            i.total_cmp(&k)
        });
        nearest.expect("it has particles")
    });
    cloth.config = config;
    let positions = positions(&simulate(cloth, 400, 1.0 / 60.0));
    ends.map(|end| positions[end])
}

/// Drop over length of the free end of a sheet clamped level, relative to the elastica, and its
/// twist \[degrees\].
fn cantilever(cells: Cells, segments: u32, solver: Solver) -> [f64; 2] {
    let config = ClothConfig { solver, damping: damping(8.0), ..ClothConfig::default() };
    let [left, right] =
        corners(cells, segments, |along, across| [along - 0.5, 0.0, across], config);
    let drop = -0.5 * (left[1] + right[1]);
    [drop / CANTILEVER.1, ((right[1] - left[1]) / 0.4).atan().to_degrees()]
}

/// Load under which a sheet clamped upright buckles, relative to that of theory.
///
/// A small load across deflects it by `d ~ 1 / (1 - p / p_critical)` (Southwell, 1932).
fn critical_load(cells: Cells, segments: u32, solver: &Solver) -> f64 {
    let parts = [0.7, 0.85];
    let deflections = parts.map(|part| {
        let (gravity, solver) = ([0.005, -part, 0.0].map(|g| (g * G) as f32), solver.clone());
        let config =
            ClothConfig { solver, gravity, damping: damping(3.0), ..ClothConfig::default() };
        let upright = |along, across| [0.0, along - 0.5, across];
        corners(cells, segments, upright, config).map(|end| end[0]).iter().sum::<f64>()
    });
    let [soft, softer] = deflections.map(f64::recip);
    parts[0] + soft * (parts[1] - parts[0]) / (soft - softer)
}

#[test]
fn sheet_drops_like_the_elastica_and_does_not_twist() {
    for cells in Cells::REGULAR {
        for segments in [10, 20] {
            let mut solvers =
                vec![implicit(CANTILEVER.0, BendModel::FaceAngle), xpbd(CANTILEVER.0, segments)];
            if segments == 10 {
                let others = [BendModel::PlaneProjection, BendModel::Isometric];
                solvers.extend(others.map(|bend| implicit(CANTILEVER.0, bend)));
            }
            for solver in solvers {
                let what = format!("{cells:?}, {segments} segments, {solver:?}");
                let [drop, twist] = cantilever(cells, segments, solver);
                eprintln!("{:+.2} %, {twist:+.3} degrees: {what}", 100.0 * (drop - 1.0));
                assert!((drop - 1.0).abs() < ALLOWED, "{drop}: {what}");
                assert!(twist.abs() < MAX_TWIST, "{twist} degrees: {what}");
            }
        }
    }
}

#[test]
fn sheet_on_end_buckles_under_the_load_of_theory() {
    for cells in Cells::REGULAR {
        for segments in [10, 20] {
            for solver in [implicit(GREENHILL, BendModel::FaceAngle), xpbd(GREENHILL, segments)] {
                let load = critical_load(cells, segments, &solver);
                eprintln!("{load:.4}: {cells:?}, {segments} segments, {solver:?}");
                assert!((load - 1.0).abs() < ALLOWED, "{load}: {cells:?}, {segments}, {solver:?}");
            }
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
                    false => xpbd(load, segments),
                };
                let [drop, twist] = cantilever(cells, segments, solver(CANTILEVER.0));
                let load = critical_load(cells, segments, &solver(GREENHILL));
                for error in [drop - 1.0, load - 1.0] {
                    row.push(bold(format!("{:+.1} %", 100.0 * error), error.abs() > ALLOWED));
                }
                row.push(bold(format!("{:.2}", twist.abs()), twist.abs() > MAX_TWIST));
            }
            rows.push(row);
        }
    }
    let head = ["cells", "rows", "implicit: drop", "load", "twist", "XPBD: drop", "load", "twist"];
    assert_block("crates/poplin/guide/validation.md", "bending", &markdown_table(&head, &rows));
}
