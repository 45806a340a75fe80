//! Twin of `shaders/contact/gather.wgsl`.

use glam::Vec3;
use poplin_layout::{ContactCloth, ContactParameters};
use rayon::prelude::*;

use super::memory::{ContactBody, ContactMemory, wants};
use crate::math::{particle, xyz};

/// Returns the lower corner, in the total order of floats: -0 comes before 0, as in the shader.
fn lower(a: Vec3, b: Vec3) -> Vec3 {
    let pick = |a: f32, b: f32| if b.total_cmp(&a).is_lt() { b } else { a };
    Vec3::new(pick(a.x, b.x), pick(a.y, b.y), pick(a.z, b.z))
}

/// Returns the upper corner, in the same order.
fn higher(a: Vec3, b: Vec3) -> Vec3 {
    let pick = |a: f32, b: f32| if b.total_cmp(&a).is_gt() { b } else { a };
    Vec3::new(pick(a.x, b.x), pick(a.y, b.y), pick(a.z, b.z))
}

/// Returns the product of a matrix, given by its columns, and a vector.
fn rotate(columns: [&[f32; 4]; 3], v: Vec3) -> Vec3 {
    xyz(*columns[0]) * v.x + xyz(*columns[1]) * v.y + xyz(*columns[2]) * v.z
}

/// Returns world position and inverse mass of a particle, and its world motion and radius.
fn gather_particle(
    cloth: &ContactCloth,
    now: [f32; 4],
    before: Vec3,
    is_still: bool,
) -> ([f32; 4], [f32; 4]) {
    let axes = [&cloth.axis_x, &cloth.axis_y, &cloth.axis_z];
    let position = rotate(axes, xyz(now)) + xyz(cloth.origin);
    let moved = xyz(now) - before;
    let own = rotate(axes, moved);
    // Motion by the local space itself: its turn about the previous position, and its shift.
    let of_frame = rotate([&cloth.turn_x, &cloth.turn_y, &cloth.turn_z], before) + xyz(cloth.shift);
    let w = if is_still { 0.0 } else { now[3] };
    let motion = if is_still { Vec3::ZERO } else { own + of_frame };
    (particle(position, w), particle(motion, cloth.radius))
}

impl ContactMemory {
    /// Transforms the particles of all cloths to world space and finds their bounds.
    pub(super) fn gather_particles(
        &mut self,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &[ContactBody<'_>],
    ) {
        let count = parameters.row_count as usize;
        self.positions.resize(count, [0.0; 4]);
        self.motions.resize(count, [0.0; 4]);
        self.slots.clear();
        for (slot, cloth) in cloths.iter().enumerate() {
            self.slots.resize(self.slots.len() + cloth.particle_count as usize, slot as u32);
        }
        let is_held =
            |body: &ContactBody<'_>| body.feedback.fault_count != 0 || body.feedback.is_asleep != 0;
        self.is_held.clear();
        self.is_held.extend(bodies.iter().map(is_held));
        self.widest = cloths.iter().map(|cloth| cloth.radius).fold(0.0, f32::max);
        let Self { positions, motions, slots, is_held, bounds, .. } = self;
        let rows = positions.par_iter_mut().zip(motions).zip(slots).enumerate();
        rows.with_min_len(1024).for_each(|(row, ((position, motion), slot))| {
            let slot = *slot as usize;
            let (cloth, body) = (&cloths[slot], &bodies[slot]);
            let i = row - cloth.row_begin as usize;
            (*position, *motion) =
                gather_particle(cloth, body.current[i], xyz(body.previous[i]), is_held[slot]);
        });
        let bounds_of = |cloth: &ContactCloth| {
            let far = f32::from_bits(0x7fff_ffff);
            let rows = &positions[cloth.row_begin as usize..][..cloth.particle_count as usize];
            rows.iter().fold([Vec3::splat(far), Vec3::splat(-far)], |[low, high], row| {
                [lower(low, xyz(*row)), higher(high, xyz(*row))]
            })
        };
        cloths.par_iter().map(bounds_of).collect_into_vec(bounds);
    }

    /// Tests whether the bounds of two cloths come closer than the sum of their radii.
    fn bounds_meet(&self, cloths: &[ContactCloth], a: usize, b: usize) -> bool {
        let reach = cloths[a].radius + cloths[b].radius;
        let above = self.bounds[a][0] - self.bounds[b][1];
        let below = self.bounds[b][0] - self.bounds[a][1];
        (0..3).all(|k| above[k] <= reach && below[k] <= reach)
    }

    /// Broad phase: finds the cloths whose bounds meet those of another cloth. The kernel tests all
    /// pairs; sweep and prune along x skips pairs that cannot meet.
    pub fn find_near_cloths(&mut self, cloths: &[ContactCloth]) {
        let (mut order, mut is_met) =
            (std::mem::take(&mut self.order), std::mem::take(&mut self.is_met));
        order.clear();
        order.extend(0..cloths.len());
        // The order of equal bounds does not matter.
        order.sort_unstable_by(|&a, &b| self.bounds[a][0].x.total_cmp(&self.bounds[b][0].x));
        is_met.clear();
        is_met.resize(cloths.len(), false);
        for (rank, &a) in order.iter().enumerate() {
            for &b in &order[rank + 1..] {
                if self.bounds[b][0].x - self.bounds[a][1].x > cloths[a].radius + self.widest {
                    break;
                }
                if !(is_met[a] && is_met[b])
                    && wants(cloths, a as u32, b as u32)
                    && self.bounds_meet(cloths, a, b)
                {
                    (is_met[a], is_met[b]) = (true, true);
                }
            }
        }
        (self.order, self.is_met) = (order, is_met);
    }
}
