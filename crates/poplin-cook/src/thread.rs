//! Construction of the fibers of each phase from edges.

use glam::DVec3;
use poplin_geometry::wide;
use poplin_model::PhaseKind;

use crate::CookOptions;
use crate::chains::{Chains, Ground};
use crate::cut::{Cuts, best_length};
use crate::edges::Edges;
use crate::fibers::{FiberList, Fibers};
use crate::runs::Runs;

/// Cost of leaving an edge along or across the vertical without continuation (0 at 45 degrees), as
/// much as a deflection of 60 degrees. Fibers along the grain are therefore long, and ends fall on
/// edges that belong to neither direction.
const GRAIN_PRICE: f64 = 1.0;

/// Fiber length that no fiber exceeds.
const UNCUT: usize = 1 << 24;

/// Arranges all edges in fibers, for every kind in the order of [`PhaseKind::ALL`].
///
/// Stretch edges are chained first, both directions together, so that a chain that wavers about 45
/// degrees stays whole; [`Runs`] then separates vertical from horizontal.
pub(crate) fn thread_fibers(
    edges: &Edges,
    ground: Ground<'_>,
    options: &CookOptions,
) -> [Fibers; 4] {
    let max_turn = f64::from(options.max_turn);
    let given_length = options.max_fiber_length.map(|length| length as usize);
    let thread_plain = |edges: &[[u32; 2]]| {
        let chains = Chains::link(edges, ground, max_turn, |_| 0.0);
        let cut = |max_length| {
            let mut fibers = FiberList::new(ground, DVec3::ZERO);
            chains.follow(|chain| fibers.cut(chain.vertices, max_length));
            fibers.finish()
        };
        cut(given_length
            .unwrap_or_else(|| best_length(&cut(UNCUT), ground.inverse_masses, Cuts::AreFree)))
    };
    let up = -wide(options.gravity);
    let price = |edge: u32| 2.0 * GRAIN_PRICE * edges.courses[edge as usize].1.abs();
    let mut chains = Chains::link(&edges.stretch, ground, max_turn, price);
    // Before chains are split into runs, since lengthening works on whole chains.
    chains.lengthen(given_length.unwrap_or(UNCUT));
    let cut = |lengths: [usize; 2]| {
        let mut lists = [FiberList::new(ground, DVec3::ZERO), FiberList::new(ground, up)];
        let mut runs = Runs::new(&edges.courses);
        chains.follow(|chain| {
            runs.split(chain, |kind, run| {
                let list = usize::from(kind == PhaseKind::Vertical);
                lists[list].cut(run.vertices, lengths[list]);
            });
        });
        lists.map(FiberList::finish)
    };
    let best = |whole: Fibers| best_length(&whole, ground.inverse_masses, Cuts::TakeIterations);
    let [horizontal, vertical] =
        cut(given_length.map_or_else(|| cut([UNCUT; 2]).map(best), |length| [length; 2]));
    [thread_plain(&edges.bending), thread_plain(&edges.shearing), horizontal, vertical]
}
