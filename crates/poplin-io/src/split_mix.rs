//! Random numbers by index: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014).

/// Returns element `index` of the SplitMix64 sequence of `seed`. An element can seed an independent
/// stream.
pub(crate) fn split_mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
