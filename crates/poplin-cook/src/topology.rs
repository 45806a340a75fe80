//! Adjacency of faces, edges and vertices.

use poplin_geometry::{Csr, Sets};

use crate::CookError;
use crate::surface::{Face, Surface};

/// Largest number of neighbours of a vertex. Fibers at a moving vertex are all in different sets,
/// so this bounds the sets of a phase; garments have about six neighbours per vertex.
const MAX_NEIGHBOURS: usize = 1024;

/// Edges of a surface and their adjacency.
#[derive(Debug, Clone, Default)]
pub(crate) struct Topology {
    /// Ends of each edge, the smaller first, in ascending order.
    pub(crate) edges: Vec<[u32; 2]>,
    /// Incident faces of each edge.
    pub(crate) edge_faces: Csr<u32>,
    /// Incident edges of each vertex.
    pub(crate) vertex_edges: Csr<u32>,
    /// Number of connected components.
    pub(crate) component_count: usize,
}

impl Topology {
    /// Builds the adjacency of a surface.
    pub(crate) fn new(surface: &Surface) -> Result<Self, CookError> {
        let mut sides: Vec<(u64, u32)> = Vec::with_capacity(4 * surface.faces.len());
        for (face, index) in surface.faces.iter().zip(0u32..) {
            sides.extend(face.sides().map(|side| (pair_key(side), index)));
        }
        // Equal sides become adjacent, with their faces in ascending order.
        sides.sort_unstable();
        let mut edges: Vec<[u32; 2]> = Vec::with_capacity(sides.len() / 2 + 1);
        let mut face_of_edge = Vec::with_capacity(sides.len());
        let mut last = None;
        for &(key, face) in &sides {
            if last != Some(key) {
                edges.push(key_pair(key));
                last = Some(key);
            }
            face_of_edge.push((edges.len() as u32 - 1, face));
        }
        let vertex_count = surface.positions.len();
        let edge_faces = Csr::new(edges.len(), face_of_edge.iter().copied());
        let ends = edges.iter().zip(0u32..).flat_map(|(&[a, b], edge)| [(a, edge), (b, edge)]);
        let vertex_edges = Csr::new(vertex_count, ends);
        for vertex in 0..vertex_count {
            let count = vertex_edges.row(vertex).len();
            if count > MAX_NEIGHBOURS {
                let vertex = surface.particle_to_vertex[vertex];
                return Err(CookError::TooManyNeighbours { vertex, count, limit: MAX_NEIGHBOURS });
            }
        }
        let (_, component_count) = connected_parts(vertex_count, &edges, |_| true);
        Ok(Self { edges, edge_faces, vertex_edges, component_count })
    }

    /// Number of edges with one face.
    pub(crate) fn boundary_edge_count(&self) -> usize {
        (0..self.edges.len()).filter(|&edge| self.edge_faces.row(edge).len() == 1).count()
    }

    /// Number of edges with three or more faces.
    pub(crate) fn non_manifold_edge_count(&self) -> usize {
        (0..self.edges.len()).filter(|&edge| self.edge_faces.row(edge).len() > 2).count()
    }

    /// Returns the two triangles at an edge as `(edge ends, opposite vertices)`, if it has exactly
    /// two faces and both are triangles.
    pub(crate) fn triangle_pair(
        &self,
        edge: usize,
        faces: &[Face],
    ) -> Option<([u32; 2], [u32; 2])> {
        let [a, b] = self.edges[edge];
        let &[first, second] = self.edge_faces.row(edge) else { return None };
        let opposite = |face: u32| match *faces[face as usize].corners() {
            [x, y, z] => [x, y, z].into_iter().find(|&corner| corner != a && corner != b),
            _ => None,
        };
        let pair = [opposite(first)?, opposite(second)?];
        (pair[0] != pair[1]).then_some(([a, b], pair))
    }
}

/// Packs a pair into one key, the smaller first; keys sort like the pairs.
pub(crate) fn pair_key([a, b]: [u32; 2]) -> u64 {
    u64::from(a.min(b)) << 32 | u64::from(a.max(b))
}

/// Unpacks a key into its pair.
pub(crate) fn key_pair(key: u64) -> [u32; 2] {
    [(key >> 32) as u32, key as u32]
}

/// Finds connected components of the vertices that satisfy `member`: the component of each vertex
/// (`u32::MAX` for others) and the number of components.
///
/// Components are numbered in the order of their first vertices.
pub(crate) fn connected_parts(
    vertex_count: usize,
    edges: &[[u32; 2]],
    member: impl Fn(u32) -> bool,
) -> (Vec<u32>, usize) {
    let mut sets = Sets::new(vertex_count);
    for &[a, b] in edges.iter().filter(|&&[a, b]| member(a) && member(b)) {
        sets.join(a, b);
    }
    let mut part = vec![u32::MAX; vertex_count];
    let mut count = 0;
    for vertex in (0..vertex_count as u32).filter(|&vertex| member(vertex)) {
        // A root is the first vertex of its component.
        let root = sets.root(vertex);
        if root == vertex {
            part[vertex as usize] = count;
            count += 1;
        } else {
            part[vertex as usize] = part[root as usize];
        }
    }
    (part, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;
    use poplin_model::Mesh;

    #[test]
    fn grid_has_expected_edges_and_boundary() {
        let surface = Surface::new(&Mesh::grid(4, 3, 1.0, 1.0), Weld::Off).unwrap();
        let topology = Topology::new(&surface).unwrap();
        assert_eq!(
            (topology.edges.len(), topology.boundary_edge_count()),
            (3 * 3 + 4 * 2, 2 * (3 + 2))
        );
        assert_eq!((topology.component_count, topology.non_manifold_edge_count()), (1, 0));
        assert!(topology.edges.is_sorted());
    }

    #[test]
    fn rejects_hubs_with_thousands_of_edges() {
        let mut mesh = Mesh { positions: vec![[0.0; 3]], ..Mesh::default() };
        for k in 0..2000u32 {
            let (sin, cos) = (k as f32 * 0.001).sin_cos();
            mesh.positions.push([cos, 0.0, sin]);
            if k > 0 {
                mesh.triangles.push([0, k, k + 1]);
            }
        }
        let error = Topology::new(&Surface::new(&mesh, Weld::Off).unwrap()).unwrap_err();
        assert_eq!(
            error,
            CookError::TooManyNeighbours { vertex: 0, count: 2000, limit: MAX_NEIGHBOURS }
        );
    }

    #[test]
    fn components_are_numbered_by_their_first_vertex() {
        let (part, count) = connected_parts(5, &[[3, 4], [0, 2]], |vertex| vertex != 1);
        assert_eq!((part, count), (vec![0, u32::MAX, 0, 1, 1], 2));
    }
}
