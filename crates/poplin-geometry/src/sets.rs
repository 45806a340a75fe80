//! Disjoint sets.

/// Disjoint sets (union-find): the parent of each member. The root of a set is its lowest member.
#[derive(Debug, Clone)]
pub struct Sets(Vec<u32>);

impl Sets {
    /// Creates one set per member.
    pub fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    /// Returns the root of a member's set and halves the path to it.
    pub fn root(&mut self, member: u32) -> u32 {
        let mut root = member;
        while self.0[root as usize] != root {
            let above = self.0[self.0[root as usize] as usize];
            self.0[root as usize] = above;
            root = above;
        }
        root
    }

    /// Merges the sets of two members.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_a_set_is_its_lowest_member() {
        let mut sets = Sets::new(6);
        for [a, b] in [[5, 3], [3, 1], [4, 2]] {
            sets.join(a, b);
        }
        assert_eq!([0, 1, 2, 3, 4, 5].map(|member| sets.root(member)), [0, 1, 2, 1, 2, 1]);
    }
}
