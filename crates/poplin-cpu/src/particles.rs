//! Access to one particle per lane: consecutive particles of one cloth, or the same particle of
//! several cloths.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use crate::ClothMemory;
use crate::stage::implicit::store_rows;
use poplin_layout::{IterationConstants, SOLVE_INERTIA};

use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, scatter};
use crate::vector::Vec3;

/// Particles as seen by the stages that move each one independently: blocks of one particle per
/// lane.
pub(crate) trait Particles<V: Real> {
    /// Index of a block: one particle per lane.
    type Block: Copy;

    /// Splits items into blocks.
    fn blocks(items: Range<u32>) -> impl Iterator<Item = Self::Block>;

    /// Bit mask of the lanes with a particle of their own.
    fn bits(&self, block: Self::Block) -> u64;

    /// Cloth whose parameters, phase and fabric hold for all lanes.
    fn lead(&self) -> &ClothMemory<'_>;

    /// Constant of the running iteration.
    fn constant(&self, simd: V::Token, constant: fn(&IterationConstants) -> [f32; 4]) -> Vec3<V>;

    /// 3 x 3 matrix whose columns begin at `begin` in the frame pool.
    fn matrix(&self, simd: V::Token, begin: u32) -> [Vec3<V>; 3];

    /// Current positions and inverse masses.
    fn current(&self, simd: V::Token, block: Self::Block) -> [V; 4];

    /// Previous positions and inverse masses.
    fn previous(&self, simd: V::Token, block: Self::Block) -> [V; 4];

    /// Writes current particles.
    fn set_current(&mut self, block: Self::Block, particles: [V; 4]);

    /// Writes previous particles.
    fn set_previous(&mut self, block: Self::Block, particles: [V; 4]);

    /// Rows of scratch that begin at `begin`, one per particle.
    fn rows(&self, simd: V::Token, begin: u32, block: Self::Block) -> Vec3<V>;

    /// Writes rows of scratch.
    fn set_rows(&mut self, begin: u32, block: Self::Block, rows: [V; 4]);

    /// Writes the displacements by inertia only, for an implicit solve.
    fn set_inertia(&mut self, block: Self::Block, moves: [V; 4]);

    /// Writes current particles where the mask is set.
    fn set_some(&mut self, simd: V::Token, block: Self::Block, particles: [V; 4], mask: V::Mask);

    /// Writes previous particles where the mask is set.
    fn set_some_previous(
        &mut self,
        simd: V::Token,
        block: Self::Block,
        particles: [V; 4],
        mask: V::Mask,
    );

    /// Friction of colliders, its slop, 1 if friction holds positions (else 0), and the mass scale.
    fn collision(&self, simd: V::Token) -> [V; 4];

    /// Largest distance per iteration by which a particle leaves a collider it was in before \[m\].
    fn depenetration_step(&self, simd: V::Token) -> V;

    /// Rows of a per-particle input.
    fn input(&self, simd: V::Token, begin: u32, block: Self::Block) -> [V; 4];

    /// Rows of a per-particle input that moves over the frame, interpolated to the running
    /// iteration.
    fn interpolated(&self, simd: V::Token, range: [u32; 2], block: Self::Block) -> [V; 4];

    /// Per-particle floats of the fabric.
    fn fabric(&self, simd: V::Token, begin: u32, block: Self::Block) -> V;

    /// Anchor positions copied by [`gather_anchors`], looked up by fabric entries.
    fn anchors(&self, simd: V::Token, begin: u32, block: Self::Block) -> Vec3<V>;

    /// Counts particles that would leave the range of coordinates.
    fn report_faults(&mut self, block: Self::Block, bits: u64);
}

/// Splits items into the blocks of `P`.
#[inline(always)]
pub(crate) fn blocks_of<V: Real, P: Particles<V>>(
    _: &P,
    items: Range<u32>,
) -> impl Iterator<Item = P::Block> + use<V, P> {
    P::blocks(items)
}

/// Consecutive particles, one per lane. Lanes beyond the last one repeat it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<V> {
    begin: u32,
    count: usize,
    vector: PhantomData<V>,
}

/// Splits items into blocks of consecutive items.
#[inline(always)]
pub(crate) fn blocks<V: Real>(items: Range<u32>) -> impl Iterator<Item = Block<V>> {
    let end = items.end;
    items.step_by(V::LEN).map(move |begin| Block::at(begin, end))
}

