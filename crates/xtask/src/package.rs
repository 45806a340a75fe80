//! Packages every library crate as for a registry and builds one from its package.

use std::path::Path;
use std::process::Command;

use crate::run::must_pass;

/// Crates that are never published.
const UNPUBLISHED: [&str; 4] = ["poplin-examples", "poplin-suite", "poplin-testkit", "xtask"];

/// Crate that is built from its package, then the workspace crates that it needs. It is the one
/// that embeds files of another folder.
const BUILT: [&str; 3] = ["poplin-shaders", "poplin-layout", "poplin-model"];

/// Packages all crates, then builds the first of [`BUILT`] outside the workspace.
pub(crate) fn check() -> Result<(), String> {
    let mut arguments =
        vec!["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet"];
    arguments.extend(UNPUBLISHED.iter().flat_map(|name| ["--exclude", name]));
    must_pass(&arguments)?;
    let folder = std::env::temp_dir().join(format!("poplin-package-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let result = build(&folder);
    // Failing to clean up the temporary folder is no error.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

/// Unpacks [`BUILT`] and builds its first crate with the others patched in.
fn build(folder: &Path) -> Result<(), String> {
    let version = env!("CARGO_PKG_VERSION");
    for name in BUILT {
        let packed = format!("target/package/{name}-{version}.crate");
        let status = Command::new("tar").arg("xzf").arg(&packed).arg("-C").arg(folder).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("cannot unpack {packed}"));
        }
    }
    let unpacked = |name: &str| folder.join(format!("{name}-{version}")).display().to_string();
    let manifest = format!("{}/Cargo.toml", unpacked(BUILT[0]));
    let patches: Vec<_> = BUILT[1..]
        .iter()
        .map(|name| format!("patch.crates-io.{name}.path={:?}", unpacked(name)))
        .collect();
    let mut arguments = vec!["check", "--offline", "--target-dir", "target/package/build"];
    arguments.extend(["--manifest-path", &manifest]);
    arguments.extend(patches.iter().flat_map(|patch| ["--config", patch]));
    must_pass(&arguments)
}
