//! How long the device takes for a frame.

use std::time::Duration;

use crate::GpuError;
use crate::headless::read_buffer;

/// What a device must have for it.
pub(crate) const FEATURES: wgpu::Features =
    wgpu::Features::TIMESTAMP_QUERY.union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// Two timestamps of the device.
#[derive(Debug)]
pub(crate) struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// One tick \[ns\].
    period: f32,
    is_set: bool,
}

impl Timer {
    /// `None` if the device has no timestamps.
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

    /// Takes the time before what is recorded next.
    pub(crate) fn start(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.queries, 0);
    }

    /// Takes the time after it.
    pub(crate) fn stop(&mut self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.queries, 1);
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        self.is_set = true;
    }

    /// Waits for what was submitted; the time between both, `None` before the first.
    pub(crate) fn read(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<Option<Duration>, GpuError> {
        if !self.is_set {
            return Ok(None);
        }
        let ticks: Vec<u64> =
            bytemuck::pod_collect_to_vec(&read_buffer(device, queue, &self.resolved)?);
        let ticks = ticks[1].saturating_sub(ticks[0]);
        Ok(Some(Duration::from_secs_f64(1e-9 * f64::from(self.period) * ticks as f64)))
    }
}
