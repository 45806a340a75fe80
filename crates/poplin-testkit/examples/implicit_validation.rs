//! Implicit solver against theory, and buckling with XPBD: the tables of the validation page of the
//! guide.
//!
//! `cargo run --release -p poplin-testkit --example implicit_validation -- FOLDER
//! [theory|cantilever|buckling]` writes `implicit_theory.csv`, `implicit_cantilever.csv` and
//! `buckling.csv`, all of them or one. `RAYON_NUM_THREADS=1` is enough; each takes some minutes.
//! The `date` and `commit` lines at the top are left to fill in.

#![expect(clippy::print_stdout, reason = "it says what it does as it goes on")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use poplin_model::{BendModel, Implicit, Solver, StretchModel, Xpbd};
use poplin_testkit::beams::{Cells, G, GREENHILL, SIGMA, edge_on_end, sheet_on_end};
use poplin_testkit::implicit::{
    Measured, beam, bow, cantilever, critical_load, elongation, energy_kept, hung_settings,
    shear_force, sheared_springs, spin_left, swing_error, width_ratio,
};

/// CSV file that also prints each row.
struct Csv(String);

impl Csv {
    fn new(part: &str, how: &str, head: &[&str]) -> Self {
        let command = format!(
            "cargo run --release -p poplin-testkit --example implicit_validation -- FOLDER {part}"
        );
        let mut csv = Self(format!("# date: \n# commit: \n# how: {command}; {how}\n"));
        csv.push(head);
        csv
    }

    fn push<T: AsRef<str>>(&mut self, cells: &[T]) {
        let quoted = cells.iter().map(|cell| match cell.as_ref() {
            cell if cell.contains(',') => format!("\"{cell}\""),
            cell => cell.to_owned(),
        });
        let line = quoted.collect::<Vec<_>>().join(",");
        println!("{line}");
        let _ = writeln!(self.0, "{line}");
    }
}

/// Relative error in percent.
fn percent(found: f64, expected: f64) -> String {
    format!("{:+.2} %", 100.0 * (found / expected - 1.0))
}

// ---- closed forms ----

fn theory() -> Csv {
    let mut csv = Csv::new(
        "theory",
        "all steps solved",
        &["what", "mesh and steps", "expected", "measured", "error"],
    );
    let mut row = |what: &str, mesh: String, expected: f64, found: f64, digits: usize| {
        csv.push(&[
            what.to_owned(),
            mesh,
            format!("{expected:.digits$}"),
            format!("{found:.digits$}"),
            percent(found, expected),
        ]);
    };
    let all_solved = |found: Measured| {
        assert_eq!(found.report.unconverged, 0, "{found:?}");
        found.value
    };
    for (stretch, expected) in [
        (StretchModel::StretchShear, 9.810),
        (StretchModel::Trispring, 9.625),
        (StretchModel::Springs, 9.810),
    ] {
        for steps in [1, 4, 16] {
            let found = 1e3 * all_solved(elongation(hung_settings(stretch, steps)));
            let what = format!("strip that hangs, K 100 N/m, `{}` [mm]", stretch.name());
            row(&what, format!("5 x 41, {steps} a frame"), expected, found, 3);
        }
    }
    for (poisson_ratio, expected) in [(0.0, 1.0), (0.3, 0.9971)] {
        let settings = hung_settings(StretchModel::Trispring, 1);
        let found = all_solved(width_ratio(Implicit { poisson_ratio, ..settings }));
        let what =
            format!("its width at half height over that at rest, Poisson ratio {poisson_ratio}");
        row(&what, "9 x 41, 1 a frame".into(), expected, found, 4);
    }
    for (stretch, expected) in [
        (StretchModel::StretchShear, 30.496),
        (StretchModel::Trispring, 39.011),
        (StretchModel::Springs, sheared_springs(0.1)),
    ] {
        let found = shear_force(Implicit { stretch, ..Implicit::default() });
        let what = format!("force at a shear of 0.1, `{}` [N]", stretch.name());
        row(&what, "5 x 2, one step of 1/600 s".into(), expected, found, 3);
    }
    for substeps in [1, 4, 16] {
        let omega = std::f64::consts::TAU;
        let expected = (1.0 + 2.0 * omega * omega / 60.0 / f64::from(substeps)).powf(-0.5);
        let settings =
            Implicit { substeps, tolerance: 0.001, max_iterations: 400, ..Implicit::default() };
        let found = all_solved(spin_left(settings));
        let what = "spin left after 1 s at a revolution a second";
        row(what, format!("5 x 5, {substeps} a frame"), expected, found, 4);
    }
    for (reach, expected) in [(0.5, 0.8), (1.0, 0.5), (2.0, 0.2)] {
        let what = format!("energy that a step leaves a mode of omega h = {reach}");
        row(&what, "2 x 2, 1 a frame".into(), expected, energy_kept(reach), 3);
    }
    for steps in [50, 100] {
        let found = swing_error(steps) / swing_error(2 * steps);
        let what = "error of half a swing over that at half the step";
        row(what, format!("2 x 2, {steps} and {}", 2 * steps), 2.0, found, 3);
    }
    csv
}

