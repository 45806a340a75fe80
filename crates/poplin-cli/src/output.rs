//! Lines on stdout.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

use anyhow::anyhow;

use poplin_run::Failure;

use crate::failure::Exit;

/// First write error.
static FAULT: OnceLock<std::io::Error> = OnceLock::new();

/// Writes a line. A closed pipe (`poplin info | head -1`) is not an error: the command continues.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_fmt(text).and_then(|()| stdout.write_all(b"\n"));
    if let Err(error) = written.and_then(|()| stdout.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        // Keeps only the first error.
        let _ = FAULT.set(error);
    }
}

/// Writes a line to stdout, like `println!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// Replaces a success by a failure if a line could not be written (a full disk behind a
/// redirection).
pub(crate) fn check(exit: Exit) -> Result<Exit, Failure> {
    match FAULT.get() {
        Some(error) => {
            Err(Failure::Failed(anyhow!("cannot write to the standard output: {error}")))
        }
        None => Ok(exit),
    }
}
