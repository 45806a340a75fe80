//! Writes the tables *hold* of the guide: how friction holds cloth, and at which load it slides.
//!
//! `cargo run --release -p poplin-run --example hold` runs the scene files beside this file with
//! other values, XPBD and implicit, with contact of particles and of triangles, and prints the
//! tables. They take a quarter of an hour.

#![expect(clippy::print_stdout, reason = "the program prints tables")]

use std::f64::consts::FRAC_PI_2;
use std::path::Path;

use poplin::{Backend, Simulation};
use poplin_run::{Failure, Job, JobSimulation};

type Vec3 = [f64; 3];

const GRAVITY: f64 = 9.81;
/// Thickness of cloth in triangle contact \[m\].
const THICKNESS: f64 = 0.002;
/// Creep above which a hold has failed [um/s].
const MOST_CREEP: f64 = 10.0;
/// Factors on the slope that friction holds.
const SLOPES: [f64; 4] = [0.8, 0.95, 1.05, 1.2];

/// Solver and contact of a row.
#[derive(Clone, Copy)]
struct Row {
    solver: &'static str,
    contact: &'static str,
}

const ROWS: [Row; 4] = [
    Row { solver: "xpbd", contact: "particles" },
    Row { solver: "xpbd", contact: "triangles" },
    Row { solver: "implicit", contact: "particles" },
    Row { solver: "implicit", contact: "triangles" },
];

impl Row {
    fn thickness(self) -> f64 {
        if self.contact == "triangles" { THICKNESS } else { 0.0 }
    }

    /// Returns the first cells of a row of a table.
    fn cells(self) -> String {
        let solver = if self.solver == "xpbd" { "XPBD" } else { "implicit" };
        format!("| {solver} | {} |", self.contact)
    }

    /// Runs a scene with other values, `[before, after]` in its text. Returns the mean position of
    /// its cloth at the start and after each frame, and the mean force on bodies in the last second
    /// \[N\].
    fn run(
        self,
        scene: &str,
        frames: u32,
        changes: &[[String; 2]],
    ) -> Result<(Vec<Vec3>, f64), Failure> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hold"));
        let path = folder.join(scene);
        let mut text = std::fs::read_to_string(&path).expect("scenes are beside this file");
        let own = [
            ["contact = \"particles\"".to_owned(), format!("contact = \"{}\"", self.contact)],
            ["solver = { xpbd".to_owned(), format!("solver = {{ {}", self.solver)],
            ["thickness = 0".to_owned(), format!("thickness = {}", self.thickness())],
        ];
        for [before, after] in own.iter().chain(changes) {
            assert_eq!(text.matches(before).count(), 1, "{scene}: {before}");
            text = text.replace(before, after);
        }
        let changed = std::env::temp_dir().join(format!("poplin-hold-{}.toml", std::process::id()));
        std::fs::write(&changed, &text).expect("the temporary folder is writable");
        let job = Job::of_scene(&changed, None, |_| Ok(()))?;
        let mut running = JobSimulation::new(Simulation::new(Backend::Cpu)?, &job)?;
        let id = running.ids[0][0];
        let mut means = Vec::new();
        let mut force = 0.0;
        for frame in 0..=frames {
            if frame > 0 {
                running.advance(&job, frame)?;
            }
            let state = running.simulation.state()?;
            let mut sum = [0.0; 3];
            state.positions(id).for_each(|p| (0..3).for_each(|k| sum[k] += f64::from(p[k])));
            let count = state.positions(id).count() as f64;
            means.push(sum.map(|x| x / count));
            if frame + 60 > frames {
                // Impulse of the last of eight steps of 1/480 s, in each frame of the last second.
                let impulses = state.body_impulses(id).iter();
                force += impulses.map(|it| f64::from(it.linear[2])).sum::<f64>() * 480.0 / 60.0;
            }
        }
        std::fs::remove_file(&changed).expect("it was written above");
        Ok((means, force))
    }
}

/// Replaces one text by another in a scene.
fn change(before: &str, after: impl Into<String>) -> [String; 2] {
    [before.to_owned(), after.into()]
}

/// Returns a cell: bold if the row has failed.
fn cell(text: &str, is_good: bool) -> String {
    if is_good { format!(" {text} |") } else { format!(" **{text}** |") }
}

/// Returns a cell with a creep \[m/s\].
fn creep_cell(creep: f64) -> String {
    let creep = creep.abs() * 1e6;
    let text = match creep {
        1e5.. => "slides off".to_owned(),
        100.0.. => format!("{creep:.0}"),
        _ => format!("{creep:.2}"),
    };
    cell(&text, creep < MOST_CREEP)
}

fn grip() -> Result<(), Failure> {
    println!(
        "| solver | contact | force \\[N\\] | grip measured \\[N\\] | creeps \\[um/s\\] |\n|---|---|---:|---:|---:|"
    );
    for row in ROWS {
        for force in [12.0, 60.0] {
            let changes = [
                change("[-0.05, 0, 0]", format!("[-0.05, 0, {}]", 0.5 * row.thickness())),
                change("force = 12", format!("force = {force}")),
            ];
            let (means, grip) = row.run("grip.toml", 720, &changes)?;
            let creep = (means[120][1] - means[720][1]) / 10.0;
            println!("{} {force} | {grip:.3} |{}", row.cells(), creep_cell(creep));
        }
    }
    Ok(())
}

