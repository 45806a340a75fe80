//! Files that a command writes at its end.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use poplin_run::{Failure, OrFail};
use tempfile::NamedTempFile;

/// Fails if a file cannot be written, before any work is done for it.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    temporary_beside(path).map(drop)
}

/// Replaces a file by a text; at any time it is the one before or this one.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = temporary_beside(path)?;
    file.write_all(text.as_bytes()).with_context(|| cannot_write(path)).or_failed()?;
    file.persist(path).with_context(|| cannot_write(path)).or_failed()?;
    Ok(())
}

fn temporary_beside(path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
    file.with_context(|| cannot_write(path)).or_failed()
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
