//! Project tasks: `cargo xtask test`, `cargo xtask ci`, `cargo xtask generate`, `cargo xtask bench-table`.

mod adapter;
mod bench_table;
mod generate;
mod run;

use std::process::ExitCode;

const HELP: &str = "Usage: cargo xtask <TASK>

  test                 makes sure that there is a Vulkan, Metal or DX12 adapter (on Debian and Ubuntu it installs
                       a software one with apt as root or sudo), then runs every test
  ci                   test, then fmt --check, clippy, docs and the benches in test mode
  generate             writes the shader files that follow from declarations in poplin-layout
  bench-table [DIR]    writes the criterion results under target/criterion as a table to DIR (default: standard output)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => adapter::ensure().and_then(|()| run::test()).map(|totals| totals.print()),
        ["ci"] => adapter::ensure().and_then(|()| run::ci()).map(|totals| totals.print()),
        ["generate"] => generate::write(),
        ["bench-table"] => bench_table::write(None),
        ["bench-table", folder] => bench_table::write(Some(folder.as_ref())),
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
