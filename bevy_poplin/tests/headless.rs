//! Cloths in an app without a window.

use std::sync::Arc;
use std::time::Duration;

use bevy::log::LogPlugin;
use bevy::prelude::*;
use bevy::render::mesh::allocator::MeshAllocator;
use bevy::render::pipelined_rendering::PipelinedRenderingPlugin;
use bevy::render::renderer::{RenderDevice, RenderQueue};
use bevy::render::settings::{WgpuLimits, WgpuSettings, WgpuSettingsPriority};
use bevy::render::{RenderApp, RenderPlugin};
use bevy::time::TimeUpdateStrategy;
use bevy::winit::WinitPlugin;
use bevy_poplin::poplin::cook::{CookOptions, RenderMeshOptions, cook};
use bevy_poplin::poplin::gpu::wgpu;
use bevy_poplin::poplin::model::{Mesh as ClothMesh, Shape};
use bevy_poplin::{Cloth, ClothCollider, ClothSimulation, PoplinPlugin};

/// Number of vertices of the sheet.
const SIDE: u32 = 17;

/// Returns an app without a window, at 60 pictures per second, on a device with at most these
/// limits.
fn app(most: WgpuLimits) -> App {
    let settings = WgpuSettings {
        priority: WgpuSettingsPriority::WebGPU,
        constrained_limits: Some(most),
        ..default()
    };
    let mut app = App::new();
    app.add_plugins(
        DefaultPlugins
            .set(WindowPlugin { primary_window: None, ..default() })
            .set(RenderPlugin { render_creation: settings.into(), ..default() })
            // Only one app per process can install a logger.
            .disable::<LogPlugin>()
            .disable::<WinitPlugin>()
            .disable::<PipelinedRenderingPlugin>(),
    )
    .add_plugins(PoplinPlugin::default())
    .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(1.0 / 60.0)));
    app.finish();
    app.cleanup();
    app
}

/// Returns a sheet of 1 m x 1 m in the x/z plane, pinned at its four corners.
fn sheet() -> Cloth {
    let mesh = ClothMesh::grid(SIDE, SIDE, 1.0, 1.0);
    let pins = vec![0, SIDE - 1, SIDE * (SIDE - 1), SIDE * SIDE - 1];
    let cooked = cook(&mesh, &CookOptions { pins, ..CookOptions::default() }).expect("cooks");
    let drawn = Arc::new(cooked.render_mesh(&mesh, &RenderMeshOptions::default()).expect("drawn"));
    Cloth::new(cooked.into_cloth(), drawn).expect("valid")
}

fn simulation(app: &App) -> Option<&ClothSimulation> {
    app.sub_app(RenderApp).world().get_resource()
}

/// Reads back a part of a buffer.
fn read(app: &App, buffer: &wgpu::Buffer, offset: u64, bytes: u64) -> Vec<f32> {
    let world = app.sub_app(RenderApp).world();
    let device = world.resource::<RenderDevice>().wgpu_device();
    let target = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, offset, &target, 0, bytes);
    world.resource::<RenderQueue>().submit([encoder.finish()]);
    target.map_async(wgpu::MapMode::Read, .., |result| result.expect("mapped"));
    device.poll(wgpu::PollType::wait_indefinitely()).expect("polled");
    let view = target.get_mapped_range(..).expect("mapped");
    view.chunks_exact(4).map(|word| f32::from_ne_bytes(word.try_into().expect("4 bytes"))).collect()
}

/// Words per vertex of Bevy's mesh: position, normal, texture coordinates, tangent.
const WORDS: usize = 12;

/// Reads the vertices of an entity's Bevy mesh from the device.
fn mesh_vertices(app: &App, entity: Entity) -> Vec<f32> {
    let mesh = app.world().get::<Mesh3d>(entity).expect("the plugin adds a mesh");
    let allocator = app.sub_app(RenderApp).world().resource::<MeshAllocator>();
    let slice = allocator.mesh_vertex_slice(&mesh.id()).expect("allocated");
    let stride = 4 * WORDS as u64;
    let count = u64::from(SIDE * SIDE);
    read(app, slice.buffer, stride * u64::from(slice.range.start), stride * count)
}

