//! Render mesh of a cooked mesh: vertices are split at texture seams and creases, normals only at
//! creases.

use std::collections::HashMap;

use glam::DVec3;
use poplin_model::{
    CornerUvs, Corners, Mesh, ModelError, RenderMesh, VertexBinding, halves_of_quad,
};

use crate::options::check_option;
use crate::topology::pair_key;
use crate::{CookError, Cooked};

/// Options for splitting the vertices of a render mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderMeshOptions {
    /// Crease angle \[degrees\], `0..=180` (default 180, none): edges whose triangles are folded by
    /// more than this at rest are drawn hard, with one normal per side.
    pub crease_angle: f32,
}

impl Default for RenderMeshOptions {
    fn default() -> Self {
        Self { crease_angle: 180.0 }
    }
}

impl RenderMeshOptions {
    pub(crate) fn validate(&self) -> Result<(), CookError> {
        check_option("crease_angle", self.crease_angle, [0.0, 180.0], "degrees")
    }
}

impl Cooked {
    /// Creates the render mesh of the mesh that was cooked: its triangles and texture coordinates,
    /// each vertex bound to its particle.
    ///
    /// Vertices have the order of the mesh. A vertex occurs once per texture coordinate and per
    /// side of a crease; vertices without triangles are omitted. Normals are smooth across texture
    /// seams and where vertices were welded.
    ///
    /// # Errors
    /// [`CookError`] if the mesh or an option is out of range, the vertex count differs from the
    /// mesh that was cooked, or no triangle is left.
    pub fn render_mesh(
        &self,
        mesh: &Mesh,
        options: &RenderMeshOptions,
    ) -> Result<RenderMesh, CookError> {
        mesh.validate()?;
        options.validate()?;
        let (len, expected) = (mesh.positions.len(), self.vertex_to_particle.len());
        if len != expected {
            return Err(ModelError::Length { what: "render mesh positions", len, expected }.into());
        }
        let drawn = Drawn { mesh, sites: &self.vertex_to_particle, options };
        let bind = |vertex: u32| {
            let particle = self.vertex_to_particle[vertex as usize].unwrap_or_default();
            VertexBinding::particle(particle)
        };
        drawn.render_mesh(self.fabric.particle_count, bind)
    }
}

/// A mesh to draw, and the sites where its vertices coincide.
pub(crate) struct Drawn<'a> {
    pub(crate) mesh: &'a Mesh,
    /// Site of each vertex; vertices at the same site share normals. `None` if no face uses the
    /// vertex.
    pub(crate) sites: &'a [Option<u32>],
    pub(crate) options: &'a RenderMeshOptions,
}

/// Corner of a triangle.
#[derive(Clone, Copy)]
struct Corner {
    vertex: u32,
    site: u32,
    /// Index of the texture coordinate.
    uv: u32,
}

