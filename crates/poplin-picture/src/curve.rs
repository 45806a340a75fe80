//! Curved rendering of coarse triangles: Phong tessellation (Boubekeur and Alexa, 2008).

use glam::{DVec3, Vec2};
use poplin_geometry::wide;

use super::raster::Corner;
use super::visibility::Visibility;
use super::{Camera, Surface};

/// Strength of the curvature; 3/4 in the paper, less here, where cloth has creases.
const STRENGTH: f64 = 0.6;

/// Length below which an edge on the screen is drawn straight \[pixels\].
const STRAIGHT: f64 = 8.0;

/// Maximum number of pieces per edge.
const MAX_PIECES: u32 = 4;

/// Returns the number of pieces per edge of a surface: the same for all, as neighbours with
/// different numbers would leave gaps.
pub(super) fn pieces(surface: &Surface, camera: &Camera, size: usize) -> u32 {
    let pixel = |vertex: usize| {
        let view = camera.to_view(wide(surface.positions[vertex]));
        (view.z > camera.near).then(|| Camera::to_pixel(view, size as f64))
    };
    let (mut sum, mut count) = (0.0, 0u32);
    for [a, b, _] in surface.drawable_triangles() {
        if let (Some(a), Some(b)) = (pixel(a), pixel(b)) {
            sum += (a[0] - b[0]).hypot(a[1] - b[1]);
            count += 1;
        }
    }
    let mean = sum / f64::from(count.max(1));
    ((mean / STRAIGHT) as u32 + u32::from(mean > STRAIGHT)).clamp(1, MAX_PIECES)
}

/// Calls `draw` for each piece of a triangle whose edges are divided into `pieces`.
pub(super) fn for_each_piece(corners: [Corner; 3], pieces: u32, mut draw: impl FnMut([Corner; 3])) {
    if pieces == 1 {
        return draw(corners);
    }
    let step = 1.0 / f64::from(pieces);
    let at = |row: u32, column: u32| {
        let (b, c) = (f64::from(column) * step, f64::from(row) * step);
        curved(&corners, [1.0 - b - c, b, c])
    };
    for row in 0..pieces {
        for column in 0..pieces - row {
            draw([at(row, column), at(row, column + 1), at(row + 1, column)]);
            if column + row + 1 < pieces {
                draw([at(row, column + 1), at(row + 1, column + 1), at(row + 1, column)]);
            }
        }
    }
}

/// Returns the point with these barycentric weights on the curved triangle, moved towards the
/// tangent planes of the corners.
fn curved(corners: &[Corner; 3], weights: [f64; 3]) -> Corner {
    // p* = sum over corners k of w_k (p projected to the tangent plane of k)
    let flat: DVec3 = (0..3).map(|k| corners[k].view * weights[k]).sum();
    let shift: DVec3 = (0..3)
        .map(|k| {
            let normal = corners[k].normal.as_dvec3();
            normal * (corners[k].view - flat).dot(normal) * weights[k]
        })
        .sum();
    let parts = weights.map(|weight| weight as f32);
    let mixed = |side: fn(&Visibility) -> Vec2| -> Vec2 {
        (0..3).map(|k| side(&corners[k].visibility) * parts[k]).sum()
    };
    Corner {
        view: flat + shift * STRENGTH,
        normal: (0..3).map(|k| corners[k].normal * parts[k]).sum(),
        visibility: Visibility { front: mixed(|v| v.front), back: mixed(|v| v.back) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    /// Corners on the unit sphere.
    fn corners() -> [Corner; 3] {
        let visibility = Visibility { front: Vec2::ONE, back: Vec2::ONE };
        [Vec3::X, Vec3::Y, Vec3::Z].map(|normal| Corner {
            view: normal.as_dvec3(),
            normal,
            visibility,
        })
    }

    #[test]
    fn a_coarse_ball_bulges_between_its_corners_and_keeps_them() {
        let mut middle = 0.0f64;
        let mut area = 0.0;
        for_each_piece(corners(), 3, |piece| {
            let [a, b, c] = piece.map(|corner| corner.view);
            area += (b - a).cross(c - a).length() / 2.0;
            middle = middle.max(((a + b + c) / 3.0).length());
            assert!(piece.iter().all(|corner| corner.view.length() <= 1.0 + 1e-9));
        });
        // The flat triangle has distance 0.577 from the center and area 0.866; the octant of the
        // ball 1 and 1.571.
        assert!(middle > 0.7 && area > 0.95, "{middle} {area}");
        let [a, ..] = corners();
        assert_eq!(curved(&corners(), [1.0, 0.0, 0.0]).view, a.view);
    }

    #[test]
    fn a_flat_triangle_stays_flat() {
        let flat = corners().map(|corner| Corner { normal: Vec3::ONE.normalize(), ..corner });
        for_each_piece(flat, 4, |piece| {
            piece.iter().for_each(|corner| {
                assert!((corner.view.element_sum() - 1.0).abs() < 1e-6, "{}", corner.view);
            });
        });
    }
}
