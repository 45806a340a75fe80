//! Collision with spheres, capsules, convexes and boxes, one particle per lane. The colliders of an
//! iteration are tabulated once for all particles.

use std::marker::PhantomData;
use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::{EPSILON, NO_OFFSET};
use poplin_reference::ClothMemory;
use poplin_reference::math::xyz;
use poplin_reference::stage::collide_shape::is_sphere_covered;

use super::contacts::Contacts;
use super::particles::{Particles, blocks_of};
use crate::lanes::{Lanes, MAX_LANES, max};
use crate::vector::Vec3;

/// Particles whose cloths collide with shapes.
pub(crate) trait Colliding<S: Simd, V: Lanes<S>>: Particles<S, V> {
    /// Number of values per table entry: one per lane, or 1 if all lanes have the same colliders.
    const LANES: usize;

    /// Bounds that cull shapes which no lane of a block can touch.
    type Bounds;

    /// Cloth in a lane.
    fn cloth(&self, lane: usize) -> &ClothMemory<'_>;

    /// Loads entry `k` of the table.
    fn number(simd: S, table: &[f32], k: usize) -> V;

    /// Table row of the shape that is the `rank`-th leaf of its tree.
    fn row_of(item: u32, rank: usize) -> usize;

    /// Bounds of the particles in all lanes.
    fn bounds(x: Vec3<S, V>) -> Self::Bounds;

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
pub(crate) fn bounds_of<S: Simd, V: Lanes<S>>(x: Vec3<S, V>) -> [[f32; 3]; 2] {
    let Vec3 { x, y, z, .. } = x;
    let low = [x.reduce_min_precise(), y.reduce_min_precise(), z.reduce_min_precise()];
    let high = [x.reduce_max_precise(), y.reduce_max_precise(), z.reduce_max_precise()];
    [low, high]
}

/// Collider tables with one value for all lanes, whose particles belong to one cloth; trees cull
/// shapes.
impl<S: Simd, V: Lanes<S>> Colliding<S, V> for ClothMemory<'_> {
    const LANES: usize = 1;

    type Bounds = [[f32; 3]; 2];

    #[inline(always)]
    fn cloth(&self, _: usize) -> &ClothMemory<'_> {
        self
    }

    #[inline(always)]
    fn number(simd: S, table: &[f32], k: usize) -> V {
        V::splat(simd, table[k])
    }

    #[inline(always)]
    fn row_of(item: u32, _: usize) -> usize {
        item as usize - 1
    }

    #[inline(always)]
    fn bounds(x: Vec3<S, V>) -> [[f32; 3]; 2] {
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
    fn new<S: Simd, V: Lanes<S>>(table: &'a [f32], k: usize, width: usize) -> Self
    where
        P: Colliding<S, V>,
    {
        let len = width * P::LANES;
        Self { numbers: &table[k * len..][..len], particles: PhantomData }
    }

    #[inline(always)]
    fn number<S: Simd, V: Lanes<S>>(&self, simd: S, k: usize) -> V
    where
        P: Colliding<S, V>,
    {
        P::number(simd, self.numbers, k)
    }

    /// Loads entries `k` to `k + 2`.
    #[inline(always)]
    fn vector<S: Simd, V: Lanes<S>>(&self, simd: S, k: usize) -> Vec3<S, V>
    where
        P: Colliding<S, V>,
    {
        Vec3::new(self.number(simd, k), self.number(simd, k + 1), self.number(simd, k + 2))
    }

    /// Bits of entry `k` in a lane.
    #[inline(always)]
    fn bits<S: Simd, V: Lanes<S>>(&self, k: usize, lane: usize) -> u32
    where
        P: Colliding<S, V>,
    {
        self.numbers[k * P::LANES + lane.min(P::LANES - 1)].to_bits()
    }

    /// Tests whether `x` lies in the bounding box whose corners begin at entry `k`.
    #[inline(always)]
    fn holds<S: Simd, V: Lanes<S>>(&self, simd: S, k: usize, x: Vec3<S, V>) -> V::Mask
    where
        P: Colliding<S, V>,
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
    columns.zip(row).for_each(|(column, number)| column[lane] = number);
}

/// Concatenates the parts of a row.
fn join<const N: usize>(parts: &[&[f32]]) -> [f32; N] {
    let mut row = [0.0; N];
    let numbers = parts.iter().flat_map(|part| part.iter());
    row.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = *number);
    row
}

