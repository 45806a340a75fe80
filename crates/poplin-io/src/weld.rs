//! Merging of vertices at exactly the same position, for files that list a vertex once per face or
//! seam.

use glam::DVec3;
use poplin_geometry::Spots;

/// Merged vertices so far.
#[derive(Debug, Default)]
pub(crate) struct Weld {
    known: Spots,
    /// Positions of the vertices, in the order of first use.
    pub(crate) positions: Vec<DVec3>,
}

impl Weld {
    /// Returns the vertex at a position, or adds it.
    pub(crate) fn vertex(&mut self, position: DVec3) -> u32 {
        let next = self.positions.len() as u32;
        let vertex = self.known.first(position, next);
        if vertex == next {
            self.positions.push(position);
        }
        vertex
    }
}
