//! Writes the shader files that follow from declarations in Rust.

use std::path::Path;

/// Writes every generated file; a file that is as it should be is left alone.
pub(crate) fn write() -> Result<(), String> {
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shaders");
    for (name, text) in poplin_layout::generated_shaders() {
        let path = shaders.join(format!("{name}.wgsl"));
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        crate::run::say(&format!("wrote shaders/{name}.wgsl\n"));
    }
    Ok(())
}
