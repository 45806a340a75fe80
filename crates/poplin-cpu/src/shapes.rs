//! Shapes as rows of four numbers. One lane reads the rows of a shape from memory; for more lanes,
//! the shapes of an iteration are tabulated once for all particles.

use std::marker::PhantomData;

use poplin_layout::ColliderParameters;

use crate::ClothMemory;
use crate::floats::Floats;
use crate::lanes::{LaneMask as _, Real};
use crate::particles::Particles;
use crate::vector::Vec3;

/// Kind of shapes.
pub(crate) trait Kind {
    /// True if shapes of this kind are found with a tree.
    const HAS_TREE: bool;

    /// Row that fills up a shape with fewer rows than others, without effect.
    const FILLER: [f32; 4] = [0.0; 4];

    /// First entry of the list of shapes without a rigid body, first row of the tree over the list,
    /// and number of its nodes; without a tree, the length of the list.
    fn free(shapes: &ColliderParameters) -> [u32; 3];

    /// Number of rows of a shape.
    fn row_count(memory: &ClothMemory<'_>, shape: u32) -> usize;

    /// Row `k` of a shape. A shape whose rows are all 0 has no inside.
    fn row(memory: &ClothMemory<'_>, shape: u32, k: usize) -> [f32; 4];
}

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

    /// Place in the table of the shape at place `listed` of its list, the `rank`-th of its tree.
    fn place(listed: u32, rank: usize) -> usize;

    /// Bounds of the particles in all lanes.
    fn bounds(&self, x: Vec3<V>) -> Self::Bounds;

    /// Returns the place of the next shape of a tree that may touch a particle, of `count` shapes.
    /// `node` is the state of the walk.
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
    let Vec3 { x, y, z } = x;
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
    fn place(listed: u32, _: usize) -> usize {
        listed as usize
    }

    #[inline(always)]
    fn bounds(&self, x: Vec3<V>) -> [[f32; 3]; 2] {
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
        // Items count from 1.
        if item == 0 { None } else { Some(item as usize - 1) }
    }
}

/// Shape of one lane, or the shapes of all lanes at one place of a table.
pub(crate) struct Shape<'a, V, P, K> {
    particles: &'a P,
    /// Rows in a table; empty for one lane.
    rows: &'a [f32],
    /// Index of the shape, for one lane.
    shape: u32,
    kind: PhantomData<(V, K)>,
}

impl<'a, V: Real, P: Colliding<V>, K: Kind> Shape<'a, V, P, K> {
    /// Shape in memory, for one lane.
    #[inline(always)]
    pub(crate) fn of(particles: &'a P, shape: u32) -> Self {
        const { assert!(V::LEN == 1, "more lanes need a table") };
        Self { particles, rows: &[], shape, kind: PhantomData }
    }

    /// Cloth in a lane.
    #[inline(always)]
    pub(crate) fn cloth(&self, lane: usize) -> &ClothMemory<'_> {
        self.particles.cloth(lane)
    }

    /// Number of rows.
    #[inline(always)]
    pub(crate) fn row_count(&self) -> usize {
        if V::LEN == 1 {
            K::row_count(self.cloth(0), self.shape)
        } else {
            self.rows.len() / (4 * P::LANES)
        }
    }

    /// Row `k`.
    #[inline(always)]
    pub(crate) fn row(&self, simd: V::Token, k: usize) -> [V; 4] {
        if V::LEN == 1 {
            let [x, y, z, w] = K::row(self.cloth(0), self.shape, k);
            return [V::splat(simd, x), V::splat(simd, y), V::splat(simd, z), V::splat(simd, w)];
        }
        let row = &self.rows[4 * P::LANES * k..][..4 * P::LANES];
        [
            P::number(simd, row, 0),
            P::number(simd, row, 1),
            P::number(simd, row, 2),
            P::number(simd, row, 3),
        ]
    }

    /// Index of the shape in a lane, for kinds with a tree.
    #[inline(always)]
    pub(crate) fn index(&self, lane: usize) -> u32 {
        if V::LEN == 1 {
            return self.shape;
        }
        // Number beside the last corner
        self.rows[self.rows.len() - P::LANES + lane.min(P::LANES - 1)].to_bits()
    }

    /// Tests whether `x` lies in the bounding box of the leaf, for kinds with a tree. For one lane,
    /// the walk through the tree has tested it.
    #[inline(always)]
    pub(crate) fn holds(&self, simd: V::Token, x: Vec3<V>) -> V::Mask {
        if V::LEN == 1 {
            return V::Mask::from_bitmask(simd, 1);
        }
        let end = self.row_count();
        let [low, high] = [Vec3::xyz(self.row(simd, end - 2)), Vec3::xyz(self.row(simd, end - 1))];
        low.x.simd_le(x.x)
            & low.y.simd_le(x.y)
            & low.z.simd_le(x.z)
            & x.x.simd_le(high.x)
            & x.y.simd_le(high.y)
            & x.z.simd_le(high.z)
    }
}