// ---- capsules and spheres ----

/// Entries of a capsule: center, axis, slope, radius, half length, squared cosine, displacement of
/// its first end in this iteration, additional displacement of the second end, friction factor, and
/// both corners of its leaf.
const CAPSULE_NUMBERS: usize = 23;

/// Entries of a sphere: center, radius, index as bits, displacement in this iteration, friction
/// factor, and both corners of its leaf.
const SPHERE_NUMBERS: usize = 15;

/// Corners of the tree node whose two rows begin at `row`.
fn corners(memory: &ClothMemory<'_>, row: u32) -> [f32; 6] {
    let [low, high] = [memory.input_row(row), memory.input_row(row + 1)];
    [low[0], low[1], low[2], high[0], high[1], high[2]]
}

fn capsule_row(memory: &ClothMemory<'_>, node: u32, item: u32) -> [f32; CAPSULE_NUMBERS] {
    let shapes = &memory.cloth.colliders;
    let capsule = memory.load_index(shapes.free_capsule_begin + item - 1);
    let cone = memory.load_cone(memory.capsule_row(capsule));
    let [first, second] = memory.capsule_ends(capsule).map(|end| memory.sphere_move(end));
    join(&[
        &cone.center.to_array(),
        &cone.axis.to_array(),
        &[cone.slope, cone.radius, cone.half_length, cone.cosine_square],
        &first.to_array(),
        &(second - first).to_array(),
        &[friction_factor(memory, shapes.sphere_count + capsule)],
        &corners(memory, node),
    ])
}

fn sphere_row(memory: &ClothMemory<'_>, node: u32, item: u32) -> [f32; SPHERE_NUMBERS] {
    let sphere = memory.load_index(memory.cloth.colliders.free_sphere_begin + item - 1);
    join(&[
        &memory.load_sphere(sphere),
        &[f32::from_bits(sphere)],
        &memory.sphere_move(sphere).to_array(),
        &[friction_factor(memory, sphere)],
        &corners(memory, node),
    ])
}

/// Trees of capsules and spheres: begin and node count.
#[inline(always)]
fn trees(memory: &ClothMemory<'_>) -> [[u32; 2]; 2] {
    let shapes = &memory.cloth.colliders;
    [
        [shapes.capsule_tree_begin, shapes.capsule_tree_count],
        [shapes.sphere_tree_begin, shapes.sphere_tree_count],
    ]
}

/// Tabulates the capsules and spheres of all lanes. Returns the largest number of each in a lane.
fn tabulate<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    particles: &P,
    table: &mut Vec<f32>,
) -> [usize; 2] {
    let mut counts = [0; 2];
    for (kind, count) in counts.iter_mut().enumerate() {
        for lane in 0..P::LANES {
            let memory = particles.cloth(lane);
            *count = leaves(memory, trees(memory)[kind]).count().max(*count);
        }
    }
    let capsule_len = CAPSULE_NUMBERS * P::LANES * counts[0];
    // Missing shapes are NaN: their bounding boxes contain nothing.
    table.clear();
    table.resize(capsule_len + SPHERE_NUMBERS * P::LANES * counts[1], f32::NAN);
    let (capsules, spheres) = table.split_at_mut(capsule_len);
    for lane in 0..P::LANES {
        let memory = particles.cloth(lane);
        let [of_capsules, of_spheres] = trees(memory);
        for (rank, (node, item)) in leaves(memory, of_capsules).enumerate() {
            let row = capsule_row(memory, node, item);
            write(capsules, P::row_of(item, rank), [lane, P::LANES], row);
        }
        for (rank, (node, item)) in leaves(memory, of_spheres).enumerate() {
            let row = sphere_row(memory, node, item);
            write(spheres, P::row_of(item, rank), [lane, P::LANES], row);
        }
    }
    counts
}

