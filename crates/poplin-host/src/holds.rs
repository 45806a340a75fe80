//! Motion spheres of a few held particles, which override those of all particles.

use poplin_model::{MAX_COORDINATE, ModelError, MotionConstraints};

use crate::InterpolatedArray;

/// Sphere that contains every valid position.
const EVERYWHERE: [f32; 4] = [0.0, 0.0, 0.0, MAX_COORDINATE];

/// Handle of a hold, [`Cloth::hold`](crate::Cloth::hold). Handles of different cloths are
/// not distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HoldId(u64);

/// Holds of a cloth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holds {
    next_id: u64,
    list: Vec<Hold>,
    /// Merged spheres of all particles, at the start of the frame and at its end.
    merged: [Vec<[f32; 4]>; 2],
    spheres: InterpolatedArray,
}

#[derive(Debug, Clone)]
struct Hold {
    id: HoldId,
    particles: Vec<u32>,
    start: Vec<[f32; 4]>,
    target: Vec<[f32; 4]>,
}

impl Holds {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a hold that overrides all earlier ones.
    pub(crate) fn add(&mut self, particles: &[u32], spheres: &[[f32; 4]]) -> HoldId {
        let id = HoldId(self.next_id);
        self.next_id += 1;
        let [start, target] = [spheres.to_vec(), spheres.to_vec()];
        self.list.push(Hold { id, particles: particles.to_vec(), start, target });
        id
    }

    /// Sets the spheres at the end of the next frame; returns true if they have changed.
    pub(crate) fn lead(&mut self, id: HoldId, spheres: &[[f32; 4]]) -> Result<bool, ModelError> {
        let hold = self.list.iter_mut().find(|hold| hold.id == id);
        let hold = hold.ok_or(ModelError::StaleHandle { what: "hold" })?;
        let (len, expected) = (spheres.len(), hold.particles.len());
        if len != expected {
            return Err(ModelError::Length { what: "held particles", len, expected });
        }
        let is_new = hold.target != spheres;
        hold.target.copy_from_slice(spheres);
        Ok(is_new)
    }

    /// Removes a hold; returns true if it existed.
    pub(crate) fn remove(&mut self, id: HoldId) -> bool {
        let before = self.list.len();
        self.list.retain(|hold| hold.id != id);
        if self.list.is_empty() {
            self.clear();
        }
        self.list.len() < before
    }

    /// Removes all holds, without reusing their handles.
    pub(crate) fn clear(&mut self) {
        *self = Self { next_id: self.next_id, ..Self::default() };
    }

    /// Merges the holds over the user's spheres and their settings; without those, particles that
    /// are not held are unrestricted.
    pub(crate) fn merge(
        &mut self,
        under: Option<(&InterpolatedArray, &MotionConstraints)>,
        particle_count: usize,
    ) {
        for (half, rows) in self.merged.iter_mut().enumerate() {
            rows.clear();
            match under {
                Some((spheres, settings)) => {
                    let spheres = if half == 0 { spheres.start() } else { spheres.target() };
                    // Scaling is done here for user's spheres only: the kernel gets scale 1 and
                    // bias 0.
                    let scaled =
                        |&[x, y, z, r]: &[f32; 4]| [x, y, z, r * settings.scale + settings.bias];
                    rows.extend(spheres.iter().map(scaled));
                }
                None => rows.resize(particle_count, EVERYWHERE),
            }
            for hold in &self.list {
                let spheres = if half == 0 { &hold.start } else { &hold.target };
                for (&particle, &sphere) in hold.particles.iter().zip(spheres) {
                    // Later holds override earlier ones.
                    rows[particle as usize] = sphere;
                }
            }
        }
        let [start, target] = &self.merged;
        self.spheres.lead(start, target);
    }

    /// Merged spheres of all particles.
    pub(crate) fn spheres(&self) -> &InterpolatedArray {
        &self.spheres
    }

    pub(crate) fn spheres_mut(&mut self) -> &mut InterpolatedArray {
        &mut self.spheres
    }

    /// Ends the frame: targets become starts. Returns true if any differed.
    pub(crate) fn end_frame(&mut self) -> bool {
        for hold in &mut self.list {
            hold.start.copy_from_slice(&hold.target);
        }
        self.spheres.end_frame()
    }
}
