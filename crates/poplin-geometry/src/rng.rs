//! Seeded random numbers, identical on every platform.

/// Increment of the state per number.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns element `index` of the SplitMix64 sequence of `seed` (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014). An element can seed an independent stream.
pub fn split_mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Random number generator that walks through the sequence of [`split_mix`].
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let bits = split_mix(self.0, 0);
        self.0 = self.0.wrapping_add(GAMMA);
        bits
    }

    /// Returns a uniform number in `0..1`.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// Returns a uniform number in `low..high`.
    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Returns a uniform number in `low..high` in double precision.
    pub fn range_f64(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// Returns a random index below `count`, 0 for a count of 0.
    pub fn index(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.next_u64() % count as u64) as usize }
    }

    /// Returns a random number below `limit`, 0 for a limit of 0.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.index(limit as usize) as u32
    }

    /// Returns a uniform point in the cube `low..high`.
    pub fn point(&mut self, low: f32, high: f32) -> [f32; 3] {
        std::array::from_fn(|_| self.range(low, high))
    }

    /// Returns a uniform point in the cube `low..high` in double precision.
    pub fn point_f64(&mut self, low: f64, high: f64) -> [f64; 3] {
        std::array::from_fn(|_| self.range_f64(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_numbers_are_the_published_sequence() {
        // First outputs for seed 1234567 of the public-domain reference by Vigna.
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([0, 1, 2].map(|i| split_mix(1_234_567, i)), published);
        let mut rng = Rng::new(1_234_567);
        assert_eq!([(); 3].map(|()| rng.next_u64()), published);
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut rng = Rng::new(3);
        for _ in 0..1000 {
            assert!((0.0..1.0).contains(&rng.unit()));
            assert!((-2.0..3.0).contains(&rng.range_f64(-2.0, 3.0)));
            assert!(rng.below(7) < 7);
        }
        assert_eq!((rng.index(0), rng.below(0)), (0, 0));
    }
}
