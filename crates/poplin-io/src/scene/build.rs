//! From a scene's cloth to a mesh with pins.

use glam::DVec3;
use poplin_model::{Mesh, Sphere};

use super::animation::MovingPins;
use super::locate::{Source, in_order};
use super::spheres::{SphereKind, VertexAcceleration, spheres};
use super::validate::{check_particles, validate_shape};
use super::{MAX_SCENE_PARTICLES, PinRule, Scene, SceneError, SceneSpheres, Shape};
use crate::{IoError, MeshFile, TwistedFaces, load_mesh};

/// A cloth of a scene, ready for cooking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuiltCloth {
    /// The mesh at its position in its local space; copy `k` is moved by [`super::SceneCloth::copy_offset`].
    pub mesh: Mesh,
    /// All pinned vertices, still or moving, rising.
    pub pinned: Vec<u32>,
    /// The pins that move. No vertex is in two of them.
    pub moving: Vec<MovingPins>,
    /// The motion sphere of each vertex that has one, in the local space, shape `[vertex_count]`; empty if none has.
    pub motion_spheres: Vec<Option<Sphere>>,
    /// The separation spheres, likewise.
    pub separation_spheres: Vec<Option<Sphere>>,
    /// Accelerations on top of gravity. A vertex may be in several.
    pub accelerations: Vec<VertexAcceleration>,
    /// Faces of its file that have a flipped triangle.
    pub twisted: TwistedFaces,
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
        self.check_cloth(index).map_err(|mut faults| faults.remove(0))
    }

    /// As [`Scene::build_cloth`], with all that is wrong.
    ///
    /// # Errors
    /// Every [`SceneError`], at least one.
    ///
    /// # Panics
    /// If there is no cloth `index`.
    pub fn check_cloth(&self, index: usize) -> Result<BuiltCloth, Vec<SceneError>> {
        let source = Source::new(&self.text, &self.path);
        let built = self.try_cloth(index, &source);
        let mut faults = in_order(source.take_faults());
        match built {
            Ok(built) if faults.is_empty() => return Ok(built),
            Ok(_) => {}
            Err(fault) => faults.push(fault),
        }
        Err(faults)
    }

    /// Builds a cloth, which is of no use if the source has faults then.
    fn try_cloth(&self, index: usize, source: &Source<'_>) -> Result<BuiltCloth, SceneError> {
        let (cloth, field) = (&self.cloths[index], format!("cloth[{index}]"));
        // The fields are public: they may have changed since the file was checked.
        validate_shape(&cloth.shape, &field, source);
        if source.fault_count() > 0 {
            return Ok(BuiltCloth::default());
        }
        let generated =
            |mesh| MeshFile { mesh, origin: [0.0; 3], twisted: TwistedFaces::default() };
        let mut file = match &cloth.shape {
            Shape::Grid(grid) => generated(grid.mesh()),
            Shape::Tube(tube) => generated(tube.mesh()),
            Shape::Mesh(path) => load_mesh(path)?,
        };
        let count = file.mesh.positions.len() as u128 * u128::from(cloth.count);
        check_particles(source, &format!("{field}.count"), count, MAX_SCENE_PARTICLES, "per scene");
        let select = |rules: &[PinRule], field: &str| select(rules, &file, field, source);
        let mut pinned = select(&cloth.pins, &format!("{field}.pins"));
        let mut is_moving = vec![false; file.mesh.positions.len()];
        let mut moving = Vec::with_capacity(cloth.animated_pins.len());
        for (position, animated) in cloth.animated_pins.iter().enumerate() {
            let field = format!("{field}.animated_pins[{position}]");
            let vertices = select(&animated.pins, &format!("{field}.pins"));
            let mut moved_twice = None;
            for &vertex in &vertices {
                if std::mem::replace(&mut is_moving[vertex as usize], true) {
                    moved_twice = moved_twice.or(Some(vertex));
                }
            }
            if let Some(vertex) = moved_twice {
                let at = source.location(&field);
                source.refuse(SceneError::PinMovedTwice { at, field, vertex });
            }
            pinned.extend(&vertices);
            moving.push(vertices);
        }
        pinned.sort_unstable();
        pinned.dedup();
        let around = |name: &str, lists: &'_ [SceneSpheres]| -> Vec<Vec<(u32, f32)>> {
            let picked = lists.iter().enumerate().map(|(position, spheres)| {
                let field = format!("{field}.{name}[{position}].vertices");
                let vertices = select(&spheres.vertices, &field);
                spheres.from.fractions(&vertices, &file.mesh.positions)
            });
            picked.collect()
        };
        let motion = around("motion_spheres", &cloth.motion_spheres);
        let separation = around("separation_spheres", &cloth.separation_spheres);
        let accelerations = cloth.accelerations.iter().enumerate().map(|(position, pull)| {
            let field = format!("{field}.accelerations[{position}].vertices");
            let vertices = select(&pull.vertices, &field);
            VertexAcceleration { vertices, keys: pull.keys.clone() }
        });
        let accelerations = accelerations.collect();
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
        let moving = cloth.animated_pins.iter().zip(moving).map(|(animated, vertices)| {
            let pivot = animated.pivot.unwrap_or_else(|| middle(&vertices, &mesh.positions));
            MovingPins { vertices, pivot, keys: animated.keys.clone() }
        });
        let moving = moving.collect();
        let motion_spheres = spheres(SphereKind::Motion, &cloth.motion_spheres, &motion, &mesh);
        let lists = &cloth.separation_spheres;
        let separation_spheres = spheres(SphereKind::Separation, lists, &separation, &mesh);
        Ok(BuiltCloth {
            mesh,
            pinned,
            moving,
            motion_spheres,
            separation_spheres,
            accelerations,
            twisted,
        })
    }
}

/// The middle of the box that some vertices are in \[m\]; 0 of none.
fn middle(vertices: &[u32], positions: &[[f32; 3]]) -> [f32; 3] {
    let corners =
        vertices.iter().map(|&vertex| DVec3::from(positions[vertex as usize].map(f64::from)));
    let ends = corners.fold(None, |ends: Option<[DVec3; 2]>, corner| {
        let [low, high] = ends.unwrap_or([corner; 2]);
        Some([low.min(corner), high.max(corner)])
    });
    ends.map_or([0.0; 3], |[low, high]| ((low + high) * 0.5).as_vec3().to_array())
}

/// The vertices that any of the rules picks, rising; a rule that does not fit is refused.
fn select(rules: &[PinRule], file: &MeshFile, field: &str, source: &Source<'_>) -> Vec<u32> {
    let mut selected = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        match rule.select_in_file(file) {
            Ok(vertices) => selected.extend(vertices),
            Err(error) => {
                let field = format!("{field}[{position}]");
                let at = source.location(&field);
                source.refuse(SceneError::Pin { at, field, source: error });
            }
        }
    }
    selected.sort_unstable();
    selected.dedup();
    selected
}