impl Drawn<'_> {
    pub(crate) fn render_mesh(
        &self,
        particle_count: u32,
        bind: impl Fn(u32) -> VertexBinding,
    ) -> Result<RenderMesh, CookError> {
        let corners = self.corners();
        if corners.is_empty() {
            let degenerate = self.mesh.triangles.len() + self.mesh.quads.len();
            return Err(CookError::NoFaces { degenerate, tolerance: 0.0 });
        }
        let groups = self.smooth_groups(&corners);
        // Vertices are distinguished by mesh vertex, side of creases, and texture coordinate.
        let key = |corner: usize| (corners[corner].vertex, groups[corner], corners[corner].uv);
        let mut order: Vec<usize> = (0..corners.len()).collect();
        order.sort_by_key(|&corner| (key(corner), corner));
        let mut vertex_of = vec![0u32; corners.len()];
        let mut firsts: Vec<usize> = Vec::new();
        for &corner in &order {
            // Equal keys are adjacent after sorting; each run becomes one vertex.
            if firsts.last().is_none_or(|&first| key(first) != key(corner)) {
                firsts.push(corner);
            }
            vertex_of[corner] = firsts.len() as u32 - 1;
        }

        let following = |corner: usize| {
            let begin = corner - corner % 3;
            [1, 2].map(|k| vertex_of[begin + (corner - begin + k) % 3])
        };
        let mut of_group: HashMap<u32, Vec<usize>> = HashMap::new();
        for (corner, &group) in groups.iter().enumerate() {
            of_group.entry(group).or_default().push(corner);
        }
        let mut own_corner_counts = Vec::with_capacity(firsts.len());
        let rows: Vec<Vec<[u32; 2]>> = (0..)
            .zip(&firsts)
            .map(|(vertex, &first)| {
                let around = of_group[&groups[first]].iter().copied();
                // Corners across a texture seam share the normal group but belong to another
                // vertex.
                let (own, beyond): (Vec<_>, Vec<_>) =
                    around.partition(|&corner| vertex_of[corner] == vertex);
                own_corner_counts.push(own.len() as u32);
                own.into_iter().chain(beyond).map(following).collect()
            })
            .collect();
        let uv = |&first: &usize| self.uv(corners[first]);
        let has_uvs = !self.mesh.uvs.is_empty() || !self.mesh.corner_uvs.coordinates.is_empty();
        let mesh = RenderMesh {
            particle_count,
            bindings: firsts.iter().map(|&first| bind(corners[first].vertex)).collect(),
            triangles: vertex_of.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
            uvs: if has_uvs { firsts.iter().map(uv).collect() } else { Vec::new() },
            source_vertices: firsts.iter().map(|&first| corners[first].vertex).collect(),
            corners: Corners::new(rows),
            own_corner_counts,
            surface: Corners::default(),
        };
        Ok(mesh)
    }

    /// Corners of all triangles, three by three; triangles with a corner without site or with two
    /// corners at one site are omitted.
    fn corners(&self) -> Vec<Corner> {
        let Mesh { triangles, quads, corner_uvs, .. } = self.mesh;
        let vertex_uv = |vertex: u32| if self.mesh.uvs.is_empty() { 0 } else { vertex };
        let of = |vertices: [u32; 3], uvs: Option<[u32; 3]>| {
            let uvs = uvs.unwrap_or_else(|| vertices.map(vertex_uv));
            let sites = vertices.map(|vertex| self.sites[vertex as usize]);
            let [Some(a), Some(b), Some(c)] = sites else { return None };
            let is_whole = a != b && b != c && c != a;
            is_whole.then(|| {
                [0, 1, 2].map(|k| Corner { vertex: vertices[k], site: [a, b, c][k], uv: uvs[k] })
            })
        };
        let of_triangles = triangles
            .iter()
            .enumerate()
            .map(|(index, &vertices)| of(vertices, corner_uvs.triangles.get(index).copied()));
        let of_quads = quads.iter().enumerate().flat_map(|(index, &quad)| {
            let uvs = corner_uvs.quads.get(index).map(|&uvs| halves_of_quad(uvs));
            let halves = halves_of_quad(quad);
            [0, 1].map(|half| of(halves[half], uvs.map(|uvs| uvs[half])))
        });
        of_triangles.chain(of_quads).flatten().flatten().collect()
    }

    fn uv(&self, corner: Corner) -> [f32; 2] {
        let CornerUvs { coordinates, .. } = &self.mesh.corner_uvs;
        let all = if self.mesh.uvs.is_empty() { coordinates } else { &self.mesh.uvs };
        all.get(corner.uv as usize).copied().unwrap_or_default()
    }

    /// Finds the normal group of each corner, named by its first corner: corners at one site whose
    /// triangles are connected around it over edges that are not creases.
    fn smooth_groups(&self, corners: &[Corner]) -> Vec<u32> {
        let position = |corner: usize| {
            glam::Vec3::from(self.mesh.positions[corners[corner].vertex as usize]).as_dvec3()
        };
        let normals: Vec<DVec3> = (0..corners.len() / 3)
            .map(|t| {
                let [a, b, c] = [3 * t, 3 * t + 1, 3 * t + 2].map(position);
                (b - a).cross(c - a).normalize_or_zero()
            })
            .collect();
        // The margin includes edges of exactly the crease angle.
        let least_cosine = f64::from(self.options.crease_angle).to_radians().cos() - 1e-6;
        // Edges by their sites, with the corners at both ends.
        let mut edges: Vec<(u64, [usize; 2])> = (0..corners.len())
            .map(|begin| {
                let end = begin - begin % 3 + (begin + 1) % 3;
                (pair_key([corners[begin].site, corners[end].site]), [begin, end])
            })
            .collect();
        edges.sort_unstable();
        let mut group: Vec<u32> = (0..corners.len() as u32).collect();
        for pair in edges.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let ([a, b], [c, d]) = (pair[0].1, pair[1].1);
            // Two consistently oriented triangles traverse their shared edge in opposite
            // directions.
            let is_one_side = corners[a].site == corners[d].site;
            let (m, n) = (normals[a / 3], normals[c / 3]);
            // Degenerate triangles have no normal and never form a crease.
            let is_smooth = m.dot(n) >= least_cosine || m == DVec3::ZERO || n == DVec3::ZERO;
            if is_one_side && is_smooth {
                unite(&mut group, a, d);
                unite(&mut group, b, c);
            }
        }
        (0..corners.len()).map(|corner| root(&mut group, corner)).collect()
    }
}

