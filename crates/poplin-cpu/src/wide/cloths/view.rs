//! Batch as seen by stages: particles, collider tables and fibers with one cloth per lane.

use std::ops::Range;

use crate::{ClothMemory, Member};
use poplin_layout::IterationConstants;

use super::columns::{Columns, len_of, load, select, store, store_position, store_some};
use super::{Batch, in_lanes_of};
use crate::fibers::FiberLanes;
use crate::floats::Floats;
use crate::lanes::{LaneMask as _, Real, gather, scatter};
use crate::particles::{self, Particles};
use crate::shapes::Colliding;
use crate::stage::{gauss_seidel, semi_implicit};
use crate::vector::Vec3;

/// Batch as seen by stages. `lead` is the memory of the schedule walk, whose parameters and
/// registers hold for all cloths.
pub(crate) struct View<'a, 'b, 'm, 'l> {
    pub(super) batch: &'a mut Batch<'b, 'm>,
    pub(super) lead: &'a mut ClothMemory<'l>,
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
impl<V: Real> Particles<V> for View<'_, '_, '_, '_> {
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
    fn constant(&self, simd: V::Token, constant: fn(&IterationConstants) -> [f32; 4]) -> Vec3<V> {
        Vec3::xyz(gather(simd, |lane| constant(&self.cloth(lane).iteration)))
    }