fn ramp() -> Result<(), Failure> {
    let frictions: Vec<_> = (1..=8).map(|k| f64::from(k) / 10.0).collect();
    let head: String = frictions.iter().map(|mu| format!(" {mu} |")).collect();
    println!(
        "| solver | contact | slope |{head}\n|---|---|---:|{}",
        "---:|".repeat(frictions.len())
    );
    for row in ROWS {
        for slope in SLOPES {
            let mut cells = String::new();
            for &friction in &frictions {
                let (sin, cos) = (slope * friction).atan().sin_cos();
                let changes = [
                    change(
                        "[4.214, -8.859, 0]",
                        format!("[{}, {}, 0]", GRAVITY * sin, -GRAVITY * cos),
                    ),
                    change("[0, 0.00001, 0]", format!("[0, {}, 0]", 0.5 * row.thickness() + 1e-5)),
                    change("friction = 0.5", format!("friction = {friction}")),
                ];
                let holds = slope < 1.0;
                let (means, _) = row.run("ramp.toml", if holds { 630 } else { 90 }, &changes)?;
                cells += &if holds {
                    creep_cell((means[630][0] - means[30][0]) / 10.0)
                } else {
                    // Distances in two periods of t differ by a t^2.
                    let a = (means[90][0] - 2.0 * means[60][0] + means[30][0]) / 0.25;
                    let ratio = a / (GRAVITY * (sin - friction * cos));
                    cell(&format!("{ratio:.3}"), (ratio - 1.0).abs() < 0.02)
                };
            }
            println!("{} {slope} |{cells}", row.cells());
        }
    }
    Ok(())
}

/// Tension over weight per length at the end of an arc that begins with `tension`, at which a strip
/// begins to slide towards the end \[m\]; angles from the top.
fn tension(tension: f64, friction: f64, radius: f64, [begin, end]: [f64; 2]) -> f64 {
    let count = 2000;
    let step = (end - begin) / f64::from(count);
    (0..count).fold(tension, |tension, k| {
        let (sin, cos) = (begin + (f64::from(k) + 0.5) * step).sin_cos();
        // dT/ds = mu (T / R + w cos) - w sin
        tension + (friction * (tension / radius + cos) - sin) * radius * step
    })
}

/// Vertical part of a strip of 1 m that friction holds on a table with a rounded edge \[m\].
fn hang(friction: f64, radius: f64) -> f64 {
    let arc = radius * FRAC_PI_2;
    let [mut low, mut high] = [0.0, 1.0 - arc];
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        let held = tension(friction * (1.0 - middle - arc), friction, radius, [0.0, FRAC_PI_2]);
        if held > middle { low = middle } else { high = middle }
    }
    low
}

fn wraps() -> Result<(), Failure> {
    println!(
        "| strip | solver | contact | at 0.95: creeps \\[um/s\\] | at 1.05: falls in a second \\[mm\\] |\n|---|---|---|---:|---:|"
    );
    let friction = 0.3;
    for what in ["tablecloth", "capstan"] {
        for row in ROWS {
            let mut cells = String::new();
            for factor in [0.95, 1.05] {
                let up = 0.5 * row.thickness();
                let mut changes = Vec::new();
                if what == "tablecloth" {
                    let radius = 0.05 + up;
                    let over = factor * hang(friction, radius) + radius * FRAC_PI_2;
                    let place = format!("[{}, {}, 0]", over - 1.0, up + 1e-5);
                    changes.push(change("[-0.6626, 0.00001, 0]", place));
                } else {
                    let (radius, light) = (0.1 + up, 0.2);
                    let heavy = factor * tension(light, friction, radius, [-FRAC_PI_2, FRAC_PI_2]);
                    let top = light + radius * FRAC_PI_2;
                    let length = top + heavy + radius * FRAC_PI_2;
                    let columns = (100.0 * length).round() + 1.0;
                    changes.push(change("columns = 120", format!("columns = {columns}")));
                    changes.push(change("width = 1.1883", format!("width = {length}")));
                    changes.push(change(
                        "[-0.3571, 0.00001, 0]",
                        format!("[{}, {}, 0]", -top, up + 1e-5),
                    ));
                    let held = format!("box:{},-1,-1,{},1,1", top - 0.016, top + 0.016);
                    changes.push(change("box:0.341,-1,-1,0.373,1,1", held));
                }
                let (means, _) = row.run(&format!("{what}.toml"), 360, &changes)?;
                cells += &if factor < 1.0 {
                    creep_cell((means[240][1] - means[360][1]) / 2.0)
                } else {
                    let fall = 1e3 * (means[180][1] - means[240][1]);
                    cell(&format!("{fall:.1}"), fall > 1.0)
                };
            }
            println!("| {what} {}{cells}", row.cells());
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    grip()?;
    println!();
    ramp()?;
    println!();
    wraps()
}