/// Returns the height of the middle of the sheet in its mesh \[m\].
fn middle_height(app: &App, entity: Entity) -> f32 {
    let middle = (SIDE * SIDE / 2) as usize;
    mesh_vertices(app, entity)[WORDS * middle + 1]
}

#[test]
fn a_cloth_falls_and_a_collider_pushes_it_up() {
    let mut app = app(WgpuLimits::default());
    let cloth = app.world_mut().spawn((sheet(), Transform::from_xyz(3.0, 5.0, 0.0))).id();
    for _ in 0..60 {
        app.update();
    }
    let hung = middle_height(&app, cloth);
    assert!(hung < -0.05, "the middle has fallen to {hung} m");

    let ball = app
        .world_mut()
        .spawn((ClothCollider::new(Shape::sphere(0.2)), Transform::from_xyz(3.5, 4.0, 0.5)))
        .id();
    for frame in 0..60 {
        let height = 4.0 + frame as f32 / 60.0;
        app.world_mut().get_mut::<Transform>(ball).expect("a ball").translation.y = height;
        app.update();
    }
    let pushed = middle_height(&app, cloth);
    assert!(pushed > 0.1, "the ball has pushed the middle to {pushed} m, where its top is at 0.18");

    app.world_mut().despawn(ball);
    for _ in 0..60 {
        app.update();
    }
    let fallen = middle_height(&app, cloth);
    assert!(fallen < -0.05, "without the ball the middle has fallen to {fallen} m");
}

#[test]
fn the_bevy_mesh_has_the_vertices_of_poplin() {
    let mut app = app(WgpuLimits::default());
    // A second cloth, whose data is not at the beginning of the buffers.
    app.world_mut().spawn(sheet());
    let cloth = app.world_mut().spawn(sheet()).id();
    for _ in 0..20 {
        app.update();
    }
    let simulation = simulation(&app).expect("a simulation");
    let (_, id) = simulation.cloth(cloth).expect("a cloth");
    let meshes = simulation.meshes();
    let vertices = meshes.vertex_range(id).expect("vertices");
    let tangents = meshes.tangent_range(id).expect("drawn").expect("tangents");
    let count = u64::from(SIDE * SIDE);
    let vertices = read(&app, meshes.vertex_buffer(), 32 * u64::from(vertices.start), 32 * count);
    let tangents = read(&app, meshes.tangent_buffer(), 16 * u64::from(tangents.start), 16 * count);
    let uvs = ClothMesh::grid(SIDE, SIDE, 1.0, 1.0).uvs;

    let drawn = mesh_vertices(&app, cloth);
    assert_eq!(drawn.len(), WORDS * uvs.len());
    let made = vertices.chunks_exact(8).zip(tangents.chunks_exact(4)).zip(&uvs);
    for (index, (drawn, ((vertex, tangent), uv))) in drawn.chunks_exact(WORDS).zip(made).enumerate()
    {
        let expected = [&vertex[0..3], &vertex[4..7], uv, tangent].concat();
        assert_eq!(drawn, expected, "vertex {index}");
    }
    let lowest = drawn.chunks_exact(WORDS).map(|vertex| vertex[1]).fold(0.0, f32::min);
    assert!(lowest < -0.02, "it has moved, to {lowest} m");
}

