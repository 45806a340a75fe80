//! Twin of `shaders/stage/collide_continuous.wgsl`.

use glam::Vec3;

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::geometry::{Side, find_impact};
use crate::math::{cross3, dot3, guarded_square, particle as pack, xyz};
use crate::particles::Block;
use crate::shapes::Shape;
use crate::stage::collide_shape::{spin_move, touch_capsule};

/// Last four capsules that hit a particle on its path, with the ends beyond which it was pushed.
#[derive(Debug, Clone, Copy, Default)]
struct Hits {
    capsules: [u32; 4],
    count: u32,
}

/// Particle on its path through the shapes: previous position, target, current position, contacts
/// and hits.
struct Sweep {
    before: Vec3,
    end: Vec3,
    x: Vec3,
    contacts: Contacts<f32>,
    hits: Hits,
}

/// Tests whether x lies within the swept box of two spheres, enlarged to the continuous reach.
fn is_in_reach(memory: &ClothMemory<'_>, a: u32, b: u32, x: Vec3) -> bool {
    let reach = memory.cloth.colliders.continuous_reach;
    let [a_now, a_before, b_now, b_before] =
        [a, a + 1, b, b + 1].map(|row| memory.load_scratch(row));
    let low_a = (xyz(a_now) - a_now[3] * reach).min(xyz(a_before) - a_before[3] * reach);
    let low_b = (xyz(b_now) - b_now[3] * reach).min(xyz(b_before) - b_before[3] * reach);
    let high_a = (xyz(a_now) + a_now[3] * reach).max(xyz(a_before) + a_before[3] * reach);
    let high_b = (xyz(b_now) + b_now[3] * reach).max(xyz(b_before) + b_before[3] * reach);
    x.cmpge(low_a.min(low_b)).all() && x.cmple(high_a.max(high_b)).all()
}

/// Stops the particle at the lateral surface of capsule c, then adds its exit.
fn sweep_capsule(memory: &ClothMemory<'_>, c: u32, sweep: &mut Sweep) {
    let row = memory.capsule_row(c);
    let cone = memory.load_cone(row);
    let old = memory.load_cone(row + 3);
    let [a, b] = memory.capsule_ends(c).map(|end| memory.sphere_row(end));
    if cone.half_length > 0.0 && old.half_length > 0.0 && is_in_reach(memory, a, b, sweep.end) {
        // Relative to the cone: e at the start, d at the end. Cross products with the axis are
        // distances from it.
        let [at_start, at_end] =
            [old.beside((), sweep.before.into()), cone.beside((), sweep.x.into())];
        let [e, d, old_axis, axis] = [at_start.d, at_end.d, old.axis, cone.axis].map(Vec3::from);
        let impact =
            find_impact(cross3(e, old_axis), cross3(d, axis), at_start.radius, at_end.radius);
        if impact.is_hit {
            // Cone at the time of impact: axis, slope and the foot of the impact.
            let path = e - d;
            let position = e - path * impact.time;
            let old_half_axis = old_axis * old.half_length;
            let rotation = axis * cone.half_length - old_half_axis;
            let axis = old_half_axis + rotation * impact.time;
            let half_length = guarded_square(axis).sqrt();
            let slope = old.slope + (cone.slope - old.slope) * impact.time;
            let along = dot3(position, axis) / half_length;
            let across = (dot3(position, position) - along * along).max(0.0).sqrt();
            let foot = (along + slope * across) / half_length;
            // Impacts beyond the ends are left to the spheres.
            if foot.abs() < 1.0 {
                sweep.x += (path + rotation * foot) * impact.rest;
            }
            // Bits of the ends beyond which the side would push the point: 1 and 2.
            let base = cone.foot(sweep.x);
            let own = u32::from(base < -cone.half_length) + 2 * u32::from(base > cone.half_length);
            let hits = &mut sweep.hits;
            // Ring buffer of the last four hits.
            hits.capsules[(hits.count & 3) as usize] = 4 * c + own;
            hits.count += 1;
        }
    }
    touch_capsule((), &Shape::of(memory, c), sweep.x.into(), &mut sweep.contacts);
}

