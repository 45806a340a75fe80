//! Triangle rasterizer with a depth buffer.
//!
//! This replaces `euc`, the software renderer on crates.io: its 0.5.3 asserts on triangles without
//! area and on vertices behind the camera, and does not clip; failed cloth simulations have all of
//! those. `tiny-skia` and `raqote` are 2D.

use glam::{DVec3, Vec2, Vec3};

use super::Camera;
use super::visibility::Visibility;

/// Corner in camera axes with its unit normal, or zero, and the light that reaches it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub(super) view: DVec3,
    pub(super) normal: Vec3,
    pub(super) visibility: Visibility,
}

impl Corner {
    fn lerp(self, other: Self, fraction: f64) -> Self {
        let part = fraction as f32;
        let (a, b) = (self.visibility, other.visibility);
        let visibility =
            Visibility { front: a.front.lerp(b.front, part), back: a.back.lerp(b.back, part) };
        Self {
            view: self.view.lerp(other.view, fraction),
            normal: self.normal.lerp(other.normal, part),
            visibility,
        }
    }
}

/// Square picture of linear light with a depth buffer.
pub(super) struct Canvas {
    pub(super) size: usize,
    pub(super) light: Vec<Vec3>,
    /// 1 / depth of the drawn surface, 0 for the background.
    nearness: Vec<f32>,
}

impl Canvas {
    pub(super) fn new(size: usize) -> Self {
        Self { size, light: vec![Vec3::ZERO; size * size], nearness: vec![0.0; size * size] }
    }

    /// Draws a triangle. `shade(normal, visibility, is_front)` returns the light of a sample from
    /// the interpolated normal, which is not normalized, and the visibility of the visible side.
    pub(super) fn draw(
        &mut self,
        corners: [Corner; 3],
        near: f64,
        shade: impl Fn(Vec3, Vec2, bool) -> Vec3,
    ) {
        let (clipped, count) = clip_near(corners, near);
        for last in 2..count {
            let triangle = [clipped[0], clipped[last - 1], clipped[last]];
            let pixels = triangle.map(|corner| Camera::to_pixel(corner.view, self.size as f64));
            // Perspective-correct interpolation: attribute / depth is linear on the screen. The
            // normal's length does not matter.
            let inverse = triangle.map(|corner| (1.0 / corner.view.z) as f32);
            let normals = [0, 1, 2].map(|index| triangle[index].normal * inverse[index]);
            fill_triangle(pixels, self.size, |sample, weights, is_front| {
                let nearness =
                    weights[0] * inverse[0] + weights[1] * inverse[1] + weights[2] * inverse[2];
                // Depth test: a larger 1 / depth is nearer.
                if nearness > self.nearness[sample] {
                    self.nearness[sample] = nearness;
                    let normal =
                        normals[0] * weights[0] + normals[1] * weights[1] + normals[2] * weights[2];
                    let side = |corner: usize| {
                        let visibility = triangle[corner].visibility;
                        if is_front { visibility.front } else { visibility.back }
                    };
                    let parts = [0, 1, 2].map(|corner| {
                        side(corner) * (weights[corner] * inverse[corner] / nearness)
                    });
                    self.light[sample] = shade(normal, parts[0] + parts[1] + parts[2], is_front);
                }
            });
        }
    }
}

/// Clips a triangle at the near plane (Sutherland and Hodgman, 1974): a convex polygon of up to
/// four corners.
fn clip_near(corners: [Corner; 3], near: f64) -> ([Corner; 4], usize) {
    let mut clipped = [corners[0]; 4];
    let mut count = 0;
    let mut push = |corner| {
        clipped[count] = corner;
        count += 1;
    };
    for index in 0..3 {
        let (a, b) = (corners[index], corners[(index + 1) % 3]);
        if a.view.z >= near {
            push(a);
        }
        if (a.view.z >= near) != (b.view.z >= near) {
            let fraction = (near - a.view.z) / (b.view.z - a.view.z);
            push(a.lerp(b, fraction));
        }
    }
    (clipped, count)
}

