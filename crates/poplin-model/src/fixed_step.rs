//! Frames of equal length from real time.

use crate::Frame;
use crate::error::{ModelError, check_range};
use crate::frame::MAX_DT;

/// Most frames at once that may be asked for.
const MAX_STEPS: u32 = 1000;

/// Cuts real time into frames of one length, so that what is simulated does not depend on how fast pictures are drawn.
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
/// The guide has an example with a simulation, on the page about embedding. Source: Fiedler, "Fix Your Timestep!", 2004.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedStep {
    frame: Frame,
    max_steps: u32,
    /// Time that no frame has used \[s\], `0..dt`. It stays this small, so sums do not lose digits over days.
    rest: f64,
}

/// What [`FixedStep::advance`] says to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Frames to simulate now, `0..=max_steps`.
    pub count: u32,
    /// Time since the last of them in frames, `0..1` (1 excluded): what to draw is
    /// `before + alpha * (after - before)`, with the last two frames.
    pub alpha: f32,
    /// Time that is not made up for, since that would have taken more than `max_steps` frames \[s\].
    pub dropped: f64,
}

impl Default for FixedStep {
    /// At most 4 frames of the default length at once.
    fn default() -> Self {
        Self { frame: Frame::default(), max_steps: 4, rest: 0.0 }
    }
}

impl FixedStep {
    /// A clock of frames of `dt` seconds, above 0 and at most as long as [`Frame::dt`] may be, of which `max_steps`, `1..=1000`,
    /// are simulated at once: where frames take longer than `dt` to simulate, more of them would only ask for more still.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] that names which.
    pub fn new(dt: f32, max_steps: u32) -> Result<Self, ModelError> {
        check_range("fixed step dt", dt, f32::MIN_POSITIVE, MAX_DT)?;
        check_range("fixed step max_steps", max_steps as f32, 1.0, MAX_STEPS as f32)?;
        Ok(Self { frame: Frame { dt }, max_steps, rest: 0.0 })
    }

    /// The frame to simulate, the same every time.
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// The most frames that [`FixedStep::advance`] asks for at once.
    pub fn max_steps(&self) -> u32 {
        self.max_steps
    }

    /// Takes over that `seconds` of real time have passed since the last call. NaN and what is below 0 count as 0.
    pub fn advance(&mut self, seconds: f64) -> Steps {
        let dt = f64::from(self.frame.dt);
        // A maximum with NaN is the other number.
        let total = (self.rest + seconds.max(0.0)).min(f64::MAX);
        // Remainders are exact.
        self.rest = total % dt;
        let used = total - self.rest;
        let whole = (used / dt).round();
        let (count, dropped) = if whole > f64::from(self.max_steps) {
            (self.max_steps, used - f64::from(self.max_steps) * dt)
        } else {
            (whole as u32, 0.0)
        };
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
        let dt = f64::from(clock.frame().dt);
        // Sums of whole nanoseconds are exact.
        let (mut nanoseconds, mut frames, mut dropped, mut alpha) = (0u64, 0u64, 0.0, 0.0);
        let mut random = 1u64;
        for _ in 0..1_000_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // 0..34 ms, now and then 268 ms.
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
        // alpha is a float: its rounding is 1e-9 s.
        assert!((sum - nanoseconds as f64 * 1e-9).abs() < 1e-8, "{sum} for {nanoseconds}");
    }

    #[test]
    fn days_of_regular_pictures_simulate_a_frame_each() {
        let mut clock = FixedStep::new(0.015625, 4).unwrap();
        clock.advance(0.005);
        assert!((0..10_000_000).all(|_| clock.advance(0.015625).count == 1));
        assert_eq!(clock.advance(0.0).alpha, 0.32);
    }

    #[test]
    fn a_slow_machine_drops_time_and_does_not_spiral() {
        let mut clock = FixedStep::new(0.25, 4).unwrap();
        for _ in 0..100 {
            let steps = clock.advance(2.0);
            assert_eq!((steps.count, steps.dropped), (4, 1.0));
        }
        let steps = clock.advance(1.125);
        assert_eq!((steps.count, steps.alpha, steps.dropped), (4, 0.5, 0.0));
        assert_eq!(clock.advance(0.25).count, 1, "nothing is made up for later");
    }

    #[test]
    fn while_no_time_passes_the_picture_stands_still() {
        let mut clock = FixedStep::new(0.25, 4).unwrap();
        clock.advance(0.375);
        for seconds in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let steps = clock.advance(seconds);
            assert_eq!((steps.count, steps.alpha, steps.dropped), (0, 0.5, 0.0), "{seconds}");
        }
    }

    #[test]
    fn any_time_leaves_a_clock_that_goes_on() {
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
    fn alpha_is_below_1_where_the_rest_rounds_up() {
        let mut clock = FixedStep::new(0.25, 4).unwrap();
        assert_eq!(clock.advance(0.25f64.next_down()).count, 0);
        assert!(clock.advance(0.0).alpha < 1.0);
    }

    #[test]
    fn settings_out_of_range_are_named() {
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
