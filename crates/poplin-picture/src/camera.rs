//! Camera and framing.

use glam::DVec3;
use poplin_geometry::wide;
use poplin_model::View;

use super::Surface;
use super::surface::is_drawable;

/// Tangent of half the vertical field of view: 15 degrees, a portrait lens with little distortion.
pub const TAN_HALF_FIELD: f64 = 0.268;

/// Fraction of the picture's half-width that the cloths may fill; the rest is a margin for the
/// label.
const FILL: f64 = 0.86;

/// Distance from its first position within which a cloth is framed, in diagonals of the first
/// moment.
const REACH: f64 = 1.25;

/// Fraction of outlying vertices ignored for the reach, on each side of each axis.
const OUTLIER_FRACTION: f64 = 0.01;

/// Maximum number of vertices in one order statistic; more are sampled evenly.
const SAMPLE_COUNT: usize = 50_000;

/// Returns the view that shows these moments best: [`View::ABOVE`] if their height is less than a
/// quarter of their width, otherwise [`View::THREE_QUARTER`].
pub fn fitting_view(moments: &[Vec<Surface>]) -> View {
    view_of_box(bounds(framed_points(moments).concat().into_iter()))
}

/// Returns the view that shows this box \[m\] best.
pub(super) fn view_of_box([low, high]: [DVec3; 2]) -> View {
    let extent = high - low;
    if extent.y < 0.25 * extent.x.max(extent.z) { View::ABOVE } else { View::THREE_QUARTER }
}

/// Perspective camera for square pictures, y up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    pub(super) eye: DVec3,
    pub(super) right: DVec3,
    pub(super) up: DVec3,
    pub(super) forward: DVec3,
    /// Distance of the near plane \[m\].
    pub(super) near: f64,
    /// Distance of the eye from the center of the framed box \[m\].
    pub(super) distance: f64,
    /// Lowest and highest corner of the framed box \[m\].
    pub(super) bounds: [DVec3; 2],
    /// Height of the floor \[m\].
    pub(super) floor: f64,
}

impl Camera {
    /// Returns the closest camera in this direction with all moments in the frame.
    ///
    /// A cloth that flies or falls away does not shrink the rest to dots: vertices far from the
    /// center of their moment are ignored and may leave the frame, as are those that are not
    /// finite. The limit is the box of the first moment (without 1 % of outliers per side) plus one
    /// and a quarter of its diagonals. Without any vertex the frame is a metre around the origin.
    pub fn framing(moments: &[Vec<Surface>], view: View) -> Self {
        Self::around(framed_points(moments).concat(), &[], 0.0, view)
    }

    /// Returns the closest camera in this direction with all points in the frame, and the points of
    /// the scenery no farther than `reach` \[m\] from them.
    pub(super) fn around(
        mut points: Vec<DVec3>,
        scenery: &[DVec3],
        reach: f64,
        view: View,
    ) -> Self {
        let radians = |degrees: f64| if degrees.is_finite() { degrees.to_radians() } else { 0.0 };
        let (sin_azimuth, cos_azimuth) = radians(view.azimuth).sin_cos();
        let (sin_elevation, cos_elevation) = radians(view.elevation.clamp(-89.0, 89.0)).sin_cos();
        let forward =
            -DVec3::new(sin_azimuth * cos_elevation, sin_elevation, cos_azimuth * cos_elevation);
        // Right-handed: up = right x forward.
        let right = DVec3::new(cos_azimuth, 0.0, -sin_azimuth);
        let up = right.cross(forward);

        let [low, high] = box_around(&points);
        if points.is_empty() {
            points = vec![low, high];
        }
        let [low, high] = [low - DVec3::splat(reach), high + DVec3::splat(reach)];
        points.extend(
            scenery.iter().filter(|point| point.cmpge(low).all() && point.cmple(high).all()),
        );
        let bounds = box_around(&points);
        let center = (bounds[0] + bounds[1]) * 0.5;
        // A single point, or a cloth so far out that its vertices coincide, still needs a frame of
        // some size.
        let radius =
            ((bounds[1] - bounds[0]).length() * 0.5).max(1e-3 + center.abs().max_element() * 1e-6);

        let across = fit(points
            .iter()
            .map(|&point| ((point - center).dot(right), (point - center).dot(forward))));
        let upward = fit(points
            .iter()
            .map(|&point| ((point - center).dot(up), (point - center).dot(forward))));
        let distance = across.1.max(upward.1).max(radius * 0.5);
        let eye = center + right * across.0 + up * upward.0 - forward * distance;
        let (near, floor) = (radius * 1e-3, bounds[0].y);
        Self { eye, right, up, forward, near, distance, bounds, floor }
    }

