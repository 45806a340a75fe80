//! Natural frequencies of clamped strips on five kinds of meshes, from scene files as users write
//! them.
//!
//! `cargo xtask tables` writes the rows of the guide.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use poplin_testkit::beams::Cells;
use poplin_testkit::generated::{assert_block, markdown_table};

use crate::friction::run_files;
use crate::yarns::obj;

/// Rigidity \[N m\] and mass per area \[kg/m^2\] of a strip of 1 m x 0.4 m.
const RIGIDITY: f64 = 1.0;
const DENSITY: f64 = 0.2;

/// `k^2` of the first two modes of a clamped beam of length 1: `cos k cosh k = -1`. A strip has the
/// frequencies of a beam since Poisson's ratio is 0.
const ROOTS: [f64; 2] = [3.516_015, 22.034_49];

/// Place along the strip about which the first mode has no part in a rotation: the mean of place
/// times deflection over that of the deflection.
const PIVOT: f64 = 0.726_5;

/// Speed at the start \[m/s\]: of the strip, and of its free end around the pivot. The first mode
/// moves by 4 cm. At a tenth of it, implicit steps round positions by as much as cloth accelerates.
const SPEED: f64 = 0.2;

/// Largest errors of both modes with 10 and 20 rows. A mesh of 10 rows has two and a half of them
/// for a quarter of a wave of the second mode.
const ALLOWED: [[f64; 2]; 2] = [[0.02, 0.02], [0.05, 0.025]];

/// Error above which a cell is bold.
const BOLD: f64 = 0.02;

/// Frames per second.
const RATE: f64 = 480.0;

/// Solvers, by name.
const SOLVERS: [&str; 3] = ["implicit", "xpbd", "multilevel"];

/// Solver of a scene, with steps of a quarter of `a^2 sqrt(sigma / B)` for XPBD.
fn solver(name: &str, rows: u32, cells: Cells) -> String {
    if name != "xpbd" {
        let precise = match name {
            "implicit" => "tolerance = 1e-4\nmax_iterations = 1000\nbend = \"face_angle\"\n",
            _ => "",
        };
        return format!(
            "[cloth.solver.{name}]\nsubsteps = 2\nbending_rigidity = {RIGIDITY}\n\
             stretch_stiffness = [3000, 3000]\nshear_stiffness = 1000\n{precise}"
        );
    }
    let edge_square = if cells == Cells::Cross { 0.5 } else { 1.0 } / f64::from(rows).powi(2);
    let longest = 0.25 * edge_square * (DENSITY / RIGIDITY).sqrt();
    let substeps = (1.0 / RATE / longest).ceil().max(4.0);
    format!("[cloth.solver.xpbd]\nsubsteps = {substeps}\nbending_rigidity = {RIGIDITY}\n")
}

/// Frequency of a mode \[Hz\] of a strip that starts flat and moves like that mode.
fn frequency(cells: Cells, rows: u32, name: &str, mode: usize) -> f64 {
    let edge = 1.0 / f64::from(rows);
    let mesh = cells.mesh(2 * rows / 5, rows + 1);
    let file = obj(&mesh, |[across, _, along]| [along * edge - edge, 0.0, across * edge]);
    let (mut pins, mut ends, mut sum, mut count) = (String::new(), Vec::new(), 0.0, 0.0);
    for (vertex, place) in mesh.positions.iter().enumerate() {
        let along = f64::from(place[2]) * edge - edge;
        if along < 0.5 * edge {
            write!(pins, "{}{vertex}", if pins.is_empty() { "" } else { "," }).unwrap();
        } else {
            sum += along;
            count += 1.0;
        }
        if along > 1.0 - 1e-6 {
            ends.push(vertex);
        }
    }
    // The center of mass about which the scene turns is nearly that of the vertices.
    let turn = if mode == 0 { 0.0 } else { SPEED };
    let speed = if mode == 0 { SPEED } else { turn * (sum / count - PIVOT) };
    let text = format!(
        "frame_rate = {RATE}\n\n[[cloth]]\nname = \"strip\"\nmesh = \"strip.obj\"\n\
         pins = \"indices:{pins}\"\ndensity = {DENSITY}\ngravity = [0, 0, 0]\nperturbation = 0\n\
         velocity = [0, {speed}, 0]\nangular_velocity = [0, 0, {}]\n\
         fabric = {{ tethers = \"none\" }}\n{}",
        turn.to_degrees(),
        solver(name, rows, cells)
    );
    let expected = expected(mode);
    let frames = ((if mode == 0 { 2.2 } else { 4.2 }) / expected * RATE) as u32;
    let name = format!("vibration-{}-{rows}-{name}-{mode}", cells.name().replace(' ', "-"));
    let positions = run_files(&name, &text, &[("strip.obj", &file)], frames);
    let height =
        |all: &Vec<[f64; 3]>| ends.iter().map(|&end| all[end][1]).sum::<f64>() / ends.len() as f64;
    fitted(&positions.iter().map(height).collect::<Vec<_>>(), mode)
}

