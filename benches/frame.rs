//! Time per simulated frame (60 Hz, 300 iterations per second; 5 substeps with XPBD) on each
//! backend.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{ClothDesc, Mesh, Solver, Xpbd};
use poplin::{Backend, Simulation};
use poplin_testkit::scenes::hanging_sheet;

/// Function that creates a sheet of `side` x `side` particles.
type Maker = fn(u32) -> ClothDesc;

/// Single sheets of several sizes, then batches of one size: the cost of one cloth, and how cloths
/// share the machine.
const SCENES: [(&str, u32, usize, Maker); 9] = [
    ("sheet_16", 16, 1, by_pbd),
    ("sheet_32", 32, 1, by_pbd),
    ("sheet_64", 64, 1, by_pbd),
    ("sheet_128", 128, 1, by_pbd),
    ("sheet_32_xpbd", 32, 1, by_xpbd),
    ("sheet_64_xpbd", 64, 1, by_xpbd),
    ("sheet_64_xpbd_bends", 64, 1, by_xpbd_with_bends),
    ("batch_64_of_16", 16, 64, by_pbd),
    ("batch_256_of_32", 32, 256, by_pbd),
];

fn by_pbd(side: u32) -> ClothDesc {
    hanging_sheet(side, side)
}

/// Creates the sheet of [`by_pbd`] with XPBD, solved fiber by fiber.
fn by_xpbd(side: u32) -> ClothDesc {
    let mut cloth = hanging_sheet(side, side);
    cloth.config.solver = Solver::xpbd(5);
    cloth
}

/// Creates an XPBD sheet with bends instead of two-ring edges.
fn by_xpbd_with_bends(side: u32) -> ClothDesc {
    let pins = vec![0, side - 1];
    let tethers = Tethers::Geodesic;
    let options =
        CookOptions { pins, tethers, bending: false, bends: true, ..CookOptions::default() };
    let mut cloth =
        cook(&Mesh::grid(side, side, 1.0, 1.0), &options).expect("a grid cooks").into_cloth();
    cloth.config.solver = Xpbd { substeps: 5, bending_rigidity: 1e-5, ..Xpbd::default() }.into();
    cloth
}

fn frames(criterion: &mut Criterion, backend: Backend) {
    let mut group = criterion.benchmark_group(format!("frame_{}", backend.name()));
    group.sample_size(10);
    for (name, side, count, sheet) in SCENES {
        let Ok(mut simulation) = Simulation::new(backend) else { return };
        // A software adapter takes minutes for large scenes and does not represent GPUs.
        if simulation.backend().adapter.contains("software") && (count > 1 || side > 32) {
            continue;
        }
        let cloth = sheet(side);
        for _ in 0..count {
            simulation.add(cloth.clone()).expect("the sheet is valid");
        }
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                simulation.step(1.0 / 60.0).expect("the frame is valid");
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
