//! Cost of self collision on the CPU backend: one frame (60 Hz, 300 iterations per second) of a
//! freely hanging sheet of 64 x 64 particles, and of one that lies in folds after falling over a
//! ball, each with and without self collision.

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cook::{CookOptions, cook};
use poplin_cpu::CpuEngine;
use poplin_host::Engine as _;
use poplin_model::{ClothDesc, Mesh, Particle, Plane, Shape, Sphere};

/// Particles along each side of the sheet.
const SIDE: u32 = 64;

/// Frames after which the sheet has come to rest.
const SETTLING: usize = 120;

fn sheet(pins: Vec<u32>) -> ClothDesc {
    let mut cloth =
        cook(&Mesh::grid(SIDE, SIDE, 1.0, 1.0), &CookOptions { pins, ..CookOptions::default() })
            .expect("a grid cooks")
            .into_cloth();
    cloth
        .particles
        .iter_mut()
        .for_each(|Particle { position: [x, y, z], .. }| (*x, *y, *z) = (*x - 0.5, 0.5, *z - 0.5));
    cloth.config.damping = [0.2; 3];
    cloth.config.contact.friction = 0.3;
    cloth
}

fn over_a_ball() -> ClothDesc {
    let mut cloth = sheet(Vec::new());
    let shapes = [
        Shape::from(Sphere { center: [0.0, 0.2, 0.0], radius: 0.2 }),
        Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }),
    ];
    for shape in shapes {
        cloth.colliders.add(shape).expect("the shapes are valid");
    }
    cloth
}

fn self_collision(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("self_collision");
    group.sample_size(20);
    for (scene, cloth) in [("hanging", sheet(vec![0, SIDE - 1])), ("folded", over_a_ball())] {
        for (name, thickness) in [("without", 0.0), ("with", 0.01)] {
            let mut cloth = cloth.clone();
            cloth.config.thickness = thickness;
            let mut engine = CpuEngine::new();
            engine.add(cloth).expect("the sheet is valid");
            let step =
                |engine: &mut CpuEngine| engine.step(1.0 / 60.0).expect("the frame is valid");
            (0..SETTLING).for_each(|_| step(&mut engine));
            group.bench_function(format!("{scene}_{name}"), |bencher| {
                bencher.iter(|| step(&mut engine))
            });
        }
    }
    group.finish();
}

criterion_group!(benches, self_collision);
criterion_main!(benches);
