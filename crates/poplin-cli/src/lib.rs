//! The command line of poplin as a library, for the command `poplin` and for the Python package:
//! `run` simulates a scene, `batch` many variants of one, `view` shows a scene, `cook` reports on a
//! mesh, `scenes` lists scenes and keys, `check` finds errors in a scene, `info` and `doctor`
//! report on the machine, `conform` and `bench` on the engine.

mod args;
mod batch;
mod bench;
mod check;
mod conform;
mod cook;
mod doctor;
mod failure;
mod files;
mod info;
mod interrupt;
mod logging;
mod output;
mod run;
mod scenes;
#[cfg(feature = "view")]
mod view;

use std::ffi::OsString;

use clap::Parser;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use args::{Cli, Command};

/// Runs a command line, whose first word is the name of the program. Returns the exit code: 0, 1
/// for a failure, 2 for bad input, 130 if interrupted.
pub fn command(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let error = with_tip(error, &words);
            // Prints help, version or the error; a failed write has nowhere to be reported.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    logging::init(cli.verbose);
    let ended = match &cli.command {
        Command::Run(args) => run::run(args),
        #[cfg(feature = "view")]
        Command::View(args) => view::view(args),
        #[cfg(not(feature = "view"))]
        Command::View(_) => Err(failure::no_view()),
        Command::Batch(args) => batch::batch(args),
        Command::Cook(args) => cook::cook(args),
        Command::Scenes(args) => scenes::scenes(args),
        Command::Check(args) => check::check(args),
        Command::Info => info::info(),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Conform(args) => conform::conform(args, cli.verbose > 0),
        Command::Bench(args) => bench::bench(args),
    };
    failure::exit_code(ended.and_then(output::check))
}

/// Adds to an error how a speed is given to `--stop-at-rest`, which has one only behind `=`.
fn with_tip(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let speed = words.windows(2).find_map(|pair| {
        let speed = pair[1].to_str().filter(|_| pair[0] == "--stop-at-rest")?;
        speed.parse::<f32>().is_ok().then_some(speed)
    });
    if let Some(speed) = speed.filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        let tip = StyledStr::from(format!("write '--stop-at-rest={speed}' to state the speed"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}
