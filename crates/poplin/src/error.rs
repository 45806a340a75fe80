//! Errors of a simulation.

use poplin_host::{HostError, NoSuchCloth};
use poplin_model::ModelError;
use thiserror::Error;

/// Rejected input or failure of a simulation.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// User data was rejected.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The GPU backend rejected its input or failed.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(poplin_gpu::GpuError),
    /// The backend is not compiled in.
    #[error("this build has no {backend} backend: enable the cargo feature `{feature}` of poplin")]
    NotBuilt {
        /// The backend.
        backend: &'static str,
        /// Its cargo feature.
        feature: &'static str,
    },
    /// The bytes are not a snapshot, or a snapshot could not be written.
    #[cfg(feature = "save")]
    #[error(transparent)]
    Save(#[from] poplin_host::SaveError),
    /// No cloth with this handle exists.
    #[error(transparent)]
    NoSuchCloth(#[from] NoSuchCloth),
}

impl From<HostError> for Error {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Model(error) => Self::Model(error),
            HostError::NoSuchCloth(error) => Self::NoSuchCloth(error),
        }
    }
}

#[cfg(feature = "gpu")]
impl From<poplin_gpu::GpuError> for Error {
    fn from(error: poplin_gpu::GpuError) -> Self {
        match error {
            poplin_gpu::GpuError::Model(error) => Self::Model(error),
            poplin_gpu::GpuError::NoSuchCloth(error) => Self::NoSuchCloth(error),
            error => Self::Gpu(error),
        }
    }
}
