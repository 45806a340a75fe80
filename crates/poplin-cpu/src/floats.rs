//! Numbers that vectors are loaded from.

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};

use crate::lanes::MAX_LANES;

/// One cache line, the widest vector.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; MAX_LANES]);

/// Growable array that begins at a cache line, so that no load of a vector crosses one: such loads
/// take twice as long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Floats {
    lines: Vec<Line>,
    len: usize,
}

impl Floats {
    /// Removes all numbers and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Changes the number of entries; new ones are 0.
    pub(crate) fn resize(&mut self, len: usize) {
        let old = self.len;
        self.set_len(len);
        if let Some(new) = self.get_mut(old..) {
            new.fill(0.0);
        }
    }

    /// Makes room for at least `len` entries; new ones have any value.
    pub(crate) fn enlarge(&mut self, len: usize) {
        if self.len < len {
            self.set_len(len);
        }
    }

    fn set_len(&mut self, len: usize) {
        let count = len.div_ceil(MAX_LANES);
        if self.lines.len() < count {
            self.lines.resize(count, Line::zeroed());
        }
        self.len = len;
    }

    /// Size of the memory \[bytes\].
    pub(crate) fn size(&self) -> usize {
        size_of::<Line>() * self.lines.capacity()
    }
}

impl Deref for Floats {
    type Target = [f32];

    #[inline(always)]
    fn deref(&self) -> &[f32] {
        &cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for Floats {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut cast_slice_mut(&mut self.lines)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_entries_are_zero_and_begin_at_a_cache_line() {
        let mut floats = Floats::default();
        floats.resize(20);
        floats.fill(1.0);
        floats.resize(3);
        floats.resize(40);
        assert_eq!(floats.iter().sum::<f32>(), 3.0);
        assert!(floats.as_ptr().cast::<Line>().is_aligned());
        floats.clear();
        assert!(floats.is_empty());
        floats.enlarge(30);
        assert_eq!(floats.len(), 30);
        floats.clear();
        floats.resize(30);
        assert_eq!(floats.iter().sum::<f32>(), 0.0);
    }
}
