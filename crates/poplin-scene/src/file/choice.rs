//! Mutually exclusive keys, and paths of files.

use std::path::{Path, PathBuf};

use crate::SceneError;
use crate::locate::Source;

/// Returns the radii at both ends, from exactly one of `radius` and `radii`.
pub(super) fn one_or_two(
    radius: Option<f32>,
    radii: Option<[f32; 2]>,
    field: &str,
    source: &Source<'_>,
) -> [f32; 2] {
    match (radius, radii) {
        (Some(radius), None) => [radius; 2],
        (None, Some(radii)) => radii,
        (radius, radii) => {
            let found = present(&[("radius", radius.is_some()), ("radii", radii.is_some())]);
            refuse_shape(source, field, "`radius` and `radii`", found);
            [1.0; 2]
        }
    }
}

/// Reports a table that has none or several of a set of mutually exclusive keys.
pub(super) fn refuse_shape(
    source: &Source<'_>,
    field: &str,
    known: &'static str,
    found: Vec<&'static str>,
) {
    let at = source.location(field);
    source.refuse(SceneError::Shape { at, field: field.into(), known, found });
}

/// Resolves a path relative to the folder of the scene file.
pub(super) fn beside(source: &Source<'_>, path: PathBuf) -> PathBuf {
    source.path().parent().unwrap_or(Path::new("")).join(path)
}

/// Returns the names of the keys that are present.
pub(super) fn present(keys: &[(&'static str, bool)]) -> Vec<&'static str> {
    keys.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect()
}
