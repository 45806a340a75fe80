//! Scenes of contact of triangles: crossings, gaps, strain and time, frame by frame.
//!
//! `cargo run --release -p poplin-testkit --example triangle_scenes [-- NAME ...]`; with `PICTURE=sheet.png` the last frames of all in
//! one picture, with `FRAMES=60` so many frames of each, with `ITERATIONS=8` so many of contact, with `MODE=particles` in the other mode,
//! with `VERBOSE=1` frame by frame.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::time::Instant;

use poplin::Engine as _;
use poplin::cook::{CookOptions, cook};
use poplin::cpu::CpuEngine;
use poplin::model::ColliderId;
use poplin::model::{
    Capsule, Cloth, ClothContactSolver, Collider, ContactMode, Frame, Mesh, ModelError,
    Parallelepiped, Placement, Plane, Pose, Rigid, Shape, Solver, Sphere, TriangleMesh,
};
use poplin_io::picture::{ContactSheet, Image, MosaicTile, Surface, cloth_color};
use poplin_measure::bench::{Method, Scene, Setup};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_measure::metrics::stretch_strain;

/// Side of a picture, and what a sheet has around it, in pixels.
const SIDE: u32 = 360;
const GAP: u32 = 9;

type Update = Box<dyn Fn(&mut CpuEngine, &[ColliderId], f32) -> Result<(), ModelError>>;

struct Case {
    name: String,
    cloths: Vec<Cloth>,
    colliders: Vec<Collider>,
    frames: u32,
    update: Option<Update>,
}

fn sheet(columns: u32, rows: u32, width: f32, depth: f32, density: f32, thickness: f32) -> Cloth {
    let mut mesh = Mesh::grid(columns, rows, width, depth);
    for [x, _, z] in &mut mesh.positions {
        *x -= 0.5 * width;
        *z -= 0.5 * depth;
    }
    let mut cloth = cook(&mesh, &CookOptions::default()).expect("a grid cooks").into_cloth();
    let mass = density * width * depth / (columns * rows) as f32;
    for particle in &mut cloth.particles {
        particle.inverse_mass = 1.0 / mass;
    }
    cloth.config.thickness = thickness;
    cloth.config.contact.friction = 0.3;
    frequency(&mut cloth, 600.0);
    cloth
}

fn frequency(cloth: &mut Cloth, value: f32) {
    if let Solver::Pbd(pbd) = &mut cloth.config.solver {
        pbd.frequency = value;
    }
}

fn moved(mut cloth: Cloth, by: [f32; 3]) -> Cloth {
    for particle in &mut cloth.particles {
        for (x, by) in particle.position.iter_mut().zip(by) {
            *x += by;
        }
    }
    cloth
}

fn upright(mut cloth: Cloth) -> Cloth {
    for particle in &mut cloth.particles {
        let [x, y, z] = particle.position;
        particle.position = [x, z, y];
    }
    cloth
}

fn ball(center: [f32; 3], radius: f32) -> Collider {
    Shape::from(Sphere { center, radius }).into()
}

fn floor(offset: f32) -> Collider {
    Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset }).into()
}