/// Table of the shapes of one kind without a rigid body. One lane needs none: the default.
#[derive(Debug, Default)]
pub(crate) struct Table<'a, K> {
    numbers: &'a [f32],
    count: usize,
    /// Entries of a shape.
    len: usize,
    kind: PhantomData<K>,
}

impl<'a, K: Kind> Table<'a, K> {
    /// Table of `count` shapes.
    pub(crate) fn new(numbers: &'a [f32], count: usize) -> Self {
        Self { numbers, count, len: numbers.len() / count.max(1), kind: PhantomData }
    }

    /// Number of places.
    #[inline(always)]
    pub(crate) fn count<V: Real>(&self, particles: &impl Colliding<V>) -> usize {
        let [.., count] = K::free(&particles.lead().cloth.colliders);
        if V::LEN == 1 { count as usize } else { self.count }
    }

    /// Shape at a place.
    #[inline(always)]
    pub(crate) fn shape<'s, V: Real, P: Colliding<V>>(
        &'s self,
        particles: &'s P,
        place: usize,
    ) -> Shape<'s, V, P, K> {
        if V::LEN == 1 {
            let memory = particles.lead();
            let [list, ..] = K::free(&memory.cloth.colliders);
            let shape = memory.load_index(list + place as u32);
            return Shape { particles, rows: &[], shape, kind: PhantomData };
        }
        let rows = &self.numbers[place * self.len..][..self.len];
        Shape { particles, rows, shape: 0, kind: PhantomData }
    }

    /// Returns the next shape of a tree that may touch a particle. `node` is the state of the walk.
    #[inline(always)]
    pub(crate) fn next<'s, V: Real, P: Colliding<V>>(
        &'s self,
        particles: &'s P,
        node: &mut u32,
        bounds: &P::Bounds,
    ) -> Option<Shape<'s, V, P, K>> {
        let [_, tree, nodes] = K::free(&particles.lead().cloth.colliders);
        let place = particles.next([tree, nodes], self.count, node, bounds)?;
        Some(self.shape(particles, place))
    }
}

/// Shape without a rigid body.
struct Leaf {
    /// First row of its tree node.
    node: u32,
    /// Place in the list.
    place: u32,
    shape: u32,
}

/// Shapes without a rigid body, in the order in which they are tested.
fn leaves<K: Kind>(memory: &ClothMemory<'_>) -> impl Iterator<Item = Leaf> {
    let [list, tree, count] = K::free(&memory.cloth.colliders);
    (0..count).filter_map(move |k| {
        let node = tree + 2 * k;
        // Items count from 1; 0 marks inner nodes.
        let place = if K::HAS_TREE { memory.node_item(node).checked_sub(1)? } else { k };
        Some(Leaf { node, place, shape: memory.load_index(list + place) })
    })
}

/// Appends a table of the shapes of all lanes. Returns the number of places: the largest number of
/// shapes in a lane. One lane reads memory instead.
pub(crate) fn tabulate<V: Real, P: Colliding<V>, K: Kind>(
    particles: &P,
    numbers: &mut Floats,
) -> usize {
    let (mut count, mut row_count) = (0, 0);
    if V::LEN == 1 {
        return count;
    }
    for lane in 0..P::LANES {
        let memory = particles.cloth(lane);
        for (rank, leaf) in leaves::<K>(memory).enumerate() {
            count = count.max(rank + 1);
            row_count = row_count.max(K::row_count(memory, leaf.shape));
        }
    }
    let len = row_count + if K::HAS_TREE { 2 } else { 0 };
    let begin = numbers.len();
    // Missing shapes are 0: they have no inside.
    numbers.resize(begin + 4 * P::LANES * len * count);
    for lane in 0..P::LANES {
        let memory = particles.cloth(lane);
        for (rank, Leaf { node, place, shape }) in leaves::<K>(memory).enumerate() {
            let own_count = K::row_count(memory, shape);
            let first = P::place(place, rank) * len;
            for k in 0..len {
                let row = if k < own_count {
                    K::row(memory, shape, k)
                } else if k < row_count {
                    K::FILLER
                } else {
                    // Corners of the leaf, with the index beside both.
                    let [x, y, z, _] = memory.input_row(node + (k - row_count) as u32);
                    [x, y, z, f32::from_bits(shape)]
                };
                // Entry by entry, with one value per lane: a vector load reads an entry of all
                // lanes.
                let entries = &mut numbers[begin + 4 * P::LANES * (first + k)..][..4 * P::LANES];
                let columns = entries.chunks_exact_mut(P::LANES);
                columns.zip(row).for_each(|(column, number)| column[lane] = number);
            }
        }
    }
    count
}
