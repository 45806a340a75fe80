//! `[[collider]]` as serde reads it, and its conversion to a [`SceneCollider`].

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::choice::{beside, one_or_two, present, refuse_shape};
use crate::locate::Source;
use crate::mesh_motion::AnimationKey;
use crate::{
    BoxShape, CapsuleShape, ColliderShape, CylinderShape, FrameKey, MeshMotion, MotionSource,
    PlaneShape, SceneBody, SceneCollider, SceneError, SphereShape, Transform,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Collider")]
pub(super) struct ColliderFile {
    /// Name (default `collider 0`, `collider 1`, ...).
    name: Option<String>,
    /// Ball.
    sphere: Option<SphereShape>,
    /// Capsule: the hull of two balls, its radius changing linearly between them. Exactly one of
    /// `radius` and `radii` is needed.
    capsule: Option<CapsuleFile>,
    /// Half-space behind a plane, for example the ground.
    plane: Option<PlaneShape>,
    /// Rectangular box.
    #[serde(rename = "box")]
    cuboid: Option<BoxShape>,
    /// Cylinder or cone.
    cylinder: Option<CylinderShape>,
    /// Convex polyhedron: the points behind all of several planes, each of them a face.
    convex: Option<ConvexFile>,
    /// Inside of a closed surface from a mesh file (OBJ, PLY, STL, glTF, GLB), its path relative to
    /// the folder of the scene file.
    mesh: Option<PathBuf>,
    /// Animation of a glTF mesh by name or index: nodes, skins and morph targets (default none: the
    /// mesh stays in its rest pose).
    animation: Option<AnimationKey>,
    /// Point cache (PC2, MDD) that moves the vertices of a mesh, with the same number of vertices;
    /// its path is relative to the folder of the scene file (default none).
    cache: Option<PathBuf>,
    /// Frames per second of a PC2 cache [1/s], `0.1..=10_000` (default: `frame_rate`); MDD stores
    /// times in seconds.
    cache_rate: Option<f32>,
    /// Start time of the animation or cache [s], `-1e6..=1e6` (default: the time of its first key
    /// or sample).
    start: Option<f32>,
    /// Playback speed of the animation or cache, `0.001..=1000` (default 1).
    speed: Option<f32>,
    /// Repeats the animation or cache when it ends (default false: it holds its last pose).
    #[serde(rename = "loop")]
    is_looped: Option<bool>,
    /// Pose before `keys` move the collider; in the world if there are none.
    #[serde(default)]
    transform: Transform,
    /// Path of the body that the shape is fixed to, rising in time (default none: the shape is at
    /// rest).
    #[serde(default)]
    keys: Vec<FrameKey>,
    /// Point about which `keys` and `spin` turn the collider, where `transform` puts it [m]
    /// (default 0, the origin of the world).
    pivot: Option<[f32; 3]>,
    /// Constant angular velocity about `pivot`, which it needs [degrees/s], around the world's axes
    /// before `keys` turn them: `[0, 90, 0]` is a turntable. Each `-36000..=36000`, and at most 179
    /// degrees per frame (default 0).
    #[serde(default)]
    spin: [f32; 3],
    /// Rigid body: cloths and gravity move the collider (default none). It passes through all other
    /// colliders and bodies.
    body: Option<SceneBody>,
    /// Factor on the friction of cloths that touch the collider, `0..=100` (default 1).
    friction: Option<f32>,
    /// Names of the cloths that collide with it, at least one (default: all).
    cloths: Option<Vec<String>>,
    /// Accepts a mesh that is not closed (default false): everything behind its nearest triangle
    /// then counts as inside, at any distance.
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Capsule")]
struct CapsuleFile {
    /// Center of one end [m].
    from: [f32; 3],
    /// Center of the other end [m].
    to: [f32; 3],
    /// Radius of both ends [m], `1e-6..=1e6`.
    radius: Option<f32>,
    /// Radius at each end [m], `1e-6..=1e6`.
    radii: Option<[f32; 2]>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Convex")]
struct ConvexFile {
    /// Planes, at least one; their normals face outwards.
    planes: Vec<PlaneShape>,
}

impl ColliderFile {
    pub(super) fn convert(
        mut self,
        index: usize,
        frame_rate: f32,
        source: &Source<'_>,
    ) -> SceneCollider {
        let field = format!("collider[{index}]");
        let mut motion = self.motion(&field, frame_rate, source).unwrap_or_else(|error| {
            source.refuse(error);
            None
        });
        if self.open && self.mesh.is_none() {
            let (field, needed) = (format!("{field}.open"), "`mesh`: other shapes are closed");
            source.refuse(SceneError::Lone { at: source.location(&field), field, needed });
        }
        let found = present(&[
            ("sphere", self.sphere.is_some()),
            ("capsule", self.capsule.is_some()),
            ("plane", self.plane.is_some()),
            ("box", self.cuboid.is_some()),
            ("cylinder", self.cylinder.is_some()),
            ("convex", self.convex.is_some()),
            ("mesh", self.mesh.is_some()),
        ]);
        let mut shapes = self.sphere.map(ColliderShape::Sphere).into_iter().collect::<Vec<_>>();
        if let Some(CapsuleFile { from, to, radius, radii }) = self.capsule {
            let radii = one_or_two(radius, radii, &format!("{field}.capsule"), source);
            shapes.push(ColliderShape::Capsule(CapsuleShape { from, to, radii }));
        }
        shapes.extend(self.plane.map(ColliderShape::Plane));
        shapes.extend(self.cuboid.map(ColliderShape::Box));
        shapes.extend(self.cylinder.map(ColliderShape::Cylinder));
        shapes.extend(self.convex.map(|convex| ColliderShape::Convex(convex.planes)));
        shapes.extend(self.mesh.map(|mesh| ColliderShape::Mesh(beside(source, mesh))));
        let shape = match (shapes.pop(), found.len()) {
            (Some(shape), 1) => shape,
            _ => {
                let known = "`sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` and `mesh`";
                refuse_shape(source, &field, known, found);
                // The motion has no known shape to apply to.
                motion = None;
                ColliderShape::Sphere(SphereShape { radius: 1.0, center: [0.0; 3] })
            }
        };
        SceneCollider {
            name: self.name.unwrap_or_else(|| format!("collider {index}")),
            shape,
            transform: self.transform,
            keys: self.keys,
            pivot: self.pivot.unwrap_or_default(),
            spin: self.spin,
            body: self.body,
            friction: self.friction.unwrap_or(1.0),
            cloths: self.cloths,
            is_open: self.open,
            motion,
        }
    }

    /// Returns the motion of the vertices of a mesh, if the keys state one.
    fn motion(
        &mut self,
        field: &str,
        frame_rate: f32,
        source: &Source<'_>,
    ) -> Result<Option<MeshMotion>, SceneError> {
        let lone = |key: &str, needed| {
            let field = format!("{field}.{key}");
            SceneError::Lone { at: source.location(&field), field, needed }
        };
        let (animation, cache) = (self.animation.take(), self.cache.take());
        let key = if animation.is_some() { "animation" } else { "cache" };
        // Keys without effect are errors: they are more likely misplaced than intended.
        if self.cache_rate.is_some() && cache.is_none() {
            return Err(lone("cache_rate", "`cache`"));
        }
        let from = match (animation, cache) {
            (None, None) => {
                let stated = [
                    ("start", self.start.is_some()),
                    ("speed", self.speed.is_some()),
                    ("loop", self.is_looped.is_some()),
                ];
                return match present(&stated).first() {
                    Some(key) => Err(lone(key, "`animation` or `cache`")),
                    None => Ok(None),
                };
            }
            (Some(_), Some(_)) => return Err(lone("cache", "a collider without `animation`")),
            (Some(AnimationKey(choice)), None) => MotionSource::Animation(choice),
            (None, Some(path)) => {
                let path = beside(source, path);
                let rate = self.cache_rate.unwrap_or(frame_rate);
                MotionSource::Cache { path, rate }
            }
        };
        if self.mesh.is_none() {
            return Err(lone(key, "`mesh`"));
        }
        Ok(Some(MeshMotion {
            source: from,
            start: self.start,
            speed: self.speed.unwrap_or(1.0),
            is_looped: self.is_looped.unwrap_or(false),
        }))
    }
}
