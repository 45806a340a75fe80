//! Convex shapes bounded by planes.

use glam::DVec3;

use crate::{Bounds, wide};

/// Plane: the points with `normal . x + distance < 0` are behind it.
#[derive(Debug, Clone, Copy)]
pub struct HalfSpace {
    /// Unit normal, out of the shape.
    pub normal: DVec3,
    /// Distance of the origin in front of the plane \[m\].
    pub distance: f64,
}

impl HalfSpace {
    /// Half space behind the plane `normal . x = offset`.
    pub fn new(normal: [f32; 3], offset: f32) -> Self {
        Self { normal: wide(normal), distance: -f64::from(offset) }
    }

    /// Returns the distance of a point in front of the plane \[m\]; below 0 behind it.
    pub fn height(&self, point: DVec3) -> f64 {
        self.normal.dot(point) + self.distance
    }
}

/// Returns the face on each plane of a convex shape, cut far beyond the box `reach` where it is
/// unbounded; fewer than three corners for a redundant plane.
pub fn convex_sides(planes: &[HalfSpace], reach: [DVec3; 2]) -> impl Iterator<Item = Vec<DVec3>> {
    let [low, high] = reach;
    let (middle, size) = ((low + high) * 0.5, (high - low).length());
    // A large square on the plane, clipped by all other planes.
    let side = move |(index, plane): (usize, &HalfSpace)| {
        let center = middle - plane.normal * plane.height(middle);
        let (across, upward) = plane.normal.any_orthonormal_pair();
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let polygon = corners.map(|[x, y]| center + (across * x + upward * y) * size);
        clip_polygon(&polygon, planes.iter().take(index).chain(&planes[index + 1..]), size * 1e-9)
    };
    planes.iter().enumerate().map(side)
}

/// Half extent of the box in which a convex shape is evaluated: ten thousand times the distance of
/// its farthest plane from the origin.
fn far_reach(planes: &[HalfSpace]) -> DVec3 {
    let farthest = planes.iter().map(|plane| plane.distance.abs()).fold(0.0, f64::max);
    DVec3::splat(1e4 * if farthest > 0.0 { farthest } else { 1.0 })
}

/// Tests whether no point is behind all planes. Points farther away than ten thousand times the
/// planes' distance from the origin are ignored.
pub fn is_empty_convex(planes: &[HalfSpace]) -> bool {
    let reach = far_reach(planes);
    convex_sides(planes, [-reach, reach]).all(|side| side.len() < 3)
}

/// Returns the faces of a bounded convex shape, their corners counter-clockwise seen from outside;
/// `None` if it is unbounded. Shapes that extend farther than ten thousand times their planes'
/// distance from the origin count as unbounded.
pub fn convex_polygons(planes: &[HalfSpace]) -> Option<Vec<Vec<DVec3>>> {
    let reach = far_reach(planes);
    let Bounds { low, high } = Bounds::of(convex_sides(planes, [-reach, reach]).flatten());
    let has_end = low.cmpgt(-reach).all() && high.cmplt(reach).all() && low.cmplt(high).all();
    // Computed again in a smaller box: corners are as precise as the box is small.
    let margin = (high - low) * 0.1;
    has_end.then(|| convex_sides(planes, [low - margin, high + margin]).collect())
}

/// Returns the planes of a box, their fronts outside.
pub fn walls([low, high]: [DVec3; 2]) -> [HalfSpace; 6] {
    let wall = |normal: DVec3, point: DVec3| HalfSpace { normal, distance: -normal.dot(point) };
    let [x, y, z] = DVec3::AXES;
    [wall(x, high), wall(y, high), wall(z, high), wall(-x, low), wall(-y, low), wall(-z, low)]
}

/// Clips a polygon to the points behind all planes (Sutherland and Hodgman, 1974).
pub fn clip_polygon<'a>(
    polygon: &[DVec3],
    planes: impl IntoIterator<Item = &'a HalfSpace>,
    tolerance: f64,
) -> Vec<DVec3> {
    let mut polygon = polygon.to_vec();
    for plane in planes {
        let mut kept = Vec::with_capacity(polygon.len() + 1);
        for (index, &a) in polygon.iter().enumerate() {
            let b = polygon[(index + 1) % polygon.len()];
            let [from, to] = [a, b].map(|point| plane.height(point));
            if from <= tolerance {
                kept.push(a);
            }
            if (from <= tolerance) != (to <= tolerance) {
                // Intersection of the edge with the plane: height 0.
                kept.push(a.lerp(b, from / (from - to)));
            }
        }
        polygon = kept;
    }
    polygon
}
