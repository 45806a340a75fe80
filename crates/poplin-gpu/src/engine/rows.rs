//! Rows that a frame writes to the device: the changes since the last frame.

use super::GpuEngine;
use crate::Error;
use crate::binding::{bind_group, bind_group_layout};
use crate::growable::GrowableBuffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use bytemuck::cast_slice;
use poplin_layout::{
    ROW_MASK, ROW_OF_FRAME, ROW_OF_INPUTS, ROW_OF_PARAMETERS, ROW_OF_PARTICLES, SCATTER_LANES,
    ScatterParameters,
};
use poplin_shaders::Kernel;
use std::ops::Range;

/// Read-only flags of the kernel's storage bindings 1 to 6.
const STORAGE_READ_ONLY: [bool; 6] = [true, true, false, false, false, false];

/// Buffer to which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum RowTarget {
    Parameters = ROW_OF_PARAMETERS,
    Frame = ROW_OF_FRAME,
    Inputs = ROW_OF_INPUTS,
    Particles = ROW_OF_PARTICLES,
}

/// Number of rows up to which a loop copies faster than a call of `memcpy`.
const FEW: usize = 8;

/// Rows that wait for the next recorded frame.
#[derive(Default)]
pub(super) struct Rows {
    addresses: Vec<u32>,
    values: Vec<[u32; 4]>,
    /// True if rows of frames that were begun but not recorded may repeat addresses.
    has_repeats: bool,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }

    #[cfg(feature = "testing")]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, [u32; 4])> + '_ {
        self.addresses.iter().copied().zip(self.values.iter().copied())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.addresses.clear();
        self.values.clear();
        self.has_repeats = false;
    }

    /// Begins a frame, which may write rows of an unrecorded frame again.
    pub(super) fn begin_frame(&mut self) {
        self.has_repeats |= !self.is_empty();
    }

    pub(super) fn push(&mut self, target: RowTarget, row: u32, value: [u32; 4]) {
        // The upper bits of an address select the buffer, the lower ones the row.
        self.addresses.push(target as u32 | row);
        self.values.push(value);
    }

    /// Adds consecutive rows.
    pub(super) fn extend(&mut self, target: RowTarget, begin: u32, values: &[[u32; 4]]) {
        let begin = target as u32 | begin;
        self.addresses.extend(begin..begin + values.len() as u32);
        if values.len() <= FEW {
            values.iter().for_each(|value| self.values.push(*value));
        } else {
            self.values.extend_from_slice(values);
        }
    }

    /// Moves all rows of `others` to the end.
    pub(super) fn append(&mut self, others: &mut Self) {
        self.addresses.append(&mut others.addresses);
        self.values.append(&mut others.values);
    }

    /// Removes the rows of a range of a buffer.
    pub(super) fn remove(&mut self, target: RowTarget, range: &Range<u32>) {
        let mut kept = 0;
        for k in 0..self.addresses.len() {
            let address = self.addresses[k];
            if address & !ROW_MASK == target as u32 && range.contains(&(address & ROW_MASK)) {
                continue;
            }
            (self.addresses[kept], self.values[kept]) = (address, self.values[k]);
            kept += 1;
        }
        self.addresses.truncate(kept);
        self.values.truncate(kept);
    }

    /// Keeps only the last row of each address if addresses may repeat.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.has_repeats) {
            return;
        }
        // The scatter kernel writes rows in parallel, so each address may occur only once.
        let mut last: Vec<(u32, usize)> = self.addresses.iter().copied().zip(0..).collect();
        last.sort_unstable();
        // Sorted by address, then by time: the last of each chunk is the latest.
        let ends = last.chunk_by(|a, b| a.0 == b.0).map(|same| same[same.len() - 1]);
        let (addresses, values) = ends.map(|(address, k)| (address, self.values[k])).unzip();
        (self.addresses, self.values) = (addresses, values);
    }
}

