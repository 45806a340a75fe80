//! XPBD against analytic results: what it does is given by compliances and rigidities, not by steps and meshes.
//!
//! All on the CPU backend; `mirror.rs` holds the GPU to the same bits. `cargo test --test xpbd -- --nocapture table` prints the
//! rows of the README.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{Cloth, ClothConfig, Frame, Mesh, ModelError, PhaseConfig, PhaseKind, Solver};
use poplin::{Backend, ClothId, Simulation, State};
use poplin_testkit::compare::same_bits;

/// Gravity [m/s^2].
const G: f64 = 9.81;

/// Mass per area of all strips [kg/m^2].
const SIGMA: f64 = 0.2;

const ID: ClothId = ClothId(0);

/// A strip of one column of quads, each `edge` m by `edge` m, of `segments` rows, from x = 0 or y = 0 on; only edges along and across.
///
/// Particles `2 i` and `2 i + 1` are row i. Half the mass of a quad is on each of its four corners times 1/2: rows inside
/// weigh `SIGMA * edge^2`, those at the ends half of it.
fn strip(segments: u32, edge: f64, place: impl Fn(f64, f64) -> [f64; 3], pinned_rows: u32) -> Cloth {
    let mut mesh = Mesh { positions: Vec::new(), ..Mesh::default() };
    for row in 0..=segments {
        for side in [0.0, edge] {
            mesh.positions.push(place(f64::from(row) * edge, side).map(|x| x as f32));
        }
        if row > 0 {
            let k = 2 * row;
            mesh.quads.push([k - 2, k - 1, k + 1, k]);
        }
    }
    let options = CookOptions {
        density: SIGMA as f32,
        pins: (0..2 * pinned_rows).collect(),
        max_fiber_length: 1 << 20,
        bending: false,
        tethers: Tethers::None,
        bends: true,
        ..CookOptions::default()
    };
    let mut cooked = cook(&mesh, &options).unwrap();
    // With all diagonals one way a single column twists when it bends, which no beam does: half of the bends have the others.
    mesh.quads.iter_mut().for_each(|quad| quad.rotate_left(1));
    let others = cook(&mesh, &options).unwrap().fabric;
    let fabric = &mut cooked.fabric;
    fabric.bend_set_ends.extend(others.bend_set_ends.iter().map(|end| end + fabric.bends.len() as u32));
    fabric.bends.extend(others.bends);
    fabric.bends.iter_mut().for_each(|bend| bend.weight *= 0.5);
    // Lumped by quads, so that the sums of the discrete strip are those of the beam.
    let row_mass = SIGMA * edge * edge;
    for (index, particle) in cooked.particles.iter_mut().enumerate().filter(|(_, particle)| particle[3] > 0.0) {
        let is_end = index as u32 / 2 == segments;
        particle[3] = (1.0 / (row_mass * if is_end { 0.25 } else { 0.5 })) as f32;
    }
    let mut cloth = cooked.into_cloth();
    let phases = (0..).zip(&cloth.fabric.phases).filter(|(_, phase)| phase.kind != PhaseKind::Shearing);
    cloth.phase_configs = phases.map(|(index, _)| PhaseConfig::stiff(index)).collect();
    cloth
}

fn run(cloth: Cloth, dt: f64, seconds: f64) -> State {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    for _ in 0..(seconds / dt).round() as u32 {
        simulation.step(&Frame { dt: dt as f32 }).unwrap();
    }
    simulation.state().unwrap()
}

/// `damping` of a config that takes the share `rate` per second of a velocity, roughly.
fn damping(rate: f64) -> [f32; 3] {
    [(1.0 - (-rate / 10.0).exp()) as f32; 3]
}

// ---- hanging strip ----

/// Strain at the top of the hanging strip, w L / K.
const STRAIN: f64 = 0.05;

/// Elongation of a 1 m strip of compliant edges that hangs by its upper end, over its length.
fn elongation(segments: u32, dt: f64, substeps: u32) -> f64 {
    let edge = 1.0 / f64::from(segments);
    let mut cloth = strip(segments, edge, |along, side| [side, -along, 0.0], 1);
    // Each of the two fibers carries half of the strip's width.
    let stiffness = SIGMA * G / STRAIN;
    let compliance = (edge / (stiffness * edge / 2.0)) as f32;
    for config in &mut cloth.phase_configs {
        if cloth.fabric.phases[config.phase as usize].kind == PhaseKind::Vertical {
            config.compliance = compliance;
        }
    }
    cloth.config = ClothConfig { solver: Solver::Xpbd { substeps }, damping: damping(8.0), ..ClothConfig::default() };
    let state = run(cloth, dt, 3.0);
    -f64::from(state.current(ID).last().unwrap()[1]) - 1.0
}

#[test]
fn a_hanging_strip_is_as_long_as_its_stiffness_says_at_any_step_and_mesh() {
    let expected = STRAIN / 2.0;
    let mut found = Vec::new();
    for (segments, frame_rate, substeps) in [
        (32, 60.0, 5),
        (32, 60.0, 10),
        (32, 60.0, 20),
        (32, 60.0, 40),
        (32, 30.0, 10),
        (32, 120.0, 10),
        (32, 240.0, 10),
        (16, 60.0, 10),
        (64, 60.0, 10),
    ] {
        let elongation = elongation(segments, 1.0 / frame_rate, substeps);
        eprintln!("{segments} segments, {frame_rate} Hz x {substeps}: {elongation:.6} of {expected}");
        found.push(elongation);
    }
    assert!(found.iter().all(|elongation| (elongation / expected - 1.0).abs() < 0.02), "{found:?}");
    assert!(found.iter().all(|elongation| (elongation / found[1] - 1.0).abs() < 0.01), "{found:?}");
}

// ---- heavy cantilever ----

/// `G = w L^3 / B` and drop over length of the elastica clamped level, from `theta'' = -G (1 - s) cos theta`.
const CANTILEVERS: [(f64, f64); 4] = [(1.0, 0.12347), (2.0, 0.23851), (5.0, 0.49591), (10.0, 0.70020)];

/// Drop over length of a strip of `segments` segments clamped level, at rest.
///
/// A hinge stands for half a segment on each side of it. The clamp holds two rows, and the beam begins half a segment behind
/// the second of them: its length is `segments + 1/2` edges. Clamped at the second row instead it would be half a segment too
/// long, an error of first order.
fn cantilever(segments: u32, load: f64, substeps: u32) -> f64 {
    let edge = 1.0 / (f64::from(segments) + 0.5);
    // The beam's middle is where f32 has its finest places.
    let mut cloth = strip(segments + 1, edge, |along, side| [along - edge - 0.5, 0.0, side], 2);
    cloth.config = ClothConfig {
        solver: Solver::Xpbd { substeps },
        damping: damping(4.0),
        bending_rigidity: (SIGMA * G / load) as f32,
        ..ClothConfig::default()
    };
    let state = run(cloth, 1.0 / 60.0, 4.0);
    -f64::from(state.current(ID).last().unwrap()[1])
}

#[test]
fn a_heavy_cantilever_is_the_elastica() {
    for (load, expected) in [CANTILEVERS[0], CANTILEVERS[2], CANTILEVERS[3]] {
        for (segments, substeps) in
            [(10, 10), (10, 40), (20, 20), (20, 80), (40, 100), (40, 140), (40, 200), (40, 300), (80, 200), (80, 300), (80, 400)]
        {
            let drop = cantilever(segments, load, substeps);
            eprintln!("G = {load}, {segments} segments x {substeps}: {drop:.5} of {expected}, {:+.4}", drop / expected - 1.0);
        }
    }
}
