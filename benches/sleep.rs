//! Savings by sleep on the CPU backend: a batch of sheets, all awake or 90 % asleep.

use criterion::{Criterion, criterion_group, criterion_main};
use poplin::{Backend, Simulation};
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::hanging_sheet;

/// Number of sheets in the batch.
const COUNT: usize = 256;

/// Creates a batch in which every tenth sheet never sleeps and the others only sleep if `sleeps` is
/// set, and steps it until they do.
fn batch(sleeps: bool) -> Simulation {
    let mut simulation = Simulation::new(Backend::Cpu).expect("the CPU backend is built in");
    for index in 0..COUNT {
        let mut cloth = hanging_sheet(16, 16);
        if sleeps && index % 10 != 0 {
            // Every rest test passes: the sheet sleeps from the first test on.
            cloth.config.sleep.threshold = 1000.0;
            cloth.config.sleep.after_count = 1;
        }
        simulation.add(cloth).expect("the sheet is valid");
    }
    (0..6).for_each(|_| simulation.step(1.0 / 60.0).expect("the frame is valid"));
    let state = simulation.state().expect("the CPU backend answers");
    let asleep = (0..COUNT).filter(|&id| state.slept_frames(nth_cloth(id)) > 0).count();
    assert_eq!(asleep, if sleeps { COUNT - COUNT.div_ceil(10) } else { 0 });
    simulation
}

fn sleep(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sleep");
    group.sample_size(20);
    for (name, sleeps) in [("awake", false), ("ninety_percent_asleep", true)] {
        let mut simulation = batch(sleeps);
        group.bench_function(name, |bencher| {
            bencher.iter(|| simulation.step(1.0 / 60.0).expect("the frame is valid"));
        });
    }
    group.finish();
}

criterion_group!(benches, sleep);
criterion_main!(benches);
