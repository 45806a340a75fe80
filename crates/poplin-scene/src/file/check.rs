//! Reading of scene files, and the check of a whole scene.

use std::io::Read;
use std::path::Path;

use super::CameraFile;
use crate::locate::{Source, in_order};
use crate::mend::read_file;
use crate::validate::{validate, validate_cloth, validate_collider, validate_spins, validate_wind};
use crate::{Location, Scene, SceneCloth, SceneCollider, SceneError};
use poplin_io::IoError;
use poplin_model::View;

/// Size limit of a scene file \[bytes\]; meshes are in files of their own.
const MAX_SCENE_BYTES: usize = 16 << 20;

impl Scene {
    /// Reads and checks a scene file. Mesh paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::load_at(path.as_ref())
    }

    /// Checks the text of a scene. `path` is the file name in errors; mesh paths are relative to
    /// its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::parse_at(text, path.as_ref())
    }

    // Not generic over the path, so that scene deserialization is compiled once, in this crate.

    fn load_at(path: &Path) -> Result<Self, SceneError> {
        Self::parse_at(&read_scene_text(path)?, path)
    }

    fn parse_at(text: &str, path: &Path) -> Result<Self, SceneError> {
        let SceneCheck { scene, faults, .. } = check(text, path);
        faults.into_iter().next().map_or(Ok(scene), Err)
    }

    /// Checks the text of a scene and collects all faults; `path` is used as in [`Scene::parse`].
    pub fn check_text(text: &str, path: impl AsRef<Path>) -> SceneCheck {
        check(text, path.as_ref())
    }

    /// Sets the number of frames per second \[1/s\], `0.1..=10_000`.
    ///
    /// # Errors
    /// [`SceneError`] if a collider turns by more than 179 degrees in such a frame.
    pub fn with_frame_rate(mut self, frame_rate: f32) -> Result<Self, SceneError> {
        self.frame_rate = frame_rate;
        let source = Source::new(&self.text, &self.path);
        validate_spins(&self, &source);
        source.verdict()?;
        Ok(self)
    }

    /// Location of a field such as `cloth[0].density` in the file, or of the nearest enclosing
    /// table that the file has.
    pub fn location(&self, field: &str) -> Location {
        *Source::new(&self.text, &self.path).location(field)
    }

    /// Text that the scene was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads the text of a scene or sweep file.
///
/// # Errors
/// [`SceneError`] if the file cannot be read, is longer than the limit, or is not UTF-8.
pub fn read_scene_text(path: &Path) -> Result<String, SceneError> {
    let file = std::fs::File::open(path).map_err(IoError::open(path))?;
    let mut bytes = Vec::new();
    // One byte over the limit suffices to detect a longer file.
    file.take(MAX_SCENE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(IoError::read(path))?;
    let (count, limit) = (bytes.len(), MAX_SCENE_BYTES);
    if count > limit {
        return Err(IoError::TooMany {
            path: path.into(),
            what: "bytes of a scene file",
            count,
            limit,
        }
        .into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
            .into_owned();
        let at = Source::new(&valid, path).location_of(valid.len()..valid.len());
        SceneError::Syntax { at, message: "this is not UTF-8 text".into() }
    })
}

/// Scene with all faults of its file.
#[derive(Debug)]
#[non_exhaustive]
pub struct SceneCheck {
    /// The scene, with stand-in values where the file is faulty.
    pub scene: Scene,
    /// Faults in the order of the file. Mesh files are looked up, but not read.
    pub faults: Vec<SceneError>,
    /// Indices of cloths without faults.
    pub sound_cloths: Vec<usize>,
    /// Indices of colliders without faults.
    pub sound_colliders: Vec<usize>,
}

/// Reads and checks a whole scene, and collects all faults.
fn check(text: &str, path: &Path) -> SceneCheck {
    let source = Source::new(text, path);
    let (file, mut stated, damaged) = read_file(&source);
    // Faults of reading are kept apart: they explain some of the faults of validation below.
    let unread = source.take_faults();
    let stem = source.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(wind) = &file.wind {
        validate_wind(wind, "wind", &source);
    }
    let (mut sound_cloths, mut sound_colliders) = (Vec::new(), Vec::new());
    let mut cloths: Vec<SceneCloth> = Vec::with_capacity(file.cloth.len());
    for (index, cloth) in file.cloth.into_iter().enumerate() {
        let (field, before) = (format!("cloth[{index}]"), source.fault_count());
        let stated = stated.get_mut(index).map(std::mem::take).unwrap_or_default();
        let cloth = cloth.convert(index, file.wind, stated, &source);
        validate_cloth(&cloth, &field, &source);
        if source.fault_count() == before && !damaged.has(&field) {
            sound_cloths.push(index);
        }
        cloths.push(cloth);
    }
    let mut colliders: Vec<SceneCollider> = Vec::with_capacity(file.collider.len());
    for (index, collider) in file.collider.into_iter().enumerate() {
        let (field, before) = (format!("collider[{index}]"), source.fault_count());
        let collider = collider.convert(index, file.frame_rate, &source);
        validate_collider(&collider, &cloths, &field, &source);
        if source.fault_count() == before && !damaged.has(&field) {
            sound_colliders.push(index);
        }
        colliders.push(collider);
    }
    let scene = Scene {
        title: file.title.unwrap_or(stem),
        frames: file.frames,
        frame_rate: file.frame_rate,
        formats: file.formats,
        view: file.camera.map(|CameraFile { azimuth, elevation }| View { azimuth, elevation }),
        cloths,
        colliders,
        cloth_contact_solver: file.cloth_contact_solver,
        path: source.path().into(),
        text: text.to_owned(),
    };
    validate(&scene, &source);
    // Faults that only follow from unreadable parts are not reported.
    let own = source.take_faults().into_iter().filter(|fault| !damaged.explains(fault));
    let faults = in_order(unread.into_iter().chain(own).collect());
    SceneCheck { scene, faults, sound_cloths, sound_colliders }
}
