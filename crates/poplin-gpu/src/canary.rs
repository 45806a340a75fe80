//! Small kernels with known results: what an adapter must get right before it is trusted.

use poplin_shaders::{Kernel, compose};

use crate::headless::map_and_read;
use crate::{GpuError, WrongValue};

/// What the canaries found on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryReport {
    /// Loop trips at which the driver stopped without a word; `None` if it ran all 100,000.
    pub loop_limit: Option<u64>,
    /// The NaN test judged every sample right.
    pub nan: Result<(), WrongValue>,
    /// The prefix sums across barriers are right.
    pub barrier: Result<(), WrongValue>,
}

impl CanaryReport {
    /// The loop limit to give the engine: half of where the driver stops, so that loops that are counted differently fit.
    pub fn engine_loop_limit(&self) -> Option<u64> {
        self.loop_limit.map(|limit| limit / 2)
    }

    /// Refuses an adapter that fails a canary which cannot be worked around. A short loop can: frames are split.
    ///
    /// # Errors
    /// [`GpuError::CanaryFailed`] with expected and got.
    pub fn check(&self, adapter: &str) -> Result<(), GpuError> {
        for (canary, verdict) in [("NaN", &self.nan), ("barrier", &self.barrier)] {
            if let Err(source) = *verdict {
                let adapter = adapter.to_owned();
                return Err(GpuError::CanaryFailed { adapter, canary, source });
            }
        }
        Ok(())
    }
}

/// Outer and inner trips of the loop canary.
const LOOP_TRIPS: [u32; 2] = [10, 10_000];

/// Runs the canaries and waits for them (about 0.1 s on a software adapter).
///
/// # Errors
/// [`GpuError`] if the device is lost or does not answer.
pub fn run_canaries(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<CanaryReport, GpuError> {
    let wanted = LOOP_TRIPS[0] * LOOP_TRIPS[1];
    let counted = run(device, queue, Kernel::CanaryLoop, &LOOP_TRIPS, 1, &[])?[0];

    let samples = [
        0.0,
        1.0,
        -1e15,
        f32::MIN_POSITIVE,
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        2e15,
    ];
    let bits = samples.map(f32::to_bits);
    let judged = run(device, queue, Kernel::CanaryNan, &bits, bits.len(), &[])?;
    let expected = samples
        .map(|value| u32::from(!value.is_finite() || value.abs() > poplin_model::MAX_COORDINATE));
    let nan = compare(&expected, &judged);

    let lanes = 256u32.min(device.limits().max_compute_invocations_per_workgroup);
    let values: Vec<u32> = (0..lanes).map(|lane| lane * lane + 1).collect();
    let sums = run(
        device,
        queue,
        Kernel::CanaryBarrier,
        &values,
        lanes as usize,
        &[("LANES", f64::from(lanes))],
    )?;
    let mut total = 0;
    let expected: Vec<u32> = values
        .iter()
        .map(|value| {
            total += value;
            total
        })
        .collect();
    let barrier = compare(&expected, &sums);
    let loop_limit = (counted != wanted).then_some(u64::from(counted));
    Ok(CanaryReport { loop_limit, nan, barrier })
}

/// The first value that is not as expected; a missing one is zero.
fn compare(expected: &[u32], actual: &[u32]) -> Result<(), WrongValue> {
    let count = expected.len();
    let pairs = expected.iter().zip(actual.iter().chain(std::iter::repeat(&0)));
    match pairs.enumerate().find(|(_, (expected, actual))| expected != actual) {
        None => Ok(()),
        Some((index, (&expected, &actual))) => Err(WrongValue { index, count, expected, actual }),
    }
}

fn run(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    kernel: Kernel,
    input: &[u32],
    output_count: usize,
    constants: &[(&str, f64)],
) -> Result<Vec<u32>, GpuError> {
    let composed = compose(&kernel.path()).expect("the embedded canary composes; a test holds it");
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(kernel.name()),
        source: wgpu::ShaderSource::Wgsl(composed.text.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(kernel.name()),
        layout: None,
        module: &module,
        entry_point: Some(kernel.name()),
        compilation_options: wgpu::PipelineCompilationOptions { constants, ..Default::default() },
        cache: None,
    });
    let buffer = |count: usize, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("poplin.canary"),
            size: 4 * count as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    let samples = buffer(input.len(), wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST);
    let output = buffer(
        output_count,
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
    );
    let staging = buffer(output_count, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    queue.write_buffer(&samples, 0, bytemuck::cast_slice(input));
    // A sentinel, so that "not written" shows.
    queue.write_buffer(&output, 0, bytemuck::cast_slice(&vec![0xDEAD_BEEFu32; output_count]));
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("poplin.canary"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: output.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: samples.as_entire_binding() },
        ],
    });
    let mut encoder = device
        .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(kernel.name()) });
    {
        let descriptor =
            wgpu::ComputePassDescriptor { label: Some(kernel.name()), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&output, 0, &staging, 0, 4 * output_count as u64);
    queue.submit([encoder.finish()]);
    Ok(bytemuck::pod_collect_to_vec(&map_and_read(device, &staging)?))
}