fn spike(tip: [f32; 3], height: f32, radius: f32, top: f32) -> Collider {
    let sides = 12;
    let mut vertices = Vec::new();
    for (r, y) in [(radius, tip[1] - height), (top, tip[1])] {
        for k in 0..sides {
            let angle = std::f32::consts::TAU * k as f32 / sides as f32;
            vertices.push([tip[0] + r * angle.cos(), y, tip[2] + r * angle.sin()]);
        }
    }
    vertices.push(tip);
    let mut triangles = Vec::new();
    for k in 0..sides {
        let l = (k + 1) % sides;
        triangles.push([k, sides + k, l]);
        triangles.push([l, sides + k, sides + l]);
        triangles.push([sides + k, 2 * sides, sides + l]);
    }
    let mesh = TriangleMesh { vertices: vertices.into(), triangles: triangles.into() };
    Shape::TriangleMesh(mesh).into()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = |name: &str,
                    cloths: Vec<Cloth>,
                    colliders: Vec<Collider>,
                    frames: u32,
                    update: Option<Update>| {
        cases.push(Case { name: name.to_owned(), cloths, colliders, frames, update });
    };
    for thickness in [2, 5, 10] {
        for friction in [0.0, 0.07, 0.14, 0.2, 0.3, 0.35, 0.42, 0.5] {
            let scene = Scene::Drop { friction };
            let setup = Setup { scene, method: Method::WholeFibers, iterations: 10 };
            let mut cloth = setup.cloth().expect("cooks");
            cloth.config.thickness = thickness as f32 / 1000.0;
            let name = format!("w4-{thickness}mm-mu{friction}");
            case(&name, vec![cloth], vec![], 180, None);
        }
    }
    let drop = || sheet(32, 32, 1.0, 1.0, 0.2, 0.005);
    case(
        "spike",
        vec![moved(drop(), [0.0, 0.45, 0.0])],
        vec![spike([0.0, 0.4, 0.0], 0.4, 0.1, 0.001), floor(0.0)],
        180,
        None,
    );
    let needles = (0..49).map(|k| {
        let (x, z) = ((k % 7) as f32 - 3.0, (k / 7) as f32 - 3.0);
        spike([0.12 * x, 0.3, 0.12 * z], 0.3, 0.01, 0.001)
    });
    case(
        "needles",
        vec![moved(drop(), [0.0, 0.4, 0.0])],
        needles.chain([floor(0.0)]).collect(),
        180,
        None,
    );
    let table: Collider = Shape::from(Parallelepiped::cuboid([0.3, 0.02, 0.3])).into();
    let table_at = |y: f32| Collider {
        pose: Pose { translation: [0.2, y, 0.0], ..Pose::default() },
        ..table.clone()
    };
    case("table", vec![moved(drop(), [0.0, 0.6, 0.0])], vec![table_at(0.5), floor(0.0)], 180, None);
    let layers = |count: usize, gap: f32, y: f32| {
        (0..count).map(move |k| {
            moved(sheet(32, 32, 0.6, 0.6, 0.2, 0.005), [0.0, y + gap * k as f32, 0.0])
        })
    };
    let cylinder: Collider = Shape::from(Capsule {
        ends: [
            Sphere { center: [0.0, 0.3, -1.0], radius: 0.1 },
            Sphere { center: [0.0, 0.3, 1.0], radius: 0.1 },
        ],
    })
    .into();
    case("layers", layers(10, 0.01, 0.45).collect(), vec![cylinder.clone(), floor(0.0)], 240, None);
    case("one", layers(1, 0.007, 0.01).collect(), vec![floor(0.0)], 120, None);
    case("pile", layers(4, 0.007, 0.01).collect(), vec![floor(0.0)], 600, None);
    let pinned = {
        let mut cloth = upright(sheet(32, 32, 1.0, 1.0, 0.2, 0.005));
        let columns = 32;
        for k in 0..columns {
            for edge in [k, columns * (columns - 1) + k, columns * k, columns * k + columns - 1] {
                cloth.particles[edge].inverse_mass = 0.0;
            }
        }
        cloth
    };
    let shot: Update = Box::new(|engine, colliders, time| {
        let pose = Pose { translation: [0.0, 0.0, 1.0 - 50.0 * time], ..Pose::default() };
        engine.colliders_mut().set_pose(colliders[0], pose)
    });
    let bullet = Collider {
        pose: Pose { translation: [0.0, 0.0, 1.0], ..Pose::default() },
        ..ball([0.0; 3], 0.05)
    };
    case("shot", vec![pinned], vec![bullet], 3, Some(shot));
    let halves = [0.3, -0.3].map(|x| {
        let mut cloth = moved(upright(sheet(16, 16, 0.5, 0.5, 0.2, 0.005)), [x, 0.0, 0.0013 * x]);
        cloth.config.gravity = [0.0; 3];
        cloth
    });
    case("edge-on", halves.to_vec(), vec![], 60, None);
    // 1,000, 10,000 and 100,000 triangles of one square metre.
    for columns in [23, 72, 225] {
        let thickness = 1.0 / (3 * columns) as f32;
        let cloth = moved(sheet(columns, columns, 1.0, 1.0, 0.2, thickness), [0.0, 0.42, 0.0]);
        let name = format!("grow-{}", 2 * (columns - 1) * (columns - 1));
        case(&name, vec![cloth], vec![ball([0.0, 0.2, 0.0], 0.2), floor(0.0)], 60, None);
    }
    cases
}

