//! Passes the commit that the binary is built from to `poplin bench`, as the variable `POPLIN_COMMIT`.

use std::path::Path;
use std::process::Command;

fn main() {
    // Of everything that goes into the binary, and of the commit itself: this file is in a worktree's own folder.
    println!("cargo::rerun-if-changed=..");
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = git(&["describe", "--always", "--dirty"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=POPLIN_COMMIT={commit}");
}

/// The line that git prints, if there is git and this is a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
