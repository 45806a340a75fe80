//! Data of the plots.

use std::collections::VecDeque;
use std::time::Duration;

use poplin_measure::strain::Strain;

/// Number of frames in a plot.
const LENGTH: usize = 300;

/// Strain and time of the last frames.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// 99th percentile of the strain \[%\].
    pub(crate) p99: VecDeque<f32>,
    /// Strain of the longest edge \[%\].
    pub(crate) longest: VecDeque<f32>,
    /// Time to simulate a frame \[ms\].
    pub(crate) times: VecDeque<f32>,
    has_new: bool,
}

fn push(values: &mut VecDeque<f32>, value: f32) {
    if values.len() == LENGTH {
        values.pop_front();
    }
    values.push_back(if value.is_finite() { value } else { 0.0 });
}

impl History {
    /// Adds the time of a new frame.
    pub(crate) fn push_time(&mut self, time: Duration) {
        push(&mut self.times, time.as_secs_f32() * 1e3);
        self.has_new = true;
    }

    /// Adds the strain of the last added frame, once per frame.
    pub(crate) fn push_strain(&mut self, strain: &Strain) {
        if std::mem::take(&mut self.has_new) {
            push(&mut self.p99, strain.p99 * 100.0);
            push(&mut self.longest, strain.longest * 100.0);
        }
    }
}
