//! Greedy assignment to sets whose members share no particle.

/// Assigns items over particles to sets: each item to the first set that contains none of its
/// particles, so that the items of a set can be processed in parallel.
#[derive(Debug, Clone)]
pub struct FirstFitSets {
    /// Bit set of the sets that contain each particle.
    taken: Vec<Vec<u64>>,
}

impl FirstFitSets {
    /// Starts without sets, for items over `particle_count` particles.
    pub fn new(particle_count: usize) -> Self {
        Self { taken: vec![Vec::new(); particle_count] }
    }

    /// Groups items over `particle_count` particles: each goes to the first set that contains none
    /// of its particles.
    ///
    /// # Panics
    /// Panics if a particle does not exist.
    pub fn group<T, P: IntoIterator<Item = u32> + Clone>(
        particle_count: usize,
        items: impl IntoIterator<Item = T>,
        particles_of: impl Fn(&T) -> P,
    ) -> Vec<Vec<T>> {
        let mut assigner = Self::new(particle_count);
        let mut sets: Vec<Vec<T>> = Vec::new();
        for item in items {
            let set = assigner.assign(particles_of(&item));
            sets.resize_with(sets.len().max(set + 1), Vec::new);
            sets[set].push(item);
        }
        sets
    }

    /// Adds the next item, given by its particles, and returns the index of its set.
    ///
    /// # Panics
    /// Panics if a particle does not exist.
    pub fn assign(&mut self, particles: impl IntoIterator<Item = u32> + Clone) -> usize {
        let word_of = |particle: u32, word: usize| {
            self.taken[particle as usize].get(word).copied().unwrap_or(0)
        };
        // Bits of the sets in a word that none of the particles is in.
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
    fn items_that_share_a_particle_get_different_sets() {
        let mut sets = FirstFitSets::new(4);
        let sets_of_pairs = [vec![0, 1], vec![2, 3], vec![1, 2], vec![0, 3], vec![], vec![1]]
            .map(|particles| sets.assign(particles));
        assert_eq!(sets_of_pairs, [0, 0, 1, 1, 0, 2]);
        // More sets than one word has bits.
        assert_eq!((3..=130).map(|_| sets.assign([1])).last(), Some(130));
    }
}
