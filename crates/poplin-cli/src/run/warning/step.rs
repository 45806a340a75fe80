//! Warnings about the solver step: its length, its frequency and its convergence.

use poplin_model::ImplicitReport;

use super::Warning;
use crate::job_cloth::{JobCloth, mean_rest_length};

/// Largest fraction of unconverged implicit steps that is not reported.
const MAX_UNCONVERGED: f64 = 0.1;

/// Largest relative deviation from the requested frequency that is not reported.
const MAX_RATE_ERROR: f32 = 0.1;

impl Warning {
    /// Warns of a step that is too long for the cloth, or of a frequency other than requested,
    /// given frames per second and iterations per frame.
    pub(in crate::run) fn of_step(
        job_cloth: &JobCloth,
        frame_rate: f32,
        iterations: f32,
    ) -> impl Iterator<Item = Self> {
        let cloth = || job_cloth.name.clone();
        let config = &job_cloth.cloth.config;
        let frequency_hz = frame_rate * iterations;
        let step_s = frequency_hz.recip();
        let gravity = config.gravity.iter().map(|value| value * value).sum::<f32>().sqrt();
        // Displacement by gravity in one step: g dt^2.
        let (fall_m, mean_edge_m) =
            (gravity * step_s * step_s, mean_rest_length(&job_cloth.cloth.fabric));
        let is_long = iterations > 0.0 && mean_edge_m > 0.0 && fall_m > mean_edge_m;
        let long = is_long.then(|| Self::LongStep { cloth: cloth(), step_s, fall_m, mean_edge_m });
        let soft = Self::of_bends(job_cloth, frame_rate, step_s);
        let asked = config.solver.as_pbd().map(|pbd| pbd.frequency);
        let other = asked
            .filter(|asked| iterations > 0.0 && (frequency_hz / asked - 1.0).abs() > MAX_RATE_ERROR)
            .map(|asked_hz| Self::OtherFrequency { cloth: cloth(), asked_hz, frequency_hz });
        long.into_iter().chain(other).chain(soft)
    }

    /// Warns of a step in which XPBD bends are softer than their rigidity B.
    ///
    /// The longest step that keeps the rigidity is `a^2 sqrt(sigma / (16 B))` (`tests/cpu/xpbd`),
    /// with the mean stretch edge `a` and `sigma a^2`, the mean mass of the free particles.
    fn of_bends(job_cloth: &JobCloth, frame_rate: f32, step_s: f32) -> Option<Self> {
        let rigidity = job_cloth.cloth.config.solver.as_xpbd()?.bending_rigidity;
        let fabric = &job_cloth.cloth.fabric;
        let free = job_cloth.cloth.particles.iter().filter(|particle| !particle.is_pinned());
        let (mass, count) = free.fold((0.0, 0.0f32), |(mass, count), particle| {
            (mass + particle.inverse_mass.recip(), count + 1.0)
        });
        let edges = fabric.edge_kinds().into_iter().zip(&fabric.rest_lengths);
        let (length, edge_count) = edges
            .filter(|(kind, _)| kind.is_stretch())
            .fold((0.0, 0.0f32), |(sum, count), (_, length)| (sum + length, count + 1.0));
        let longest_step_s = length / edge_count * (mass / (16.0 * rigidity * count)).sqrt();
        let is_soft = !fabric.bends.is_empty()
            && rigidity > 0.0
            && longest_step_s > 0.0
            && step_s > longest_step_s;
        is_soft.then(|| Self::SoftBends {
            cloth: job_cloth.name.clone(),
            step_s,
            longest_step_s,
            substeps: (longest_step_s * frame_rate).recip().ceil() as u32,
        })
    }

    /// Warns of implicit steps that did not converge or had no finite solution.
    pub(in crate::run) fn of_solves(
        job_cloth: &JobCloth,
        report: &ImplicitReport,
    ) -> impl Iterator<Item = Self> + use<> {
        let cloth = || job_cloth.name.clone();
        let ImplicitReport { steps, unconverged, held, .. } = *report;
        let solver = job_cloth.cloth.config.solver.as_implicit();
        let unsolved = solver
            .filter(|_| f64::from(unconverged) > MAX_UNCONVERGED * f64::from(steps))
            .map(|solver| Self::Unconverged {
                cloth: cloth(),
                steps,
                unconverged,
                max_iterations: solver.max_iterations,
                max_halvings: solver.max_halvings,
            });
        let held = (held > 0).then(|| Self::Held { cloth: cloth(), steps, held });
        unsolved.into_iter().chain(held)
    }
}
