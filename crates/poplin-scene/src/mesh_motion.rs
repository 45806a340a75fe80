//! Collider meshes that move vertex by vertex: animations of glTF files and point caches.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::DVec3;
use poplin_model::{Placement, Shape, TriangleMesh};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use super::SceneError;
use super::locate::Source;
use poplin_io::CacheMotion;
use poplin_io::VertexMotion;
use poplin_io::{AnimationChoice, IoError, MeshFile, load_animated_mesh, load_mesh};

/// Motion of the vertices of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshMotion {
    /// Source of the motion.
    pub source: MotionSource,
    /// Start time \[s\] (default: the time of its first key or sample), `-1e6..=1e6`.
    pub start: Option<f32>,
    /// Playback speed, `0.001..=1000` (default 1).
    pub speed: f32,
    /// True if the motion repeats when it ends (default: it holds its last pose).
    pub is_looped: bool,
}

/// Source of the motion of mesh vertices.
#[derive(Debug, Clone, PartialEq)]
pub enum MotionSource {
    /// Animation in the mesh file, which is glTF.
    Animation(AnimationChoice),
    /// Point cache, PC2 or MDD, its path resolved against the scene file.
    Cache {
        /// Path of the cache.
        path: PathBuf,
        /// Frames per second of a PC2 cache \[1/s\], `0.1..=10_000`; MDD stores times in seconds.
        rate: f32,
    },
}

/// Key `animation`: a name or an index.
pub(super) struct AnimationKey(pub(super) AnimationChoice);

impl JsonSchema for AnimationKey {
    fn schema_name() -> Cow<'static, str> {
        "Animation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] })
    }
}

impl<'de> Deserialize<'de> for AnimationKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = AnimationKey;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("the name of an animation, or its index from 0")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<AnimationKey, E> {
                Ok(AnimationKey(AnimationChoice::Name(name.to_owned())))
            }

            fn visit_i64<E: de::Error>(self, index: i64) -> Result<AnimationKey, E> {
                let fits = u32::try_from(index);
                let fits = fits.map_err(|_| E::invalid_value(de::Unexpected::Signed(index), &self));
                fits.map(|index| AnimationKey(AnimationChoice::Index(index)))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl MeshMotion {
    /// Reads a mesh and its motion.
    pub(super) fn load(&self, mesh: &Path) -> Result<(MeshFile, Box<dyn VertexMotion>), IoError> {
        match &self.source {
            MotionSource::Animation(choice) => load_animated_mesh(mesh, choice),
            MotionSource::Cache { path, rate } => {
                let file = load_mesh(mesh)?;
                let cache = CacheMotion::open(path, f64::from(*rate))?;
                let (vertex_count, expected) = (cache.vertex_count(), file.mesh.positions.len());
                if vertex_count != expected {
                    let (path, mesh) = (path.clone(), mesh.to_path_buf());
                    return Err(IoError::CacheVertices { path, vertex_count, mesh, expected });
                }
                Ok((file, Box::new(cache)))
            }
        }
    }

    /// Adds the location of the key that names the file to an error of that file. `field` is the
    /// collider.
    pub(super) fn error(&self, error: IoError, field: &str, source: &Source<'_>) -> SceneError {
        let field = match &self.source {
            MotionSource::Animation(_) => format!("{field}.animation"),
            MotionSource::Cache { .. } => format!("{field}.cache"),
        };
        SceneError::Motion { at: source.location(&field), field, source: error.into() }
    }

    /// Converts a time of the scene \[s\] to a time of the source \[s\], whose span is `[first,
    /// last]`.
    fn source_time(&self, time: f64, [first, last]: [f64; 2]) -> f64 {
        let start = self.start.map_or(first, f64::from);
        let (played, length) = ((time - start) * f64::from(self.speed), last - first);
        // Loops only after the start; before it the first pose is held.
        match self.is_looped && played > 0.0 && length > 0.0 {
            true => first + played.rem_euclid(length),
            false => first + played.clamp(0.0, length),
        }
    }
}

/// Closed mesh and its motion.
#[derive(Debug)]
pub(super) struct MovingMesh {
    pub(super) play: MeshMotion,
    pub(super) motion: Box<dyn VertexMotion>,
    /// Point of the file that positions are relative to \[m\].
    pub(super) origin: DVec3,
    /// Triangles as repaired in the rest pose.
    pub(super) triangles: Arc<[[u32; 3]]>,
    /// Boundary vertices of each filled hole. Its center vertex follows the vertices of the file.
    pub(super) holes: Vec<Vec<u32>>,
    /// Transform of the collider.
    pub(super) placement: Placement,
}

/// Compares by identity: a motion has no comparable value.
impl PartialEq for MovingMesh {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl MovingMesh {
    /// Tests whether the mesh is the same at two times \[s\].
    pub(super) fn rests(&self, from: f64, to: f64) -> bool {
        let span = self.motion.span();
        self.play.source_time(from, span) == self.play.source_time(to, span)
    }

    /// Returns the mesh at a time \[s\].
    pub(super) fn shape_at(&self, time: f64) -> Result<Shape, IoError> {
        let positions = self.motion.positions(self.play.source_time(time, self.motion.span()))?;
        let middle = |hole: &Vec<u32>| {
            let sum: DVec3 = hole.iter().map(|&vertex| positions[vertex as usize]).sum();
            sum / hole.len() as f64
        };
        // The center of each filled hole follows the mean of its boundary.
        let centers: Vec<_> = self.holes.iter().map(middle).collect();
        // Relative to the origin before rounding to f32.
        let put = |p: &DVec3| self.placement.point((*p - self.origin).as_vec3().to_array());
        let vertices = positions.iter().chain(&centers).map(put).collect();
        Ok(TriangleMesh { vertices, triangles: self.triangles.clone() }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(start: Option<f32>, speed: f32, is_looped: bool) -> MeshMotion {
        let source = MotionSource::Animation(AnimationChoice::Index(0));
        MeshMotion { source, start, speed, is_looped }
    }

    #[test]
    fn a_source_begins_where_it_says_and_ends_or_loops() {
        let times = |play: MeshMotion, times: [f64; 4]| {
            times.map(|time| play.source_time(time, [0.5, 2.5]))
        };
        assert_eq!(times(play(None, 1.0, false), [0.0, 0.5, 1.0, 9.0]), [0.5, 0.5, 1.0, 2.5]);
        assert_eq!(times(play(Some(1.0), 2.0, false), [0.0, 1.0, 1.5, 2.5]), [0.5, 0.5, 1.5, 2.5]);
        assert_eq!(
            times(play(Some(0.0), 1.0, true), [-1.0, 1.0, 2.25, 5.0]),
            [0.5, 1.5, 0.75, 1.5]
        );
        assert_eq!(play(None, 1.0, true).source_time(7.0, [1.0, 1.0]), 1.0, "one key");
    }
}
