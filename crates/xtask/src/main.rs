//! Project tasks: tests, checks, generated files and packages. `cargo xtask` lists them.

mod adapter;
mod bench_table;
mod blender;
#[cfg(test)]
mod checks;
mod ci;
mod figure;
mod generate;
mod gpu_kit;
mod gpu_stats;
mod install;
mod lint;
mod package;
mod python;
mod run;
mod serve;
mod skips;
mod test;
mod validation;
mod web;

use std::process::ExitCode;

use gpu_kit::Kit;
use test::{Extent, Totals};

const HELP: &str = "Usage: cargo xtask <TASK>

  test                 runs every test. Where there is no Vulkan, Metal or DX12 adapter, on Debian and Ubuntu it first installs a
                       software one with apt, as root or with sudo. Tests run by cargo-nextest, or by `cargo test` without it
  test --quick         runs the tests that need neither a GPU nor long scenes
  ci                   runs everything a change must pass: fmt, lint, tests, the kernel tests again on SwiftShader (the
                       software adapter of Chromium), the GPU tests with the rounding of a real GPU, clippy, docs,
                       benches in test mode, packages; with CI=true it installs what is missing, and only declared
                       tests may be skipped
  nightly              runs the longer checks: long forms of the tests, smaller feature sets, licences, and the tasks
                       gpu-stats, python, web and blender
  lint                 checks the texts in sources (first words of docs, widths, lengths) and the spelling
  generate             writes the shader files that follow from declarations in poplin-layout
  tables               rewrites the generated tables of README and guide; --check fails if one has drifted
  validation           measures every table of the validation page again from scene files, about 20 minutes, and writes
                       all tables as above
  bench-table [DIR]    writes the criterion results under target/criterion as DIR/bench.csv, with machine, date and
                       commit (default: benches/results/MACHINE; - for standard output)
  blender              runs scenes with every format of frames and compares each vertex of each frame with what NumPy, OpenUSD
                       and Blender read, which it installs into target/blender with pip (Python 3.11), and GLB with Khronos's
                       glTF validator (npm); plays a character that Blender animates; prints what cannot be installed
  figure               writes the figure that walks in scenes/meshes/walk.toml, a skinned GLB
  gpu-kit              packs the command, the suite of kernel tests and a script into target/gpu-kit, for a machine with a
                       GPU that has no Rust: doctor, tests in groups, times beside the CPU's, scenes with contact of
                       triangles, each step with a limit of time, and a table; --quick also runs a little of each step on
                       the software adapter here
  gpu-stats            compiles every kernel for four families of AMD GPUs with Mesa's driver, no GPU needed, and writes
                       registers, spills, workgroup memory, occupancy and code size as benches/results/radv/gpu_stats.csv;
                       fails if a kernel of a common set of stages spills vector registers
  python               builds the wheel of poplin-python into target/python/wheels, installs it into a new environment outside
                       the sources, with Ray (70 MB) if Ray has a package for this Python, and runs its tests there; needs
                       Python 3.10 or later and pip
  python build         builds only the wheel
  web                  builds the page of poplin-web into target/web/page, plays its scenes in headless Chromium, compares
                       their particles with the CPU backend bit by bit and writes pictures to target/web/pictures;
                       installs what is missing (Rust's target for browsers, wasm-bindgen, Chromium) like test
  web serve            builds the page and serves it on this machine
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => adapter::ensure().and_then(|()| closing(test::run(Extent::Whole))),
        ["test", "--quick"] => closing(test::run(Extent::Quick)),
        ["ci"] => adapter::ensure()
            .and_then(|()| adapter::ensure_second())
            .and_then(|()| closing(ci::ci())),
        ["nightly"] => adapter::ensure()
            .and_then(|()| adapter::ensure_second())
            .and_then(|()| closing(ci::nightly())),
        ["lint"] => lint::check(),
        ["generate"] => generate::write(),
        ["tables"] => ci::tables(ci::Tables::Write),
        ["tables", "--check"] => ci::tables(ci::Tables::Check),
        ["validation"] => validation::write(),
        ["bench-table"] => bench_table::write(bench_table::Target::Results),
        ["bench-table", "-"] => bench_table::write(bench_table::Target::Stdout),
        ["bench-table", folder] => bench_table::write(bench_table::Target::Folder(folder.into())),
        ["blender"] => blender::check(),
        ["figure"] => figure::write(),
        ["gpu-kit"] => gpu_kit::build(Kit::Packed),
        ["gpu-kit", "--quick"] => adapter::ensure().and_then(|()| gpu_kit::build(Kit::Tried)),
        ["gpu-stats"] => gpu_stats::write(),
        ["python"] => python::test(),
        ["python", "build"] => python::build().map(|_| ()),
        ["web"] => web::test(),
        ["web", "serve"] => web::show(),
        [] | ["help" | "-h" | "--help"] => {
            run::say(HELP);
            return ExitCode::SUCCESS;
        }
        other => Err(format!("unknown task `{}`\n\n{HELP}", other.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            run::complain(&message);
            ExitCode::FAILURE
        }
    }
}

/// Prints the closing line of a run that has passed.
fn closing(totals: Result<Totals, String>) -> Result<(), String> {
    totals.map(|totals| totals.print())
}
