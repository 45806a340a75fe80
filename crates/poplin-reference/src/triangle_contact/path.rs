//! Paths.

use glam::Vec3;
use poplin_layout::{TRIANGLE_AXES, TRIANGLE_DIAGONAL};

use super::lanes::{Real, Vector};

/// Axes along which paths are compared: those of space and, between each two of them, both diagonals.
pub(super) const AXES: usize = 3 * TRIANGLE_AXES as usize;

/// Coordinates of a point along the axes: on diagonals those of a vector that is longer by the root of 2.
#[inline(always)]
fn along<V: Vector>(v: V) -> [V::Real; AXES] {
    let [x, y, z] = v.coordinates();
    [x, y, z, x + y, x - y, y + z, y - z, z + x, z - x]
}

/// Length of the vectors of the axes, rounded up.
const LENGTHS: [f32; AXES] = {
    const D: f32 = TRIANGLE_DIAGONAL;
    [1.0, 1.0, 1.0, D, D, D, D, D, D]
};

/// What is in reach of a point on a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach<R = f32> {
    /// From how far away it pushes \[m\].
    pub push: R,
    /// From how far away it may cross something, without its move \[m\].
    pub cross: R,
}

/// Ends of the ranges of a path along an axis: the lowest coordinate at the start and at the end, and the highest, these with their
/// sign changed. So the ranges around several are the least of each.
pub(super) const SIDES: usize = 4;

/// Ranges along the axes of what is in reach at the start and at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path<R = f32> {
    /// See [`SIDES`].
    pub(super) ranges: [[R; SIDES]; AXES],
}

/// The ranges of a path, end by end.
#[cfg(feature = "testing")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranges {
    /// Lowest coordinates at the start, and at the end.
    pub low: [[f32; AXES]; 2],
    /// Highest coordinates.
    pub high: [[f32; AXES]; 2],
}

/// The least of each of two; the first where either is no number.
#[inline(always)]
pub(super) fn least_of<R: Real, const K: usize>(a: &[R; K], b: &[R; K]) -> [R; K] {
    let mut least = *a;
    for (least, b) in least.iter_mut().zip(b) {
        *least = b.lesser(*least);
    }
    least
}

/// What the ranges of something have to be beyond to be missed by a path: its highest coordinates, and its lowest with their sign
/// changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facing<R = f32>(pub(super) [[R; SIDES]; AXES]);

impl Facing {
    /// Widens it around another.
    #[inline(always)]
    pub(super) fn include(&mut self, other: &Self) {
        for (own, other) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *own = other.greater(*own);
        }
    }
}

/// Whether ranges along an axis are apart all the time from a path that is [`Facing`] them.
#[inline(always)]
fn are_apart<R: Real>(ranges: &[R; SIDES], facing: &[R; SIDES]) -> R::Mask {
    let [a, b] = [facing[0].is_less(ranges[0]), facing[1].is_less(ranges[1])];
    let [c, d] = [facing[2].is_less(ranges[2]), facing[3].is_less(ranges[3])];
    (a & b) | (c & d)
}

impl Path {
    /// Around nothing.
    pub const NOTHING: Self = Self { ranges: [[f32::INFINITY; SIDES]; AXES] };
    /// Around everything.
    pub const EVERYTHING: Self = Self { ranges: [[f32::NEG_INFINITY; SIDES]; AXES] };

    /// Between two corners all the time; diagonals keep nothing apart.
    pub(super) fn in_box(low: Vec3, high: Vec3) -> Self {
        let mut path = Self::EVERYTHING;
        for k in 0..3 {
            path.ranges[k] = [low[k], low[k], -high[k], -high[k]];
        }
        path
    }

    /// Of a ball that stays.
    pub(super) fn still(at: Vec3, radius: f32) -> Self {
        Self::new([at; 2], [Vec3::ZERO; 2], &Reach { push: radius, cross: 0.0 })
    }

    /// Of some points that stay, and what is between them.
    pub(super) fn between(points: &[Vec3]) -> Self {
        let mut sum = Self::NOTHING;
        points.iter().for_each(|&at| sum.include(&Self::still(at, 0.0)));
        sum
    }

    /// Its lowest and highest coordinate along an axis, at any time.
    pub(super) fn extent(&self, axis: usize) -> [f32; 2] {
        let [low, low_end, high, high_end] = self.ranges[axis];
        [low.min(low_end), -high.min(high_end)]
    }

    /// Its lowest and highest point at the start; none if it is around nothing.
    pub(super) fn corners(&self) -> Option<[Vec3; 2]> {
        let corner = |side: usize| Vec3::from_array([0, 1, 2].map(|k| self.ranges[k][side]));
        let corners = [corner(0), -corner(2)];
        corners[0].cmple(corners[1]).all().then_some(corners)
    }

    /// Around the paths of some rows.
    #[inline(always)]
    pub(super) fn around(rows: &[u32], paths: &[Self]) -> Self {
        let mut sum = Self::NOTHING;
        for &row in rows {
            sum.include(&paths[row as usize]);
        }
        sum
    }

    /// Its ranges.
    #[cfg(feature = "testing")]
    pub fn ranges(&self) -> Ranges {
        let side = |side: usize| self.ranges.map(|ranges| ranges[side]);
        Ranges { low: [side(0), side(1)], high: [side(2), side(3)].map(|end| end.map(|it| -it)) }
    }
}

impl<R: Real> Path<R> {
    /// Of a point that moves from one end to the other. In reach is what it may push, and what it may cross there or anywhere on a step
    /// from there.
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
                *range = at[side] - (cross + step[side].greater(zero)).greater(push);
            }
        }
        Self { ranges }
    }

    /// Widens it around another.
    #[inline(always)]
    pub fn include(&mut self, other: &Self) {
        for (own, other) in self.ranges.iter_mut().zip(&other.ranges) {
            *own = least_of(own, other);
        }
    }

    /// See [`Facing`].
    #[inline(always)]
    pub(super) fn facing(&self) -> Facing<R> {
        let mut all = Facing(self.ranges);
        for facing in &mut all.0 {
            let [low, low_end, high, high_end] = *facing;
            *facing = [-high, -high_end, -low, -low_end];
        }
        all
    }

    /// Whether an axis keeps them apart all the time.
    #[inline(always)]
    pub fn misses(&self, other: &Self) -> R::Mask {
        let facing = other.facing();
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
