//! Displacements of intersecting rows in the next slice.

use glam::Vec3;
use rayon::prelude::*;

use super::{Crossing, Exit, Tangle};
use crate::triangle_contact::body::Body;
use crate::triangle_contact::closest::vertex_face;
use crate::triangle_contact::memory::TriangleContact;
use crate::triangle_contact::path::Path;

/// Displacement of intersecting rows in one slice, in thicknesses; less than the reserve of a
/// round.
const STEP: f32 = 0.2;

/// Stall times after which the displacement of an intersection begins to fade and after which it is
/// given up \[s\]. An intersection stalls while its number of crossings does not fall by a quarter.
const PATIENCE: [f32; 2] = [0.5, 1.5];

/// Nearest face to a point.
pub(super) struct Nearest {
    /// Index of the face in its surface.
    pub(super) face: u32,
    /// Vector from the face to the point \[m\].
    pub(super) delta: Vec3,
    /// Length of `delta` \[m\].
    pub(super) distance: f32,
}

impl TriangleContact {
    /// Sums the displacements of all tangles, bounded by [`STEP`] thicknesses per row.
    pub(super) fn find_moves(&mut self, thickness: f32) {
        let mut all = vec![Vec3::ZERO; self.start.len()];
        let mut own = all.clone();
        let mut exits = std::mem::take(&mut self.tangles.exits);
        exits.clear();
        let mut crossings = std::mem::take(&mut self.tangles.crossings);
        let mut begin = 0;
        for tangle in &self.tangles.tangles {
            let count = crossings[begin..].partition_point(|crossing| crossing.pair <= tangle.pair);
            let crossings = &mut crossings[begin..begin + count];
            begin += count;
            let [cloth, other] = tangle.pair.map(|index| &self.bodies[index as usize]);
            // 1 until PATIENCE[0], then linearly to 0 at PATIENCE[1].
            let strength =
                ((PATIENCE[1] - tangle.idle) / (PATIENCE[1] - PATIENCE[0])).clamp(0.0, 1.0);
            if strength == 0.0 {
                continue;
            }
            if other.is_cloth() {
                self.shorten(tangle, crossings, &mut own);
                for (all, own) in all.iter_mut().zip(&mut own) {
                    // Each tangle contributes at most 1 per row.
                    *all += std::mem::take(own).clamp_length_max(1.0) * strength;
                }
                continue;
            }
            self.shorten(tangle, crossings, &mut own);
            self.lift(tangle, crossings, &mut own);
            self.leave(tangle, thickness, &mut own);
            for row in cloth.rows.clone() {
                let step = std::mem::take(&mut own[row]).clamp_length_max(1.0) * strength;
                if step != Vec3::ZERO {
                    all[row] += step;
                    exits.push(Exit {
                        row: row as u32,
                        to: step,
                        collider: tangle.pair[1],
                        is_inside: tangle.regions[0][row - cloth.rows.start] != 0,
                    });
                }
            }
        }
        for (row, step) in all.iter_mut().enumerate() {
            let is_free = self.inverse_mass[row] > 0.0;
            *step =
                if is_free { step.clamp_length_max(1.0) * (STEP * thickness) } else { Vec3::ZERO };
        }
        self.tangles.crossings = crossings;
        (self.tangles.moves, self.tangles.exits) = (all, exits);
    }

    /// Finds the nearest face of a body to a point among those that `is_wanted` accepts.
    pub(super) fn nearest(
        &self,
        body: &Body,
        point: Vec3,
        is_wanted: impl Fn(&[u32; 3]) -> bool,
    ) -> Option<Nearest> {
        let at = |corner: u32| self.start[body.rows.start + corner as usize];
        let [low, high] = body.still_faces.bounds().corners()?;
        let most = (high - low).length() + (point - point.clamp(low, high)).length();
        // Doubles the search radius until a face is found, up to one that covers the whole body.
        for halvings in (0..8).rev() {
            let reach = 2.0 * most / (1 << halvings) as f32;
            let mut best = (f32::INFINITY, u32::MAX, Vec3::ZERO);
            body.still_faces.visit(&Path::still(point, reach), |face, corners| {
                if is_wanted(corners) {
                    let delta = vertex_face(point, corners.map(at)).delta;
                    let square = delta.length_squared();
                    // Ties go to the lower face, so that the order of the tree does not matter.
                    if (square, face) < (best.0, best.1) {
                        best = (square, face, delta);
                    }
                }
            });
            let (square, face, delta) = best;
            if square <= reach * reach {
                return Some(Nearest { face, delta, distance: square.sqrt() });
            }
        }
        None
    }

    /// Displaces edges of a cloth that cut a corner of a collider, with both ends outside, along
    /// the normals of the faces that they cross.
    fn lift(&self, tangle: &Tangle, crossings: &[Crossing], sum: &mut [Vec3]) {
        let sign = self.outside_of(tangle.pair[1]);
        let begin = self.bodies[tangle.pair[0] as usize].rows.start;
        for crossing in crossings.iter().filter(|crossing| crossing.side == 0) {
            let is_out = |row: &u32| tangle.regions[0][*row as usize - begin] == 0;
            if crossing.ends.iter().all(is_out) {
                let [a, b, c] = crossing.corners.map(|row| self.start[row as usize]);
                let normal = (b - a).cross(c - a).normalize_or_zero() * sign;
                crossing.ends.iter().for_each(|&row| sum[row as usize] += normal);
            }
        }
    }

    /// Displaces rows behind the faces of a collider towards the nearest face.
    fn leave(&self, tangle: &Tangle, thickness: f32, sum: &mut [Vec3]) {
        let [cloth, collider] = tangle.pair.map(|index| &self.bodies[index as usize]);
        let sign = self.outside_of(tangle.pair[1]);
        let begin = cloth.rows.start;
        let at = |corner: u32| self.start[collider.rows.start + corner as usize];
        let exit = |row: usize| {
            let nearest = self.nearest(collider, self.start[row], |_| true);
            nearest.map_or(Vec3::ZERO, |Nearest { face, delta, distance }| {
                let [a, b, c] = collider.surface.faces[face as usize].map(at);
                let normal = (b - a).cross(c - a).normalize_or_zero() * sign;
                // On the face itself `delta` has no reliable direction.
                if distance > 0.01 * thickness { -delta / distance } else { normal }
            })
        };
        let rows = tangle.regions[0].par_iter().enumerate().filter(|(_, region)| **region != 0);
        let exits: Vec<(usize, Vec3)> =
            rows.map(|(local, _)| (begin + local, exit(begin + local))).collect();
        exits.into_iter().for_each(|(row, exit)| sum[row] += exit);
    }
}
