//! Batches of cloths that share a fabric, one cloth per lane. State is stored as structure of
//! arrays, so that loads are contiguous and nothing is gathered.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::{IterationConstants, NO_OFFSET, StageMask, Task};
use poplin_reference::contact::ContactMemory;
use poplin_reference::kernel::{fetch_counters, flush_counters, run_iterations};
use poplin_reference::memory::{Pools, State};
use poplin_reference::{ClothMemory, Member, Work, Workers};

use crate::lanes::{Lanes, MAX_LANES, gather, scatter};
use crate::stage::fibers::FiberLanes;
use crate::stage::particles::Particles;
use crate::stage::shapes::Colliding;
use crate::stage::{gauss_seidel, integrate, particles, semi_implicit, shapes, tether};
use crate::team::in_lanes;
use crate::vector::Vec3;
use crate::{Neighbors, WideTeam};

/// State of a batch, shape `[particle_count, 4, lanes]`: three coordinates and the inverse mass of
/// a particle, each with one cloth per lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    current: Vec<f32>,
    previous: Vec<f32>,
    /// Positions of tether anchors, copied by [`gather_anchors`].
    anchors: Vec<f32>,
}

/// Loads the four vectors of particle `i`.
#[inline(always)]
fn load<S: Simd, V: Lanes<S>>(simd: S, columns: &[f32], i: u32) -> [V; 4] {
    let columns = &columns[4 * V::LEN * i as usize..][..4 * V::LEN];
    [
        V::from_slice(simd, &columns[..V::LEN]),
        V::from_slice(simd, &columns[V::LEN..2 * V::LEN]),
        V::from_slice(simd, &columns[2 * V::LEN..3 * V::LEN]),
        V::from_slice(simd, &columns[3 * V::LEN..]),
    ]
}

/// Stores the four vectors of particle `i`.
#[inline(always)]
fn store<S: Simd, V: Lanes<S>>(columns: &mut [f32], i: u32, particles: [V; 4]) {
    store_position(columns, i, particles);
    particles[3].store_slice(&mut columns[4 * V::LEN * i as usize..][3 * V::LEN..4 * V::LEN]);
}

/// Stores the three coordinates of particle `i` and leaves its inverse mass.
#[inline(always)]
fn store_position<S: Simd, V: Lanes<S>>(columns: &mut [f32], i: u32, particles: [V; 4]) {
    let columns = &mut columns[4 * V::LEN * i as usize..][..3 * V::LEN];
    let [x, y, z, _] = particles;
    x.store_slice(&mut columns[..V::LEN]);
    y.store_slice(&mut columns[V::LEN..2 * V::LEN]);
    z.store_slice(&mut columns[2 * V::LEN..]);
}

/// Selects `new` where the mask is set, else `old`.
#[inline(always)]
fn select<S: Simd, V: Lanes<S>>(mask: V::Mask, new: [V; 4], old: [V; 4]) -> [V; 4] {
    [
        mask.select(new[0], old[0]),
        mask.select(new[1], old[1]),
        mask.select(new[2], old[2]),
        mask.select(new[3], old[3]),
    ]
}

/// Stores the vectors of particle `i` in the lanes where the mask is set.
#[inline(always)]
fn store_some<S: Simd, V: Lanes<S>>(
    simd: S,
    columns: &mut [f32],
    i: u32,
    particles: [V; 4],
    mask: V::Mask,
) {
    if mask.any_true() {
        let old = load(simd, columns, i);
        store(columns, i, select(mask, particles, old));
    }
}

/// Cloths of one fabric, one per lane. Lanes beyond the last cloth repeat it.
struct Batch<'a, 'm> {
    members: &'a mut [Member<'m, Neighbors>],
    columns: Columns,
    /// Bit mask of the lanes whose cloths are still simulated.
    alive: u64,
}

/// Iterates over the cloths in the lanes whose bit is set.
fn in_lanes_of<'b, 'm>(
    bits: u64,
    members: &'b mut [Member<'m, Neighbors>],
) -> impl Iterator<Item = &'b mut Member<'m, Neighbors>> {
    let members = members.iter_mut().enumerate();
    members.filter(move |(lane, _)| bits >> lane & 1 != 0).map(|(_, member)| member)
}

