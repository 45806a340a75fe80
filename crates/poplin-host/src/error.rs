//! Error of an engine.

use std::fmt;
use std::sync::Arc;

use poplin_model::ModelError;
use thiserror::Error;

use crate::NoSuchCloth;

/// Error of another library, for example of wgpu.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Rejected input, or failure of a simulation. Each message names the object, the value and the
/// limit. The causes of GPU errors are those of wgpu.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// Rejected user data.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Handle without a cloth.
    #[error(transparent)]
    NoSuchCloth(#[from] NoSuchCloth),
    /// Backend that is not compiled in.
    #[error("this build has no {backend} backend: enable the cargo feature `{feature}` of poplin")]
    NotBuilt {
        /// Name of the backend.
        backend: &'static str,
        /// Cargo feature of the backend.
        feature: &'static str,
    },
    /// Bytes that are no snapshot, or a snapshot that could not be written.
    #[cfg(feature = "save")]
    #[error(transparent)]
    Save(#[from] crate::SaveError),
    /// No GPU adapter of the requested kind.
    #[error(
        "no GPU adapter found ({wanted}); install a Vulkan, Metal or DX12 driver, on Debian or Ubuntu without a GPU: apt install mesa-vulkan-drivers"
    )]
    NoAdapter {
        /// Requested adapter.
        wanted: WantedAdapter,
    },
    /// GPU adapter that could not create a device.
    #[error("adapter {adapter} cannot create a device: {source}")]
    NoDevice {
        /// Name of the adapter.
        adapter: String,
        /// Reason.
        source: Cause,
    },
    /// GPU device below WebGPU's default limits.
    #[error("{limit} is {value} on this device; poplin needs at least {needed}")]
    LimitTooLow {
        /// Name of the limit in wgpu.
        limit: &'static str,
        /// Value on the device.
        value: u64,
        /// Value that poplin needs.
        needed: u64,
    },
    /// GPU buffer beyond the size that the device binds.
    #[error("{buffer} needs {bytes} bytes; this device binds at most {limit}")]
    TooLarge {
        /// Name of the buffer.
        buffer: &'static str,
        /// Required size \[bytes\].
        bytes: u64,
        /// Limit of the device \[bytes\].
        limit: u64,
    },
    /// GPU without memory for a buffer; nothing was changed.
    #[error("the GPU has no memory left for {buffer}, which needs {bytes} bytes")]
    OutOfMemory {
        /// Name of the buffer.
        buffer: &'static str,
        /// Required size \[bytes\].
        bytes: u64,
    },
    /// Kernel that the GPU device refuses.
    #[error("the GPU driver does not compile the kernel {kernel}: {source}")]
    NotCompiled {
        /// Name of the kernel.
        kernel: &'static str,
        /// Reason.
        source: Cause,
    },
    /// GPU device that is gone: a driver that was reset or updated, or a GPU that was removed. Its
    /// contents are lost; a snapshot continues on another engine.
    #[error("the GPU device is lost: {reason}; continue from a snapshot on another engine")]
    DeviceLost {
        /// Reason, in the words of the driver.
        reason: String,
    },
    /// Solver that no GPU engine has.
    #[error("solver.{solver} runs on the CPU only: choose the backend `cpu`, or another solver")]
    OnlyOnCpu {
        /// Name of the solver.
        solver: &'static str,
    },
    /// Cloth whose iteration needs more loop trips than the GPU driver runs.
    #[error(
        "one iteration of the cloth needs {trips} loop trips per lane; this driver stops at {limit}"
    )]
    LoopTooLong {
        /// Required trips.
        trips: u64,
        /// Trips that the driver runs.
        limit: u64,
    },
    /// GPU adapter that computed a wrong result in a canary kernel and cannot be trusted.
    #[error("adapter {adapter} failed the {canary} canary: {source}")]
    CanaryFailed {
        /// Name of the adapter.
        adapter: String,
        /// Name of the canary.
        canary: &'static str,
        /// Expected and actual value.
        source: WrongValue,
    },
    /// Error that the GPU device reported asynchronously.
    #[error("GPU error: {0}")]
    Device(#[source] Cause),
    /// Failed wait for the GPU device.
    #[error("waiting for the GPU failed: {0}")]
    Poll(#[source] Cause),
    /// GPU device that did not finish in time.
    #[error("the GPU did not finish within {seconds} s")]
    Timeout {
        /// Length of the wait \[s\].
        seconds: u64,
    },
    /// GPU buffer that could not be read back.
    #[error("read-back failed: {0}; the device may be lost")]
    Readback(#[source] Cause),
    /// Handle of a removed render mesh.
    #[error("no such render mesh: it was removed")]
    NoSuchRenderMesh,
    /// Render target that lines cannot be drawn into.
    #[error("cannot draw into {format} with {sample_count} samples: {why}")]
    Target {
        /// Format of the target, in wgpu's notation.
        format: String,
        /// Sample count of the target.
        sample_count: u32,
        /// Reason.
        why: &'static str,
    },
    /// GPU buffer of the application that is too short.
    #[error("{buffer} has {bytes} bytes; it needs {needed}")]
    ShortBuffer {
        /// Name of the buffer.
        buffer: &'static str,
        /// Present size \[bytes\].
        bytes: u64,
        /// Required size \[bytes\].
        needed: u64,
    },
}

/// Kind of GPU adapter that was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WantedAdapter {
    /// Any adapter.
    Any,
    /// Real GPU, no software adapter.
    RealGpu,
    /// Adapter whose name contains a text.
    Named {
        /// Text in the name.
        name: String,
        /// Names of the present adapters.
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

/// First wrong value of a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("value {index} of {count} is {actual:#x}, not {expected:#x}")]
pub struct WrongValue {
    /// Index of the value.
    pub index: usize,
    /// Number of values of the canary.
    pub count: usize,
    /// Expected bits.
    pub expected: u32,
    /// Actual bits.
    pub actual: u32,
}
