//! Ranges of a scene.

use std::collections::HashMap;
use std::path::Path;

use poplin_model::MAX_PARTICLES;

use super::build_collider::plane;
use super::file::nearest;
use super::locate::{Source, shortest};
use super::{
    AnimatedPins, ColliderShape, FrameKey, LocalFrame, MAX_SCENE_PARTICLES, MeshMotion,
    MotionSource, PlaneShape, Scene, SceneCloth, SceneCollider, SceneError, Shape, Transform, Wind,
};
use crate::MeshFormat;
use crate::frames::cache_motion::is_mdd;
use crate::picture::{View, is_empty_convex};

/// Largest length and displacement of a scene \[m\]; beyond it `f32` has no millimetres left by far.
const MAX_LENGTH: f64 = 1e6;
const MIN_LENGTH: f64 = 1e-6;

/// Largest wind speed, per axis [m/s].
const MAX_WIND: f64 = 1000.0;

/// Largest rotation of a local space \[degrees\]: a hundred revolutions.
const MAX_ROTATION: f64 = 36_000.0;

/// Rejects the first field out of range.
pub(super) fn validate(scene: &Scene, source: &Source<'_>) -> Result<(), SceneError> {
    source.check_range("frames", scene.frames, [1.0, 1e6], "")?;
    source.check_range("frame_rate", shortest(scene.frame_rate), [0.1, 1e4], "1/s")?;
    if let Some(View { azimuth, elevation }) = scene.view {
        source.check_range("camera.azimuth", azimuth, View::AZIMUTHS, "degrees")?;
        source.check_range("camera.elevation", elevation, View::ELEVATIONS, "degrees")?;
    }
    scene
        .cloth_contact_solver
        .validate()
        .map_err(|error| source.model_error("cloth_contact_solver", &error))?;
    if scene.cloths.is_empty() {
        return Err(empty(source, "cloth", "[[cloth]]"));
    }
    let mut total: u128 = 0;
    let mut names = HashMap::new();
    for (index, cloth) in scene.cloths.iter().enumerate() {
        let field = format!("cloth[{index}]");
        validate_cloth(cloth, &field, source)?;
        if let Some(first) = names.insert(cloth.name.as_str(), index) {
            let (field, name) = (format!("{field}.name"), cloth.name.clone());
            return Err(SceneError::SameName { at: source.location(&field), field, name, first });
        }
        total += u128::from(shape_particle_count(&cloth.shape)) * u128::from(cloth.count);
        check_particles(
            source,
            &format!("{field}.count"),
            total,
            MAX_SCENE_PARTICLES,
            "per scene",
        )?;
    }
    for (index, collider) in scene.colliders.iter().enumerate() {
        validate_collider(collider, &scene.cloths, &format!("collider[{index}]"), source)?;
    }
    Ok(())
}

fn validate_cloth(cloth: &SceneCloth, field: &str, source: &Source<'_>) -> Result<(), SceneError> {
    let at = |name: &str| format!("{field}.{name}");
    validate_shape(&cloth.shape, field, source)?;
    validate_transform(&cloth.transform, &at("transform"), source)?;
    cloth.config.validate().map_err(|error| source.model_error(field, &error))?;
    if let Some(wind) = &cloth.wind {
        validate_wind(wind, &at("wind"), source)?;
        check_wind_is_felt(cloth, field, source)?;
    }
    if let Some(frame) = &cloth.frame {
        validate_frame(frame, &at("frame"), source)?;
    }
    cloth.fabric.validate().map_err(|error| source.cook_error(field, &error))?;
    source.check_range(&at("count"), cloth.count, [1.0, MAX_SCENE_PARTICLES as f64], "")?;
    source.check_vector(&at("spacing"), cloth.spacing, MAX_LENGTH, "m")?;
    let perturbation = shortest(cloth.perturbation);
    source.check_range(&at("perturbation"), perturbation, [0.0, 0.1], "")?;
    for (index, animated) in cloth.animated_pins.iter().enumerate() {
        validate_animation(animated, &at(&format!("animated_pins[{index}]")), source)?;
    }
    Ok(())
}