/// Kernel that scatters rows to their addresses.
pub(super) struct Scatter {
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

impl Scatter {
    pub(super) fn new(
        device: &wgpu::Device,
        options: &crate::EngineOptions,
    ) -> Result<Self, Error> {
        let layout = bind_group_layout(device, "poplin.scatter_rows.layout", &STORAGE_READ_ONLY);
        let whole = pipeline_layout(device, "poplin.scatter_rows.pipeline_layout", &layout);
        let pipeline = kernel_pipeline(device, Kernel::ScatterRows, &whole, options)?;
        Ok(Self { layout, pipeline })
    }
}

/// Buffers of a frame slot for scattered rows.
pub(super) struct RowSlot {
    addresses: GrowableBuffer,
    values: GrowableBuffer,
    parameters: GrowableBuffer,
    bind_group: Option<wgpu::BindGroup>,
}

impl RowSlot {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        Self {
            addresses: new("poplin.scatter_rows.addresses", wgpu::BufferUsages::STORAGE),
            values: new("poplin.scatter_rows.values", wgpu::BufferUsages::STORAGE),
            parameters: new("poplin.scatter_rows.parameters", wgpu::BufferUsages::UNIFORM),
            bind_group: None,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.addresses.size() + self.values.size() + self.parameters.size()
    }

    /// Drops the bind group, as a target buffer was replaced.
    pub(super) fn unbind(&mut self) {
        self.bind_group = None;
    }
}

impl GpuEngine {
    /// Uploads the waiting rows to the buffers of the next slot; returns their number.
    pub(super) fn upload_rows(&mut self) -> Result<usize, Error> {
        self.rows.settle();
        let count = self.rows.len();
        if count == 0 {
            return Ok(0);
        }
        let slot = &mut self.slots[self.next_slot].rows;
        let parameters =
            ScatterParameters { row_count: count as u32, padding_0: 0, padding_1: 0, padding_2: 0 };
        for (buffer, bytes) in [
            (&mut slot.addresses, cast_slice(&self.rows.addresses)),
            (&mut slot.values, cast_slice(&self.rows.values)),
            (&mut slot.parameters, bytemuck::bytes_of(&parameters)),
        ] {
            let bytes: &[u8] = bytes;
            if buffer.upload(&self.device, &self.queue, bytes)? {
                slot.bind_group = None;
            }
            self.uploaded_bytes += bytes.len() as u64;
        }
        if slot.bind_group.is_none() {
            let storage = [
                &slot.addresses,
                &slot.values,
                &self.parameters,
                &self.frame_pool.buffers()[0],
                &self.input_pool.buffers()[0],
                &self.particles.buffers()[0],
            ];
            slot.bind_group = Some(bind_group::<ScatterParameters>(
                &self.device,
                "poplin.scatter_rows.bind_group",
                &self.scatter.layout,
                slot.parameters.buffer(),
                &storage.map(GrowableBuffer::buffer),
            ));
        }
        self.rows.clear();
        Ok(count)
    }

    /// Records the scatter of the uploaded rows of a slot.
    pub(super) fn record_scatter(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        slot: usize,
        count: usize,
    ) {
        let Some(bind_group) = self.slots[slot].rows.bind_group.as_ref().filter(|_| count > 0)
        else {
            return;
        };
        let groups = (count as u32).div_ceil(SCATTER_LANES);
        let width = groups.min(self.device.limits().max_compute_workgroups_per_dimension);
        pass.set_pipeline(&self.scatter.pipeline);
        pass.set_bind_group(0, bind_group, &[0]);
        pass.dispatch_workgroups(width, groups.div_ceil(width), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_rows_with_equal_addresses_is_kept() {
        let mut rows = Rows::default();
        rows.extend(RowTarget::Inputs, 7, &[[1; 4], [2; 4]]);
        rows.push(RowTarget::Frame, 8, [3; 4]);
        rows.begin_frame();
        rows.push(RowTarget::Inputs, 8, [4; 4]);
        rows.settle();
        assert_eq!(rows.addresses, [8 | ROW_OF_FRAME, 7 | ROW_OF_INPUTS, 8 | ROW_OF_INPUTS]);
        assert_eq!(rows.values, [[3; 4], [1; 4], [4; 4]]);
    }

    #[test]
    fn remove_drops_only_rows_of_the_given_range() {
        let mut rows = Rows::default();
        for target in [RowTarget::Parameters, RowTarget::Particles] {
            rows.extend(target, 0, &[[target as u32; 4]; 4]);
        }
        rows.remove(RowTarget::Particles, &(1..3));
        assert_eq!(rows.addresses, [0, 1, 2, 3, ROW_OF_PARTICLES, 3 | ROW_OF_PARTICLES]);
        assert_eq!(rows.values[4..], [[ROW_OF_PARTICLES; 4]; 2]);
    }
}