/// Adds the displacements of particles at `x` out of a capsule through its side.
#[inline(always)]
fn touch_capsule<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    simd: S,
    capsule: &Row<'_, P>,
    x: Vec3<S, V>,
    contacts: &mut Contacts<S, V>,
) {
    let splat = |value: f32| V::splat(simd, value);
    let zero = splat(0.0);
    let d = x.sub(capsule.vector(simd, 0));
    let axis = capsule.vector(simd, 3);
    let slope: V = capsule.number(simd, 6);
    let half_length: V = capsule.number(simd, 8);
    let along = d.dot(axis);
    // Tapered capsule: its radius is linear along the axis, r(t) = t slope + r.
    let radius = max(along * slope + capsule.number(simd, 7), zero);
    let across_square = max(d.dot(d) - along * along, splat(EPSILON));
    let is_in = zero.simd_lt(half_length) & across_square.simd_lt(radius * radius);
    if !is_in.any_true() {
        return;
    }
    let across = across_square.sqrt();
    // Foot of the particle on the axis, at right angles to the slanted side; spheres cover both
    // ends.
    let foot = along + slope * across;
    let is_beyond = foot.simd_lt(-half_length) | half_length.simd_lt(foot);
    let is_in = is_in & !is_beyond & capsule.holds(simd, 17, x);
    if !is_in.any_true() {
        return;
    }
    let cosine_square: V = capsule.number(simd, 9);
    // Out to the side, along the line from the foot to the particle.
    let exit = d.sub(axis.mul(foot)).mul(cosine_square * (radius / across - splat(1.0)));
    // Displacement of the capsule at the particle, between those of both ends.
    let fraction = along * splat(0.5) + splat(0.5);
    let travel = capsule.vector(simd, 10).add(capsule.vector(simd, 13).mul(fraction));
    contacts.add(simd, is_in, exit, travel, capsule.number(simd, 16));
}

/// Tolerance of the quick test on squared distances, within which the exact test decides.
const SPHERE_MARGIN: f32 = 1.0001;

/// Adds the displacements of particles at `x` out of a sphere, unless a capsule covers them.
#[inline(always)]
fn touch_sphere<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    simd: S,
    particles: &P,
    sphere: &Row<'_, P>,
    x: Vec3<S, V>,
    contacts: &mut Contacts<S, V>,
) {
    let d = x.sub(sphere.vector(simd, 0));
    let radius: V = sphere.number(simd, 3);
    let square = d.guarded_square(simd);
    if !square.simd_lt(radius * radius * V::splat(simd, SPHERE_MARGIN)).any_true() {
        return;
    }
    // slack = 1 - r / |d| < 0 inside; exit = -d slack
    let slack = V::splat(simd, 1.0) - radius / square.sqrt();
    let is_in = slack.simd_lt(V::splat(simd, 0.0)) & sphere.holds(simd, 9, x);
    let mut bits = is_in.to_bitmask();
    let [mut xs, mut ys, mut zs] = [[0.0; MAX_LANES]; 3];
    x.x.store_slice(&mut xs[..V::LEN]);
    x.y.store_slice(&mut ys[..V::LEN]);
    x.z.store_slice(&mut zs[..V::LEN]);
    let mut uncovered = 0;
    while bits != 0 {
        let lane = bits.trailing_zeros() as usize;
        let (index, point) = (sphere.bits(4, lane), xyz([xs[lane], ys[lane], zs[lane], 0.0]));
        if !is_sphere_covered(particles.cloth(lane), index, point) {
            uncovered |= 1 << lane;
        }
        bits &= bits - 1;
    }
    let exit = d.neg().mul(slack);
    let mask = V::Mask::from_bitmask(simd, uncovered);
    contacts.add(simd, mask, exit, sphere.vector(simd, 5), sphere.number(simd, 8));
}

