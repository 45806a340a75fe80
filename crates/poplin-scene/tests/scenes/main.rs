//! Scene files through the public API: the shipped ones, and faulty ones.

mod colliders;
mod files;
mod motion;
mod names;
mod ranges;
mod settings;
mod shipped;

use std::path::{Path, PathBuf};

use poplin_scene::{Scene, SceneError};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../poplin-run/scenes")
}

fn parse(text: &str) -> Result<Scene, SceneError> {
    Scene::parse(text, "scene.toml")
}

/// Scene of one small cloth with additional lines for it.
fn with(lines: &str) -> String {
    format!("[[cloth]]\ngrid = {{ columns = 3, rows = 4, width = 1.0, height = 2.0 }}\n{lines}\n")
}

fn message(text: &str) -> String {
    match parse(text) {
        Ok(scene) => scene.build_cloth(0).expect_err("the scene was accepted").to_string(),
        Err(error) => error.to_string(),
    }
}

/// Scene of one small cloth, from line 1, and a collider, from line 4.
fn with_collider(lines: &str) -> String {
    format!("{}[[collider]]\n{lines}\n", with("name = 'sheet'"))
}
