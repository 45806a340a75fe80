//! Job of one mesh, with its place, its collider and its floor.

use std::path::Path;
use std::sync::Arc;

use poplin_model::{Air, ContactMode};
use poplin_scene::{
    BuiltCloth, BuiltCollider, ColliderShape, PinRule, SceneCloth, SceneCollider, Transform,
};

use crate::choices::{self, mean_edge};
use crate::cook_cache::CookCache;
use crate::failure::{Failure, OrFail};
use crate::job::{DEFAULT_FRAME_RATE, Job, placed_mesh, stem};
use crate::job_cloth::JobCloth;

/// Floor below a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ground {
    /// No floor.
    None,
    /// Height of the floor \[m\].
    At(f64),
}

/// Mesh to simulate, and what is around it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshJob<'a> {
    /// Mesh file of the cloth.
    pub path: &'a Path,
    /// Rules for its pins, by the positions in the file.
    pub pins: &'a [PinRule],
    /// Transform of the mesh.
    pub transform: Transform,
    /// True to keep this place even if much of the mesh starts inside the collider (default: it is
    /// moved above the collider).
    pub is_placed: bool,
    /// Closed mesh at rest that the cloth collides with.
    pub collider: Option<&'a Path>,
    /// Transform of the collider.
    pub collider_transform: Transform,
    /// True to accept a collider that is not closed: everything behind its nearest triangle is
    /// inside.
    pub is_collider_open: bool,
    /// Floor (default: below mesh and collider, if there is a collider).
    pub ground: Option<Ground>,
    /// Air around the cloth (default: still air without effect).
    pub air: Option<Air>,
    /// True if the settings state a thickness (default: chosen from the mean edge).
    pub has_thickness: bool,
    /// Primitives that collide, on which the chosen thickness depends.
    pub contact: ContactMode,
    /// Lines for the summary about values that were chosen before.
    pub choices: Vec<String>,
}

impl<'a> MeshJob<'a> {
    /// Describes a mesh held by pins, with nothing around it.
    pub fn new(path: &'a Path, pins: &'a [PinRule]) -> Self {
        Self {
            path,
            pins,
            transform: Transform::default(),
            is_placed: false,
            collider: None,
            collider_transform: Transform::default(),
            is_collider_open: false,
            ground: None,
            air: None,
            has_thickness: false,
            contact: ContactMode::default(),
            choices: Vec::new(),
        }
    }

    /// Loads its collider, at rest.
    fn body(&self, path: &Path, origin: [f64; 3]) -> Result<BuiltCollider, Failure> {
        let (transform, is_open) = (self.collider_transform, self.is_collider_open);
        let shape = ColliderShape::Mesh(path.to_path_buf());
        let collider =
            SceneCollider { transform, is_open, ..SceneCollider::new(stem(path), shape) };
        collider.build_near(origin).or_bad_input()
    }
}

impl Job {
    /// Builds the job of a mesh, after `change` changed its settings.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if mesh, pins, collider or settings are not valid, or errors of
    /// `change`.
    pub fn of_mesh(
        mesh_job: &MeshJob<'_>,
        change: impl Fn(&mut SceneCloth) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let MeshJob { path, pins, transform, ground, contact, .. } = *mesh_job;
        let (mut cloth, mut built, origin) = placed_mesh(path, pins, transform)?;
        change(&mut cloth)?;
        let BuiltCloth { mesh, pinned, .. } = &mut built;
        let mean_edge = mean_edge(mesh);
        let mut choices: Vec<_> = choices::origin(origin).into_iter().collect();
        cloth.config.air = mesh_job.air.unwrap_or(cloth.config.air);
        choices.extend_from_slice(&mesh_job.choices);
        if !mesh_job.has_thickness && cloth.material.is_none() {
            let (thickness, line) = choices::thickness(mean_edge, contact);
            cloth.config.thickness = thickness;
            choices.push(line);
        }
        let body = mesh_job.collider.map(|path| mesh_job.body(path, origin)).transpose()?;
        if let Some(body) = body.as_ref().filter(|_| !mesh_job.is_placed) {
            choices.extend(choices::lift(mesh, pinned, body, mean_edge));
        }
        let floor = choices::floor(ground, mesh, body.as_ref(), mean_edge, origin)?;
        let (floor, line) = floor.unzip();
        choices.extend(line.flatten());
        let colliders: Vec<_> = body.into_iter().chain(floor).map(Arc::new).collect();
        choices.extend(choices::repairs(&colliders));
        let mut job_cloth = JobCloth::cook(&cloth, built, &colliders, &CookCache::default())?;
        job_cloth.center();
        choices.extend(job_cloth.slack_line());
        choices.extend(job_cloth.choose_continuous(1, DEFAULT_FRAME_RATE, contact));
        Ok(Self { origin, choices, ..Self::of_cloth(cloth.name, job_cloth, colliders) })
    }
}