/// Pushes particles out of spheres and capsules. `table` is scratch memory.
#[inline(always)]
pub(crate) fn collide_shapes<S: Simd, V: Lanes<S>>(
    simd: S,
    particles: &mut impl Colliding<S, V>,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    push_out_of_shapes(simd, particles, items, table);
}

#[inline(always)]
fn push_out_of_shapes<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    simd: S,
    particles: &mut P,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    let [capsule_count, sphere_count] = tabulate(particles, table);
    let (capsules, spheres) = table.split_at(CAPSULE_NUMBERS * P::LANES * capsule_count);
    for block in blocks_of(particles, items) {
        let current = particles.current(simd, block);
        let x = Vec3::xyz(current);
        let mut contacts = Contacts::new(simd);
        let [of_capsules, of_spheres] = trees(particles.lead());
        let bounds = P::bounds(x);
        let mut node = 0;
        while let Some(k) = particles.next(of_capsules, capsule_count, &mut node, &bounds) {
            let capsule = Row::<P>::new(capsules, k, CAPSULE_NUMBERS);
            touch_capsule(simd, &capsule, x, &mut contacts);
        }
        node = 0;
        while let Some(k) = particles.next(of_spheres, sphere_count, &mut node, &bounds) {
            let sphere = Row::<P>::new(spheres, k, SPHERE_NUMBERS);
            touch_sphere(simd, particles, &sphere, x, &mut contacts);
        }
        contacts.resolve(simd, particles, block, current, true);
    }
}

// ---- convexes ----

/// Entries of a plane: its current coefficients, then those of the previous iteration.
const PLANE_NUMBERS: usize = 8;

/// Padding planes: one that is never the nearest, and one that has every particle in front, so that
/// the convex is empty.
const NO_PLANE: [f32; PLANE_NUMBERS] = [0.0, 0.0, 0.0, -3.0e38, 0.0, 0.0, 0.0, -3.0e38];
const EVERYWHERE: [f32; PLANE_NUMBERS] = [0.0, 0.0, 0.0, 3.0e38, 0.0, 0.0, 0.0, 3.0e38];

/// Planes of the `k`-th convex that does not belong to a body.
fn planes(memory: &ClothMemory<'_>, k: u32) -> impl ExactSizeIterator<Item = [f32; PLANE_NUMBERS]> {
    let shapes = &memory.cloth.colliders;
    let convex = memory.load_index(shapes.free_convex_begin + k);
    let begins = shapes.convex_plane_begin;
    let planes = begins + shapes.convex_count + 1;
    let range = planes + memory.load_index(begins + convex)
        ..planes + memory.load_index(begins + convex + 1);
    let fraction_before = memory.iteration.bias[3];
    range.map(move |k| {
        let p = memory.load_index(k);
        let before = memory.load_at(shapes.plane_start, shapes.plane_target, p, fraction_before);
        join(&[&memory.load_scratch(memory.plane_row(p)), &before])
    })
}

/// Tabulates the convexes of all lanes: their planes, then the friction factor. Returns the largest
/// number of convexes in a lane and of planes in a convex.
fn tabulate_convexes<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    particles: &P,
    table: &mut Vec<f32>,
) -> [usize; 2] {
    let (mut count, mut plane_count) = (0, 0);
    for lane in 0..P::LANES {
        let memory = particles.cloth(lane);
        let own = memory.cloth.colliders.free_convex_count;
        count = own.max(count);
        plane_count = (0..own).map(|k| planes(memory, k).len()).fold(plane_count, usize::max);
    }
    let lanes = P::LANES;
    let len = (PLANE_NUMBERS * plane_count + 1) * lanes;
    table.clear();
    for k in 0..count {
        let begin = table.len();
        table.resize(begin + len, 0.0);
        let table = &mut table[begin..];
        for lane in 0..lanes {
            let memory = particles.cloth(lane);
            let shapes = &memory.cloth.colliders;
            let is_there = k < shapes.free_convex_count;
            let absent = [EVERYWHERE].into_iter().filter(|_| !is_there);
            let own = is_there.then(|| planes(memory, k)).into_iter().flatten();
            let rows = own.chain(absent).chain(std::iter::repeat(NO_PLANE));
            for (k, plane) in rows.take(plane_count).enumerate() {
                write(table, k, [lane, lanes], plane);
            }
            let shape = || memory.convex_shape(memory.load_index(shapes.free_convex_begin + k));
            let factor = if is_there { friction_factor(memory, shape()) } else { 0.0 };
            table[PLANE_NUMBERS * plane_count * lanes + lane] = factor;
        }
    }
    [count as usize, plane_count]
}

