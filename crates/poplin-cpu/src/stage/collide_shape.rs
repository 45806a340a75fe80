//! Twin of `shaders/stage/collide_shape.wgsl`.

use glam::Vec3;

use crate::ClothMemory;
use crate::colliders::{Contacts, resolve_contacts};
use crate::geometry::{Side, touch_cone};
use crate::math::{dot3, guarded_square, xyz};

/// Adds the exit of x through the lateral surface of capsule c.
pub(crate) fn touch_capsule(memory: &ClothMemory<'_>, c: u32, x: Vec3, contacts: &mut Contacts) {
    let touch = touch_cone(&memory.load_cone(memory.capsule_row(c)), x);
    if touch.side == Side::Inside {
        memory.add_contact(contacts, memory.cloth.colliders.sphere_count + c, touch.push);
        contacts.travel += capsule_move(memory, c, touch.along);
    }
}

/// Displacement of a point on the axis of capsule c in this iteration, `along` in -1..1.
fn capsule_move(memory: &ClothMemory<'_>, c: u32, along: f32) -> Vec3 {
    let [a, b] = memory.capsule_ends(c).map(|end| memory.sphere_move(end));
    a + (b - a) * (along * 0.5 + 0.5)
}

/// Tests whether a capsule that ends in sphere s already handles x.
pub fn is_sphere_covered(memory: &ClothMemory<'_>, s: u32, x: Vec3) -> bool {
    let begins = memory.cloth.colliders.sphere_capsule_begin;
    let capsules = begins + memory.cloth.colliders.sphere_count + 1;
    let end = capsules + memory.load_index(begins + s + 1);
    let mut is_covered = false;
    for k in capsules + memory.load_index(begins + s)..end {
        let capsule = memory.load_index(k);
        let side = touch_cone(&memory.load_cone(memory.capsule_row(capsule)), x).side;
        let is_first = memory.capsule_ends(capsule)[0] == s;
        // The sphere acts only beyond its own end of every capsule.
        let is_own = side == Side::Off
            || (side == Side::Before && is_first)
            || (side == Side::Beyond && !is_first);
        is_covered = is_covered || !is_own;
    }
    is_covered
}

/// Adds the exit of x from sphere s, unless a capsule handles it.
pub(crate) fn touch_sphere(memory: &ClothMemory<'_>, s: u32, x: Vec3, contacts: &mut Contacts) {
    let sphere = memory.load_sphere(s);
    let d = x - xyz(sphere);
    // slack = 1 - r / |d|; below 0 inside
    let slack = 1.0 - sphere[3] / guarded_square(d).sqrt();
    if slack < 0.0 && !is_sphere_covered(memory, s, x) {
        memory.add_contact(contacts, s, -d * slack);
        contacts.travel += memory.sphere_move(s);
    }
}

/// Adds the exits of x from all capsules and spheres without a rigid body.
pub(crate) fn touch_shapes(memory: &ClothMemory<'_>, x: Vec3, contacts: &mut Contacts) {
    let shapes = &memory.cloth.colliders;
    let mut node = 0;
    loop {
        let item =
            memory.next_item(shapes.capsule_tree_begin, shapes.capsule_tree_count, &mut node, x, x);
        if item == 0 {
            break;
        }
        touch_capsule(memory, memory.load_index(shapes.free_capsule_begin + item - 1), x, contacts);
    }
    node = 0;
    loop {
        let item =
            memory.next_item(shapes.sphere_tree_begin, shapes.sphere_tree_count, &mut node, x, x);
        if item == 0 {
            break;
        }
        touch_sphere(memory, memory.load_index(shapes.free_sphere_begin + item - 1), x, contacts);
    }
}

/// Returns the inverse mass of a particle that shapes have pushed: smaller, so that its neighbours
/// give way.
pub(crate) fn scaled_mass(memory: &ClothMemory<'_>, w: f32, push: Vec3) -> f32 {
    w / (1.0 + memory.cloth.colliders.mass_scale * dot3(push, push))
}

/// Pushes particle i out of spheres and capsules.
pub fn collide_shape(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let mut contacts = Contacts::default();
    touch_shapes(memory, xyz(particle), &mut contacts);
    let w = scaled_mass(memory, particle[3], contacts.push);
    resolve_contacts(memory, i, xyz(particle), w, &contacts);
}
