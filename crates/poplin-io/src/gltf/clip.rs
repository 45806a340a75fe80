//! Animations of a glTF file (Khronos glTF 2.0, section 3.11 and appendix C).

use std::path::PathBuf;

use glam::DQuat;

use super::accessor::{Accessor, FLOAT, Width};
use super::buffers::Buffers;
use super::json::Json;
use super::nodes::{Nodes, unit};
use super::rig::Pose;
use crate::mesh_file::first_after;
use crate::text::shortened;
use crate::{FilePosition, IoError};

/// Maximum number of values in the keys of an animation, counted once per channel: a minute at 60
/// Hz of a thousand joints.
const MAX_KEY_NUMBERS: usize = 1 << 26;

/// Choice of an animation in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnimationChoice {
    /// Index in the file.
    Index(u32),
    /// Name in the file.
    Name(String),
}

/// Animated property of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    Translation,
    Rotation,
    Scale,
    Weights,
}

/// Interpolation between two keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interpolation {
    Step,
    Linear,
    Cubic,
}

impl Interpolation {
    /// Number of values per key: a spline also has two tangents.
    fn parts(self) -> usize {
        if self == Self::Cubic { 3 } else { 1 }
    }
}

/// Animated property of a node over time.
#[derive(Debug)]
struct Track {
    node: usize,
    target: Target,
    /// Number of components per value.
    width: usize,
    interpolation: Interpolation,
    times: Accessor,
    values: Accessor,
}

/// Animation.
#[derive(Debug)]
pub(super) struct Clip {
    tracks: Vec<Track>,
    /// Times of the first and the last key \[s\].
    pub(super) span: [f64; 2],
}

impl Clip {
    /// Reads the chosen animation of a file. `target_counts` has the number of morph targets per
    /// node.
    pub(super) fn read(
        root: &Json<'_>,
        choice: &AnimationChoice,
        (nodes, target_counts): (&Nodes, &[usize]),
        buffers: &mut Buffers<'_>,
        path: PathBuf,
    ) -> Result<Self, IoError> {
        let animations = root.list("animations")?;
        let found = match choice {
            AnimationChoice::Index(index) => animations.get(*index as usize),
            AnimationChoice::Name(wanted) => {
                animations.iter().find(|it| name_of(it) == Some(wanted))
            }
        };
        let Some(animation) = found else {
            let found = match choice {
                AnimationChoice::Index(index) => format!("no animation {index}"),
                AnimationChoice::Name(name) => format!("no animation {:?}", shortened(name)),
            };
            let known: Vec<_> = animations
                .iter()
                .enumerate()
                .take(MAX_NAMES)
                .map(|(k, it)| match name_of(it) {
                    Some(name) => format!("{k} {:?}", shortened(name)),
                    None => k.to_string(),
                })
                .collect();
            let expected = match known.is_empty() {
                true => "a file with animations".to_owned(),
                false => format!("one of its {}: {}", animations.len(), known.join(", ")),
            };
            let position = FilePosition::Json("animations".to_owned());
            return Err(IoError::Unexpected { path, position, found, expected });
        };
        let samplers = animation.list("samplers")?;
        let mut tracks = Vec::new();
        let mut known = std::collections::HashSet::new();
        let mut numbers = 0_usize;
        for channel in animation.list("channels")? {
            let target = channel.field("target")?;
            let Some(node) = target.get("node") else { continue };
            let node_index = node.index(nodes.locals.len(), "nodes")?;
            let property = target.field("path")?;
            let (kind, shape, width) = match property.text()? {
                "translation" => (Target::Translation, Width::Vec3, 3),
                "rotation" => (Target::Rotation, Width::Vec4, 4),
                "scale" => (Target::Scale, Width::Vec3, 3),
                "weights" => (Target::Weights, Width::Scalar, target_counts[node_index]),
                // Targets of extensions are ignored.
                _ => continue,
            };
            // Two channels with one target are invalid (section 3.11).
            if !known.insert((node_index, kind)) {
                let found = format!("{} of node {node_index} again", property.text()?);
                return Err(property.fault(found, "each property in one channel"));
            }
            if kind == Target::Weights && width == 0 {
                let found = format!("weights of node {node_index}, which has no morph targets");
                return Err(property.fault(found, "a node that has them"));
            }
            if kind != Target::Weights && nodes.locals[node_index].is_matrix() {
                let found = format!("node {node_index}, which has a matrix");
                return Err(node.fault(found, "one with translation, rotation and scale"));
            }
            let sampler = channel.field("sampler")?;
            let sampler = &samplers[sampler.index(samplers.len(), "samplers")?];
            let interpolation = match sampler.get("interpolation") {
                None => Interpolation::Linear,
                Some(json) => match json.text()? {
                    "STEP" => Interpolation::Step,
                    "LINEAR" => Interpolation::Linear,
                    "CUBICSPLINE" => Interpolation::Cubic,
                    other => {
                        let expected = "STEP, LINEAR or CUBICSPLINE";
                        return Err(json.fault(format!("{:?}", shortened(other)), expected));
                    }
                },
            };
            let (input, output) = (sampler.field("input")?, sampler.field("output")?);
            let times = Accessor::read(&input, Width::Scalar, buffers)?;
            let values = Accessor::read(&output, shape, buffers)?;
            if times.component != FLOAT {
                return Err(input.fault(format!("component type {}", times.component), "5126"));
            }
            let parts = interpolation.parts();
            // Weights of a key are `width` scalars; other targets are one vector.
            let of_key = if kind == Target::Weights { parts * width } else { parts };
            if times.count == 0 {
                return Err(input.fault("no keys".to_owned(), "at least one"));
            }
            if values.count != times.count.saturating_mul(of_key) {
                let found = format!("{} values for {} keys", values.count, times.count);
                return Err(output.fault(found, &format!("{of_key} of each key")));
            }
            // Channels may share accessors: a small file could repeat a long one many times.
            numbers = numbers.saturating_add(times.count.saturating_mul(1 + parts * width));
            if numbers > MAX_KEY_NUMBERS {
                let (what, count, limit) = ("numbers in animation keys", numbers, MAX_KEY_NUMBERS);
                return Err(IoError::TooMany { path, what, count, limit });
            }
            let track =
                Track { node: node_index, target: kind, width, interpolation, times, values };
            track.check(&input, &output)?;
            tracks.push(track);
        }
        if tracks.is_empty() {
            return Err(animation.fault("no channel of a node".to_owned(), "one at least"));
        }
        let span = tracks.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[from, to], track| {
            [from.min(track.time(0)), to.max(track.time(track.times.count - 1))]
        });
        Ok(Self { tracks, span })
    }

    /// Applies the animation to a pose at a time \[s\].
    pub(super) fn apply(&self, time: f64, pose: &mut Pose) {
        for track in &self.tracks {
            let values = track.sample(time);
            let local = &mut pose.locals[track.node];
            match (track.target, &values[..]) {
                (Target::Translation, &[x, y, z]) => local.translation = [x, y, z].into(),
                (Target::Scale, &[x, y, z]) => local.scale = [x, y, z].into(),
                (Target::Rotation, &[x, y, z, w]) => local.rotation = unit([x, y, z, w]),
                _ => drop(pose.weights.insert(track.node, values)),
            }
        }
    }

    /// Nodes with animated morph targets.
    pub(super) fn morphed(&self) -> impl Iterator<Item = usize> {
        self.tracks.iter().filter(|it| it.target == Target::Weights).map(|it| it.node)
    }
}

