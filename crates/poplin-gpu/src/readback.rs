//! Asynchronous read-back of particles and feedback.

use futures_intrusive::channel::shared::oneshot_channel;
use poplin_layout::{Feedback, body_impulses};
use poplin_model::BodyImpulse;

use crate::engine::FEEDBACK_BYTES;
use crate::{ClothId, Engine, GpuError, ReadbackError};

/// A staging buffer for the state of all cloths of an engine.
///
/// `encode` records the copy, the application submits and polls as it likes, `read` resolves when the copy has arrived.
#[derive(Debug)]
pub struct Readback {
    staging: wgpu::Buffer,
    particle_bytes: u64,
    ranges: Vec<std::ops::Range<usize>>,
    /// Rows of impulses on bodies that each cloth has.
    impulse_rows: Vec<u32>,
}

/// The state of all cloths at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
    feedback: Vec<Feedback>,
    impulses: Vec<[f32; 4]>,
    impulse_rows: Vec<u32>,
    ranges: Vec<std::ops::Range<usize>>,
}

impl Snapshot {
    /// What the last frame did to the rigid bodies of a cloth, in their order; empty if the cloth was not simulated.
    pub fn body_impulses(&self, id: ClothId) -> Vec<BodyImpulse> {
        let (Some(&count), Some(feedback)) = (self.impulse_rows.get(id.0), self.feedback.get(id.0))
        else {
            return Vec::new();
        };
        let begin = self.impulse_rows[..id.0].iter().sum::<u32>() as usize;
        body_impulses(&self.impulses[begin..begin + count as usize], feedback)
    }

    /// Position \[m\] and working inverse mass of every particle of a cloth; empty for an unknown cloth.
    pub fn current(&self, id: ClothId) -> &[[f32; 4]] {
        self.ranges.get(id.0).map_or(&[], |range| &self.current[range.clone()])
    }

    /// Previous position \[m\] and the user's inverse mass of every particle of a cloth; empty for an unknown cloth.
    pub fn previous(&self, id: ClothId) -> &[[f32; 4]] {
        self.ranges.get(id.0).map_or(&[], |range| &self.previous[range.clone()])
    }

    /// What the kernel reported of a cloth, if it was there.
    pub(crate) fn reported(&self, id: ClothId) -> Option<&Feedback> {
        self.feedback.get(id.0)
    }

    /// Faults and counters of a cloth.
    pub fn feedback(&self, id: ClothId) -> Feedback {
        self.feedback.get(id.0).copied().unwrap_or_default()
    }
}

/// Rows of impulses on bodies that each cloth has.
fn rows_of(engine: &Engine) -> Vec<u32> {
    (0..engine.cloth_count())
        .map(|cloth| engine.impulse_rows(ClothId(cloth)).len() as u32)
        .collect()
}

impl Readback {
    /// A staging buffer for the cloths that the engine has now.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the device cannot make a buffer of that size.
    pub fn new(engine: &Engine) -> Result<Self, GpuError> {
        let device = engine.device();
        let count = engine.cloth_count();
        let ranges = (0..count)
            .map(|cloth| {
                engine
                    .particle_range(ClothId(cloth))
                    .map(|range| range.start as usize..range.end as usize)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let particle_bytes = 16 * u64::from(engine.particle_count());
        let impulse_rows = rows_of(engine);
        let impulse_bytes = 16 * impulse_rows.iter().map(|&rows| u64::from(rows)).sum::<u64>();
        let size = 2 * particle_bytes + FEEDBACK_BYTES * count as u64 + impulse_bytes;
        let limit = device.limits().max_buffer_size;
        if size > limit {
            return Err(GpuError::TooLarge { buffer: "read-back", bytes: size, limit });
        }
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("poplin.readback.staging"),
            size: size.max(16),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Ok(Self { staging, particle_bytes, ranges, impulse_rows })
    }

    /// Whether the engine still has the cloths and bodies that the staging buffer was made for. Bodies count from the frame on
    /// in which they first take part.
    pub fn fits(&self, engine: &Engine) -> bool {
        self.ranges.len() == engine.cloth_count() && self.impulse_rows == rows_of(engine)
    }

    /// Records the copy of the present state. Cloths and bodies added since [`Readback::new`] are left out: see
    /// [`Readback::fits`].
    pub fn encode(&self, engine: &Engine, encoder: &mut wgpu::CommandEncoder) {
        let feedback_bytes = FEEDBACK_BYTES * self.ranges.len() as u64;
        if feedback_bytes == 0 {
            return;
        }
        encoder.copy_buffer_to_buffer(
            engine.particle_buffer(),
            0,
            &self.staging,
            0,
            self.particle_bytes,
        );
        let previous = engine.previous_particle_buffer();
        encoder.copy_buffer_to_buffer(
            previous,
            0,
            &self.staging,
            self.particle_bytes,
            self.particle_bytes,
        );
        encoder.copy_buffer_to_buffer(
            engine.feedback_buffer(),
            0,
            &self.staging,
            2 * self.particle_bytes,
            feedback_bytes,
        );
        let mut destination = 2 * self.particle_bytes + feedback_bytes;
        for (cloth, &rows) in self.impulse_rows.iter().enumerate() {
            let present = engine.impulse_rows(ClothId(cloth));
            let bytes = 16 * u64::from(rows);
            if rows > 0 && present.len() == rows as usize {
                let source = 16 * u64::from(present.start);
                encoder.copy_buffer_to_buffer(
                    engine.scratch_buffer(),
                    source,
                    &self.staging,
                    destination,
                    bytes,
                );
            }
            destination += bytes;
        }
    }

    /// The state, once the submitted copy has arrived and the device has been polled.
    ///
    /// # Errors
    /// [`GpuError::Readback`] if the device was lost.
    pub async fn read(&self) -> Result<Snapshot, GpuError> {
        let (sender, receiver) = oneshot_channel();
        self.staging.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver may be gone: then nobody waits for the result.
            let _ = sender.send(result);
        });
        let result = receiver.receive().await.ok_or(ReadbackError::NoAnswer)?;
        result.map_err(ReadbackError::from)?;
        let snapshot = {
            let view = self.staging.get_mapped_range(..).map_err(ReadbackError::from)?;
            let bytes: &[u8] = &view;
            let particles = self.particle_bytes as usize;
            let rows = self.impulse_rows.iter().sum::<u32>() as usize;
            let feedback_end = 2 * particles + FEEDBACK_BYTES as usize * self.ranges.len();
            Snapshot {
                current: bytemuck::pod_collect_to_vec(&bytes[..particles]),
                previous: bytemuck::pod_collect_to_vec(&bytes[particles..2 * particles]),
                feedback: bytemuck::pod_collect_to_vec(&bytes[2 * particles..feedback_end]),
                impulses: bytemuck::pod_collect_to_vec(
                    &bytes[feedback_end..feedback_end + 16 * rows],
                ),
                impulse_rows: self.impulse_rows.clone(),
                ranges: self.ranges.clone(),
            }
        };
        self.staging.unmap();
        Ok(snapshot)
    }
}
