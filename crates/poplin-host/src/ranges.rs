//! Allocator of reusable ranges of a buffer.

use std::ops::Range;

use range_alloc::RangeAllocator;

/// Allocator of element ranges of one buffer. It takes the smallest free range that fits and the
/// end of the buffer last, so that the buffer grows only when no gap is large enough.
#[derive(Debug)]
pub struct Ranges {
    free: RangeAllocator<u32>,
    used: u32,
    end: u32,
}

/// Error: no range of this length is free below the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Required buffer length \[elements\].
    pub needed: u64,
    /// Largest buffer length \[elements\].
    pub limit: u32,
}

impl Ranges {
    /// Creates an empty buffer that may grow to `limit` elements.
    pub fn new(limit: u32) -> Self {
        Self { free: RangeAllocator::new(0..limit), used: 0, end: 0 }
    }

    /// Allocates a range of `len` elements; `0..0` for none.
    ///
    /// # Errors
    /// [`Full`].
    pub fn allocate(&mut self, len: u32) -> Result<Range<u32>, Full> {
        if len == 0 {
            return Ok(0..0);
        }
        let limit = self.free.initial_range().end;
        // Computed before allocating, as the length a buffer would need at its end.
        let full = Full { needed: u64::from(self.end) + u64::from(len), limit };
        // The allocator doubles lengths, which must not overflow.
        let fits = len <= limit && len <= u32::MAX / 2;
        let range = fits.then(|| self.free.allocate_range(len).ok()).flatten().ok_or(full)?;
        self.used += len;
        self.end = self.end.max(range.end);
        Ok(range)
    }

    /// Frees a range, which must come from [`Ranges::allocate`] and must not have been freed.
    pub fn free(&mut self, range: Range<u32>) {
        if !range.is_empty() {
            self.used -= range.end - range.start;
            self.free.free_range(range);
        }
    }

    /// Frees all ranges.
    pub fn clear(&mut self) {
        self.free.reset();
        self.used = 0;
    }

    /// Number of elements in allocated ranges.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Required buffer length: one past the highest element ever allocated.
    pub fn end(&self) -> u32 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_before_the_buffer_grows() {
        let mut ranges = Ranges::new(100);
        let [a, b, c] = [10, 20, 30].map(|len| ranges.allocate(len).unwrap());
        assert_eq!((&a, &b, &c, ranges.end()), (&(0..10), &(10..30), &(30..60), 60));
        ranges.free(b);
        assert_eq!(ranges.allocate(20), Ok(10..30));
        ranges.free(a);
        ranges.free(10..30);
        assert_eq!(ranges.allocate(30), Ok(0..30), "neighbours are one gap");
        assert_eq!((ranges.used(), ranges.end()), (60, 60));
        ranges.clear();
        assert_eq!((ranges.allocate(100), ranges.used()), (Ok(0..100), 100));
    }

    #[test]
    fn a_range_that_does_not_fit_is_rejected_without_change() {
        let mut ranges = Ranges::new(100);
        assert_eq!(ranges.allocate(60), Ok(0..60));
        assert_eq!(ranges.allocate(41), Err(Full { needed: 101, limit: 100 }));
        assert_eq!(ranges.allocate(u32::MAX), Err(Full { needed: 60 + (1 << 32) - 1, limit: 100 }));
        assert_eq!((ranges.allocate(0), ranges.allocate(40)), (Ok(0..0), Ok(60..100)));
    }
}
