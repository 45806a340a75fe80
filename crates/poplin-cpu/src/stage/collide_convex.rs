//! Twin of `shaders/stage/collide_convex.wgsl`.

use std::ops::Range;

use poplin_layout::{CONVEX_TWIST_ROWS, ColliderParameters};

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::floats::Floats;
use crate::lanes::{LaneMask as _, Real, max};
use crate::math::{particle as pack, xyz};
use crate::particles::blocks_of;
use crate::shapes::{Colliding, Kind, Shape, Table, tabulate};
use crate::vector::Vec3;

/// Row of the first plane of a convex.
const FIRST_PLANE: usize = 4;

/// Convexes, each an intersection of half-spaces: friction factor; center, with the fraction of the
/// frame that an iteration takes; rotation and shift over the frame; then per plane its current
/// coefficients and those of the previous iteration.
#[derive(Debug, Default)]
pub(crate) struct Convexes;

impl Kind for Convexes {
    const HAS_TREE: bool = false;

    /// Plane that is never the nearest.
    const FILLER: [f32; 4] = [0.0, 0.0, 0.0, -3.0e38];

    #[inline(always)]
    fn free(shapes: &ColliderParameters) -> [u32; 3] {
        [shapes.free_convex_begin, 0, shapes.free_convex_count]
    }

    #[inline(always)]
    fn row_count(memory: &ClothMemory<'_>, c: u32) -> usize {
        let begin = memory.cloth.colliders.convex_plane_begin + c;
        FIRST_PLANE + 2 * (memory.load_index(begin + 1) - memory.load_index(begin)) as usize
    }

    #[inline(always)]
    fn row(memory: &ClothMemory<'_>, c: u32, k: usize) -> [f32; 4] {
        if k == 0 {
            return [memory.friction_factor(memory.convex_shape(c)), 0.0, 0.0, 0.0];
        }
        let shapes = &memory.cloth.colliders;
        let fraction_now = memory.iteration.velocity_scale[3];
        if k < FIRST_PLANE {
            let row = shapes.twist_begin + memory.convex_shape(0) + CONVEX_TWIST_ROWS * c;
            let [spin, center, shift] = [0, 1, 2].map(|k| memory.input_row(row + k));
            return match k {
                1 => pack(xyz(center) + xyz(shift) * fraction_now, shapes.iteration_fraction),
                2 => spin,
                _ => shift,
            };
        }
        let begins = shapes.convex_plane_begin;
        let planes = begins + shapes.convex_count + 1 + memory.load_index(begins + c);
        let k = k - FIRST_PLANE;
        let p = memory.load_index(planes + k as u32 / 2);
        if k.is_multiple_of(2) {
            return memory.load_scratch(memory.plane_row(p));
        }
        let fraction_before = memory.iteration.bias[3];
        memory.load_at(shapes.plane_start, shapes.plane_target, p, fraction_before)
    }
}

/// Height of x over the plane in row `k`.
#[inline(always)]
fn height<V: Real>([a, b, c, offset]: [V; 4], x: Vec3<V>) -> V {
    Vec3::new(a, b, c).dot(x) + offset
}

/// Adds the exit of x through the nearest plane of a convex, if x is behind all of its planes.
/// Returns whether it is.
#[inline(always)]
pub(crate) fn touch_convex<V: Real, P: Colliding<V>>(
    simd: V::Token,
    convex: &Shape<'_, V, P, Convexes>,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
) -> V::Mask {
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let (mut distance, mut nearest) = (V::splat(simd, -3.0e38), nothing);
    // True in every lane: no plane has been tested yet.
    let mut is_in = distance.simd_lt(nothing.x);
    for k in (FIRST_PLANE..convex.row_count()).step_by(2) {
        let plane = convex.row(simd, k);
        // Inside while every height is below 0; the plane with the largest one is nearest.
        let height = height(plane, x);
        let is_nearer = distance.simd_lt(height);
        distance = is_nearer.select(height, distance);
        nearest = Vec3::xyz(plane).or(is_nearer, nearest);
        is_in = distance.simd_lt(nothing.x);
        if !is_in.any_true() {
            return is_in;
        }
    }
    // exit = -n height
    let exit = -nearest * distance;
    // v = shift + spin x arm, summed from the left as in the shader
    // Written out: a map over arrays of vectors is not inlined, and copies them.
    let center = convex.row(simd, 1);
    let spin = convex.row(simd, 2);
    let shift = convex.row(simd, 3);
    let arm = x - nearest * distance - Vec3::xyz(center);
    let travel = Vec3::new(
        shift[0] + spin[1] * arm.z - spin[2] * arm.y,
        shift[1] + spin[2] * arm.x - spin[0] * arm.z,
        shift[2] + spin[0] * arm.y - spin[1] * arm.x,
    ) * center[3];
    let travel = travel - nearest * nearest.dot(travel);
    contacts.add(simd, is_in, exit, travel, convex.row(simd, 0)[0]);
    is_in
}

/// Adds the advance of the nearest plane of a convex towards x in this iteration, if x is inside.
/// Only deep pushes depend on it.
#[inline(always)]
pub(crate) fn approach_convex<V: Real, P: Colliding<V>>(
    simd: V::Token,
    convex: &Shape<'_, V, P, Convexes>,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
) {
    let zero = V::splat(simd, 0.0);
    let mut distance = V::splat(simd, -3.0e38);
    let mut distance_before = distance;
    for k in (FIRST_PLANE..convex.row_count()).step_by(2) {
        let (height, height_before) =
            (height(convex.row(simd, k), x), height(convex.row(simd, k + 1), x));
        let is_nearer = distance.simd_lt(height);
        distance_before = is_nearer.select(height_before, distance_before);
        distance = is_nearer.select(height, distance);
    }
    let approach = contacts.approach + max(distance_before - distance, zero);
    contacts.approach = distance.simd_lt(zero).select(approach, contacts.approach);
}

/// Pushes particles out of the convexes. `numbers` is scratch memory.
#[inline(always)]
pub(crate) fn collide_convex<V: Real>(
    simd: V::Token,
    particles: &mut impl Colliding<V>,
    items: Range<u32>,
    numbers: &mut Floats,
) {
    numbers.clear();
    let count = tabulate::<V, _, Convexes>(particles, numbers);
    let convexes = Table::<Convexes>::new(numbers, count);
    let limit = particles.depenetration_step(simd);
    for block in blocks_of(particles, items) {
        let current = particles.current(simd, block);
        let x = Vec3::xyz(current);
        let mut contacts = Contacts::new(simd);
        for place in 0..convexes.count(particles) {
            touch_convex(simd, &convexes.shape(particles, place), x, &mut contacts);
        }
        if contacts.is_deep(limit).any_true() {
            for place in 0..convexes.count(particles) {
                approach_convex(simd, &convexes.shape(particles, place), x, &mut contacts);
            }
        }
        contacts.resolve(simd, particles, block, current, false);
    }
}
