//! Long scenes of contact of triangles: a stack on a slope, a strip over a cylinder, a twisted ribbon, a sheet pulled through a ring, a shirt on a
//! bunny, 512 handkerchiefs in a box. Each also with half the particles and with steps twice as long.
//!
//! `cargo run --release -p poplin-testkit --example triangle_trials [-- NAME ...]`; with `KIND=full`, `half` or `steps` only
//! those, with `LIMIT=60` each for at most 60 s, with
//! `VERBOSE=1` frame by frame.

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::f32::consts::PI;
use std::time::Instant;

use poplin::Engine as _;
use poplin::cook::{CookOptions, cook};
use poplin::cpu::CpuEngine;
use poplin::model::{
    Capsule, Cloth, ClothContactSolver, Collider, ContactMode, Frame, Mesh, Particle, Plane, Pose,
    Shape, Solver, Sphere, TriangleMesh,
};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_measure::metrics::stretch_strain;
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;

/// Positions of pinned particles of the first cloth at a time \[s\].
type Pins = Box<dyn Fn(f32) -> Vec<(u32, [f32; 3])>>;
/// What a scene says of its positions after a frame, with its time \[s\].
type Watch = Box<dyn FnMut(f32, &[[f32; 3]])>;

/// How fine a scene is.
#[derive(Clone, Copy)]
struct Grain {
    /// Factor of columns and rows.
    columns: f32,
    /// Solver iterations per second [1/s].
    frequency: f32,
}

impl Grain {
    fn count(self, whole: u32) -> u32 {
        (whole as f32 * self.columns).round() as u32
    }
}

struct Case {
    name: String,
    cloths: Vec<Cloth>,
    colliders: Vec<Collider>,
    seconds: f32,
    pins: Option<Pins>,
    watch: Option<Watch>,
}

/// A sheet around the origin in the plane of x and z, of 0.2 kg/m^2.
fn sheet(columns: u32, rows: u32, size: [f32; 2], pins: &[u32]) -> Cloth {
    let mut mesh = Mesh::grid(columns, rows, size[0], size[1]);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * size[0], *z - 0.5 * size[1]);
    }
    let mass = 0.2 * size[0] * size[1] / (columns * rows) as f32;
    of_mesh(&mesh, mass, pins)
}

fn of_mesh(mesh: &Mesh, mass: f32, pins: &[u32]) -> Cloth {
    let options = CookOptions { pins: pins.to_vec(), ..CookOptions::default() };
    let mut cloth = cook(mesh, &options).expect("the mesh cooks").into_cloth();
    for particle in cloth.particles.iter_mut().filter(|particle| particle.inverse_mass > 0.0) {
        particle.inverse_mass = 1.0 / mass;
    }
    cloth
}

fn set(cloth: &mut Cloth, grain: Grain, thickness: f32, friction: f32) {
    cloth.config.thickness = thickness;
    cloth.config.contact.friction = friction;
    if let Solver::Pbd(pbd) = &mut cloth.config.solver {
        pbd.frequency = grain.frequency;
    }
}

fn each(cloth: &mut Cloth, f: impl Fn([f32; 3]) -> [f32; 3]) {
    for particle in &mut cloth.particles {
        particle.position = f(particle.position);
    }
}

fn plane(normal: [f32; 3], offset: f32) -> Collider {
    Shape::from(Plane { normal, offset }).into()
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}

/// Three sheets on a slope of 0.9 times the angle of friction for 11 s: how far the last 10 s take them.
fn stack(grain: Grain) -> Case {
    let friction = 0.5f32;
    let (sin, cos) = (0.9 * friction).atan().sin_cos();
    let columns = grain.count(16);
    let layer = |layer: u32| {
        let mut cloth = sheet(columns, columns, [0.3; 2], &[]);
        set(&mut cloth, grain, 0.005, friction);
        let height = 0.0026 + 0.005 * layer as f32;
        each(&mut cloth, |[x, _, z]| [cos * x + sin * height, cos * height - sin * x, z]);
        cloth
    };
    let mut before = Vec::new();
    let watch = move |time: f32, now: &[[f32; 3]]| {
        if (time - 1.0).abs() < 0.001 {
            before = now.to_vec();
        } else if time > 10.99 {
            let farthest = now.iter().zip(&before).map(|(a, b)| distance(*a, *b));
            println!("    creep {:.4} mm in 10 s", 1e3 * farthest.fold(0.0, f32::max));
        }
    };
    Case {
        name: "stack".to_owned(),
        cloths: (0..3).map(layer).collect(),
        colliders: vec![plane([sin, cos, 0.0], 0.0)],
        seconds: 11.0,
        pins: None,
        watch: Some(Box::new(watch)),
    }
}