/// Pushes particles out of convexes. `table` is scratch memory.
#[inline(always)]
pub(crate) fn collide_convexes<S: Simd, V: Lanes<S>>(
    simd: S,
    particles: &mut impl Colliding<S, V>,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    push_out_of_convexes(simd, particles, items, table);
}

#[inline(always)]
fn push_out_of_convexes<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    simd: S,
    particles: &mut P,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    let [count, plane_count] = tabulate_convexes(particles, table);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let limit = particles.depenetration_step(simd);
    for block in blocks_of(particles, items) {
        let current = particles.current(simd, block);
        let x = Vec3::xyz(current);
        let mut contacts = Contacts::new(simd);
        for k in 0..count {
            let convex = Row::<P>::new(table, k, PLANE_NUMBERS * plane_count + 1);
            let (mut distance, mut nearest) = (V::splat(simd, -3.0e38), nothing);
            // True in every lane: no plane has been tested yet.
            let mut is_in = distance.simd_lt(nothing.x);
            for plane in 0..plane_count {
                let begin = PLANE_NUMBERS * plane;
                let normal = convex.vector(simd, begin);
                // Inside while every height is below 0; the plane with the largest one is nearest.
                let height = normal.dot(x) + convex.number(simd, begin + 3);
                let is_nearer = distance.simd_lt(height);
                distance = is_nearer.select(height, distance);
                nearest = normal.or(is_nearer, nearest);
                is_in = distance.simd_lt(nothing.x);
                if !is_in.any_true() {
                    break;
                }
            }
            if is_in.any_true() {
                // exit = -n height
                let exit = nearest.neg().mul(distance);
                let factor = convex.number(simd, PLANE_NUMBERS * plane_count);
                contacts.add(simd, is_in, exit, nothing, factor);
            }
        }
        // Deep particles also need the motion of their nearest planes.
        if contacts.is_deep(limit).any_true() {
            for k in 0..count {
                let convex = Row::<P>::new(table, k, PLANE_NUMBERS * plane_count + 1);
                add_approach::<S, V, P>(simd, &convex, plane_count, x, &mut contacts);
            }
        }
        contacts.resolve(simd, particles, block, current, false);
    }
}

/// Adds the advance of the nearest plane of a convex towards the particles inside.
#[inline(always)]
fn add_approach<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    simd: S,
    convex: &Row<'_, P>,
    plane_count: usize,
    x: Vec3<S, V>,
    contacts: &mut Contacts<S, V>,
) {
    let zero = V::splat(simd, 0.0);
    let mut distance = V::splat(simd, -3.0e38);
    let mut distance_before = distance;
    for plane in 0..plane_count {
        let [height, height_before] = [0, 4].map(|part| {
            let begin = PLANE_NUMBERS * plane + part;
            let normal: Vec3<S, V> = convex.vector(simd, begin);
            normal.dot(x) + convex.number(simd, begin + 3)
        });
        let is_nearer = distance.simd_lt(height);
        distance_before = is_nearer.select(height_before, distance_before);
        distance = is_nearer.select(height, distance);
    }
    contacts.add_approach(distance.simd_lt(zero), max(distance_before - distance, zero));
}

