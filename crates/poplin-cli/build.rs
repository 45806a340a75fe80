//! Passes the commit that the binary is built from to `poplin bench`, as the variable
//! `POPLIN_COMMIT`.

use std::path::Path;
use std::process::Command;

fn main() {
    // Everything that goes into the binary, and the commit, whose log is in the folder of a
    // worktree.
    println!("cargo::rerun-if-changed=..");
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = git(&["describe", "--always", "--dirty"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=POPLIN_COMMIT={commit}");
}

/// Returns the line that git prints, if git exists and this is a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