impl<V> Block<V> {
    /// Items from `begin` on, before `end`.
    #[inline(always)]
    pub(crate) fn at(begin: u32, end: u32) -> Self
    where
        V: Real,
    {
        Self { begin, count: V::LEN.min((end - begin) as usize), vector: PhantomData }
    }

    /// Item in a lane.
    #[inline(always)]
    pub(crate) fn index(&self, lane: usize) -> u32 {
        self.begin + lane.min(self.count - 1) as u32
    }

    /// Number of items.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bit mask of the lanes with an item of their own.
    #[inline(always)]
    pub(crate) fn bits(&self) -> u64 {
        (1 << self.count) - 1
    }

    /// Loads the rows of the items.
    #[inline(always)]
    pub(crate) fn load(&self, simd: V::Token, rows: &[Cell<[f32; 4]>]) -> [V; 4]
    where
        V: Real,
    {
        self.load_as(simd, rows, |row| row)
    }

    /// Loads the rows of the items, floats as their bits.
    #[inline(always)]
    pub(crate) fn load_bits(&self, simd: V::Token, rows: &[Cell<[u32; 4]>]) -> [V; 4]
    where
        V: Real,
    {
        self.load_as(simd, rows, |row| row.map(f32::from_bits))
    }

    #[inline(always)]
    fn load_as<T: Copy>(
        &self,
        simd: V::Token,
        rows: &[Cell<T>],
        floats: impl Fn(T) -> [f32; 4],
    ) -> [V; 4]
    where
        V: Real,
    {
        let rows = &rows[self.begin as usize..][..self.count];
        // Full blocks need no clamping of lanes.
        if self.count == V::LEN {
            gather(simd, |lane| floats(rows[lane].get()))
        } else {
            gather(simd, |lane| floats(rows[lane.min(rows.len() - 1)].get()))
        }
    }

    /// Stores the rows of the items.
    #[inline(always)]
    pub(crate) fn store(&self, rows: &[Cell<[f32; 4]>], columns: [V; 4])
    where
        V: Real,
    {
        self.store_as(rows, columns, |row| row);
    }

    /// Stores the rows of the items, floats as their bits.
    #[inline(always)]
    pub(crate) fn store_bits(&self, rows: &[Cell<[u32; 4]>], columns: [V; 4])
    where
        V: Real,
    {
        self.store_as(rows, columns, |row| row.map(f32::to_bits));
    }

    #[inline(always)]
    fn store_as<T>(&self, rows: &[Cell<T>], columns: [V; 4], stored: impl Fn([f32; 4]) -> T)
    where
        V: Real,
    {
        let rows = &rows[self.begin as usize..][..self.count];
        if self.count == V::LEN {
            scatter(columns, |lane, row| rows[lane].set(stored(row)));
        } else {
            scatter(columns, |lane, row| {
                if let Some(slot) = rows.get(lane) {
                    slot.set(stored(row));
                }
            });
        }
    }

    /// Stores the rows of the items in lanes whose bit is set.
    #[inline(always)]
    fn store_some(&self, rows: &[Cell<[f32; 4]>], columns: [V; 4], bits: u64)
    where
        V: Real,
    {
        // Padding lanes repeat the last item and must not write it.
        let bits = bits & self.bits();
        if bits != 0 {
            let rows = &rows[self.begin as usize..][..self.count];
            scatter(columns, |lane, row| {
                if bits >> lane & 1 != 0 {
                    rows[lane].set(row);
                }
            });
        }
    }
}

/// Values of [`Particles::collision`] of one cloth.
#[inline(always)]
pub(crate) fn collision_of(memory: &ClothMemory<'_>) -> [f32; 4] {
    let shapes = &memory.cloth.colliders;
    [shapes.friction, shapes.friction_slop, shapes.friction_holds as f32, shapes.mass_scale]
}

