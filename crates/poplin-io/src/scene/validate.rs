//! Range checks of scenes.

use std::collections::HashMap;
use std::path::Path;

use poplin_cook::{CookError, CookOptions};
use poplin_model::{ClothConfig, ClothContactSolver, MAX_BODIES, MAX_PARTICLES, ModelError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::build_collider::plane;
use super::file::nearest;
use super::locate::{Source, shortest};
use super::{
    AnimatedPins, ColliderShape, FrameKey, LocalFrame, MAX_SCENE_PARTICLES, MeshMotion,
    MotionSource, PlaneShape, Scene, SceneAcceleration, SceneBody, SceneCloth, SceneCollider,
    SceneError, SceneSpheres, Shape, Transform, Wind,
};
use crate::MeshFormat;
use crate::frames::cache_motion::is_mdd;
use crate::picture::{View, is_empty_convex};

/// Maximum length and displacement of a scene \[m\]; beyond it, `f32` cannot resolve millimetres.
const MAX_LENGTH: f64 = 1e6;
const MIN_LENGTH: f64 = 1e-6;

/// Maximum wind speed, per axis [m/s].
const MAX_WIND: f64 = 1000.0;

/// Maximum speed of a rigid body, per axis [m/s].
const MAX_SPEED: f64 = 1e4;

/// Maximum acceleration, per axis [m/s^2].
const MAX_ACCELERATION: f64 = 1e6;

/// Maximum rotation of a local space \[degrees\]: a hundred revolutions.
const MAX_ROTATION: f64 = 36_000.0;

/// Reports values out of range at the top of a scene, and faults across cloths and colliders.
pub(super) fn validate(scene: &Scene, source: &Source<'_>) {
    source.check_range("frames", scene.frames, [1.0, 1e6], "");
    source.check_range("frame_rate", shortest(scene.frame_rate), [0.1, 1e4], "1/s");
    if let Some(View { azimuth, elevation }) = scene.view {
        source.check_range("camera.azimuth", azimuth, View::AZIMUTHS, "degrees");
        source.check_range("camera.elevation", elevation, View::ELEVATIONS, "degrees");
    }
    let table = "cloth_contact_solver";
    each_error(&scene.cloth_contact_solver, ClothContactSolver::validate, model_field, |error| {
        source.refuse(source.model_error(table, error));
    });
    if scene.cloths.is_empty() {
        source.refuse(empty(source, "cloth", "[[cloth]]"));
    }
    let mut total: u128 = 0;
    let mut names = HashMap::new();
    for (index, cloth) in scene.cloths.iter().enumerate() {
        let field = format!("cloth[{index}]");
        if let Some(first) = names.insert(cloth.name.as_str(), index) {
            let (field, name) = (format!("{field}.name"), cloth.name.clone());
            source.refuse(SceneError::SameName { at: source.location(&field), field, name, first });
        }
        // A cloth that is too large by itself is reported elsewhere.
        let own = shape_particle_count(&cloth.shape);
        if own <= MAX_PARTICLES as u64 {
            total += u128::from(own) * u128::from(cloth.count);
        }
        check_particles(source, &format!("{field}.count"), total, MAX_SCENE_PARTICLES, "per scene");
    }
    refuse_bodies_beside_others(scene, source);
}

/// Reports rigid bodies beyond the limit, and mesh bodies beside another mesh: a cloth collides
/// with all its meshes at once.
fn refuse_bodies_beside_others(scene: &Scene, source: &Source<'_>) {
    let refuse = |index: usize, reason| {
        let field = format!("collider[{index}].body");
        source.refuse(SceneError::Body { at: source.location(&field), field, reason });
    };
    let all = scene.colliders.iter().enumerate();
    let bodies = all.clone().filter(|(_, collider)| collider.body.is_some());
    if let Some((index, _)) = bodies.clone().nth(MAX_BODIES) {
        refuse(index, "exceeds the limit of 256 rigid bodies");
    }
    let is_mesh = |collider: &SceneCollider| matches!(collider.shape, ColliderShape::Mesh(_));
    let meshes = all.filter(|(_, collider)| is_mesh(collider));
    for (index, body) in bodies.filter(|(_, collider)| is_mesh(collider)) {
        let meets_both = |other: &SceneCollider| {
            let meets =
                |cloth: &SceneCloth| body.acts_on(&cloth.name) && other.acts_on(&cloth.name);
            scene.cloths.iter().any(meets)
        };
        if meshes.clone().any(|(other, collider)| other != index && meets_both(collider)) {
            refuse(
                index,
                "is a mesh, and a cloth that it acts on has another mesh collider: give one of them different `cloths`, \
                 or a shape that is not a mesh",
            );
        }
    }
}

/// Reports values out of range in a cloth.
pub(super) fn validate_cloth(cloth: &SceneCloth, field: &str, source: &Source<'_>) {
    let at = |name: &str| format!("{field}.{name}");
    validate_shape(&cloth.shape, field, source);
    validate_transform(&cloth.transform, &at("transform"), source);
    each_error(&cloth.config, ClothConfig::validate, model_field, |error| {
        source.refuse(source.model_error(field, error));
    });
    if let Some(wind) = &cloth.wind {
        // The wind of the scene is checked once, at the top.
        if source.states(&at("wind")) {
            validate_wind(wind, &at("wind"), source);
        }
        refuse_second_wind(cloth, field, source);
    }
    if let Some(frame) = &cloth.frame {
        validate_frame(frame, &at("frame"), source);
    }
    each_error(&cloth.fabric, CookOptions::validate, cook_field, |error| {
        source.refuse(source.cook_error(field, error));
    });
    source.check_range(&at("count"), cloth.count, [1.0, MAX_SCENE_PARTICLES as f64], "");
    source.check_vector(&at("spacing"), cloth.spacing, MAX_LENGTH, "m");
    let perturbation = shortest(cloth.perturbation);
    source.check_range(&at("perturbation"), perturbation, [0.0, 0.1], "");
    for (index, animated) in cloth.animated_pins.iter().enumerate() {
        validate_animation(animated, &at(&format!("animated_pins[{index}]")), source);
    }
    for (index, spheres) in cloth.motion_spheres.iter().enumerate() {
        validate_spheres(spheres, &at(&format!("motion_spheres[{index}]")), source);
    }
    for (index, spheres) in cloth.separation_spheres.iter().enumerate() {
        validate_spheres(spheres, &at(&format!("separation_spheres[{index}]")), source);
    }
    for (index, pull) in cloth.accelerations.iter().enumerate() {
        validate_acceleration(pull, &at(&format!("accelerations[{index}]")), source);
    }
}

/// Reports every error of a value, not only the first: each faulty field is reset, and the rest is
/// checked again. `field` returns the field that an error is about and its value.
fn each_error<T: Serialize + DeserializeOwned, E>(
    value: &T,
    validate: impl Fn(&T) -> Result<(), E>,
    field: impl Fn(&E) -> Option<(String, f64)>,
    mut refuse: impl FnMut(&E),
) {
    let mut mended: Option<T> = None;
    let mut known = Vec::new();
    while let Err(error) = validate(mended.as_ref().unwrap_or(value)) {
        refuse(&error);
        let found = field(&error).map(|(name, value)| (name, value.to_bits()));
        let Some(found) = found.filter(|found| !known.contains(found)) else { return };
        mended = without(mended.as_ref().unwrap_or(value), &found.0, f64::from_bits(found.1));
        if mended.is_none() {
            return;
        }
        known.push(found);
    }
}

/// Returns a value with one of its fields, `air.drag`, reset to its default. A faulty list entry,
/// either stated, `damping[1]`, or found by its value `bad`, becomes 0.
fn without<T: Serialize + DeserializeOwned>(value: &T, field: &str, bad: f64) -> Option<T> {
    let mut whole = Table::try_from(value).ok()?;
    let (field, index) = match field.split_once('[') {
        Some((field, rest)) => (field, Some(rest.strip_suffix(']')?.parse::<usize>().ok()?)),
        None => (field, None),
    };
    let (tables, key) = field.rsplit_once('.').unwrap_or(("", field));
    let mut table = &mut whole;
    for name in tables.split('.').filter(|name| !name.is_empty()) {
        table = table.get_mut(name)?.as_table_mut()?;
    }
    let is_bad = |item: &Value| {
        item.as_float().is_some_and(|it| it as f32 == bad as f32 || it.is_nan() && bad.is_nan())
    };
    match (table.get_mut(key)?, index) {
        (Value::Array(items), Some(index)) => *items.get_mut(index)? = Value::Float(0.0),
        (Value::Array(items), None) if items.iter().any(is_bad) => {
            items.iter_mut().filter(|item| is_bad(item)).for_each(|it| *it = Value::Float(0.0));
        }
        _ => drop(table.remove(key)),
    }
    whole.try_into().ok()
}

/// Returns the field that an error of the model is about and its value, if it has one.
fn model_field(error: &ModelError) -> Option<(String, f64)> {
    match error {
        ModelError::OutOfRange { field: name, value, .. }
        | ModelError::NotFinite { what: name, value, .. } => Some((name.clone(), (*value).into())),
        _ => None,
    }
}

/// Returns the option that an error of cooking is about and its value, if it has one.
fn cook_field(error: &CookError) -> Option<(String, f64)> {
    match error {
        CookError::OptionOutOfRange { field, value, .. } => Some(((*field).to_owned(), *value)),
        CookError::EntryOutOfRange { field, index, value, .. } => {
            Some((format!("{field}[{index}]"), (*value).into()))
        }
        _ => None,
    }
}

fn validate_transform(transform: &Transform, field: &str, source: &Source<'_>) {
    source.check_vector(&format!("{field}.translation"), transform.translation, MAX_LENGTH, "m");
    source.check_vector(&format!("{field}.rotation"), transform.rotation, 360.0, "degrees");
    source.check_range(&format!("{field}.scale"), shortest(transform.scale), [1e-6, 1e6], "")
}

/// Reports a shape that cannot be built.
pub(super) fn validate_shape(shape: &Shape, field: &str, source: &Source<'_>) {
    let counts = |name: &str, value: u32, min: f64| {
        source.check_range(&format!("{field}.{name}"), value, [min, u32::MAX.into()], "")
    };
    let length = |name: &str, value: f32, min: f64| {
        source.check_range(&format!("{field}.{name}"), shortest(value), [min, MAX_LENGTH], "m")
    };
    let shape_name = match shape {
        Shape::Grid(grid) => {
            counts("grid.columns", grid.columns, 2.0);
            counts("grid.rows", grid.rows, 2.0);
            length("grid.width", grid.width, MIN_LENGTH);
            length("grid.height", grid.height, MIN_LENGTH);
            "grid"
        }
        Shape::Tube(tube) => {
            counts("tube.segments", tube.segments, 3.0);
            counts("tube.rings", tube.rings, 2.0);
            length("tube.top_radius", tube.top_radius, MIN_LENGTH);
            length("tube.bottom_radius", tube.bottom_radius, MIN_LENGTH);
            length("tube.height", tube.height, 0.0);
            source.check_range(
                &format!("{field}.tube.arc"),
                shortest(tube.arc),
                [1.0, 360.0],
                "degrees",
            );
            "tube"
        }
        Shape::Mesh(mesh) => {
            validate_mesh(mesh, &format!("{field}.mesh"), source);
            "mesh"
        }
    };
    let count = shape_particle_count(shape).into();
    check_particles(source, &format!("{field}.{shape_name}"), count, MAX_PARTICLES, "per cloth")
}

/// Number of particles of one copy; 0 for a mesh file, whose particles are counted when it is read.
fn shape_particle_count(shape: &Shape) -> u64 {
    match shape {
        Shape::Grid(grid) => grid.particle_count(),
        Shape::Tube(tube) => tube.particle_count(),
        Shape::Mesh(_) => 0,
    }
}

/// Reports more particles than `limit`.
pub(super) fn check_particles(
    source: &Source<'_>,
    field: &str,
    count: u128,
    limit: usize,
    scope: &'static str,
) {
    if count <= limit as u128 {
        return;
    }
    let at = source.location(field);
    source.refuse(SceneError::TooManyParticles { at, field: field.into(), count, limit, scope });
}

fn validate_animation(
    AnimatedPins { pins, pivot, keys }: &AnimatedPins,
    field: &str,
    source: &Source<'_>,
) {
    if pins.is_empty() {
        source.refuse(empty(source, &format!("{field}.pins"), "pin rule"));
    }
    if let Some(pivot) = *pivot {
        source.check_vector(&format!("{field}.pivot"), pivot, MAX_LENGTH, "m");
    }
    if keys.is_empty() {
        source.refuse(empty(source, &format!("{field}.keys"), "keyframe"));
    }
    validate_frame_keys(keys, field, source);
}

fn validate_spheres(spheres: &SceneSpheres, field: &str, source: &Source<'_>) {
    let SceneSpheres { vertices, radii, offset, .. } = spheres;
    if vertices.is_empty() {
        source.refuse(empty(source, &format!("{field}.vertices"), "rule"));
    }
    let name = if source.states(&format!("{field}.radii")) { "radii" } else { "radius" };
    for radius in *radii {
        source.check_range(&format!("{field}.{name}"), shortest(radius), [0.0, MAX_LENGTH], "m");
    }
    let offsets = [-MAX_LENGTH, MAX_LENGTH];
    source.check_range(&format!("{field}.offset"), shortest(*offset), offsets, "m");
}

fn validate_acceleration(pull: &SceneAcceleration, field: &str, source: &Source<'_>) {
    let SceneAcceleration { vertices, keys } = pull;
    if vertices.is_empty() {
        source.refuse(empty(source, &format!("{field}.vertices"), "rule"));
    }
    if keys.is_empty() {
        source.refuse(empty(source, &format!("{field}.keys"), "keyframe"));
    }
    let is_steady = source.states(&format!("{field}.acceleration"));
    for (index, key) in keys.iter().enumerate() {
        let previous = index.checked_sub(1).map(|before| keys[before].time);
        let key_field = format!("{field}.keys[{index}]");
        validate_time(&key_field, key.time, previous, source);
        let name = if is_steady { field } else { &key_field };
        let name = format!("{name}.acceleration");
        source.check_vector(&name, key.acceleration, MAX_ACCELERATION, "m/s^2");
    }
}

fn validate_time(field: &str, time: f32, previous: Option<f32>, source: &Source<'_>) {
    source.check_range(&format!("{field}.time"), shortest(time), [0.0, 1e6], "s");
    if let Some(previous) = previous.filter(|&previous| previous >= time) {
        let at = source.location(field);
        source.refuse(SceneError::KeyOrder { at, field: field.into(), time, previous });
    }
}

fn validate_frame(frame: &LocalFrame, field: &str, source: &Source<'_>) {
    if frame.keys.is_empty() {
        source.refuse(empty(source, &format!("{field}.keys"), "keyframe"));
    }
    validate_frame_keys(&frame.keys, field, source);
}

fn validate_frame_keys(keys: &[FrameKey], field: &str, source: &Source<'_>) {
    for (index, key) in keys.iter().enumerate() {
        let field = format!("{field}.keys[{index}]");
        let previous = index.checked_sub(1).map(|before| keys[before].time);
        validate_time(&field, key.time, previous, source);
        source.check_vector(&format!("{field}.translation"), key.translation, MAX_LENGTH, "m");
        source.check_vector(&format!("{field}.rotation"), key.rotation, MAX_ROTATION, "degrees");
    }
}

fn validate_body(body: &SceneBody, collider: &SceneCollider, field: &str, source: &Source<'_>) {
    let at = |name: &str| format!("{field}.body.{name}");
    source.check_range(&at("mass"), shortest(body.mass), [1e-9, 1e9], "kg");
    for moment in body.inertia.into_iter().flatten() {
        source.check_range(&at("inertia"), shortest(moment), [1e-15, 1e15], "kg m^2");
    }
    if let Some(center) = body.center {
        source.check_vector(&at("center"), center, MAX_LENGTH, "m");
    }
    source.check_vector(&at("velocity"), body.velocity, MAX_SPEED, "m/s");
    let spin = body.angular_velocity;
    source.check_vector(&at("angular_velocity"), spin, MAX_ROTATION, "degrees/s");
    source.check_vector(&at("gravity"), body.gravity, MAX_ACCELERATION, "m/s^2");
    source.check_range(&at("restitution"), shortest(body.restitution), [0.0, 1.0], "");
    let reason = match &collider.shape {
        _ if !collider.keys.is_empty() => {
            Some("cannot have `keys` beside it: cloths and gravity move a rigid body")
        }
        _ if collider.motion.is_some() => {
            Some("cannot have `animation` or `cache` beside it: a rigid body keeps its shape")
        }
        ColliderShape::Plane(_) => Some("needs a shape with a volume; a plane is unbounded"),
        ColliderShape::Mesh(_) if collider.is_open => {
            Some("needs a shape with a volume; an `open` mesh has none")
        }
        _ => None,
    };
    if let Some(reason) = reason {
        let field = format!("{field}.body");
        let at = source.location(&field);
        source.refuse(SceneError::Body { at, field, reason });
    }
}

/// Reports a collider out of range, or with an unknown cloth.
pub(super) fn validate_collider(
    collider: &SceneCollider,
    cloths: &[SceneCloth],
    field: &str,
    source: &Source<'_>,
) {
    validate_collider_shape(&collider.shape, field, source);
    if let Some(motion) = &collider.motion {
        validate_motion(motion, &collider.shape, field, source);
    }
    validate_transform(&collider.transform, &format!("{field}.transform"), source);
    validate_frame_keys(&collider.keys, field, source);
    if let Some(body) = &collider.body {
        validate_body(body, collider, field, source);
    }
    let friction = shortest(collider.friction);
    source.check_range(&format!("{field}.friction"), friction, [0.0, 100.0], "");
    if collider.cloths.as_ref().is_some_and(Vec::is_empty) {
        source.refuse(empty(source, &format!("{field}.cloths"), "cloth"));
    }
    for (index, name) in collider.cloths.iter().flatten().enumerate() {
        if cloths.iter().all(|cloth| cloth.name != *name) {
            let known: Vec<String> = cloths.iter().map(|cloth| cloth.name.clone()).collect();
            let at = source.location(&format!("{field}.cloths[{index}]"));
            let (name, suggestion) = (name.as_str().into(), nearest(name, &known));
            source.refuse(SceneError::Unknown {
                at,
                kind: "cloth",
                name,
                table: "[[collider]]".into(),
                suggestion,
                known,
            });
        }
    }
}

fn validate_collider_shape(shape: &ColliderShape, field: &str, source: &Source<'_>) {
    let at = |name: &str| format!("{field}.{name}");
    let length = |name: &str, value: f32| {
        source.check_range(&at(name), shortest(value), [MIN_LENGTH, MAX_LENGTH], "m")
    };
    let position =
        |name: &str, value: [f32; 3]| source.check_vector(&at(name), value, MAX_LENGTH, "m");
    match shape {
        ColliderShape::Sphere(sphere) => {
            length("sphere.radius", sphere.radius);
            position("sphere.center", sphere.center);
        }
        ColliderShape::Capsule(capsule) => {
            let is_even = capsule.radii[0] == capsule.radii[1];
            let radii = if is_even { "capsule.radius" } else { "capsule.radii" };
            capsule.radii.iter().for_each(|&radius| length(radii, radius));
            position("capsule.from", capsule.from);
            position("capsule.to", capsule.to);
        }
        ColliderShape::Plane(plane) => validate_plane(plane, &at("plane"), source),
        ColliderShape::Box(shape) => {
            shape.size.iter().for_each(|&side| length("box.size", side));
            position("box.center", shape.center);
        }
        ColliderShape::Cylinder(shape) => {
            length("cylinder.height", shape.height);
            length("cylinder.radius", shape.radius);
            let top = shortest(shape.top_radius.unwrap_or(0.0));
            source.check_range(&at("cylinder.top_radius"), top, [0.0, MAX_LENGTH], "m");
            source.check_range(&at("cylinder.sides"), shape.sides, [3.0, 1024.0], "");
            position("cylinder.center", shape.center);
        }
        ColliderShape::Convex(planes) if planes.is_empty() => {
            source.refuse(empty(source, &at("convex.planes"), "plane"));
        }
        ColliderShape::Convex(planes) => {
            let before = source.fault_count();
            for (index, plane) in planes.iter().enumerate() {
                validate_plane(plane, &at(&format!("convex.planes[{index}]")), source);
            }
            let (field, count) = (at("convex.planes"), planes.len());
            let are_planes = source.fault_count() == before;
            if are_planes && is_empty_convex(&planes.iter().map(plane).collect::<Vec<_>>()) {
                let at = source.location(&field);
                source.refuse(SceneError::EmptyConvex { at, field, count });
            }
        }
        ColliderShape::Mesh(mesh) => validate_mesh(mesh, &at("mesh"), source),
    }
}

/// Reports a mesh motion that is out of range, or whose file has the wrong type.
fn validate_motion(motion: &MeshMotion, shape: &ColliderShape, field: &str, source: &Source<'_>) {
    let lone = |key: &str, needed| {
        let field = format!("{field}.{key}");
        source.refuse(SceneError::Lone { at: source.location(&field), field, needed });
    };
    let ColliderShape::Mesh(mesh) = shape else {
        return lone("mesh", "the file with its motion");
    };
    match &motion.source {
        MotionSource::Animation(_) => {
            if !MeshFormat::of(mesh).is_some_and(MeshFormat::is_gltf) {
                lone("animation", "a `mesh` in glTF or GLB");
            }
        }
        MotionSource::Cache { path, rate } => {
            let at_cache = format!("{field}.cache");
            validate_mesh(path, &at_cache, source);
            match is_mdd(path) {
                None => lone("cache", "a file named *.pc2 or *.mdd"),
                Some(true) if source.states(&format!("{field}.cache_rate")) => {
                    lone("cache_rate", "a PC2 cache; MDD stores times in seconds");
                }
                Some(_) => {}
            }
            let at_rate = format!("{field}.cache_rate");
            source.check_range(&at_rate, shortest(*rate), [0.1, 1e4], "1/s");
        }
    }
    if let Some(start) = motion.start {
        source.check_range(&format!("{field}.start"), shortest(start), [-1e6, 1e6], "s");
    }
    source.check_range(&format!("{field}.speed"), shortest(motion.speed), [1e-3, 1e3], "");
}

fn validate_plane(plane: &PlaneShape, field: &str, source: &Source<'_>) {
    let at_normal = format!("{field}.normal");
    source.check_vector(&at_normal, plane.normal, MAX_LENGTH, "");
    source.check_range(
        &format!("{field}.offset"),
        shortest(plane.offset),
        [-MAX_LENGTH, MAX_LENGTH],
        "m",
    );
    if plane.normal == [0.0; 3] {
        source.refuse(SceneError::NoNormal {
            at: source.location(&at_normal),
            field: at_normal,
            normal: plane.normal,
        });
    }
}

fn validate_mesh(mesh: &Path, field: &str, source: &Source<'_>) {
    if !mesh.is_file() {
        let at = source.location(field);
        source.refuse(SceneError::MissingMesh { at, field: field.into(), mesh: mesh.into() });
    }
}

/// Reports a wind out of range.
pub(super) fn validate_wind(wind: &Wind, field: &str, source: &Source<'_>) {
    let gust = &wind.gust;
    let at = |name: &str| format!("{field}.{name}");
    source.check_vector(&at("velocity"), wind.velocity, MAX_WIND, "m/s");
    source.check_range(&at("gust.strength"), shortest(gust.strength), [0.0, MAX_WIND], "m/s");
    source.check_range(&at("gust.period"), shortest(gust.period), [0.01, 1e6], "s");
    source.check_range(
        &at("gust.direction_spread"),
        shortest(gust.direction_spread),
        [0.0, 1.0],
        "",
    );
}

/// Reports a wind beside a wind velocity of the settings.
fn refuse_second_wind(cloth: &SceneCloth, field: &str, source: &Source<'_>) {
    let config = &cloth.config;
    if config.air.wind_velocity != [0.0; 3] {
        let field = format!("{field}.air.wind_velocity");
        source.refuse(SceneError::TwoWinds { at: source.location(&field), field });
    }
}

fn empty(source: &Source<'_>, field: &str, needed: &'static str) -> SceneError {
    let at = source.location(field);
    SceneError::Empty { at, field: field.into(), needed }
}
