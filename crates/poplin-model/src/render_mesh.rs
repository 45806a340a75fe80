//! What is drawn of a cloth.

use bytemuck::{Pod, Zeroable};

use crate::ModelError;
use crate::error::check_indices;

/// Largest number of vertices of a [`RenderMesh`].
pub const MAX_RENDER_VERTICES: usize = 1 << 24;

/// A vertex as it is drawn: a row of a vertex buffer of stride 32, two `Float32x4`. In the local space of the cloth.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct RenderVertex {
    /// Position \[m\] and 1.
    pub position: [f32; 4],
    /// Normal of unit length, on the side from which triangles are counter-clockwise, and 0; +y where no triangle has an area.
    pub normal: [f32; 4],
}

/// What a vertex follows: a point of a triangle of particles, or of one particle, at an offset along the normal there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct VertexBinding {
    /// The particles at the corners; thrice the same for a vertex that is a particle.
    pub particles: [u32; 3],
    /// Weights of the corners, of which the sum is 1. Beyond `0..=1` beside the triangle.
    pub weights: [f32; 3],
    /// Distance along the interpolated normal of the particles \[m\].
    pub offset: f32,
}

impl VertexBinding {
    /// A vertex that is a particle.
    pub fn particle(particle: u32) -> Self {
        Self { particles: [particle; 3], weights: [1.0, 0.0, 0.0], offset: 0.0 }
    }
}

/// The triangles around vertices, one corner of each: the two vertices that follow there, counter-clockwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corners {
    /// Where those of each vertex begin, and one past the last, shape `[vertex_count + 1]`.
    pub begin: Vec<u32>,
    /// The two vertices that follow.
    pub following: Vec<[u32; 2]>,
}

impl Corners {
    /// From the corners of each vertex in turn.
    pub fn new(rows: impl IntoIterator<Item = Vec<[u32; 2]>>) -> Self {
        let mut corners = Self { begin: vec![0], following: Vec::new() };
        for row in rows {
            corners.following.extend(row);
            corners.begin.push(corners.following.len() as u32);
        }
        corners
    }

    /// The corners of triangles at each of so many vertices, in the order of the triangles.
    pub fn of_triangles(triangles: &[[u32; 3]], vertex_count: usize) -> Self {
        let mut rows = vec![Vec::new(); vertex_count];
        for &[a, b, c] in triangles {
            for [at, next, last] in [[a, b, c], [b, c, a], [c, a, b]] {
                rows[at as usize].push([next, last]);
            }
        }
        Self::new(rows)
    }

    /// Those of one vertex.
    pub fn of(&self, vertex: usize) -> &[[u32; 2]] {
        &self.following[self.begin[vertex] as usize..self.begin[vertex + 1] as usize]
    }

    fn validate(&self, names: [&'static str; 2], count: usize) -> Result<(), ModelError> {
        let [begin, following] = names;
        if self.begin.len() != count + 1 {
            let (len, expected) = (self.begin.len(), count + 1);
            return Err(ModelError::Length { what: begin, len, expected });
        }
        let total = self.following.len();
        for (position, pair) in self.begin.windows(2).enumerate() {
            if pair[0] > pair[1] || pair[1] as usize > total {
                let (what, index) = (begin, pair[1]);
                return Err(ModelError::IndexOutOfRange { what, position, index, count: total });
            }
        }
        if self.begin[0] != 0 || self.begin[count] as usize != total {
            let (len, expected) = (total, self.begin[count] as usize);
            return Err(ModelError::Length { what: following, len, expected });
        }
        check_indices(following, self.following.iter().copied().flatten(), count)
    }
}

/// A mesh that is drawn with the particles of a cloth: its own with the seams of its texture, or a finer one that follows them. Cooking
/// makes it.
///
/// The normal of a vertex is the sum of those of the triangles around it by their area (their cross products), normalised: no triangle
/// without an area counts. The tangent is that of the vertex's own triangles, likewise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderMesh {
    /// Particles of the cloth.
    pub particle_count: u32,
    /// What each vertex follows, shape `[vertex_count]`.
    pub bindings: Vec<VertexBinding>,
    /// Triangles as vertex indices, counter-clockwise seen from the front: the index buffer.
    pub triangles: Vec<[u32; 3]>,
    /// Texture coordinates, shape `[vertex_count]`, or empty.
    pub uvs: Vec<[f32; 2]>,
    /// The vertex of the mesh that each was made from, shape `[vertex_count]`: for colours and other values of that mesh.
    pub source_vertices: Vec<u32>,
    /// The triangles that the normal of each vertex is made from: first its own, then those beyond a seam. Rows have the length of
    /// `bindings`.
    pub corners: Corners,
    /// How many of them are its own, shape `[vertex_count]`.
    pub own_corner_counts: Vec<u32>,
    /// The triangles around each particle, rows of the length `particle_count`, for the normals that vertices are offset along; no row
    /// if none is.
    pub surface: Corners,
}

