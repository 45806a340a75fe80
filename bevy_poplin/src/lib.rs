//! Cloth of [poplin] in [Bevy]: simulated on Bevy's own GPU device, drawn by Bevy's PBR, never read
//! back.
//!
//! Add [`PoplinPlugin`] after `DefaultPlugins`, then entities with a [`Cloth`] and a material, and
//! with a [`ClothCollider`]:
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
//!     let wind_velocity = [3.0, 0.0, 1.0];
//!     cloth.config.air = Air { wind_velocity, drag: 0.04, lift: 0.04, ..Air::default() };
//!     // Cloth is visible from both sides.
//!     let sides = StandardMaterial { double_sided: true, cull_mode: None, ..default() };
//!     commands.spawn((
//!         cloth,
//!         MeshMaterial3d(materials.add(sides)),
//!         Transform::from_xyz(0.0, 2.0, 0.0),
//!     ));
//!     let ball = ClothCollider::new(Shape::sphere(0.3));
//!     commands.spawn((ball, Transform::from_xyz(0.5, 1.0, 0.5)));
//!     Ok(())
//! }
//!
//! App::new()
//!     .add_plugins((DefaultPlugins, PoplinPlugin::default()))
//!     .add_systems(Startup, spawn)
//!     .run();
//! ```
//!
//! # How it works
//!
//! Cloths live in the render world, in [`ClothSimulation`]. For every picture, before the cameras,
//! the plugin records into Bevy's own command encoder: whole frames of the simulation
//! ([`FixedStep`]), vertices interpolated between the last two frames, and a copy of the vertices
//! into the buffer of the entity's [`Mesh3d`]. Bevy draws the mesh like any other, with its
//! materials and shadows.
//!
//! A [`Cloth`] is simulated in the local space of its entity. The [`Transform`] moves that space:
//! pinned particles follow, the others get inertial forces scaled by `config.inertia`. Colliders
//! and cloths collide in world space. Scale is ignored.
//!
//! [poplin]: https://docs.rs/poplin [Bevy]: https://bevy.org

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

/// Plugin that simulates and draws every [`Cloth`]. Add it after `DefaultPlugins`.
///
/// The device needs WebGPU's default limits, including storage buffers and compute, so WebGL does
/// not work. By default Bevy requests all limits of the adapter. With custom `WgpuSettings`, merge
/// in [`poplin::gpu::required_limits`], which allow faster and larger cloths. A missing limit is
/// logged once as an error, and cloths are drawn at rest.
#[derive(Debug, Clone, Default)]
pub struct PoplinPlugin {
    /// Length of a simulation frame and most frames per picture (default 1/60 s and 4).
    pub clock: FixedStep,
    /// Options of the engine; the plugin sets `frames_per_submit` from the clock.
    pub engine: EngineOptions,
}

impl Plugin for PoplinPlugin {
    fn build(&self, app: &mut App) {
        app.add_observer(cloth::insert_mesh);
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            error!(
                "cloths are not simulated: there is no RenderApp; add PoplinPlugin after DefaultPlugins"
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
