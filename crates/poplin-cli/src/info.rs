//! `poplin info`: adapters of this machine, and the one that poplin would use.

use poplin::gpu::{
    AdapterReport, Headless, HeadlessOptions, WrongValue, is_software, list_adapters, wgpu,
};
use poplin::{Backend, Simulation};
use poplin_run::{Failure, grouped};

use crate::failure::Exit;
use crate::output::say;

/// Lists adapters with limits, tiers and canary results, then the choice of `--backend auto`.
pub(crate) fn info() -> Result<Exit, Failure> {
    let adapters = list_adapters();
    if adapters.is_empty() {
        say!("no GPU adapter found: install a Vulkan, Metal or DX12 driver;");
        say!(
            "without a GPU, install a (slow) software adapter: on Debian or Ubuntu `apt install mesa-vulkan-drivers`"
        );
    }
    for (index, adapter) in adapters.iter().enumerate() {
        describe(index, adapter);
    }
    let simulation = Simulation::new(Backend::Auto)?;
    say!("--backend auto: {}", simulation.backend());
    Ok(Exit::Success)
}

fn describe(index: usize, adapter: &wgpu::Adapter) {
    let report = AdapterReport::new(adapter);
    let (info, limits) = (&report.info, &report.limits);
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete GPU",
        wgpu::DeviceType::IntegratedGpu => "integrated GPU",
        wgpu::DeviceType::VirtualGpu => "virtual GPU",
        wgpu::DeviceType::Cpu => "software adapter on the CPU",
        wgpu::DeviceType::Other => "adapter of unknown type",
    };
    say!("adapter {index}: {}", info.name);
    row("type", format_args!("{kind}, {:?}, {} {}", info.backend, info.driver, info.driver_info));
    row(
        "workgroup",
        format_args!(
            "{} bytes of memory, {} invocations",
            grouped(limits.max_compute_workgroup_storage_size as usize),
            limits.max_compute_invocations_per_workgroup
        ),
    );
    row(
        "storage",
        format_args!(
            "{} buffers per stage, at most {} bytes in a binding",
            limits.max_storage_buffers_per_shader_stage,
            grouped(limits.max_storage_buffer_binding_size as usize)
        ),
    );
    describe_tiers(&report);
    describe_canaries(adapter);
    say!("");
}

/// Prints the tiers with the cloth sizes that each takes, from the smallest.
fn describe_tiers(report: &AdapterReport) {
    let mut smallest = 1;
    loop {
        let tier = report.tier_limits.choose_tier(smallest);
        let count = grouped(usize::try_from(report.particles_in(tier)).unwrap_or(usize::MAX));
        let Some(capacity) = report.tier_limits.particles_in(tier) else {
            return row(
                tier.name(),
                format_args!(
                    "larger cloths, up to {count} particles if their fabric fits a binding too"
                ),
            );
        };
        row(tier.name(), format_args!("cloths up to {count} particles"));
        smallest = capacity.max(smallest) + 1;
    }
}

fn describe_canaries(adapter: &wgpu::Adapter) {
    let headless = match Headless::with_adapter(adapter, HeadlessOptions::default()) {
        Ok(headless) => headless,
        Err(error) => return row("refused", format_args!("{error}")),
    };
    row("canaries", format_args!("{}", canary_line(&headless)));
    let note = if is_software(headless.adapter_info()) {
        "only on request: `--backend gpu`"
    } else {
        "yes"
    };
    row("usable", format_args!("{note}"));
}

/// Formats the canary results of a device that passed, with their consequences.
pub(crate) fn canary_line(headless: &Headless) -> String {
    let canaries = headless.canaries();
    let verdict = |verdict: &Result<(), WrongValue>| match verdict {
        Ok(()) => "ok".to_owned(),
        Err(error) => error.to_string(),
    };
    let loops = match canaries.loop_limit {
        None => "ok".to_owned(),
        Some(limit) => format!("stops at {limit} trips, so frames are split into more dispatches"),
    };
    let kept = |is_kept: bool| if is_kept { "kept" } else { "flushed to 0" };
    format!(
        "tests for NaN {}; barrier scan {}; index bits {}; long loop {loops}; subnormal floats {} when passed, {} when added",
        verdict(&canaries.nan),
        verdict(&canaries.barrier),
        verdict(&canaries.indices),
        kept(canaries.subnormals.are_passed),
        kept(canaries.subnormals.are_added)
    )
}

fn row(name: &str, text: std::fmt::Arguments<'_>) {
    say!("  {name:<14}{text}");
}