/// First corner of a group: union-find with path halving.
fn root(group: &mut [u32], corner: usize) -> u32 {
    let mut at = corner;
    while group[at] as usize != at {
        group[at] = group[group[at] as usize];
        at = group[at] as usize;
    }
    at as u32
}

fn unite(group: &mut [u32], a: usize, b: usize) {
    let (a, b) = (root(group, a), root(group, b));
    group[a.max(b) as usize] = a.min(b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CookOptions, cook};

    /// A strip of two quads whose texture is cut in the middle.
    fn cut_strip() -> Mesh {
        let mut mesh = Mesh::grid(3, 2, 2.0, 1.0);
        mesh.uvs.clear();
        mesh.corner_uvs = CornerUvs {
            coordinates: (0..8).map(|k| [k as f32, 0.0]).collect(),
            triangles: Vec::new(),
            quads: vec![[0, 1, 2, 3], [4, 5, 6, 7]],
        };
        mesh
    }

    fn render_mesh(mesh: &Mesh, crease_angle: f32) -> RenderMesh {
        let cooked = cook(mesh, &CookOptions { pins: vec![0], ..CookOptions::default() }).unwrap();
        let drawn = cooked.render_mesh(mesh, &RenderMeshOptions { crease_angle }).unwrap();
        drawn.validate().unwrap();
        drawn
    }

    #[test]
    fn mesh_without_seams_keeps_its_vertices() {
        let mesh = Mesh::grid(4, 3, 1.0, 1.0);
        let drawn = render_mesh(&mesh, 180.0);
        assert!(!drawn.has_offsets());
        assert_eq!(drawn.source_vertices, (0..12).collect::<Vec<_>>());
        assert_eq!((drawn.triangles, drawn.uvs), (mesh.triangulated(), mesh.uvs));
        let counts: Vec<_> = drawn.corners.begin.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(counts, drawn.own_corner_counts);
        assert_eq!(counts.iter().sum::<u32>(), 3 * 12);
    }

    #[test]
    fn texture_seams_split_vertices_but_not_normals() {
        let drawn = render_mesh(&cut_strip(), 180.0);
        assert_eq!(drawn.source_vertices, [0, 1, 1, 2, 3, 4, 4, 5]);
        for vertex in [1, 2, 5, 6] {
            let (own, all) = (drawn.own_corner_counts[vertex], drawn.corners.of(vertex).len());
            assert_eq!((own, all), if own == 1 { (1, 3) } else { (2, 3) }, "{vertex}");
        }
        assert_ne!(drawn.uvs[1], drawn.uvs[2]);
    }

    #[test]
    fn creases_split_normals_and_welded_seams_do_not() {
        let mut mesh = Mesh::grid(3, 2, 2.0, 1.0);
        // The second quad hangs down.
        mesh.positions[2] = [1.0, -1.0, 0.0];
        mesh.positions[5] = [1.0, -1.0, 1.0];
        assert_eq!(render_mesh(&mesh, 91.0).source_vertices.len(), 6);
        let drawn = render_mesh(&mesh, 60.0);
        assert_eq!(drawn.source_vertices, [0, 1, 1, 2, 3, 4, 4, 5]);
        for vertex in 0..8 {
            assert_eq!(drawn.corners.of(vertex).len(), drawn.own_corner_counts[vertex] as usize);
        }
        // The same two quads with separate vertices.
        mesh = Mesh::grid(3, 2, 2.0, 1.0);
        mesh.positions.extend([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]);
        mesh.uvs.extend([[0.0; 2]; 2]);
        mesh.quads[1] = [6, 7, 5, 2];
        let drawn = render_mesh(&mesh, 60.0);
        assert_eq!(drawn.vertex_count(), 8);
        assert!((1..3).all(|vertex| drawn.corners.of(vertex).len() >= 3 - vertex));
        let seam = drawn.source_vertices.iter().position(|&source| source == 6).unwrap();
        assert_eq!(
            drawn.corners.of(seam).len(),
            3,
            "the normal is not shared across the welded seam"
        );
    }

    #[test]
    fn rejects_a_mesh_with_another_vertex_count() {
        let mesh = Mesh::grid(4, 3, 1.0, 1.0);
        let cooked = cook(&mesh, &CookOptions { pins: vec![0], ..CookOptions::default() }).unwrap();
        let other = Mesh::grid(4, 4, 1.0, 1.0);
        let error = cooked.render_mesh(&other, &RenderMeshOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "render mesh positions has 16 entries; expected 12");
        let options = RenderMeshOptions { crease_angle: f32::NAN };
        assert!(cooked.render_mesh(&mesh, &options).is_err());
    }
}
