//! Runs cargo and other programs.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Returns the folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program to its end; fails unless it succeeds.
pub(crate) fn run_program(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

/// Returns the cargo that runs this program.
pub(crate) fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a step with its name before it and its duration after it.
pub(crate) fn timed<T>(name: &str, step: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    say(&format!("\n$ {name}\n"));
    let begin = Instant::now();
    let result = step();
    say(&format!("took {} s: {name}\n", begin.elapsed().as_secs()));
    result
}

/// Runs cargo, which must succeed.
pub(crate) fn must_pass(arguments: &[&str]) -> Result<(), String> {
    let name = format!("cargo {}", arguments.join(" "));
    timed(&name, || {
        if cargo_with(arguments, &[], |_| ())? { Ok(()) } else { Err(format!("`{name}` failed")) }
    })
}

/// Runs cargo with these environment variables, prints its output and passes each line to `see`;
/// returns true if it succeeds.
pub(crate) fn cargo_with(
    arguments: &[&str],
    environment: &[(&str, &str)],
    mut see: impl FnMut(&str),
) -> Result<bool, String> {
    let explain = |error: std::io::Error| format!("cargo {}: {error}", arguments.join(" "));
    let mut child = Command::new(cargo_program())
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(shader_cache()?)
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(explain)?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(explain)?;
            let line = String::from_utf8_lossy(&line);
            say(&format!("{line}\n"));
            see(&line);
        }
    }
    Ok(child.wait().map_err(explain)?.success())
}

/// Returns the variables that keep Mesa's shader cache under `target`. Its keys are hashes of
/// shader and driver, so entries never go stale.
fn shader_cache() -> Result<[(&'static str, OsString); 2], String> {
    let folder = root().join("target/mesa-shader-cache");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok([
        ("MESA_SHADER_CACHE_DIR", folder.into_os_string()),
        ("MESA_SHADER_CACHE_MAX_SIZE", "4G".into()),
    ])
}

/// Prints to standard output; a closed pipe is no error.
pub(crate) fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Prints an error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "error: {text}");
}
