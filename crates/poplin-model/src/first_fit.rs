//! Sets whose members share no particle.

/// Sorts items over particles into sets, each item into the first set that none of its particles is in yet, so that the
/// items of a set can be processed in parallel.
#[derive(Debug, Clone)]
pub struct FirstFitSets {
    /// The sets that a particle is in, one bit each.
    taken: Vec<Vec<u64>>,
}

impl FirstFitSets {
    /// No sets yet, for items over `particle_count` particles.
    pub fn new(particle_count: usize) -> Self {
        Self { taken: vec![Vec::new(); particle_count] }
    }

    /// Adds the next item, which is over these particles, and returns the index of its set.
    ///
    /// # Panics
    /// If a particle does not exist.
    pub fn assign(&mut self, particles: impl IntoIterator<Item = u32> + Clone) -> usize {
        let word_of = |particle: u32, word: usize| {
            self.taken[particle as usize].get(word).copied().unwrap_or(0)
        };
        let free = |word: usize| {
            !particles.clone().into_iter().fold(0, |bits, particle| bits | word_of(particle, word))
        };
        let word = (0..).find(|&word| free(word) != 0).unwrap_or(0);
        let bit = free(word).trailing_zeros();
        for particle in particles {
            let bits = &mut self.taken[particle as usize];
            bits.resize(bits.len().max(word + 1), 0);
            bits[word] |= 1 << bit;
        }
        64 * word + bit as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_a_particle_parts_and_the_rest_meets() {
        let mut sets = FirstFitSets::new(4);
        let sets_of_pairs = [vec![0, 1], vec![2, 3], vec![1, 2], vec![0, 3], vec![], vec![1]]
            .map(|particles| sets.assign(particles));
        assert_eq!(sets_of_pairs, [0, 0, 1, 1, 0, 2]);
        // Beyond one word of bits.
        assert_eq!((3..=130).map(|_| sets.assign([1])).last(), Some(130));
    }
}
