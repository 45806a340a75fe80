//! Writes the shader files that follow from declarations in Rust, and the list of all of them.

use std::path::Path;

use crate::run::{root, say};

/// File with the list of shader files.
const SOURCES: &str = "crates/poplin-shaders/src/sources.rs";

/// Writes every generated file that is not up to date.
pub(crate) fn write() -> Result<(), String> {
    for (name, text) in poplin_layout::generated_shaders() {
        write_file(&format!("shaders/{name}.wgsl"), &text)?;
    }
    let mut names = Vec::new();
    shader_files(&root().join("shaders"), "", &mut names)?;
    names.sort();
    let list: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    let text = read(&root().join(SOURCES))?;
    let parts = text.split_once("embed![\n").zip(text.split_once("\n];"));
    let ((head, _), (_, tail)) = parts.ok_or(format!("{SOURCES}: there is no `embed![`"))?;
    write_file(SOURCES, &format!("{head}embed![\n{list}];{tail}"))
}

/// Writes a file, by its path from the root, unless it has this text.
fn write_file(name: &str, text: &str) -> Result<(), String> {
    let path = root().join(name);
    if read(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    say(&format!("wrote {name}\n"));
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Collects the shader files below a folder as `folder/stem`.
fn shader_files(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<(), String> {
    let explain = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in folder.read_dir().map_err(explain)? {
        let path = entry.map_err(explain)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{stem}");
        if path.is_dir() {
            shader_files(&path, &format!("{name}/"), names)?;
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            names.push(name);
        }
    }
    Ok(())
}
