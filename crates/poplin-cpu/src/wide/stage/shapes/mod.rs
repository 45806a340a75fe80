//! Collision with spheres, capsules, convexes and boxes, one particle per lane. The colliders of an
//! iteration are tabulated once for all particles.

mod boxes;
mod convex;
mod round;

use std::marker::PhantomData;

use crate::ClothMemory;
use poplin_layout::NO_OFFSET;

use crate::lanes::Real;
use crate::particles::Particles;
use crate::vector::Vec3;

pub(crate) use self::boxes::collide_boxes;
pub(crate) use self::convex::collide_convexes;
pub(crate) use self::round::collide_shapes;

/// Particles whose cloths collide with shapes.
pub(crate) trait Colliding<V: Real>: Particles<V> {
    /// Number of values per table entry: one per lane, or 1 if all lanes have the same colliders.
    const LANES: usize;

    /// Bounds that cull shapes which no lane of a block can touch.
    type Bounds;

    /// Cloth in a lane.
    fn cloth(&self, lane: usize) -> &ClothMemory<'_>;

    /// Loads entry `k` of the table.
    fn number(simd: V::Token, table: &[f32], k: usize) -> V;

    /// Table row of the shape that is the `rank`-th leaf of its tree.
    fn row_of(item: u32, rank: usize) -> usize;

    /// Bounds of the particles in all lanes.
    fn bounds(x: Vec3<V>) -> Self::Bounds;

    /// Returns the table row of the next shape of a tree that may touch a particle, of `count`
    /// shapes. `node` is the state of the walk.
    fn next(
        &self,
        tree: [u32; 2],
        count: usize,
        node: &mut u32,
        bounds: &Self::Bounds,
    ) -> Option<usize>;
}

/// Bounds of the positions in all lanes, NaN ignored.
#[inline(always)]
pub(crate) fn bounds_of<V: Real>(x: Vec3<V>) -> [[f32; 3]; 2] {
    let Vec3 { x, y, z, .. } = x;
    let low = [x.reduce_min(), y.reduce_min(), z.reduce_min()];
    let high = [x.reduce_max(), y.reduce_max(), z.reduce_max()];
    [low, high]
}

/// Collider tables with one value for all lanes, whose particles belong to one cloth; trees cull
/// shapes.
impl<V: Real> Colliding<V> for ClothMemory<'_> {
    const LANES: usize = 1;

    type Bounds = [[f32; 3]; 2];

    #[inline(always)]
    fn cloth(&self, _: usize) -> &ClothMemory<'_> {
        self
    }

    #[inline(always)]
    fn number(simd: V::Token, table: &[f32], k: usize) -> V {
        V::splat(simd, table[k])
    }

    #[inline(always)]
    fn row_of(item: u32, _: usize) -> usize {
        // Items count from 1; 0 marks inner nodes.
        item as usize - 1
    }

    #[inline(always)]
    fn bounds(x: Vec3<V>) -> [[f32; 3]; 2] {
        bounds_of(x)
    }

    #[inline(always)]
    fn next(
        &self,
        [begin, count]: [u32; 2],
        _: usize,
        node: &mut u32,
        [low, high]: &[[f32; 3]; 2],
    ) -> Option<usize> {
        let item = self.next_item(begin, count, node, (*low).into(), (*high).into());
        if item == 0 { None } else { Some(item as usize - 1) }
    }
}

/// Leaves of a tree: input row of the node, and item + 1.
#[inline(always)]
fn leaves(memory: &ClothMemory<'_>, [tree, count]: [u32; 2]) -> impl Iterator<Item = (u32, u32)> {
    let nodes = (0..count).map(move |node| tree + 2 * node);
    nodes.map(|row| (row, memory.node_item(row))).filter(|(_, item)| *item != 0)
}

/// Friction factor of a shape.
fn friction_factor(memory: &ClothMemory<'_>, shape: u32) -> f32 {
    let begin = memory.cloth.colliders.friction_factor_begin;
    if begin == NO_OFFSET { 1.0 } else { f32::from_bits(memory.load_index(begin + shape)) }
}

/// Table row of a shape, for particles `P`.
struct Row<'a, P> {
    numbers: &'a [f32],
    particles: PhantomData<P>,
}

impl<'a, P> Row<'a, P> {
    /// Returns row `k` of a table with `width` entries per row.
    #[inline(always)]
    fn new<V: Real>(table: &'a [f32], k: usize, width: usize) -> Self
    where
        P: Colliding<V>,
    {
        let len = width * P::LANES;
        Self { numbers: &table[k * len..][..len], particles: PhantomData }
    }

    #[inline(always)]
    fn number<V: Real>(&self, simd: V::Token, k: usize) -> V
    where
        P: Colliding<V>,
    {
        P::number(simd, self.numbers, k)
    }

    /// Loads entries `k` to `k + 2`.
    #[inline(always)]
    fn vector<V: Real>(&self, simd: V::Token, k: usize) -> Vec3<V>
    where
        P: Colliding<V>,
    {
        Vec3::new(self.number(simd, k), self.number(simd, k + 1), self.number(simd, k + 2))
    }

    /// Bits of entry `k` in a lane.
    #[inline(always)]
    fn bits<V: Real>(&self, k: usize, lane: usize) -> u32
    where
        P: Colliding<V>,
    {
        self.numbers[k * P::LANES + lane.min(P::LANES - 1)].to_bits()
    }

    /// Tests whether `x` lies in the bounding box whose corners begin at entry `k`.
    #[inline(always)]
    fn holds<V: Real>(&self, simd: V::Token, k: usize, x: Vec3<V>) -> V::Mask
    where
        P: Colliding<V>,
    {
        let (low, high) = (self.vector(simd, k), self.vector(simd, k + 3));
        low.x.simd_le(x.x)
            & low.y.simd_le(x.y)
            & low.z.simd_le(x.z)
            & x.x.simd_le(high.x)
            & x.y.simd_le(high.y)
            & x.z.simd_le(high.z)
    }
}

/// Writes row `k` for a lane.
fn write<const N: usize>(table: &mut [f32], k: usize, [lane, lanes]: [usize; 2], row: [f32; N]) {
    let columns = table[k * N * lanes..][..N * lanes].chunks_exact_mut(lanes);
    // Entry by entry, with one value per lane: a vector load reads an entry of all lanes.
    columns.zip(row).for_each(|(column, number)| column[lane] = number);
}

/// Concatenates the parts of a row.
fn join<const N: usize>(parts: &[&[f32]]) -> [f32; N] {
    let mut row = [0.0; N];
    let numbers = parts.iter().flat_map(|part| part.iter());
    row.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = *number);
    row
}
