//! Visibility of lights from each vertex: shadows of the key light and ambient occlusion, which
//! show folds.

use glam::{DVec3, Vec2};
use poplin_geometry::wide;

use super::camera::Camera;
use super::raster::fill_triangle;
use super::{Surface, shading};

/// Number of directions of the ambient light.
const SKY_DIRECTIONS: usize = 20;
/// Minimum number of directions, for very large scenes.
const MIN_SKY_DIRECTIONS: usize = 6;
/// Limit of triangles times directions drawn per moment.
const TRIANGLE_BUDGET: usize = 6_000_000;
/// Cells per side of a depth map, for the ambient and for the key light.
const SKY_MAP_SIZE: usize = 128;
const KEY_MAP_SIZE: usize = 256;
/// Offset of a vertex from its own surface before the lookup, in cells.
const LIFT: f64 = 1.6;

/// Fractions of the ambient (x) and of the key light (y) that reach the front and the back of a
/// vertex, `0..=1`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visibility {
    pub(super) front: Vec2,
    pub(super) back: Vec2,
}

/// Computes the visibility of all vertices, shape `[surface_count][vertex_count]`; `normals` have
/// the same shape.
pub(super) fn vertex_visibility(
    surfaces: &[Surface],
    normals: &[Vec<DVec3>],
    camera: &Camera,
) -> Vec<Vec<Visibility>> {
    let triangle_count: usize = surfaces.iter().map(|surface| surface.triangles.len()).sum();
    let direction_count =
        (TRIANGLE_BUDGET / triangle_count.max(1)).clamp(MIN_SKY_DIRECTIONS, SKY_DIRECTIONS);
    let zeros = |surface: &Surface| vec![[Vec2::ZERO; 2]; surface.positions.len()];
    let mut light: Vec<Vec<[Vec2; 2]>> = surfaces.iter().map(zeros).collect();
    let mut sky_total = light.clone();
    for index in 0..direction_count {
        let direction = sphere_direction(index, direction_count);
        let map = DepthMap::new(surfaces, camera, direction, SKY_MAP_SIZE);
        for_each_side(surfaces, normals, |surface, vertex, side, position, normal| {
            // Cosine-weighted: n . l
            let weight = normal.dot(direction).max(0.0) as f32;
            if weight > 0.0 {
                light[surface][vertex][side].x += weight * map.visibility(position, normal, 0);
                sky_total[surface][vertex][side].x += weight;
            }
        });
    }
    let key = shading::key_direction(camera);
    let map = DepthMap::new(surfaces, camera, key, KEY_MAP_SIZE);
    for_each_side(surfaces, normals, |surface, vertex, side, position, normal| {
        light[surface][vertex][side].y = map.visibility(position, normal, 2);
    });
    let fractions = |(light, total): (&[Vec2; 2], &[Vec2; 2])| {
        let [front, back] = [0, 1].map(|side| {
            let sky = if total[side].x > 0.0 { light[side].x / total[side].x } else { 1.0 };
            Vec2::new(sky, light[side].y)
        });
        Visibility { front, back }
    };
    light
        .iter()
        .zip(&sky_total)
        .map(|(light, total)| light.iter().zip(total).map(fractions).collect())
        .collect()
}

/// Calls `visit(surface, vertex, side, position, normal)` for the front (side 0) and the back (side
/// 1) of each vertex.
fn for_each_side(
    surfaces: &[Surface],
    normals: &[Vec<DVec3>],
    mut visit: impl FnMut(usize, usize, usize, DVec3, DVec3),
) {
    for (index, (surface, normals)) in surfaces.iter().zip(normals).enumerate() {
        for (vertex, (position, &normal)) in surface.positions.iter().zip(normals).enumerate() {
            let position = wide(*position);
            visit(index, vertex, 0, position, normal);
            visit(index, vertex, 1, position, -normal);
        }
    }
}

/// Returns unit vector `index` of `count` evenly spread ones: the Fibonacci lattice on the sphere
/// (Gonzalez, "Measurement of areas on a sphere", 2010).
pub fn sphere_direction(index: usize, count: usize) -> DVec3 {
    let golden_angle = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let height = 1.0 - (2.0 * index as f64 + 1.0) / count as f64;
    let (sin, cos) = (golden_angle * index as f64).sin_cos();
    let radius = (1.0 - height * height).sqrt();
    DVec3::new(radius * cos, height, radius * sin)
}

