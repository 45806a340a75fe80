//! Twin of `shaders/stage/collide_convex.wgsl`.

use glam::Vec3;

use crate::ClothMemory;
use crate::colliders::{Contacts, resolve_contacts};
use crate::math::{dot3, xyz};

/// Adds the exit of x through the nearest plane of convex c, if x is behind all of its planes.
pub(crate) fn touch_convex(memory: &ClothMemory<'_>, c: u32, x: Vec3, contacts: &mut Contacts) {
    let begins = memory.cloth.colliders.convex_plane_begin;
    let planes = begins + memory.cloth.colliders.convex_count + 1;
    let end = planes + memory.load_index(begins + c + 1);
    let mut nearest = Vec3::ZERO;
    let mut nearest_plane = 0;
    let mut distance = -3.0e38;
    for k in planes + memory.load_index(begins + c)..end {
        let p = memory.load_index(k);
        let plane = memory.load_scratch(memory.plane_row(p));
        let height = dot3(xyz(plane), x) + plane[3];
        if height > distance {
            distance = height;
            nearest = xyz(plane);
            nearest_plane = p;
        }
    }
    if distance < 0.0 {
        memory.add_contact(contacts, memory.convex_shape(c), -nearest * distance);
        let shapes = &memory.cloth.colliders;
        let fraction_before = memory.iteration.bias[3];
        let before =
            memory.load_at(shapes.plane_start, shapes.plane_target, nearest_plane, fraction_before);
        contacts.approach += (dot3(xyz(before), x) + before[3] - distance).max(0.0);
    }
}

/// Adds the exits of x from all convexes without a rigid body.
pub(crate) fn touch_convexes(memory: &ClothMemory<'_>, x: Vec3, contacts: &mut Contacts) {
    let begin = memory.cloth.colliders.free_convex_begin;
    for k in begin..begin + memory.cloth.colliders.free_convex_count {
        touch_convex(memory, memory.load_index(k), x, contacts);
    }
}

/// Pushes particle i out of the convexes.
pub fn collide_convex(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let mut contacts = Contacts::default();
    touch_convexes(memory, xyz(particle), &mut contacts);
    resolve_contacts(memory, i, xyz(particle), particle[3], &contacts);
}
