//! Motion spheres of a few particles, in place of those that all particles have.

use poplin_model::{MAX_COORDINATE, ModelError, MotionConstraints};

use crate::InterpolatedArray;

/// A sphere that every particle is in.
const EVERYWHERE: [f32; 4] = [0.0, 0.0, 0.0, MAX_COORDINATE];

/// Handle of a hold, [`LiveCloth::hold`](crate::LiveCloth::hold). Handles of different cloths are not distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HoldId(u64);

/// The holds of a cloth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holds {
    next_id: u64,
    list: Vec<Hold>,
    /// Of all particles, at the start of the frame and at its end.
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

    /// A hold over all earlier ones.
    pub(crate) fn add(&mut self, particles: &[u32], spheres: &[[f32; 4]]) -> HoldId {
        let id = HoldId(self.next_id);
        self.next_id += 1;
        let [start, target] = [spheres.to_vec(), spheres.to_vec()];
        self.list.push(Hold { id, particles: particles.to_vec(), start, target });
        id
    }

    /// Sets where the next frame ends; whether that is new.
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

    /// Whether there was such a hold.
    pub(crate) fn remove(&mut self, id: HoldId) -> bool {
        let before = self.list.len();
        self.list.retain(|hold| hold.id != id);
        if self.list.is_empty() {
            self.clear();
        }
        self.list.len() < before
    }

    /// Handles stay used.
    pub(crate) fn clear(&mut self) {
        *self = Self { next_id: self.next_id, ..Self::default() };
    }

    /// Puts the holds over the user's spheres, which act by the settings beside them; without those, other particles may be
    /// everywhere.
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
                    // What the kernel would do, which gets scale 1 and bias 0.
                    let scaled =
                        |&[x, y, z, r]: &[f32; 4]| [x, y, z, r * settings.scale + settings.bias];
                    rows.extend(spheres.iter().map(scaled));
                }
                None => rows.resize(particle_count, EVERYWHERE),
            }
            for hold in &self.list {
                let spheres = if half == 0 { &hold.start } else { &hold.target };
                for (&particle, &sphere) in hold.particles.iter().zip(spheres) {
                    rows[particle as usize] = sphere;
                }
            }
        }
        let [start, target] = &self.merged;
        self.spheres.lead(start, target);
    }

    /// All spheres, once merged.
    pub(crate) fn spheres(&self) -> &InterpolatedArray {
        &self.spheres
    }

    pub(crate) fn spheres_mut(&mut self) -> &mut InterpolatedArray {
        &mut self.spheres
    }

    pub(crate) fn end_frame(&mut self) {
        self.spheres.end_frame();
        for hold in &mut self.list {
            hold.start.copy_from_slice(&hold.target);
        }
    }
}
