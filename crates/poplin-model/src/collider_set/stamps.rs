//! Stamps that tell which parts of a set of colliders have changed.

use std::sync::atomic::{AtomicU64, Ordering};

/// Change stamps of the parts of a set: equal stamps mean no change in between. Stamps are unique
/// across all sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColliderStamps {
    /// Stamp of the last change of membership: colliders and bodies that exist, their kinds,
    /// groups, bodies and friction.
    pub members: u64,
    /// Stamp of the last motion of the shapes of each [`ShapeKind`](super::ShapeKind).
    pub kinds: [u64; super::ShapeKind::ALL.len()],
    /// Stamp of the last change of the state of the bodies.
    pub bodies: u64,
}

/// Returns a stamp that no change of any set has yet.
pub(super) fn next_stamp() -> u64 {
    static STAMPS: AtomicU64 = AtomicU64::new(1);
    STAMPS.fetch_add(1, Ordering::Relaxed)
}
