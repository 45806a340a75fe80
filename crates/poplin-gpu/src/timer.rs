//! Timing of frames on the device's clock.

use std::time::Duration;

use crate::Error;
use crate::headless::read_buffer;

/// Device features required for timestamps.
pub(crate) const FEATURES: wgpu::Features =
    wgpu::Features::TIMESTAMP_QUERY.union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// Size of the copies with which [`Timer::copy_rate`] measures memory \[bytes\]: larger than
/// caches.
const COPIED_BYTES: u64 = 128 << 20;
/// Number of copies.
const COPIES: u32 = 5;

/// Pair of timestamps on the device.
#[derive(Debug)]
pub(crate) struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Length of one tick \[ns\].
    period: f32,
    is_set: bool,
}

impl Timer {
    /// Creates a timer; `None` if the device has no timestamps.
    pub(crate) fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Self> {
        device.features().contains(FEATURES).then(|| Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("poplin.timer.queries"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("poplin.timer.resolved"),
                size: 16,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            period: queue.get_timestamp_period(),
            is_set: false,
        })
    }

    /// Measures copies within the device and returns the best total rate of reads and writes
    /// [bytes/s].
    pub(crate) fn copy_rate(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<f64, Error> {
        let [from, to] =
            [wgpu::BufferUsages::COPY_SRC, wgpu::BufferUsages::COPY_DST].map(|usage| {
                device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("poplin.timer.copied"),
                    size: COPIED_BYTES,
                    usage,
                    mapped_at_creation: false,
                })
            });
        let mut rate: f64 = 0.0;
        for _ in 0..COPIES {
            let mut encoder = device.create_command_encoder(&Default::default());
            self.start(&mut encoder);
            encoder.copy_buffer_to_buffer(&from, 0, &to, 0, COPIED_BYTES);
            self.stop(&mut encoder);
            queue.submit([encoder.finish()]);
            let time = self.read(device, queue)?.unwrap_or_default().as_secs_f64();
            if time > 0.0 {
                // A copy reads and writes every byte.
                rate = rate.max(2.0 * COPIED_BYTES as f64 / time);
            }
        }
        Ok(rate)
    }

    /// Records the first timestamp, before the commands to be timed.
    pub(crate) fn start(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.queries, 0);
    }

    /// Records the second timestamp.
    pub(crate) fn stop(&mut self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.queries, 1);
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        self.is_set = true;
    }

    /// Waits for submitted commands and returns the time between both timestamps; `None` before the
    /// first measurement.
    pub(crate) fn read(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<Option<Duration>, Error> {
        if !self.is_set {
            return Ok(None);
        }
        let ticks: Vec<u64> =
            bytemuck::pod_collect_to_vec(&read_buffer(device, queue, &self.resolved)?);
        let ticks = ticks[1].saturating_sub(ticks[0]);
        Ok(Some(Duration::from_secs_f64(1e-9 * f64::from(self.period) * ticks as f64)))
    }
}
