//! Compares semi-implicit fibers with Gauss-Seidel: effect and cost of one iteration, stretch of
//! hanging cloths, and the cost of a frame in which a swinging sheet stays within 1 % of its
//! length. Writes tables as Markdown, numbers as CSV, a plot as SVG.
//!
//! `cargo run --release -p poplin-testkit --example convergence [-- [--out FOLDER]
//! [SHIRT.obj]]`, on an idle machine: 20 minutes. `--swing "stretch, whole"` runs only the swinging
//! sheets, for solvers whose names contain that text. Without a shirt (a garment of triangles that
//! hangs by the top 3 % of its height), its columns are left out.
//!
//! Every cloth has the same edges, masses, stiffness and start state for all solvers; the name of a
//! solver states which phases are solved semi-implicitly. `poplin_testkit::fibers` describes each
//! measurement.

mod hanging;
mod plot;
mod swinging;
mod table;

use std::error::Error;
use std::path::PathBuf;

use poplin_io::read_obj;
use poplin_scene::PinRule;
use poplin_testkit::fibers::{Pins, WHOLE, hanging_chain, hanging_mesh, hanging_sheet};

use crate::hanging::Named;

/// Steps per second of hanging cloths [1/s].
const FREQUENCIES: [u32; 2] = [60, 300];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut folder, mut shirt, mut only) = (PathBuf::from("out/convergence"), None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => folder = arguments.next().ok_or("--out needs a folder")?.into(),
            "--swing" => {
                only = Some(
                    arguments
                        .next()
                        .ok_or("--swing needs a part of a solver's name, \"\" for all")?,
                )
            }
            _ => shirt = Some(argument),
        }
    }
    std::fs::create_dir_all(&folder)?;
    if let Some(only) = only {
        for side in [16, 64] {
            swinging::ladders(side, &only, &folder)?;
        }
        return Ok(());
    }

    let named = |name: &str, cloth, is_shown| Named { name: name.to_owned(), cloth, is_shown };
    let mut cloths = vec![named("chain of 64", hanging_chain(64), true)];
    for side in [32, 64] {
        for (pins, by) in [(Pins::TopRow, "upper row"), (Pins::Corners, "corners")] {
            cloths.push(named(
                &format!("{side} x {side} by {by}"),
                hanging_sheet(side, pins, WHOLE),
                true,
            ));
        }
        let name = format!("{side} x {side} by upper row, fibers of 1");
        cloths.push(named(&name, hanging_sheet(side, Pins::TopRow, 1), false));
    }
    if let Some(path) = shirt {
        let mesh = read_obj(&path)?;
        let pins = "top:3%".parse::<PinRule>()?.select(&mesh.positions)?;
        cloths.push(named("shirt", hanging_mesh(&mesh, pins)?, true));
    }

    let curves = hanging::residuals(&cloths, &folder)?;
    hanging::costs(&cloths, &folder)?;
    hanging::at_rest(&cloths, &FREQUENCIES, &folder)?;
    swinging::ladders(16, "", &folder)?;
    let ladders = swinging::ladders(64, "", &folder)?;
    plot::draw(&curves, &ladders, &folder.join("convergence.svg"))?;
    Ok(())
}
