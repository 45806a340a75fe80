//! From a scene's cloth to a mesh with pins.

use glam::DVec3;
use poplin_model::Mesh;

use super::animation::translation_at;
use super::locate::Source;
use super::validate::{check_particles, validate_shape};
use super::{Keyframe, MAX_SCENE_PARTICLES, PinRule, Scene, SceneError, Shape};
use crate::{IoError, MeshFile, TwistedFaces, load_mesh};

/// A cloth of a scene, ready for cooking.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltCloth {
    /// The mesh at its position in its local space; copy `k` is moved by [`super::SceneCloth::copy_offset`].
    pub mesh: Mesh,
    /// All pinned vertices, still or moving, rising.
    pub pinned: Vec<u32>,
    /// The pins that move. No vertex is in two of them.
    pub moving: Vec<MovingPins>,
    /// Faces of its file that have a flipped triangle.
    pub twisted: TwistedFaces,
}

/// Pinned vertices that move together.
#[derive(Debug, Clone, PartialEq)]
pub struct MovingPins {
    /// The vertices, rising.
    pub vertices: Vec<u32>,
    /// Displacements from the first position, rising in time.
    pub keys: Vec<Keyframe>,
}

impl MovingPins {
    /// Displacement of the pins \[m\] at a time \[s\]: linear between keyframes, held before the first and after the last.
    pub fn translation(&self, time: f32) -> [f32; 3] {
        translation_at(&self.keys, time)
    }
}

impl Scene {
    /// Makes or reads the mesh of the cloth of index `index`, picks its pins, then moves it to its position.
    ///
    /// # Errors
    /// [`SceneError`] if the mesh file is not usable, the copies are more than [`MAX_SCENE_PARTICLES`], a pin rule does not
    /// fit the mesh, or two animations move one vertex.
    ///
    /// # Panics
    /// If there is no cloth `index`.
    pub fn build_cloth(&self, index: usize) -> Result<BuiltCloth, SceneError> {
        let (cloth, field) = (&self.cloths[index], format!("cloth[{index}]"));
        let source = Source::new(&self.text, &self.path);
        // The fields are public: they may have changed since the file was checked.
        validate_shape(&cloth.shape, &field, &source)?;
        let generated =
            |mesh| MeshFile { mesh, origin: [0.0; 3], twisted: TwistedFaces::default() };
        let mut file = match &cloth.shape {
            Shape::Grid(grid) => generated(grid.mesh()),
            Shape::Tube(tube) => generated(tube.mesh()),
            Shape::Mesh(path) => load_mesh(path)?,
        };
        let count = file.mesh.positions.len() as u128 * u128::from(cloth.count);
        check_particles(
            &source,
            &format!("{field}.count"),
            count,
            MAX_SCENE_PARTICLES,
            "per scene",
        )?;
        let mut pinned = select(&cloth.pins, &file, &format!("{field}.pins"), &source)?;
        let mut is_moving = vec![false; file.mesh.positions.len()];
        let mut moving = Vec::with_capacity(cloth.animated_pins.len());
        for (position, animated) in cloth.animated_pins.iter().enumerate() {
            let field = format!("{field}.animated_pins[{position}]");
            let vertices = select(&animated.pins, &file, &format!("{field}.pins"), &source)?;
            for &vertex in &vertices {
                if std::mem::replace(&mut is_moving[vertex as usize], true) {
                    let at = source.location(&field);
                    return Err(SceneError::PinMovedTwice { at, field, vertex });
                }
            }
            pinned.extend(&vertices);
            moving.push(MovingPins { vertices, keys: animated.keys.clone() });
        }
        pinned.sort_unstable();
        pinned.dedup();
        let transform = &cloth.transform;
        if file.origin == [0.0; 3] {
            file.mesh
                .positions
                .iter_mut()
                .for_each(|position| *position = transform.apply(*position));
        } else {
            transform.apply_to(&mut file);
            // A scene counts from the world's origin: of the shape, what `f32` leaves there.
            let moved = |p: [f32; 3]| DVec3::from(p.map(f64::from)) + DVec3::from(file.origin);
            file.mesh.positions.iter_mut().for_each(|p| *p = moved(*p).as_vec3().to_array());
        }
        let MeshFile { mesh, twisted, .. } = file;
        // A mesh file near the limit may leave it by its transform.
        let path = match &cloth.shape {
            Shape::Mesh(path) => path.clone(),
            Shape::Grid(_) | Shape::Tube(_) => self.path.clone(),
        };
        mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        Ok(BuiltCloth { mesh, pinned, moving, twisted })
    }
}

/// The vertices that any of the rules picks, rising.
fn select(
    rules: &[PinRule],
    file: &MeshFile,
    field: &str,
    source: &Source<'_>,
) -> Result<Vec<u32>, SceneError> {
    let mut selected = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        selected.extend(rule.select_in_file(file).map_err(|error| {
            let field = format!("{field}[{position}]");
            let at = source.location(&field);
            SceneError::Pin { at, field, source: error }
        })?);
    }
    selected.sort_unstable();
    selected.dedup();
    Ok(selected)
}
