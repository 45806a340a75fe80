//! Twin of `shaders/contact/push.wgsl`.

use glam::Vec3;
use poplin_layout::{ContactCloth, ContactParameters, MIN_SQUARE};
use rayon::prelude::*;

use super::memory::{ContactBody, ContactMemory, wants};
use crate::math::{dot3, xyz};

impl ContactMemory {
    /// Calls `touched` with the rows that row i touches, ordered by the 27 cells around it and by
    /// row.
    fn for_contacts(
        &self,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        i: usize,
        mut touched: impl FnMut(usize),
    ) {
        let (position, radius) = (xyz(self.positions[i]), self.motions[i][3]);
        // Beyond this distance no row touches, whatever its radius: position by itself rejects
        // most.
        let reach = radius + self.widest;
        let most = reach * reach;
        self.for_neighbors(parameters, i, |entries| {
            for (other, &j) in
                self.sorted_positions[entries.clone()].iter().zip(&self.sorted[entries])
            {
                let delta = position - xyz(*other);
                let square = dot3(delta, delta);
                if square < most {
                    let j = j as usize;
                    let distance = radius + self.motions[j][3];
                    if square < distance * distance && wants(cloths, self.slots[i], self.slots[j]) {
                        touched(j);
                    }
                }
            }
        });
    }

    /// Counts the contacts of row i; immovable rows need no average of their pushes.
    fn count_contacts(
        &self,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        i: usize,
    ) -> u32 {
        let mut count = 0;
        if self.is_row_met(i) && self.positions[i][3] > 0.0 {
            self.for_contacts(parameters, cloths, i, |_| count += 1);
        }
        count
    }

    /// Counts the contacts of every row.
    pub(super) fn count_all_contacts(
        &mut self,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
    ) {
        let mut counts = std::mem::take(&mut self.counts);
        let rows = (0..self.positions.len()).into_par_iter().with_min_len(256);
        rows.map(|i| self.count_contacts(parameters, cloths, i)).collect_into_vec(&mut counts);
        self.counts = counts;
    }

    /// Returns the push of row i with the contribution of touching row j \[m\].
    fn add_push(&self, parameters: &ContactParameters, push: Vec3, i: usize, j: usize) -> Vec3 {
        let (own, other) = (self.positions[i], self.positions[j]);
        let (own_motion, other_motion) = (self.motions[i], self.motions[j]);
        let delta = xyz(own) - xyz(other);
        let square = dot3(delta, delta);
        let length = square.sqrt();
        let overlap = own_motion[3] + other_motion[3] - length;
        let mut normal = Vec3::new(0.0, if i < j { 1.0 } else { -1.0 }, 0.0);
        if square > MIN_SQUARE {
            normal = delta / length;
        }
        let count = self.counts[i].max(self.counts[j]);
        // Share of row i by inverse mass, averaged over the contacts of the row that has more.
        let fraction = own[3] / (own[3] + other[3]) / count.max(1) as f32;
        let relative = xyz(other_motion) - xyz(own_motion);
        let along = relative - normal * dot3(relative, normal);
        push + normal * (parameters.stiffness * overlap * fraction)
            + along * (parameters.friction * fraction)
    }

    /// Tests whether row j moves far enough to wake the sleeping cloth of row i.
    fn wakes(&self, cloths: &[ContactCloth], i: usize, j: usize) -> bool {
        let motion = xyz(self.motions[j]).abs();
        motion.x.max(motion.y.max(motion.z)) > cloths[self.slots[i] as usize].wake_distance
    }

    /// Returns the push of row i in its local space \[m\], and whether its cloth wakes.
    fn push_row(
        &self,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        i: usize,
    ) -> (Vec3, bool) {
        if !self.is_row_met(i) {
            return (Vec3::ZERO, false);
        }
        let slot = self.slots[i] as usize;
        let is_still = self.is_held[slot];
        let can_move = self.positions[i][3] > 0.0;
        let mut push = Vec3::ZERO;
        let mut is_woken = false;
        // Rows without a contact are not searched again: most.
        if is_still || can_move && self.counts[i] > 0 {
            self.for_contacts(parameters, cloths, i, |j| {
                if can_move {
                    push = self.add_push(parameters, push, i, j);
                }
                is_woken = is_woken || self.wakes(cloths, i, j);
            });
        }
        let cloth = &cloths[slot];
        let x = dot3(xyz(cloth.axis_x), push);
        let y = dot3(xyz(cloth.axis_y), push);
        let z = dot3(xyz(cloth.axis_z), push);
        (Vec3::new(x, y, z), is_still && is_woken)
    }

    /// Pushes every particle away from those that it touches; wakes sleeping cloths touched by
    /// moving particles.
    pub(super) fn push_particles(
        &mut self,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &mut [ContactBody<'_>],
    ) {
        let mut pushes = std::mem::take(&mut self.pushes);
        let rows = (0..self.positions.len()).into_par_iter().with_min_len(256);
        let woken = std::sync::Mutex::new(Vec::new());
        rows.map(|i| {
            let (push, is_woken) = self.push_row(parameters, cloths, i);
            if is_woken && let Ok(mut woken) = woken.lock() {
                woken.push(self.slots[i] as usize);
            }
            push
        })
        .collect_into_vec(&mut pushes);
        for slot in woken.into_inner().unwrap_or_default() {
            bodies[slot].feedback.sleep_pass_count = 0;
        }
        bodies.par_iter_mut().zip(cloths).enumerate().for_each(|(slot, (body, cloth))| {
            if !self.is_met[slot] {
                return;
            }
            for (i, particle) in body.current.iter_mut().enumerate() {
                let row = cloth.row_begin as usize + i;
                if self.positions[row][3] > 0.0 {
                    let push = pushes[row];
                    *particle = [
                        particle[0] + push.x,
                        particle[1] + push.y,
                        particle[2] + push.z,
                        particle[3],
                    ];
                }
            }
        });
        self.pushes = pushes;
    }
}