impl<'m> Batch<'_, 'm> {
    /// Cloths that are still simulated.
    fn live(&mut self) -> impl Iterator<Item = &mut Member<'m, Neighbors>> {
        in_lanes_of(self.alive, self.members)
    }
}

/// Batch as seen by stages. `lead` is the memory of the schedule walk, whose parameters and
/// registers hold for all cloths.
pub(crate) struct View<'a, 'b, 'm, 'l> {
    batch: &'a mut Batch<'b, 'm>,
    lead: &'a mut ClothMemory<'l>,
}

impl View<'_, '_, '_, '_> {
    /// Cloth in a lane.
    #[inline(always)]
    fn cloth(&self, lane: usize) -> &ClothMemory<'_> {
        let last = self.batch.members.len() - 1;
        &self.batch.members[lane.min(last)].memory
    }
}

/// Particle blocks of a batch: the same particle of every cloth.
impl<S: Simd, V: Lanes<S>> Particles<S, V> for View<'_, '_, '_, '_> {
    type Block = u32;

    #[inline(always)]
    fn blocks(items: Range<u32>) -> impl Iterator<Item = u32> {
        items
    }

    #[inline(always)]
    fn bits(&self, _: u32) -> u64 {
        self.batch.alive
    }

    #[inline(always)]
    fn lead(&self) -> &ClothMemory<'_> {
        self.lead
    }

    #[inline(always)]
    fn constant(&self, simd: S, constant: fn(&IterationConstants) -> [f32; 4]) -> Vec3<S, V> {
        Vec3::xyz(gather(simd, |lane| constant(&self.cloth(lane).iteration)))
    }

    #[inline(always)]
    fn matrix(&self, simd: S, begin: u32) -> [Vec3<S, V>; 3] {
        let column = |lane: usize, k: u32| {
            let [x, y, z] = self.cloth(lane).frame_column(begin + k);
            [x, y, z, 0.0]
        };
        [
            Vec3::xyz(gather(simd, |lane| column(lane, 0))),
            Vec3::xyz(gather(simd, |lane| column(lane, 1))),
            Vec3::xyz(gather(simd, |lane| column(lane, 2))),
        ]
    }

    #[inline(always)]
    fn current(&self, simd: S, i: u32) -> [V; 4] {
        load(simd, &self.batch.columns.current, i)
    }

    #[inline(always)]
    fn previous(&self, simd: S, i: u32) -> [V; 4] {
        load(simd, &self.batch.columns.previous, i)
    }

    #[inline(always)]
    fn set_current(&mut self, i: u32, particles: [V; 4]) {
        store(&mut self.batch.columns.current, i, particles);
    }

    #[inline(always)]
    fn set_previous(&mut self, i: u32, particles: [V; 4]) {
        store(&mut self.batch.columns.previous, i, particles);
    }

    /// Does nothing for a batch: cloths with the implicit solver are simulated one by one.
    #[inline(always)]
    fn set_inertia(&mut self, _: u32, _: [V; 4]) {}

    #[inline(always)]
    fn set_some(&mut self, simd: S, i: u32, particles: [V; 4], mask: V::Mask) {
        store_some(simd, &mut self.batch.columns.current, i, particles, mask);
    }

    #[inline(always)]
    fn set_some_previous(&mut self, simd: S, i: u32, particles: [V; 4], mask: V::Mask) {
        store_some(simd, &mut self.batch.columns.previous, i, particles, mask);
    }

    #[inline(always)]
    fn collision(&self, simd: S) -> [V; 4] {
        gather(simd, |lane| particles::collision_of(self.cloth(lane)))
    }

    /// Does nothing for a batch: cloths with the implicit solver are simulated one by one.
    #[inline(always)]
    fn planes(&self, _: S, _: Self::Block) -> Option<[V; 4]> {
        None
    }

    #[inline(always)]
    fn depenetration_step(&self, simd: S) -> V {
        V::from_fn(simd, |lane| self.cloth(lane).cloth.colliders.depenetration_step)
    }

    #[inline(always)]
    fn iteration_fraction(&self, simd: S) -> V {
        V::from_fn(simd, |lane| self.cloth(lane).cloth.colliders.iteration_fraction)
    }

    #[inline(always)]
    fn input(&self, simd: S, begin: u32, i: u32) -> [V; 4] {
        gather(simd, |lane| self.cloth(lane).input_row(begin + i))
    }

    #[inline(always)]
    fn interpolated(&self, simd: S, [start, target]: [u32; 2], i: u32) -> [V; 4] {
        gather(simd, |lane| self.cloth(lane).load_interpolated(start, target, i))
    }

    #[inline(always)]
    fn fabric(&self, simd: S, begin: u32, i: u32) -> V {
        V::splat(simd, self.lead.fabric_f32(begin + i))
    }

    #[inline(always)]
    fn anchors(&self, simd: S, begin: u32, i: u32) -> Vec3<S, V> {
        Vec3::xyz(load(simd, &self.batch.columns.anchors, self.lead.fabric(begin + i)))
    }

    #[inline(always)]
    fn report_faults(&mut self, i: u32, bits: u64) {
        for Member { memory, .. } in in_lanes_of(bits, self.batch.members) {
            memory.fault_count += 1;
            memory.fault_particle = memory.fault_particle.min(i);
        }
    }
}

