//! Cost of collision between cloths on the CPU backend: one frame (60 Hz, 300 iterations per
//! second) of stacked sheets of 32 x 32 particles, with and without it.

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cook::{CookOptions, cook};
use poplin_cpu::CpuEngine;
use poplin_host::Engine as _;
use poplin_model::{ClothContactSolver, ClothDesc, Mesh, Particle, Plane};

/// Particles along each side of a sheet, 1/31 m apart.
const SIDE: u32 = 32;

/// Distance kept between the sheets \[m\].
const DISTANCE: f32 = 0.03;

/// Frames after which the sheets rest on one another.
const SETTLING: usize = 60;

/// Creates a sheet of a square meter above the ground.
fn sheet(layer: u32, corner: [f32; 2], distance: f32) -> ClothDesc {
    let mut cloth = cook(&Mesh::grid(SIDE, SIDE, 1.0, 1.0), &CookOptions::default())
        .expect("a grid cooks")
        .into_cloth();
    for Particle { position: [x, y, z], .. } in &mut cloth.particles {
        (*x, *y, *z) =
            (*x + corner[0] + 0.01 * layer as f32, 0.035 * (layer + 1) as f32, *z + corner[1]);
    }
    cloth.config.damping = [0.5; 3];
    cloth.config.contact.friction = 0.5;
    cloth.config.cloth_collision.distance = Some(distance);
    let floor = Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 };
    cloth.colliders.add(floor).expect("the floor is valid");
    cloth
}

/// Creates an engine with `stacks` settled stacks of `layers` sheets.
fn engine(stacks: u32, layers: u32, distance: f32, settings: ClothContactSolver) -> CpuEngine {
    let mut engine = CpuEngine::new();
    engine.set_cloth_contact_solver(settings).expect("the settings are valid");
    for stack in 0..stacks {
        for layer in 0..layers {
            let corner = [2.0 * (stack % 8) as f32, 2.0 * (stack / 8) as f32];
            engine.add(sheet(layer, corner, distance)).expect("the sheet is valid");
        }
    }
    (0..SETTLING).for_each(|_| engine.step(1.0 / 60.0).expect("the frame is valid"));
    engine
}

fn contacts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("contacts");
    group.sample_size(20);
    let default = ClothContactSolver { friction: 0.5, ..ClothContactSolver::default() };
    let cases = [
        ("none", 1, 4, 0.0, default),
        ("four_sheets", 1, 4, DISTANCE, default),
        ("four_sheets_one_pass", 1, 4, DISTANCE, ClothContactSolver { iterations: 1, ..default }),
        ("four_sheets_once_a_frame", 1, 4, DISTANCE, ClothContactSolver { every: 0, ..default }),
        ("apart_none", 64, 1, 0.0, default),
        ("apart", 64, 1, DISTANCE, default),
    ];
    for (name, stacks, layers, distance, settings) in cases {
        let mut engine = engine(stacks, layers, distance, settings);
        group.bench_function(name, |bencher| {
            bencher.iter(|| engine.step(1.0 / 60.0).expect("the frame is valid"))
        });
    }
    group.finish();
}

criterion_group!(benches, contacts);
criterion_main!(benches);
