//! Checks of the device by small kernels.

use std::time::Instant;

use poplin::gpu::wgpu::{self, BufferUsages};
use poplin::gpu::{Error, Headless, is_software};

use super::{Diagnosis, Finding, Patient, Verdict, milliseconds};

/// Kernels.
const TEXT: &str = include_str!("micro.wgsl");

/// Dispatches of a chain.
const CHAIN: u32 = 1000;

/// Time of a dispatch above which a device is slow \[us\]: a frame has 50 to 2,000 of them.
const SLOW_DISPATCH: f64 = 50.0;

/// Workgroups along each axis: more than one axis may have.
const WORKGROUPS: [u32; 2] = [35_000, 2];

/// Largest binding that is tried \[bytes\].
const LARGEST_BINDING: u64 = 1 << 28;

/// Value in the last row of a binding.
const LAST: u32 = 0x600d;

/// Describes the device of a diagnosis.
pub(super) fn describe(headless: &Headless, diagnosis: &mut Diagnosis) {
    let info = headless.adapter_info();
    diagnosis.adapter =
        format!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info);
    let features = headless.device().features();
    diagnosis.features = features.iter_names().map(|(name, _)| name.to_owned()).collect();
    let limits = headless.device().limits();
    diagnosis.limits = [
        ("workgroup_bytes", u64::from(limits.max_compute_workgroup_storage_size)),
        ("workgroup_lanes", u64::from(limits.max_compute_invocations_per_workgroup)),
        ("workgroups", u64::from(limits.max_compute_workgroups_per_dimension)),
        ("binding_bytes", limits.max_storage_buffer_binding_size),
        ("buffer_bytes", limits.max_buffer_size),
        ("storage_buffers", u64::from(limits.max_storage_buffers_per_shader_stage)),
    ]
    .into();
}

/// States the adapter, whose canaries have passed.
pub(super) fn device(headless: &Headless) -> Finding {
    let info = headless.adapter_info();
    let text = format!("{}, {} {}", info.name, info.driver, info.driver_info);
    let loops = match headless.canaries().loop_limit {
        None => String::new(),
        Some(limit) => format!("; stops loops at {limit} trips, so that frames are split"),
    };
    let finding = Finding::new("device", Verdict::Ok, format!("{text}; canaries pass{loops}"));
    if is_software(info) {
        return Finding { verdict: Verdict::Slow, ..finding }
            .advise("it computes on the CPU: `--backend cpu` is faster");
    }
    finding
}

/// Lanes exchange rows of storage across barriers.
pub(super) fn exchange(patient: &Patient) -> Result<Finding, String> {
    let lanes = 256.min(patient.headless.device().limits().max_compute_invocations_per_workgroup);
    let rows = run(patient, "exchange", u64::from(2 * lanes), Some(lanes), |pass| {
        pass.dispatch_workgroups(1, 1, 1);
    })?;
    let wrong: u64 = rows[lanes as usize..].iter().map(|count| u64::from(*count)).sum();
    let reason = (wrong > 0).then(|| format!("{wrong} rows of storage were old after a barrier"));
    let text = format!("{lanes} lanes see what others wrote before a barrier");
    Ok(Finding::judged("exchange", reason, text).with("wrong_rows", wrong as f64))
}

/// Each dispatch of a chain sees what the one before has written.
pub(super) fn dispatches(patient: &Patient) -> Result<Finding, String> {
    let chain = |pass: &mut wgpu::ComputePass<'_>| {
        for _ in 0..CHAIN {
            pass.dispatch_workgroups(1, 1, 1);
        }
    };
    let mut time = f64::INFINITY;
    let expected = (0..CHAIN).fold(0u32, |value, _| value.wrapping_mul(5).wrapping_add(1));
    let mut wrong = None;
    // The first run compiles.
    for _ in 0..3 {
        let begin = Instant::now();
        let rows = run(patient, "advance", 1, None, chain)?;
        time = time.min(1e3 * milliseconds(begin.elapsed()) / f64::from(CHAIN));
        if rows[0] != expected {
            wrong = Some(format!("a chain of {CHAIN} dispatches ended with {}", rows[0]));
        }
    }
    let text = format!("{CHAIN} in order, {time:.1} us each");
    let mut finding = Finding::judged("dispatches", wrong, text).with("dispatch_us", time);
    if finding.verdict == Verdict::Ok && time > SLOW_DISPATCH {
        finding.verdict = Verdict::Slow;
        finding = finding
            .advise("contact of triangles, many dispatches a frame, is faster with --backend cpu");
    }
    Ok(finding)
}

/// All workgroups of a dispatch run, and all their lanes.
pub(super) fn workgroups(patient: &Patient) -> Result<Finding, String> {
    let [x, y] = WORKGROUPS;
    let rows = run(patient, "count", 2, None, |pass| pass.dispatch_workgroups(x, y, 1))?;
    let expected = [x * y, 64 * x * y];
    let wrong = (rows != expected)
        .then(|| format!("{} of {} workgroups ran, {} lanes", rows[0], expected[0], rows[1]));
    Ok(Finding::judged("workgroups", wrong, format!("all {} of a dispatch run", expected[0])))
}

/// The last row of a large binding is written.
pub(super) fn bindings(patient: &Patient) -> Result<Finding, String> {
    let limits = patient.headless.device().limits();
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let rows = most.min(LARGEST_BINDING) / 4;
    let found = run(patient, "touch_last", rows, None, |pass| pass.dispatch_workgroups(1, 1, 1))?;
    let wrong = (found.last() != Some(&LAST))
        .then(|| format!("the last row of {} MiB was not written", rows >> 18));
    Ok(Finding::judged("bindings", wrong, format!("{} MiB are written to the end", rows >> 18)))
}

/// Runs a kernel on rows of zeros, and returns them.
fn run(
    patient: &Patient,
    name: &str,
    rows: u64,
    lanes: Option<u32>,
    dispatch: impl Fn(&mut wgpu::ComputePass<'_>),
) -> Result<Vec<u32>, String> {
    let (device, queue) = (patient.headless.device(), patient.headless.queue());
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("poplin.doctor"),
        source: wgpu::ShaderSource::Wgsl(TEXT.into()),
    });
    let constants: Vec<_> = [("LANES", f64::from(lanes.unwrap_or(1)))].into();
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(name),
        layout: None,
        module: &module,
        entry_point: Some(name),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &constants,
            ..Default::default()
        },
        cache: None,
    });
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("poplin.doctor"),
        size: 4 * rows,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    let layout = pipeline.get_bind_group_layout(0);
    // `count` alone takes atomics, which have a binding of their own.
    let binding = u32::from(name == "count");
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("poplin.doctor"),
        layout: &layout,
        entries: &[wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        dispatch(&mut pass);
    }
    queue.submit([encoder.finish()]);
    let refused = [memory, scope].map(|scope| pollster::block_on(scope.pop()));
    if let Some(error) = refused.into_iter().flatten().next() {
        return Err(format!("{name}: {error}"));
    }
    let bytes = patient.headless.read_buffer(&buffer).map_err(|error: Error| error.to_string())?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}