/// One fiber of the shared fabric, in every cloth.
struct Fiber<'a, 'm> {
    columns: &'a mut Columns,
    lead: &'a ClothMemory<'m>,
    /// First entry of its vertices in the fabric.
    vertices: u32,
    /// Entry of its first edge in the fabric.
    edges: u32,
    length: u32,
    /// Bit mask of the lanes whose cloths are still simulated.
    bits: u64,
}

impl<'a, 'm> Fiber<'a, 'm> {
    #[inline(always)]
    fn new(columns: &'a mut Columns, lead: &'a ClothMemory<'m>, fiber: u32, bits: u64) -> Self {
        let fabric = &lead.cloth.fabric;
        let begin = lead.fabric(fabric.fiber_begin + fiber);
        Self {
            vertices: fabric.vertex_begin + fiber + begin,
            edges: fabric.edge_begin + begin,
            length: lead.fabric(fabric.fiber_begin + fiber + 1) - begin,
            columns,
            lead,
            bits,
        }
    }
}

impl<S: Simd, V: Lanes<S>> FiberLanes<S, V> for Fiber<'_, '_> {
    type Particles = u32;

    #[inline(always)]
    fn longest(&self) -> u32 {
        self.length
    }

    #[inline(always)]
    fn first(&self) -> u32 {
        self.lead.fabric(self.vertices)
    }

    #[inline(always)]
    fn particles(&self, k: u32, end: u32, _: u32) -> u32 {
        self.lead.fabric(self.vertices + k + end)
    }

    #[inline(always)]
    fn current(&self, simd: S, i: u32) -> [V; 4] {
        load(simd, &self.columns.current, i)
    }

    #[inline(always)]
    fn previous(&self, simd: S, i: u32) -> [V; 4] {
        load(simd, &self.columns.previous, i)
    }

    #[inline(always)]
    fn rest_lengths(&self, simd: S, k: u32) -> V {
        V::splat(simd, self.lead.fabric_f32(self.edges + k))
    }

    #[inline(always)]
    fn bits(&self) -> u64 {
        self.bits
    }

    #[inline(always)]
    fn bits_of(&self, _: u32) -> u64 {
        self.bits
    }

    #[inline(always)]
    fn keep_one(&self, _: S, _: u32, new: V, _: V) -> V {
        new
    }

    #[inline(always)]
    fn store_massive(&mut self, simd: S, values: [V; 4], i: u32, _: u64) {
        // Particles without mass are shared between fibers of a set: read only.
        let is_massive = V::splat(simd, 0.0).simd_lt(values[3]);
        if is_massive.all_true() {
            store_position(&mut self.columns.current, i, values);
        } else if is_massive.any_true() {
            let old = load(simd, &self.columns.current, i);
            store_position(&mut self.columns.current, i, select(is_massive, values, old));
        }
    }
}