/// A strip that hangs over a cylinder, the longer end by so many times the length at which it begins to slide.
fn capstan(grain: Grain, factor: f32) -> Case {
    let (radius, thickness, friction, short, width) = (0.1, 0.004, 0.3, 0.15, 0.04);
    let arm = radius + 0.5 * thickness;
    // The tension over the weight per length, from the short end over the top: dT/da = arm cos a + friction (T + arm sin a).
    let (steps, mut tension) = (10_000, short);
    for k in 0..steps {
        let angle = PI * (k as f32 + 0.5) / steps as f32;
        tension +=
            PI / steps as f32 * (arm * angle.cos() + friction * (tension + arm * angle.sin()));
    }
    let long = factor * tension;
    let length = short + PI * arm + long;
    let rows = grain.count((length / 0.008) as u32);
    let mut cloth = sheet(grain.count(6), rows, [width, length], &[]);
    set(&mut cloth, grain, thickness, friction);
    each(&mut cloth, |[x, _, z]| {
        let s = z + 0.5 * length - short;
        let angle = (s / arm).clamp(0.0, PI);
        let down = (-s).max(s - PI * arm).max(0.0);
        [-arm * angle.cos(), arm * angle.sin() - down, x]
    });
    let ends = [-1.0, 1.0].map(|z| Sphere { center: [0.0, 0.0, z], radius });
    let mut at = Vec::new();
    let watch = move |time: f32, now: &[[f32; 3]]| {
        let short_end = now[..4].iter().map(|p| p[1]).sum::<f32>() / 4.0;
        at.push(short_end);
        if time > 1.99 {
            let (half, whole) = (at[at.len() - 61], at[at.len() - 1]);
            println!("    the short end rises {:.3} mm in the last second", 1e3 * (whole - half));
        }
    };
    Case {
        name: format!("capstan-{factor}"),
        cloths: vec![cloth],
        colliders: vec![Shape::from(Capsule { ends }).into()],
        seconds: 2.0,
        pins: None,
        watch: Some(Box::new(watch)),
    }
}

/// A ribbon twisted by so many revolutions in 3.5 s and back, its ends nearer meanwhile.
fn ribbon(grain: Grain, revolutions: f32) -> Case {
    let (columns, rows) = (grain.count(11), grain.count(101));
    let ends: Vec<u32> = (0..columns).chain(columns * (rows - 1)..columns * rows).collect();
    let mut cloth = sheet(columns, rows, [0.1, 1.0], &ends);
    set(&mut cloth, grain, 0.005, 0.3);
    cloth.config.damping = [0.5; 3];
    let flat: Vec<[f32; 3]> = cloth.particles.iter().map(|particle| particle.position).collect();
    let pins = move |time: f32| {
        let fraction = time.min(7.0 - time.min(7.0)) / 3.5;
        let pose = |&i: &u32| {
            let [x, _, z] = flat[i as usize];
            let (sin, cos) = (fraction * revolutions * PI * z.signum()).sin_cos();
            let nearer = 0.06 * revolutions * fraction;
            (i, [x * cos, x * sin, z - nearer * z.signum()])
        };
        ends.iter().map(pose).collect()
    };
    Case {
        name: format!("ribbon-{revolutions}"),
        cloths: vec![cloth],
        colliders: vec![],
        seconds: 8.0,
        pins: Some(Box::new(pins)),
        watch: None,
    }
}

