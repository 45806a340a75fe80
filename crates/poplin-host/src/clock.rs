//! Division of frames into iterations, and the averaged step of gravity.

use std::collections::VecDeque;

use poplin_layout::FrameSteps;
#[cfg(feature = "save")]
use poplin_model::ModelError;
use poplin_model::{ClothConfig, MAX_SUBSTEPS, Solver};

/// Number of iterations of a frame of `dt` seconds; 0 if nothing is simulated.
pub(crate) fn iteration_count(dt: f32, config: &ClothConfig) -> u32 {
    // NaN simulates nothing, like 0.
    if dt.is_nan() || dt <= 0.0 {
        return 0;
    }
    config.solver.iteration_count(dt).min(MAX_SUBSTEPS)
}

/// State of past frames by which the next frame is divided into iterations.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameClock {
    past_steps: VecDeque<f32>,
    last_step: Option<f32>,
    last_frequency: f32,
    /// Number of equal past steps at the end; an underestimate only costs time.
    #[cfg_attr(feature = "save", serde(skip))]
    equal_steps: usize,
    /// Result of the last frame, if that frame did not change the clock.
    #[cfg_attr(feature = "save", serde(skip))]
    settled: Option<FrameSteps>,
}

impl FrameClock {
    /// Divides a frame of `dt` seconds into iterations, or `None` for `dt = 0`: nothing is
    /// simulated.
    ///
    /// `n = max(1, floor(dt * frequency + 0.5))`, `h = dt / n`. Gravity uses the square of the
    /// [`average_step`] of the past, taken before this frame's steps enter it. With any other
    /// solver than [`Solver::Pbd`] gravity uses `h^2`.
    pub fn begin_frame(&mut self, dt: f32, config: &ClothConfig) -> Option<FrameSteps> {
        let iteration_count = iteration_count(dt, config);
        if iteration_count == 0 {
            return None;
        }
        let Solver::Pbd(pbd) = &config.solver else {
            let step = dt / iteration_count as f32;
            // Velocity x - x_previous of the last step is scaled to the new one.
            let step_ratio = step / self.last_step.unwrap_or(step);
            let gravity_scale = step * step;
            let steps = FrameSteps { iteration_count, step, step_ratio, gravity_scale };
            // Steps of an earlier Pbd solver still have to be dropped.
            let is_settled = self.last_step == Some(step) && self.past_steps.is_empty();
            let settled = is_settled.then_some(steps);
            *self = Self { last_step: Some(step), settled, ..Self::default() };
            return Some(steps);
        };
        let step = dt / iteration_count as f32;
        let width = pbd.acceleration_filter_width as usize;
        let is_settled = self.last_step == Some(step)
            && self.last_frequency == pbd.frequency
            && self.past_steps.len() == width
            && self.past_steps.back().is_none_or(|&last| last == step)
            && self.equal_steps >= width;
        if is_settled {
            // The code below would only write the present values again.
            let steps = || {
                let average = average_step(&self.past_steps).unwrap_or(step);
                let gravity_scale = average * average;
                FrameSteps { iteration_count, step, step_ratio: 1.0, gravity_scale }
            };
            // A frame of a different length may have the same step.
            let settled = self.settled.filter(|it| it.iteration_count == iteration_count);
            let steps = settled.unwrap_or_else(steps);
            self.settled = Some(steps);
            return Some(steps);
        }
        self.settled = None;
        if self.last_frequency != pbd.frequency {
            // The window is counted in steps, which are of a different length now.
            self.past_steps.clear();
            self.last_frequency = pbd.frequency;
        }
        let average = average_step(&self.past_steps).unwrap_or(step);
        if self.past_steps.back() != Some(&step) {
            self.equal_steps = 0;
        }
        // More than `width` equal steps would only push one another out.
        for _ in 0..(iteration_count as usize).min(width) {
            self.past_steps.push_back(step);
            self.equal_steps += 1;
        }
        let surplus = self.past_steps.len().saturating_sub(width);
        self.past_steps.drain(..surplus);
        let step_ratio = step / self.last_step.unwrap_or(step);
        self.last_step = Some(step);
        Some(FrameSteps { iteration_count, step, step_ratio, gravity_scale: average * average })
    }

    /// True if a frame as long as the last one, with the same settings, would be divided equally
    /// without changing the clock.
    pub fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// Step of the last iteration \[s\]; before the first frame, the step of a frame of
    /// 1/60 s.
    pub fn last_step(&self, config: &ClothConfig) -> f32 {
        let dt = 1.0 / 60.0;
        self.last_step.unwrap_or_else(|| dt / iteration_count(dt, config) as f32)
    }

    /// Validates a clock that was read.
    ///
    /// # Errors
    /// [`ModelError`] if a step is not a valid frame length.
    #[cfg(feature = "save")]
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        self.past_steps.iter().chain(&self.last_step).try_for_each(|&dt| poplin_model::check_dt(dt))
    }

    /// Sets the last step \[s\] to the one over which new displacements were computed from
    /// velocities.
    pub(crate) fn assume_step(&mut self, step: f32) {
        self.last_step = Some(step);
    }
}

