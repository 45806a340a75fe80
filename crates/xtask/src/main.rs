//! Project tasks: `cargo xtask test`, `ci`, `generate`, `tables`, `words`, `bench-table`, `blender`, `figure`, `gpu-stats`, `python`, `web`.

mod adapter;
mod bench_table;
mod blender;
mod figure;
mod generate;
mod gpu_stats;
mod install;
mod package;
mod python;
mod run;
mod serve;
mod skips;
mod web;

use std::process::ExitCode;

const HELP: &str = "Usage: cargo xtask <TASK>

  test                 makes sure that there is a Vulkan, Metal or DX12 adapter (on Debian and Ubuntu it installs
                       a software one with apt as root or sudo), then runs every test
  ci                   test, and those of the kernels again on SwiftShader, the software adapter of Chromium, where it is
                       installed, then fmt --check, clippy, docs, the benches in test mode, less features, licences and
                       packages; with CI=true SwiftShader is installed, and only declared tests may be skipped
  generate             writes the shader files that follow from declarations in poplin-layout
  tables               rewrites the generated tables of README and guide; --check fails if one has drifted
  words                prints every use of a retired word (tests/words.txt), and counts
  bench-table [DIR]    writes the criterion results under target/criterion as DIR/bench.csv, with machine, date and
                       commit (default: benches/results/MACHINE; - for standard output)
  blender              runs scenes with every format of frames and compares each vertex of each frame with what NumPy, OpenUSD
                       and Blender read, which it installs into target/blender with pip (Python 3.11), and GLB with Khronos's
                       validator (npm); plays a character that Blender animates; says what cannot be installed
  figure               writes the figure that walks in scenes/meshes/walk.toml, a skinned GLB
  gpu-stats            compiles every kernel for four families of AMD GPUs with Mesa's driver, no GPU needed, and writes
                       registers, spills, workgroup memory, occupancy and code size as benches/results/radv/gpu_stats.csv;
                       fails if a kernel of a common set of stages spills vector registers
  python               builds the wheel of poplin-python into target/python/wheels, installs it into an environment of its own
                       outside the sources, with Ray (70 MB) where that has a package for this Python, and runs its tests
                       there; needs Python 3.10 or later and pip
  python build         builds the wheel alone
  web                  builds the page of poplin-web into target/web/page, plays its scenes in headless Chromium, compares
                       their particles with the CPU backend bit by bit and leaves pictures in target/web/pictures; what is
                       missing (Rust's target for browsers, wasm-bindgen, Chromium) it installs as test does
  web serve            builds the page and serves it on this machine
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => adapter::ensure().and_then(|()| run::test(false)).map(|totals| totals.print()),
        ["ci"] => adapter::ensure()
            .and_then(|()| adapter::ensure_second())
            .and_then(|()| run::ci())
            .map(|totals| totals.print()),
        ["generate"] => generate::write(),
        ["tables"] => run::tables(run::Tables::Write),
        ["tables", "--check"] => run::tables(run::Tables::Check),
        ["words"] => run::words(),
        ["bench-table"] => bench_table::write(bench_table::Target::Results),
        ["bench-table", "-"] => bench_table::write(bench_table::Target::Stdout),
        ["bench-table", folder] => bench_table::write(bench_table::Target::Folder(folder.into())),
        ["blender"] => blender::check(),
        ["figure"] => figure::write(),
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
