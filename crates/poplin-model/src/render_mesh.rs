//! Render meshes: vertices drawn for a cloth.

use bytemuck::{Pod, Zeroable};

use crate::ModelError;
use crate::error::check_indices;

/// Largest number of vertices of a [`RenderMesh`].
pub const MAX_RENDER_VERTICES: usize = 1 << 24;

/// A vertex for rendering, in the local space of the cloth: a row of a vertex buffer with stride
/// 32, two `Float32x4`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct RenderVertex {
    /// Position \[m\] and 1.
    pub position: [f32; 4],
    /// Unit normal, towards the side from which triangles appear counterclockwise, and 0; +y if no
    /// triangle at the vertex has an area.
    pub normal: [f32; 4],
}

/// Binding of a vertex to particles: a point of a triangle of particles, or a single particle, with
/// an offset along the normal there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct VertexBinding {
    /// Particles at the corners; three times the same index for a vertex bound to a single
    /// particle.
    pub particles: [u32; 3],
    /// Barycentric weights of the corners, with a sum of 1; outside `0..=1` beside the triangle.
    pub weights: [f32; 3],
    /// Distance along the interpolated normal of the particles \[m\].
    pub offset: f32,
}

impl VertexBinding {
    /// Binds a vertex to one particle.
    pub fn particle(particle: u32) -> Self {
        Self { particles: [particle; 3], weights: [1.0, 0.0, 0.0], offset: 0.0 }
    }
}

/// Triangle corners at each vertex: for each incident triangle the two vertices that follow,
/// counterclockwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corners {
    /// First corner of each vertex in `following`, prefix sums, shape `[vertex_count + 1]`.
    pub begin: Vec<u32>,
    /// Next two vertices of each incident triangle.
    pub following: Vec<[u32; 2]>,
}

impl Corners {
    /// Builds the lists from the corners of each vertex in turn.
    pub fn new(rows: impl IntoIterator<Item = Vec<[u32; 2]>>) -> Self {
        let mut corners = Self { begin: vec![0], following: Vec::new() };
        for row in rows {
            corners.following.extend(row);
            corners.begin.push(corners.following.len() as u32);
        }
        corners
    }

    /// Collects the corners of triangles at each of `vertex_count` vertices, in the order of the
    /// triangles.
    pub fn of_triangles(triangles: &[[u32; 3]], vertex_count: usize) -> Self {
        let mut rows = vec![Vec::new(); vertex_count];
        for &[a, b, c] in triangles {
            for [at, next, last] in [[a, b, c], [b, c, a], [c, a, b]] {
                rows[at as usize].push([next, last]);
            }
        }
        Self::new(rows)
    }

    /// Corners of one vertex.
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

/// A mesh for rendering that is bound to the particles of a cloth: the cloth's own mesh with the
/// seams of its texture, or a finer mesh. Created by cooking.
///
/// The normal of a vertex is the normalised sum of the cross products of its incident triangles,
/// and so weighted by area; degenerate triangles do not contribute. The tangent is computed
/// likewise from the vertex's own triangles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderMesh {
    /// Number of particles of the cloth.
    pub particle_count: u32,
    /// Binding of each vertex, shape `[vertex_count]`.
    pub bindings: Vec<VertexBinding>,
    /// Triangles as vertex indices, counterclockwise seen from the front: the index buffer.
    pub triangles: Vec<[u32; 3]>,
    /// Texture coordinates, shape `[vertex_count]`, or empty.
    pub uvs: Vec<[f32; 2]>,
    /// Vertex of the source mesh for each vertex, shape `[vertex_count]`, to look up colours and
    /// other attributes.
    pub source_vertices: Vec<u32>,
    /// Triangles that contribute to the normal of each vertex: first its own, then those across a
    /// seam. One row per vertex.
    pub corners: Corners,
    /// Number of each vertex's own triangles, shape `[vertex_count]`.
    pub own_corner_counts: Vec<u32>,
    /// Triangles around each particle, `particle_count` rows, for the normals along which vertices
    /// are offset; empty if no vertex has an offset.
    pub surface: Corners,
}

impl RenderMesh {
    /// Creates a mesh with one smooth vertex per particle, to draw the triangles of a fabric
    /// ([`crate::Fabric::triangles`]) if its source mesh is not available.
    ///
    /// # Errors
    /// [`ModelError::IndexOutOfRange`] if a triangle refers to a particle that does not exist.
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

    /// True if any vertex is offset along a normal of the particles.
    pub fn has_offsets(&self) -> bool {
        !self.surface.begin.is_empty()
    }

    /// Checks every length, index and number.
    ///
    /// # Errors
    /// The first [`ModelError`] found.
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
        // Offsets need particle normals, which need the surface.
        } else if self.bindings.iter().any(|binding| binding.offset != 0.0) {
            let (what, len, expected) = ("render mesh surface.begin", 0, particles + 1);
            return Err(ModelError::Length { what, len, expected });
        }
        Ok(())
    }
}
