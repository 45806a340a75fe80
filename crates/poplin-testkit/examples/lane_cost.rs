//! Compares [`LaneCost`] with measured times: one iteration of Gauss-Seidel over the same sheet
//! with fibers of 1 to 64 edges, by 32 to 256 lanes of the GPU adapter and by one lane of the CPU
//! backend.
//!
//! `cargo run --release -p poplin-testkit --example lane_cost [-- SIDE]`
//!
//! A software adapter runs lanes as vectors of 8, one after another, so that the model has 3
//! unknown times there: of an edge, of the start of a fiber, and of a barrier. They are fitted to
//! all rows at once (least squares of relative errors).

#![expect(clippy::print_stdout, reason = "the tables are what it is for")]

use poplin_host::Engine as _;
use std::time::Instant;

use poplin_cook::{CookOptions, Tethers, cook};
use poplin_cpu::ReferenceEngine;
use poplin_gpu::EngineOptions;
use poplin_model::{ClothDesc, FiberSolver, LaneCost, Mesh};
use poplin_testkit::adapter::headless;

/// One frame of 5 iterations.
const FRAME: f32 = 1.0 / 60.0;

/// Number of lanes that a software adapter runs in lockstep: 256 bits.
const VECTOR: u32 = 8;

/// Measured time \[ms\] and the counts it is composed of.
struct Row {
    length: u32,
    lanes: u32,
    measured: f64,
    /// Serial counts of edges, starts of fibers and barriers.
    counts: [f64; 3],
}

fn main() {
    let side = std::env::args().nth(1).and_then(|side| side.parse().ok()).unwrap_or(32);
    let cloths: Vec<(u32, ClothDesc)> =
        [1, 2, 4, 8, 16, 32, 64].map(|length| (length, sheet(side, length))).into();
    report("CPU backend", &measure(&cloths, &[1], |cloth, _| on_cpu(cloth)));
    if let Some(adapter) = headless(EngineOptions::default()) {
        let name = adapter.adapter_info().name.clone();
        report(&name, &measure(&cloths, &[32, 64, 128, 256], on_gpu));
    }
}

/// Creates a sheet of `side` x `side` particles, with every edge solved by Gauss-Seidel on fibers
/// of at most `length` edges.
fn sheet(side: u32, length: u32) -> ClothDesc {
    let options = CookOptions {
        max_fiber_length: Some(length),
        tethers: Tethers::None,
        ..CookOptions::default()
    };
    let mut cloth =
        cook(&Mesh::grid(side, side, 1.0, 1.0), &options).expect("a grid cooks").into_cloth();
    cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
    cloth
}

/// Measures all cloths and lane counts, and subtracts the time of an iteration without fibers.
fn measure(
    cloths: &[(u32, ClothDesc)],
    lane_counts: &[u32],
    time: impl Fn(&ClothDesc, u32) -> f64,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for &lanes in lane_counts {
        let mut bare = cloths[0].1.clone();
        bare.phase_order.clear();
        let rest = time(&bare, lanes);
        let width = lanes.min(VECTOR);
        let cost = |barrier, fiber| LaneCost { lanes, width, groups: 1, barrier, fiber };
        for (length, cloth) in cloths {
            let of = |cost: LaneCost| cost.of_fabric(&cloth.fabric);
            let edges = of(cost(0.0, 0.0));
            let counts = [edges, of(cost(0.0, 1.0)) - edges, of(cost(1.0, 0.0)) - edges];
            rows.push(Row { length: *length, lanes, measured: time(cloth, lanes) - rest, counts });
        }
    }
    rows
}

/// Median time of an iteration \[ms\].
fn median(mut step: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let begin = Instant::now();
            step();
            begin.elapsed().as_secs_f64() * 1e3 / 5.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn on_cpu(cloth: &ClothDesc) -> f64 {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).expect("the sheet is valid");
    median(|| engine.step(FRAME).expect("the frame is valid"))
}

fn on_gpu(cloth: &ClothDesc, lanes: u32) -> f64 {
    let options = EngineOptions { lane_count: Some(lanes), ..EngineOptions::default() };
    let mut gpu = headless(options).expect("it was there before");
    gpu.add(cloth.clone()).expect("the sheet is valid");
    median(|| {
        gpu.step(FRAME).expect("the frame is valid");
        gpu.wait().expect("the adapter answers");
    })
}

fn report(name: &str, rows: &[Row]) {
    let times = fit(rows);
    let [edge, fiber, barrier] = times;
    println!(
        "\n{name}: an edge {:.0} ns, a fiber {:.1} edges, a barrier {:.1} edges",
        edge * 1e6,
        fiber / edge,
        barrier / edge
    );
    println!(
        "\n| edges a fiber, at most | lanes | ms an iteration | by the model | error |\n|---:|---:|---:|---:|---:|"
    );
    let mut errors = Vec::new();
    for row in rows {
        let model: f64 = row.counts.iter().zip(times).map(|(count, time)| count * time).sum();
        let error = model / row.measured - 1.0;
        errors.push(error.abs());
        println!(
            "| {} | {} | {:.3} | {model:.3} | {:+.0} % |",
            row.length,
            row.lanes,
            row.measured,
            error * 100.0
        );
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "\nmedian error {:.0} %, largest {:.0} %",
        errors[errors.len() / 2] * 100.0,
        errors[errors.len() - 1] * 100.0
    );
}

/// Fits non-negative times that minimize the squared relative errors: a negative time is set to 0
/// and the others are fitted again.
fn fit(rows: &[Row]) -> [f64; 3] {
    let mut is_free = [true; 3];
    loop {
        let mut system = [[0.0; 4]; 3];
        for row in rows {
            let ratios =
                [0, 1, 2].map(|k| if is_free[k] { row.counts[k] / row.measured } else { 0.0 });
            for (i, equation) in system.iter_mut().enumerate() {
                (0..3).for_each(|j| equation[j] += ratios[i] * ratios[j]);
                equation[3] += ratios[i];
            }
        }
        let times = eliminate(system);
        match times.iter().position(|&time| time < 0.0) {
            Some(k) => is_free[k] = false,
            None => return times,
        }
    }
}

/// Solves three linear equations by elimination; unknowns that occur in none of them are 0.
fn eliminate(mut rows: [[f64; 4]; 3]) -> [f64; 3] {
    for k in 0..3 {
        let pivot = rows[k];
        if pivot[k].abs() < 1e-12 {
            continue;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k] / pivot[k];
            (0..4).for_each(|j| row[j] -= factor * pivot[j]);
        }
    }
    [0, 1, 2].map(|k| if rows[k][k].abs() < 1e-12 { 0.0 } else { rows[k][3] / rows[k][k] })
}
