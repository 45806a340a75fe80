//! Soft shadow on the ground.

use glam::DVec3;
use poplin_geometry::wide;

use super::Surface;
use super::raster::fill_triangle;

/// Cells of the shadow map on each side.
const SIZE: usize = 160;
/// Radius of one box blur in cells; three box blurs approximate a Gaussian.
const BLUR_RADIUS: usize = 4;

/// Fraction of the sky that cloth hides from each point of the ground.
pub(super) struct Shadow {
    low: DVec3,
    cell: f64,
    cover: Vec<f32>,
}

impl Shadow {
    /// Creates the shadow straight below the surfaces on the plane `y = center.y`, out to `radius`
    /// from `center`. It fades with the height of the cloth above the plane, as below a large
    /// light.
    pub(super) fn new(surfaces: &[Surface], center: DVec3, radius: f64) -> Self {
        let cell = 2.0 * radius / SIZE as f64;
        let low = center - DVec3::new(radius, 0.0, radius);
        let mut cover = vec![0.0_f32; SIZE * SIZE];
        for surface in surfaces {
            for triangle in surface.drawable_triangles() {
                let corners = triangle.map(|vertex| (wide(surface.positions[vertex]) - low) / cell);
                let height = corners.iter().map(|corner| corner.y).sum::<f64>() / 3.0 * cell;
                // Exponential fade with height.
                let strength = (-(height / radius).max(0.0) * 1.2).exp() as f32;
                // A hanging cloth is a line seen from above: every triangle is widened to a cell.
                let corners = corners.map(|corner| [corner.x, corner.z]);
                let widened = [
                    corners[0],
                    [corners[1][0] + 0.7, corners[1][1]],
                    [corners[2][0], corners[2][1] + 0.7],
                ];
                for shape in [corners, widened] {
                    fill_triangle(shape, SIZE, |cell, _, _| {
                        cover[cell] = cover[cell].max(strength)
                    });
                }
            }
        }
        for _ in 0..3 {
            blur_rows(&mut cover);
            transpose(&mut cover);
            blur_rows(&mut cover);
            transpose(&mut cover);
        }
        Self { low, cell, cover }
    }

    /// Cover at a point of the ground, `0..=1`, interpolated between cells.
    pub(super) fn cover(&self, point: DVec3) -> f32 {
        let at = (point - self.low) / self.cell - DVec3::splat(0.5);
        let inside = 0.0..(SIZE - 1) as f64;
        if !inside.contains(&at.x) || !inside.contains(&at.z) {
            return 0.0;
        }
        let (column, row) = (at.x as usize, at.z as usize);
        let (s, t) = (at.x.fract() as f32, at.z.fract() as f32);
        let row_cover = |row: usize| {
            let begin = row * SIZE + column;
            self.cover[begin] * (1.0 - s) + self.cover[begin + 1] * s
        };
        row_cover(row) * (1.0 - t) + row_cover(row + 1) * t
    }
}

fn blur_rows(cover: &mut [f32]) {
    let mut blurred = [0.0; SIZE];
    for row in cover.chunks_exact_mut(SIZE) {
        for (column, value) in blurred.iter_mut().enumerate() {
            let window =
                &row[column.saturating_sub(BLUR_RADIUS)..(column + BLUR_RADIUS + 1).min(SIZE)];
            *value = window.iter().sum::<f32>() / (2 * BLUR_RADIUS + 1) as f32;
        }
        row.copy_from_slice(&blurred);
    }
}

fn transpose(cover: &mut [f32]) {
    for row in 0..SIZE {
        for column in 0..row {
            cover.swap(row * SIZE + column, column * SIZE + row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shadow_lies_below_the_cloth_and_nowhere_else() {
        let positions = vec![[-0.5, 0.1, -0.5], [0.5, 0.1, -0.5], [0.0, 0.1, 0.5]];
        let surface = Surface::new(positions, vec![[0, 1, 2]], [0; 3]);
        let shadow = Shadow::new(&[surface], DVec3::ZERO, 2.0);
        assert!(shadow.cover(DVec3::ZERO) > 0.5);
        assert_eq!(shadow.cover(DVec3::new(1.5, 0.0, 1.5)), 0.0);
        assert_eq!(shadow.cover(DVec3::splat(1e9)), 0.0);
        assert_eq!(shadow.cover(DVec3::NAN), 0.0);
    }
}
