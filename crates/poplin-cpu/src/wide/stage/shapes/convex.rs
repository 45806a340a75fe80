//! Collision with convexes, each an intersection of half-spaces.

use std::ops::Range;

use crate::ClothMemory;

use super::{Colliding, Row, friction_factor, join, write};
use crate::lanes::{LaneMask as _, Real, max};
use crate::particles::blocks_of;
use crate::vector::Vec3;
use crate::wide::stage::contacts::Contacts;

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
fn tabulate_convexes<V: Real, P: Colliding<V>>(particles: &P, table: &mut Vec<f32>) -> [usize; 2] {
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
            // Own planes, or one that empties the convex, padded to the common plane count.
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
pub(crate) fn collide_convexes<V: Real>(
    simd: V::Token,
    particles: &mut impl Colliding<V>,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    push_out_of_convexes(simd, particles, items, table);
}

#[inline(always)]
fn push_out_of_convexes<V: Real, P: Colliding<V>>(
    simd: V::Token,
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
                add_approach::<V, P>(simd, &convex, plane_count, x, &mut contacts);
            }
        }
        contacts.resolve(simd, particles, block, current, false);
    }
}

/// Adds the advance of the nearest plane of a convex towards the particles inside.
#[inline(always)]
fn add_approach<V: Real, P: Colliding<V>>(
    simd: V::Token,
    convex: &Row<'_, P>,
    plane_count: usize,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
) {
    let zero = V::splat(simd, 0.0);
    let mut distance = V::splat(simd, -3.0e38);
    let mut distance_before = distance;
    for plane in 0..plane_count {
        let [height, height_before] = [0, 4].map(|part| {
            let begin = PLANE_NUMBERS * plane + part;
            let normal: Vec3<V> = convex.vector(simd, begin);
            normal.dot(x) + convex.number(simd, begin + 3)
        });
        let is_nearer = distance.simd_lt(height);
        distance_before = is_nearer.select(height_before, distance_before);
        distance = is_nearer.select(height, distance);
    }
    contacts.add_approach(distance.simd_lt(zero), max(distance_before - distance, zero));
}
