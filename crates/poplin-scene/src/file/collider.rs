//! Conversion of `[[collider]]` to a [`SceneCollider`].

use super::choice::{beside, one_or_two, present, refuse_shape};
use super::{CapsuleFile, ColliderFile};
use crate::locate::Source;
use crate::mesh_motion::AnimationKey;
use crate::{
    CapsuleShape, ColliderShape, MeshMotion, MotionSource, SceneCollider, SceneError, SphereShape,
};

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
