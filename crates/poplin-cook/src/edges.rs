//! All edges of the fabric, sorted into kinds.

use glam::DVec3;
use poplin_model::PhaseKind;

use crate::CookOptions;
use crate::bending::bending_pairs;
use crate::grain::stretch_kind;
use crate::quadify::QuadPairs;
use crate::surface::{Face, Surface};
use crate::topology::{Topology, key_pair, pair_key};

/// Particle pairs of each kind, in the order of [`PhaseKind::ALL`], each pair once in all and in ascending order.
#[derive(Debug, Clone, Default)]
pub(crate) struct KindEdges(pub(crate) [Vec<[u32; 2]>; 4]);

impl KindEdges {
    /// Sorts the edges of a surface.
    ///
    /// - A side of a face is a stretch edge, vertical or horizontal by its angle to the vertical of its faces. That holds
    ///   for every edge of an irregular triangle mesh too: without it the cloth could stretch there.
    /// - Shear edges are the diagonals of quads, and both diagonals of a pair of triangles that form a quad.
    /// - Bending edges see [`bending_pairs`].
    ///
    /// A pair that is already there as an earlier kind is not made again, nor one between two pinned particles or
    /// between particles in one place: neither could do anything.
    pub(crate) fn find(
        surface: &Surface,
        topology: &Topology,
        verticals: &[DVec3],
        normals: &[DVec3],
        inverse_masses: &[f32],
        options: &CookOptions,
    ) -> Self {
        let quad_pairs = QuadPairs::find(surface, topology);
        let useful = |&[a, b]: &[u32; 2]| {
            let moves = inverse_masses[a as usize] > 0.0 || inverse_masses[b as usize] > 0.0;
            moves && surface.positions[a as usize] != surface.positions[b as usize]
        };
        let mut kinds = Self::default();
        for (edge, &pair) in topology.edges.iter().enumerate() {
            if !useful(&pair) {
                continue;
            }
            let kind = if quad_pairs.is_shared_edge[edge] {
                PhaseKind::Shearing
            } else {
                let along = surface.positions[pair[1] as usize] - surface.positions[pair[0] as usize];
                stretch_kind(along, topology.edge_faces.row(edge).iter().map(|&face| verticals[face as usize]))
            };
            kinds.of_mut(kind).push(pair);
        }
        let is_mesh_edge = |pair: &[u32; 2]| topology.edges.binary_search(pair).is_ok();
        let mut shear: Vec<u64> = surface.faces.iter().flat_map(quad_diagonals).map(pair_key).collect();
        shear.extend(quad_pairs.diagonals.iter().map(|&[_, opposite]| pair_key(opposite)));
        shear.sort_unstable();
        shear.dedup();
        shear.retain(|&key| !is_mesh_edge(&key_pair(key)));
        if options.bending {
            let mut bending = bending_pairs(surface, topology, &quad_pairs, normals, options.quadify);
            bending.sort_unstable();
            bending.dedup();
            bending.retain(|key| !is_mesh_edge(&key_pair(*key)) && shear.binary_search(key).is_err());
            *kinds.of_mut(PhaseKind::Bending) = bending.into_iter().map(key_pair).filter(useful).collect();
        }
        let shearing = kinds.of_mut(PhaseKind::Shearing);
        shearing.extend(shear.into_iter().map(key_pair).filter(useful));
        shearing.sort_unstable();
        kinds
    }

    fn of_mut(&mut self, kind: PhaseKind) -> &mut Vec<[u32; 2]> {
        let index = PhaseKind::ALL.iter().position(|&other| other == kind);
        &mut self.0[index.expect("ALL holds every kind")]
    }
}

fn quad_diagonals(face: &Face) -> impl Iterator<Item = [u32; 2]> {
    let diagonals = match *face.corners() {
        [a, b, c, d] => Some([[a, c], [b, d]]),
        _ => None,
    };
    diagonals.into_iter().flatten()
}
