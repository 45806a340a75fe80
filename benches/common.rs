//! One frame of each row of `poplin bench` on the CPU backend, after the frames of its scene, when
//! the cloth is in the state that the row measures. The time in the row itself covers all frames of
//! the scene.

use criterion::{Criterion, criterion_group, criterion_main};
use poplin::Backend;
use poplin_measure::bench::{SceneRun, Workload};

fn workloads(criterion: &mut Criterion) {
    // All eight friction coefficients cost the same.
    for workload in Workload::ALL
        .into_iter()
        .filter(|workload| workload.name != "w4-frictions" && !workload.name.starts_with("fine"))
    {
        let mut group = criterion.benchmark_group(format!("common_{}", workload.name));
        group.sample_size(10);
        for setup in workload.setups() {
            // Names become columns of CSV.
            let name = setup.settings().replace(", ", "-").replace(' ', "_");
            group.bench_function(name, |bencher| {
                let mut run = SceneRun::new(&setup, &Backend::Cpu.into()).expect("it is valid");
                let mut step = || run.step().expect("the CPU steps");
                (0..setup.scene.frames()).for_each(|_| step());
                bencher.iter(step);
            });
        }
        group.finish();
    }
}

criterion_group!(benches, workloads);
criterion_main!(benches);
