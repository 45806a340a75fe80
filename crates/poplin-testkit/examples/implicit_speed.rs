//! Time of the implicit solver on one core next to XPBD: `RAYON_NUM_THREADS=1 cargo run --release
//! -p poplin-testkit --example implicit_speed [SCENE [SIDE [SUBSTEPS ITERATIONS [PRECONDITIONER [K
//! G B TOLERANCE]]]]]`.
//!
//! Prints CSV: median milliseconds per frame, strains of the edges along the threads over the
//! second half, and the solver report. The scenes have a sheet of 1 m and 0.2 kg with equal masses
//! and B = 1e-5 N m, held by two corners: `swing` (K = 1000 N/m, G = 300 N/m, without colliders),
//! `ball` (the same onto a ball of 0.25 m), `drop` (not held, 1 cm thick, onto a ball of 0.2 m on a
//! floor).

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::time::Instant;

use poplin::{Backend, Simulation};
use poplin_cook::{CookOptions, Tethers, cook};
use poplin_model::{
    ClothDesc, Implicit, Material, Mesh, Plane, Preconditioner, Shape, Solver, Sphere, Xpbd,
};

/// Creates a level sheet of `side` x `side` particles of equal mass.
fn sheet(side: u32, is_held: bool) -> ClothDesc {
    let pins = if is_held { vec![0, side - 1] } else { Vec::new() };
    let options = CookOptions {
        pins,
        tethers: Tethers::None,
        bending: false,
        bends: true,
        ..CookOptions::default()
    };
    let mut mesh = Mesh::grid(side, side, 1.0, 1.0);
    let height = if is_held { 1.0 } else { 0.5 };
    mesh.positions.iter_mut().for_each(|position| position[1] += height);
    let mut cloth = cook(&mesh, &options).expect("a grid cooks").into_cloth();
    let inverse_mass = (side * side) as f32 / 0.2;
    for particle in cloth.particles.iter_mut().filter(|particle| particle.inverse_mass > 0.0) {
        particle.inverse_mass = inverse_mass;
    }
    cloth
}

/// Appends the strains of edges along the threads.
fn strains(cloth: &ClothDesc, positions: &[[f32; 3]], all: &mut Vec<f64>) {
    let kinds = cloth.fabric.edge_kinds();
    for (edge, [a, b]) in cloth.fabric.edges().filter(|&(edge, _)| kinds[edge].is_stretch()) {
        let [a, b] = [a, b].map(|i| glam_of(positions[i as usize]));
        let length: f64 = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
        all.push((length / f64::from(cloth.fabric.rest_lengths[edge]) - 1.0).abs());
    }
}

fn glam_of(position: [f32; 3]) -> [f64; 3] {
    position.map(f64::from)
}

fn run(scene: &str, side: u32, name: &str, solver: Solver, threads: bool) {
    let is_held = scene != "drop";
    let mut cloth = sheet(side, is_held);
    cloth.config.solver = solver;
    cloth.config.contact.friction = 0.2;
    if !is_held {
        cloth.config.thickness = 0.01;
    }
    if threads && cloth.config.solver.is_xpbd() {
        let material =
            Material { stretch: [1000.0; 2], shear: 300.0, bending: 1e-5, ..Material::COTTON };
        cloth.set_membrane(&material);
    }
    let mut simulation = Simulation::new(Backend::Cpu).expect("there is a CPU");
    let id = simulation.add(cloth.clone()).expect("the cloth is valid");
    let mut add = |shape: Shape| {
        simulation.colliders_mut().add(shape).expect("the collider is valid");
    };
    match scene {
        "ball" => add(Sphere { center: [0.0, 0.55, 0.0], radius: 0.255 }.into()),
        "drop" => {
            add(Sphere { center: [0.0, 0.2, 0.0], radius: 0.205 }.into());
            add(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }.into());
        }
        _ => {}
    }
    let frames = if scene == "drop" { 180 } else { 120 };
    let (mut times, mut all) = (Vec::new(), Vec::new());
    for frame in 0..frames {
        let start = Instant::now();
        simulation.step(1.0 / 60.0).expect("the frame is valid");
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if frame >= frames / 2 {
            let state = simulation.state().expect("the state is there");
            let positions: Vec<_> = state.current(id).iter().map(|p| p.position).collect();
            strains(&cloth, &positions, &mut all);
        }
    }
    times.sort_by(f64::total_cmp);
    all.sort_by(f64::total_cmp);
    let report = simulation.state().expect("the state is there").implicit_report(id);
    let [p99, worst] = [all.len() * 99 / 100, all.len() - 1].map(|index| 100.0 * all[index]);
    let median = times[times.len() / 2];
    let per_frame = f64::from(report.iterations) / f64::from(frames);
    println!(
        "{scene},{side},{name},{median:.3},{p99:.2},{worst:.2},{per_frame:.1},{},{},{:.1}",
        report.unconverged,
        report.held,
        1e3 * median / per_frame.max(1.0),
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scene = arguments.first().map_or("swing", String::as_str);
    let sides = match arguments.get(1) {
        Some(side) => vec![side.parse().expect("a number of particles")],
        None => vec![16, 32, 64],
    };
    println!(
        "scene,side,solver,ms,p99_percent,worst_percent,iterations,unconverged,held,us_an_iteration"
    );
    for side in sides {
        let implicit = |substeps, max_iterations| Implicit {
            substeps,
            max_iterations,
            bending_rigidity: 1e-5,
            ..Implicit::default()
        };
        if let [_, _, substeps, iterations, rest @ ..] = &arguments[..] {
            let numbers = [substeps, iterations].map(|number| number.parse().expect("a number"));
            let preconditioner = match rest.first() {
                Some(name) => name.parse().expect("a preconditioner"),
                None => Preconditioner::Mass,
            };
            let mut solver = Implicit { preconditioner, ..implicit(numbers[0], numbers[1]) };
            let moduli = rest.iter().skip(1).map(|number| number.parse().expect("a stiffness"));
            if let [stretch, shear, bending_rigidity, tolerance] = moduli.collect::<Vec<f32>>()[..]
            {
                solver = Implicit {
                    stretch_stiffness: [stretch; 2],
                    shear_stiffness: shear,
                    bending_rigidity,
                    tolerance,
                    ..solver
                };
            }
            run(scene, side, &format!("implicit {substeps}x{iterations}"), solver.into(), true);
            continue;
        }
        for (substeps, iterations) in [(1, 400), (2, 200), (4, 96), (8, 96)] {
            let solver = implicit(substeps, iterations);
            run(scene, side, &format!("implicit {substeps}x{iterations}"), solver.into(), true);
        }
        for substeps in [8, 20] {
            let xpbd = Xpbd { substeps, bending_rigidity: 1e-5, ..Xpbd::default() };
            run(scene, side, &format!("xpbd {substeps}, same moduli"), xpbd.clone().into(), true);
            run(scene, side, &format!("xpbd {substeps}"), xpbd.into(), false);
        }
    }
}
