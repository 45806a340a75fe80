//! Range checks of scenes.

mod collider;
mod every_error;

use std::collections::HashMap;
use std::path::Path;

use poplin_cook::CookOptions;
use poplin_geometry::wide;
use poplin_model::{ClothConfig, ClothContactSolver, MAX_BODIES, MAX_PARTICLES};

pub(super) use self::collider::validate_collider;
use self::every_error::{cook_field, each_error, model_field};
use super::locate::{Source, shortest};
use super::{
    AnimatedPins, ColliderShape, FrameKey, LocalFrame, MAX_SCENE_PARTICLES, Scene,
    SceneAcceleration, SceneCloth, SceneCollider, SceneError, SceneSpheres, Shape, Transform, Wind,
};
use poplin_model::View;

/// Maximum length and displacement of a scene \[m\]; beyond it, `f32` cannot resolve millimetres.
pub(crate) const MAX_LENGTH: f64 = 1e6;
pub(crate) const MIN_LENGTH: f64 = 1e-6;

/// Maximum wind speed, per axis [m/s].
const MAX_WIND: f64 = 1000.0;

/// Maximum speed of a rigid body, or of a cloth at the start, per axis [m/s].
const MAX_SPEED: f64 = 1e4;

/// Maximum acceleration, per axis [m/s^2].
const MAX_ACCELERATION: f64 = 1e6;

/// Maximum rotation of a local space \[degrees\], and maximum rotation per second: a hundred
/// revolutions.
const MAX_ROTATION: f64 = 36_000.0;

/// Limit of a collider's spin within a frame [degrees]: half a turn is the same either way.
const MAX_TURN: f64 = 179.0;

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
        // u128: counts of many copies overflow u64.
        if own <= MAX_PARTICLES as u64 {
            total += u128::from(own) * u128::from(cloth.count);
        }
        check_particles(source, &format!("{field}.count"), total, MAX_SCENE_PARTICLES, "per scene");
    }
    refuse_bodies_beside_others(scene, source);
    validate_spins(scene, source);
}

/// Reports colliders that turn too far within a frame.
pub(super) fn validate_spins(scene: &Scene, source: &Source<'_>) {
    for (index, collider) in scene.colliders.iter().enumerate() {
        let field = format!("collider[{index}].spin");
        // Within a frame colliders turn by the smaller angle.
        let limit = MAX_TURN * f64::from(scene.frame_rate);
        source.check_range(&field, wide(collider.spin).length(), [0.0, limit], "degrees/s");
    }
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
    // The first body beyond the limit.
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
    if cloth.fabric.masses.is_some() && source.states(&at("density")) {
        let field = at("density");
        let needed = "a cloth without `fabric.masses`, which state every mass";
        source.refuse(SceneError::Lone { at: source.location(&field), field, needed });
    }
    source.check_range(&at("count"), cloth.count, [1.0, MAX_SCENE_PARTICLES as f64], "");
    source.check_vector(&at("spacing"), cloth.spacing, MAX_LENGTH, "m");
    source.check_vector(&at("velocity"), cloth.velocity, MAX_SPEED, "m/s");
    source.check_vector(&at("angular_velocity"), cloth.angular_velocity, MAX_ROTATION, "degrees/s");
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
    AnimatedPins { pins, pivot, keys, release }: &AnimatedPins,
    field: &str,
    source: &Source<'_>,
) {
    if pins.is_empty() {
        source.refuse(empty(source, &format!("{field}.pins"), "pin rule"));
    }
    if let Some(pivot) = *pivot {
        source.check_vector(&format!("{field}.pivot"), pivot, MAX_LENGTH, "m");
    }
    match release {
        None if keys.is_empty() => {
            source.refuse(empty(source, &format!("{field}.keys"), "keyframe"));
        }
        None => {}
        Some(release) => {
            let field = format!("{field}.release");
            source.check_range(&field, shortest(*release), [0.0, 1e6], "s");
        }
    }
    validate_frame_keys(keys, field, source);
}

fn validate_spheres(spheres: &SceneSpheres, field: &str, source: &Source<'_>) {
    let SceneSpheres { vertices, radii, offset, .. } = spheres;
    if vertices.is_empty() {
        source.refuse(empty(source, &format!("{field}.vertices"), "rule"));
    }
    // Errors name the key that the file has.
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
    // A constant acceleration has no keys in the file to point at.
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

pub(crate) fn validate_mesh(mesh: &Path, field: &str, source: &Source<'_>) {
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

pub(crate) fn empty(source: &Source<'_>, field: &str, needed: &'static str) -> SceneError {
    let at = source.location(field);
    SceneError::Empty { at, field: field.into(), needed }
}
