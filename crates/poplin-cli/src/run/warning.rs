//! What makes the result of a run doubtful: on stderr at the end, and as data in `summary.json`.

use std::fmt;

use poplin_measure::depth::Depth;
use poplin_measure::strain::LongEdges;
use serde::Serialize;

use crate::output::{counted, grouped};

/// Strain beyond which an edge is reported: woven cloth breaks at 10 to 30 %, knits give up to 100 %, but not in one place.
pub(super) const MAX_STRETCH: f32 = 0.5;

/// A reason to doubt the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Warning {
    /// Free particles are inside colliders before the first frame.
    StartsInside {
        cloth: String,
        #[serde(flatten)]
        depth: Depth,
        depenetration_speed_m_per_s: f32,
    },
    /// Edges became longer than any cloth.
    Overstretched {
        cloth: String,
        #[serde(flatten)]
        stretch: Overstretch,
    },
}

/// Edges of a cloth beyond [`MAX_STRETCH`], in all frames that were read back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Overstretch {
    /// The first such frame.
    pub(super) first_frame: usize,
    /// Edges beyond it in the last frame.
    pub(super) edges_at_end: usize,
    /// The most of them in a frame.
    pub(super) most_edges: usize,
    /// Strain of the longest edge, and when and where it was: its frame, copy, particles and one of its ends in the world [m].
    pub(super) longest_strain: f32,
    pub(super) frame: usize,
    pub(super) copy: usize,
    pub(super) particles: [u32; 2],
    pub(super) position_m: [f32; 3],
}

impl Overstretch {
    /// Adds the long edges of a copy in a frame to those of the other copies.
    pub(super) fn add(
        all: &mut Option<Self>,
        long: LongEdges,
        [frame, copy]: [usize; 2],
        position: impl Fn(u32) -> [f32; 3],
    ) {
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

    /// Takes over the next frame that was read back.
    pub(super) fn follow(all: &mut Option<Self>, now: Option<Self>) {
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

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartsInside { cloth, depth, depenetration_speed_m_per_s: speed } => {
                let Depth { free_particles, particles_inside, deepest_m } = depth;
                let inside = grouped(*particles_inside);
                let all = counted(*free_particles, "free particle");
                write!(
                    f,
                    "cloth `{cloth}` starts inside a collider: {inside} of {all}, up to {:.1} mm deep; they come out at \
                     {speed} m/s (`contact.depenetration_speed`), some perhaps by the wrong side: move the cloth or the collider",
                    1e3 * deepest_m
                )
            }
            Self::Overstretched { cloth, stretch } => {
                let Overstretch { first_frame, edges_at_end, most_edges, frame, copy, .. } =
                    stretch;
                let [a, b] = stretch.particles;
                let [x, y, z] = stretch.position_m;
                let copy = if *copy > 0 { format!(" of copy {copy}") } else { String::new() };
                write!(
                    f,
                    "cloth `{cloth}` is stretched as no cloth is, from frame {first_frame} on: up to {} beyond {:.0} % ({} at \
                     the end), the longest by {:.0} % in frame {frame}, between particles {a} and {b}{copy} near ({x:.3}, \
                     {y:.3}, {z:.3}) m; look for a collider that it starts in or is caught behind and for pins that are pulled \
                     apart, or raise the frequency",
                    counted(*most_edges, "edge"),
                    100.0 * MAX_STRETCH,
                    grouped(*edges_at_end),
                    100.0 * stretch.longest_strain,
                )
            }
        }
    }
}