    #[inline(always)]
    fn matrix(&self, simd: V::Token, begin: u32) -> [Vec3<V>; 3] {
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
    fn current(&self, simd: V::Token, i: u32) -> [V; 4] {
        load(simd, &self.batch.columns.current, i)
    }

    #[inline(always)]
    fn previous(&self, simd: V::Token, i: u32) -> [V; 4] {
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

    #[inline(always)]
    fn rows(&self, simd: V::Token, begin: u32, i: u32) -> Vec3<V> {
        Vec3::xyz(gather(simd, |lane| self.cloth(lane).load_scratch(begin + i)))
    }

    #[inline(always)]
    fn set_rows(&mut self, begin: u32, i: u32, rows: [V; 4]) {
        scatter(rows, |lane, row| {
            if let Some(member) = self.batch.members.get_mut(lane) {
                member.memory.store_scratch(begin + i, row);
            }
        });
    }

    #[inline(always)]
    fn set_inertia(&mut self, _: u32, _: [V; 4]) {}

    #[inline(always)]
    fn set_some(&mut self, simd: V::Token, i: u32, particles: [V; 4], mask: V::Mask) {
        store_some(simd, &mut self.batch.columns.current, i, particles, mask);
    }

    #[inline(always)]
    fn set_some_previous(&mut self, simd: V::Token, i: u32, particles: [V; 4], mask: V::Mask) {
        store_some(simd, &mut self.batch.columns.previous, i, particles, mask);
    }

    #[inline(always)]
    fn collision(&self, simd: V::Token) -> [V; 4] {
        gather(simd, |lane| particles::collision_of(self.cloth(lane)))
    }

    #[inline(always)]
    fn depenetration_step(&self, simd: V::Token) -> V {
        V::from_fn(simd, |lane| self.cloth(lane).cloth.colliders.depenetration_step)
    }

    #[inline(always)]
    fn input(&self, simd: V::Token, begin: u32, i: u32) -> [V; 4] {
        gather(simd, |lane| self.cloth(lane).input_row(begin + i))
    }

    #[inline(always)]
    fn interpolated(&self, simd: V::Token, [start, target]: [u32; 2], i: u32) -> [V; 4] {
        gather(simd, |lane| self.cloth(lane).load_interpolated(start, target, i))
    }

    #[inline(always)]
    fn fabric(&self, simd: V::Token, begin: u32, i: u32) -> V {
        V::splat(simd, self.lead.fabric_f32(begin + i))
    }

    #[inline(always)]
    fn anchors(&self, simd: V::Token, begin: u32, i: u32) -> Vec3<V> {
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

/// Collider tables with one value per lane: every cloth has its own shapes, and all of them are
/// tested.
impl<V: Real> Colliding<V> for View<'_, '_, '_, '_> {
    const LANES: usize = V::LEN;

    type Bounds = ();

    #[inline(always)]
    fn cloth(&self, lane: usize) -> &ClothMemory<'_> {
        View::cloth(self, lane)
    }

    #[inline(always)]
    fn number(simd: V::Token, table: &[f32], k: usize) -> V {
        V::from_slice(simd, &table[k * V::LEN..][..V::LEN])
    }

    #[inline(always)]
    fn place(_: u32, rank: usize) -> usize {
        rank
    }

    #[inline(always)]
    fn bounds(&self, _: Vec3<V>) {}

    #[inline(always)]
    fn next(&self, _: [u32; 2], count: usize, node: &mut u32, (): &()) -> Option<usize> {
        let k = *node as usize;
        *node += 1;
        if k < count { Some(k) } else { None }
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
        // A fiber of n edges has n + 1 vertices: the vertices of fiber f begin f entries later than
        // its edges.
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

impl<V: Real> FiberLanes<V> for Fiber<'_, '_> {
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
    fn current(&self, simd: V::Token, i: u32) -> [V; 4] {
        load(simd, &self.columns.current, i)
    }

    #[inline(always)]
    fn previous(&self, simd: V::Token, i: u32) -> [V; 4] {
        load(simd, &self.columns.previous, i)
    }

    #[inline(always)]
    fn rest_lengths(&self, simd: V::Token, k: u32) -> V {
        V::splat(simd, self.lead.fabric_f32(self.edges + k))
    }

    /// Cloths whose edges have stiffnesses of their own are solved one by one.
    #[inline(always)]
    fn stiffness(&self, simd: V::Token, _: u32, stiffness: f32) -> V {
        V::splat(simd, stiffness)
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
    fn keep_one(&self, _: V::Token, _: u32, new: V, _: V) -> V {
        new
    }

    #[inline(always)]
    fn store_massive(&mut self, simd: V::Token, values: [V; 4], i: u32, _: u64) {
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

/// Runs [`gauss_seidel::project_fiber`] with one cloth per lane.
#[inline(always)]
pub(crate) fn project_fibers<V: Real, const DISPLACED: bool>(
    simd: V::Token,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let phase = view.lead.registers.phase;
    for fiber in items {
        let columns = &mut view.batch.columns;
        let mut fiber = Fiber::new(columns, view.lead, fiber, view.batch.alive);
        gauss_seidel::project::<V, _, DISPLACED>(simd, &phase, &mut fiber);
    }
}

/// Runs [`semi_implicit::solve_fibers`] with one cloth per lane. `rows` is scratch memory.
#[inline(always)]
pub(crate) fn solve_fibers<V: Real, const DISPLACED: bool>(
    simd: V::Token,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
    rows: &mut Floats,
) {
    let phase = view.lead.registers.phase;
    for fiber in items {
        let columns = &mut view.batch.columns;
        let mut fiber = Fiber::new(columns, view.lead, fiber, view.batch.alive);
        semi_implicit::solve::<V, _, DISPLACED>(simd, &phase, &mut fiber, rows);
    }
}

/// Copies the anchors of tethers, so that all tethers read positions of the start of the stage.
#[inline(always)]
pub(crate) fn gather_anchors<V: Real>(
    simd: V::Token,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let Columns { current, anchors, .. } = &mut view.batch.columns;
    anchors.enlarge(len_of(V::LEN, items.end as usize));
    for slot in items {
        let anchor = view.lead.fabric(view.lead.cloth.fabric.anchor_begin + slot);
        store(anchors, slot, load::<V>(simd, current, anchor));
    }
}

/// Copies the state of every cloth from rows to columns.
#[inline(always)]
pub(crate) fn read_rows<V: Real>(
    simd: V::Token,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let Batch { members, columns, .. } = &mut *view.batch;
    columns.reserve(items.end as usize, V::LEN);
    // Lanes beyond the last cloth repeat it, so that no lane computes with garbage.
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
pub(crate) fn write_rows<V: Real>(
    simd: V::Token,
    view: &mut View<'_, '_, '_, '_>,
    items: Range<u32>,
) {
    let Batch { members, columns, alive } = &mut *view.batch;
    for i in items {
        scatter::<V>(load(simd, &columns.current, i), |lane, row| {
            if *alive >> lane & 1 != 0 {
                members[lane].memory.store_current(i, row);
            }
        });
        scatter::<V>(load(simd, &columns.previous, i), |lane, row| {
            if *alive >> lane & 1 != 0 {
                members[lane].memory.store_previous(i, row);
            }
        });
    }
}
