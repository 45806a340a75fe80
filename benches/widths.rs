//! Frames of the CPU backend with every instruction set of the machine, next to the reference: 50
//! hanging cloths of 16 x 16 with 4 tapered capsules each, where lanes hold cloths, and sheets of
//! 64 x 64 and 128 x 128, where lanes hold fibers and particles. `RAYON_NUM_THREADS=1` compares
//! instruction sets only.

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cpu::WideTeam;
use poplin_cpu::{LaneEngine, Team, Workers};
use poplin_host::Engine as _;
use poplin_measure::bench::{FRAME_RATE, Workload};
use poplin_model::ClothDesc;

/// Frames until the sheets hang at rest.
const SETTLING: u32 = 60;

fn frames<W: Workers + Clone + Send + Sync + 'static>(
    criterion: &mut Criterion,
    name: &str,
    (cloth, count): (&ClothDesc, usize),
    workers: W,
    group: &str,
) {
    let mut engine = LaneEngine::with_workers(workers);
    for _ in 0..count {
        engine.add(cloth.clone()).expect("the cloth is valid");
    }
    let dt = 1.0 / FRAME_RATE as f32;
    let mut step = || engine.step(dt).expect("the frame is valid");
    (0..SETTLING).for_each(|_| step());
    let mut group = criterion.benchmark_group(group);
    group.sample_size(20);
    group.bench_function(name, |bencher| bencher.iter(&mut step));
    group.finish();
}

fn widths(criterion: &mut Criterion) {
    for (workload, count) in [("headline", 50), ("sheet-64", 1), ("sheet-128", 1)] {
        let workload = Workload::named(workload).expect("it is one");
        for setup in workload.setups().into_iter().filter(|setup| setup.iterations == 5) {
            let cloth = setup.cloth().expect("it is valid");
            let settings = setup.settings().replace(", ", "-").replace(' ', "_");
            let group = format!("widths_{}_{settings}", workload.name);
            frames(criterion, "mirror", (&cloth, count), Team::single(), &group);
            for team in WideTeam::all() {
                let name = team.describe().replace(", ", "_").replace(' ', "_");
                frames(criterion, &name, (&cloth, count), team, &group);
            }
        }
    }
}

criterion_group!(benches, widths);
criterion_main!(benches);
