//! Builds the mesh and the pins of a scene's cloth.

use glam::DVec3;
use poplin_geometry::wide;
use poplin_model::{Mesh, Sphere};

use super::animation::{AnimatedPins, MovingPins};
use super::locate::{Source, in_order};
use super::spheres::{SphereKind, VertexAcceleration, spheres};
use super::validate::{check_particles, validate_shape};
use super::{MAX_SCENE_PARTICLES, PinRule, Scene, SceneError, SceneSpheres, Shape};
use poplin_io::{IoError, MeshFile, TwistedFaces, load_mesh};

/// A cloth of a scene, ready for cooking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuiltCloth {
    /// Mesh at its position in the local space; copy `k` is moved by
    /// [`super::SceneCloth::copy_offset`].
    pub mesh: Mesh,
    /// All pinned vertices, static or moving, rising; without those that are released.
    pub pinned: Vec<u32>,
    /// Moving pins. A vertex is in at most one of them.
    pub moving: Vec<MovingPins>,
    /// Motion sphere of each vertex, in the local space, shape `[vertex_count]`; empty if no vertex
    /// has one.
    pub motion_spheres: Vec<Option<Sphere>>,
    /// Separation sphere of each vertex, in the local space, shape `[vertex_count]`; empty if no
    /// vertex has one.
    pub separation_spheres: Vec<Option<Sphere>>,
    /// Accelerations in addition to gravity. A vertex may be in several.
    pub accelerations: Vec<VertexAcceleration>,
    /// Faces of the mesh file with a flipped triangle.
    pub twisted: TwistedFaces,
}

impl Scene {
    /// Generates or reads the mesh of the cloth `index`, selects its pins, then transforms it.
    ///
    /// # Errors
    /// [`SceneError`] if the mesh file is not usable, all copies have more than
    /// [`MAX_SCENE_PARTICLES`] particles, a pin rule does not fit the mesh, or two animations move
    /// one vertex.
    ///
    /// # Panics
    /// If there is no cloth `index`.
    pub fn build_cloth(&self, index: usize) -> Result<BuiltCloth, SceneError> {
        self.check_cloth(index).map_err(|mut faults| faults.remove(0))
    }

    /// Builds a cloth like [`Scene::build_cloth`], but returns all faults.
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

    /// Builds a cloth. The result is only valid if `source` has no faults afterwards.
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
        // All rules are evaluated before the transform.
        let mut pinned = select(&cloth.pins, &format!("{field}.pins"));
        let mut is_moving = vec![false; file.mesh.positions.len()];
        let mut moving = Vec::with_capacity(cloth.animated_pins.len());
        for (position, animated) in cloth.animated_pins.iter().enumerate() {
            let field = format!("{field}.animated_pins[{position}]");
            let vertices = select(&animated.pins, &format!("{field}.pins"));
            if animated.release.is_none() {
                pinned.extend(&vertices);
            } else if let Some(vertex) = vertices.iter().find(|vertex| pinned.contains(vertex)) {
                let at = source.location(&field);
                let message = format!(
                    "{field}.release lets vertex {vertex} go, which other pins of the cloth hold"
                );
                source.refuse(SceneError::Syntax { at, message });
            }
            // A vertex can follow only one animation.
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
            // Scene positions are relative to the world's origin, so far-away meshes lose precision
            // here.
            let moved = |p: [f32; 3]| wide(p) + DVec3::from(file.origin);
            file.mesh.positions.iter_mut().for_each(|p| *p = moved(*p).as_vec3().to_array());
        }
        let MeshFile { mesh, twisted, .. } = file;
        // The transform may move a mesh past the coordinate limit.
        let path = match &cloth.shape {
            Shape::Mesh(path) => path.clone(),
            Shape::Grid(_) | Shape::Tube(_) => self.path.clone(),
        };
        mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        let moving = cloth.animated_pins.iter().zip(moving).map(|(animated, vertices)| {
            let pivot = animated.pivot.unwrap_or_else(|| middle(&vertices, &mesh.positions));
            let AnimatedPins { keys, release, .. } = animated;
            MovingPins { vertices, pivot, keys: keys.clone(), release: *release }
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

/// Returns the center of the bounding box of some vertices \[m\]; 0 without vertices.
fn middle(vertices: &[u32], positions: &[[f32; 3]]) -> [f32; 3] {
    let corners = vertices.iter().map(|&vertex| wide(positions[vertex as usize]));
    let ends = corners.fold(None, |ends: Option<[DVec3; 2]>, corner| {
        let [low, high] = ends.unwrap_or([corner; 2]);
        Some([low.min(corner), high.max(corner)])
    });
    ends.map_or([0.0; 3], |[low, high]| ((low + high) * 0.5).as_vec3().to_array())
}

/// Selects the vertices of all rules, rising; reports rules that do not fit the mesh.
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
