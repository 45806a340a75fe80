//! Generational handles of cloths and their values, in the order of adding.

use std::fmt;

use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use thiserror::Error;

/// Handle of a cloth in its engine. The handle of a removed cloth never refers to another cloth of
/// that engine: every use of it returns [`NoSuchCloth`]. Handles of different engines are not
/// distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClothId(DefaultKey);

impl ClothId {
    /// Handle as a number, for languages without opaque handles.
    pub fn to_bits(self) -> u64 {
        self.0.data().as_ffi()
    }

    /// Converts a number back to a handle. A number that does not come from [`ClothId::to_bits`]
    /// may refer to no cloth or to any cloth.
    pub fn from_bits(bits: u64) -> Self {
        Self(KeyData::from_ffi(bits).into())
    }
}

impl fmt::Display for ClothId {
    /// Formats slot and generation, for example `3v1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.data())
    }
}

impl fmt::Debug for ClothId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClothId({self})")
    }
}

/// Error: the cloth was removed, or the handle belongs to another engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no cloth {id}: it was removed or belongs to another engine")]
pub struct NoSuchCloth {
    /// Handle that was used.
    pub id: ClothId,
}

/// Values under [`ClothId`]s. They stay in the order of adding after removals, so that results do
/// not depend on which slots are reused.
#[derive(Debug, Clone)]
pub struct Cloths<T> {
    /// Index of each cloth's value.
    slots: SlotMap<DefaultKey, usize>,
    ids: Vec<ClothId>,
    /// Boxed, so that closing a gap moves only pointers.
    values: Vec<Box<T>>,
}

impl<T> Default for Cloths<T> {
    fn default() -> Self {
        Self { slots: SlotMap::new(), ids: Vec::new(), values: Vec::new() }
    }
}

impl<T> Cloths<T> {
    /// Number of cloths.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if there are no cloths.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Handles, in the order of adding.
    pub fn ids(&self) -> &[ClothId] {
        &self.ids
    }

    /// Values, in the order of adding.
    pub fn values(&self) -> &[Box<T>] {
        &self.values
    }

    /// Values, in the order of adding.
    pub fn values_mut(&mut self) -> &mut [Box<T>] {
        &mut self.values
    }

    /// Adds a value after all others.
    pub fn insert(&mut self, value: T) -> ClothId {
        let id = ClothId(self.slots.insert(self.ids.len()));
        self.ids.push(id);
        self.values.push(Box::new(value));
        id
    }

    /// Index of a cloth in [`Cloths::values`]; decreases when an earlier cloth is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn index(&self, id: ClothId) -> Result<usize, NoSuchCloth> {
        self.slots.get(id.0).copied().ok_or(NoSuchCloth { id })
    }

    /// Value of a cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn get(&self, id: ClothId) -> Result<&T, NoSuchCloth> {
        self.index(id).map(|index| &*self.values[index])
    }

    /// Value of a cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn get_mut(&mut self, id: ClothId) -> Result<&mut T, NoSuchCloth> {
        self.index(id).map(|index| &mut *self.values[index])
    }

    /// Removes a cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn remove(&mut self, id: ClothId) -> Result<T, NoSuchCloth> {
        let index = self.slots.remove(id.0).ok_or(NoSuchCloth { id })?;
        self.ids.remove(index);
        // Cloths after the removed one move up by one.
        for (index, id) in self.ids.iter().enumerate().skip(index) {
            self.slots[id.0] = index;
        }
        Ok(*self.values.remove(index))
    }

    /// Removes all cloths.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.ids.clear();
        self.values.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_never_refers_to_another_cloth() {
        let mut cloths = Cloths::default();
        let first = cloths.insert('a');
        let mut stale = vec![first];
        cloths.remove(first).unwrap();
        for _ in 0..1000 {
            let id = cloths.insert('b');
            for &old in &stale {
                assert_eq!(cloths.get(old), Err(NoSuchCloth { id: old }), "{old} for {id}");
            }
            assert_eq!(cloths.remove(id), Ok('b'));
            stale.push(id);
        }
        assert_eq!(cloths.remove(first), Err(NoSuchCloth { id: first }));
        let cleared = cloths.insert('c');
        cloths.clear();
        let id = cloths.insert('d');
        assert!(cloths.get(cleared).is_err() && cloths.get(id) == Ok(&'d'));
    }

    #[test]
    fn cloths_stay_in_the_order_of_adding_with_reused_slots() {
        let mut cloths = Cloths::default();
        let [a, b, c] = ['a', 'b', 'c'].map(|value| cloths.insert(value));
        cloths.remove(a).unwrap();
        let d = cloths.insert('d');
        assert_eq!(cloths.ids(), [b, c, d]);
        assert_eq!(cloths.values().iter().map(|value| **value).collect::<String>(), "bcd");
        assert_eq!([b, c, d].map(|id| cloths.index(id)), [Ok(0), Ok(1), Ok(2)]);
    }

    #[test]
    fn the_error_names_the_handle() {
        let mut cloths = Cloths::default();
        let id = cloths.insert(());
        cloths.remove(id).unwrap();
        let message = cloths.get(id).unwrap_err().to_string();
        assert_eq!(message, format!("no cloth {id}: it was removed or belongs to another engine"));
        assert_eq!(format!("{id:?}"), "ClothId(1v1)");
    }
}