/// Mean of the past steps, oldest first, with trapezoid weights `min(i + 1, count - i, max(1, count
/// / 8))`; `None` if there are none.
pub fn average_step(past_steps: &VecDeque<f32>) -> Option<f32> {
    let count = past_steps.len();
    let plateau = (count / 8).max(1);
    let mut sum = 0.0f64;
    let mut weight_sum = 0.0f64;
    for (index, &step) in past_steps.iter().enumerate() {
        let weight = (index + 1).min(count - index).min(plateau) as f64;
        sum += weight * f64::from(step);
        weight_sum += weight;
    }
    (count > 0).then(|| (sum / weight_sum) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solver_frequency_sets_the_iteration_count() {
        let config = ClothConfig::default();
        let mut clock = FrameClock::default();
        let steps = clock.begin_frame(1.0 / 60.0, &config).unwrap();
        assert_eq!((steps.iteration_count, steps.step_ratio), (5, 1.0));
        let steps = clock.begin_frame(1.0 / 30.0, &config).unwrap();
        assert_eq!(steps.iteration_count, 10);
        assert_eq!(clock.begin_frame(1e-6, &config).unwrap().iteration_count, 1);
        assert!(clock.begin_frame(0.0, &config).is_none());
        assert!(clock.begin_frame(f32::NAN, &config).is_none());
    }

    #[test]
    fn substeps_are_constant_and_gravity_uses_the_step() {
        let config = ClothConfig { solver: Solver::xpbd(20), ..Default::default() };
        let mut clock = FrameClock::default();
        clock.begin_frame(1.0 / 60.0, &config).unwrap();
        let steps = clock.begin_frame(1.0 / 120.0, &config).unwrap();
        assert_eq!((steps.iteration_count, steps.step_ratio), (20, 0.5));
        assert_eq!(steps.gravity_scale, steps.step * steps.step);
        let steps = clock.begin_frame(1.0 / 60.0, &ClothConfig::default()).unwrap();
        assert_eq!((steps.iteration_count, steps.gravity_scale), (5, steps.step * steps.step));
    }

    #[test]
    fn the_average_lags_behind_a_changed_step() {
        let config = ClothConfig { solver: Solver::pbd(60.0), ..Default::default() };
        let mut clock = FrameClock::default();
        for _ in 0..40 {
            clock.begin_frame(1.0 / 60.0, &config);
        }
        let first = clock.begin_frame(1.0 / 120.0, &config).unwrap();
        assert!(
            (first.gravity_scale.sqrt() - 1.0 / 60.0).abs() < 1e-7,
            "this frame's step is not yet in the average"
        );
        assert_eq!(first.step_ratio, 0.5);
    }

    #[test]
    fn a_changed_frequency_forgets_the_past() {
        let mut config = ClothConfig { solver: Solver::pbd(60.0), ..Default::default() };
        let mut clock = FrameClock::default();
        clock.begin_frame(1.0 / 60.0, &config);
        config.solver = Solver::pbd(120.0);
        let steps = clock.begin_frame(1.0 / 60.0, &config).unwrap();
        assert_eq!(steps.gravity_scale, steps.step * steps.step);
    }

    #[test]
    fn a_settled_clock_repeats_the_division_of_the_last_frame() {
        let [pbd, xpbd] = [Solver::pbd(300.0), Solver::xpbd(7)]
            .map(|solver| ClothConfig { solver, ..ClothConfig::default() });
        for config in [&pbd, &xpbd] {
            let mut clock = FrameClock::default();
            let mut last = None;
            for frame in 0..200 {
                // One frame in 50 has a different length.
                let dt = if frame % 50 == 20 { 1.0 / 50.0 } else { 1.0 / 60.0 };
                let was_settled = clock.is_settled() && frame % 50 != 20;
                let steps = clock.begin_frame(dt, config);
                assert!(!was_settled || steps == last, "frame {frame}");
                last = steps;
            }
            assert!(clock.is_settled());
            clock.begin_frame(1.0 / 59.0, config);
            assert!(!clock.is_settled());
            clock.begin_frame(1.0 / 60.0, if std::ptr::eq(config, &pbd) { &xpbd } else { &pbd });
            assert!(!clock.is_settled(), "settings have changed");
        }
    }

    #[test]
    fn a_settled_clock_adds_iterations_for_a_longer_frame() {
        let config = ClothConfig { solver: Solver::pbd(256.0), ..ClothConfig::default() };
        let mut clock = FrameClock::default();
        let mut count = |dt: f32| clock.begin_frame(dt, &config).unwrap().iteration_count;
        for _ in 0..200 {
            assert_eq!(count(1.0 / 64.0), 4);
        }
        assert_eq!([count(1.0 / 32.0), count(1.0 / 64.0), count(1.0 / 128.0)], [8, 4, 2]);
    }

    #[test]
    fn trapezoid_weights_are_flat_in_the_middle() {
        let steps: VecDeque<f32> =
            (0..16).map(|i| if i == 0 || i == 15 { 3.0 } else { 1.0 }).collect();
        // Weights 1 2 2 ... 2 1: (3 + 3 + 14 * 2) / 30.
        assert!((average_step(&steps).unwrap() - 34.0 / 30.0).abs() < 1e-6);
    }
}
