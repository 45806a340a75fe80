//! Polygon mesh, the input of cooking.

use crate::error::{ModelError, check_finite, check_indices};

/// A polygon mesh of triangles and quads, as a modelling tool exports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mesh {
    /// Vertex positions \[m\], shape `[vertex_count]`.
    pub positions: Vec<[f32; 3]>,
    /// Texture coordinates, shape `[vertex_count]`, or empty. Cooking can take the warp direction
    /// from them.
    pub uvs: Vec<[f32; 2]>,
    /// Triangles as vertex indices, counterclockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
    /// Quads as vertex indices in ring order. A quad's sides are stretch edges, its diagonals shear
    /// edges.
    pub quads: Vec<[u32; 4]>,
    /// Texture coordinates per face corner, for meshes with seams; then `uvs` is empty. Kept for
    /// exported files, not used by cooking.
    pub corner_uvs: CornerUvs,
}

/// Texture coordinates of face corners.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CornerUvs {
    /// Texture coordinates.
    pub coordinates: Vec<[f32; 2]>,
    /// Indices of the coordinates of each triangle's corners, [`CornerUvs::NONE`] for a corner
    /// without; or empty.
    pub triangles: Vec<[u32; 3]>,
    /// Indices of the coordinates of each quad's corners, likewise.
    pub quads: Vec<[u32; 4]>,
}

/// Splits a quad `[a, b, c, d]`, or values at its corners, into the triangles `[a, b, c]` and
/// `[c, d, a]`.
pub fn halves_of_quad<T: Copy>([a, b, c, d]: [T; 4]) -> [[T; 3]; 2] {
    [[a, b, c], [c, d, a]]
}

impl CornerUvs {
    /// Index for a corner without texture coordinate.
    pub const NONE: u32 = u32::MAX;
}

impl Mesh {
    /// Creates a flat grid of quads in the x/z plane with corner 0 at the origin, `columns` x
    /// `rows` vertices.
    ///
    /// Vertex `(column, row)` has index `row * columns + column` and lies at
    /// `(column, 0, row) * size / (count - 1)`; `uvs` range over 0..1 along both axes.
    ///
    /// # Panics
    /// Panics if `columns` or `rows` is below 2 or their product exceeds [`crate::MAX_PARTICLES`];
    /// check user input first.
    pub fn grid(columns: u32, rows: u32, width: f32, depth: f32) -> Self {
        assert!(columns >= 2 && rows >= 2, "a grid needs at least 2 x 2 vertices");
        assert!(columns as usize * rows as usize <= crate::MAX_PARTICLES, "grid too large");
        let mut mesh = Self::default();
        for row in 0..rows {
            for column in 0..columns {
                let uv = [column as f32 / (columns - 1) as f32, row as f32 / (rows - 1) as f32];
                mesh.positions.push([uv[0] * width, 0.0, uv[1] * depth]);
                mesh.uvs.push(uv);
            }
        }
        for row in 0..rows - 1 {
            for column in 0..columns - 1 {
                let a = row * columns + column;
                // Counterclockwise seen from +y.
                mesh.quads.push([a, a + columns, a + columns + 1, a + 1]);
            }
        }
        mesh
    }

    /// Creates an open tube of quads around the y axis, `segments` x `rings` vertices, with ring 0
    /// at the top (`y = 0`).
    ///
    /// The radius varies linearly from `top_radius` to `bottom_radius` over `height` (a skirt, a
    /// sleeve, a cape collar).
    ///
    /// # Panics
    /// Panics if `segments < 3`, `rings < 2` or their product exceeds [`crate::MAX_PARTICLES`];
    /// check user input first.
    pub fn tube(
        segments: u32,
        rings: u32,
        top_radius: f32,
        bottom_radius: f32,
        height: f32,
    ) -> Self {
        assert!(segments >= 3 && rings >= 2, "a tube needs at least 3 segments and 2 rings");
        assert!(segments as usize * rings as usize <= crate::MAX_PARTICLES, "tube too large");
        let mut mesh = Self::default();
        for ring in 0..rings {
            let v = ring as f32 / (rings - 1) as f32;
            let radius = top_radius + (bottom_radius - top_radius) * v;
            for segment in 0..segments {
                let u = segment as f32 / segments as f32;
                let (sin, cos) = (u * std::f32::consts::TAU).sin_cos();
                mesh.positions.push([radius * cos, -height * v, radius * sin]);
                mesh.uvs.push([u, v]);
            }
        }
        for ring in 0..rings - 1 {
            for segment in 0..segments {
                // The last segment closes the ring.
                let next = (segment + 1) % segments;
                let (a, b) = (ring * segments, (ring + 1) * segments);
                mesh.quads.push([a + segment, a + next, b + next, b + segment]);
            }
        }
        mesh
    }

