//! Scenes that come with poplin.

use std::path::Path;

use anyhow::anyhow;
use poplin_scene::Scene;

use crate::failure::{Failure, OrFail};

/// Names and texts of the shipped scenes.
const SCENES: [(&str, &str); 12] = [
    ("flag", include_str!("../scenes/flag.toml")),
    ("curtain", include_str!("../scenes/curtain.toml")),
    ("cape", include_str!("../scenes/cape.toml")),
    ("skirt", include_str!("../scenes/skirt.toml")),
    ("drape", include_str!("../scenes/drape.toml")),
    ("ball", include_str!("../scenes/ball.toml")),
    ("legs", include_str!("../scenes/legs.toml")),
    ("layers", include_str!("../scenes/layers.toml")),
    ("dress", include_str!("../scenes/dress.toml")),
    ("tablecloth", include_str!("../scenes/tablecloth.toml")),
    ("catch", include_str!("../scenes/catch.toml")),
    ("handkerchiefs", include_str!("../scenes/handkerchiefs.toml")),
];

/// Returns the names of shipped scenes for messages: `flag, curtain, ...`.
pub fn names() -> String {
    SCENES.map(|(name, _)| name).join(", ")
}

/// Returns the text of the shipped scene of this name.
///
/// # Errors
/// [`Failure::BadInput`] if there is none.
pub fn text(name: &str) -> Result<&'static str, Failure> {
    let found = SCENES.into_iter().find(|(shipped, _)| *shipped == name);
    found.map(|(_, text)| text).ok_or_else(|| {
        Failure::BadInput(anyhow!("there is no shipped scene `{name}`; available: {}", names()))
    })
}

/// Returns the name of every shipped scene and the first sentence of its comment.
pub fn list() -> impl Iterator<Item = (&'static str, String)> {
    SCENES.into_iter().map(|(name, text)| {
        let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
        let comment = comment.collect::<Vec<_>>().join(" ");
        let sentence = comment.split_once(". ").map_or(comment.as_str(), |(first, _)| first);
        (name, sentence.trim_end_matches('.').to_owned())
    })
}

/// Loads a scene file or a shipped scene. A file takes precedence.
///
/// # Errors
/// [`Failure::BadInput`] if it cannot be read or is not valid.
pub fn load_scene(name: &Path) -> Result<Scene, Failure> {
    let path = if shipped(name).is_some() { name.with_extension("toml") } else { name.into() };
    let scene = Scene::parse(&scene_text(name)?, path);
    if name.extension().is_none() || is_scene_name(name) {
        return scene.or_bad_input();
    }
    scene.map_err(|error| {
        let meshes = poplin_io::MESH_FORMATS.iter().map(|format| format!(".{}", format.extension));
        let meshes = meshes.collect::<Vec<_>>().join(", ");
        Failure::BadInput(anyhow!(
            "{error}; it was read as a scene, names of meshes end in {meshes}"
        ))
    })
}

/// Refuses a scene in the place of a mesh.
///
/// # Errors
/// [`Failure::BadInput`] if the path is that of a scene file, or the name of a shipped scene.
pub fn check_mesh(path: &Path) -> Result<(), Failure> {
    if !is_scene_name(path) && shipped(path).is_none() {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::BadInput(anyhow!("{path} is a scene, not a mesh: try `poplin run {path}`")))
}

/// Tests whether a file name has the extension of scene files.
fn is_scene_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Returns the text of a shipped scene, unless a file of this name exists.
fn shipped(name: &Path) -> Option<&'static str> {
    let found = SCENES.into_iter().find(|(shipped, _)| name == Path::new(shipped));
    found.filter(|_| !name.is_file()).map(|(_, text)| text)
}

/// Reads the text of a scene file or shipped scene, like [`load_scene`].
///
/// # Errors
/// [`Failure::BadInput`] if it cannot be read.
pub fn scene_text(name: &Path) -> Result<String, Failure> {
    if let Some(text) = shipped(name) {
        return Ok(text.to_owned());
    }
    if !name.is_file() {
        let is_bare_name = name.extension().is_none() && name.components().count() == 1;
        if is_bare_name {
            let name = name.display();
            return Err(Failure::BadInput(anyhow!(
                "there is no scene file `{name}` and no shipped scene `{name}`; available: {}",
                names()
            )));
        }
    }
    if is_mesh(name) {
        let path = name.display();
        return Err(Failure::BadInput(anyhow!(
            "{path} is a mesh, not a scene: try `poplin run --mesh {path} --pin top:3%`"
        )));
    }
    poplin_scene::read_scene_text(name).or_bad_input()
}

/// Tests whether the file name has the extension of a mesh format, one that is read or another one.
pub fn is_mesh(path: &Path) -> bool {
    poplin_io::is_mesh_name(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_scene_is_valid_and_builds() {
        for (name, _) in SCENES {
            let scene = load_scene(Path::new(name)).unwrap();
            assert!(!scene.cloths.is_empty());
            scene.build_cloth(0).unwrap();
            scene.build_colliders().unwrap();
        }
    }
}