// ---- boxes ----

/// Entries of a box: corner, three faces, displacement of the corner and of three edges in this
/// iteration, and friction factor.
const BOX_NUMBERS: usize = 28;

fn box_row(memory: &ClothMemory<'_>, k: u32) -> [f32; BOX_NUMBERS] {
    let shapes = &memory.cloth.colliders;
    let index = memory.load_index(shapes.free_box_begin + k);
    let row = memory.box_row(index);
    let [corner, a, b, c] = [0, 1, 2, 3].map(|k| memory.load_scratch(row + k));
    let change = |k: u32| {
        let [start, target] = [shapes.box_start, shapes.box_target]
            .map(|begin| memory.input_row(begin + 4 * index + k));
        (xyz(target) - xyz(start)).to_array()
    };
    join(&[
        &corner[..3],
        &a,
        &b,
        &c,
        &change(0),
        &change(1),
        &change(2),
        &change(3),
        &[friction_factor(memory, memory.box_shape(index))],
    ])
}

/// Pushes particles out of boxes. `table` is scratch memory.
#[inline(always)]
pub(crate) fn collide_boxes<S: Simd, V: Lanes<S>>(
    simd: S,
    particles: &mut impl Colliding<S, V>,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    push_out_of_boxes(simd, particles, items, table);
}

#[inline(always)]
fn push_out_of_boxes<S: Simd, V: Lanes<S>, P: Colliding<S, V>>(
    simd: S,
    particles: &mut P,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    let splat = |value: f32| V::splat(simd, value);
    let zero = splat(0.0);
    let mut count = 0;
    for lane in 0..P::LANES {
        count = particles.cloth(lane).cloth.colliders.free_box_count.max(count);
    }
    // Missing boxes are all 0: they have no inside.
    table.clear();
    table.resize(BOX_NUMBERS * P::LANES * count as usize, 0.0);
    for lane in 0..P::LANES {
        let memory = particles.cloth(lane);
        for k in 0..memory.cloth.colliders.free_box_count {
            write(table, k as usize, [lane, P::LANES], box_row(memory, k));
        }
    }
    let iteration_fraction = particles.iteration_fraction(simd);
    for block in blocks_of(particles, items) {
        let current = particles.current(simd, block);
        let x = Vec3::xyz(current);
        let mut contacts = Contacts::new(simd);
        for k in 0..count as usize {
            let shape = Row::<P>::new(table, k, BOX_NUMBERS);
            let d = x.sub(shape.vector(simd, 0));
            let (mut distance, mut direction) = (splat(-3.0e38), Vec3::splat(simd, [0.0; 3]));
            let mut travel = shape.vector(simd, 15);
            let mut is_in = distance.simd_lt(zero);
            for face in 0..3 {
                let normal = shape.vector(simd, 3 + 4 * face);
                let thickness: V = shape.number(simd, 6 + 4 * face);
                let depth = normal.dot(d);
                // A face and its opposite: heights -depth and depth - thickness.
                let far_height = depth - thickness;
                let is_nearer = distance.simd_lt(-depth);
                distance = is_nearer.select(-depth, distance);
                direction = normal.neg().or(is_nearer, direction);
                let is_nearer = distance.simd_lt(far_height);
                distance = is_nearer.select(far_height, distance);
                direction = normal.or(is_nearer, direction);
                // Displacement of the box at the particle, interpolated from corner and edges.
                let fraction = zero.simd_lt(thickness).select(depth / thickness, zero);
                travel = travel.add(shape.vector(simd, 18 + 3 * face).mul(fraction));
                is_in = distance.simd_lt(zero);
                if !is_in.any_true() {
                    break;
                }
            }
            if is_in.any_true() {
                let (exit, travel) =
                    (direction.neg().mul(distance), travel.mul(iteration_fraction));
                contacts.add(simd, is_in, exit, travel, shape.number(simd, 27));
            }
        }
        contacts.resolve(simd, particles, block, current, false);
    }
}