/// Wide form of `poplin_reference::stage::gauss_seidel` with one cloth per lane.
#[inline(always)]
pub(crate) fn project_fibers<S: Simd, V: Lanes<S>>(
    simd: S,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let phase = view.lead.registers.phase;
    for fiber in items {
        let columns = &mut view.batch.columns;
        let mut fiber = Fiber::new(columns, view.lead, fiber, view.batch.alive);
        gauss_seidel::project::<S, V, _>(simd, &phase, &mut fiber);
    }
}

/// Wide form of `poplin_reference::stage::semi_implicit` with one cloth per lane. `rows` is scratch
/// memory.
#[inline(always)]
pub(crate) fn solve_fibers<S: Simd, V: Lanes<S>>(
    simd: S,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
    rows: &mut Vec<f32>,
) {
    let phase = view.lead.registers.phase;
    for fiber in items {
        let columns = &mut view.batch.columns;
        let mut fiber = Fiber::new(columns, view.lead, fiber, view.batch.alive);
        semi_implicit::solve::<S, V, _>(simd, &phase, &mut fiber, rows);
    }
}

/// Copies the anchors of tethers, so that all tethers read positions of the start of the stage.
#[inline(always)]
pub(crate) fn gather_anchors<S: Simd, V: Lanes<S>>(
    simd: S,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let Columns { current, anchors, .. } = &mut view.batch.columns;
    let needed = 4 * V::LEN * items.end as usize;
    anchors.resize(needed.max(anchors.len()), 0.0);
    for slot in items {
        let anchor = view.lead.fabric(view.lead.cloth.fabric.anchor_begin + slot);
        store(anchors, slot, load::<S, V>(simd, current, anchor));
    }
}

impl Columns {
    /// Grows the columns to hold `particle_count` particles in `lanes` lanes.
    pub(crate) fn reserve(&mut self, particle_count: usize, lanes: usize) {
        let needed = 4 * lanes * particle_count;
        for columns in [&mut self.current, &mut self.previous, &mut self.anchors] {
            columns.resize(needed.max(columns.len()), 0.0);
        }
    }

    /// Size of the columns \[bytes\].
    pub(crate) fn size(&self) -> usize {
        let columns = [&self.current, &self.previous, &self.anchors].map(Vec::capacity);
        size_of::<f32>() * columns.into_iter().sum::<usize>()
    }
}

/// Collider tables with one value per lane: every cloth has its own shapes, and all of them are
/// tested.
impl<S: Simd, V: Lanes<S>> Colliding<S, V> for View<'_, '_, '_, '_> {
    const LANES: usize = V::LEN;

    type Bounds = ();

    #[inline(always)]
    fn cloth(&self, lane: usize) -> &ClothMemory<'_> {
        View::cloth(self, lane)
    }

    #[inline(always)]
    fn number(simd: S, table: &[f32], k: usize) -> V {
        V::from_slice(simd, &table[k * V::LEN..][..V::LEN])
    }

    #[inline(always)]
    fn row_of(_: u32, rank: usize) -> usize {
        rank
    }

    #[inline(always)]
    fn bounds(_: Vec3<S, V>) {}

    #[inline(always)]
    fn next(&self, _: [u32; 2], count: usize, node: &mut u32, (): &()) -> Option<usize> {
        let k = *node as usize;
        *node += 1;
        if k < count { Some(k) } else { None }
    }
}

/// Copies the state of every cloth from rows to columns.
#[inline(always)]
pub(crate) fn read_rows<S: Simd, V: Lanes<S>>(
    simd: S,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let Batch { members, columns, .. } = &mut *view.batch;
    columns.reserve(items.end as usize, V::LEN);
    let last = members.len() - 1;
    for i in items {
        let member = |lane: usize| &members[lane.min(last)].memory;
        let current: [V; 4] = gather(simd, |lane| member(lane).load_current(i));
        store(&mut columns.current, i, current);
        let previous: [V; 4] = gather(simd, |lane| member(lane).load_previous(i));
        store(&mut columns.previous, i, previous);
    }
}

