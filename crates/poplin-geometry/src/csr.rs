//! Rows of unequal length in one flat array (compressed sparse rows).

/// Rows of unequal length: row `i` is `items[begin[i]..begin[i + 1]]`.
#[derive(Debug, Clone, Default)]
pub struct Csr<T> {
    begin: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Csr<T> {
    /// Sorts `(row, item)` pairs into rows by counting sort; within a row the order of the iterator
    /// is kept. The iterator is traversed twice.
    pub fn new(row_count: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut begin = vec![0u32; row_count + 1];
        for (row, _) in pairs.clone() {
            begin[row as usize + 1] += 1;
        }
        for row in 0..row_count {
            begin[row + 1] += begin[row];
        }
        let mut next = begin.clone();
        let mut items = vec![T::default(); begin[row_count] as usize];
        for (row, item) in pairs {
            let slot = &mut next[row as usize];
            items[*slot as usize] = item;
            *slot += 1;
        }
        Self { begin, items }
    }

    /// Allocated bytes.
    pub fn size(&self) -> usize {
        4 * self.begin.capacity() + size_of::<T>() * self.items.capacity()
    }

    /// Items of one row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.items[self.begin[row] as usize..self.begin[row + 1] as usize]
    }
}
