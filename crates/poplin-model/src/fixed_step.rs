//! Conversion of real time to frames of equal length.

use crate::error::{ModelError, check_range};
use crate::frame::MAX_DT;

/// Largest number of frames per call.
const MAX_STEPS: u32 = 1000;

/// Divides real time into frames of fixed length, so that the simulation is independent of the
/// rendering rate.
///
/// ```
/// use poplin_model::FixedStep;
///
/// let mut clock = FixedStep::new(0.25, 4)?;
/// let steps = clock.advance(0.625);
/// assert_eq!((steps.count, steps.alpha, steps.dropped), (2, 0.5, 0.0));
/// # Ok::<(), poplin_model::ModelError>(())
/// ```
///
/// The embedding page of the guide has an example with a simulation. Source: Fiedler, "Fix Your
/// Timestep!", 2004.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedStep {
    dt: f32,
    max_steps: u32,
    /// Accumulated time that no frame has used \[s\], `0..dt`. Its small size keeps sums accurate
    /// over days.
    rest: f64,
}

/// Result of [`FixedStep::advance`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Frames to simulate now, `0..=max_steps`.
    pub count: u32,
    /// Interpolation weight: time since the last of these frames, in frames, `0..1` (1 excluded).
    /// Draw `before + alpha * (after - before)`, with the last two frames.
    pub alpha: f32,
    /// Time dropped because catching up would exceed `max_steps` \[s\].
    pub dropped: f64,
}

impl Default for FixedStep {
    /// Returns a clock of at most 4 frames of 1/60 s per call.
    fn default() -> Self {
        Self { dt: 1.0 / 60.0, max_steps: 4, rest: 0.0 }
    }
}

impl FixedStep {
    /// Creates a clock with frames of `dt` seconds, above 0 and at most 10.
    /// `max_steps`, `1..=1000`, limits the frames per call: if frames take longer than `dt` to
    /// simulate, catching up would only increase the backlog.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] that names the argument.
    pub fn new(dt: f32, max_steps: u32) -> Result<Self, ModelError> {
        check_range("fixed step dt", dt, f32::MIN_POSITIVE, MAX_DT)?;
        check_range("fixed step max_steps", max_steps as f32, 1.0, MAX_STEPS as f32)?;
        Ok(Self { dt, max_steps, rest: 0.0 })
    }

    /// Length of every frame \[s\].
    pub fn dt(&self) -> f32 {
        self.dt
    }

    /// Largest number of frames per [`FixedStep::advance`].
    pub fn max_steps(&self) -> u32 {
        self.max_steps
    }

    /// Advances the clock by `seconds` of real time. NaN and negative values count as 0.
    pub fn advance(&mut self, seconds: f64) -> Steps {
        let dt = f64::from(self.dt);
        // `max` of NaN and 0 is 0.
        let total = (self.rest + seconds.max(0.0)).min(f64::MAX);
        // The remainder is exact, so that no time is lost to rounding.
        self.rest = total % dt;
        // A multiple of dt up to rounding, hence `round` below.
        let used = total - self.rest;
        let whole = (used / dt).round();
        let (count, dropped) = if whole > f64::from(self.max_steps) {
            (self.max_steps, used - f64::from(self.max_steps) * dt)
        } else {
            (whole as u32, 0.0)
        };
        // The quotient may round to 1, which belongs to the next frame.
        let alpha = ((self.rest / dt) as f32).min(1f32.next_down());
        Steps { count, alpha, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_lost_over_a_million_irregular_steps() {
        let mut clock = FixedStep::new(1.0 / 60.0, 8).unwrap();
        let dt = f64::from(clock.dt());
        // Sums of integer nanoseconds are exact.
        let (mut nanoseconds, mut frames, mut dropped, mut alpha) = (0u64, 0u64, 0.0, 0.0);
        let mut rng = poplin_geometry::Rng::new(1);
        for _ in 0..1_000_000 {
            let random = rng.next_u64();
            // 0 to 34 ms, occasionally up to 268 ms.
            let passed = (random >> 39) * if random >> 32 & 15 == 0 { 8 } else { 1 };
            nanoseconds += passed;
            let steps = clock.advance(passed as f64 * 1e-9);
            assert!((0.0..1.0).contains(&steps.alpha), "{steps:?}");
            frames += u64::from(steps.count);
            dropped += steps.dropped;
            alpha = f64::from(steps.alpha);
        }
        let sum = (frames as f64 + alpha) * dt + dropped;
        assert!(dropped > 100.0 && frames > 1_000_000, "{dropped} s of {frames} frames");
        // alpha is an f32: its rounding error is 1e-9 s.
        assert!((sum - nanoseconds as f64 * 1e-9).abs() < 1e-8, "{sum} for {nanoseconds}");
    }

    #[test]
    fn regular_calls_over_days_simulate_one_frame_each() {
        let mut clock = FixedStep::new(0.015625, 4).unwrap();
        clock.advance(0.005);
        assert!((0..10_000_000).all(|_| clock.advance(0.015625).count == 1));
        assert_eq!(clock.advance(0.0).alpha, 0.32);
    }

    #[test]
    fn slow_machine_drops_time_instead_of_spiralling() {
        let mut clock = FixedStep::new(0.25, 4).unwrap();
        for _ in 0..100 {
            let steps = clock.advance(2.0);
            assert_eq!((steps.count, steps.dropped), (4, 1.0));
        }
        let steps = clock.advance(1.125);
        assert_eq!((steps.count, steps.alpha, steps.dropped), (4, 0.5, 0.0));
        assert_eq!(clock.advance(0.25).count, 1, "dropped time is not made up later");
    }

    #[test]
    fn advance_ignores_zero_negative_and_nan_time() {
        let mut clock = FixedStep::new(0.25, 4).unwrap();
        clock.advance(0.375);
        for seconds in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let steps = clock.advance(seconds);
            assert_eq!((steps.count, steps.alpha, steps.dropped), (0, 0.5, 0.0), "{seconds}");
        }
    }

    #[test]
    fn clock_survives_huge_time_steps() {
        for seconds in [1e9, 1e300, f64::MAX, f64::INFINITY] {
            for dt in [f32::MIN_POSITIVE, 1.0 / 60.0, 10.0] {
                let mut clock = FixedStep::new(dt, 4).unwrap();
                let steps = clock.advance(seconds);
                assert!(steps.count == 4 && steps.dropped > 0.9e9, "{seconds}: {steps:?}");
                assert!((0.0..1.0).contains(&steps.alpha), "{seconds}: {steps:?}");
                assert!((1..=2).contains(&clock.advance(f64::from(dt) * 1.5).count));
            }
        }
    }

    #[test]
    fn alpha_stays_below_1_when_rounding_up() {
        let mut clock = FixedStep::new(0.25, 4).unwrap();
        assert_eq!(clock.advance(0.25f64.next_down()).count, 0);
        assert!(clock.advance(0.0).alpha < 1.0);
    }

    #[test]
    fn rejects_arguments_out_of_range() {
        for dt in [0.0, -1.0, f32::NAN, f32::INFINITY, 11.0] {
            let error = FixedStep::new(dt, 4).unwrap_err().to_string();
            assert!(error.starts_with("fixed step dt = "), "{error}");
        }
        for max_steps in [0, 1001, u32::MAX] {
            let error = FixedStep::new(0.01, max_steps).unwrap_err().to_string();
            assert!(error.starts_with("fixed step max_steps = "), "{error}");
        }
    }
}