/// Calls `fill(sample, weights, is_front)` for each sample whose centre lies in the triangle, in a
/// square grid of `size` samples, y down. `sample` is `row * size + column`; front is
/// counter-clockwise as seen.
pub(super) fn fill_triangle(
    corners: [[f64; 2]; 3],
    size: usize,
    mut fill: impl FnMut(usize, [f32; 3], bool),
) {
    let [a, b, c] = corners;
    let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let inverse_area = 1.0 / area;
    // Degenerate or not finite: draws nothing.
    if area == 0.0 || !inverse_area.is_finite() || !area.is_finite() {
        return;
    }
    let range = |axis: usize| {
        let values = corners.map(|corner| corner[axis]);
        // A sample counts if its centre is inside: centres are at halves.
        let low = (values[0].min(values[1]).min(values[2]) - 0.5).clamp(0.0, size as f64);
        let high = (values[0].max(values[1]).max(values[2]) + 0.5).clamp(0.0, size as f64);
        low as usize..high as usize
    };
    let (columns, rows) = (range(0), range(1));
    // Barycentric weight of a corner = area of the sample with the opposite side / area; linear in
    // x, so a row steps by a constant.
    let step_a = (b[1] - c[1]) * inverse_area;
    let step_b = (c[1] - a[1]) * inverse_area;
    for row in rows {
        let (x, y) = (columns.start as f64 + 0.5, row as f64 + 0.5);
        let mut of_a = ((c[0] - b[0]) * (y - b[1]) - (c[1] - b[1]) * (x - b[0])) * inverse_area;
        let mut of_b = ((a[0] - c[0]) * (y - c[1]) - (a[1] - c[1]) * (x - c[0])) * inverse_area;
        for column in columns.clone() {
            let of_c = 1.0 - of_a - of_b;
            if of_a >= 0.0 && of_b >= 0.0 && of_c >= 0.0 {
                fill(row * size + column, [of_a as f32, of_b as f32, of_c as f32], area < 0.0);
            }
            of_a += step_a;
            of_b += step_b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(view: [f64; 3]) -> Corner {
        let visibility = Visibility { front: Vec2::ONE, back: Vec2::ONE };
        Corner { view: DVec3::from(view), normal: Vec3::Z, visibility }
    }

    fn covered(corners: [[f64; 2]; 3]) -> Vec<(usize, bool)> {
        let mut samples = Vec::new();
        fill_triangle(corners, 4, |sample, _, is_front| samples.push((sample, is_front)));
        samples
    }

    #[test]
    fn two_triangles_cover_their_square_without_a_gap() {
        let (a, b, c, d) = ([0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]);
        let mut samples: Vec<_> = covered([a, c, b])
            .into_iter()
            .chain(covered([a, d, c]))
            .map(|(sample, _)| sample)
            .collect();
        samples.sort_unstable();
        samples.dedup();
        assert_eq!(samples, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn the_front_is_counter_clockwise() {
        let corners = [[0.0, 4.0], [4.0, 4.0], [2.0, 0.0]];
        assert!(covered(corners).iter().all(|&(_, is_front)| is_front));
        assert!(
            covered([corners[1], corners[0], corners[2]]).iter().all(|&(_, is_front)| !is_front)
        );
    }

    #[test]
    fn degenerate_triangles_draw_nothing() {
        assert!(covered([[1.0, 1.0]; 3]).is_empty());
        assert!(covered([[f64::NAN, 0.0], [4.0, 0.0], [0.0, 4.0]]).is_empty());
        assert!(covered([[f64::INFINITY, 0.0], [4.0, 0.0], [0.0, 4.0]]).is_empty());
    }

    #[test]
    fn the_nearer_triangle_wins_in_any_order() {
        let triangle = |depth: f64| {
            [[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]]
                .map(|[x, y]| corner([x * depth, y * depth, depth]))
        };
        for order in [[1.0, 2.0], [2.0, 1.0]] {
            let mut canvas = Canvas::new(8);
            order.iter().for_each(|&depth| {
                canvas.draw(triangle(depth), 0.1, |_, _, _| Vec3::splat(depth as f32))
            });
            assert_eq!(canvas.light[4 * 8 + 4], Vec3::ONE);
        }
    }

    #[test]
    fn a_triangle_through_the_camera_plane_is_clipped() {
        let corners = [[0.0, 0.0, -5.0], [1.0, 0.0, 5.0], [-1.0, 0.0, 5.0]].map(corner);
        let (clipped, count) = clip_near(corners, 0.5);
        assert_eq!(count, 4);
        assert!(clipped.iter().all(|corner| corner.view.z >= 0.5 - 1e-12));
    }
}
