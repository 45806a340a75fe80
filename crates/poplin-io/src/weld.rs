//! Merging of vertices at exactly the same position, for files that list a vertex once per face or
//! seam.

use std::collections::HashMap;

use glam::DVec3;

/// Merged vertices so far.
#[derive(Debug, Default)]
pub(crate) struct Weld {
    known: HashMap<[u64; 3], u32>,
    /// Positions of the vertices, in the order of first use.
    pub(crate) positions: Vec<DVec3>,
}

impl Weld {
    /// Returns the vertex at a position, or adds it.
    pub(crate) fn vertex(&mut self, position: DVec3) -> u32 {
        // -0 + 0 = 0: both zeros are one position.
        let bits = position.to_array().map(|x| (x + 0.0).to_bits());
        *self.known.entry(bits).or_insert_with(|| {
            self.positions.push(position);
            self.positions.len() as u32 - 1
        })
    }
}
