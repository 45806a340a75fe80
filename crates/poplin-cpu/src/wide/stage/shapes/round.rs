//! Collision with spheres and capsules.

use std::ops::Range;

use crate::ClothMemory;
use crate::math::xyz;
use crate::stage::collide_shape::is_sphere_covered;
use poplin_layout::EPSILON;

use super::{Colliding, Row, friction_factor, join, leaves, write};
use crate::lanes::{LaneMask as _, MAX_LANES, Real, max};
use crate::particles::blocks_of;
use crate::vector::Vec3;
use crate::wide::stage::contacts::Contacts;

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
fn tabulate<V: Real, P: Colliding<V>>(particles: &P, table: &mut Vec<f32>) -> [usize; 2] {
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
fn touch_capsule<V: Real, P: Colliding<V>>(
    simd: V::Token,
    capsule: &Row<'_, P>,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
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
    // Squared distance from the axis, guarded since it is a divisor.
    let across_square = max(d.dot(d) - along * along, splat(EPSILON));
    let is_in = zero.simd_lt(half_length) & across_square.simd_lt(radius * radius);
    if !is_in.any_true() {
        return;
    }
    let across = across_square.sqrt();
    // Foot of the particle on the axis, at right angles to the slanted side; spheres cover both
    // ends.
    let foot = along + slope * across;
    // Beyond the ends, the end spheres push.
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
fn touch_sphere<V: Real, P: Colliding<V>>(
    simd: V::Token,
    particles: &P,
    sphere: &Row<'_, P>,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
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
    // Capsules that contain the particle take precedence over their end spheres; this test is
    // scalar, as it is rare.
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
pub(crate) fn collide_shapes<V: Real>(
    simd: V::Token,
    particles: &mut impl Colliding<V>,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    push_out_of_shapes(simd, particles, items, table);
}

#[inline(always)]
fn push_out_of_shapes<V: Real, P: Colliding<V>>(
    simd: V::Token,
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
