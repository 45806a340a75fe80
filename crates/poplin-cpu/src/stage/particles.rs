//! Stages that move each particle by itself, a particle per lane.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_reference::ClothMemory;

use crate::lanes::{Lanes, MAX_LANES, gather, max, scatter};
use crate::vector::Vec3;

/// Consecutive particles, one per lane. Lanes without one repeat the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<V> {
    begin: u32,
    count: usize,
    vector: PhantomData<V>,
}

/// Blocks of consecutive items.
#[inline(always)]
pub(super) fn blocks<V: Lanes<S>, S: Simd>(items: Range<u32>) -> impl Iterator<Item = Block<V>> {
    let end = items.end;
    items.step_by(V::LEN).map(move |begin| Block {
        begin,
        count: V::LEN.min((end - begin) as usize),
        vector: PhantomData,
    })
}

impl<V> Block<V> {
    /// Item of a lane.
    #[inline(always)]
    pub(super) fn index(&self, lane: usize) -> u32 {
        self.begin + lane.min(self.count - 1) as u32
    }

    /// A bit for every lane with an item of its own.
    #[inline(always)]
    pub(super) fn bits(&self) -> u64 {
        (1 << self.count) - 1
    }

    /// Rows of the items.
    #[inline(always)]
    pub(super) fn load<S: Simd>(&self, simd: S, rows: &[Cell<[f32; 4]>]) -> [V; 4]
    where
        V: Lanes<S>,
    {
        let rows = &rows[self.begin as usize..][..self.count];
        if self.count == V::LEN {
            gather(simd, |lane| rows[lane].get())
        } else {
            gather(simd, |lane| rows[lane.min(rows.len() - 1)].get())
        }
    }

    /// Stores rows of the items.
    #[inline(always)]
    pub(super) fn store<S: Simd>(&self, rows: &[Cell<[f32; 4]>], columns: [V; 4])
    where
        V: Lanes<S>,
    {
        let rows = &rows[self.begin as usize..][..self.count];
        if self.count == V::LEN {
            scatter(columns, |lane, row| rows[lane].set(row));
        } else {
            scatter(columns, |lane, row| {
                if let Some(slot) = rows.get(lane) {
                    slot.set(row);
                }
            });
        }
    }

    /// Stores the rows of lanes whose bit is set.
    #[inline(always)]
    pub(super) fn store_some<S: Simd>(&self, rows: &[Cell<[f32; 4]>], columns: [V; 4], bits: u64)
    where
        V: Lanes<S>,
    {
        let bits = bits & self.bits();
        if bits != 0 {
            scatter(columns, |lane, row| {
                if bits >> lane & 1 != 0 {
                    rows[self.begin as usize + lane].set(row);
                }
            });
        }
    }
}

/// Products with the matrix whose three columns begin at `begin` in the frame's pool.
#[inline(always)]
pub(super) fn multiply_columns<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    begin: u32,
    v: Vec3<S, V>,
) -> Vec3<S, V> {
    let column = |k: u32| Vec3::<S, V>::splat(simd, memory.frame_column(begin + k));
    column(0).mul(v.x).add(column(1).mul(v.y)).add(column(2).mul(v.z))
}

/// Rows of an array that moves over the frame, in the running iteration.
#[inline(always)]
fn load_interpolated<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    [start, target]: [u32; 2],
    block: &Block<V>,
) -> [V; 4] {
    gather(simd, |lane| memory.load_interpolated(start, target, block.index(lane)))
}

/// Pulls particles into their motion spheres.
#[inline(always)]
pub(crate) fn constrain_motion<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let motion = memory.cloth.motion;
    let splat = |value: f32| V::splat(simd, value);
    let zero = splat(0.0);
    for block in blocks::<V, S>(items) {
        let spheres = [motion.sphere_start, motion.sphere_target];
        let sphere = load_interpolated(simd, memory, spheres, &block);
        let particle = block.load(simd, memory.current);
        let delta = Vec3::xyz(sphere).sub(Vec3::xyz(particle));
        let radius = max(sphere[3] * splat(motion.scale) + splat(motion.bias), zero);
        let slack = splat(1.0) - radius / delta.guarded_square(simd).sqrt();
        let w = radius.simd_le(zero).select(zero, particle[3]);
        let moved = Vec3::xyz(particle).add(delta.mul(slack * splat(motion.stiffness))).with(w);
        block.store_some(memory.current, moved, zero.simd_lt(slack).to_bitmask());
    }
}

/// Pushes particles out of their separation spheres.
#[inline(always)]
pub(crate) fn constrain_separation<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let separation = memory.cloth.separation;
    let splat = |value: f32| V::splat(simd, value);
    for block in blocks::<V, S>(items) {
        let spheres = [separation.sphere_start, separation.sphere_target];
        let sphere = load_interpolated(simd, memory, spheres, &block);
        let particle = block.load(simd, memory.current);
        let delta = Vec3::xyz(sphere).sub(Vec3::xyz(particle));
        let slack = splat(1.0) - sphere[3] / delta.guarded_square(simd).sqrt();
        let moved = Vec3::xyz(particle).add(delta.mul(slack)).with(particle[3]);
        block.store_some(memory.current, moved, slack.simd_lt(splat(0.0)).to_bitmask());
    }
}

/// Keeps particles within the largest move of where they were an iteration ago.
#[inline(always)]
pub(crate) fn limit_speed<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let max_move = memory.cloth.max_move;
    let splat = |value: f32| V::splat(simd, value);
    for block in blocks::<V, S>(items) {
        let particle = block.load(simd, memory.current);
        let before = Vec3::xyz(block.load(simd, memory.previous));
        let displacement = Vec3::xyz(particle).sub(before);
        let square = displacement.dot(displacement);
        let is_fast = splat(0.0).simd_lt(particle[3]) & splat(max_move * max_move).simd_lt(square);
        let moved = before.add(displacement.mul(splat(max_move) / square.sqrt())).with(particle[3]);
        block.store_some(memory.current, moved, is_fast.to_bitmask());
    }
}

/// Restores the user's inverse masses.
#[inline(always)]
pub(crate) fn restore_mass(memory: &mut ClothMemory<'_>, items: Range<u32>) {
    let range = items.start as usize..items.end as usize;
    for (current, previous) in memory.current[range.clone()].iter().zip(&memory.previous[range]) {
        let [x, y, z, w] = current.get();
        if w > 0.0 {
            current.set([x, y, z, previous.get()[3]]);
        }
    }
}

/// Counts particles that moved farther than resting ones do.
#[inline(always)]
pub(crate) fn test_rest(memory: &mut ClothMemory<'_>, items: Range<u32>) {
    let range = items.start as usize..items.end as usize;
    let distance = memory.cloth.sleep.distance;
    for (current, previous) in memory.current[range.clone()].iter().zip(&memory.previous[range]) {
        let (current, previous) = (current.get(), previous.get());
        let moved = |k: usize| (current[k] - previous[k]).abs();
        memory.restless += u32::from(moved(0).max(moved(1).max(moved(2))) >= distance);
    }
}

/// Copies anchors to scratch.
#[inline(always)]
pub(crate) fn gather_anchors(memory: &mut ClothMemory<'_>, items: Range<u32>) {
    for slot in items {
        let anchor = memory.fabric(memory.cloth.fabric.anchor_begin + slot);
        memory.store_scratch(slot, memory.load_current(anchor));
    }
}

/// Most lanes, so that a block's bits fit.
const _: () = assert!(MAX_LANES < 64);