fn validate_transform(
    transform: &Transform,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    source.check_vector(&format!("{field}.translation"), transform.translation, MAX_LENGTH, "m")?;
    source.check_vector(&format!("{field}.rotation"), transform.rotation, 360.0, "degrees")?;
    source.check_range(&format!("{field}.scale"), shortest(transform.scale), [1e-6, 1e6], "")
}

/// Rejects a shape that cannot be made.
pub(super) fn validate_shape(
    shape: &Shape,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    let counts = |name: &str, value: u32, min: f64| {
        source.check_range(&format!("{field}.{name}"), value, [min, u32::MAX.into()], "")
    };
    let length = |name: &str, value: f32, min: f64| {
        source.check_range(&format!("{field}.{name}"), shortest(value), [min, MAX_LENGTH], "m")
    };
    let shape_name = match shape {
        Shape::Grid(grid) => {
            counts("grid.columns", grid.columns, 2.0)?;
            counts("grid.rows", grid.rows, 2.0)?;
            length("grid.width", grid.width, MIN_LENGTH)?;
            length("grid.height", grid.height, MIN_LENGTH)?;
            "grid"
        }
        Shape::Tube(tube) => {
            counts("tube.segments", tube.segments, 3.0)?;
            counts("tube.rings", tube.rings, 2.0)?;
            length("tube.top_radius", tube.top_radius, MIN_LENGTH)?;
            length("tube.bottom_radius", tube.bottom_radius, MIN_LENGTH)?;
            length("tube.height", tube.height, 0.0)?;
            source.check_range(
                &format!("{field}.tube.arc"),
                shortest(tube.arc),
                [1.0, 360.0],
                "degrees",
            )?;
            "tube"
        }
        Shape::Mesh(mesh) => {
            validate_mesh(mesh, &format!("{field}.mesh"), source)?;
            "mesh"
        }
    };
    let count = shape_particle_count(shape).into();
    check_particles(source, &format!("{field}.{shape_name}"), count, MAX_PARTICLES, "per cloth")
}

/// Particles of one copy; 0 for a mesh file, which is counted when it is read.
fn shape_particle_count(shape: &Shape) -> u64 {
    match shape {
        Shape::Grid(grid) => grid.particle_count(),
        Shape::Tube(tube) => tube.particle_count(),
        Shape::Mesh(_) => 0,
    }
}

/// Rejects more particles than `limit`.
pub(super) fn check_particles(
    source: &Source<'_>,
    field: &str,
    count: u128,
    limit: usize,
    scope: &'static str,
) -> Result<(), SceneError> {
    if count <= limit as u128 {
        return Ok(());
    }
    let at = source.location(field);
    Err(SceneError::TooManyParticles { at, field: field.into(), count, limit, scope })
}

fn validate_animation(
    animated: &AnimatedPins,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    if animated.pins.is_empty() {
        return Err(empty(source, &format!("{field}.pins"), "pin rule"));
    }
    if animated.keys.is_empty() {
        return Err(empty(source, &format!("{field}.keys"), "keyframe"));
    }
    for (index, key) in animated.keys.iter().enumerate() {
        let previous = index.checked_sub(1).map(|before| animated.keys[before].time);
        validate_key(
            &format!("{field}.keys[{index}]"),
            key.time,
            previous,
            key.translation,
            source,
        )?;
    }
    Ok(())
}

fn validate_key(
    field: &str,
    time: f32,
    previous: Option<f32>,
    translation: [f32; 3],
    source: &Source<'_>,
) -> Result<(), SceneError> {
    source.check_range(&format!("{field}.time"), shortest(time), [0.0, 1e6], "s")?;
    source.check_vector(&format!("{field}.translation"), translation, MAX_LENGTH, "m")?;
    match previous.filter(|&previous| previous >= time) {
        Some(previous) => Err(SceneError::KeyOrder {
            at: source.location(field),
            field: field.into(),
            time,
            previous,
        }),
        None => Ok(()),
    }
}

