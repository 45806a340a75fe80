//! Twin of `shaders/stage/virtual_particles.wgsl`.

use glam::Vec3;

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::math::{dot3, particle as pack, xyz};
use crate::particles::collision_of;
use crate::stage::collide_shape::touch_shapes;

/// Pushes the virtual particles of a bundle out of spheres and capsules, one after another. Each is
/// a barycentric point of three particles.
pub fn collide_bundle(memory: &mut ClothMemory<'_>, bundle: u32) {
    let row = memory.cloth.fabric.virtual_bundle_begin + 5 * bundle;
    for point in memory.fabric(row + 3)..memory.fabric(row + 4) {
        let weights_begin = memory.cloth.fabric.virtual_weight_begin + 3 * point;
        let mut x = Vec3::ZERO;
        let mut before = Vec3::ZERO;
        let mut weight_square = 0.0;
        for k in 0..3 {
            let weight = memory.fabric_f32(weights_begin + k);
            let corner = memory.fabric(row + k);
            x += xyz(memory.load_current(corner)) * weight;
            before += xyz(memory.load_previous(corner)) * weight;
            weight_square += weight * weight;
        }
        let mut contacts = Contacts::new(());
        touch_shapes((), memory, &Default::default(), x.into(), &mut contacts);
        if contacts.count > 0.0 {
            let push = Vec3::from(contacts.mean_push());
            let mut fractions = [1.0, 0.0];
            let displacement = (x - before).into();
            let limit = memory.cloth.colliders.depenetration_step;
            if contacts.is_deep(limit) {
                fractions = contacts.push_fractions((), displacement, limit);
                contacts = contacts.gripping(fractions[0]);
            }
            let mut slide = Vec3::ZERO;
            let [friction, slop, ..] = collision_of(memory);
            if friction > 0.0 {
                slide = contacts.friction_slide((), displacement, [friction, slop]).into();
            }
            // Mass scaling of a pushed particle: w / (1 + k |push|^2).
            let gain = memory.cloth.colliders.mass_scale * dot3(push, push);
            let loss = gain / (1.0 + gain);
            for k in 0..3 {
                let weight = memory.fabric_f32(weights_begin + k);
                let corner = memory.fabric(row + k);
                // A displacement of the point by p moves corner k by p w_k / sum w^2.
                let fraction = weight / weight_square;
                let particle = memory.load_current(corner);
                if particle[3] > 0.0 {
                    let w = particle[3] * (1.0 - weight * loss).max(0.0);
                    let mut displacement = push * fractions[0];
                    let mut change = push * fractions[1];
                    if memory.cloth.colliders.friction_holds != 0 {
                        displacement -= slide;
                    } else {
                        change += slide;
                    }
                    memory.store_current(corner, pack(xyz(particle) + displacement * fraction, w));
                    let previous_particle = memory.load_previous(corner);
                    memory.store_previous(
                        corner,
                        pack(xyz(previous_particle) + change * fraction, previous_particle[3]),
                    );
                }
            }
        }
    }
}
