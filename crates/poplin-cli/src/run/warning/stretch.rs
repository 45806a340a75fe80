//! Limits of edge strain, and the record of edges beyond them.

use poplin_measure::strain::LongEdges;
use serde::Serialize;

/// Strain beyond which an edge is reported: woven cloth breaks at 10 to 30 %; knits stretch up to
/// 100 %, but not in a single edge.
pub(in crate::run) const MAX_STRETCH: f32 = 0.5;

/// Strain of 99 % of the edges at the end beyond which a cloth is reported: its own weight
/// stretches woven cloth by far less than a percent along its threads.
pub(in crate::run) const MAX_USUAL_STRETCH: f32 = 0.05;

/// Compression of 99 % of the edges beyond which a cloth is reported: cloth folds before it is
/// compressed.
pub(in crate::run) const MAX_SQUASH: f32 = 0.3;

/// Edges of a cloth beyond [`MAX_STRETCH`] over all frames that were read back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Overstretch {
    /// First frame with such an edge.
    pub(super) first_frame: usize,
    /// Number of such edges in the last frame.
    pub(super) edges_at_end: usize,
    /// Largest number of such edges in one frame.
    pub(super) most_edges: usize,
    /// Strain of the longest edge; the fields below locate it.
    pub(super) longest_strain: f32,
    /// Frame of the longest edge.
    pub(super) frame: usize,
    /// Copy of the cloth, from 0.
    pub(super) copy: usize,
    /// Particles at the ends of the edge.
    pub(super) particles: [u32; 2],
    /// World position of its first end \[m\].
    pub(super) position_m: [f32; 3],
}

impl Overstretch {
    /// Adds the long edges of a copy in a frame to those of the other copies.
    pub(in crate::run) fn add(
        all: &mut Option<Self>,
        long: LongEdges,
        [frame, copy]: [usize; 2],
        position: impl Fn(u32) -> [f32; 3],
    ) {
        // `edges_at_end` holds the sum over the copies of this frame so far.
        let count = long.count + all.map_or(0, |all| all.edges_at_end);
        let worst = all.filter(|all| all.longest_strain >= long.longest).unwrap_or_else(|| Self {
            first_frame: frame,
            edges_at_end: 0,
            most_edges: 0,
            longest_strain: long.longest,
            frame,
            copy,
            particles: long.particles,
            position_m: position(long.particles[0]),
        });
        *all = Some(Self { edges_at_end: count, most_edges: count, ..worst });
    }

    /// Merges the next frame that was read back.
    pub(in crate::run) fn follow(all: &mut Option<Self>, now: Option<Self>) {
        let Some(before) = *all else {
            *all = now;
            return;
        };
        let most_edges = before.most_edges.max(now.map_or(0, |now| now.most_edges));
        let edges_at_end = now.map_or(0, |now| now.edges_at_end);
        let worst = now.filter(|now| now.longest_strain > before.longest_strain).unwrap_or(before);
        *all = Some(Self { first_frame: before.first_frame, edges_at_end, most_edges, ..worst });
    }
}
