//! Lines on stdout, and formatting of numbers.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

use anyhow::anyhow;

use crate::failure::{Exit, Failure};

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

/// Formats a count with thousands separators, for example `12,345`.
pub(crate) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun, for example `1 cloth`, `1,536 particles`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a length \[m\] with two or three digits in um, mm or m.
pub(crate) fn short_length(metres: f32) -> String {
    let (value, unit) = match metres {
        length if length < 1e-3 => (length * 1e6, "um"),
        length if length < 1.0 => (length * 1e3, "mm"),
        length => (length, "m"),
    };
    if value >= 10.0 { format!("{value:.0} {unit}") } else { format!("{value:.2} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_counts_with_separators_and_nouns() {
        assert_eq!(
            [0, 12, 999, 1000, 1_234_567].map(grouped),
            ["0", "12", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            (counted(1, "cloth"), counted(1200, "edge")),
            ("1 cloth".to_owned(), "1,200 edges".to_owned())
        );
    }
}
