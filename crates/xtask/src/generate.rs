//! Writes the shader files that follow from declarations in Rust.

/// Writes every generated file that is not up to date.
pub(crate) fn write() -> Result<(), String> {
    let shaders = crate::run::root().join("shaders");
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