fn expected(mode: usize) -> f64 {
    ROOTS[mode] * (RIGIDITY / DENSITY).sqrt() / TAU
}

/// Frequency \[Hz\] of a mode that fits heights best, beside a swing at the frequency of the first
/// one, within 30 % of what is expected.
fn fitted(heights: &[f64], mode: usize) -> f64 {
    let misfit = |hertz: f64| {
        let others = if mode == 0 { None } else { Some(expected(0)) };
        let waves = others.into_iter().chain([hertz]).flat_map(|hertz| {
            [f64::cos, f64::sin].map(|wave| {
                (0..heights.len())
                    .map(|frame| wave(TAU * hertz * frame as f64 / RATE))
                    .collect::<Vec<_>>()
            })
        });
        // Gram-Schmidt: what is left of the heights beside all waves.
        let mut left = heights.to_vec();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for mut wave in waves.chain([vec![1.0; heights.len()]]) {
            for other in &basis {
                remove(&mut wave, other);
            }
            let length = dot(&wave, &wave).sqrt();
            wave.iter_mut().for_each(|it| *it /= length);
            remove(&mut left, &wave);
            basis.push(wave);
        }
        dot(&left, &left)
    };
    let [mut low, mut high] = [0.7, 1.3].map(|part| part * expected(mode));
    for _ in 0..4 {
        let step = (high - low) / 40.0;
        let tried = (0..=40).map(|k| low + f64::from(k) * step);
        let best = tried.min_by(|a, b| misfit(*a).total_cmp(&misfit(*b))).expect("41 of them");
        [low, high] = [best - step, best + step];
    }
    0.5 * (low + high)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Removes the part of `a` along `b`, of length 1.
fn remove(a: &mut [f64], b: &[f64]) {
    let part = dot(a, b);
    a.iter_mut().zip(b).for_each(|(a, b)| *a -= part * b);
}

#[test]
fn strips_vibrate_at_the_frequencies_of_a_beam() {
    let mut rows_of_table = Vec::new();
    let mut is_good = true;
    for cells in Cells::ALL {
        for (resolution, rows) in [10, 20].into_iter().enumerate() {
            let mut row = vec![cells.name().to_owned(), rows.to_string()];
            for solver in SOLVERS {
                for mode in [0, 1] {
                    let error = frequency(cells, rows, solver, mode) / expected(mode) - 1.0;
                    let text = format!("{:+.1} %", 100.0 * error);
                    row.push(if error.abs() < BOLD { text } else { format!("**{text}**") });
                    is_good &= error.abs() < ALLOWED[mode][resolution];
                }
            }
            eprintln!("{row:?}");
            rows_of_table.push(row);
        }
    }
    let head = ["cells", "rows", "implicit: f1", "f2", "XPBD: f1", "f2", "multilevel: f1", "f2"];
    let table = markdown_table(&head, &rows_of_table);
    assert_block("crates/poplin/guide/validation.md", "vibration", &table);
    assert!(is_good, "{table}");
}
