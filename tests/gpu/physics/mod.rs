//! Analytic results against measured ones on the CPU backend, and for small cases on the GPU.
//!
//! Position-based dynamics is of first order in the iteration step h, and its distance from the
//! constraints depends on the number of iterations. Every case states its discretisation and runs
//! again with finer ones, for which the error must decrease. `cargo xtask tables` writes the table
//! of the guide.

mod chain;
mod sheet;

use chain::{catenary_rows, pendulum_rows, semi_implicit_rows};
use poplin::gpu::EngineOptions;
use poplin::model::ClothDesc;
use poplin::{Backend, Simulation, State};
use poplin_testkit::adapter::headless;
use poplin_testkit::generated::{assert_block, markdown_table};
use sheet::{flight_rows, terminal_rows};

/// Gravity [m/s^2].
const G: f64 = 9.81;

/// Measured and expected value of a case.
#[derive(Debug, Clone)]
struct Row {
    case: String,
    expected: f64,
    cpu: f64,
    gpu: Option<f64>,
}

impl Row {
    /// Relative error on the CPU backend.
    fn error(&self) -> f64 {
        (self.cpu / self.expected - 1.0).abs()
    }
}

/// Measures a case on both backends.
fn row(case: String, expected: f64, measure: impl Fn(Backend) -> f64) -> Row {
    let gpu = headless(EngineOptions::default()).map(|_| measure(Backend::Gpu));
    Row { case, expected, cpu: measure(Backend::Cpu), gpu }
}

/// Checks that both backends agree and that the error is at most `allowed`.
#[track_caller]
fn assert_row(row: &Row, allowed: f64) {
    assert!(
        row.error() <= allowed,
        "{}: {} against {}, error {}",
        row.case,
        row.cpu,
        row.expected,
        row.error()
    );
    if let Some(gpu) = row.gpu {
        // The backends differ by rounding, which is far below the error of the scheme.
        assert!(
            (gpu / row.cpu - 1.0).abs() <= 0.1 * allowed,
            "{}: GPU {gpu}, CPU {}",
            row.case,
            row.cpu
        );
    }
}

/// Checks that each refinement by 2 reduces the error by at least 1.6: first order, with room for
/// terms of second order.
#[track_caller]
fn assert_first_order(what: &str, errors: &[f64]) {
    eprintln!("{what}: errors {errors:.6?} under refinement by 2");
    assert!(errors.windows(2).all(|pair| pair[0] > 1.6 * pair[1]), "{what}: {errors:?}");
}

fn run(backend: Backend, cloth: ClothDesc, dt: f64, seconds: f64) -> State {
    let mut simulation = Simulation::new(backend).unwrap();
    simulation.add(cloth).unwrap();
    for _ in 0..(seconds / dt).round() as u32 {
        simulation.step(dt as f32).unwrap();
    }
    simulation.state().unwrap()
}

#[test]
fn table_of_all_rows() {
    let rows =
        [terminal_rows(), pendulum_rows(), catenary_rows(), semi_implicit_rows(), flight_rows()];
    let cells = rows.concat().into_iter().map(|row| {
        // The other tests bound the error of each backend; here both must have the same error.
        assert_row(&row, 0.05);
        vec![
            row.case.replace('[', "\\[").replace(']', "\\]"),
            format!("{:.5}", row.expected),
            format!("{:.5}", row.cpu),
            format!("{:.2} %", 100.0 * row.error()),
        ]
    });
    let table = markdown_table(&["case", "expected", "got", "error"], &cells.collect::<Vec<_>>());
    assert_block("crates/poplin/guide/validation.md", "physics", &table);
}
