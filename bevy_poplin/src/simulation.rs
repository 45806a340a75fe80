//! Simulation of all cloths, in the render world.

use std::sync::Arc;

use bevy::ecs::entity::EntityHashMap;
use bevy::prelude::*;
use bevy::render::Extract;
use bevy::render::mesh::allocator::MeshAllocator;
use bevy::render::renderer::{RenderContext, RenderDevice, RenderQueue};
use poplin::ClothId;
use poplin::gpu::{EngineOptions, Error, GpuEngine, RenderId, RenderMeshes, RenderOptions, wgpu};
use poplin::model::{Collider, ColliderId, FixedStep, ModelError};

use crate::cloth::{FollowingMesh, Source};
use crate::motion::{Motion, pose, warn_of_scale};
use crate::vertices::{Interleave, MeshVertices};
use crate::{Cloth, ClothCollider, PoplinPlugin};

/// Plugin with its options, as a resource.
#[derive(Resource, Debug)]
pub(crate) struct Options(pub(crate) PoplinPlugin);

/// Engine and vertices of all cloths, a resource of the render world (`RenderApp`). It does not
/// exist if the device lacks required limits.
///
/// Change settings of all cloths together, such as [`GpuEngine::set_cloth_contact_solver`], in a
/// system of the `ExtractSchedule`. Add and remove cloths only through entities, not in the engine.
#[derive(Resource, Debug)]
pub struct ClothSimulation {
    device: wgpu::Device,
    engine: GpuEngine,
    meshes: RenderMeshes,
    interleave: Interleave,
    clock: FixedStep,
    /// Time since the last picture \[s\].
    seconds: f64,
    cloths: EntityHashMap<Entry<Arc<Source>, SimulatedCloth>>,
    colliders: EntityHashMap<Entry<(), ColliderId>>,
    /// Number of extractions.
    extraction: u64,
    /// Last error of a frame, so that it is logged only once.
    error: Option<String>,
}

/// Simulated object of an entity.
#[derive(Debug)]
struct Entry<S, T> {
    source: S,
    /// Handle in the simulation; `None` if it was rejected, until its component changes.
    simulated: Option<T>,
    motion: Motion,
    /// Last extraction that found the entity.
    seen: u64,
}

#[derive(Debug)]
struct SimulatedCloth {
    id: ClothId,
    render_id: RenderId,
    vertices: MeshVertices,
    mesh: AssetId<Mesh>,
}

