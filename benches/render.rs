//! Cost of render vertices next to a frame of their cloth: a skirt of 1,012 particles with 101,200
//! skinned vertices, on the CPU and on the first GPU adapter, including submission and waiting.

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cook::{CookOptions, SkinOptions, cook};
use poplin_cpu::{CpuEngine, render_vertices};
use poplin_gpu::{Headless, HeadlessOptions, RenderMeshes, RenderOptions, wgpu};
use poplin_host::Engine as _;
use poplin_model::{ClothDesc, Mesh, RenderVertex};

fn vertices(criterion: &mut Criterion) {
    let options = CookOptions { pins: (0..46).collect(), ..CookOptions::default() };
    let cooked = cook(&Mesh::tube(46, 22, 0.2, 0.5, 0.7), &options).expect("a tube cooks");
    let fine = Mesh::tube(460, 220, 0.2, 0.5, 0.7);
    let skin = cooked.skin(&fine, &SkinOptions::default()).expect("it lies on the tube");
    let (mesh, cloth) = (Arc::new(skin.mesh), cooked.into_cloth());
    let mut group = criterion.benchmark_group("render");
    group.sample_size(10);
    group.bench_function("cook_skin", |bencher| {
        let cooked = cook(&Mesh::tube(46, 22, 0.2, 0.5, 0.7), &options).expect("a tube cooks");
        bencher.iter(|| cooked.skin(&fine, &SkinOptions::default()));
    });
    group.bench_function("cpu_frame", |bencher| {
        let (mut engine, _) = on(CpuEngine::default(), &cloth);
        bencher.iter(|| engine.step(1.0 / 60.0));
    });
    group.bench_function("cpu_vertices", |bencher| {
        let mut vertices = vec![RenderVertex::default(); mesh.vertex_count()];
        let particles = cloth.particles.as_slice();
        bencher.iter(|| render_vertices(&mesh, particles.into(), &mut vertices, &mut []));
    });
    let Ok(gpu) = Headless::new(HeadlessOptions::default()) else { return };
    let (mut gpu, id) = on(gpu, &cloth);
    group.bench_function("gpu_frame", |bencher| {
        bencher.iter(|| gpu.step(1.0 / 60.0).and_then(|()| gpu.wait()));
    });
    let mut meshes = RenderMeshes::new(gpu.device(), gpu.queue(), RenderOptions::default())
        .expect("the engine's device suffices");
    let range = gpu.engine().particle_range(id).expect("it was added");
    meshes.add(&mesh, range).expect("it is the cloth's");
    group.bench_function("gpu_vertices", |bencher| {
        bencher.iter(|| {
            let descriptor = wgpu::CommandEncoderDescriptor::default();
            let mut encoder = gpu.device().create_command_encoder(&descriptor);
            let particles = gpu.engine().particle_buffer();
            meshes.encode(&mut encoder, particles, 1.0).expect("it has the particles");
            gpu.queue().submit([encoder.finish()]);
            gpu.wait()
        });
    });
    group.finish();
}

/// Adds the cloth to an engine.
fn on<E: poplin_host::Engine>(mut engine: E, cloth: &ClothDesc) -> (E, poplin_host::ClothId) {
    let id = engine.add(cloth.clone()).expect("the cloth is valid");
    (engine, id)
}

criterion_group!(benches, vertices);
criterion_main!(benches);
