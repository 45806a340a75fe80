//! Installs packages of Debian, Ubuntu and Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{run_program, say};

/// Tests whether a program exists and succeeds with these arguments.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    let status =
        Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Installs packages with apt, as root or with sudo.
///
/// # Errors
/// Adds `how`, the instruction for the user, if there is no apt or no permission.
pub(crate) fn install(packages: &[&str], how: &str) -> Result<(), String> {
    if !answers("apt-get", &["--version"]) {
        return Err(format!("no apt-get on this machine: {how}"));
    }
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let prefix: &[&str] = if is_root {
        &[]
    } else if answers("sudo", &["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        return Err(format!("neither root nor password-less sudo: {how}"));
    };
    // A dead third-party list fails the update but need not affect these packages.
    if let Err(message) = apt(prefix, &["update"]) {
        say(&format!("{message}; trying to install anyway\n"));
    }
    apt(prefix, &[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

/// Runs apt-get without questions.
fn apt(prefix: &[&str], arguments: &[&str]) -> Result<(), String> {
    let mut words = prefix.to_vec();
    words.push("apt-get");
    words.extend(arguments);
    let (program, rest) = words.split_first().ok_or("no command")?;
    let status = Command::new(program)
        .args(rest)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` ended with {status}", words.join(" "))),
        Err(error) => Err(format!("`{}`: {error}", words.join(" "))),
    }
}

/// Creates a virtual environment of a Python if it is missing and installs packages into it;
/// returns the Python of the environment.
pub(crate) fn environment(
    program: &str,
    folder: &Path,
    packages: &[&str],
) -> Result<PathBuf, String> {
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        run_program(Command::new(program).args(["-m", "venv"]).arg(folder))?;
    }
    run_program(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(packages),
    )?;
    Ok(python)
}
