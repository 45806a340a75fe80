//! Exact search for edges that pass through faces.

use std::ops::Range;

use poplin_geometry::crossing_point;
use rayon::prelude::*;

use super::{BLOCK, Crossing};
use crate::triangle_contact::memory::TriangleContact;
use crate::triangle_contact::pairs::BodyPair;
use crate::triangle_contact::path::Path;

impl TriangleContact {
    /// Finds all crossings, sorted by pair, side, edge and face.
    pub(super) fn find_crossings(&self) -> Vec<Crossing> {
        let mut tasks: Vec<(BodyPair, u8, Range<usize>)> = Vec::new();
        for pair in self.touching_bodies() {
            for side in 0..if pair[0] == pair[1] { 1 } else { 2 } {
                let count = self.bodies[pair[side] as usize].surface.edges.len();
                let blocks = (0..count).step_by(BLOCK);
                tasks.extend(
                    blocks.map(|begin| (pair, side as u8, begin..(begin + BLOCK).min(count))),
                );
            }
        }
        let found: Vec<Vec<Crossing>> = tasks
            .into_par_iter()
            .map(|(pair, side, edges)| self.crossings_of(pair, side, edges))
            .collect();
        found.concat()
    }

    /// Finds the crossings of a range of edges of one body with the faces of the other, sorted by
    /// edge and face.
    fn crossings_of(&self, pair: BodyPair, side: u8, edges: Range<usize>) -> Vec<Crossing> {
        let mut found = Vec::new();
        let own = &self.bodies[pair[usize::from(side)] as usize];
        let other = &self.bodies[pair[usize::from(1 - side)] as usize];
        let (p, q) = (own.rows.start as u32, other.rows.start as u32);
        let is_own = pair[0] == pair[1];
        for edge in edges {
            let local = own.surface.edges[edge];
            let ends = local.map(|end| p + end);
            let [a, b] = ends.map(|row| self.start[row as usize]);
            let begin = found.len();
            other.still_faces.visit(&Path::between(&[a, b]), |face, corners| {
                // Faces that share a corner with the edge cannot cross it.
                if is_own && corners.iter().any(|corner| local.contains(corner)) {
                    return;
                }
                let corners = corners.map(|corner| q + corner);
                let faces = corners.map(|row| self.start[row as usize]);
                let Some((at, along)) = crossing_point([a, b], faces) else { return };
                found.push(Crossing {
                    pair,
                    side,
                    edge: edge as u32,
                    face,
                    ends,
                    corners,
                    at,
                    along,
                    label: side,
                });
            });
            // Sorted by face, so that the order does not depend on the tree.
            found[begin..].sort_unstable_by_key(|crossing| crossing.face);
        }
        found
    }
}