/// Copies the state of every cloth that is still simulated from columns to rows.
#[inline(always)]
pub(crate) fn write_rows<S: Simd, V: Lanes<S>>(
    simd: S,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let Batch { members, columns, alive } = &mut *view.batch;
    for i in items {
        scatter::<S, V>(load(simd, &columns.current, i), |lane, row| {
            if *alive >> lane & 1 != 0 {
                members[lane].memory.store_current(i, row);
            }
        });
        scatter::<S, V>(load(simd, &columns.previous, i), |lane, row| {
            if *alive >> lane & 1 != 0 {
                members[lane].memory.store_previous(i, row);
            }
        });
    }
}

/// Most tree nodes of a cloth up to which testing all of its capsules and spheres is cheaper than
/// walking its trees.
const FEW_NODES: u32 = 32;

/// Location of the current state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    /// State in the rows of the cloths, where stages without a batch form run on each cloth.
    Rows,
    /// State in the columns of the batch.
    Columns,
    /// Same state in rows and columns.
    Everywhere,
}

/// Walks the schedule once for all cloths of a batch.
struct BatchWalk<'a, 'm> {
    batch: Batch<'a, 'm>,
    location: Location,
    /// Number of iterations begun so far.
    begun: u32,
    stages: StageMask,
    team: &'a mut WideTeam,
}

impl BatchWalk<'_, '_> {
    /// Tests whether a task reads or writes particles.
    fn moves_particles(task: Task) -> bool {
        !matches!(task, Task::PrepareShape | Task::CountSleep)
    }

    /// Copies the state to where the next task reads it, unless it is already there.
    fn locate(&mut self, location: Location, lead: &mut ClothMemory<'_>) {
        if self.location == Location::Everywhere || self.location == location {
            return;
        }
        let items = 0..lead.cloth.particle_count;
        let view = &mut View { batch: &mut self.batch, lead };
        match location {
            Location::Columns => {
                in_lanes!(self.team.level, read_rows, view: View<'_, '_, '_, '_>, items)
            }
            _ => in_lanes!(self.team.level, write_rows, view: View<'_, '_, '_, '_>, items),
        }
        self.location = Location::Everywhere;
    }

    /// Tests whether every cloth has so few capsules and spheres that testing all is cheaper than
    /// walking trees.
    fn has_few_shapes(&self) -> bool {
        self.batch.members.iter().all(|Member { memory, .. }| {
            let shapes = &memory.cloth.colliders;
            shapes.capsule_tree_count + shapes.sphere_tree_count <= FEW_NODES
        })
    }

    /// Runs the batch form of a task. Returns false if it has none for these cloths.
    fn run_wide(&mut self, task: Task, items: Range<u32>, lead: &mut ClothMemory<'_>) -> bool {
        macro_rules! side_by_side {
            ($($stage:ident)::+ $(, $rows:ident)?) => {{
                self.locate(Location::Columns, lead);
                self.location = Location::Columns;
                let WideTeam { level, rows: _rows, .. } = &mut *self.team;
                $(let $rows = _rows;)?
                let view = &mut View { batch: &mut self.batch, lead };
                in_lanes!(*level, $($stage)::+, view: View<'_, '_, '_, '_>, items $(, $rows: Vec<f32>)?)
            }};
        }
        match task {
            // Stiffness per edge is rare: only the reference version reads it.
            Task::ProjectFiber if lead.cloth.fabric.edge_stiffness_begin == NO_OFFSET => {
                side_by_side!(project_fibers)
            }
            Task::BuildEquation | Task::PushEdge => {}
            Task::SolveFiber => side_by_side!(solve_fibers, rows),
            Task::IntegrateParticle => side_by_side!(integrate::integrate_particles),
            Task::ConstrainMotion => side_by_side!(particles::constrain_motion),
            Task::ConstrainSeparation => side_by_side!(particles::constrain_separation),
            Task::GatherAnchor => side_by_side!(gather_anchors),
            Task::ConstrainTethers => side_by_side!(tether::constrain_tethers),
            Task::RestoreMass => side_by_side!(particles::restore_mass),
            Task::LimitSpeed => side_by_side!(particles::limit_speed),
            Task::CollideConvex => side_by_side!(shapes::collide_convexes, rows),
            Task::CollideBox => side_by_side!(shapes::collide_boxes, rows),
            Task::CollideShape if self.has_few_shapes() => {
                side_by_side!(shapes::collide_shapes, rows)
            }
            _ => return false,
        }
        true
    }

