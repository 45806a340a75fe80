//! Collision with boxes.

use std::ops::Range;

use crate::ClothMemory;
use crate::math::xyz;

use super::{Colliding, Row, friction_factor, join, write};
use crate::lanes::{LaneMask as _, Real};
use crate::particles::blocks_of;
use crate::vector::Vec3;
use crate::wide::stage::contacts::Contacts;

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
pub(crate) fn collide_boxes<V: Real>(
    simd: V::Token,
    particles: &mut impl Colliding<V>,
    items: Range<u32>,
    table: &mut Vec<f32>,
) {
    push_out_of_boxes(simd, particles, items, table);
}

#[inline(always)]
fn push_out_of_boxes<V: Real, P: Colliding<V>>(
    simd: V::Token,
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
                // exit = -n distance, out through the nearest face
                let (exit, travel) =
                    (direction.neg().mul(distance), travel.mul(iteration_fraction));
                contacts.add(simd, is_in, exit, travel, shape.number(simd, 27));
            }
        }
        contacts.resolve(simd, particles, block, current, false);
    }
}
