//! Lines on surfaces.

use glam::{DVec3, Vec2, Vec3};
use poplin_geometry::wide;

use super::Color;
use super::camera::{Camera, TAN_HALF_FIELD};
use super::color::to_linear;
use super::raster::{Canvas, Corner};
use super::surface::is_drawable;
use super::visibility::Visibility;

/// Width of a line, as a fraction of the tile's side; at least a pixel and a half.
const WIDTH: f64 = 1.0 / 420.0;

/// Lift of a line towards the eye above the surface that it lies on, in line widths.
const LIFT: f64 = 1.5;

/// Fraction of its first and last segment that a line leaves free, so that the end of one line is
/// distinct from the start of another.
const GAP: f64 = 0.2;

/// Line through points, in one colour, drawn where no surface hides it.
#[derive(Debug, Clone)]
pub struct Line {
    /// Points \[m\]. Segments with an end that is not finite are skipped.
    pub points: Vec<[f32; 3]>,
    /// Colour, independent of the light.
    pub color: Color,
}

/// Draws a line into a canvas with `samples` samples per pixel.
pub(super) fn draw_line(canvas: &mut Canvas, line: &Line, camera: &Camera, samples: usize) {
    let light = to_linear(line.color);
    let width = (WIDTH * canvas.size as f64).max(1.5 * samples as f64);
    let segment_count = line.points.len().saturating_sub(1);
    for (index, pair) in line.points.windows(2).enumerate() {
        if !pair.iter().all(|&point| is_drawable(point)) {
            continue;
        }
        let [a, b] = [pair[0], pair[1]].map(|point| camera.to_view(wide(point)));
        let begin = if index == 0 { a.lerp(b, GAP) } else { a };
        let end = if index + 1 == segment_count { b.lerp(a, GAP) } else { b };
        let [first, second, third, fourth] =
            ribbon([begin, end], width, canvas.size as f64).map(corner);
        canvas.draw([first, second, third], camera.near, |_, _, _| light);
        canvas.draw([first, third, fourth], camera.near, |_, _, _| light);
    }
}

/// Returns the corners of a segment as a ribbon that faces the eye, in camera axes, `width` samples
/// wide on a picture of `size` samples.
fn ribbon([a, b]: [DVec3; 2], width: f64, size: f64) -> [DVec3; 4] {
    // One sample at distance z is 2 z tan(field/2) / size wide; moved along its ray a point stays
    // where it is in the picture.
    let sample = 2.0 * TAN_HALF_FIELD / size;
    let [a, b] = [a, b].map(|end| end * (1.0 - LIFT * width * sample));
    let along = (b.truncate() * a.z - a.truncate() * b.z).normalize_or_zero();
    let side = |end: DVec3| along.perp().extend(0.0) * (0.5 * width * sample * end.z);
    [a + side(a), b + side(b), b - side(b), a - side(a)]
}

fn corner(view: DVec3) -> Corner {
    Corner {
        view,
        normal: Vec3::ZERO,
        visibility: Visibility { front: Vec2::ONE, back: Vec2::ONE },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContactSheet, Image, Surface, View};

    /// Square of a metre, seen from the front, with a line.
    fn draw(points: Vec<[f32; 3]>) -> Image {
        let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let positions = corners.map(|[x, y]| [x, y, 0.0]).to_vec();
        let mut sheet = ContactSheet::new(1, 1, 200).unwrap().with_view(View::FRONT);
        let line = Line { points, color: [255, 0, 0] };
        sheet
            .add_with_lines(
                "",
                vec![Surface::new(positions, vec![[0, 1, 2], [0, 2, 3]], [220; 3])],
                vec![line],
            )
            .unwrap();
        sheet.render()
    }

    fn red_count(image: &Image) -> usize {
        image.pixels.iter().filter(|pixel| i32::from(pixel[0]) > i32::from(pixel[1]) + 40).count()
    }

    #[test]
    fn lines_are_visible_on_a_surface_and_hidden_behind_it() {
        let level =
            |depth: f32| draw(vec![[0.1, 0.5, depth], [0.5, 0.5, depth], [0.9, 0.5, depth]]);
        let on = red_count(&level(0.0));
        // 0.8 m less two gaps of 0.08 m, where a metre takes 172 of the 200 pixels, at most two
        // pixels wide.
        assert!((80..=240).contains(&on), "{on}");
        assert_eq!(red_count(&level(-0.1)), 0);
        assert!(red_count(&level(0.1)) >= on);
    }

    #[test]
    fn degenerate_lines_draw_without_panic() {
        let nothing = red_count(&draw(Vec::new()));
        assert_eq!(nothing, 0);
        for points in [
            vec![[0.5; 3]],
            vec![[0.5; 3]; 3],
            vec![[f32::NAN; 3], [0.0; 3], [1.0, 1.0, 0.0]],
            vec![[0.0, 0.0, 9e9], [0.0; 3]],
        ] {
            draw(points);
        }
    }
}