impl RenderMesh {
    /// A vertex for each of so many particles, smooth everywhere: what a fabric's triangles ([`crate::Fabric::triangles`]) are drawn as
    /// where the mesh that they were cooked from is not at hand.
    ///
    /// # Errors
    /// [`ModelError::IndexOutOfRange`] if a triangle names another particle.
    pub fn of_particles(particle_count: u32, triangles: &[[u32; 3]]) -> Result<Self, ModelError> {
        let named = triangles.iter().copied().flatten();
        check_indices("render mesh triangles", named, particle_count as usize)?;
        let corners = Corners::of_triangles(triangles, particle_count as usize);
        let own_corner_counts =
            (0..particle_count as usize).map(|vertex| corners.of(vertex).len() as u32).collect();
        Ok(Self {
            particle_count,
            bindings: (0..particle_count).map(VertexBinding::particle).collect(),
            triangles: triangles.to_vec(),
            source_vertices: (0..particle_count).collect(),
            corners,
            own_corner_counts,
            ..Self::default()
        })
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.bindings.len()
    }

    /// Whether a vertex is offset along a normal of the particles.
    pub fn has_offsets(&self) -> bool {
        !self.surface.begin.is_empty()
    }

    /// Checks every length, index and number.
    ///
    /// # Errors
    /// [`ModelError`] for the first that is out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        let vertex_count = self.vertex_count();
        if vertex_count == 0 || self.triangles.is_empty() {
            return Err(ModelError::Empty { what: "render mesh" });
        }
        if vertex_count > MAX_RENDER_VERTICES {
            let (what, limit) = ("render mesh vertices", MAX_RENDER_VERTICES);
            return Err(ModelError::TooMany { what, count: vertex_count, limit });
        }
        for (what, len) in [
            ("render mesh source_vertices", self.source_vertices.len()),
            ("render mesh own_corner_counts", self.own_corner_counts.len()),
            ("render mesh uvs", if self.uvs.is_empty() { vertex_count } else { self.uvs.len() }),
        ] {
            if len != vertex_count {
                return Err(ModelError::Length { what, len, expected: vertex_count });
            }
        }
        let particles = self.particle_count as usize;
        let bound = self.bindings.iter().flat_map(|binding| binding.particles);
        check_indices("render mesh bindings.particles", bound, particles)?;
        let corners = self.triangles.iter().copied().flatten();
        check_indices("render mesh triangles", corners, vertex_count)?;
        let numbers: Vec<_> = self
            .bindings
            .iter()
            .map(|VertexBinding { weights: [u, v, w], offset, .. }| [*u, *v, *w, *offset])
            .collect();
        crate::check_finite("render mesh bindings", &numbers)?;
        crate::check_finite("render mesh uvs", &self.uvs)?;
        self.corners.validate(
            ["render mesh corners.begin", "render mesh corners.following"],
            vertex_count,
        )?;
        for (position, (&own, pair)) in
            self.own_corner_counts.iter().zip(self.corners.begin.windows(2)).enumerate()
        {
            let count = (pair[1] - pair[0]) as usize;
            if own as usize > count {
                let what = "render mesh own_corner_counts";
                return Err(ModelError::IndexOutOfRange { what, position, index: own, count });
            }
        }
        if self.has_offsets() {
            let names = ["render mesh surface.begin", "render mesh surface.following"];
            self.surface.validate(names, particles)?;
        } else if self.bindings.iter().any(|binding| binding.offset != 0.0) {
            let (what, len, expected) = ("render mesh surface.begin", 0, particles + 1);
            return Err(ModelError::Length { what, len, expected });
        }
        Ok(())
    }
}
