//! Small seeded random number generator for tests, identical on every platform.

/// SplitMix64 (Steele, Lea, Flood, 2014).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform number in `low..high`.
    pub fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next_u64() >> 40) as f32 / (1u64 << 24) as f32)
    }

    /// Random index below `count` (0 for an empty range).
    pub fn index(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.next_u64() % count as u64) as usize }
    }

    /// Uniform point in the cube `low..high`.
    pub fn point(&mut self, low: f32, high: f32) -> [f32; 3] {
        std::array::from_fn(|_| self.range(low, high))
    }
}
