//! Connected components of the edge graph of a surface.

use poplin_host::Surface;

/// Disjoint sets (union-find): the parent of each row. The root of a set is its lowest row.
pub(super) struct Sets(Vec<u32>);

impl Sets {
    /// Creates one set per row.
    pub(super) fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    /// Returns the root of a row's set and halves the path to it.
    pub(super) fn root(&mut self, row: u32) -> u32 {
        let mut root = row;
        while self.0[root as usize] != root {
            let above = self.0[self.0[root as usize] as usize];
            self.0[root as usize] = above;
            root = above;
        }
        root
    }

    /// Merges the sets of two rows.
    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// Returns the components of a surface without the edges of `cut`, which are sorted.
pub(super) fn sets_of(surface: &Surface, cut: &[u32]) -> Sets {
    let mut sets = Sets::new(surface.rest.len());
    let mut cut = cut.iter().peekable();
    for (index, &[a, b]) in (0..).zip(&surface.edges) {
        if cut.next_if(|&&edge| edge == index).is_none() {
            sets.join(a, b);
        }
    }
    sets
}
