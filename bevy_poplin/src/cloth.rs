//! A cloth of an entity, and the mesh that Bevy draws of it.

use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoFrustumCulling;
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::prelude::*;
use poplin::model::{self, ClothConfig, ModelError, RenderMesh};

/// A cloth that is simulated in the local space of its entity.
///
/// The plugin adds the [`Mesh3d`] that follows it; add a material. Copies have fabric and mesh in common. The cloth goes with
/// this component or its entity.
#[derive(Component, Debug, Clone)]
#[require(Transform, Visibility)]
pub struct Cloth {
    /// Settings, wind among them ([`ClothConfig::air`]). They act from the next frame on.
    pub config: ClothConfig,
    pub(crate) source: Arc<Source>,
}

/// What a cloth is made of.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) cloth: model::Cloth,
    pub(crate) mesh: Arc<RenderMesh>,
    pub(crate) has_tangents: bool,
}

impl Cloth {
    /// From a cooked cloth and what is drawn of it: its own mesh or a finer one that follows it. Its pose is that of the entity. There
    /// are tangents, for normal maps, if the mesh has texture coordinates.
    ///
    /// # Errors
    /// [`ModelError`] if either is not valid, or the mesh has no vertices or is of a cloth with other particles.
    pub fn new(cloth: model::Cloth, mesh: Arc<RenderMesh>) -> Result<Self, ModelError> {
        cloth.validate()?;
        mesh.validate()?;
        if mesh.bindings.is_empty() {
            return Err(ModelError::Empty { what: "render mesh bindings" });
        }
        let (len, expected) = (cloth.particle_count(), mesh.particle_count as usize);
        if len != expected {
            return Err(ModelError::Length { what: "render particles", len, expected });
        }
        let (config, has_tangents) = (cloth.config.clone(), !mesh.uvs.is_empty());
        Ok(Self { config, source: Arc::new(Source { cloth, mesh, has_tangents }) })
    }
}

impl Source {
    /// The mesh as Bevy lays it out, at rest: what is drawn until vertices come, or if none do.
    pub(crate) fn bevy_mesh(&self) -> Mesh {
        let particles = &self.cloth.particles;
        let positions: Vec<[f32; 3]> = self
            .mesh
            .bindings
            .iter()
            .map(|binding| {
                let corners = binding.particles.into_iter().zip(binding.weights);
                corners
                    .map(|(particle, weight)| {
                        weight * Vec3::from(particles[particle as usize].position)
                    })
                    .sum::<Vec3>()
                    .to_array()
            })
            .collect();
        let count = positions.len();
        let corners = self.mesh.triangles.iter().flatten().copied().collect();
        let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
            .with_inserted_indices(Indices::U32(corners))
            .with_computed_smooth_normals();
        if self.has_tangents {
            mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, self.mesh.uvs.clone());
            mesh.insert_attribute(Mesh::ATTRIBUTE_TANGENT, vec![[1.0, 0.0, 0.0, 1.0]; count]);
        }
        mesh
    }
}

/// The mesh that follows the cloth of an entity.
#[derive(Component, Debug)]
pub(crate) struct FollowingMesh(pub(crate) Handle<Mesh>);

/// Adds the mesh of a cloth to its entity.
pub(crate) fn insert_mesh(
    insert: On<Insert<Cloth>>,
    cloths: Query<&Cloth>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    if let Ok(cloth) = cloths.get(insert.entity) {
        let mesh = meshes.add(cloth.source.bevy_mesh());
        // Bounds at rest are none of a cloth that moves.
        commands.entity(insert.entity).insert((
            Mesh3d(mesh.clone()),
            FollowingMesh(mesh),
            NoFrustumCulling,
        ));
    }
}