    /// Returns all faces as triangles: `triangles`, then every quad `[a, b, c, d]` as `[a, b, c]`
    /// and `[c, d, a]`.
    pub fn triangulated(&self) -> Vec<[u32; 3]> {
        let mut triangles = self.triangles.clone();
        triangles.extend(self.quads.iter().flat_map(|&quad| halves_of_quad(quad)));
        triangles
    }

    /// Checks lengths, indices and coordinates.
    ///
    /// # Errors
    /// [`ModelError`] if there are no vertices or no faces, more than [`crate::MAX_PARTICLES`]
    /// vertices, a coordinate that is not finite, an index past the end, or `uvs` or `corner_uvs`
    /// of another length.
    pub fn validate(&self) -> Result<(), ModelError> {
        let count = self.positions.len();
        if count == 0 {
            return Err(ModelError::Empty { what: "mesh positions" });
        }
        if self.triangles.is_empty() && self.quads.is_empty() {
            return Err(ModelError::Empty { what: "mesh faces" });
        }
        if count > crate::MAX_PARTICLES {
            return Err(ModelError::TooMany {
                what: "mesh vertices",
                count,
                limit: crate::MAX_PARTICLES,
            });
        }
        check_finite("mesh position", &self.positions)?;
        if !self.uvs.is_empty() {
            if self.uvs.len() != count {
                return Err(ModelError::Length {
                    what: "mesh uvs",
                    len: self.uvs.len(),
                    expected: count,
                });
            }
            check_finite("mesh uv", &self.uvs)?;
        }
        self.check_corner_uvs()?;
        check_indices("mesh triangle corner", self.triangles.iter().flatten().copied(), count)?;
        check_indices("mesh quad corner", self.quads.iter().flatten().copied(), count)
    }

    fn check_corner_uvs(&self) -> Result<(), ModelError> {
        let CornerUvs { coordinates, triangles, quads } = &self.corner_uvs;
        for (what, len, expected) in [
            ("mesh corner uvs of triangles", triangles.len(), self.triangles.len()),
            ("mesh corner uvs of quads", quads.len(), self.quads.len()),
        ] {
            if !coordinates.is_empty() && len != expected {
                return Err(ModelError::Length { what, len, expected });
            }
        }
        check_finite("mesh corner uv", coordinates)?;
        let corners = triangles.iter().flatten().chain(quads.iter().flatten()).copied();
        let used = corners.filter(|&uv| uv != CornerUvs::NONE);
        check_indices("mesh corner uv", used, coordinates.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_meshes_are_valid() {
        let grid = Mesh::grid(3, 4, 1.0, 2.0);
        assert_eq!((grid.positions.len(), grid.quads.len()), (12, 6));
        grid.validate().unwrap();
        let tube = Mesh::tube(8, 3, 0.1, 0.2, 1.0);
        assert_eq!(
            (tube.positions.len(), tube.quads.len(), tube.triangulated().len()),
            (24, 16, 32)
        );
        tube.validate().unwrap();
    }

    #[test]
    fn validate_names_the_position_of_bad_values() {
        let mut mesh = Mesh::grid(2, 2, 1.0, 1.0);
        mesh.quads[0][2] = 9;
        assert_eq!(
            mesh.validate().unwrap_err().to_string(),
            "mesh quad corner[2] is 9, but there are only 4"
        );
        let mut mesh = Mesh::grid(2, 2, 1.0, 1.0);
        mesh.positions[3][1] = f32::NAN;
        assert_eq!(
            mesh.validate().unwrap_err().to_string(),
            "mesh position[3] = NaN is not a finite number below 1e15"
        );
        assert_eq!(Mesh::default().validate().unwrap_err().to_string(), "mesh positions is empty");
    }
}
