//! Progress of triangle contact within a slice, kept on the device.

use bytemuck::{Pod, Zeroable};

use crate::gpu_struct::{WgslType, gpu_struct};

/// A `u32` that shaders access with atomic operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Atomic(pub u32);

impl WgslType for Atomic {
    const NAME: &'static str = "atomic<u32>";
}

impl WgslType for [Atomic; 3] {
    const NAME: &'static str = "array<atomic<u32>, 3>";
}

gpu_struct! {
    /// State of the current slice and round of triangle contact, at the start of `triangle_lists`.
    pub struct RoundState {
        /// Conditions that passes run under, 0 or 1 each, by `TRIANGLE_DUE`, `TRIANGLE_FRESH` and
        /// `TRIANGLE_OVERLAPS`.
        pub gates: [Atomic; 3],
        /// Pairs with a normal multiplier above 0.
        pub contact_count: Atomic,
        /// Rows whose moves were truncated.
        pub held_row_count: Atomic,
        /// Pairs that pins or colliders force to cross.
        pub forced_count: Atomic,
        /// Smallest gap of the pairs of the slice \[m\], as ordered bits.
        pub least_gap: Atomic,
        /// Multipliers in `triangle_held`, kept from the last slice.
        pub held_count: Atomic,
        /// Rounds of this slice that have begun.
        pub round_count: Atomic,
        /// Fraction of the slice that this round advances, as bits; 0 once the whole slice is made.
        pub part: Atomic,
        /// Largest squared distance between a row and its target after the round [m^2], as bits.
        pub farthest_square: Atomic,
        /// Squared length of the longest move of an immovable row [m^2], as bits.
        pub forced_move_square: Atomic,
        /// Candidates in the list.
        pub candidate_count: Atomic,
        /// Number of candidates of a search that overflows the list, which ends the slice; else 0.
        pub unlisted_count: Atomic,
        /// Fraction of the slice that was made before this round, as bits.
        pub made: Atomic,
        /// Rounds since the whole slice was made.
        pub late_count: Atomic,
        /// Largest fraction of the round's moves that candidates allow pins and colliders, as bits.
        pub limit: Atomic,
        /// Number of equal parts that the round divides the rest of the slice into, as bits.
        pub part_count: Atomic,
        /// Number of those parts that were left after the last round, as bits.
        pub parts_left: Atomic,
        /// `farthest_square` of the round before [m^2], as bits.
        pub last_farthest_square: Atomic,
        /// Rows that were truncated unexpectedly; nothing moves then, and the round repeats.
        pub unexpected_count: Atomic,
        /// Number of repeats of the current round.
        pub repeat_count: Atomic,
        /// 1 if the moves of all movable rows may be truncated in the round, else 0.
        pub is_careful: Atomic,
        /// Number of parts to restart the round with, as bits; 0 if it does not restart.
        pub restart_parts: Atomic,
        /// 1 if pins or colliders come nearer to a pair of the round than moves may, else 0.
        pub is_pressed: Atomic,
        /// Smallest fraction of the round for which the linearised contact of all pairs stays
        /// valid, as bits.
        pub valid_part: Atomic,
    }
}

impl RoundState {
    /// Words of the state, which precede the lists of `triangle_lists`.
    pub const WORDS: usize = size_of::<Self>() / size_of::<u32>();
}
