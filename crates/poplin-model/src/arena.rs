//! Generational arena: a handle never refers to another value.

#[cfg(feature = "serde")]
use crate::ModelError;

/// Values in slots. The slot of a removed value is reused with a new generation.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Arena<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Slot and generation.
pub(crate) type Key = [u32; 2];

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arena<T> {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Key {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.value = Some(value);
            return [index, slot.generation];
        }
        self.slots.push(Slot { generation: 0, value: Some(value) });
        [self.slots.len() as u32 - 1, 0]
    }

    pub(crate) fn get(&self, [index, generation]: Key) -> Option<&T> {
        let slot = self.slots.get(index as usize)?;
        slot.value.as_ref().filter(|_| slot.generation == generation)
    }

    pub(crate) fn get_mut(&mut self, [index, generation]: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(index as usize)?;
        slot.value.as_mut().filter(|_| slot.generation == generation)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let slot = &mut self.slots[key[0] as usize];
        // A slot whose generations are used up is not reused.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(key[0]);
        }
        slot.value.take()
    }

    /// Iterates over all values in the order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        (0..).zip(&self.slots).filter_map(|(index, slot)| {
            slot.value.as_ref().map(|value| ([index, slot.generation], value))
        })
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    /// Checks that the free slots, named `what` in errors, are exactly those without a value, each
    /// listed once.
    #[cfg(feature = "serde")]
    pub(crate) fn validate(&self, what: &'static str) -> Result<(), ModelError> {
        let mut is_free = vec![false; self.slots.len()];
        for (position, &index) in self.free.iter().enumerate() {
            match self.slots.get(index as usize) {
                Some(Slot { value: None, .. }) => {}
                _ => {
                    let count = self.slots.len();
                    return Err(ModelError::IndexOutOfRange { what, position, index, count });
                }
            }
            if std::mem::replace(&mut is_free[index as usize], true) {
                return Err(ModelError::Repeated { what, position, index });
            }
        }
        Ok(())
    }

    /// Removes everything; old handles stay stale.
    pub(crate) fn clear(&mut self) {
        let keys: Vec<Key> = self.iter().map(|(key, _)| key).collect();
        // Reversed, so that slots are reused from the first.
        keys.into_iter().rev().for_each(|key| drop(self.remove(key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_of_a_removed_value_stays_stale() {
        let mut arena = Arena::default();
        let (first, second) = (arena.insert('a'), arena.insert('b'));
        assert_eq!(arena.remove(first), Some('a'));
        assert_eq!(arena.remove(first), None);
        let third = arena.insert('c');
        assert_eq!((third[0], arena.get(first), arena.get(third)), (first[0], None, Some(&'c')));
        arena.clear();
        assert_eq!((arena.len(), arena.get(second)), (0, None));
        assert_eq!([arena.insert('d')[0], arena.insert('e')[0]], [0, 1]);
    }

    #[test]
    #[cfg(feature = "serde")]
    fn validate_checks_the_list_of_free_slots() {
        let mut arena = Arena::default();
        arena.insert('a');
        let removed = arena.insert('b');
        arena.remove(removed);
        assert_eq!(arena.validate("slots"), Ok(()));
        for free in [vec![0], vec![2], vec![1, 1]] {
            let broken = Arena { free, ..arena.clone() };
            assert!(broken.validate("slots").is_err(), "{:?}", broken.free);
        }
    }
}
