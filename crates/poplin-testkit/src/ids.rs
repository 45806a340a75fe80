//! Cloth handles by index.

use poplin_host::{ClothId, Cloths};

/// Handle that a new engine returns for the cloth with this index, from 0 in order of insertion.
pub fn nth_cloth(index: usize) -> ClothId {
    let mut cloths = Cloths::default();
    (0..=index).map(|_| cloths.insert(())).last().expect("there is at least one")
}
