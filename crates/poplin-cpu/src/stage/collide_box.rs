//! Twin of `shaders/stage/collide_box.wgsl`.

use std::ops::Range;

use poplin_layout::ColliderParameters;

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::floats::Floats;
use crate::lanes::{LaneMask as _, Real};
use crate::math::{particle as pack, xyz};
use crate::particles::blocks_of;
use crate::shapes::{Colliding, Kind, Shape, Table, tabulate};
use crate::vector::Vec3;

/// Boxes: corner; three faces; displacement of the corner in this frame, with the friction factor;
/// displacements of three edges, with the fraction of the frame that an iteration takes.
#[derive(Debug, Default)]
pub(crate) struct Boxes;

impl Kind for Boxes {
    const HAS_TREE: bool = false;

    #[inline(always)]
    fn free(shapes: &ColliderParameters) -> [u32; 3] {
        [shapes.free_box_begin, 0, shapes.free_box_count]
    }

    #[inline(always)]
    fn row_count(_: &ClothMemory<'_>, _: u32) -> usize {
        8
    }

    #[inline(always)]
    fn row(memory: &ClothMemory<'_>, b: u32, k: usize) -> [f32; 4] {
        if k < 4 {
            return memory.load_scratch(memory.box_row(b) + k as u32);
        }
        let shapes = &memory.cloth.colliders;
        let row = 4 * b + k as u32 - 4;
        let change = xyz(memory.input_row(shapes.box_target + row))
            - xyz(memory.input_row(shapes.box_start + row));
        let w = if k == 4 {
            memory.friction_factor(memory.box_shape(b))
        } else {
            shapes.iteration_fraction
        };
        pack(change, w)
    }
}

/// Adds the exit of x through the nearest face of a box, if x is inside.
#[inline(always)]
pub(crate) fn touch_box<V: Real, P: Colliding<V>>(
    simd: V::Token,
    shape: &Shape<'_, V, P, Boxes>,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
) {
    let zero = V::splat(simd, 0.0);
    let d = x - Vec3::xyz(shape.row(simd, 0));
    let (mut distance, mut direction) = (V::splat(simd, -3.0e38), Vec3::splat(simd, [0.0; 3]));
    let mut fractions = [zero; 3];
    let mut is_in = distance.simd_lt(zero);
    // Each normal has two faces: one through the corner, one at the thickness. The face of largest
    // signed height is nearest.
    for (k, fraction) in fractions.iter_mut().enumerate() {
        let face = shape.row(simd, 1 + k);
        let (normal, thickness) = (Vec3::xyz(face), face[3]);
        let depth = normal.dot(d);
        let far_height = depth - thickness;
        let is_nearer = distance.simd_lt(-depth);
        distance = is_nearer.select(-depth, distance);
        direction = (-normal).or(is_nearer, direction);
        let is_nearer = distance.simd_lt(far_height);
        distance = is_nearer.select(far_height, distance);
        direction = normal.or(is_nearer, direction);
        *fraction = zero.simd_lt(thickness).select(depth / thickness, zero);
        is_in = distance.simd_lt(zero);
        if !is_in.any_true() {
            return;
        }
    }
    let corner = shape.row(simd, 4);
    // Displacement of the material point: corner + fractions of the edges.
    let mut moved = Vec3::xyz(corner);
    let mut iteration_fraction = zero;
    for (k, fraction) in fractions.iter().enumerate() {
        let edge = shape.row(simd, 5 + k);
        moved = moved + Vec3::xyz(edge) * *fraction;
        iteration_fraction = edge[3];
    }
    // exit = -n distance, out through the nearest face
    let exit = -direction * distance;
    contacts.add(simd, is_in, exit, moved * iteration_fraction, corner[3]);
}

/// Adds the exits of x from all boxes without a rigid body.
#[inline(always)]
pub(crate) fn touch_boxes<V: Real, P: Colliding<V>>(
    simd: V::Token,
    particles: &P,
    boxes: &Table<'_, Boxes>,
    x: Vec3<V>,
    contacts: &mut Contacts<V>,
) {
    for place in 0..boxes.count(particles) {
        touch_box(simd, &boxes.shape(particles, place), x, contacts);
    }
}

/// Pushes particles out of the boxes. `numbers` is scratch memory.
#[inline(always)]
pub(crate) fn collide_box<V: Real>(
    simd: V::Token,
    particles: &mut impl Colliding<V>,
    items: Range<u32>,
    numbers: &mut Floats,
) {
    numbers.clear();
    let count = tabulate::<V, _, Boxes>(particles, numbers);
    let boxes = Table::new(numbers, count);
    for block in blocks_of(particles, items) {
        let current = particles.current(simd, block);
        let mut contacts = Contacts::new(simd);
        touch_boxes(simd, particles, &boxes, Vec3::xyz(current), &mut contacts);
        contacts.resolve(simd, particles, block, current, false);
    }
}
