//! Cost of fibers on the CPU backend with Gauss-Seidel, mixed (the default of PBD) and
//! semi-implicit solvers: one iteration of only the fibers on hanging cloths with fibers of up to
//! 1, 8, 16 and 64 edges, and a frame of the swinging sheets of 16 x 16 and 64 x 64 with the
//! iterations that keep 99 % of their edges within 1 %
//! (`crates/poplin-testkit/examples/convergence`).

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cook::Tethers;
use poplin_cpu::CpuEngine;
use poplin_host::Engine as _;
use poplin_testkit::fibers::{
    FRAME_RATE, FreeFall, Mix, Pins, Swing, SwingSolver, WHOLE, hanging_chain, hanging_sheet,
};

/// Fiber solvers with their names.
const MIXES: [(&str, Mix); 3] =
    [("gauss_seidel", Mix::GaussSeidel), ("mixed", Mix::Stretch), ("whole", Mix::All)];

fn iterations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fibers_iteration");
    group.sample_size(20);
    let mut cloths = vec![("chain_64".to_owned(), hanging_chain(64))];
    for side in [16, 32, 64] {
        for length in [1, 8, 16, 64] {
            cloths.push((
                format!("sheet_{side}_fibers_of_{length}"),
                hanging_sheet(side, Pins::TopRow, length),
            ));
        }
    }
    for (name, cloth) in cloths {
        for (solver, mix) in MIXES {
            let mut fall = FreeFall::new(&cloth, mix);
            group.bench_function(format!("{name}_{solver}"), |bencher| {
                bencher.iter(|| fall.iterate())
            });
        }
    }
    group.finish();
}

/// Side, best fiber length limit for Gauss-Seidel, and iterations per frame for each of [`MIXES`].
const SWINGS: [(u32, u32, [u32; 3]); 2] = [(16, WHOLE, [20, 2, 6]), (64, 8, [28, 4, 2])];

fn swings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fibers_swing");
    group.sample_size(10);
    for (side, best_length, rungs) in SWINGS {
        for ((solver, mix), iterations) in MIXES.into_iter().zip(rungs) {
            let max_fiber_length = if mix == Mix::GaussSeidel { best_length } else { WHOLE };
            let solver_settings = SwingSolver::PbdFully(mix);
            let swing = Swing {
                side,
                max_fiber_length: Some(max_fiber_length),
                tethers: Tethers::Geodesic,
                solver: solver_settings,
                iterations,
            };
            let mut engine = CpuEngine::new();
            engine.add(swing.cloth()).expect("the sheet is valid");
            let dt = 1.0 / FRAME_RATE as f32;
            let mut step = || engine.step(dt).expect("the frame is valid");
            // Let the sheet swing onto the ball first.
            (0..FRAME_RATE).for_each(|_| step());
            group.bench_function(
                format!("sheet_{side}_{solver}_{}_hz", iterations * FRAME_RATE),
                |bencher| {
                    bencher.iter(&mut step);
                },
            );
        }
    }
    group.finish();
}

criterion_group!(benches, iterations, swings);
criterion_main!(benches);
