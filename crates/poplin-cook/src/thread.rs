//! From edges to the fibers of each phase.

use glam::DVec3;
use poplin_model::PhaseKind;

use crate::chains::{Chains, Ground};
use crate::cut::best_length;
use crate::edges::Edges;
use crate::fibers::{FiberList, Fibers};
use crate::runs::Runs;
use crate::{CookOptions, Direction};

/// What it costs to leave an edge along or across the vertical without continuation, and one at 45 degrees nothing: as much as a
/// turn of 60 degrees. So threads along the grain are long, and ends fall to edges that belong to neither direction.
const GRAIN_PRICE: f64 = 1.0;

/// More edges than a fiber can have.
const UNCUT: usize = 1 << 24;

/// Threads all edges on fibers, for every kind in the order of [`PhaseKind::ALL`].
///
/// Stretch edges are chained first, both directions together, so that a chain that wavers about 45 degrees stays whole;
/// [`Runs`] then tells vertical from horizontal.
pub(crate) fn thread_fibers(edges: &Edges, ground: Ground<'_>, options: &CookOptions) -> [Fibers; 4] {
    let max_turn = f64::from(options.max_turn);
    let given_length = options.max_fiber_length.map(|length| length as usize);
    let thread_plain = |edges: &[[u32; 2]]| {
        let chains = Chains::link(edges, ground, max_turn, |_| 0.0);
        let cut = |max_length| {
            let mut fibers = FiberList::new(ground, DVec3::ZERO);
            chains.follow(|chain| fibers.cut(chain.vertices, max_length));
            fibers.finish()
        };
        cut(given_length.unwrap_or_else(|| best_length(&cut(UNCUT), ground.inverse_masses)))
    };
    let max_length = given_length.unwrap_or(UNCUT);
    let up = match options.direction {
        Direction::Gravity(gravity) => -glam::Vec3::from(gravity).as_dvec3(),
        Direction::UvV => DVec3::Y,
    };
    let mut vertical = FiberList::new(ground, up);
    let mut horizontal = FiberList::new(ground, DVec3::ZERO);
    let mut runs = Runs::new(&edges.courses);
    let price = |edge: u32| 2.0 * GRAIN_PRICE * edges.courses[edge as usize].1.abs();
    let mut chains = Chains::link(&edges.stretch, ground, max_turn, price);
    chains.lengthen(max_length);
    chains.follow(|chain| {
        runs.split(chain, |kind, run| match kind {
            PhaseKind::Vertical => vertical.cut(run.vertices, max_length),
            _ => horizontal.cut(run.vertices, max_length),
        });
    });
    [thread_plain(&edges.bending), thread_plain(&edges.shearing), horizontal.finish(), vertical.finish()]
}
