//! Shapes, a particle per lane: lanes that touch nothing are found side by side, the others run the twin.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::EPSILON;
use poplin_reference::ClothMemory;
use poplin_reference::stage::collide_box::collide_box;
use poplin_reference::stage::collide_convex::collide_convex;
use poplin_reference::stage::collide_shape::collide_shape;

use super::particles::blocks;
use crate::lanes::{Lanes, max};
use crate::vector::Vec3;

/// Runs a twin for the items of the lanes whose bit is set.
#[inline(always)]
fn run_some(
    memory: &mut ClothMemory<'_>,
    mut bits: u64,
    index: impl Fn(usize) -> u32,
    twin: fn(&mut ClothMemory<'_>, u32),
) {
    while bits != 0 {
        twin(memory, index(bits.trailing_zeros() as usize));
        bits &= bits - 1;
    }
}

/// Bounds of the positions in all lanes, of those that are numbers.
#[inline(always)]
fn bounds<S: Simd, V: Lanes<S>>(x: Vec3<S, V>) -> [[f32; 3]; 2] {
    let Vec3 { x, y, z, .. } = x;
    let low = [x.reduce_min_precise(), y.reduce_min_precise(), z.reduce_min_precise()];
    let high = [x.reduce_max_precise(), y.reduce_max_precise(), z.reduce_max_precise()];
    [low, high]
}

/// Whether the side of a capsule pushes a particle at d from its center.
#[inline(always)]
pub(crate) fn in_cone<S: Simd, V: Lanes<S>>(
    simd: S,
    d: Vec3<S, V>,
    axis: Vec3<S, V>,
    slope: V,
    radius: V,
    half_length: V,
) -> V::Mask {
    let zero = V::splat(simd, 0.0);
    let along = d.dot(axis);
    let radius = max(along * slope + radius, zero);
    let across_square = max(d.dot(d) - along * along, V::splat(simd, EPSILON));
    let is_in = zero.simd_lt(half_length) & across_square.simd_lt(radius * radius);
    if !is_in.any_true() {
        return is_in;
    }
    let foot = along + slope * across_square.sqrt();
    // NaN is left to the twin.
    is_in & !foot.simd_lt(-half_length) & !half_length.simd_lt(foot)
}

/// How much more than the square of a radius the square of a distance may be for the twin to decide.
const SPHERE_MARGIN: f32 = 1.0001;

/// Whether a sphere may push a particle at d from its center.
#[inline(always)]
pub(crate) fn in_sphere<S: Simd, V: Lanes<S>>(simd: S, d: Vec3<S, V>, radius: V) -> V::Mask {
    d.guarded_square(simd).simd_lt(radius * radius * V::splat(simd, SPHERE_MARGIN))
}

/// Pushes particles out of spheres and capsules.
#[inline(always)]
pub(crate) fn collide_shapes<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let splat = |value: f32| V::splat(simd, value);
    for block in blocks::<V, S>(items) {
        let shapes = &memory.cloth.colliders;
        let x = Vec3::xyz(block.load(simd, memory.current));
        let [low, high] = bounds(x).map(Into::into);
        let mut touching = 0;
        let mut node = 0;
        loop {
            let [begin, count] = [shapes.capsule_tree_begin, shapes.capsule_tree_count];
            let item = memory.next_item(begin, count, &mut node, low, high);
            if item == 0 {
                break;
            }
            let capsule = memory.load_index(shapes.free_capsule_begin + item - 1);
            let cone = memory.load_cone(memory.capsule_row(capsule));
            let d = x.sub(Vec3::splat(simd, cone.center.to_array()));
            let axis = Vec3::splat(simd, cone.axis.to_array());
            let (slope, radius) = (splat(cone.slope), splat(cone.radius));
            touching |= in_cone(simd, d, axis, slope, radius, splat(cone.half_length)).to_bitmask();
        }
        node = 0;
        loop {
            let [begin, count] = [shapes.sphere_tree_begin, shapes.sphere_tree_count];
            let item = memory.next_item(begin, count, &mut node, low, high);
            if item == 0 {
                break;
            }
            let sphere = memory.load_sphere(memory.load_index(shapes.free_sphere_begin + item - 1));
            let d = x.sub(Vec3::splat(simd, [sphere[0], sphere[1], sphere[2]]));
            touching |= in_sphere(simd, d, splat(sphere[3])).to_bitmask();
        }
        run_some(memory, touching & block.bits(), |lane| block.index(lane), collide_shape);
    }
}

/// Pushes particles out of convexes.
#[inline(always)]
pub(crate) fn collide_convexes<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V, S>(items) {
        let shapes = &memory.cloth.colliders;
        let x = Vec3::xyz(block.load(simd, memory.current));
        let mut touching = 0;
        for k in shapes.free_convex_begin..shapes.free_convex_begin + shapes.free_convex_count {
            let convex = memory.load_index(k);
            let begins = shapes.convex_plane_begin;
            let planes = begins + shapes.convex_count + 1;
            let end = planes + memory.load_index(begins + convex + 1);
            let mut behind = block.bits();
            for k in planes + memory.load_index(begins + convex)..end {
                let plane = memory.load_scratch(memory.plane_row(memory.load_index(k)));
                let normal = Vec3::splat(simd, [plane[0], plane[1], plane[2]]);
                let height = normal.dot(x) + V::splat(simd, plane[3]);
                // What is not in front: NaN is left to the twin.
                behind &= !height.simd_ge(zero).to_bitmask();
                if behind == 0 {
                    break;
                }
            }
            touching |= behind;
        }
        run_some(memory, touching & block.bits(), |lane| block.index(lane), collide_convex);
    }
}

/// Pushes particles out of boxes.
#[inline(always)]
pub(crate) fn collide_boxes<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V, S>(items) {
        let shapes = &memory.cloth.colliders;
        let x = Vec3::xyz(block.load(simd, memory.current));
        let mut touching = 0;
        for k in shapes.free_box_begin..shapes.free_box_begin + shapes.free_box_count {
            let row = memory.box_row(memory.load_index(k));
            let [a, b, c, _] = memory.load_scratch(row);
            let d = x.sub(Vec3::splat(simd, [a, b, c]));
            let mut inside = block.bits();
            for k in 1..4 {
                let face = memory.load_scratch(row + k);
                let depth = Vec3::splat(simd, [face[0], face[1], face[2]]).dot(d);
                let is_out = depth.simd_le(zero) | (depth - V::splat(simd, face[3])).simd_ge(zero);
                inside &= !is_out.to_bitmask();
            }
            touching |= inside;
        }
        run_some(memory, touching & block.bits(), |lane| block.index(lane), collide_box);
    }
}
