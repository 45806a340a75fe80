//! Simulation with held particles, and access to its cloths and colliders by handle.

use std::collections::{HashMap, HashSet};

use poplin::model::{ColliderId, ColliderSet, ModelError, Pose, Sphere};
use poplin::{ClothId, HoldId};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

use crate::arrays::rows;
use crate::errors::OrRaise;

/// Translation and rotation quaternion x y z w.
pub(super) type PoseRow = [f32; 7];

/// Returns the pose of a row.
pub(super) fn pose_of([x, y, z, rotation @ ..]: PoseRow) -> Pose {
    Pose { translation: [x, y, z], rotation }
}

/// Returns handles as ids.
pub(super) fn ids_of(bytes: &[u8]) -> Vec<ClothId> {
    rows(bytes).into_iter().map(ClothId::from_bits).collect()
}

/// Simulation with the particles that `set_pins` holds.
pub(super) struct PinnedSimulation {
    /// Simulation on one backend.
    pub(super) simulation: poplin::Simulation,
    /// Held particles of each cloth, with their hold.
    pub(super) pins: HashMap<ClothId, (Vec<u32>, HoldId)>,
}

impl PinnedSimulation {
    /// Returns the cloth of a handle.
    pub(super) fn live(&mut self, id: ClothId) -> PyResult<&mut poplin::Cloth> {
        self.simulation.cloth_mut(id).or_raise()
    }

    /// Checks that all cloths exist and none is repeated, before any of them changes.
    pub(super) fn check(&self, ids: &[ClothId]) -> PyResult<()> {
        let mut known = HashSet::with_capacity(ids.len());
        for &id in ids {
            self.simulation.cloth(id).or_raise()?;
            if !known.insert(id) {
                return Err(PyValueError::new_err(format!(
                    "cloth {} is given twice",
                    id.to_bits()
                )));
            }
        }
        Ok(())
    }

    /// Checks that cloths exist and have as many particles as each part of the rows of an array, or
    /// that it has no rows.
    pub(super) fn check_rows(
        &self,
        what: &'static str,
        ids: &[ClothId],
        rows: usize,
    ) -> PyResult<()> {
        self.check(ids)?;
        for id in ids {
            let expected = self.simulation.cloth(*id).or_raise()?.desc().particle_count();
            let len = rows / ids.len();
            if len != expected && len > 0 {
                return Err(ModelError::Length { what, len, expected }).or_raise();
            }
        }
        Ok(())
    }

    /// Returns the collider set of a cloth, or the shared set.
    pub(super) fn colliders(&mut self, cloth: Option<u64>) -> PyResult<&mut ColliderSet> {
        match cloth {
            None => Ok(self.simulation.colliders_mut()),
            Some(bits) => Ok(self.live(ClothId::from_bits(bits))?.colliders_mut()),
        }
    }

    /// Checks that all colliders of these cloths, or of the shared set, exist and none is repeated,
    /// before any of them changes.
    pub(super) fn check_colliders(
        &self,
        colliders: &[u64],
        cloths: Option<&[u64]>,
    ) -> PyResult<()> {
        let mut known = HashSet::with_capacity(colliders.len());
        for (index, &collider) in colliders.iter().enumerate() {
            let cloth = cloths.map(|cloths| ClothId::from_bits(row(cloths, index)));
            let set = match cloth {
                None => self.simulation.colliders(),
                Some(cloth) => self.simulation.cloth(cloth).or_raise()?.colliders(),
            };
            set.get(ColliderId::from_bits(collider)).or_raise()?;
            if !known.insert((cloth, collider)) {
                return Err(PyValueError::new_err(format!("collider {collider} is given twice")));
            }
        }
        Ok(())
    }

    /// Runs an action with the index and id of each collider, in the set of its cloth or in the
    /// shared set. Changes nothing if a collider does not exist.
    pub(super) fn each_collider(
        &mut self,
        colliders: &[u64],
        cloths: Option<&[u64]>,
        mut action: impl FnMut(&mut ColliderSet, usize, ColliderId) -> Result<(), ModelError>,
    ) -> PyResult<()> {
        self.check_colliders(colliders, cloths)?;
        for (index, &collider) in colliders.iter().enumerate() {
            let set = self.colliders(cloths.map(|cloths| row(cloths, index)))?;
            action(set, index, ColliderId::from_bits(collider)).or_raise()?;
        }
        Ok(())
    }

    /// Makes particles of a cloth follow targets; particles different from the previous ones
    /// replace them.
    pub(super) fn pin(
        &mut self,
        id: ClothId,
        particles: &[u32],
        targets: &[[f32; 3]],
    ) -> PyResult<()> {
        let spheres: Vec<_> =
            targets.iter().map(|&center| Sphere { center, radius: 0.0 }).collect();
        let known = self.pins.remove(&id);
        let live = self.live(id)?;
        if let Some((of, hold)) = known {
            if of == particles && live.move_hold(hold, &spheres).is_ok() {
                self.pins.insert(id, (of, hold));
                return Ok(());
            }
            live.release(hold);
        }
        if particles.is_empty() {
            return Ok(());
        }
        let hold = live.hold(particles, &spheres).or_raise()?;
        self.pins.insert(id, (particles.to_vec(), hold));
        Ok(())
    }
}

/// Returns the row of an index, or the only row.
pub(super) fn row<T: Copy>(rows: &[T], index: usize) -> T {
    if rows.len() == 1 { rows[0] } else { rows[index] }
}

/// Returns one of `count` equal parts of rows.
pub(super) fn part<T>(rows: &[T], index: usize, count: usize) -> &[T] {
    let length = rows.len() / count.max(1);
    &rows[index * length..][..length]
}
