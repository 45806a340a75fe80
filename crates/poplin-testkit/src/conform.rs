//! Runs reference cases on a backend and judges them.

use poplin::model::Frame;
use poplin::{ClothId, Simulation, SimulationOptions};

use crate::case::{Case, CaseError, Change, Event};

/// How a snapshot came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SnapshotVerdict {
    /// After this many frames.
    pub frame: usize,
    /// Largest distance of a particle to the measured one \[m\]; NaN if a particle is not finite.
    pub error: f32,
    /// What is allowed \[m\].
    pub tolerance: f32,
}

impl SnapshotVerdict {
    /// Within the tolerance; NaN never is.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.error <= self.tolerance
    }
}

/// How a case came out.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseVerdict {
    /// Each snapshot, in time.
    pub snapshots: Vec<SnapshotVerdict>,
}

impl CaseVerdict {
    /// Every snapshot passes, and there is one.
    #[must_use]
    pub fn passes(&self) -> bool {
        !self.snapshots.is_empty() && self.snapshots.iter().all(SnapshotVerdict::passes)
    }

    /// The snapshot that is worst in relation to its tolerance.
    pub fn worst(&self) -> Option<&SnapshotVerdict> {
        let share = |s: &SnapshotVerdict| if s.error.is_nan() { f32::INFINITY } else { s.error / s.tolerance };
        self.snapshots.iter().max_by(|a, b| share(a).total_cmp(&share(b)))
    }
}

/// Applies an event to a running simulation.
///
/// # Errors
/// [`CaseError`] if the event is not supported or refused.
pub fn apply_event(
    simulation: &mut Simulation,
    configs: &mut [poplin::model::ClothConfig],
    event: &Event,
) -> Result<(), CaseError> {
    let id = ClothId(event.cloth);
    match event.change()? {
        Change::Config(apply, values) => {
            let count = configs.len();
            let config = configs.get_mut(event.cloth).ok_or(poplin::Error::NoSuchCloth { cloth: event.cloth, count })?;
            apply(config, &values);
            simulation.set_config(id, config.clone())?;
        }
        Change::Phases(configs) => simulation.set_phase_configs(id, &configs)?,
        Change::Accelerations(values) => simulation.set_particle_accelerations(id, &values)?,
        Change::Particles(indices, particles) => simulation.write_particles(id, &indices, &particles)?,
        Change::ScaleRestLengths(_) | Change::ScaleTetherLengths(_) => {
            return Err(CaseError::Unsupported(format!("{} after the first frame", event.set)));
        }
    }
    Ok(())
}

/// Runs a case and compares every snapshot.
///
/// # Errors
/// [`CaseError::Unsupported`] if the case uses what is not built yet, other errors if it cannot be run.
pub fn run_case(case: &Case, options: &SimulationOptions) -> Result<CaseVerdict, CaseError> {
    let cloths = case.cloths()?;
    let mut configs: Vec<_> = cloths.iter().map(|cloth| cloth.config.clone()).collect();
    let mut simulation = Simulation::new(options.clone())?;
    for cloth in cloths {
        simulation.add(cloth)?;
    }
    let mut snapshots = Vec::new();
    for (index, frame) in case.frames.iter().enumerate() {
        for event in &frame.events {
            apply_event(&mut simulation, &mut configs, event)?;
        }
        simulation.step(&Frame { dt: frame.dt })?;
        for expected in case.expected.iter().filter(|snapshot| snapshot.frame == index + 1) {
            let (Some(tolerance), Some(particles)) = (expected.tolerance_m, &expected.particles) else { continue };
            let state = simulation.state()?;
            let error = particles
                .iter()
                .enumerate()
                .map(|(cloth, particles)| max_distance(state.current(ClothId(cloth)), particles.as_chunks::<4>().0))
                .fold(0.0, nan_max);
            snapshots.push(SnapshotVerdict { frame: index + 1, error, tolerance });
        }
    }
    Ok(CaseVerdict { snapshots })
}

/// The larger of two numbers, NaN if either is.
fn nan_max(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { a.max(b) }
}

/// Largest distance between particles of the same index \[m\]; NaN if one is not finite or the counts differ.
#[must_use]
pub fn max_distance(a: &[[f32; 4]], b: &[[f32; 4]]) -> f32 {
    if a.len() != b.len() {
        return f32::NAN;
    }
    let distance = |(a, b): (&[f32; 4], &[f32; 4])| {
        let d: [f64; 3] = std::array::from_fn(|k| f64::from(a[k]) - f64::from(b[k]));
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt() as f32
    };
    a.iter().zip(b).map(distance).fold(0.0, nan_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_or_a_missing_particle_is_never_within_tolerance() {
        let verdict = |error| SnapshotVerdict { frame: 1, error, tolerance: 1.0 };
        assert!(verdict(0.5).passes());
        assert!(!verdict(f32::NAN).passes());
        assert!(max_distance(&[[0.0; 4]], &[]).is_nan());
        assert!(max_distance(&[[f32::NAN; 4], [0.0; 4]], &[[0.0; 4], [1.0; 4]]).is_nan());
        assert_eq!(max_distance(&[[0.0; 4], [0.0; 4]], &[[0.0; 4], [3.0, 4.0, 0.0, 9.0]]), 5.0);
    }

    #[test]
    fn a_case_without_snapshots_does_not_pass() {
        assert!(!CaseVerdict { snapshots: Vec::new() }.passes());
    }
}
