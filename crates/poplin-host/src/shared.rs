//! Data derived from shared sources, kept once per source.

use std::collections::HashMap;
use std::sync::Arc;

use poplin_model::Fabric;

/// Derived data `P` of each `T` in use, with a user count; users share a source by having the same
/// `Arc`.
#[derive(Debug)]
pub struct Shared<T, P> {
    /// Entries by the address of their source, which each entry keeps alive.
    entries: HashMap<usize, Entry<T, P>>,
}

/// Derived data of each fabric, with the number of cloths that use it.
pub type SharedFabrics<P> = Shared<Fabric, P>;

#[derive(Debug)]
struct Entry<T, P> {
    _source: Arc<T>,
    packed: P,
    user_count: usize,
}

impl<T, P> Default for Shared<T, P> {
    fn default() -> Self {
        Self { entries: HashMap::new() }
    }
}

fn key<T>(source: &Arc<T>) -> usize {
    Arc::as_ptr(source).addr()
}

impl<T, P> Shared<T, P> {
    /// Number of sources.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no sources.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Derived data of all sources, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &P> {
        self.entries.values().map(|entry| &entry.packed)
    }

    /// Derived data of a source, if the source is in use.
    pub fn get(&self, source: &Arc<T>) -> Option<&P> {
        self.entries.get(&key(source)).map(|entry| &entry.packed)
    }

    /// Adds a user of a source; calls `pack` for the first user.
    ///
    /// # Errors
    /// Errors of `pack`; no user is added then.
    pub fn acquire<E>(
        &mut self,
        source: &Arc<T>,
        pack: impl FnOnce() -> Result<P, E>,
    ) -> Result<&P, E> {
        let entry = match self.entries.entry(key(source)) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Entry { _source: source.clone(), packed: pack()?, user_count: 0 })
            }
        };
        entry.user_count += 1;
        Ok(&entry.packed)
    }

    /// Removes a user of a source; returns the derived data after the last user.
    pub fn release(&mut self, source: &Arc<T>) -> Option<P> {
        let entry = self.entries.get_mut(&key(source))?;
        entry.user_count -= 1;
        if entry.user_count > 0 {
            return None;
        }
        // The Arc goes with the entry, and with it the address that is the key.
        self.entries.remove(&key(source)).map(|entry| entry.packed)
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_is_packed_once_and_freed_with_its_last_cloth() {
        let mut fabrics = SharedFabrics::default();
        let (a, b) = (Arc::new(Fabric::default()), Arc::new(Fabric::default()));
        for _ in 0..3 {
            assert_eq!(fabrics.acquire(&a, || Ok::<_, ()>('a')), Ok(&'a'));
        }
        assert_eq!(fabrics.acquire(&a, || Err::<char, ()>(())), Ok(&'a'), "packed again");
        assert_eq!(fabrics.acquire(&b, || Err::<char, ()>(())), Err(()));
        assert_eq!((fabrics.len(), fabrics.get(&b)), (1, None), "a rejected fabric is kept");
        assert_eq!([(); 4].map(|()| fabrics.release(&a)), [None, None, None, Some('a')]);
        assert!(fabrics.is_empty());
    }
}
