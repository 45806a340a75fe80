//! Handles without the engine that returned them.

use poplin_host::{ClothId, Cloths};

/// The handle that a fresh engine returns for the cloth of this index, from 0 in the order of adding.
pub fn nth_cloth(index: usize) -> ClothId {
    let mut cloths = Cloths::default();
    (0..=index).map(|_| cloths.insert(())).last().expect("there is at least one")
}
