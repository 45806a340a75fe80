//! Cloth by [poplin] in [Bevy]: simulated on the GPU by Bevy's own device, drawn by Bevy's PBR, never read back.
//!
//! Add [`PoplinPlugin`] after `DefaultPlugins`, then entities with a [`Cloth`] and a material, and with a [`ClothCollider`]:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use bevy::prelude::*;
//! use bevy_poplin::poplin::cook::{CookOptions, RenderMeshOptions, cook};
//! use bevy_poplin::poplin::model::{Air, Mesh as ClothMesh, Shape};
//! use bevy_poplin::{Cloth, ClothCollider, PoplinPlugin};
//!
//! fn spawn(
//!     mut commands: Commands,
//!     mut materials: ResMut<Assets<StandardMaterial>>,
//! ) -> Result<(), BevyError> {
//!     let mesh = ClothMesh::grid(32, 32, 1.0, 1.0);
//!     let cooked = cook(&mesh, &CookOptions { pins: vec![0, 31], ..CookOptions::default() })?;
//!     let drawn = Arc::new(cooked.render_mesh(&mesh, &RenderMeshOptions::default())?);
//!     let mut cloth = Cloth::new(cooked.into_cloth(), drawn)?;
//!     cloth.config.air = Air { wind_velocity: [3.0, 0.0, 1.0], drag: 0.04, lift: 0.04, ..Air::default() };
//!     // Cloth has two sides.
//!     let sides = StandardMaterial { double_sided: true, cull_mode: None, ..default() };
//!     commands.spawn((
//!         cloth,
//!         MeshMaterial3d(materials.add(sides)),
//!         Transform::from_xyz(0.0, 2.0, 0.0),
//!     ));
//!     commands.spawn((ClothCollider::new(Shape::sphere(0.3)), Transform::from_xyz(0.5, 1.0, 0.5)));
//!     Ok(())
//! }
//!
//! App::new().add_plugins((DefaultPlugins, PoplinPlugin::default())).add_systems(Startup, spawn).run();
//! ```
//!
//! # How it works
//!
//! Cloths live in the render world, in [`ClothSimulation`]. Every picture, before the cameras, the plugin records into Bevy's own command
//! encoder: whole frames of the simulation ([`FixedStep`]), vertices between the last two, and a copy of those into the buffer of the
//! entity's [`Mesh3d`], which Bevy draws as any other, with its materials and shadows.
//!
//! A [`Cloth`] simulates in the local space of its entity. Its [`Transform`] moves that space: pinned particles go along, the others
//! feel it as `config.inertia` says. Colliders and cloths meet in world space. A scale is not simulated.
//!
//! [poplin]: https://docs.rs/poplin
//! [Bevy]: https://bevy.org

mod cloth;
mod collider;
mod motion;
mod simulation;
mod vertices;

use bevy::prelude::*;
use bevy::render::renderer::{RenderGraph, RenderGraphSystems};
use bevy::render::{ExtractSchedule, RenderApp, RenderStartup};
pub use poplin;
use poplin::gpu::EngineOptions;
use poplin::model::FixedStep;

pub use cloth::Cloth;
pub use collider::ClothCollider;
pub use simulation::ClothSimulation;

/// Simulates every [`Cloth`] and draws it. Add it after `DefaultPlugins`.
///
/// The device must have WebGPU's default limits: storage buffers and compute, so no WebGL. Bevy asks the adapter for all it has unless
/// you say otherwise. With other `WgpuSettings` merge in [`poplin::gpu::required_limits`]: they make cloths faster or larger. What is
/// missing is an error in the log, once, and cloths are drawn at rest.
#[derive(Debug, Clone, Default)]
pub struct PoplinPlugin {
    /// Length of a frame of the simulation, and how many may be simulated for one picture. Default: 1/60 s, 4.
    pub clock: FixedStep,
    /// Choices of the engine. `frames_per_submit` becomes what the clock needs.
    pub engine: EngineOptions,
}

impl Plugin for PoplinPlugin {
    fn build(&self, app: &mut App) {
        app.add_observer(cloth::insert_mesh);
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            error!(
                "cloths stand still: there is no RenderApp; add PoplinPlugin after DefaultPlugins"
            );
            return;
        };
        render_app
            .insert_resource(simulation::Options(self.clone()))
            .add_systems(RenderStartup, simulation::start)
            .add_systems(ExtractSchedule, simulation::extract)
            .add_systems(RenderGraph, simulation::record.in_set(RenderGraphSystems::Begin));
    }
}