#[test]
fn cloths_come_and_go_with_their_entities() {
    let mut app = app(WgpuLimits::default());
    let first = app.world_mut().spawn(sheet()).id();
    let second = app.world_mut().spawn(sheet()).id();
    app.update();
    assert_eq!(simulation(&app).expect("a simulation").engine().cloth_count(), 2);
    app.world_mut().despawn(first);
    app.update();
    let held = simulation(&app).expect("a simulation");
    assert_eq!((held.engine().cloth_count(), held.meshes().len()), (1, 1));
    assert!(held.cloth(first).is_none() && held.cloth(second).is_some());
    app.world_mut().entity_mut(second).remove::<Cloth>();
    app.update();
    let held = simulation(&app).expect("a simulation");
    assert_eq!((held.engine().cloth_count(), held.meshes().len()), (0, 0));
}

#[test]
fn changed_settings_reach_the_engine() {
    let mut app = app(WgpuLimits::default());
    let cloth = app.world_mut().spawn(sheet()).id();
    app.update();
    app.world_mut().get_mut::<Cloth>(cloth).expect("a cloth").config.gravity = [0.0, 1.0, 0.0];
    app.update();
    let held = simulation(&app).expect("a simulation");
    let (id, _) = held.cloth(cloth).expect("a cloth");
    assert_eq!(held.engine().cloth(id).expect("live").desc().config.gravity, [0.0, 1.0, 0.0]);
}

#[test]
fn a_rejected_component_changes_nothing_else() {
    let mut app = app(WgpuLimits::default());
    let mut refused = sheet();
    refused.config.gravity = [f32::NAN; 3];
    let refused = app.world_mut().spawn(refused).id();
    let [good, untouched] = [(); 2].map(|()| app.world_mut().spawn(sheet()).id());
    let collider = app.world_mut().spawn(ClothCollider::new(Shape::sphere(-1.0))).id();
    app.update();
    let held = simulation(&app).expect("a simulation");
    assert!(held.cloth(refused).is_none() && held.cloth(good).is_some());
    assert!(held.engine().colliders().is_empty());

    let world = app.world_mut();
    world.get_mut::<Cloth>(refused).expect("a cloth").config.gravity = [0.0; 3];
    world.get_mut::<Cloth>(good).expect("a cloth").config.damping = [7.0; 3];
    world.get_mut::<Transform>(good).expect("a transform").translation.x = f32::NAN;
    world.get_mut::<ClothCollider>(collider).expect("a collider").shape = Shape::sphere(1e-3);
    for _ in 0..60 {
        app.update();
    }
    let held = simulation(&app).expect("a simulation");
    assert!(held.cloth(refused).is_some(), "it is tried again when it changes");
    assert_eq!(held.engine().colliders().len(), 1);
    let (id, _) = held.cloth(good).expect("a cloth");
    let live = held.engine().cloth(id).expect("live");
    assert_eq!((live.desc().config.damping, live.pose().translation), ([0.0; 3], [0.0; 3]));
    assert_eq!(mesh_vertices(&app, good), mesh_vertices(&app, untouched));
    let height = middle_height(&app, good);
    assert!(height < -0.02, "both fall, to {height} m");
}

#[test]
fn a_cloth_moves_with_its_transform() {
    let mut app = app(WgpuLimits::default());
    let cloth = app.world_mut().spawn((sheet(), Transform::from_xyz(1.0, 0.0, 0.0))).id();
    app.update();
    app.world_mut().get_mut::<Transform>(cloth).expect("a transform").translation.x = 1.5;
    app.update();
    app.update();
    let held = simulation(&app).expect("a simulation");
    let (id, _) = held.cloth(cloth).expect("a cloth");
    assert_eq!(held.engine().cloth(id).expect("live").pose().translation, [1.5, 0.0, 0.0]);
}

#[test]
fn a_device_below_the_limits_draws_cloths_at_rest() {
    let mut app =
        app(WgpuLimits { max_storage_buffers_per_shader_stage: 7, ..WgpuLimits::default() });
    let cloth = app.world_mut().spawn(sheet()).id();
    for _ in 0..3 {
        app.update();
    }
    assert!(simulation(&app).is_none());
    assert_eq!(middle_height(&app, cloth), 0.0);
}
