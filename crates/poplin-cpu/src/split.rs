//! One loop of a large cloth on several threads. All `unsafe` code of this crate is here.
//!
//! The parts of a loop see the same rows through views of their own ([`ClothMemory::view`]), as the lanes of a workgroup see
//! the same buffers. The rows are [`Cell`](std::cell::Cell)s, which Rust keeps on one thread, since two threads that use a cell
//! at once are a data race. Here they may cross, because no two parts ever use a row that one of them writes:
//!
//! 1. A part runs one of the tasks of [`is_splittable`] for items of its own, and the call returns when all parts are done, so
//!    parts only meet parts of the same loop.
//! 2. Between two items of such a loop no row is written by one and read or written by the other. That is what the schedule
//!    promises the lanes of a GPU. By task:
//!    - Tasks of particles write `current`, `previous` and the memory of the mesh (`scratch`) of their own particle alone and
//!      read no other particle's. A chunk is a run of particles with rows of `scratch` of its own.
//!    - `BlowTriangle`, `GatherAnchor`, `BuildRow`, `ReduceRow` and `PullEdge` write one row of `scratch` per
//!      item and read others only: particles, or the half of the rows that this round does not write.
//!    - Fibers and bends write particles whose inverse mass is above 0, which no two of a set share; what they share has none,
//!      is read, and written by nobody. Bundles of a set share no particle at all.
//! 3. The lists behind 2 hold, whatever fabric a user makes: an engine takes a cloth only after `Cloth::validate`, which refuses
//!    sets of fibers or bends that share a particle with mass, and refuses mass for a particle without later on
//!    (`validate_write`); nothing else raises a mass above 0. Sets of bundles are made when
//!    the fabric is packed. Only an engine of [`WideTeam`] makes [`Parts`] of more than one for it.
//!
//! The mirror runs the lanes between two barriers in several orders and compares bits (`tests/mirror.rs`), which finds tasks
//! that break 2; `tests/wide.rs` compares the parts with the mirror.
#![expect(unsafe_code, reason = "the only module that passes cells between threads")]

use std::ops::Range;

use fearless_simd::Level;
use poplin_layout::Task;
use poplin_reference::{ClothMemory, Counters, Parts, Work};

use crate::lanes::MAX_LANES;
use crate::team::{WideTeam, run_items};

/// A cloth's memory that several threads make views of.
struct Shared<'a, 'm>(&'m ClothMemory<'a>);

// SAFETY: `halves` alone uses this, only to make a view per part. Nothing but rows is written through views of shared memory, and
// no row that a part writes is used by another part while it runs; see the module.
unsafe impl Sync for Shared<'_, '_> {}

impl<'a> Shared<'a, '_> {
    fn view(&self) -> ClothMemory<'a> {
        self.0.view()
    }
}

/// Whether items of a task may run at once on several threads. The others count in memory that all items share, or are few.
fn is_splittable(task: Task) -> bool {
    match task {
        Task::IntegrateParticle
        | Task::GatherWind
        | Task::ConstrainMotion
        | Task::ConstrainTethers
        | Task::ConstrainSeparation
        | Task::CollideConvex
        | Task::CollideBox
        | Task::CollideTriangle
        | Task::RestoreMass
        | Task::CollideShape
        | Task::CollideContinuous
        | Task::VisitChunk
        | Task::LimitSpeed
        | Task::TestRest => true,
        Task::BlowTriangle
        | Task::GatherAnchor
        | Task::BuildRow
        | Task::ReduceRow
        | Task::PullEdge => true,
        Task::ProjectFiber | Task::SolveFiber | Task::SolveBend | Task::CollideBundle => true,
        // A fiber that is a ring begins and ends with one particle: two of its items would write it.
        Task::MoveEdge => false,
        // Self collision works on lists of the whole cloth.
        Task::ClearCell
        | Task::CountMember
        | Task::SumCells
        | Task::ScanCells
        | Task::ScatterMember
        | Task::SortMember
        | Task::CountContacts
        | Task::PushApart => false,
        Task::CountSleep => false,
        Task::PrepareShape | Task::SumChunks => false,
        Task::FetchParticle | Task::FlushParticle => false,
    }
}

/// Runs a loop in as many parts as there are `rows`, the working memory of each; false if it cannot be split.
pub(crate) fn run_in_parts(
    level: Level,
    work: &Work,
    memory: &mut ClothMemory<'_>,
    rows: &mut [Vec<f32>],
    leave: &Parts<WideTeam>,
) -> bool {
    if rows.len() > leave.count() || rows.len() < 2 || !work.tasks().all(is_splittable) {
        return false;
    }
    let counters = halves(level, work, &Shared(memory), work.items(), rows);
    memory.count(counters);
    true
}

/// The nearest count of items that fills all lanes; any below that.
fn whole_blocks(count: u32) -> u32 {
    let lanes = MAX_LANES as u32;
    if count < lanes { count } else { (count + lanes / 2) / lanes * lanes }
}

/// Runs some items in as many parts as there are `rows`.
fn halves(
    level: Level,
    work: &Work,
    memory: &Shared<'_, '_>,
    items: Range<u32>,
    rows: &mut [Vec<f32>],
) -> Counters {
    if let [rows] = rows {
        let mut view = memory.view();
        run_items(level, work, &mut view, items, rows);
        return view.counters();
    }
    let count = rows.len();
    let (first, second) = rows.split_at_mut(count / 2);
    let before = u64::from(items.end - items.start) * first.len() as u64 / count as u64;
    let middle = items.start + whole_blocks(before as u32);
    let (first, second) = rayon::join(
        || halves(level, work, memory, items.start..middle, first),
        || halves(level, work, memory, middle..items.end, second),
    );
    first.with(second)
}
