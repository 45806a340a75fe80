//! Swept bounds of points and simplices on straight paths, and their overlap test: twin of
//! `shaders/contact/triangle_path.wgsl`.
//!
//! A path has one box at its start and one at its end. Two simplices can meet only if no axis
//! separates them at both: on straight paths with common time, what is on one side at both ends is
//! there all the time. So a sheet that falls as a whole is not near itself merely because it is
//! fast.

use glam::Vec3;
use poplin_layout::{TRIANGLE_AXES, TRIANGLE_DIAGONAL};

use super::lanes::Vector;
use crate::lanes::Real;

/// Number of axes along which paths are compared: x, y, z and both diagonals of each coordinate
/// plane.
pub(super) const AXES: usize = 3 * TRIANGLE_AXES as usize;

/// Coordinates of a point along the axes; the diagonals are not normalized, their length is the
/// root of 2.
#[inline(always)]
fn along<V: Vector>(v: V) -> [V::Real; AXES] {
    let [x, y, z] = v.coordinates();
    [x, y, z, x + y, x - y, y + z, y - z, z + x, z - x]
}

/// Lengths of the axis vectors, rounded up.
const LENGTHS: [f32; AXES] = {
    const D: f32 = TRIANGLE_DIAGONAL;
    [1.0, 1.0, 1.0, D, D, D, D, D, D]
};

/// Radii around a point on a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach<R = f32> {
    /// Distance at which it pushes \[m\].
    pub push: R,
    /// Distance at which it may cross something, without its own move \[m\].
    pub cross: R,
}

/// Number of bounds per axis: lowest coordinate at start and end, and negated highest coordinate at
/// start and end, so that a union is the minimum of each.
pub(super) const SIDES: usize = 4;

/// Discrete oriented polytopes (k-DOPs) of the reach at the start and at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path<R = f32> {
    /// Bounds per axis, see [`SIDES`].
    pub(super) ranges: [[R; SIDES]; AXES],
}

/// Ranges of a path, end by end.
#[cfg(feature = "testing")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranges {
    /// Lowest coordinates at the start and at the end.
    pub low: [[f32; AXES]; 2],
    /// Highest coordinates at the start and at the end.
    pub high: [[f32; AXES]; 2],
}

/// Returns the component-wise minimum; the first operand where either is NaN.
#[inline(always)]
pub(super) fn least_of<R: Real, const K: usize>(a: &[R; K], b: &[R; K]) -> [R; K] {
    let mut least = *a;
    for (least, b) in least.iter_mut().zip(b) {
        *least = b.lesser(*least);
    }
    least
}

/// Bounds of a path prepared for the overlap test: negated highest and lowest coordinates, which
/// the other path's bounds must exceed to be separated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facing<R = f32>(pub(super) [[R; SIDES]; AXES]);

impl Facing {
    /// Extends the bounds to contain another path.
    #[inline(always)]
    pub(super) fn include(&mut self, other: &Self) {
        for (own, other) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *own = other.greater(*own);
        }
    }
}

/// Tests whether an axis separates two paths at their start and at their end.
#[inline(always)]
fn are_apart<R: Real>(ranges: &[R; SIDES], facing: &[R; SIDES]) -> R::Mask {
    let [a, b] = [facing[0].simd_lt(ranges[0]), facing[1].simd_lt(ranges[1])];
    let [c, d] = [facing[2].simd_lt(ranges[2]), facing[3].simd_lt(ranges[3])];
    // Above at both ends, or below at both ends.
    (a & b) | (c & d)
}

impl Path {
    /// Empty path.
    pub const NOTHING: Self = Self { ranges: [[f32::INFINITY; SIDES]; AXES] };
    /// Path that meets everything.
    pub const EVERYTHING: Self = Self { ranges: [[f32::NEG_INFINITY; SIDES]; AXES] };

    /// Returns the path of a box at rest. Diagonals separate nothing.
    pub(super) fn in_box(low: Vec3, high: Vec3) -> Self {
        let mut path = Self::EVERYTHING;
        for k in 0..3 {
            path.ranges[k] = [low[k], low[k], -high[k], -high[k]];
        }
        path
    }