/// Name of an animation.
fn name_of<'a>(animation: &Json<'a>) -> Option<&'a str> {
    animation.get("name")?.text().ok()
}

/// Maximum number of animations that an error lists.
const MAX_NAMES: usize = 16;

impl Track {
    /// Time of a key \[s\].
    fn time(&self, key: usize) -> f64 {
        self.times.vector::<1>(key)[0]
    }

    /// Component `k` of a key. `part` 0 is its value; of a cubic spline, parts 0 to 2 are
    /// in-tangent, value and out-tangent.
    fn number(&self, key: usize, part: usize, k: usize) -> f64 {
        let slot = key * self.interpolation.parts() + part;
        match self.target {
            Target::Weights => self.values.vector::<1>(slot * self.width + k)[0],
            Target::Rotation => self.values.vector::<4>(slot)[k],
            Target::Translation | Target::Scale => self.values.vector::<3>(slot)[k],
        }
    }

    /// Rejects times that decrease, and numbers that are not finite.
    fn check(&self, input: &Json<'_>, output: &Json<'_>) -> Result<(), IoError> {
        let mut before = f64::NEG_INFINITY;
        for key in 0..self.times.count {
            let time = self.time(key);
            if !(time.is_finite() && time >= before) {
                let found = format!("key {key} at {time} s, after {before} s");
                return Err(input.fault(found, "times that rise"));
            }
            before = time;
            let is_finite = |part| (0..self.width).all(|k| self.number(key, part, k).is_finite());
            if !(0..self.interpolation.parts()).all(is_finite) {
                return Err(output.fault(format!("key {key}"), "finite numbers"));
            }
        }
        Ok(())
    }

    /// Interpolates the value at a time \[s\]; held before the first key and after the last.
    fn sample(&self, time: f64) -> Vec<f64> {
        let value = usize::from(self.interpolation == Interpolation::Cubic);
        let at = |key| (0..self.width).map(move |k| self.number(key, value, k)).collect();
        let next = first_after(time, self.times.count, |key| self.time(key));
        // Held outside the keys.
        if next == 0 || next == self.times.count {
            return at(next.saturating_sub(1));
        }
        let before = next - 1;
        let step = self.time(next) - self.time(before);
        let t = (time - self.time(before)) / step;
        match self.interpolation {
            Interpolation::Step => at(before),
            Interpolation::Linear if self.target == Target::Rotation => {
                let [from, to]: [DQuat; 2] =
                    [before, next].map(|key| unit(std::array::from_fn(|k| self.number(key, 0, k))));
                // glam's slerp takes the shorter path.
                from.slerp(to, t).to_array().to_vec()
            }
            Interpolation::Linear => {
                let between = |k| {
                    let [from, to] = [before, next].map(|key| self.number(key, 0, k));
                    from + (to - from) * t
                };
                (0..self.width).map(between).collect()
            }
            Interpolation::Cubic => {
                // Cubic Hermite spline (glTF 2.0, appendix C.5); tangents are scaled by the step.
                let (t2, t3) = (t * t, t * t * t);
                let between = |k| {
                    let (from, out) = (self.number(before, 1, k), self.number(before, 2, k));
                    let (into, to) = (self.number(next, 0, k), self.number(next, 1, k));
                    (2.0 * t3 - 3.0 * t2 + 1.0) * from
                        + step * (t3 - 2.0 * t2 + t) * out
                        + (3.0 * t2 - 2.0 * t3) * to
                        + step * (t3 - t2) * into
                };
                (0..self.width).map(between).collect()
            }
        }
    }
}