    /// Writes the reports of the cloths that are still simulated, after `ran` whole iterations.
    fn flush(&mut self, ran: u32) {
        for Member { memory, feedback, .. } in self.batch.live() {
            flush_counters(memory, feedback, ran, self.stages);
        }
    }
}

impl Workers for BatchWalk<'_, '_> {
    type Kept = ();
    type Contacts = ContactMemory;

    fn open_grid(&mut self, _: &mut ClothMemory<'_>) {
        for Member { memory, kept, .. } in self.batch.live() {
            kept.open(memory);
        }
    }

    fn begin_iteration(&mut self, lead: &mut ClothMemory<'_>, k: u32) {
        self.begun += 1;
        lead.begin_iteration(k);
        for Member { memory, .. } in self.batch.live() {
            memory.begin_iteration(k);
            // Cloths are batched by sleep time: it is the same for all.
            lead.sleep_time = memory.sleep_time;
        }
    }

    fn work(&mut self, work: Work, lead: &mut ClothMemory<'_>) {
        for task in work.tasks() {
            if self.run_wide(task, work.items(), lead) {
                continue;
            }
            if Self::moves_particles(task) {
                self.locate(Location::Rows, lead);
                self.location = Location::Rows;
            }
            for Member { memory, kept, .. } in self.batch.live() {
                // No batch form: run the task on each cloth, with the neighbor lists of that cloth.
                memory.registers = lead.registers;
                self.team.exchange(kept);
                self.team.work(Work::new(work.items(), [task].into_iter(), memory), memory);
                self.team.exchange(kept);
            }
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}

    /// Stops the cloths with a fault and continues with the others.
    fn goes_on(&mut self, lead: &mut ClothMemory<'_>) -> bool {
        let is_faulty = |member: &Member<'_, Neighbors>| member.memory.fault_count != 0;
        let members = self.batch.members.iter().enumerate();
        // One bit per cloth that reported a fault in this iteration and is still simulated.
        let faulty = members
            .fold(0, |bits, (lane, member)| bits | u64::from(is_faulty(member)) << lane)
            & self.batch.alive;
        if faulty != 0 {
            self.locate(Location::Rows, lead);
            let others = self.batch.alive & !faulty;
            self.batch.alive = faulty;
            // The iteration with the fault does not count: `begun` includes it.
            self.flush(self.begun - 1);
            self.batch.alive = others;
        }
        self.batch.alive != 0
    }
}

/// Simulates cloths as [`Workers::simulate_cloths`] does, one per lane.
pub(crate) fn simulate(
    team: &mut WideTeam,
    members: &mut [Member<'_, Neighbors>],
    iterations: Range<u32>,
    stages: StageMask,
) {
    let mut alive = 0;
    for (lane, Member { memory, feedback, .. }) in members.iter_mut().enumerate() {
        if fetch_counters(memory, feedback, iterations.start == 0, stages) {
            alive |= 1 << lane;
        }
    }
    let Some(first) = members.first().filter(|_| alive != 0).map(|member| &member.memory) else {
        return;
    };
    let pools = Pools {
        frame_pool: first.frame_pool,
        fabric_pool: first.fabric_pool,
        input_pool: first.input_pool,
    };
    // The lead has no particles of its own: it only carries parameters and registers.
    let state = State { current: &mut [], previous: &mut [], scratch: &mut [], cells: &mut [] };
    let mut lead =
        ClothMemory { cells: first.cells, ..ClothMemory::new(first.cloth, pools, state) };
    let columns = std::mem::take(&mut team.columns);
    let batch = Batch { members, columns, alive };
    let mut walk = BatchWalk { batch, location: Location::Rows, begun: 0, stages, team };
    let ran = run_iterations(&mut lead, iterations, stages, &mut walk);
    if walk.batch.alive != 0 {
        walk.locate(Location::Rows, &mut lead);
        walk.flush(ran);
    }
    let BatchWalk { batch, team, .. } = walk;
    team.columns = batch.columns;
}

/// Lanes of a batch fit the bit mask [`Batch::alive`].
const _: () = assert!(MAX_LANES <= 64);