// ---- cantilevers ----

fn cantilevers() -> Csv {
    let mut csv = Csv::new(
        "cantilever",
        "at most 1000 iterations a step",
        &["bends", "segments", "1 step a frame", "4 steps", "16 steps"],
    );
    let (load, expected) = (10.0, 0.70020);
    for bend in [BendModel::FaceAngle, BendModel::PlaneProjection, BendModel::Isometric] {
        for segments in [10, 20, 40, 80] {
            let mut cells = vec![format!("`{}`", bend.name()), segments.to_string()];
            for substeps in [1, 4, 16] {
                let settled = |frames, tolerance| {
                    let implicit = Implicit { tolerance, ..beam(load, substeps, bend) };
                    cantilever(segments, implicit, frames)
                };
                let found = settled(100, 0.003);
                let mut cell = percent(found.value, expected);
                // Unconverged strips may still be moving down.
                if found.unsolved() > 0.1 {
                    let later = settled(600, 0.003);
                    let _ = write!(
                        cell,
                        ", unsolved {:.0} %; after 10 s {}",
                        100.0 * found.unsolved(),
                        percent(later.value, expected)
                    );
                }
                cells.push(cell);
            }
            csv.push(&cells);
        }
    }
    csv
}

// ---- columns ----

fn buckling() -> Csv {
    let mut csv = Csv::new(
        "buckling",
        "bisected to 0.5 % of the load of theory",
        &[
            "solver",
            "what stands",
            "steps a frame",
            "step over a^2 sqrt(sigma / B)",
            "load over theory",
            "bow at 0.95",
            "bow at 1.05",
        ],
    );
    let mut row =
        |name: &str, is_sheet: bool, segments: u32, steps: u32, solver: &dyn Fn(f64) -> Solver| {
            let columns = if is_sheet { 8 } else { 1 };
            let cloth = sheet_on_end(Cells::Quads, columns, segments);
            let critical = critical_load(&cloth, segments, solver);
            let edge = edge_on_end(segments);
            // Relative step at the theoretical load.
            let step = 1.0 / 60.0 / f64::from(steps) / edge.powi(2) / (GREENHILL / G).sqrt();
            let bows = [0.95, 1.05]
                .map(|part| bow(cloth.clone(), segments, solver(part * GREENHILL), 480).value);
            let what = if is_sheet { "sheet" } else { "strip" };
            csv.push(&[
                name.to_owned(),
                format!("{what} of {segments} segments"),
                steps.to_string(),
                format!("{step:.2}"),
                critical.map_or("buckles at all".into(), |critical| format!("{critical:.3}")),
                format!("{:.1}", bows[0]),
                format!("{:.0}", bows[1]),
            ]);
        };
    for (is_sheet, segments) in [(false, 20), (false, 40), (true, 20)] {
        for substeps in [8, 20, 30, 40, 60, 80, 200] {
            let xpbd = |load: f64| {
                let bending_rigidity = (SIGMA * G / load) as f32;
                Xpbd { substeps, bending_rigidity, ..Xpbd::default() }.into()
            };
            row("XPBD", is_sheet, segments, substeps, &xpbd);
        }
    }
    let fine = |bend, substeps, stretch: f32| {
        move |load: f64| {
            let stretch_stiffness = [stretch; 2];
            let shear_stiffness = 0.3 * stretch;
            let tolerance = 1e-4;
            let settings = beam(load, substeps, bend);
            Implicit { tolerance, stretch_stiffness, shear_stiffness, ..settings }.into()
        }
    };
    let (face, plane) = (BendModel::FaceAngle, BendModel::PlaneProjection);
    for (bend, is_sheet, segments, substeps, stretch) in [
        (face, false, 20, 1, 1000.0),
        (face, false, 20, 4, 1000.0),
        (face, false, 20, 16, 1000.0),
        (face, false, 20, 1, 200.0),
        (face, false, 20, 4, 200.0),
        (face, false, 20, 16, 200.0),
        (face, false, 40, 4, 1000.0),
        (face, false, 40, 16, 1000.0),
        (plane, false, 20, 4, 1000.0),
        (plane, false, 20, 16, 1000.0),
        (plane, false, 40, 16, 1000.0),
        (face, true, 20, 16, 1000.0),
    ] {
        let name = format!("implicit, `{}`, K {stretch} N/m", bend.name());
        row(&name, is_sheet, segments, substeps, &fine(bend, substeps, stretch));
    }
    csv
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(arguments.first().ok_or("which folder?")?);
    std::fs::create_dir_all(folder)?;
    let part = arguments.get(1).map_or("", String::as_str);
    type Part = (&'static str, &'static str, fn() -> Csv);
    let parts: [Part; 3] = [
        ("theory", "implicit_theory.csv", theory),
        ("cantilever", "implicit_cantilever.csv", cantilevers),
        ("buckling", "buckling.csv", buckling),
    ];
    for (name, file, measure) in parts {
        if part.is_empty() || part == name {
            std::fs::write(folder.join(file), measure().0)?;
        }
    }
    Ok(())
}