/// A torus around the y axis.
fn torus(major: f32, minor: f32) -> TriangleMesh {
    let (around, across) = (32u32, 12u32);
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..around {
        for k in 0..across {
            let (u, v) = (2.0 * PI * i as f32 / around as f32, 2.0 * PI * k as f32 / across as f32);
            let r = major + minor * v.cos();
            vertices.push([r * u.cos(), minor * v.sin(), r * u.sin()]);
            let index = |i: u32, k: u32| i % around * across + k % across;
            let [a, b, c, d] = [index(i, k), index(i + 1, k), index(i + 1, k + 1), index(i, k + 1)];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
}

/// A sheet pulled by its middle through a ring, which it just fits.
fn ring(grain: Grain) -> Case {
    let columns = grain.count(32) | 1;
    let middle = columns / 2 * (columns + 1);
    let mut cloth = sheet(columns, columns, [0.5; 2], &[middle]);
    set(&mut cloth, grain, 0.003, 0.2);
    each(&mut cloth, |[x, y, z]| [x, y + 0.03, z]);
    let pins = move |time: f32| vec![(middle, [0.0, 0.03 - 0.15 * (time - 0.5).max(0.0), 0.0])];
    let watch = |time: f32, now: &[[f32; 3]]| {
        if time > 4.99 {
            let highest = now.iter().map(|p| p[1]).fold(f32::NEG_INFINITY, f32::max);
            println!("    highest at the end {:.1} mm", 1e3 * highest);
        }
    };
    Case {
        name: "ring".to_owned(),
        cloths: vec![cloth],
        colliders: vec![Shape::TriangleMesh(torus(0.08, 0.015)).into()],
        seconds: 5.0,
        pins: Some(Box::new(pins)),
        watch: Some(Box::new(watch)),
    }
}

/// A shirt that falls on a bunny, if the meshes are there.
fn shirt(grain: Grain) -> Option<Case> {
    let read = |name: &str| {
        let path = format!("{}/../../../shared/data/meshes/{name}.obj", env!("CARGO_MANIFEST_DIR"));
        poplin_io::read_obj(&path)
            .inspect_err(|error| println!("shirt            skipped: {error}"))
            .ok()
    };
    let (bunny, shirt) = (read("bunny")?, read("unisex_shirt")?);
    let mut cloth = of_mesh(&shirt, 0.2 / shirt.positions.len() as f32, &[]);
    set(&mut cloth, grain, 0.003, 0.3);
    each(&mut cloth, |[x, y, z]| [x, 0.6 + z, y - 1.2]);
    let vertices: Vec<[f32; 3]> =
        bunny.positions.iter().map(|[x, y, z]| [0.25 * x, 0.25 * y, 0.25 * z]).collect();
    let mesh = TriangleMesh { vertices: vertices.into(), triangles: bunny.triangles.into() };
    Some(Case {
        name: "shirt".to_owned(),
        cloths: vec![cloth],
        colliders: vec![Shape::TriangleMesh(mesh).into(), plane([0.0, 1.0, 0.0], 0.0)],
        seconds: 3.0,
        pins: None,
        watch: None,
    })
}

/// 512 handkerchiefs that fall into a box.
fn handkerchiefs(grain: Grain) -> Case {
    let mut rng = Rng::new(7);
    let columns = grain.count(8);
    let mut mould = sheet(columns, columns, [0.1; 2], &[]);
    set(&mut mould, grain, 0.003, 0.3);
    let one = |k: usize| {
        let mut cloth = mould.clone();
        let (tilt, spin) = (rng.range(-0.3, 0.3), rng.range(-PI, PI));
        let at = [k % 8, k / 64, k / 8 % 8].map(|i| i as f32);
        each(&mut cloth, |[x, _, z]| {
            let (x, z) = (x * spin.cos() - z * spin.sin(), x * spin.sin() + z * spin.cos());
            let (x, y) = (x * tilt.cos(), x * tilt.sin());
            [x + 0.15 * (at[0] - 3.5), y + 0.06 + 0.05 * at[1], z + 0.15 * (at[2] - 3.5)]
        });
        cloth
    };
    let walls = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];
    let walls = walls.map(|normal| plane(normal, -0.61));
    Case {
        name: "handkerchiefs".to_owned(),
        cloths: (0..512).map(one).collect(),
        colliders: walls.into_iter().chain([plane([0.0, 1.0, 0.0], 0.0)]).collect(),
        seconds: 2.0,
        pins: None,
        watch: None,
    }
}

fn run(case: Case, kind: &str) {
    let Case { name, cloths, colliders, seconds, pins, mut watch } = case;
    let mut engine = CpuEngine::default();
    let settings =
        ClothContactSolver { contact: ContactMode::Triangles, iterations: 4, ..Default::default() };
    engine.set_cloth_contact_solver(settings).expect("in range");
    let (mut rest, mut triangles, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids = Vec::new();
    for cloth in &cloths {
        let base = rest.len() as u32;
        rest.extend(cloth.particles.iter().map(|particle| particle.position));
        triangles.extend(cloth.fabric.triangles.iter().map(|t| t.map(|i| base + i)));
        ends.push(rest.len());
        ids.push(engine.add(cloth.clone()).expect("a good cloth"));
    }
    let particle_count = rest.len();
    for collider in colliders {
        if let Shape::TriangleMesh(mesh) = &collider.shape {
            let base = rest.len() as u32;
            rest.extend(mesh.vertices.iter());
            triangles.extend(mesh.triangles.iter().map(|t| t.map(|i| base + i)));
            ends.push(rest.len());
        }
        engine
            .colliders_mut()
            .add(Collider { pose: Pose::default(), ..collider })
            .expect("a good collider");
    }
    let counter = EntanglementCounter::new(&rest, &triangles, &ends);
    let at_start = counter.crossings(&rest);
    let (mut worst, mut first, mut least, mut forced, mut rounds) = (0, None, f32::INFINITY, 0, 0);
    let (mut p99, mut times, mut speed) = (0.0f32, Vec::new(), 0.0f32);
    let mut previous = rest.clone();
    let is_verbose = std::env::var("VERBOSE").is_ok();
    let limit = std::env::var("LIMIT").ok().and_then(|it| it.parse().ok()).unwrap_or(f64::INFINITY);
    let (begun, mut cut) = (Instant::now(), String::new());
    for frame in 1..=(seconds * 60.0).round() as u32 {
        let time = frame as f32 / 60.0;
        if let Some(pins) = &pins {
            let (indices, rows): (Vec<u32>, Vec<Particle>) = pins(time)
                .into_iter()
                .map(|(i, position)| (i, Particle { position, inverse_mass: 0.0 }))
                .unzip();
            let live = engine.cloth_mut(nth_cloth(0)).expect("it is there");
            live.write_particles(&indices, &rows).expect("pins");
        }
        let begin = Instant::now();
        engine.step(&Frame::default()).expect("in range");
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        if begun.elapsed().as_secs_f64() > limit {
            cut = format!(" cut at {time:.2} s");
        }
        let mut positions: Vec<[f32; 3]> = Vec::new();
        for &id in &ids {
            positions.extend(engine.current(id).iter().map(|particle| particle.position));
        }
        if let Some(watch) = &mut watch {
            watch(time, &positions);
        }
        positions.extend(&rest[particle_count..]);
        let crossings = counter.crossings(&positions);
        worst = worst.max(crossings);
        if crossings > at_start && first.is_none() {
            first = Some(frame);
        }
        let report = engine.triangle_contact().report;
        if is_verbose {
            println!(
                "{frame:4} {:8.2} ms, crossings {crossings}, {report:?}",
                times[times.len() - 1]
            );
        }
        least = least.min(report.least_gap);
        forced += report.forced;
        rounds = rounds.max(report.rounds);
        speed = positions
            .iter()
            .zip(&previous)
            .map(|(a, b)| 60.0 * distance(*a, *b))
            .fold(0.0, f32::max);
        if frame % 5 == 0 {
            for (&id, cloth) in ids.iter().zip(&cloths) {
                p99 = p99.max(stretch_strain(&cloth.fabric, engine.current(id)).p99);
            }
        }
        previous = positions;
        if !cut.is_empty() {
            break;
        }
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_by(f64::total_cmp);
    println!(
        "{name:14} {kind:5} {particle_count:6} particles, crossings {worst:4} (at start {at_start}, first in frame {first:?}), least gap {:8.4} mm, p99 {:5.2} %, ms mean {mean:7.2} max {:8.2}, forced {forced}, rounds {rounds}, last speed {:.4} m/s{cut}",
        least * 1e3,
        p99 * 100.0,
        times[times.len() - 1],
        speed,
    );
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| {
        names.is_empty() || names.iter().any(|wanted| name.starts_with(wanted.as_str()))
    };
    let grains = [
        ("full", Grain { columns: 1.0, frequency: 600.0 }),
        ("half", Grain { columns: 0.71, frequency: 600.0 }),
        ("steps", Grain { columns: 1.0, frequency: 300.0 }),
    ];
    let only = std::env::var("KIND").ok();
    for (kind, grain) in grains {
        if only.as_ref().is_some_and(|only| only != kind) {
            continue;
        }
        if is_wanted("stack") {
            run(stack(grain), kind);
        }
        if is_wanted("capstan") {
            for factor in [0.95, 1.05] {
                run(capstan(grain, factor), kind);
            }
        }
        if is_wanted("ribbon") {
            for revolutions in [3.0, 6.0] {
                run(ribbon(grain, revolutions), kind);
            }
        }
        if is_wanted("ring") {
            run(ring(grain), kind);
        }
        // The mesh of the shirt is as fine as it is.
        if is_wanted("shirt")
            && kind != "half"
            && let Some(case) = shirt(grain)
        {
            run(case, kind);
        }
        if is_wanted("handkerchiefs") {
            run(handkerchiefs(grain), kind);
        }
    }
}
