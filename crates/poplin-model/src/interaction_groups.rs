//! Who collides with whom.

/// Which cloths and colliders meet: each is a member of some of 32 groups and meets members of some. A cloth and a collider
/// collide if each is in a group that the other meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InteractionGroups {
    /// Bits of the groups that it is in (default: all).
    pub memberships: u32,
    /// Bits of the groups that it meets (default: all).
    pub filter: u32,
}

impl Default for InteractionGroups {
    fn default() -> Self {
        Self { memberships: u32::MAX, filter: u32::MAX }
    }
}

impl InteractionGroups {
    /// Whether the two collide.
    pub fn meets(self, other: Self) -> bool {
        self.memberships & other.filter != 0 && other.memberships & self.filter != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_collide_if_each_is_in_a_group_that_the_other_meets() {
        let of = |memberships, filter| InteractionGroups { memberships, filter };
        assert!(InteractionGroups::default().meets(InteractionGroups::default()));
        assert!(of(1, 2).meets(of(2, 1)));
        assert!(!of(1, 2).meets(of(2, 2)) && !of(2, 2).meets(of(1, 2)));
        assert!(!of(0, u32::MAX).meets(InteractionGroups::default()));
    }
}
