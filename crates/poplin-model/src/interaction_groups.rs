//! Collision filtering by groups.

/// Collision filter of cloths and colliders with 32 groups. A cloth and a collider collide if each
/// is a member of a group in the filter of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InteractionGroups {
    /// Groups it belongs to, one per bit (default: all).
    pub memberships: u32,
    /// Groups it collides with, one per bit (default: all).
    pub filter: u32,
}

impl Default for InteractionGroups {
    fn default() -> Self {
        Self { memberships: u32::MAX, filter: u32::MAX }
    }
}

impl InteractionGroups {
    /// True if the two collide.
    pub fn meets(self, other: Self) -> bool {
        self.memberships & other.filter != 0 && other.memberships & self.filter != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collision_requires_both_filters_to_match() {
        let of = |memberships, filter| InteractionGroups { memberships, filter };
        assert!(InteractionGroups::default().meets(InteractionGroups::default()));
        assert!(of(1, 2).meets(of(2, 1)));
        assert!(!of(1, 2).meets(of(2, 2)) && !of(2, 2).meets(of(1, 2)));
        assert!(!of(0, u32::MAX).meets(InteractionGroups::default()));
    }
}
