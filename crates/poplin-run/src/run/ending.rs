//! Measurement of where a cloth ends: inside colliders, or falling past them.

use std::collections::BTreeMap;

use poplin::{ClothId, State};
use poplin_geometry::{Bounds, wide};
use poplin_measure::depth::{Depth, DepthField, TriangleDepth};
use poplin_model::{Pose, Shape};
use poplin_scene::Extent;

use crate::bodies::ColliderPoses;
use crate::failure::Failure;
use crate::job_cloth::JobCloth;

/// Speed along gravity beyond which a part without pins, or a body, falls [m/s].
pub(crate) const FALLING_SPEED: f64 = 1.0;

/// State of a cloth at the end, all copies together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// Depth of particles and of triangles without pins in colliders; `None` without colliders.
    pub(crate) depth: Option<(Depth, TriangleDepth)>,
    /// Parts that fall with nothing below.
    pub(crate) falling: Option<Falling>,
    /// Box around all particles in world space.
    pub(crate) bounds: Bounds,
}

impl Default for Ending {
    fn default() -> Self {
        Self { depth: None, falling: None, bounds: Bounds::EMPTY }
    }
}

/// Connected parts that fall below all colliders of their cloth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Falling {
    /// Number of such parts in all copies.
    pub(crate) parts: usize,
    /// Number of parts of all copies.
    pub(crate) all_parts: usize,
    /// Speed of the fastest along gravity [m/s].
    pub(crate) speed_m_per_s: f64,
}

impl Ending {
    /// Measures the copies `ids` of a cloth in these poses, whose last iteration took `step`
    /// seconds.
    pub(crate) fn measure(
        job_cloth: &JobCloth,
        state: &State,
        ids: &[ClothId],
        poses: &[Pose],
        step: f32,
        collider_poses: &ColliderPoses,
    ) -> Result<Self, Failure> {
        let shapes = job_cloth.shapes_in(collider_poses)?;
        let depth = (!shapes.is_empty()).then(|| {
            let field = DepthField::new(&shapes);
            let mut depth = Depth::default();
            let mut vertices = Vec::with_capacity(job_cloth.vertex_count());
            for (&id, &pose) in ids.iter().zip(poses) {
                depth = depth.and(field.measure(pose, state.current(id)));
                job_cloth.append_vertices(pose, state.current(id), &mut vertices);
            }
            (depth, field.measure_triangles(&vertices, job_cloth.free_triangles()))
        });
        let falling = Falling::measure(job_cloth, state, ids, poses, step, &shapes);
        let world = |(&id, pose): (&ClothId, &Pose)| {
            let particles = state.current(id).iter();
            Bounds::of(particles.map(|particle| wide(pose.apply(particle.position))))
        };
        let bounds = ids.iter().zip(poses).map(world).fold(Bounds::EMPTY, Bounds::union);
        Ok(Self { depth, falling, bounds })
    }

    /// Returns the depths of several cloths together.
    pub(crate) fn depths<'a>(
        all: impl IntoIterator<Item = &'a Self>,
    ) -> Option<(Depth, TriangleDepth)> {
        let depths = all.into_iter().filter_map(|ending| ending.depth);
        depths.reduce(|(a, b), (c, d)| (a.and(c), b.and(d)))
    }
}

impl Falling {
    fn measure(
        job_cloth: &JobCloth,
        state: &State,
        ids: &[ClothId],
        poses: &[Pose],
        step: f32,
        shapes: &[Shape],
    ) -> Option<Self> {
        let down = wide(job_cloth.cloth.config.gravity).try_normalize()?;
        let (mut sets, corners) = job_cloth.parts();
        // Parts that fall, by the height of their highest particle along gravity.
        let (mut all_parts, mut fast) = (0, Vec::new());
        for (&id, pose) in ids.iter().zip(poses) {
            let (current, previous) = (state.current(id), state.previous(id));
            let height = |position| down.dot(wide(pose.apply(position)));
            let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
            for &corner in &corners {
                let (now, before) = (&current[corner as usize], &previous[corner as usize]);
                let part = parts.entry(sets.root(corner)).or_default();
                part.is_held |= now.is_pinned();
                part.highest = part.highest.min(height(now.position));
                part.fallen += height(now.position) - height(before.position);
                part.count += 1.0;
            }
            all_parts += parts.len();
            for part in parts.values().filter(|part| !part.is_held) {
                let speed = part.fallen / (part.count * f64::from(step));
                if step > 0.0 && speed > FALLING_SPEED {
                    fast.push((part.highest, speed));
                }
            }
        }
        if fast.is_empty() {
            return None;
        }
        // Everything below this height can catch nothing.
        let bottom = shapes
            .iter()
            .map(|shape| Extent::of(shape).farthest(down))
            .fold(f64::NEG_INFINITY, f64::max);
        let falling = fast.iter().filter(|(highest, _)| *highest > bottom);
        let falling =
            falling.fold(Self { parts: 0, all_parts, speed_m_per_s: 0.0 }, |sum, &(_, speed)| {
                Self { parts: sum.parts + 1, speed_m_per_s: sum.speed_m_per_s.max(speed), ..sum }
            });
        (falling.parts > 0).then_some(falling)
    }
}

/// Connected part of one copy.
struct Part {
    is_held: bool,
    /// Coordinate of its highest particle along gravity \[m\].
    highest: f64,
    /// Displacement of its particles along gravity in the last iteration, summed \[m\].
    fallen: f64,
    count: f64,
}

impl Default for Part {
    fn default() -> Self {
        Self { is_held: false, highest: f64::INFINITY, fallen: 0.0, count: 0.0 }
    }
}
