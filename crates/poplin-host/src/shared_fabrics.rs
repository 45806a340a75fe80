//! Packed fabrics, each kept once for all the cloths that share it.

use std::collections::HashMap;
use std::sync::Arc;

use poplin_model::Fabric;

/// What an engine keeps for each fabric, counted by the cloths that use it. Cloths with the same `Arc` share it.
#[derive(Debug)]
pub struct SharedFabrics<P> {
    /// By the address of the fabric, which the entry holds on to.
    entries: HashMap<usize, Entry<P>>,
}

#[derive(Debug)]
struct Entry<P> {
    _source: Arc<Fabric>,
    packed: P,
    user_count: usize,
}

impl<P> Default for SharedFabrics<P> {
    fn default() -> Self {
        Self { entries: HashMap::new() }
    }
}

fn key(fabric: &Arc<Fabric>) -> usize {
    Arc::as_ptr(fabric).addr()
}

impl<P> SharedFabrics<P> {
    /// Count of different fabrics.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no fabric.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is kept for each fabric, in no order.
    pub fn values(&self) -> impl Iterator<Item = &P> {
        self.entries.values().map(|entry| &entry.packed)
    }

    /// What is kept for a fabric, if a cloth uses it.
    pub fn get(&self, fabric: &Arc<Fabric>) -> Option<&P> {
        self.entries.get(&key(fabric)).map(|entry| &entry.packed)
    }

    /// Counts one more cloth of a fabric; `pack` is called for the first.
    ///
    /// # Errors
    /// Those of `pack`; then nothing is counted.
    pub fn acquire<E>(
        &mut self,
        fabric: &Arc<Fabric>,
        pack: impl FnOnce() -> Result<P, E>,
    ) -> Result<&P, E> {
        let entry = match self.entries.entry(key(fabric)) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Entry { _source: fabric.clone(), packed: pack()?, user_count: 0 })
            }
        };
        entry.user_count += 1;
        Ok(&entry.packed)
    }

    /// Counts one cloth of a fabric less; after the last one returns what was kept for it.
    pub fn release(&mut self, fabric: &Arc<Fabric>) -> Option<P> {
        let entry = self.entries.get_mut(&key(fabric))?;
        entry.user_count -= 1;
        if entry.user_count > 0 {
            return None;
        }
        self.entries.remove(&key(fabric)).map(|entry| entry.packed)
    }

    /// Removes all fabrics.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_is_packed_once_and_goes_with_its_last_cloth() {
        let mut fabrics = SharedFabrics::default();
        let (a, b) = (Arc::new(Fabric::default()), Arc::new(Fabric::default()));
        for _ in 0..3 {
            assert_eq!(fabrics.acquire(&a, || Ok::<_, ()>('a')), Ok(&'a'));
        }
        assert_eq!(fabrics.acquire(&a, || Err::<char, ()>(())), Ok(&'a'), "packed again");
        assert_eq!(fabrics.acquire(&b, || Err::<char, ()>(())), Err(()));
        assert_eq!((fabrics.len(), fabrics.get(&b)), (1, None), "a refused fabric is kept");
        assert_eq!([(); 4].map(|()| fabrics.release(&a)), [None, None, None, Some('a')]);
        assert!(fabrics.is_empty());
    }
}
