//! Writes the tables *drape* of the guide: Cusick's drape test of the materials on two kinds of
//! meshes at three resolutions, with shorter steps, and with other solvers.
//!
//! `cargo run --release -p poplin-run --example drape` runs the scene file beside this file with
//! other values and prints the tables. `-- FOLDER` keeps the scenes and meshes there.

#![expect(clippy::print_stdout, reason = "the program prints tables")]

mod disc;
mod shadow;
mod specimen;

use std::path::{Path, PathBuf};

use disc::{Cells, Disc};
use poplin_run::Failure;
use rayon::prelude::*;
use specimen::{Drape, drape};

/// Materials, and the drape coefficients that are usual for fabrics of the kind \[%\].
const MATERIALS: [(&str, [f64; 2]); 4] = [
    ("silk", [20.0, 40.0]),
    ("wool", [40.0, 70.0]),
    ("cotton", [60.0, 76.0]),
    ("denim", [70.0, 90.0]),
];

/// Edges per radius: 750, 2,000 and 5,000 particles.
const COUNTS: [usize; 3] = [15, 25, 40];

/// Multilevel, 240 steps per second.
const DEFAULT: &str = "multilevel = {}";

/// Multilevel with a quarter of the step.
const SHORT: &str = "multilevel = { frequency = 960 }";

/// XPBD as a material sets it, 1,200 steps per second.
const XPBD: &str = "xpbd = {}";

/// XPBD with a quarter of the step.
const SHORT_XPBD: &str = "xpbd = { frequency = 4800 }";

/// Implicit steps that are solved.
const SOLVED: &str = "implicit = { tolerance = 0.01, max_iterations = 1000 }";

/// Difference from the coarsest mesh above which a cell is bold.
const MOST_DIFFERENCE: f64 = 0.05;

/// Change of the drape coefficient in the last second above which a cell is bold.
const MOST_CHANGE: f64 = 0.005;

/// Kind of mesh, solver and edges per radius of a specimen.
type Column = (Cells, &'static str, usize);

/// Drapes a specimen in a folder of its own.
fn run(material: &str, (cells, solver, count): Column, folder: &Path) -> Result<Drape, Failure> {
    let hertz = if [SHORT, SHORT_XPBD].contains(&solver) { "-short" } else { "" };
    let kind = solver.split(' ').next().unwrap_or_default();
    let folder = folder.join(format!("{material}-{cells:?}-{kind}{hertz}-{count}"));
    std::fs::create_dir_all(&folder).expect("the folder is writable");
    let changes =
        [["material = \"cotton\"", &format!("material = \"{material}\"")], [DEFAULT, solver]];
    drape(&Disc::new(cells, count), &folder, &changes)
}

/// Returns a cell of a table: the drape coefficient \[%\] and the number of folds.
fn cell(drape: Drape, coarsest: Drape, [low, high]: [f64; 2]) -> String {
    let percent = 100.0 * drape.coefficient;
    let difference = (drape.coefficient / coarsest.coefficient - 1.0).abs();
    let is_good = (low..=high).contains(&percent)
        && difference <= MOST_DIFFERENCE
        && drape.change <= MOST_CHANGE;
    let text = format!("{percent:.1}, {}", drape.folds);
    if is_good { format!(" {text} |") } else { format!(" **{text}** |") }
}

/// Prints a table of some columns, in groups that begin with their coarsest mesh.
fn print_table(head: &str, groups: &[Vec<Column>], folder: &Path) -> Result<(), Failure> {
    println!("| material | usual | {head} |\n|---|---|{}", "---:|".repeat(groups.concat().len()));
    for (material, band) in MATERIALS {
        let mut cells = String::new();
        for group in groups {
            let drapes = group.par_iter().map(|&column| run(material, column, folder));
            let drapes: Vec<_> = drapes.collect::<Result<_, _>>()?;
            cells.extend(drapes.iter().map(|&drape| cell(drape, drapes[0], band)));
        }
        println!("| {material} | {} to {} |{cells}", band[0], band[1]);
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let stated = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = stated.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("poplin-drape-{}", std::process::id()))
    });
    let group = |cells, solver, counts: &[usize]| -> Vec<Column> {
        counts.iter().map(|&count| (cells, solver, count)).collect()
    };
    let meshes = [Cells::Quads, Cells::Triangles].map(|cells| group(cells, DEFAULT, &COUNTS));
    print_table("quads: 15 edges | 25 | 40 | triangles: 15 edges | 25 | 40", &meshes, &folder)?;
    println!();
    let solvers = [(SHORT, 2), (XPBD, 3), (SHORT_XPBD, 2), (SOLVED, 1)];
    let solvers = solvers.map(|(solver, count)| group(Cells::Quads, solver, &COUNTS[..count]));
    let head = "multilevel, 960 Hz: 15 edges | 25 | XPBD, 1,200 Hz: 15 edges | 25 | 40 \
                | XPBD, 4,800 Hz: 15 edges | 25 | implicit: 15 edges";
    print_table(head, &solvers, &folder)?;
    if stated.is_none() {
        std::fs::remove_dir_all(&folder).expect("it was written above");
    }
    Ok(())
}