impl ClothSimulation {
    fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        PoplinPlugin { clock, engine }: &PoplinPlugin,
    ) -> Result<Self, Error> {
        let options =
            EngineOptions { frames_per_submit: clock.max_steps() as usize, ..engine.clone() };
        let render_options = RenderOptions {
            pipeline_cache: options.pipeline_cache.clone(),
            ..RenderOptions::default()
        };
        Ok(Self {
            engine: GpuEngine::new(device, queue, options)?,
            meshes: RenderMeshes::new(device, queue, render_options)?,
            interleave: Interleave::new(device),
            device: device.clone(),
            clock: clock.clone(),
            seconds: 0.0,
            cloths: EntityHashMap::default(),
            colliders: EntityHashMap::default(),
            extraction: 0,
            error: None,
        })
    }

    /// Returns the engine.
    pub fn engine(&self) -> &GpuEngine {
        &self.engine
    }

    /// Returns the engine, to change settings of all cloths.
    pub fn engine_mut(&mut self) -> &mut GpuEngine {
        &mut self.engine
    }

    /// Returns the render meshes of all cloths.
    pub fn meshes(&self) -> &RenderMeshes {
        &self.meshes
    }

    /// Returns the handles of the cloth and render mesh of an entity of the main world; `None`
    /// without a cloth or if it was rejected.
    pub fn cloth(&self, entity: Entity) -> Option<(ClothId, RenderId)> {
        let cloth = self.cloths.get(&entity)?.simulated.as_ref()?;
        Some((cloth.id, cloth.render_id))
    }

    /// Adds a cloth and its render mesh; adds nothing after an error.
    fn add(
        &mut self,
        component: &Cloth,
        motion: &Motion,
        mesh: AssetId<Mesh>,
    ) -> Result<SimulatedCloth, Error> {
        let Cloth { config, source } = component;
        let cloth = poplin::model::ClothDesc {
            config: config.clone(),
            pose: motion.target(),
            ..source.cloth.clone()
        };
        let Self { engine, meshes, device, .. } = self;
        let id = engine.add(cloth)?;
        let mut draw = || {
            let range = engine.particle_range(id)?;
            let render_id = match source.has_tangents {
                true => meshes.add_with_tangents(&source.mesh, range)?,
                false => meshes.add(&source.mesh, range)?,
            };
            match MeshVertices::new(device, source, meshes, render_id) {
                Ok(vertices) => Ok(SimulatedCloth { id, render_id, vertices, mesh }),
                Err(error) => {
                    meshes.remove(render_id)?;
                    Err(error)
                }
            }
        };
        match draw() {
            Ok(cloth) => Ok(cloth),
            Err(error) => {
                self.engine.remove(id)?;
                Err(error)
            }
        }
    }

    /// Removes a cloth and its render mesh.
    fn remove(&mut self, cloth: Option<SimulatedCloth>) -> Result<(), Error> {
        if let Some(SimulatedCloth { id, render_id, .. }) = cloth {
            self.meshes.remove(render_id)?;
            self.engine.remove(id)?;
        }
        Ok(())
    }

    fn extract_cloth(
        &mut self,
        entity: Entity,
        cloth: &Ref<Cloth>,
        mesh: AssetId<Mesh>,
        transform: &GlobalTransform,
    ) -> Result<(), Error> {
        let (pose, seen) = (pose(transform), self.extraction);
        if let Some(entry) = self.cloths.get_mut(&entity)
            && Arc::ptr_eq(&entry.source, &cloth.source)
        {
            entry.seen = seen;
            let moved = entry.motion.set_target(pose);
            if let Some(simulated) = &mut entry.simulated {
                simulated.mesh = mesh;
                if cloth.is_changed() {
                    self.engine.cloth_mut(simulated.id)?.set_config(cloth.config.clone())?;
                }
            }
            if entry.simulated.is_some() || !cloth.is_changed() {
                return moved.map_err(Error::from);
            }
        }
        let old = self.cloths.remove(&entity);
        self.remove(old.and_then(|entry| entry.simulated))?;
        warn_of_scale(entity, transform);
        let motion = Motion::new(pose);
        let added = self.add(cloth, &motion, mesh);
        let (simulated, result) = match added {
            Ok(simulated) => (Some(simulated), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let source = cloth.source.clone();
        self.cloths.insert(entity, Entry { source, simulated, motion, seen });
        result
    }

    fn extract_collider(
        &mut self,
        entity: Entity,
        collider: &Ref<ClothCollider>,
        transform: &GlobalTransform,
    ) -> Result<(), ModelError> {
        let (pose, seen) = (pose(transform), self.extraction);
        let colliders = self.engine.colliders_mut();
        let ClothCollider { shape, friction, groups } = &**collider;
        if let Some(entry) = self.colliders.get_mut(&entity) {
            entry.seen = seen;
            let moved = entry.motion.set_target(pose);
            if let (Some(id), true) = (entry.simulated, collider.is_changed()) {
                colliders.set_shape(id, shape.clone())?;
                colliders.set_friction(id, *friction)?;
                colliders.set_groups(id, *groups)?;
            }
            if entry.simulated.is_some() || !collider.is_changed() {
                return moved;
            }
        }
        warn_of_scale(entity, transform);
        let (shape, friction, groups) = (shape.clone(), *friction, *groups);
        let added = colliders.add(Collider { shape, pose, friction, groups, body: None });
        let (simulated, result) = match added {
            Ok(id) => (Some(id), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let motion = Motion::new(pose);
        self.colliders.insert(entity, Entry { source: (), simulated, motion, seen });
        result
    }

    /// Removes cloths and colliders whose entities this extraction did not find.
    fn remove_unseen(&mut self) -> Result<(), Error> {
        let seen = self.extraction;
        let cloths: Vec<_> = self.cloths.extract_if(|_, entry| entry.seen != seen).collect();
        let colliders: Vec<_> = self.colliders.extract_if(|_, entry| entry.seen != seen).collect();
        for (_, entry) in cloths {
            self.remove(entry.simulated)?;
        }
        for (_, entry) in colliders {
            if let Some(id) = entry.simulated {
                self.engine.colliders_mut().remove(id)?;
            }
        }
        Ok(())
    }

    /// Records the due frames, and the vertices interpolated between the last two.
    fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        allocator: &MeshAllocator,
    ) -> Result<(), Error> {
        let Self { engine, meshes, cloths, colliders, clock, .. } = self;
        let steps = clock.advance(std::mem::take(&mut self.seconds));
        for step in 1..=steps.count {
            let fraction = step as f32 / steps.count as f32;
            for entry in cloths.values() {
                if let (Some(cloth), Some(pose)) = (&entry.simulated, entry.motion.at(fraction)) {
                    engine.cloth_mut(cloth.id)?.set_pose(pose)?;
                }
            }
            for entry in colliders.values() {
                if let (Some(id), Some(pose)) = (entry.simulated, entry.motion.at(fraction)) {
                    engine.colliders_mut().set_pose(id, pose)?;
                }
            }
            meshes.encode_frame(engine, encoder, clock.dt())?;
        }
        if steps.count > 0 {
            cloths.values_mut().for_each(|entry| entry.motion.reach());
            colliders.values_mut().for_each(|entry| entry.motion.reach());
        }
        engine.encode_changes(encoder)?;
        meshes.encode(encoder, engine.particle_buffer(), steps.alpha)?;
        let drawn = cloths.values_mut().filter_map(|entry| entry.simulated.as_mut());
        self.interleave.record(
            &self.device,
            encoder,
            meshes,
            drawn.map(|cloth| &mut cloth.vertices),
        );
        for cloth in cloths.values().filter_map(|entry| entry.simulated.as_ref()) {
            // A mesh that is not allocated yet is copied with a later picture.
            if let Some(slice) = allocator.mesh_vertex_slice(&cloth.mesh) {
                cloth.vertices.copy(encoder, &slice);
            }
        }
        Ok(())
    }
}

/// Creates the simulation for a device, at startup and after a lost device.
pub(crate) fn start(
    mut commands: Commands,
    options: Res<Options>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
) {
    match ClothSimulation::new(device.wgpu_device(), &queue, &options.0) {
        Ok(simulation) => commands.insert_resource(simulation),
        Err(error) => {
            error!("cloths are not simulated: {error}");
            commands.remove_resource::<ClothSimulation>();
        }
    }
}

/// Extracts changes from the main world.
#[expect(clippy::type_complexity, reason = "queries list their components")]
pub(crate) fn extract(
    simulation: Option<ResMut<ClothSimulation>>,
    time: Extract<Res<Time>>,
    cloths: Extract<Query<(Entity, Ref<Cloth>, &FollowingMesh, &GlobalTransform)>>,
    colliders: Extract<Query<(Entity, Ref<ClothCollider>, &GlobalTransform)>>,
) {
    let Some(mut simulation) = simulation else { return };
    simulation.extraction += 1;
    simulation.seconds += time.delta_secs_f64();
    for (entity, cloth, mesh, transform) in &cloths {
        if let Err(error) = simulation.extract_cloth(entity, &cloth, mesh.0.id(), transform) {
            error!("cloth of {entity}: {error}");
        }
    }
    for (entity, collider, transform) in &colliders {
        if let Err(error) = simulation.extract_collider(entity, &collider, transform) {
            error!("cloth collider of {entity}: {error}");
        }
    }
    if let Err(error) = simulation.remove_unseen() {
        error!("cloths: {error}");
    }
}

/// Records simulation and vertices, before the cameras.
pub(crate) fn record(
    simulation: Option<ResMut<ClothSimulation>>,
    allocator: Res<MeshAllocator>,
    mut context: RenderContext,
) {
    let Some(mut simulation) = simulation else { return };
    let result = simulation.record(context.command_encoder(), &allocator);
    let error = result.err().map(|error| error.to_string());
    if simulation.error != error {
        if let Some(error) = &error {
            error!("cloths are not simulated: {error}");
        }
        simulation.error = error;
    }
}