    /// Returns cameras in these directions, at equal distances from the center of the box of all
    /// points, each with all points in the frame.
    pub(super) fn around_from(points: &[DVec3], views: &[View]) -> Vec<Self> {
        let [low, high] = box_around(points);
        let center = (low + high) * 0.5;
        let mut cameras: Vec<_> =
            views.iter().map(|&view| Self::around(points.to_vec(), &[], 0.0, view)).collect();
        let t = TAN_HALF_FIELD * FILL;
        let needed = |camera: &Self| {
            let needed = |&point: &DVec3| {
                let DVec3 { x, y, z } = camera.to_axes(point - center);
                // |s| <= t (D + z)  =>  D >= |s| / t - z
                x.abs().max(y.abs()) / t - z
            };
            points.iter().map(needed).fold(camera.distance, f64::max)
        };
        let distance = cameras.iter().map(needed).fold(0.0, f64::max);
        for camera in &mut cameras {
            camera.eye = center - camera.forward * distance;
            camera.distance = distance;
        }
        cameras
    }

    /// Moves the camera back to at least this distance \[m\].
    pub(super) fn no_nearer_than(self, distance: f64) -> Self {
        let back = (distance - self.distance).max(0.0);
        Self { eye: self.eye - self.forward * back, distance: self.distance + back, ..self }
    }

    /// Converts a position to camera axes: right, up and ahead \[m\].
    pub(super) fn to_view(self, position: DVec3) -> DVec3 {
        self.to_axes(position - self.eye)
    }

    /// Converts a direction to camera axes.
    pub(super) fn to_axes(self, direction: DVec3) -> DVec3 {
        DVec3::new(direction.dot(self.right), direction.dot(self.up), direction.dot(self.forward))
    }

    /// Projects a point in camera axes, not behind the camera, to pixels of a picture of `size`
    /// pixels.
    pub(super) fn to_pixel(view: DVec3, size: f64) -> [f64; 2] {
        // Perspective division; y points down in pixels.
        let scale = 0.5 * size / (view.z * TAN_HALF_FIELD);
        [0.5 * size + view.x * scale, 0.5 * size - view.y * scale]
    }

    /// Returns the direction of the ray through a pixel.
    pub(super) fn ray(&self, x: f64, y: f64, size: f64) -> DVec3 {
        let (across, upward) =
            ((2.0 * x / size - 1.0) * TAN_HALF_FIELD, (1.0 - 2.0 * y / size) * TAN_HALF_FIELD);
        (self.forward + self.right * across + self.up * upward).normalize()
    }
}

/// Fits the closest camera on one axis: its offset and distance, from `(offset, depth)` of all
/// points.
fn fit(points: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    // In the frame:  |s - c| <= t (D + z)  for all points, with offset c, distance D, t = fill *
    // tan(field/2) =>  max(s - t z) <= t D + c  and  max(-s - t z) <= t D - c;  equality in both
    // yields c and the smallest D.
    let t = TAN_HALF_FIELD * FILL;
    let (plus, minus) = points
        .fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |(plus, minus), (s, z)| {
            (plus.max(s - t * z), minus.max(-s - t * z))
        });
    ((plus - minus) * 0.5, (plus + minus) / (2.0 * t))
}

/// Bounding box of points \[m\]; a metre around the origin without points.
pub(super) fn box_around(points: &[DVec3]) -> [DVec3; 2] {
    if points.is_empty() {
        [DVec3::splat(-0.5), DVec3::splat(0.5)]
    } else {
        bounds(points.iter().copied())
    }
}

/// Positions of all corners of drawable triangles.
pub(super) fn drawn_points(surfaces: &[Surface]) -> Vec<DVec3> {
    let mut points = Vec::new();
    for surface in surfaces {
        let mut is_drawn = vec![false; surface.positions.len()];
        surface.drawable_triangles().flatten().for_each(|vertex| is_drawn[vertex] = true);
        let drawn = surface
            .positions
            .iter()
            .zip(is_drawn)
            .filter(|(position, is_drawn)| *is_drawn && is_drawable(**position));
        points.extend(drawn.map(|(position, _)| wide(*position)));
    }
    points
}

/// Points of each moment that count for the frame: those near its center.
pub(super) fn framed_points(moments: &[Vec<Surface>]) -> Vec<Vec<DVec3>> {
    let mut points: Vec<_> = moments.iter().map(|moment| drawn_points(moment)).collect();
    if let Some(reach) = points.iter().find_map(|points| reach_of(points)) {
        points.iter_mut().for_each(|points| keep_near(points, reach));
    }
    points
}

/// Returns the distance from its center, along each axis, within which a moment is framed if the
/// first one has these points \[m\]; `None` without a point.
pub(super) fn reach_of(points: &[DVec3]) -> Option<DVec3> {
    let [low, high] = inner_bounds(points, OUTLIER_FRACTION);
    let reach = (high - low) * 0.5 + DVec3::splat((high - low).length() * REACH + 1e-3);
    (!points.is_empty()).then_some(reach)
}

/// Drops the points of a moment that are farther than `reach` from its center.
pub(super) fn keep_near(points: &mut Vec<DVec3>, reach: DVec3) {
    // Without half of the points on each side, the bounds are the median.
    let [middle, _] = inner_bounds(points, 0.5);
    points.retain(|&point| (point - middle).abs().cmple(reach).all());
}

