//! The command `poplin`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(poplin_cli::command(std::env::args_os()))
}
