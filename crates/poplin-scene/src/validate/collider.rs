//! Range checks of colliders and rigid bodies.

use super::{
    MAX_ACCELERATION, MAX_LENGTH, MAX_ROTATION, MAX_SPEED, empty, validate_frame_keys,
    validate_mesh, validate_transform,
};
use crate::file::nearest;
use crate::locate::{Source, shortest};
use crate::{
    ColliderShape, MeshMotion, MotionSource, SceneBody, SceneCloth, SceneCollider, SceneError,
};
use poplin_geometry::wide;
use poplin_io::CacheMotion;
use poplin_io::MeshFormat;

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
    source.check_range(&at("force"), shortest(body.force), [-1e9, 1e9], "N");
    source.check_range(&at("max_speed"), shortest(body.max_speed), [1e-6, MAX_SPEED], "m/s");
    if let Some(axis) = body.axis {
        source.check_vector(&at("axis"), axis, MAX_LENGTH, "");
    }
    let is_turned = body.angular_velocity != [0.0; 3] || body.inertia.is_some();
    let reason = match &collider.shape {
        _ if body.axis == Some([0.0; 3]) => Some("needs an `axis` longer than 0"),
        _ if body.axis.is_none() && body.force != 0.0 => {
            Some("needs an `axis`, along which `force` acts")
        }
        _ if body.axis.is_some() && is_turned => {
            Some("cannot have `inertia` or `angular_velocity` on an `axis`: it does not rotate")
        }
        _ if body.axis.is_some_and(|axis| is_across(body.velocity, axis)) => {
            Some("cannot have a `velocity` across its `axis`, along which it moves")
        }
        _ if body.inertia.is_some_and(is_impossible) => {
            Some("needs moments of `inertia` of which none is larger than the sum of the other two")
        }
        _ if !collider.keys.is_empty() || collider.spin != [0.0; 3] => {
            Some("cannot have `keys` or `spin` beside it: cloths and gravity move a rigid body")
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

/// Tests whether a velocity has a part across an axis.
fn is_across(velocity: [f32; 3], axis: [f32; 3]) -> bool {
    let (velocity, axis) = (wide(velocity), wide(axis));
    velocity.cross(axis).length() > 1e-5 * velocity.length() * axis.length()
}

/// Tests whether no body has these moments of inertia.
fn is_impossible(moments: [f32; 3]) -> bool {
    let sum: f32 = moments.iter().sum();
    moments.iter().any(|&moment| moment > (sum - moment) * 1.001)
}

/// Reports a spin out of range or without its pivot, and a pivot that turns nothing.
fn validate_spin(collider: &SceneCollider, field: &str, source: &Source<'_>) {
    let at = |name: &str| format!("{field}.{name}");
    source.check_vector(&at("pivot"), collider.pivot, MAX_LENGTH, "m");
    source.check_vector(&at("spin"), collider.spin, MAX_ROTATION, "degrees/s");
    let lone = |key: &str, needed| {
        let field = at(key);
        source.refuse(SceneError::Lone { at: source.location(&field), field, needed });
    };
    let (spins, has_pivot) = (collider.spin != [0.0; 3], source.states(&at("pivot")));
    if spins && !has_pivot {
        lone("spin", "`pivot`, the point about which the collider turns");
    }
    if has_pivot && !spins && collider.keys.is_empty() {
        lone("pivot", "`spin` or `keys`, which turn the collider about it");
    }
}

/// Reports a collider out of range, or with an unknown cloth.
pub(crate) fn validate_collider(
    collider: &SceneCollider,
    cloths: &[SceneCloth],
    field: &str,
    source: &Source<'_>,
) {
    collider.shape.validate(field, source);
    if let Some(motion) = &collider.motion {
        validate_motion(motion, &collider.shape, field, source);
    }
    validate_transform(&collider.transform, &format!("{field}.transform"), source);
    validate_frame_keys(&collider.keys, field, source);
    validate_spin(collider, field, source);
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
            match CacheMotion::is_mdd(path) {
                None => lone("cache", "a file named *.pc2 or *.mdd"),
                // MDD files have their own times.
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