/// Directions of extreme points: along the axes, and between two and three of them.
const DIRECTIONS: [[f64; 3]; 13] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 1.0, 0.0],
    [1.0, -1.0, 0.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0, -1.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, -1.0],
    [1.0, 1.0, 1.0],
    [1.0, 1.0, -1.0],
    [1.0, -1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// Returns the outermost points in 26 directions, which represent all points for framing.
pub(super) fn extremes(points: &[DVec3]) -> Vec<DVec3> {
    let both = DIRECTIONS.iter().flat_map(|&it| [DVec3::from(it), -DVec3::from(it)]);
    let outermost = |direction: DVec3| {
        points.iter().copied().max_by(|a, b| a.dot(direction).total_cmp(&b.dot(direction)))
    };
    both.filter_map(outermost).collect()
}

/// Bounding box without the outermost fraction of points on each side.
fn inner_bounds(points: &[DVec3], fraction: f64) -> [DVec3; 2] {
    let mut bounds = [DVec3::ZERO; 2];
    for axis in 0..3 {
        let mut values: Vec<f64> = points
            .iter()
            .step_by(points.len().div_ceil(SAMPLE_COUNT).max(1))
            .map(|point| point[axis])
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        let skip = (values.len() as f64 * fraction) as usize;
        bounds[0][axis] = values.get(skip).copied().unwrap_or(0.0);
        bounds[1][axis] = values.iter().rev().nth(skip).copied().unwrap_or(0.0);
    }
    bounds
}

fn bounds(points: impl Iterator<Item = DVec3>) -> [DVec3; 2] {
    points.fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], point| {
        [low.min(point), high.max(point)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(offset: [f32; 3]) -> Vec<Surface> {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let positions = corners.map(|[x, y]| [x + offset[0], y + offset[1], offset[2]]).to_vec();
        vec![Surface::new(positions, vec![[0, 1, 2], [0, 2, 3]], [0; 3])]
    }

    fn pixels(camera: &Camera, moment: &[Surface]) -> Vec<[f64; 2]> {
        drawn_points(moment)
            .iter()
            .map(|&point| Camera::to_pixel(camera.to_view(point), 1.0))
            .collect()
    }

    #[test]
    fn the_frame_contains_every_moment_tightly() {
        let moments = [square([0.0; 3]), square([1.0, -0.5, 0.3])];
        let camera = Camera::framing(&moments, View::default());
        let all: Vec<_> =
            moments.iter().flat_map(|moment| pixels(&camera, moment)).flatten().collect();
        let (low, high) =
            (all.iter().copied().fold(1.0, f64::min), all.iter().copied().fold(0.0, f64::max));
        assert!((low - 0.07).abs() < 1e-9 && (high - 0.93).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn a_cloth_that_falls_away_does_not_change_the_frame() {
        let camera = Camera::framing(&[square([0.0; 3])], View::default());
        let fallen: Vec<_> = [square([0.0; 3]), square([0.0, -500.0, 0.0])].concat();
        assert_eq!(Camera::framing(&[square([0.0; 3]), fallen], View::default()), camera);
    }

    #[test]
    fn only_nearby_scenery_is_framed() {
        let moments = [square([0.0; 3])];
        let with = |scenery: &[DVec3]| {
            Camera::around(framed_points(&moments).concat(), scenery, 0.5, View::default())
        };
        assert_eq!(
            with(&[DVec3::new(0.0, -100.0, 0.0), DVec3::NAN]),
            Camera::framing(&moments, View::default())
        );
        assert_eq!(with(&[DVec3::new(0.5, -0.3, 0.0)]).bounds[0].y, -0.3);
    }

    #[test]
    fn flat_scenes_are_seen_from_above() {
        let lying = square([0.0; 3]).into_iter().map(|surface| {
            let positions = surface.positions.iter().map(|p| [p[0], 0.0, p[1]]).collect();
            Surface { positions, ..surface }
        });
        assert_eq!(fitting_view(&[lying.collect()]), View::ABOVE);
        assert_eq!(fitting_view(&[square([0.0; 3])]), View::THREE_QUARTER);
        assert_eq!(fitting_view(&[]), View::THREE_QUARTER);
    }

    #[test]
    fn nothing_to_see_gives_a_finite_camera() {
        let broken = vec![Surface::new(vec![[f32::NAN; 3]; 3], vec![[0, 1, 2]], [0; 3])];
        let point = vec![Surface::new(vec![[1e15; 3]; 3], vec![[0, 1, 2]], [0; 3])];
        for moments in [vec![], vec![vec![]], vec![broken], vec![point]] {
            let camera =
                Camera::framing(&moments, View { azimuth: f64::NAN, elevation: f64::INFINITY });
            assert!(camera.eye.is_finite() && camera.near > 0.0, "{camera:?}");
        }
    }
}
