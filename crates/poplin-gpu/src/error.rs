//! What can go wrong on the GPU side.

use poplin_host::NoSuchCloth;
use poplin_model::ModelError;
use thiserror::Error;

/// Why a GPU operation failed. Each message says what, where and the limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// User data was refused before it reached the GPU.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No adapter of the wanted kind.
    #[error(
        "no GPU adapter found ({wanted}); install a Vulkan, Metal or DX12 driver, on Debian or Ubuntu without a GPU: apt install mesa-vulkan-drivers"
    )]
    NoAdapter {
        /// What was looked for.
        wanted: String,
    },
    /// The adapter refused to give a device.
    #[error("adapter {adapter} gave no device: {message}")]
    NoDevice {
        /// The adapter.
        adapter: String,
        /// wgpu's message.
        message: String,
    },
    /// The adapter is below WebGPU's default limits.
    #[error("{limit} is {value} on this device; poplin needs at least {needed}")]
    LimitTooLow {
        /// The limit, as wgpu names it.
        limit: &'static str,
        /// What the device has.
        value: u64,
        /// What poplin needs.
        needed: u64,
    },
    /// A buffer would grow beyond what the adapter binds.
    #[error("{buffer} needs {bytes} bytes; this device binds at most {limit}")]
    TooLarge {
        /// The buffer.
        buffer: &'static str,
        /// Its size \[bytes\].
        bytes: u64,
        /// The device's limit \[bytes\].
        limit: u64,
    },
    /// One iteration of a cloth needs more loop trips than the driver runs.
    #[error(
        "one iteration of the cloth needs {trips} loop trips per lane; this driver stops at {limit}"
    )]
    LoopTooLong {
        /// Trips needed.
        trips: u64,
        /// Trips that the driver runs.
        limit: u64,
    },
    /// A canary kernel gave a wrong result: the adapter cannot be trusted.
    #[error("adapter {adapter} failed the {canary} canary: {message}")]
    CanaryFailed {
        /// The adapter.
        adapter: String,
        /// Which canary.
        canary: &'static str,
        /// Expected and got.
        message: String,
    },
    /// wgpu reported an error out of band.
    #[error("GPU error: {0}")]
    Device(String),
    /// The GPU did not finish in time.
    #[error("the GPU did not finish within {seconds} s")]
    Timeout {
        /// How long was waited \[s\].
        seconds: u64,
    },
    /// A buffer could not be read back.
    #[error("read-back failed: {0}")]
    Readback(String),
    /// The handle stands for no cloth.
    #[error(transparent)]
    NoSuchCloth(#[from] NoSuchCloth),
}
