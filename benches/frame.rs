//! Milliseconds per simulated frame (60 Hz, 300 iterations per second) on each backend.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use poplin::model::Frame;
use poplin::{Backend, Simulation};
use poplin_testkit::scenes::hanging_sheet;

/// One sheet of some sizes, then batches of one size: what a single cloth costs and how cloths share the machine.
const SCENES: [(&str, u32, usize); 6] = [
    ("sheet_16", 16, 1),
    ("sheet_32", 32, 1),
    ("sheet_64", 64, 1),
    ("sheet_128", 128, 1),
    ("batch_64_of_16", 16, 64),
    ("batch_256_of_32", 32, 256),
];

fn frames(criterion: &mut Criterion, backend: Backend) {
    let mut group = criterion.benchmark_group(format!("frame_{}", backend.name()));
    group.sample_size(10);
    for (name, side, count) in SCENES {
        let Ok(mut simulation) = Simulation::new(backend) else { return };
        // A software adapter takes minutes for the large scenes and says nothing about GPUs.
        if simulation.backend().adapter.contains("software") && (count > 1 || side > 32) {
            continue;
        }
        let cloth = hanging_sheet(side, side);
        for _ in 0..count {
            simulation.add(cloth.clone()).expect("the sheet is valid");
        }
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                simulation.step(&Frame::default()).expect("the frame is valid");
                simulation.wait().expect("the backend answers");
            });
        });
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    frames(criterion, Backend::Cpu);
}

fn on_gpu(criterion: &mut Criterion) {
    frames(criterion, Backend::Gpu);
}

criterion_group!(benches, on_cpu, on_gpu);
criterion_main!(benches);