fn validate_frame(frame: &LocalFrame, field: &str, source: &Source<'_>) -> Result<(), SceneError> {
    if frame.keys.is_empty() {
        return Err(empty(source, &format!("{field}.keys"), "keyframe"));
    }
    validate_frame_keys(&frame.keys, field, source)
}

fn validate_frame_keys(
    keys: &[FrameKey],
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    for (index, key) in keys.iter().enumerate() {
        let field = format!("{field}.keys[{index}]");
        let previous = index.checked_sub(1).map(|before| keys[before].time);
        validate_key(&field, key.time, previous, key.translation, source)?;
        source.check_vector(&format!("{field}.rotation"), key.rotation, MAX_ROTATION, "degrees")?;
    }
    Ok(())
}

/// Rejects a collider out of range, or for a cloth that is not there.
pub(super) fn validate_collider(
    collider: &SceneCollider,
    cloths: &[SceneCloth],
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    validate_collider_shape(&collider.shape, field, source)?;
    if let Some(motion) = &collider.motion {
        validate_motion(motion, &collider.shape, field, source)?;
    }
    validate_transform(&collider.transform, &format!("{field}.transform"), source)?;
    validate_frame_keys(&collider.keys, field, source)?;
    let friction = shortest(collider.friction);
    source.check_range(&format!("{field}.friction"), friction, [0.0, 100.0], "")?;
    if collider.cloths.as_ref().is_some_and(Vec::is_empty) {
        return Err(empty(source, &format!("{field}.cloths"), "cloth"));
    }
    for (index, name) in collider.cloths.iter().flatten().enumerate() {
        if cloths.iter().all(|cloth| cloth.name != *name) {
            let known: Vec<String> = cloths.iter().map(|cloth| cloth.name.clone()).collect();
            let at = source.location(&format!("{field}.cloths[{index}]"));
            let (name, suggestion) = (name.as_str().into(), nearest(name, &known));
            return Err(SceneError::Unknown {
                at,
                kind: "cloth",
                name,
                table: "[[collider]]".into(),
                suggestion,
                known,
            });
        }
    }
    Ok(())
}

fn validate_collider_shape(
    shape: &ColliderShape,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    let at = |name: &str| format!("{field}.{name}");
    let length = |name: &str, value: f32| {
        source.check_range(&at(name), shortest(value), [MIN_LENGTH, MAX_LENGTH], "m")
    };
    let position =
        |name: &str, value: [f32; 3]| source.check_vector(&at(name), value, MAX_LENGTH, "m");
    match shape {
        ColliderShape::Sphere(sphere) => {
            length("sphere.radius", sphere.radius)?;
            position("sphere.center", sphere.center)
        }
        ColliderShape::Capsule(capsule) => {
            let is_even = capsule.radii[0] == capsule.radii[1];
            let radii = if is_even { "capsule.radius" } else { "capsule.radii" };
            capsule.radii.iter().try_for_each(|&radius| length(radii, radius))?;
            position("capsule.from", capsule.from)?;
            position("capsule.to", capsule.to)
        }
        ColliderShape::Plane(plane) => validate_plane(plane, &at("plane"), source),
        ColliderShape::Box(shape) => {
            shape.size.iter().try_for_each(|&side| length("box.size", side))?;
            position("box.center", shape.center)
        }
        ColliderShape::Cylinder(shape) => {
            length("cylinder.height", shape.height)?;
            length("cylinder.radius", shape.radius)?;
            let top = shortest(shape.top_radius.unwrap_or(0.0));
            source.check_range(&at("cylinder.top_radius"), top, [0.0, MAX_LENGTH], "m")?;
            source.check_range(&at("cylinder.sides"), shape.sides, [3.0, 1024.0], "")?;
            position("cylinder.center", shape.center)
        }
        ColliderShape::Convex(planes) if planes.is_empty() => {
            Err(empty(source, &at("convex.planes"), "plane"))
        }
        ColliderShape::Convex(planes) => {
            let check = |(index, plane)| {
                validate_plane(plane, &at(&format!("convex.planes[{index}]")), source)
            };
            planes.iter().enumerate().try_for_each(check)?;
            let (field, count) = (at("convex.planes"), planes.len());
            if is_empty_convex(&planes.iter().map(plane).collect::<Vec<_>>()) {
                return Err(SceneError::EmptyConvex { at: source.location(&field), field, count });
            }
            Ok(())
        }
        ColliderShape::Mesh(mesh) => validate_mesh(mesh, &at("mesh"), source),
    }
}

