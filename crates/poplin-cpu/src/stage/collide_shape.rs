//! Twin of `shaders/stage/collide_shape.wgsl`.

use std::ops::Range;

use glam::Vec3;
use poplin_layout::ColliderParameters;

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::floats::Floats;
use crate::geometry::{Beside, Cone, Side};
use crate::lanes::{LaneMask as _, MAX_LANES, Real};
use crate::math::particle as pack;
use crate::particles::blocks_of;
use crate::shapes::{Colliding, Kind, Shape, Table, tabulate};
use crate::vector::Vec3 as Lanes;

/// Capsules: rows of the cone; displacement of the first end in this iteration, with the friction
/// factor; additional displacement of the second end; rotation, see [`ClothMemory::spin_of`].
#[derive(Debug, Default)]
pub(crate) struct Capsules;

impl Kind for Capsules {
    const HAS_TREE: bool = true;

    #[inline(always)]
    fn free(shapes: &ColliderParameters) -> [u32; 3] {
        [shapes.free_capsule_begin, shapes.capsule_tree_begin, shapes.capsule_tree_count]
    }

    #[inline(always)]
    fn row_count(_: &ClothMemory<'_>, _: u32) -> usize {
        6
    }

    #[inline(always)]
    fn row(memory: &ClothMemory<'_>, c: u32, k: usize) -> [f32; 4] {
        if k < 3 {
            return memory.load_scratch(memory.capsule_row(c) + k as u32);
        }
        if k == 5 {
            return memory.spin_of(memory.cloth.colliders.sphere_count + c);
        }
        let [first, second] = memory.capsule_ends(c);
        let first = memory.sphere_move(first);
        if k == 3 {
            pack(first, memory.friction_factor(memory.cloth.colliders.sphere_count + c))
        } else {
            pack(memory.sphere_move(second) - first, 0.0)
        }
    }
}

/// Spheres: center and radius; displacement in this iteration, with the friction factor; rotation,
/// see [`ClothMemory::spin_of`].
#[derive(Debug, Default)]
pub(crate) struct Spheres;

impl Kind for Spheres {
    const HAS_TREE: bool = true;

    #[inline(always)]
    fn free(shapes: &ColliderParameters) -> [u32; 3] {
        [shapes.free_sphere_begin, shapes.sphere_tree_begin, shapes.sphere_tree_count]
    }

    #[inline(always)]
    fn row_count(_: &ClothMemory<'_>, _: u32) -> usize {
        3
    }

    #[inline(always)]
    fn row(memory: &ClothMemory<'_>, s: u32, k: usize) -> [f32; 4] {
        match k {
            0 => memory.load_sphere(s),
            1 => pack(memory.sphere_move(s), memory.friction_factor(s)),
            _ => memory.spin_of(s),
        }
    }
}

/// Displacement in this iteration that a rotation, as of [`ClothMemory::spin_of`], gives to the
/// point of a surface at `arm` from the center or axis \[m\].
#[inline(always)]
pub(crate) fn spin_move<V: Real>(spin: [V; 4], arm: Lanes<V>) -> Lanes<V> {
    Lanes::xyz(spin).cross(arm) * spin[3]
}

/// Adds the exit of x through the lateral surface of a capsule.
#[inline(always)]
pub(crate) fn touch_capsule<V: Real, P: Colliding<V>>(
    simd: V::Token,
    capsule: &Shape<'_, V, P, Capsules>,
    x: Lanes<V>,
    contacts: &mut Contacts<V>,
) {
    let splat = |value: f32| V::splat(simd, value);
    // The box comes first: it leaves out most capsules with comparisons alone.
    let is_near = capsule.holds(simd, x);
    if !is_near.any_true() {
        return;
    }
    let cone = Cone::of([capsule.row(simd, 0), capsule.row(simd, 1), capsule.row(simd, 2)]);
    let half_length = cone.half_length;
    let Beside { d, along, radius, across_square } = cone.beside(simd, x);
    let is_in = is_near & splat(0.0).simd_lt(half_length) & across_square.simd_lt(radius * radius);
    if !is_in.any_true() {
        return;
    }
    let across = across_square.sqrt();
    // The surface normal through x meets the axis at the foot.
    let foot = along + cone.slope * across;
    // Beyond the ends, the end spheres push.
    let is_beyond = foot.simd_lt(-half_length) | half_length.simd_lt(foot);
    let is_in = is_in & !is_beyond;
    if !is_in.any_true() {
        return;
    }
    // Out to the side, along the line from the foot to x.
    let exit = (d - cone.axis * foot) * (cone.cosine_square * (radius / across - splat(1.0)));
    // Displacement of the capsule at the foot, between those of both ends.
    let (first, more) = (capsule.row(simd, 3), capsule.row(simd, 4));
    let fraction = foot / half_length * splat(0.5) + splat(0.5);
    let travel = Lanes::xyz(first) + Lanes::xyz(more) * fraction;
    let arm = d - cone.axis * foot + exit;
    let travel = travel + spin_move(capsule.row(simd, 5), arm);
    contacts.add(simd, is_in, exit, travel, first[3]);
}

