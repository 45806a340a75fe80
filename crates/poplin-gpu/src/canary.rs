//! Canaries: small kernels with known results that an adapter must pass before it is trusted.

use poplin_shaders::{Kernel, compose};

use crate::headless::read_buffer;
use crate::pipelines::compiled;
use crate::{Error, WrongValue};

/// Results of the canaries on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryReport {
    /// Loop trips at which the driver stopped silently; `None` if it ran all 100,000.
    pub loop_limit: Option<u64>,
    /// Result of the NaN test over all samples.
    pub nan: Result<(), WrongValue>,
    /// Result of the prefix sums across barriers.
    pub barrier: Result<(), WrongValue>,
    /// Result of the indices that are stored beside floats in a pool and must keep their bits.
    pub indices: Result<(), WrongValue>,
    /// Treatment of subnormal floats by the adapter; the pools do not depend on it.
    pub subnormals: Subnormals,
}

/// Treatment of subnormal floats by an adapter; WGSL, "Floating Point Evaluation", allows flushing
/// them to 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnormals {
    /// True if copied subnormals keep their bits.
    pub are_passed: bool,
    /// True if sums of subnormals are right.
    pub are_added: bool,
}

impl CanaryReport {
    /// Loop limit for the engine: half the trips at which the driver stops, as a reserve for
    /// drivers that count loops differently.
    pub fn engine_loop_limit(&self) -> Option<u64> {
        self.loop_limit.map(|limit| limit / 2)
    }

    /// Rejects an adapter that fails a canary without a workaround. A loop limit has one: frames
    /// are split.
    ///
    /// # Errors
    /// [`Error::CanaryFailed`] with the expected and the actual value.
    pub fn check(&self, adapter: &str) -> Result<(), Error> {
        for (canary, verdict) in
            [("NaN", &self.nan), ("barrier", &self.barrier), ("index", &self.indices)]
        {
            if let Err(source) = *verdict {
                let adapter = adapter.to_owned();
                return Err(Error::CanaryFailed { adapter, canary, source });
            }
        }
        Ok(())
    }
}

/// Indices that the subnormal canary copies.
const INDICES: [u32; 5] = [1, 2, 1000, 65_537, 0x3f_ffff];

/// Outer and inner trips of the loop canary.
const LOOP_TRIPS: [u32; 2] = [10, 10_000];

/// Runs the canaries and waits for them (about 0.1 s on a software adapter).
///
/// # Errors
/// [`Error`] if the device is lost or does not answer.
pub fn run_canaries(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<CanaryReport, Error> {
    run_canary_texts(device, queue, |_, text| text)
}

/// Runs the canaries with sources altered by `change`, to test that they can fail.
///
/// # Errors
/// As [`run_canaries`].
#[doc(hidden)]
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "a hook for tests"))]
pub fn run_canary_texts(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    change: impl Fn(Kernel, String) -> String,
) -> Result<CanaryReport, Error> {
    let run = |kernel: Kernel, input: &[u32], output_count, constants: &[(&str, f64)]| {
        let composed =
            compose(&kernel.path()).expect("the embedded canary composes; a test checks it");
        let text = change(kernel, composed.text);
        run_text(device, queue, kernel.name(), text, input, output_count, constants)
    };
    let wanted = LOOP_TRIPS[0] * LOOP_TRIPS[1];
    let counted = run(Kernel::CanaryLoop, &LOOP_TRIPS, 1, &[])?[0];

    // Valid and invalid coordinates around the limits of the tests.
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
        -0.0,
        -2e15,
    ];
    let bits = samples.map(f32::to_bits);
    let judged = run(Kernel::CanaryNan, &bits, bits.len(), &[])?;
    let expected = samples.map(|value| {
        let is_within = value.abs() <= poplin_model::MAX_COORDINATE;
        let coordinates = if is_within { 8 } else { 7 };
        coordinates | if value > 0.0 { 16 } else { 0 } | if value > 0.5 { 32 } else { 0 }
    });
    let nan = compare(&expected, &judged);

    // WebGPU's default limit of a workgroup, fewer if the device allows only fewer.
    let lanes = 256u32.min(device.limits().max_compute_invocations_per_workgroup);
    let values: Vec<u32> = (0..lanes).map(|lane| lane * lane + 1).collect();
    let constants = [("LANES", f64::from(lanes))];
    let sums = run(Kernel::CanaryBarrier, &values, lanes as usize, &constants)?;
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

    let x = 0.25f32.to_bits();
    let rows = INDICES.map(|index| [x, x, x, index]);
    let found = run(Kernel::CanarySubnormal, rows.as_flattened(), 4 * rows.len(), &[])?;
    let found = found.as_chunks::<4>().0;
    let indices = compare(&INDICES, &found.iter().map(|row| row[1]).collect::<Vec<_>>());
    // Adding a subnormal float to itself doubles its bits.
    let are_passed = INDICES.iter().zip(found).all(|(&index, row)| row[2] == index);
    let are_added = INDICES.iter().zip(found).all(|(&index, row)| row[3] == 2 * index);
    let subnormals = Subnormals { are_passed, are_added };
    Ok(CanaryReport { loop_limit, nan, barrier, indices, subnormals })
}

/// Finds the first value that differs from the expected one; missing values count as zero.
fn compare(expected: &[u32], actual: &[u32]) -> Result<(), WrongValue> {
    let count = expected.len();
    let pairs = expected.iter().zip(actual.iter().chain(std::iter::repeat(&0)));
    match pairs.enumerate().find(|(_, (expected, actual))| expected != actual) {
        None => Ok(()),
        Some((index, (&expected, &actual))) => Err(WrongValue { index, count, expected, actual }),
    }
}

fn run_text(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    name: &'static str,
    text: String,
    input: &[u32],
    output_count: usize,
    constants: &[(&str, f64)],
) -> Result<Vec<u32>, Error> {
    let pipeline = compiled(device, name, || {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                ..Default::default()
            },
            cache: None,
        })
    })?;
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
    queue.write_buffer(&samples, 0, bytemuck::cast_slice(input));
    // Sentinel that reveals unwritten values.
    queue.write_buffer(&output, 0, bytemuck::cast_slice(&vec![0xDEAD_BEEFu32; output_count]));
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("poplin.canary"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: output.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: samples.as_entire_binding() },
        ],
    });
    let mut encoder =
        device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(name) });
    {
        let descriptor = wgpu::ComputePassDescriptor { label: Some(name), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    queue.submit([encoder.finish()]);
    Ok(bytemuck::pod_collect_to_vec(&read_buffer(device, queue, &output)?))
}