    /// Returns the path of a ball at rest.
    pub(super) fn still(at: Vec3, radius: f32) -> Self {
        Self::new([at; 2], [Vec3::ZERO; 2], &Reach { push: radius, cross: 0.0 })
    }

    /// Returns the path of the convex hull of points at rest.
    pub(super) fn between(points: &[Vec3]) -> Self {
        let mut sum = Self::NOTHING;
        points.iter().for_each(|&at| sum.include(&Self::still(at, 0.0)));
        sum
    }

    /// Returns the lowest and highest coordinate along an axis over the whole path.
    pub(super) fn extent(&self, axis: usize) -> [f32; 2] {
        let [low, low_end, high, high_end] = self.ranges[axis];
        [low.min(low_end), -high.min(high_end)]
    }

    /// Returns the lowest and highest corner at the start; `None` for an empty path.
    pub(super) fn corners(&self) -> Option<[Vec3; 2]> {
        let corner = |side: usize| Vec3::from_array([0, 1, 2].map(|k| self.ranges[k][side]));
        let corners = [corner(0), -corner(2)];
        corners[0].cmple(corners[1]).all().then_some(corners)
    }

    /// Returns the union of the paths of some rows.
    #[inline(always)]
    pub(super) fn around(rows: &[u32], paths: &[Self]) -> Self {
        let mut sum = Self::NOTHING;
        for &row in rows {
            sum.include(&paths[row as usize]);
        }
        sum
    }

    /// Unpacks the ranges.
    #[cfg(feature = "testing")]
    pub fn ranges(&self) -> Ranges {
        let side = |side: usize| self.ranges.map(|ranges| ranges[side]);
        Ranges { low: [side(0), side(1)], high: [side(2), side(3)].map(|end| end.map(|it| -it)) }
    }
}

impl<R: Real> Path<R> {
    /// Creates the path of a point between two positions. Its reach covers the push radius, and the
    /// crossing radius at the position and anywhere on a step from it.
    #[inline(always)]
    pub fn new<V: Vector<Real = R>>(ends: [V; 2], steps: [V; 2], reach: &Reach<R>) -> Self {
        let (at, step) = ([along(ends[0]), along(ends[1])], [along(steps[0]), along(steps[1])]);
        let zero = reach.push.all(0.0);
        let mut ranges = [[zero; SIDES]; AXES];
        for (k, ranges) in ranges.iter_mut().enumerate() {
            let (push, cross) = (reach.push * LENGTHS[k], reach.cross * LENGTHS[k]);
            let at = [at[0][k], at[1][k], -at[0][k], -at[1][k]];
            let step = [-step[0][k], -step[1][k], step[0][k], step[1][k]];
            for (side, range) in ranges.iter_mut().enumerate() {
                // low = x - max(push, cross + max(-step, 0)); the same for -high
                *range = at[side] - (cross + step[side].greater(zero)).greater(push);
            }
        }
        Self { ranges }
    }

    /// Extends the path to contain another one.
    #[inline(always)]
    pub fn include(&mut self, other: &Self) {
        for (own, other) in self.ranges.iter_mut().zip(&other.ranges) {
            *own = least_of(own, other);
        }
    }

    /// Prepares the path for the overlap test.
    #[inline(always)]
    pub(super) fn facing(&self) -> Facing<R> {
        let mut all = Facing(self.ranges);
        for facing in &mut all.0 {
            let [low, low_end, high, high_end] = *facing;
            *facing = [-high, -high_end, -low, -low_end];
        }
        all
    }

    /// Tests whether an axis separates two paths all the time.
    #[inline(always)]
    pub fn misses(&self, other: &Self) -> R::Mask {
        let facing = other.facing();
        // Separating axis test over all axes.
        let mut misses = are_apart(&self.ranges[0], &facing.0[0]);
        for (own, facing) in self.ranges.iter().zip(&facing.0).skip(1) {
            misses = misses | are_apart(own, facing);
        }
        misses
    }
}

#[cfg(feature = "testing")]
impl From<Ranges> for Path {
    fn from(Ranges { low, high }: Ranges) -> Self {
        let ranges = |k: usize| [low[0][k], low[1][k], -high[0][k], -high[1][k]];
        Self { ranges: std::array::from_fn(ranges) }
    }
}
