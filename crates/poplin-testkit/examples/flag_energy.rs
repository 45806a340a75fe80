//! Ten minutes of a flag with the implicit solver, to check that its energy does not drift.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p poplin-testkit --example flag_energy -- FOLDER
//! [MINUTES]` writes `flag_energy.csv` with one row per second: the means over its frames of
//! kinetic energy, of the energy of stretch, shear and bending, of potential energy by height, and
//! of their sum with its least and largest value; and `flag_energy.svg`. It prints the same values
//! for the first and last minute. The flag has 16 x 16 particles, a square meter, 0.2 kg, K = 1000
//! N/m, G = 300 N/m, B = 1e-5 N m, 4 steps of 1/240 s, and the wind of the shipped scene.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use plotters::prelude::*;
use poplin_model::{Air, ClothDesc, Implicit};
use poplin_scene::{Gust, Wind};
use poplin_testkit::beams::G;
use poplin_testkit::implicit::{
    energies, implicit_oracle, positions, report, sheet, simulation, solved,
};
use poplin_testkit::nth_cloth;

const SIDE: u32 = 16;
const SUBSTEPS: u32 = 4;

/// Energies of a frame, or their means over several frames \[J\].
#[derive(Debug, Clone, Copy, Default)]
struct Energies {
    kinetic: f64,
    elastic: f64,
    height: f64,
}

impl Energies {
    fn total(&self) -> f64 {
        self.kinetic + self.elastic + self.height
    }
}

/// Means, and the range of the total energy.
struct Summary {
    mean: Energies,
    least: f64,
    most: f64,
}

impl Summary {
    fn of(frames: &[Energies]) -> Self {
        let mean =
            |of: fn(&Energies) -> f64| frames.iter().map(of).sum::<f64>() / frames.len() as f64;
        let totals = || frames.iter().map(Energies::total);
        Self {
            mean: Energies {
                kinetic: mean(|it| it.kinetic),
                elastic: mean(|it| it.elastic),
                height: mean(|it| it.height),
            },
            least: totals().fold(f64::MAX, f64::min),
            most: totals().fold(f64::MIN, f64::max),
        }
    }

    fn cells(&self) -> String {
        let Energies { kinetic, elastic, height } = self.mean;
        let total = self.mean.total();
        format!(
            "{kinetic:.5},{elastic:.5},{height:.5},{total:.5},{:.5},{:.5}",
            self.least, self.most
        )
    }
}

/// Creates a square cloth held by its left edge, in the x-y plane.
fn flag() -> (ClothDesc, Implicit) {
    let mut cloth = sheet(SIDE, SIDE, 1.0, 1.0, (0..SIDE).map(|row| row * SIDE).collect());
    for particle in &mut cloth.particles {
        let [x, y, z] = particle.position;
        particle.position = [x, -z, y];
    }
    cloth.config.damping = [0.05; 3];
    cloth.config.air = Air { drag: 0.04, lift: 0.04, density: 1.2, ..Air::default() };
    let implicit = Implicit { substeps: SUBSTEPS, bending_rigidity: 1e-5, ..Implicit::default() };
    (solved(cloth, implicit.clone()), implicit)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let minutes: usize = arguments.next().map_or(Ok(10), |minutes| minutes.parse())?;
    let gust = Gust { strength: 6.0, period: 0.3, seed: 3, direction_spread: 1.0 };
    let wind = Wind { velocity: [8.0, 0.0, 0.0], gust };
    let (cloth, implicit) = flag();
    let oracle = implicit_oracle(&cloth, &implicit);
    let weights: Vec<_> =
        oracle.inverse_masses.iter().map(|w| if *w > 0.0 { G / w } else { 0.0 }).collect();
    let level = cloth.particles.iter().map(|p| f64::from(p.position[1])).sum::<f64>()
        / cloth.particles.len() as f64;
    let mut simulation = simulation(cloth);
    let (id, h) = (nth_cloth(0), 1.0 / 60.0 / f64::from(SUBSTEPS));
    let mut frames = Vec::new();
    for frame in 0..minutes * 3600 {
        let mut config = simulation.cloth(id)?.desc().config.clone();
        config.air.wind_velocity = wind.velocity_at(frame as f64 / 60.0);
        simulation.cloth_mut(id)?.set_config(config)?;
        simulation.step(1.0 / 60.0)?;
        let state = simulation.state()?;
        let [kinetic, elastic] = energies(&oracle, &state, h);
        let heights = positions(&state).into_iter().zip(&weights);
        let height = heights.map(|(x, weight)| weight * (x[1] - level)).sum();
        frames.push(Energies { kinetic, elastic, height });
    }
    let head = "kinetic,elastic,height,total,least,most";
    let mut csv = format!("# {:?}\nsecond,{head}\n", report(&simulation.state()?));
    let seconds: Vec<_> = frames.chunks(60).map(Summary::of).collect();
    for (second, summary) in seconds.iter().enumerate() {
        writeln!(csv, "{second},{}", summary.cells())?;
    }
    std::fs::write(folder.join("flag_energy.csv"), csv)?;
    println!("minute,{head}");
    for minute in [0, minutes - 1] {
        let frames = &frames[3600 * minute..3600 * (minute + 1)];
        println!("{},{}", minute + 1, Summary::of(frames).cells());
    }
    println!("{:?}", report(&simulation.state()?));
    draw(&seconds, &folder.join("flag_energy.svg"))
}

/// Plots mean, least and largest total energy of every second.
fn draw(seconds: &[Summary], path: &Path) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::new(path, (720, 240)).into_drawing_area();
    area.fill(&WHITE)?;
    let of = |value: fn(&Summary) -> f64| -> Vec<(f64, f64)> {
        seconds.iter().enumerate().map(|(second, it)| (second as f64 / 60.0, value(it))).collect()
    };
    let [least, mean, most] = [of(|it| it.least), of(|it| it.mean.total()), of(|it| it.most)];
    let low = least.iter().map(|it| it.1).fold(f64::MAX, f64::min);
    let high = most.iter().map(|it| it.1).fold(f64::MIN, f64::max);
    let margin = 0.05 * (high - low);
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..seconds.len() as f64 / 60.0, low - margin..high + margin)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("minutes")
        .y_desc("energy [J]")
        .label_style(("sans-serif", 12))
        .draw()?;
    let pale = RGBColor(0x9e, 0xc4, 0xe0);
    for line in [least, most] {
        chart.draw_series(LineSeries::new(line, pale.stroke_width(1)))?;
    }
    let blue = RGBColor(0x1f, 0x77, 0xb4);
    chart.draw_series(LineSeries::new(mean, blue.stroke_width(1)))?;
    area.present()?;
    Ok(())
}
