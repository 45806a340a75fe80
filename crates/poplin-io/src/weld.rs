//! Vertices of files that list them once for each face or seam: those at exactly the same position are one.

use std::collections::HashMap;

use glam::DVec3;

/// Vertices so far.
#[derive(Debug, Default)]
pub(crate) struct Weld {
    known: HashMap<[u64; 3], u32>,
    /// The position of each, in the order of their first use.
    pub(crate) positions: Vec<DVec3>,
}

impl Weld {
    /// The vertex at a position, a new one if there is none yet.
    pub(crate) fn vertex(&mut self, position: DVec3) -> u32 {
        // Adding 0 makes -0 and 0 the same.
        let bits = position.to_array().map(|x| (x + 0.0).to_bits());
        *self.known.entry(bits).or_insert_with(|| {
            self.positions.push(position);
            self.positions.len() as u32 - 1
        })
    }
}
