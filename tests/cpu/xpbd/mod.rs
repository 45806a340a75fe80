//! XPBD against analytic results: compliance and rigidity determine the outcome, at any step and
//! mesh.
//!
//! All tests use the CPU backend; `tests/gpu/mirror` compares the bits of the GPU. `cargo xtask
//! tables` writes the rows of the guide.

mod bending;
mod motion;
mod settings;
mod stretch;

use bending::cantilever_rows;
use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{ClothConfig, ClothDesc, Mesh, Phases, Solver, Xpbd, XpbdPhase};
use poplin::{Backend, Simulation, State};
use poplin_testkit::beams::{G, SIGMA, damping, strip};
use poplin_testkit::generated::{assert_block, markdown_table};
use poplin_testkit::nth_cloth;

fn run(cloth: ClothDesc, dt: f64, seconds: f64) -> State {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    for _ in 0..(seconds / dt).round() as u32 {
        simulation.step(dt as f32).unwrap();
    }
    simulation.state().unwrap()
}

/// Strain at the top of the hanging strip, w L / K.
const STRAIN: f64 = 0.05;

/// Elongation, relative to its length, of a 1 m strip of compliant edges that hangs by its upper
/// end.
fn elongation(segments: u32, dt: f64, substeps: u32) -> f64 {
    let edge = 1.0 / f64::from(segments);
    let mut cloth = strip(segments, edge, |along, side| [side, -along, 0.0], 1);
    // Each of the two fibers carries half the width of the strip.
    let stiffness = SIGMA * G / STRAIN;
    let compliance = (edge / (stiffness * edge / 2.0)) as f32;
    let vertical = XpbdPhase { compliance, ..XpbdPhase::default() };
    // A membrane without resistance to shear.
    let shearing = XpbdPhase { compliance: 1e3, ..XpbdPhase::default() };
    let phases = Phases { vertical, shearing, ..Phases::default() };
    cloth.config = ClothConfig {
        solver: Xpbd { substeps, phases, ..Xpbd::default() }.into(),
        damping: damping(8.0),
        ..ClothConfig::default()
    };
    let state = run(cloth, dt, 3.0);
    -f64::from(state.current(nth_cloth(0)).last().unwrap().position[1]) - 1.0
}

/// `G = w L^3 / B`, and drop over length of the elastica clamped level, from `theta'' = -G (1 - s)
/// cos theta`.
const CANTILEVERS: [(f64, f64); 4] =
    [(1.0, 0.12347), (2.0, 0.23851), (5.0, 0.49591), (10.0, 0.70020)];

/// Drop over length of a strip of `segments` segments clamped level by two rows, at rest.
fn cantilever(segments: u32, load: f64, substeps: u32) -> f64 {
    let edge = 1.0 / f64::from(segments);
    let bending_rigidity = (SIGMA * G / load) as f32;
    // Centered at the origin, where `f32` positions are finest.
    let mut cloth = strip(segments + 1, edge, |along, side| [along - edge - 0.5, 0.0, side], 2);
    cloth.config = ClothConfig {
        solver: Xpbd { substeps, bending_rigidity, ..Xpbd::default() }.into(),
        damping: damping(4.0),
        ..ClothConfig::default()
    };
    let state = run(cloth, 1.0 / 60.0, 4.0);
    -f64::from(state.current(nth_cloth(0)).last().unwrap().position[1])
}

/// Number of substeps at which the numerical damping of the scheme, `omega^2 h / 2`, is a hundredth
/// of the physical damping. The mass swings around the origin, where `f32` positions are fine
/// enough for these steps.
const FINE: u32 = 100;

/// Square sheet of 8 x 8 particles with all kinds of edges and bends, thrown with a spin and a
/// twist.
fn thrown_sheet(h: f64) -> ClothDesc {
    let options = CookOptions {
        tethers: Tethers::None,
        bending: false,
        bends: true,
        ..CookOptions::default()
    };
    let mut cloth = cook(&Mesh::grid(8, 8, 1.0, 1.0), &options).unwrap().into_cloth();
    let velocity = |[x, _, z]: [f32; 3]| {
        let (x, z) = (f64::from(x) - 0.5, f64::from(z) - 0.5);
        [1.0, 3.0 + 2.0 * x + 3.0 * x * z, 0.5]
    };
    let back = |p: [f32; 3]| std::array::from_fn(|k| (f64::from(p[k]) - velocity(p)[k] * h) as f32);
    cloth.previous_positions = cloth.particles.iter().map(|p| back(p.position)).collect();
    let soft = |compliance| XpbdPhase { fiber_solver: None, compliance, damping: 1.0 };
    let single = vec![(0, soft(1e-3)), (1, soft(1e-4))];
    cloth.config.solver = Solver::Xpbd(Xpbd {
        substeps: 10,
        frequency: None,
        bending_rigidity: 1e-3,
        bending_damping: 1e-5,
        phases: Phases { single, ..Phases::default() },
        ..Xpbd::default()
    });
    cloth
}

#[test]
fn table_of_all_rows() {
    let row = |case: String, expected: f64, got: f64| {
        let error = 100.0 * (got / expected - 1.0).abs();
        vec![case, format!("{expected:.5}"), format!("{got:.5}"), format!("{error:.2} %")]
    };
    let strips = [(32, 60.0, 5), (32, 60.0, 40), (16, 30.0, 10), (64, 240.0, 10)];
    let strips = strips.map(|(segments, frame_rate, substeps)| {
        let steps = format!("{segments} segments, {substeps} substeps of 1/{frame_rate} s");
        let got = elongation(segments, 1.0 / frame_rate, substeps);
        row(format!("hanging strip, stretch, {steps} \\[m\\]"), STRAIN / 2.0, got)
    });
    let cantilever_row = |(load, segments, substeps, expected, drop): (f64, u32, u32, f64, f64)| {
        let steps = format!("{segments} segments, {substeps} substeps");
        row(format!("cantilever, drop/L at G = {load}, {steps}"), expected, drop)
    };
    let (load, expected) = CANTILEVERS[3];
    let finest = (load, 80, 300, expected, cantilever(80, load, 300));
    let cantilevers = cantilever_rows().into_iter().chain([finest]).map(cantilever_row);
    let rows: Vec<_> = strips.into_iter().chain(cantilevers).collect();
    let table = markdown_table(&["case", "expected", "got", "error"], &rows);
    assert_block("crates/poplin/guide/validation.md", "xpbd", &table);
}
