//! Time of the first frame of a new simulation on the GPU, compilers included:
//! `cargo run --release -p poplin-testkit --example first_frame`.
//!
//! Prints a CSV table of milliseconds, measured in a separate process for each row. Drivers cache
//! compiled kernels on disk: disable the cache to measure the compiler
//! (`MESA_SHADER_CACHE_DISABLE=true` for Mesa).

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::process::Command;
use std::time::Instant;

use poplin::{Backend, Simulation};
use poplin_model::{ClothDesc, Shape};
use poplin_testkit::scenes::hanging_sheet;

const SCENES: [(&str, u32, bool); 4] = [
    ("16 x 16", 16, false),
    ("16 x 16 over a sphere and a capsule", 16, true),
    ("32 x 32", 32, false),
    ("64 x 64", 64, false),
];

fn cloth(side: u32, has_shapes: bool) -> ClothDesc {
    let mut cloth = hanging_sheet(side, side);
    if has_shapes {
        for shape in [Shape::sphere(0.2), Shape::capsule(0.5, [0.1, 0.2])] {
            cloth.colliders.add(shape).expect("the scene is valid");
        }
    }
    cloth
}

fn measure(side: u32, has_shapes: bool) {
    let mut last = Instant::now();
    let mut lap = || {
        let now = Instant::now();
        1e3 * (now - std::mem::replace(&mut last, now)).as_secs_f64()
    };
    let mut simulation = Simulation::new(Backend::Gpu).expect("there is an adapter");
    let made = lap();
    let id = simulation.add(cloth(side, has_shapes)).expect("the scene is valid");
    let mut step = || {
        simulation.step(1.0 / 60.0).expect("the scene is valid");
        let state = simulation.state().expect("the device works");
        assert!(state.current(id).iter().all(|particle| particle.position[1].is_finite()));
    };
    step();
    let first = lap();
    step();
    println!("{made:.0},{first:.0},{:.1}", lap());
}

fn main() {
    if let Some(scene) = std::env::args().nth(1) {
        let (_, side, has_shapes) = SCENES[scene.parse::<usize>().expect("the index of a scene")];
        return measure(side, has_shapes);
    }
    println!("cloth,Simulation::new [ms],add and first frame [ms],second frame [ms]");
    for (index, (name, ..)) in SCENES.into_iter().enumerate() {
        let own = std::env::current_exe().expect("it runs");
        let output = Command::new(own).arg(index.to_string()).output().expect("it runs");
        print!("{name},{}", String::from_utf8_lossy(&output.stdout));
    }
}
