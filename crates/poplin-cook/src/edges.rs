//! Edges of the fabric, by kind.

use glam::DVec3;

use crate::CookOptions;
use crate::bending::bending_pairs;
use crate::grain::uprightness;
use crate::quadify::QuadPairs;
use crate::surface::{Face, Surface};
use crate::topology::{Topology, key_pair, pair_key};

/// Particle pairs, each in at most one list; every list is in ascending order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edges {
    /// Edges that preserve the cloth's length and width; their chains determine vertical or
    /// horizontal.
    pub(crate) stretch: Vec<[u32; 2]>,
    /// Length of every stretch edge \[m\], and its [`uprightness`].
    pub(crate) courses: Vec<(f64, f64)>,
    /// Edges across quads.
    pub(crate) shearing: Vec<[u32; 2]>,
    /// Edges across a vertex or a fold line.
    pub(crate) bending: Vec<[u32; 2]>,
}

impl Edges {
    /// Classifies the edges of a surface.
    ///
    /// - A side of a face is a stretch edge. This includes every edge of an irregular triangle
    ///   mesh, which could stretch there otherwise.
    /// - Shear edges are the diagonals of quads, and both diagonals of a pair of triangles that
    ///   form a quad.
    /// - For bending edges see [`bending_pairs`].
    ///
    /// Pairs that already exist as an earlier kind are not added again; pairs of two pinned
    /// particles or of coincident particles are skipped because they have no effect.
    pub(crate) fn find(
        surface: &Surface,
        topology: &Topology,
        quad_pairs: &QuadPairs,
        verticals: &[DVec3],
        normals: &[DVec3],
        inverse_masses: &[f32],
        options: &CookOptions,
    ) -> Self {
        let useful = |&[a, b]: &[u32; 2]| {
            let moves = inverse_masses[a as usize] > 0.0 || inverse_masses[b as usize] > 0.0;
            moves && surface.positions[a as usize] != surface.positions[b as usize]
        };
        let mut edges = Self::default();
        for (edge, &pair) in topology.edges.iter().enumerate().filter(|(_, pair)| useful(pair)) {
            // The shared edge of two triangles that form a quad is its diagonal.
            if quad_pairs.is_shared_edge[edge] {
                edges.shearing.push(pair);
                continue;
            }
            let along = surface.positions[pair[1] as usize] - surface.positions[pair[0] as usize];
            let verticals =
                topology.edge_faces.row(edge).iter().map(|&face| verticals[face as usize]);
            edges.stretch.push(pair);
            edges.courses.push((along.length(), uprightness(along, verticals)));
        }
        let is_mesh_edge = |pair: &[u32; 2]| topology.edges.binary_search(pair).is_ok();
        let mut shear: Vec<u64> =
            surface.faces.iter().flat_map(quad_diagonals).map(pair_key).collect();
        shear.extend(quad_pairs.diagonals.iter().map(|&[_, opposite]| pair_key(opposite)));
        shear.sort_unstable();
        shear.dedup();
        // Irregular meshes may have a diagonal that is also the side of a face.
        shear.retain(|&key| !is_mesh_edge(&key_pair(key)));
        if options.bending {
            let mut bending =
                bending_pairs(surface, topology, quad_pairs, normals, options.quadify);
            bending.sort_unstable();
            bending.dedup();
            bending
                .retain(|key| !is_mesh_edge(&key_pair(*key)) && shear.binary_search(key).is_err());
            edges.bending = bending.into_iter().map(key_pair).filter(useful).collect();
        }
        edges.shearing.extend(shear.into_iter().map(key_pair).filter(useful));
        edges.shearing.sort_unstable();
        edges
    }
}

fn quad_diagonals(face: &Face) -> impl Iterator<Item = [u32; 2]> {
    let diagonals = match *face.corners() {
        [a, b, c, d] => Some([[a, c], [b, d]]),
        _ => None,
    };
    diagonals.into_iter().flatten()
}