/// Tests whether a capsule that ends in sphere s has handled the particle already.
fn is_sphere_passed(memory: &ClothMemory<'_>, s: u32, x: Vec3, hits: &Hits) -> bool {
    let begins = memory.cloth.colliders.sphere_capsule_begin;
    let capsules = begins + memory.cloth.colliders.sphere_count + 1;
    let end = capsules + memory.load_index(begins + s + 1);
    // A hit capsule has handled the sphere unless the point lies beyond its end there.
    let hit_count = hits.count.min(4);
    let mut is_passed = false;
    for k in capsules + memory.load_index(begins + s)..end {
        let capsule = memory.load_index(k);
        let own_bit = if memory.capsule_ends(capsule)[0] == s { 1 } else { 2 };
        let cone = memory.load_cone(memory.capsule_row(capsule));
        let mut is_done = cone.side(x) == Side::Outside;
        for hit in &hits.capsules[..hit_count as usize] {
            if hit / 4 == capsule {
                is_done = hit & own_bit == 0;
            }
        }
        is_passed = is_passed || is_done;
    }
    is_passed
}

/// Stops the particle at sphere s, then adds its exit.
fn sweep_sphere(memory: &ClothMemory<'_>, s: u32, sweep: &mut Sweep) {
    let row = memory.sphere_row(s);
    if is_in_reach(memory, row, row, sweep.end)
        && !is_sphere_passed(memory, s, sweep.x, &sweep.hits)
    {
        let sphere = memory.load_scratch(row);
        let old = memory.load_scratch(row + 1);
        let e = sweep.before - xyz(old);
        let mut d = sweep.x - xyz(sphere);
        let impact = find_impact(e, d, old[3], sphere[3]);
        if impact.is_hit {
            sweep.x += (e - d) * impact.rest;
            d = sweep.x - xyz(sphere);
        }
        let slack = 1.0 - sphere[3] / guarded_square(d).sqrt();
        if slack < 0.0 {
            let turned: Vec3 = spin_move(memory.spin_of(s), (d - d * slack).into()).into();
            let travel = memory.sphere_move(s) + turned;
            let exit = (-d * slack).into();
            sweep.contacts.add((), true, exit, travel.into(), memory.friction_factor(s));
        }
    }
}

/// Pushes particle i out of spheres and capsules, including those that it hit on its path since the
/// last iteration.
pub fn collide_continuous(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let before = xyz(memory.load_previous(i));
    let mut sweep = Sweep {
        before,
        end: xyz(particle),
        x: xyz(particle),
        contacts: Contacts::new(()),
        hits: Hits::default(),
    };
    // Tree query with the box of the path.
    let (low, high) = (sweep.x.min(before), sweep.x.max(before));
    let shapes = memory.cloth.colliders;
    let mut node = 0;
    loop {
        let item = memory.next_item(
            shapes.capsule_tree_begin,
            shapes.capsule_tree_count,
            &mut node,
            low,
            high,
        );
        if item == 0 {
            break;
        }
        sweep_capsule(memory, memory.load_index(shapes.free_capsule_begin + item - 1), &mut sweep);
    }
    node = 0;
    loop {
        let item = memory.next_item(
            shapes.sphere_tree_begin,
            shapes.sphere_tree_count,
            &mut node,
            low,
            high,
        );
        if item == 0 {
            break;
        }
        sweep_sphere(memory, memory.load_index(shapes.free_sphere_begin + item - 1), &mut sweep);
    }
    if sweep.x != xyz(particle) {
        memory.store_current(i, pack(sweep.x, particle[3]));
    }
    // Remaining overlap is resolved like a discrete contact.
    sweep.contacts.resolve((), memory, Block::at(i, i + 1), pack(sweep.x, particle[3]), true);
}
