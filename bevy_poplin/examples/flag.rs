//! A flag in the wind with a ball that swings through it, drawn by Bevy's PBR with shadows.
//!
//! `cargo run --release --example flag`; with `-- --screenshot flag.png --frames 150` it saves that
//! picture and ends.

use std::error::Error;
use std::f32::consts::PI;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bevy::asset::RenderAssetUsages;
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::light::CascadeShadowConfigBuilder;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use bevy::render::settings::{WgpuSettings, WgpuSettingsPriority};
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
use bevy::time::TimeUpdateStrategy;
use bevy_poplin::poplin::cook::{CookOptions, RenderMeshOptions, cook};
use bevy_poplin::poplin::model::{Air, Mesh as ClothMesh, Plane, Shape};
use bevy_poplin::{Cloth, ClothCollider, PoplinPlugin};

/// Radius of the drawn ball \[m\]. The collider is slightly larger, because cloth is thin and flat
/// between particles.
const BALL_RADIUS: f32 = 0.2;

/// Options of the command line.
#[derive(Resource, Default)]
struct Picture {
    file: Option<PathBuf>,
    frame: u32,
}

#[derive(Component)]
struct Ball;

fn read_arguments() -> Result<Picture, Box<dyn Error>> {
    let mut picture = Picture { frame: 150, ..Picture::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--screenshot" => picture.file = Some(value.into()),
            "--frames" => picture.frame = value.parse()?,
            _ => {
                return Err(format!(
                    "unknown option {name}: use --screenshot FILE or --frames COUNT"
                )
                .into());
            }
        }
    }
    Ok(picture)
}

fn main() -> Result<AppExit, Box<dyn Error>> {
    let picture = read_arguments()?;
    // Requests all limits of the adapter, the default. WebGPU's limits suffice;
    // `poplin::gpu::required_limits` allow faster and larger cloths.
    let settings = WgpuSettings { priority: WgpuSettingsPriority::Functionality, ..default() };
    let mut app = App::new();
    if picture.file.is_some() {
        // Fixed time step: the picture does not depend on the speed of the machine.
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(
            1.0 / 60.0,
        )));
    }
    let renderer = RenderPlugin {
        render_creation: settings.into(),
        synchronous_pipeline_compilation: picture.file.is_some(),
        ..default()
    };
    app.add_plugins((DefaultPlugins.set(renderer), PoplinPlugin::default()))
        .insert_resource(ClearColor(Color::srgb(0.55, 0.68, 0.82)))
        .insert_resource(GlobalAmbientLight { brightness: 500.0, ..default() })
        .insert_resource(picture)
        .add_systems(Startup, (spawn_flag, spawn_scene))
        .add_systems(Update, (blow, swing, take_picture));
    Ok(app.run())
}

fn spawn_flag(
    mut commands: Commands,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut images: ResMut<Assets<Image>>,
) -> Result<(), BevyError> {
    // 1.5 m x 1 m, pinned along its left edge.
    let mut mesh = ClothMesh::grid(49, 33, 1.5, 1.0);
    mesh.positions.iter_mut().for_each(|[_, y, z]| (*y, *z) = (-*z, 0.0));
    let pins = (0..33).map(|row| 49 * row).collect();
    let cooked = cook(&mesh, &CookOptions { pins, ..CookOptions::default() })?;
    let drawn = Arc::new(cooked.render_mesh(&mesh, &RenderMeshOptions::default())?);
    let mut cloth = Cloth::new(cooked.into_cloth(), drawn)?;
    cloth.config.damping = [0.05; 3];
    let material = StandardMaterial {
        base_color_texture: Some(images.add(stripes())),
        perceptual_roughness: 0.8,
        reflectance: 0.2,
        // Cloth is visible from both sides.
        double_sided: true,
        cull_mode: None,
        ..default()
    };
    commands.spawn((
        cloth,
        MeshMaterial3d(materials.add(material)),
        Transform::from_xyz(0.0, 2.2, 0.0),
    ));
    Ok(())
}

/// Returns a texture of three stripes and a disc.
fn stripes() -> Image {
    let (width, height) = (384, 256);
    let (teal, cream, ochre) = ([20, 95, 100, 255], [235, 228, 210, 255], [205, 130, 45, 255]);
    let texel = |x: u32, y: u32| {
        let is_disc = (x as f32 - 192.0).hypot(y as f32 - 128.0) < 36.0;
        match 3 * y / height {
            1 if !is_disc => cream,
            2 => ochre,
            _ => teal,
        }
    };
    let texels = (0..height).flat_map(|y| (0..width).flat_map(move |x| texel(x, y))).collect();
    Image::new(
        Extent3d { width, height, depth_or_array_layers: 1 },
        TextureDimension::D2,
        texels,
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::RENDER_WORLD,
    )
}

fn spawn_scene(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let mut matte = |color| {
        materials.add(StandardMaterial {
            base_color: color,
            perceptual_roughness: 0.7,
            reflectance: 0.3,
            ..default()
        })
    };
    commands.spawn((
        Mesh3d(meshes.add(Plane3d::default().mesh().size(400.0, 400.0))),
        MeshMaterial3d(matte(Color::srgb(0.42, 0.46, 0.36))),
        ClothCollider::new(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }),
    ));
    commands.spawn((
        Mesh3d(meshes.add(Cylinder::new(0.02, 2.3))),
        MeshMaterial3d(matte(Color::srgb(0.5, 0.5, 0.5))),
        Transform::from_xyz(-0.02, 1.15, 0.0),
    ));
    commands.spawn((
        Ball,
        Mesh3d(meshes.add(Sphere::new(BALL_RADIUS))),
        MeshMaterial3d(matte(Color::srgb(0.6, 0.12, 0.1))),
        ClothCollider::new(Shape::sphere(BALL_RADIUS + 0.015)),
    ));
    commands.spawn((
        DirectionalLight { illuminance: 9_000.0, shadow_maps_enabled: true, ..default() },
        CascadeShadowConfigBuilder { maximum_distance: 10.0, ..default() }.build(),
        Transform::from_xyz(-2.0, 4.0, 3.0).looking_at(Vec3::ZERO, Vec3::Y),
    ));
    commands.spawn((
        Camera3d::default(),
        Tonemapping::AcesFitted,
        Transform::from_xyz(1.5, 1.8, 3.1).looking_at(Vec3::new(0.7, 1.2, 0.0), Vec3::Y),
    ));
}

/// Sets gusty wind on all cloths.
fn blow(time: Res<Time>, mut cloths: Query<&mut Cloth>) {
    let seconds = time.elapsed_secs();
    for mut cloth in &mut cloths {
        let wind_velocity = [7.0 + 2.0 * (1.7 * seconds).sin(), 0.0, 2.0 * (1.1 * seconds).sin()];
        cloth.config.air = Air { wind_velocity, drag: 0.04, lift: 0.04, ..Air::default() };
    }
}

fn swing(time: Res<Time>, mut ball: Single<&mut Transform, With<Ball>>) {
    let angle = 0.8 * (PI * time.elapsed_secs()).cos();
    let pivot = Vec3::new(0.75, 3.4, 0.0);
    ball.translation = pivot + 1.8 * Vec3::new(0.0, -angle.cos(), angle.sin());
}

fn take_picture(mut commands: Commands, picture: Res<Picture>, mut frame: Local<u32>) {
    *frame += 1;
    if let (Some(file), true) = (&picture.file, *frame == picture.frame) {
        commands.spawn(Screenshot::primary_window()).observe(save_to_disk(file.clone())).observe(
            |_: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                exit.write(AppExit::Success);
            },
        );
    }
}
