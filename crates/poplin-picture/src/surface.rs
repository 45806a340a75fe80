//! Surfaces to draw.

use std::sync::Arc;

use glam::DVec3;

use super::Color;
use poplin_geometry::vertex_normals;

/// Triangle surface in one colour.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Vertex positions \[m\], shape `[vertex_count]`. Positions that are not finite are not drawn.
    pub positions: Vec<[f32; 3]>,
    /// Triangles as vertex indices, counter-clockwise seen from the front; shared between the
    /// moments of one cloth. Triangles with an index out of range are not drawn.
    pub triangles: Arc<[[u32; 3]]>,
    /// Colour of the front; the back is drawn in a paler tint of it.
    pub color: Color,
}

impl Surface {
    /// Creates a surface.
    pub fn new(
        positions: Vec<[f32; 3]>,
        triangles: impl Into<Arc<[[u32; 3]]>>,
        color: Color,
    ) -> Self {
        Self { positions, triangles: triangles.into(), color }
    }

    /// Iterates over triangles whose three corners exist and are finite.
    pub(super) fn drawable_triangles(&self) -> impl Iterator<Item = [usize; 3]> {
        self.triangles.iter().map(|triangle| triangle.map(|corner| corner as usize)).filter(
            |triangle| {
                triangle.iter().all(|&corner| {
                    self.positions.get(corner).is_some_and(|position| is_drawable(*position))
                })
            },
        )
    }

    /// Computes smooth unit normals of the vertices; zero for a vertex without a drawable triangle
    /// of positive area.
    pub fn normals(&self) -> Vec<DVec3> {
        let triangles = self.drawable_triangles();
        vertex_normals(&self.positions, triangles.map(|it| it.map(|corner| corner as u32)))
    }
}

/// Tests whether a position can be drawn: finite, and small enough for products of lengths in
/// `f64`.
pub(super) fn is_drawable(position: [f32; 3]) -> bool {
    position.iter().all(|value| value.abs() <= poplin_model::MAX_COORDINATE)
}
