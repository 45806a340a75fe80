//! Choice of a backend by name.

use anyhow::anyhow;
use poplin::gpu::HeadlessOptions;
use poplin::{Backend, SimulationOptions};

use crate::failure::Failure;

/// Parses the name of a backend (`auto`, `gpu`, `cpu`) and part of the name of an adapter, which
/// implies the GPU.
///
/// # Errors
/// [`Failure::BadInput`] if there is no such backend, or an adapter is named for the CPU.
pub fn simulation_options(
    backend: &str,
    adapter: Option<String>,
) -> Result<SimulationOptions, Failure> {
    let backend = match (backend, &adapter) {
        ("cpu", Some(_)) => {
            return Err(Failure::BadInput(anyhow!(
                "--adapter names a GPU adapter and cannot be combined with --backend cpu"
            )));
        }
        ("cpu", None) => Backend::Cpu,
        ("gpu", _) | ("auto", Some(_)) => Backend::Gpu,
        ("auto", None) => Backend::Auto,
        (name, _) => {
            return Err(Failure::BadInput(anyhow!(
                "there is no backend `{name}`; there are auto, gpu, cpu"
            )));
        }
    };
    let gpu = HeadlessOptions { adapter_name: adapter, ..HeadlessOptions::default() };
    Ok(SimulationOptions { backend, gpu })
}
