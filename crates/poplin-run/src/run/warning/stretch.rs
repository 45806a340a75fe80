//! Warnings about edge strain, its limits, and the record of edges beyond them.

use poplin_measure::strain::{LongEdges, Strain};
use serde::Serialize;

use super::Warning;
use crate::numbers::{counted, grouped};

/// Strain beyond which an edge is reported: woven cloth breaks at 10 to 30 %; knits stretch up to
/// 100 %, but not in a single edge.
pub(in crate::run) const MAX_STRETCH: f32 = 0.5;

/// Strain of 99 % of the edges at the end beyond which a cloth is reported: its own weight
/// stretches woven cloth by far less than a percent along its threads.
const MAX_USUAL_STRETCH: f32 = 0.05;

/// Strain of 99 % of the edges that is not reported where the stiffness of a cloth lets it stretch,
/// in strains at its top by its weight.
const MAX_OF_WEIGHT: f32 = 2.0;

/// Compression of 99 % of the edges beyond which a cloth is reported: cloth folds before it is
/// compressed.
const MAX_SQUASH: f32 = 0.3;

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

impl Warning {
    /// Warns of edges beyond [`MAX_STRETCH`] in some frame, and of a cloth that is stretched or
    /// compressed at the end; `frequency_hz` are its iterations per second, and `weight_strain` is
    /// the strain that its weight causes.
    pub(in crate::run) fn of_strain(
        name: &str,
        overstretch: Option<Overstretch>,
        strain: Strain,
        weight_strain: f32,
        frequency_hz: f32,
    ) -> impl Iterator<Item = Self> + use<> {
        let Strain { p99: p99_strain, longest, shortest: shortest_strain, .. } = strain;
        let overstretched = overstretch.map(|stretch| Self::of_overstretch(name, &stretch));
        let limit = MAX_USUAL_STRETCH.max(MAX_OF_WEIGHT * weight_strain);
        let stretchy = (p99_strain.min(longest) > limit).then(|| {
            let text = format!(
                "cloth `{name}` is as stretchy as a knit: 99 % of its edges are within {:.1} % at \
                 the end; raise the iterations per second above {frequency_hz:.0} \
                 (--solver-frequency)",
                100.0 * p99_strain,
            );
            Self::of_cloth("stretchy", name, text)
                .beyond(p99_strain, limit)
                .detail("p99_strain", p99_strain)
                .detail("frequency_hz", frequency_hz)
        });
        let squashed = (p99_strain.min(-shortest_strain) > MAX_SQUASH).then(|| {
            let text = format!(
                "cloth `{name}` is compressed: 99 % of its edges are within {:.0} % at the end, the \
                 shortest by {:.0} %; check for pins, tethers or colliders that leave it no room",
                100.0 * p99_strain,
                100.0 * shortest_strain
            );
            Self::of_cloth("squashed", name, text)
                .beyond(p99_strain, MAX_SQUASH)
                .detail("p99_strain", p99_strain)
                .detail("shortest_strain", shortest_strain)
        });
        overstretched.into_iter().chain(stretchy).chain(squashed)
    }

    fn of_overstretch(name: &str, stretch: &Overstretch) -> Self {
        let Overstretch { first_frame, edges_at_end, most_edges, frame, copy, .. } = stretch;
        let ([a, b], [x, y, z]) = (stretch.particles, stretch.position_m);
        let copy = if *copy > 0 { format!(" of copy {copy}") } else { String::new() };
        let text = format!(
            "cloth `{name}` is stretched beyond what cloth survives, from frame {first_frame}: up to \
             {} longer by more than {:.0} % ({} at the end), the longest by {:.0} % in frame \
             {frame}, between particles {a} and {b}{copy} near ({x:.3}, {y:.3}, {z:.3}) m; check for \
             a collider that it starts inside or is caught behind and for pins that pull it apart, \
             or raise the frequency",
            counted(*most_edges, "edge"),
            100.0 * MAX_STRETCH,
            grouped(*edges_at_end),
            100.0 * stretch.longest_strain,
        );
        Self::of_cloth("overstretched", name, text)
            .beyond(stretch.longest_strain, MAX_STRETCH)
            .details(stretch)
    }
}