/// Rejects a motion of a mesh that is out of range, or whose file is of another kind.
fn validate_motion(
    motion: &MeshMotion,
    shape: &ColliderShape,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    let lone = |key: &str, needed| {
        let field = format!("{field}.{key}");
        SceneError::Lone { at: source.location(&field), field, needed }
    };
    let ColliderShape::Mesh(mesh) = shape else {
        return Err(lone("mesh", "what moves it"));
    };
    match &motion.source {
        MotionSource::Animation(_) => {
            let is_gltf =
                MeshFormat::of(mesh).is_some_and(|it| ["gltf", "glb"].contains(&it.extension));
            if !is_gltf {
                return Err(lone("animation", "a `mesh` in glTF or GLB"));
            }
        }
        MotionSource::Cache { path, rate } => {
            let at_cache = format!("{field}.cache");
            validate_mesh(path, &at_cache, source)?;
            match is_mdd(path) {
                None => return Err(lone("cache", "a file named *.pc2 or *.mdd")),
                Some(true) if source.states(&format!("{field}.cache_rate")) => {
                    return Err(lone("cache_rate", "a cache in PC2; MDD has seconds"));
                }
                Some(_) => {}
            }
            let at_rate = format!("{field}.cache_rate");
            source.check_range(&at_rate, shortest(*rate), [0.1, 1e4], "1/s")?;
        }
    }
    if let Some(start) = motion.start {
        source.check_range(&format!("{field}.start"), shortest(start), [-1e6, 1e6], "s")?;
    }
    source.check_range(&format!("{field}.speed"), shortest(motion.speed), [1e-3, 1e3], "")
}

fn validate_plane(plane: &PlaneShape, field: &str, source: &Source<'_>) -> Result<(), SceneError> {
    let at_normal = format!("{field}.normal");
    source.check_vector(&at_normal, plane.normal, MAX_LENGTH, "")?;
    source.check_range(
        &format!("{field}.offset"),
        shortest(plane.offset),
        [-MAX_LENGTH, MAX_LENGTH],
        "m",
    )?;
    if plane.normal == [0.0; 3] {
        return Err(SceneError::NoNormal {
            at: source.location(&at_normal),
            field: at_normal,
            normal: plane.normal,
        });
    }
    Ok(())
}

fn validate_mesh(mesh: &Path, field: &str, source: &Source<'_>) -> Result<(), SceneError> {
    if mesh.is_file() {
        return Ok(());
    }
    Err(SceneError::MissingMesh {
        at: source.location(field),
        field: field.into(),
        mesh: mesh.into(),
    })
}

/// Rejects a wind out of range.
pub(super) fn validate_wind(
    wind: &Wind,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    let gust = &wind.gust;
    let at = |name: &str| format!("{field}.{name}");
    source.check_vector(&at("velocity"), wind.velocity, MAX_WIND, "m/s")?;
    source.check_range(&at("gust.strength"), shortest(gust.strength), [0.0, MAX_WIND], "m/s")?;
    source.check_range(&at("gust.period"), shortest(gust.period), [0.01, 1e6], "s")?;
    source.check_range(
        &at("gust.direction_spread"),
        shortest(gust.direction_spread),
        [0.0, 1.0],
        "",
    )
}

/// Rejects two winds, warns of one that does nothing.
fn check_wind_is_felt(
    cloth: &SceneCloth,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    let config = &cloth.config;
    if config.air.wind_velocity != [0.0; 3] {
        let field = format!("{field}.air.wind_velocity");
        return Err(SceneError::TwoWinds { at: source.location(&field), field });
    }
    Ok(())
}

fn empty(source: &Source<'_>, field: &str, needed: &'static str) -> SceneError {
    let at = source.location(field);
    SceneError::Empty { at, field: field.into(), needed }
}