fn run(case: Case, iterations: u32) -> Result<MosaicTile, Box<dyn Error>> {
    let Case { name, cloths, colliders, mut frames, update } = case;
    if let Some(count) = std::env::var("FRAMES").ok().and_then(|it| it.parse().ok()) {
        frames = count;
    }
    let mut engine = CpuEngine::default();
    let mode = std::env::var("MODE").unwrap_or_default();
    let contact = if mode == "particles" { ContactMode::Particles } else { ContactMode::Triangles };
    engine.set_cloth_contact_solver(ClothContactSolver {
        contact,
        iterations,
        ..Default::default()
    })?;
    let (mut rest, mut triangles, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids = Vec::new();
    for cloth in &cloths {
        let base = rest.len() as u32;
        rest.extend(cloth.particles.iter().map(|particle| particle.position));
        triangles.extend(cloth.fabric.triangles.iter().map(|t| t.map(|i| base + i)));
        ends.push(rest.len());
        ids.push(engine.add(cloth.clone())?);
    }
    if name == "edge-on" {
        for (k, (&id, cloth)) in ids.iter().zip(&cloths).enumerate() {
            let speed = [-20.0, 20.0][k];
            let velocities = vec![[speed, 0.0, 0.0]; cloth.particles.len()];
            engine.set_particles(
                id,
                &cloth.particles,
                poplin::ParticleMotion::Velocities(&velocities),
            )?;
        }
    }
    let handles: Vec<ColliderId> =
        colliders.into_iter().map(|it| engine.colliders_mut().add(it)).collect::<Result<_, _>>()?;
    let counter = EntanglementCounter::new(&rest, &triangles, &ends);
    let (mut worst, mut least, mut forced, mut rounds, mut searches, mut pairs) =
        (0, f32::INFINITY, 0, 0, 0, 0);
    let mut p99 = 0.0f32;
    let verbose = std::env::var("VERBOSE").is_ok();
    let mut times = Vec::new();
    let mut fastest = 0.0f32;
    let mut previous: Vec<[f32; 3]> = rest.clone();
    for frame in 0..frames {
        if let Some(update) = &update {
            update(&mut engine, &handles, (frame + 1) as f32 / 60.0)?;
        }
        let begin = Instant::now();
        engine.step(&Frame { dt: 1.0 / 60.0 })?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        let positions: Vec<[f32; 3]> = ids
            .iter()
            .flat_map(|&id| engine.current(id).iter().map(|p| p.position).collect::<Vec<_>>())
            .collect();
        let crossings = counter.crossings(&positions);
        let report = engine.triangle_contact().report;
        let speed = positions
            .iter()
            .zip(&previous)
            .map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt() * 60.0)
            .fold(0.0, f32::max);
        let high = positions.iter().map(|p| p[1]).fold(f32::NEG_INFINITY, f32::max);
        if verbose {
            println!(
                "{frame:4} {:7.2} ms crossings {crossings} speed {speed:.5} high {high:.4} {report:?}",
                times[frame as usize]
            );
        }
        if frame + 60 >= frames {
            fastest = fastest.max(speed);
        }
        previous = positions;
        worst = worst.max(crossings);
        least = least.min(report.least_gap);
        forced += report.forced;
        rounds = rounds.max(report.rounds);
        searches += report.searches;
        pairs = pairs.max(report.pairs);
        for (&id, cloth) in ids.iter().zip(&cloths) {
            p99 = p99.max(stretch_strain(&cloth.fabric, engine.current(id)).p99);
        }
    }
    let solids = handles
        .iter()
        .filter_map(|&id| engine.colliders().get(id).ok())
        .map(|it| it.shape.transformed(&Placement::new(1.0, Rigid::new(it.pose))));
    let mut sheet = ContactSheet::new(1, 1, SIDE)?;
    let surfaces = ids.iter().zip(&cloths).enumerate().map(|(index, (&id, cloth))| {
        let positions = engine.current(id).iter().map(|it| it.position).collect();
        Surface::new(positions, cloth.fabric.triangles.to_vec(), cloth_color(index))
    });
    sheet.add_with_colliders("", surfaces.collect(), solids.collect())?;
    let label = format!("{name}  {:.2} s  {worst} crossings", frames as f32 / 60.0);
    let tile = MosaicTile { label, image: Some(sheet.render()) };
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    println!(
        "{name:18} crossings {worst:4} least gap {:7.4} mm p99 {:5.2} % ms mean {mean:7.2} median {:7.2} max {:7.2} forced {forced} rounds {rounds} searches {searches} pairs {pairs} last-second speed {fastest:.4}",
        least * 1e3,
        p99 * 100.0,
        times[times.len() / 2],
        times[times.len() - 1]
    );
    Ok(tile)
}

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut tiles = Vec::new();
    let iterations = std::env::var("ITERATIONS").ok().and_then(|it| it.parse().ok()).unwrap_or(4);
    for case in cases() {
        if names.is_empty() || names.iter().any(|name| case.name.starts_with(name.as_str())) {
            tiles.push(run(case, iterations)?);
        }
    }
    if let Ok(path) = std::env::var("PICTURE") {
        Image::mosaic(SIDE + 2 * GAP, &tiles).write_png(path)?;
    }
    Ok(())
}
