//! Include-once composition of shader files.

use crate::{ShaderError, source};

/// Composed kernel with the origin of each of its lines.
#[derive(Debug, Clone, Default)]
pub struct Composed {
    /// WGSL text.
    pub text: String,
    /// File and line (from 1) of each line of `text`.
    lines: Vec<(String, usize)>,
}

impl Composed {
    /// Returns the file and line that line `line` (from 1) of the composed text came from.
    pub fn origin(&self, line: usize) -> Option<(&str, usize)> {
        let (file, line) = self.lines.get(line.checked_sub(1)?)?;
        Some((file, *line))
    }
}

/// Composes `folder/stem` from the embedded files.
///
/// # Errors
/// [`ShaderError`] for an unknown or late import.
pub fn compose(path: &str) -> Result<Composed, ShaderError> {
    compose_with(path, |name| source(name).map(str::to_owned))
}

/// Composes `folder/stem` from the files that `load` returns, for tests that damage a file.
///
/// # Errors
/// [`ShaderError`] for an unknown or late import.
pub fn compose_with(
    path: &str,
    load: impl Fn(&str) -> Option<String>,
) -> Result<Composed, ShaderError> {
    let mut composed = Composed::default();
    let mut included = Vec::new();
    let root = ("(root)".to_owned(), 0);
    include(path, &root, &load, &mut included, &mut composed)?;
    Ok(composed)
}

/// Appends a file and, before it, the files that it imports; each file is included once.
fn include(
    path: &str,
    importer: &(String, usize),
    load: &impl Fn(&str) -> Option<String>,
    included: &mut Vec<String>,
    composed: &mut Composed,
) -> Result<(), ShaderError> {
    if included.iter().any(|name| name == path) {
        return Ok(());
    }
    included.push(path.to_owned());
    let (file, line) = importer.clone();
    let text =
        load(path).ok_or(ShaderError::UnknownImport { file, line, import: path.to_owned() })?;
    let file = format!("{path}.wgsl");
    let mut in_header = true;
    for (index, line) in text.lines().enumerate() {
        let origin = (file.clone(), index + 1);
        if let Some(import) = line.strip_prefix("#import ") {
            if !in_header {
                return Err(ShaderError::LateImport { file, line: index + 1 });
            }
            include(import.trim(), &origin, load, included, composed)?;
            continue;
        }
        // naga drops a doc comment that follows a plain one, so header comments are omitted.
        if in_header && line.starts_with("// ") {
            continue;
        }
        in_header &= line.trim().is_empty();
        composed.text.push_str(line);
        composed.text.push('\n');
        composed.lines.push(origin);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads a few small files for tests.
    fn files(name: &str) -> Option<String> {
        let text = match name {
            "a" => "#import b\n#import c\n\nfn a() {}\n",
            "b" => "// of its own\n#import c\nfn b() {}\n",
            "c" => "fn c() {}\n",
            "late" => "fn late() {}\n#import c\n",
            "lost" => "#import nowhere\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn each_file_is_included_once_before_its_importer() {
        let composed = compose_with("a", files).unwrap();
        assert_eq!(composed.text, "fn c() {}\nfn b() {}\n\nfn a() {}\n");
        assert_eq!(composed.origin(2), Some(("b.wgsl", 3)));
        assert_eq!(composed.origin(4), Some(("a.wgsl", 4)));
    }

    #[test]
    fn import_errors_name_file_and_line() {
        assert_eq!(
            compose_with("lost", files).unwrap_err().to_string(),
            "lost.wgsl:1: no shader file `nowhere`"
        );
        assert_eq!(
            compose_with("late", files).unwrap_err().to_string(),
            "late.wgsl:2: an `#import` must be at the top of the file"
        );
    }
}
