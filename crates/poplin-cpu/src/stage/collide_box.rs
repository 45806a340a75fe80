//! Twin of `shaders/stage/collide_box.wgsl`.

use glam::Vec3;

use crate::ClothMemory;
use crate::colliders::{Contacts, resolve_contacts};
use crate::math::{dot3, xyz};

/// Adds the exit of x through the nearest face of box b, if x is inside.
pub(crate) fn touch_box(memory: &ClothMemory<'_>, b: u32, x: Vec3, contacts: &mut Contacts) {
    let row = memory.box_row(b);
    let d = x - xyz(memory.load_scratch(row));
    let mut distance = -3.0e38;
    let mut direction = Vec3::ZERO;
    let mut fractions = [0.0; 3];
    // Each normal has two faces: one through the corner, one at the thickness. The face of largest
    // signed height is nearest.
    for (k, fraction) in (0..).zip(&mut fractions) {
        let face = memory.load_scratch(row + 1 + k);
        let depth = dot3(xyz(face), d);
        let far_height = depth - face[3];
        if -depth > distance {
            distance = -depth;
            direction = -xyz(face);
        }
        if far_height > distance {
            distance = far_height;
            direction = xyz(face);
        }
        if face[3] > 0.0 {
            *fraction = depth / face[3];
        }
    }
    if distance < 0.0 {
        memory.add_contact(contacts, memory.box_shape(b), -direction * distance);
        let (start, target) = (memory.cloth.colliders.box_start, memory.cloth.colliders.box_target);
        let change =
            |row: u32| xyz(memory.input_row(target + row)) - xyz(memory.input_row(start + row));
        // Displacement of the material point: corner + fractions of the edges.
        let mut moved = change(4 * b);
        for (k, fraction) in (0..).zip(fractions) {
            moved += change(4 * b + 1 + k) * fraction;
        }
        contacts.travel += moved * memory.cloth.colliders.iteration_fraction;
    }
}

/// Adds the exits of x from all boxes without a rigid body.
pub(crate) fn touch_boxes(memory: &ClothMemory<'_>, x: Vec3, contacts: &mut Contacts) {
    let begin = memory.cloth.colliders.free_box_begin;
    for k in begin..begin + memory.cloth.colliders.free_box_count {
        touch_box(memory, memory.load_index(k), x, contacts);
    }
}

/// Pushes particle i out of the boxes.
pub fn collide_box(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let mut contacts = Contacts::default();
    touch_boxes(memory, xyz(particle), &mut contacts);
    resolve_contacts(memory, i, xyz(particle), particle[3], &contacts);
}
