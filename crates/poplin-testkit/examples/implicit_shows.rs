//! Pictures of the implicit solver: `RAYON_NUM_THREADS=1 cargo run --release -p poplin-testkit
//! --example implicit_shows -- FOLDER`.
//!
//! `drapes.png`: a square meter of 33 x 33 particles (0.2 kg, K = 1000 N/m, G = 300 N/m, B = 1e-4 N
//! m) over a ball of 0.2 m on a floor, with each pair of models and 8 steps per frame; times and
//! results are printed as CSV. `columns.png`: sheets clamped upright, 20 segments high, under
//! growing loads, after 8 s with 16 steps per frame.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use poplin::State;
use poplin_model::{BendModel, ClothDesc, Implicit, Plane, Sphere, StretchModel};
use poplin_picture::{ContactSheet, Surface, cloth_color};
use poplin_testkit::beams::{Cells, GREENHILL, sheet_on_end};
use poplin_testkit::implicit::{beam, column, positions, report, sheet, simulation, solved};

const FRAMES: u32 = 150;

fn surface(cloth: &ClothDesc, state: &State) -> Surface {
    let positions = positions(state).into_iter().map(|x| x.map(|x| x as f32)).collect();
    Surface::new(positions, cloth.fabric.triangles.clone(), cloth_color(0))
}

/// Area of the shadow of a cloth under light from above \[m^2\], in pixels of 5 mm.
fn shadow(cloth: &ClothDesc, x: &[[f64; 3]]) -> f64 {
    let (side, pixel) = (400, 0.005);
    let mut is_dark = vec![false; side * side];
    let at = |x: f64| x / pixel + 0.5 * side as f64;
    for triangle in &cloth.fabric.triangles {
        let [a, b, c] = triangle.map(|i| [at(x[i as usize][0]), at(x[i as usize][2])]);
        let area = |p: [f64; 2], q: [f64; 2], r: [f64; 2]| {
            (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
        };
        let range = |k: usize| {
            let low = a[k].min(b[k]).min(c[k]).max(0.0) as usize;
            low..(a[k].max(b[k]).max(c[k]) as usize + 1).min(side)
        };
        for row in range(1) {
            for column in range(0) {
                let p = [column as f64 + 0.5, row as f64 + 0.5];
                let sides = [area(a, b, p), area(b, c, p), area(c, a, p)];
                let is_inside =
                    sides.iter().all(|side| *side >= 0.0) || sides.iter().all(|side| *side <= 0.0);
                is_dark[row * side + column] |= is_inside;
            }
        }
    }
    is_dark.iter().filter(|is_dark| **is_dark).count() as f64 * pixel * pixel
}

/// 99th percentile of the strains along the threads.
fn strain(cloth: &ClothDesc, x: &[[f64; 3]]) -> f64 {
    let kinds = cloth.fabric.edge_kinds();
    let edges = cloth.fabric.edges().filter(|&(edge, _)| kinds[edge].is_stretch());
    let of_edge = |(edge, [a, b]): (usize, [u32; 2])| {
        let square: f64 = (0..3).map(|k| (x[a as usize][k] - x[b as usize][k]).powi(2)).sum();
        (square.sqrt() / f64::from(cloth.fabric.rest_lengths[edge]) - 1.0).abs()
    };
    let mut strains: Vec<_> = edges.map(of_edge).collect();
    strains.sort_by(f64::total_cmp);
    strains[strains.len() * 99 / 100]
}

fn drapes(path: &Path) -> Result<(), Box<dyn Error>> {
    let ball = Sphere { center: [0.0, 0.2, 0.0], radius: 0.2 };
    let mut picture =
        ContactSheet::new(BendModel::ALL.len() as u32, StretchModel::ALL.len() as u32, 300)?;
    println!(
        "stretch,bend,ms a frame,unsolved steps [%],shadow [m^2],mean height [m],p99 strain [%]"
    );
    for stretch in StretchModel::ALL {
        for bend in BendModel::ALL {
            let implicit = Implicit {
                substeps: 8,
                stretch,
                bend,
                bending_rigidity: 1e-4,
                ..Implicit::default()
            };
            let mut cloth = solved(sheet(33, 33, 1.0, 1.0, Vec::new()), implicit);
            for particle in &mut cloth.particles {
                let [x, y, z] = particle.position;
                particle.position = [x - 0.5, y + 0.45, z - 0.5];
            }
            cloth.config.contact.friction = 0.3;
            cloth.config.thickness = 0.01;
            cloth.config.damping = [0.2; 3];
            let mut simulation = simulation(cloth.clone());
            // Margin of 5 mm for the thickness of the cloth.
            simulation.colliders_mut().add(Sphere { radius: 0.205, ..ball })?;
            simulation.colliders_mut().add(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 })?;
            let mut times = Vec::new();
            for _ in 0..FRAMES {
                let start = Instant::now();
                simulation.step(1.0 / 60.0)?;
                times.push(1e3 * start.elapsed().as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            let state = simulation.state()?;
            let (report, x) = (report(&state), positions(&state));
            println!(
                "{},{},{:.1},{:.0},{:.3},{:.3},{:.2}",
                stretch.name(),
                bend.name(),
                times[times.len() / 2],
                100.0 * f64::from(report.unconverged) / f64::from(report.steps),
                shadow(&cloth, &x),
                x.iter().map(|x| x[1]).sum::<f64>() / x.len() as f64,
                100.0 * strain(&cloth, &x),
            );
            let label = format!("{}, {}", stretch.name(), bend.name());
            picture.add_with_colliders(label, vec![surface(&cloth, &state)], vec![ball.into()])?;
        }
    }
    Ok(picture.write_png(path)?)
}

fn columns(path: &Path) -> Result<(), Box<dyn Error>> {
    let parts = [0.8, 0.95, 1.2, 2.0];
    let mut picture = ContactSheet::new(parts.len() as u32, 1, 400)?;
    for part in parts {
        let implicit =
            Implicit { tolerance: 1e-4, ..beam(part * GREENHILL, 16, BendModel::FaceAngle) };
        let cloth = column(sheet_on_end(Cells::Quads, 8, 20), implicit.into());
        let mut simulation = simulation(cloth.clone());
        for _ in 0..480 {
            simulation.step(1.0 / 60.0)?;
        }
        let state = simulation.state()?;
        let label = format!("{part} of Greenhill's load");
        picture.add(label, vec![surface(&cloth, &state)])?;
    }
    Ok(picture.write_png(path)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    drapes(&folder.join("drapes.png"))?;
    columns(&folder.join("columns.png"))
}