/// Tests whether a capsule that ends in sphere s already handles x.
fn is_sphere_covered(memory: &ClothMemory<'_>, s: u32, x: Vec3) -> bool {
    let begins = memory.cloth.colliders.sphere_capsule_begin;
    let capsules = begins + memory.cloth.colliders.sphere_count + 1;
    let end = capsules + memory.load_index(begins + s + 1);
    let mut is_covered = false;
    for k in capsules + memory.load_index(begins + s)..end {
        let capsule = memory.load_index(k);
        let side = memory.load_cone(memory.capsule_row(capsule)).side(x);
        let is_first = memory.capsule_ends(capsule)[0] == s;
        // The sphere acts only beyond its own end of every capsule.
        let is_own = side == Side::Off
            || (side == Side::Before && is_first)
            || (side == Side::Beyond && !is_first);
        is_covered = is_covered || !is_own;
    }
    is_covered
}

/// Tolerance of the quick test on squared distances, within which the exact test decides.
const SPHERE_MARGIN: f32 = 1.0001;

/// Adds the exit of x from a sphere, unless a capsule handles it.
#[inline(always)]
pub(crate) fn touch_sphere<V: Real, P: Colliding<V>>(
    simd: V::Token,
    shape: &Shape<'_, V, P, Spheres>,
    x: Lanes<V>,
    contacts: &mut Contacts<V>,
) {
    let sphere = shape.row(simd, 0);
    let (d, radius) = (x - Lanes::xyz(sphere), sphere[3]);
    let square = d.guarded_square(simd);
    if !square.simd_lt(radius * radius * V::splat(simd, SPHERE_MARGIN)).any_true() {
        return;
    }
    // slack = 1 - r / |d|; below 0 inside
    let slack = V::splat(simd, 1.0) - radius / square.sqrt();
    let is_in = slack.simd_lt(V::splat(simd, 0.0)) & shape.holds(simd, x);
    let mut bits = is_in.to_bitmask();
    let [mut xs, mut ys, mut zs] = [[0.0; MAX_LANES]; 3];
    x.x.store_slice(&mut xs[..V::LEN]);
    x.y.store_slice(&mut ys[..V::LEN]);
    x.z.store_slice(&mut zs[..V::LEN]);
    // Lane by lane, as it is rare.
    let mut uncovered = 0;
    while bits != 0 {
        let lane = bits.trailing_zeros() as usize;
        let point = Vec3::new(xs[lane], ys[lane], zs[lane]);
        if !is_sphere_covered(shape.cloth(lane), shape.index(lane), point) {
            uncovered |= 1 << lane;
        }
        bits &= bits - 1;
    }
    let moved = shape.row(simd, 1);
    let mask = V::Mask::from_bitmask(simd, uncovered);
    let travel = Lanes::xyz(moved) + spin_move(shape.row(simd, 2), d - d * slack);
    contacts.add(simd, mask, -d * slack, travel, moved[3]);
}

/// Adds the exits of x from all capsules and spheres without a rigid body.
#[inline(always)]
pub(crate) fn touch_shapes<V: Real, P: Colliding<V>>(
    simd: V::Token,
    particles: &P,
    (capsules, spheres): &(Table<'_, Capsules>, Table<'_, Spheres>),
    x: Lanes<V>,
    contacts: &mut Contacts<V>,
) {
    let bounds = particles.bounds(x);
    let mut node = 0;
    while let Some(capsule) = capsules.next(particles, &mut node, &bounds) {
        touch_capsule(simd, &capsule, x, contacts);
    }
    node = 0;
    while let Some(sphere) = spheres.next(particles, &mut node, &bounds) {
        touch_sphere(simd, &sphere, x, contacts);
    }
}

/// Pushes particles out of spheres and capsules. `numbers` is scratch memory.
#[inline(always)]
pub(crate) fn collide_shape<V: Real>(
    simd: V::Token,
    particles: &mut impl Colliding<V>,
    items: Range<u32>,
    numbers: &mut Floats,
) {
    numbers.clear();
    let capsule_count = tabulate::<V, _, Capsules>(particles, numbers);
    let capsule_end = numbers.len();
    let sphere_count = tabulate::<V, _, Spheres>(particles, numbers);
    let (capsules, spheres) = numbers.split_at(capsule_end);
    let tables = (Table::new(capsules, capsule_count), Table::new(spheres, sphere_count));
    for block in blocks_of(particles, items) {
        let current = particles.current(simd, block);
        let mut contacts = Contacts::new(simd);
        touch_shapes(simd, particles, &tables, Lanes::xyz(current), &mut contacts);
        contacts.resolve(simd, particles, block, current, true);
    }
}
