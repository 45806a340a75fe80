//! Axis-aligned bounding boxes.

use glam::DVec3;

/// Closed axis-aligned box \[m\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lowest corner.
    pub low: DVec3,
    /// Highest corner.
    pub high: DVec3,
}

impl Bounds {
    /// Box without points; the union with another box is that box.
    pub const EMPTY: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    /// Returns the smallest box around points. A NaN coordinate makes it meaningless.
    pub fn of(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |Self { low, high }, point| Self {
            low: low.min(point),
            high: high.max(point),
        })
    }

    /// Returns the smallest box around two boxes.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Returns the box extended by `margin` \[m\] on all sides.
    #[must_use]
    pub fn grown(self, margin: f64) -> Self {
        Self { low: self.low - margin, high: self.high + margin }
    }

    /// Returns the lengths of the sides \[m\], negative for an empty box.
    pub fn size(&self) -> DVec3 {
        self.high - self.low
    }

    /// Returns the center \[m\].
    pub fn center(&self) -> DVec3 {
        (self.low + self.high) * 0.5
    }

    /// Tests whether both boxes have a common point.
    pub fn touches(&self, other: &Self) -> bool {
        (self.low.cmple(other.high) & other.low.cmple(self.high)).all()
    }

    /// Returns the squared distance of a point from the box \[m^2\], 0 inside.
    pub fn square_distance(&self, point: DVec3) -> f64 {
        point.distance_squared(point.clamp(self.low, self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_touch_where_they_share_a_point() {
        let unit = Bounds::of([DVec3::ZERO, DVec3::ONE]);
        let beside = Bounds::of([DVec3::X, DVec3::new(2.0, 1.0, 1.0)]);
        assert!(unit.touches(&beside) && !unit.touches(&beside.grown(-0.1)));
        assert!(!unit.touches(&Bounds::EMPTY));
        assert_eq!(unit.union(Bounds::EMPTY), unit);
        assert_eq!(unit.union(beside).size(), DVec3::new(2.0, 1.0, 1.0));
        assert_eq!(beside.center(), DVec3::new(1.5, 0.5, 0.5));
        assert_eq!(unit.square_distance(DVec3::new(3.0, 0.5, 2.0)), 5.0);
    }
}