/// Depth map of the surfaces nearest to a distant light, seen along its direction.
struct DepthMap {
    center: DVec3,
    axes: [DVec3; 2],
    direction: DVec3,
    size: usize,
    cell: f64,
    /// Height of the nearest surface towards the light \[m\].
    heights: Vec<f32>,
}

impl DepthMap {
    fn new(surfaces: &[Surface], camera: &Camera, direction: DVec3, size: usize) -> Self {
        let (across, upward) = direction.any_orthonormal_pair();
        let [low, high] = camera.bounds;
        let cell = ((high - low).length() / (size - 2) as f64).max(1e-9);
        let heights = vec![f32::NEG_INFINITY; size * size];
        let mut map = Self {
            center: (low + high) * 0.5,
            axes: [across, upward],
            direction,
            size,
            cell,
            heights,
        };
        for surface in surfaces {
            let projected: Vec<_> =
                surface.positions.iter().map(|p| map.project(wide(*p))).collect();
            for triangle in surface.drawable_triangles() {
                let corners = triangle.map(|vertex| projected[vertex]);
                let heights = &mut map.heights;
                fill_triangle(corners.map(|(cell, _)| cell), size, |index, weights, _| {
                    let height = (0..3).map(|corner| weights[corner] * corners[corner].1).sum();
                    heights[index] = heights[index].max(height);
                });
            }
        }
        map
    }

    /// Returns cell coordinates and height towards the light.
    fn project(&self, position: DVec3) -> ([f64; 2], f32) {
        let offset = position - self.center;
        let cell = self.axes.map(|axis| offset.dot(axis) / self.cell + 0.5 * self.size as f64);
        (cell, offset.dot(self.direction) as f32)
    }

    /// Returns the fraction of the `(2 radius + 2)^2` cells around a lifted position that do not
    /// hide it.
    fn visibility(&self, position: DVec3, normal: DVec3, radius: i64) -> f32 {
        let lifted = position + (normal + self.direction) * (self.cell * LIFT);
        let ([x, y], height) = self.project(lifted);
        let (column, row) = ((x - 0.5).floor(), (y - 0.5).floor());
        let (s, t) = ((x - 0.5 - column) as f32, (y - 0.5 - row) as f32);
        let is_free = |column: i64, row: i64| {
            let inside = 0..self.size as i64;
            let is_hidden = inside.contains(&column)
                && inside.contains(&row)
                && self.heights[row as usize * self.size + column as usize] > height;
            if is_hidden { 0.0 } else { 1.0 }
        };
        // Sum of bilinear lookups over a square: the outermost cells count in part.
        let mut sum = 0.0;
        let (column, row) = (column as i64, row as i64);
        for down in -radius..=radius + 1 {
            for across in -radius..=radius + 1 {
                let part = |offset: i64, fraction: f32| match offset {
                    offset if offset == -radius => 1.0 - fraction,
                    offset if offset == radius + 1 => fraction,
                    _ => 1.0,
                };
                sum += part(across, s)
                    * part(down, t)
                    * is_free(column.saturating_add(across), row.saturating_add(down));
            }
        }
        sum / ((2 * radius + 1) * (2 * radius + 1)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;

    fn sheet(height: f32, size: f32) -> Surface {
        let mesh = poplin_model::Mesh::grid(9, 9, size, size);
        let positions =
            mesh.positions.iter().map(|p| [p[0] - size / 2.0, height, p[2] - size / 2.0]).collect();
        Surface::new(positions, mesh.triangulated(), [0; 3])
    }

    #[test]
    fn only_a_sheet_below_a_roof_is_in_shadow() {
        let surfaces = vec![sheet(0.0, 1.0), sheet(0.3, 2.0)];
        let camera = Camera::framing(std::slice::from_ref(&surfaces), View::default());
        let normals: Vec<_> = surfaces.iter().map(Surface::normals).collect();
        let visibility = vertex_visibility(&surfaces, &normals, &camera);
        let middle = 4 * 9 + 4;
        assert!(visibility[1][middle].front.x > 0.99, "{:?}", visibility[1][middle]);
        assert!(visibility[0][middle].front.x < 0.35, "{:?}", visibility[0][middle]);
        assert!(visibility[0][middle].back.x > 0.99, "{:?}", visibility[0][middle]);
    }

    #[test]
    fn directions_cover_the_sphere_evenly() {
        let sum: DVec3 =
            (0..SKY_DIRECTIONS).map(|index| sphere_direction(index, SKY_DIRECTIONS)).sum();
        assert!(sum.length() < 0.5, "{sum}");
    }
}
