//! Cloth component, and the mesh that Bevy draws.

use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoFrustumCulling;
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::prelude::*;
use poplin::model::{self, ClothConfig, ModelError, RenderMesh};

/// Cloth that is simulated in the local space of its entity.
///
/// The plugin adds the [`Mesh3d`] that follows the cloth; add a material. Clones share fabric and
/// render mesh. Removing the component or its entity removes the cloth.
#[derive(Component, Debug, Clone)]
#[require(Transform, Visibility)]
pub struct Cloth {
    /// Settings, including wind ([`ClothConfig::air`]); changes act from the next frame on.
    pub config: ClothConfig,
    pub(crate) source: Arc<Source>,
}

/// Cooked cloth and render mesh, shared by clones.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) cloth: model::ClothDesc,
    pub(crate) mesh: Arc<RenderMesh>,
    pub(crate) has_tangents: bool,
}

impl Cloth {
    /// Creates a cloth from a cooked cloth and its render mesh: the cooked mesh or a finer one that
    /// is skinned to it. Its pose is that of the entity. A mesh with texture coordinates gets
    /// tangents for normal maps.
    ///
    /// # Errors
    /// [`ModelError`] if either is not valid, the mesh has no vertices, or its particle count
    /// differs from that of the cloth.
    pub fn new(cloth: model::ClothDesc, mesh: Arc<RenderMesh>) -> Result<Self, ModelError> {
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
    /// Returns the mesh at rest in the layout of Bevy, which is drawn until simulated vertices
    /// arrive.
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

/// Mesh that follows the cloth of an entity.
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
        // Bounds at rest do not hold for a moving cloth.
        commands.entity(insert.entity).insert((
            Mesh3d(mesh.clone()),
            FollowingMesh(mesh),
            NoFrustumCulling,
        ));
    }
}
