//! Cooking time of a hanging sheet of quads with geodesic tethers to two pinned corners.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cook::{CookOptions, cook};
use poplin_model::Mesh;

fn cook_grids(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cook");
    group.sample_size(10);
    for count in [128, 512] {
        let mesh = Mesh::grid(count, count, 1.0, 1.0);
        let options = CookOptions { pins: vec![0, count - 1], ..CookOptions::default() };
        group.bench_function(format!("grid_{count}"), |bencher| {
            bencher.iter(|| cook(black_box(&mesh), &options).expect("a grid cooks"));
        });
    }
    group.finish();
}

criterion_group!(benches, cook_grids);
criterion_main!(benches);
