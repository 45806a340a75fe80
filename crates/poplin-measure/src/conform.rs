//! Runs reference cases on a backend and compares them with their measured states.

use poplin::{ClothId, Simulation, SimulationOptions, State};
use poplin_model::Particle;

use crate::case::{Case, CaseError, Snapshot};
use crate::separation::{center_error, point_distance, smallest_distance};
use crate::shape_arrays::ShapeArrays;

/// Result of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SnapshotVerdict {
    /// Number of frames before the snapshot.
    pub frame: usize,
    /// Largest distance of a particle from its measured position \[m\]; NaN if a particle is not
    /// finite, infinite if a cloth sleeps or wakes unlike the measured one.
    pub error: f32,
    /// Largest allowed error \[m\].
    pub tolerance: f32,
}

impl SnapshotVerdict {
    /// Tests whether the error is within a finite tolerance; NaN is not, and an infinite tolerance
    /// never passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.tolerance.is_finite() && self.error <= self.tolerance
    }
}

/// Result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseVerdict {
    /// Results of the snapshots, in order of time.
    pub snapshots: Vec<SnapshotVerdict>,
}

impl CaseVerdict {
    /// Tests whether there is a snapshot and every snapshot passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        !self.snapshots.is_empty() && self.snapshots.iter().all(SnapshotVerdict::passes)
    }

    /// Returns the snapshot with the largest ratio of error to tolerance.
    pub fn worst(&self) -> Option<&SnapshotVerdict> {
        let ratio = |s: &SnapshotVerdict| {
            if s.error.is_nan() { f32::INFINITY } else { s.error / s.tolerance }
        };
        self.snapshots.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
    }
}

/// Runs a case and compares every snapshot.
///
/// # Errors
/// [`CaseError::Unsupported`] if the case uses a feature that is not implemented, other errors if
/// it cannot be run.
pub fn run_case(case: &Case, options: &SimulationOptions) -> Result<CaseVerdict, CaseError> {
    let mut simulation = Simulation::new(options.clone())?;
    let added = case.cloths()?.into_iter().map(|cloth| simulation.add(cloth));
    let ids = added.collect::<Result<Vec<_>, _>>()?;
    if let Some(settings) = case.cloth_contact_solver() {
        simulation.set_cloth_contact_solver(settings)?;
    }
    let mut shapes = vec![ShapeArrays::default(); case.cloths.len()];
    for event in case.setup_events() {
        event.apply(simulation.cloth_mut(ids[event.cloth])?, &mut shapes[event.cloth])?;
    }
    let mut snapshots = Vec::new();
    for (index, frame) in case.frames.iter().enumerate() {
        for event in &frame.events {
            event.apply(simulation.cloth_mut(ids[event.cloth])?, &mut shapes[event.cloth])?;
        }
        simulation.step(frame.dt)?;
        for expected in case.expected.iter().filter(|snapshot| snapshot.frame == index + 1) {
            if expected.collision_distance_m.is_some() {
                snapshots.extend(judge_separation(case, &simulation.state()?, expected));
            }
            let (Some(tolerance), Some(particles)) = (expected.tolerance_m, &expected.particles)
            else {
                continue;
            };
            let state = simulation.state()?;
            let distance = |(particles, &id): (&Vec<f32>, &ClothId)| {
                max_distance(state.current(id), measured(particles))
            };
            let mut error = particles.iter().zip(&ids).map(distance).fold(0.0, nan_max);
            // A wrong sleep state fails like an infinite distance.
            if !sleeps_as_expected(case, &state, expected) {
                error = f32::INFINITY;
            }
            snapshots.push(SnapshotVerdict { frame: index + 1, error, tolerance });
        }
    }
    Ok(CaseVerdict { snapshots })
}

/// Fraction of the collision distance by which particles may be closer, where the order of contacts
/// decides the details.
const SEPARATION_SLACK: f32 = 0.05;

/// Largest distance of the center of mass from the measured one \[m\], up to [`CENTER_FRAME`];
/// later, the paths of two solvers diverge.
const CENTER_TOLERANCE: f32 = 0.05;

/// Last frame in which the center of mass is judged.
const CENTER_FRAME: usize = 15;

/// Verdicts on particle distances and on the center of mass: by how much particles are too close,
/// and how far the center is from the measured one.
fn judge_separation(case: &Case, state: &State, expected: &Snapshot) -> Vec<SnapshotVerdict> {
    let frame = expected.frame;
    let distance = expected.collision_distance_m.unwrap_or(0.0);
    let smallest = smallest_distance(case, state);
    let error = if smallest.is_nan() { f32::NAN } else { (distance - smallest).max(0.0) };
    let mut verdicts =
        vec![SnapshotVerdict { frame, error, tolerance: SEPARATION_SLACK * distance }];
    if let Some(center) = expected.center_of_mass.filter(|_| frame <= CENTER_FRAME) {
        let error = center_error(state, center);
        verdicts.push(SnapshotVerdict { frame, error, tolerance: CENTER_TOLERANCE });
    }
    verdicts
}

/// Tests whether the cloths have passed the measured number of rest tests and sleep as measured.
fn sleeps_as_expected(case: &Case, state: &State, expected: &Snapshot) -> bool {
    expected.sleep_pass_count.iter().flatten().enumerate().all(|(cloth, &count)| {
        let Some(after_count) = case.sleep_after_count(cloth) else { return true };
        let Some(&id) = state.ids().get(cloth) else { return false };
        let own = state.sleep_pass_count(id);
        let measured_asleep =
            expected.asleep.as_ref().and_then(|asleep| asleep.get(cloth)).copied().unwrap_or(false);
        own == count && (own >= after_count) == measured_asleep
    })
}

/// Maximum of two numbers, NaN if either one is.
fn nan_max(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { a.max(b) }
}

/// Converts measured numbers to particles, four numbers each.
pub(crate) fn measured(numbers: &[f32]) -> &[Particle] {
    Particle::from_rows(numbers.as_chunks().0)
}

/// Largest distance between particles of the same index \[m\]; NaN if one is not finite or the
/// counts differ.
#[must_use]
pub fn max_distance(a: &[Particle], b: &[Particle]) -> f32 {
    if a.len() != b.len() {
        return f32::NAN;
    }
    a.iter().zip(b).map(|(a, b)| point_distance(a.position, b.position)).fold(0.0, nan_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_missing_particles_fail() {
        let verdict = |error| SnapshotVerdict { frame: 1, error, tolerance: 1.0 };
        assert!(verdict(0.5).passes());
        assert!(!verdict(f32::NAN).passes());
        assert!(!SnapshotVerdict { tolerance: f32::INFINITY, ..verdict(0.5) }.passes());
        let distance = |a: &[[f32; 4]], b: &[[f32; 4]]| {
            max_distance(Particle::from_rows(a), Particle::from_rows(b))
        };
        assert!(distance(&[[0.0; 4]], &[]).is_nan());
        assert!(distance(&[[f32::NAN; 4], [0.0; 4]], &[[0.0; 4], [1.0; 4]]).is_nan());
        assert_eq!(distance(&[[0.0; 4], [0.0; 4]], &[[0.0; 4], [3.0, 4.0, 0.0, 9.0]]), 5.0);
    }

    #[test]
    fn a_case_without_snapshots_does_not_pass() {
        assert!(!CaseVerdict { snapshots: Vec::new() }.passes());
    }
}
