//! What can go wrong on the GPU side.

use std::fmt;
use std::sync::Arc;

use poplin_host::NoSuchCloth;
use poplin_model::ModelError;
use thiserror::Error;

/// Why a GPU operation failed. Each message says what, where and the limit.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// User data was rejected before it reached the GPU.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No adapter of the wanted kind.
    #[error(
        "no GPU adapter found ({wanted}); install a Vulkan, Metal or DX12 driver, on Debian or Ubuntu without a GPU: apt install mesa-vulkan-drivers"
    )]
    NoAdapter {
        /// What was looked for.
        wanted: WantedAdapter,
    },
    /// The adapter refused to create a device.
    #[error("adapter {adapter} gave no device: {source}")]
    NoDevice {
        /// The adapter.
        adapter: String,
        /// What wgpu said.
        source: wgpu::RequestDeviceError,
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
    #[error("adapter {adapter} failed the {canary} canary: {source}")]
    CanaryFailed {
        /// The adapter.
        adapter: String,
        /// Which canary.
        canary: &'static str,
        /// Expected and got.
        source: WrongValue,
    },
    /// wgpu reported an error out of band.
    #[error("GPU error: {0}")]
    Device(#[source] Arc<wgpu::Error>),
    /// The device could not be waited for.
    #[error("the GPU cannot be waited for: {0}")]
    Poll(#[source] Arc<wgpu::PollError>),
    /// The GPU did not finish in time.
    #[error("the GPU did not finish within {seconds} s")]
    Timeout {
        /// How long was waited \[s\].
        seconds: u64,
    },
    /// A buffer could not be read back.
    #[error("read-back failed: {0}")]
    Readback(#[from] ReadbackError),
    /// No cloth has this handle.
    #[error(transparent)]
    NoSuchCloth(#[from] NoSuchCloth),
    /// No render mesh has this handle: it was removed.
    #[error("there is no such render mesh; it was removed")]
    NoSuchRenderMesh,
    /// A target that lines cannot be drawn into.
    #[error("cannot draw into {format:?} with {sample_count} samples: {why}")]
    Target {
        /// Its format.
        format: wgpu::TextureFormat,
        /// Its samples.
        sample_count: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// A buffer of the application is too short.
    #[error("{buffer} has {bytes} bytes; it needs {needed}")]
    ShortBuffer {
        /// The buffer.
        buffer: &'static str,
        /// Its size \[bytes\].
        bytes: u64,
        /// What is needed \[bytes\].
        needed: u64,
    },
}

/// Which adapter was looked for when there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WantedAdapter {
    /// Any.
    Any,
    /// A real GPU, no software adapter.
    RealGpu,
    /// One whose name contains a text.
    Named {
        /// The text.
        name: String,
        /// Names of the adapters that there are.
        present: Vec<String>,
    },
}

impl fmt::Display for WantedAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => write!(f, "wanted any"),
            Self::RealGpu => write!(f, "wanted a real GPU"),
            Self::Named { name, present } => {
                write!(f, "wanted one named like `{name}`; there are: {}", present.join(", "))
            }
        }
    }
}

/// The first value of a canary that is not as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("value {index} of {count} is {actual:#x}, not {expected:#x}")]
pub struct WrongValue {
    /// Its index.
    pub index: usize,
    /// How many values the canary has.
    pub count: usize,
    /// Its bits as they should be.
    pub expected: u32,
    /// Its bits as they are.
    pub actual: u32,
}

/// Why a buffer could not be read back.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ReadbackError {
    /// The buffer could not be mapped: the device was lost.
    #[error("{0}; the device may be lost")]
    NotMapped(#[from] wgpu::BufferAsyncError),
    /// The mapped bytes could not be reached.
    #[error("{0}")]
    NoRange(#[from] wgpu::MapRangeError),
    /// The device was dropped or did not answer.
    #[error("the device did not answer")]
    NoAnswer,
}