/// Particle blocks of one cloth: consecutive particles.
impl<V: Real> Particles<V> for ClothMemory<'_> {
    type Block = Block<V>;

    #[inline(always)]
    fn blocks(items: Range<u32>) -> impl Iterator<Item = Block<V>> {
        blocks(items)
    }

    #[inline(always)]
    fn bits(&self, block: Block<V>) -> u64 {
        block.bits()
    }

    #[inline(always)]
    fn lead(&self) -> &ClothMemory<'_> {
        self
    }

    #[inline(always)]
    fn constant(&self, simd: V::Token, constant: fn(&IterationConstants) -> [f32; 4]) -> Vec3<V> {
        let [x, y, z, _] = constant(&self.iteration);
        Vec3::splat(simd, [x, y, z])
    }

    #[inline(always)]
    fn matrix(&self, simd: V::Token, begin: u32) -> [Vec3<V>; 3] {
        [
            Vec3::splat(simd, self.frame_column(begin)),
            Vec3::splat(simd, self.frame_column(begin + 1)),
            Vec3::splat(simd, self.frame_column(begin + 2)),
        ]
    }

    #[inline(always)]
    fn current(&self, simd: V::Token, block: Block<V>) -> [V; 4] {
        block.load(simd, self.current)
    }

    #[inline(always)]
    fn previous(&self, simd: V::Token, block: Block<V>) -> [V; 4] {
        block.load(simd, self.previous)
    }

    #[inline(always)]
    fn set_current(&mut self, block: Block<V>, particles: [V; 4]) {
        block.store(self.current, particles);
    }

    #[inline(always)]
    fn set_previous(&mut self, block: Block<V>, particles: [V; 4]) {
        block.store(self.previous, particles);
    }

    #[inline(always)]
    fn rows(&self, simd: V::Token, begin: u32, block: Block<V>) -> Vec3<V> {
        Vec3::xyz(block.load_bits(simd, &self.scratch[begin as usize..]))
    }

    #[inline(always)]
    fn set_rows(&mut self, begin: u32, block: Block<V>, rows: [V; 4]) {
        block.store_bits(&self.scratch[begin as usize..], rows);
    }

    #[inline(always)]
    fn set_inertia(&mut self, block: Self::Block, moves: [V; 4]) {
        store_rows(self, SOLVE_INERTIA, block, moves);
    }

    #[inline(always)]
    fn set_some(&mut self, _: V::Token, block: Block<V>, particles: [V; 4], mask: V::Mask) {
        block.store_some(self.current, particles, mask.to_bitmask());
    }

    #[inline(always)]
    fn set_some_previous(
        &mut self,
        _: V::Token,
        block: Block<V>,
        particles: [V; 4],
        mask: V::Mask,
    ) {
        block.store_some(self.previous, particles, mask.to_bitmask());
    }

    #[inline(always)]
    fn collision(&self, simd: V::Token) -> [V; 4] {
        let [friction, slop, holds, mass_scale] = collision_of(self);
        [
            V::splat(simd, friction),
            V::splat(simd, slop),
            V::splat(simd, holds),
            V::splat(simd, mass_scale),
        ]
    }

    #[inline(always)]
    fn depenetration_step(&self, simd: V::Token) -> V {
        V::splat(simd, self.cloth.colliders.depenetration_step)
    }

    #[inline(always)]
    fn input(&self, simd: V::Token, begin: u32, block: Block<V>) -> [V; 4] {
        gather(simd, |lane| self.input_row(begin + block.index(lane)))
    }

    #[inline(always)]
    fn interpolated(&self, simd: V::Token, [start, target]: [u32; 2], block: Block<V>) -> [V; 4] {
        gather(simd, |lane| self.load_interpolated(start, target, block.index(lane)))
    }

    #[inline(always)]
    fn fabric(&self, simd: V::Token, begin: u32, block: Block<V>) -> V {
        V::from_fn(simd, |lane| self.fabric_f32(begin + block.index(lane)))
    }

    #[inline(always)]
    fn anchors(&self, simd: V::Token, begin: u32, block: Block<V>) -> Vec3<V> {
        Vec3::xyz(gather(simd, |lane| self.load_scratch(self.fabric(begin + block.index(lane)))))
    }

    #[inline(always)]
    fn report_faults(&mut self, block: Block<V>, bits: u64) {
        self.fault_count += bits.count_ones();
        let first = block.index(bits.trailing_zeros() as usize);
        self.fault_particle = self.fault_particle.min(first);
    }
}

/// Bit masks of blocks hold every lane.
const _: () = assert!(MAX_LANES < 64);
