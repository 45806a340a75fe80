//! Sums over particles in one order, whatever computes them.

use super::parallel::{CHUNK, each_of_chunks};

/// Number of lanes of a workgroup.
const LANES: usize = 256;

/// Largest number of partial sums.
const MAX_PARTS: usize = 1024;

/// Adds `value(k)` for k in `0..count`: in blocks of particles, one partial sum each, and the
/// partial sums again; lane l of a block adds its entries l, l + 256, ... in order, and the lanes
/// are added in halves.
pub(super) fn sum(count: usize, value: impl Fn(usize) -> f32 + Copy + Send + Sync) -> f32 {
    let block = count.div_ceil(MAX_PARTS).next_power_of_two().max(LANES);
    let mut parts = vec![0.0; count.div_ceil(block)];
    each_of_chunks(&mut parts, (4 * CHUNK).div_ceil(block), move |part, sum| {
        *sum = fold(part * block..count.min((part + 1) * block), value);
    });
    fold(0..parts.len(), |part| parts[part])
}

/// Adds the values of a range in lanes.
fn fold(range: std::ops::Range<usize>, value: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    for (k, index) in range.enumerate() {
        lanes[k % LANES] += value(index);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_added_once() {
        for count in [0, 1, 255, 256, 257, 5000, 300_000] {
            // Whole numbers below 2^24 are added exactly.
            let value = |k: usize| (k % 7) as f32;
            let expected: usize = (0..count).map(|k| k % 7).sum();
            assert_eq!(sum(count, value), expected as f32, "{count}");
        }
    }
}
