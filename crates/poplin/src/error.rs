//! What can go wrong in a simulation.

use poplin_model::ModelError;
use thiserror::Error;

/// Why a simulation refused or failed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// User data was refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The GPU backend refused or failed.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(poplin_gpu::GpuError),
    /// The backend was not compiled in.
    #[error("this build has no {backend} backend: enable the cargo feature `{feature}` of poplin")]
    NotBuilt {
        /// The backend.
        backend: &'static str,
        /// Its cargo feature.
        feature: &'static str,
    },
    /// There is no cloth of this number.
    #[error("no cloth {cloth}; there are {count}")]
    NoSuchCloth {
        /// The number.
        cloth: usize,
        /// How many there are.
        count: usize,
    },
}

#[cfg(feature = "cpu")]
impl From<poplin_reference::NoSuchCloth> for Error {
    fn from(error: poplin_reference::NoSuchCloth) -> Self {
        Self::NoSuchCloth { cloth: error.cloth, count: error.count }
    }
}

#[cfg(feature = "gpu")]
impl From<poplin_gpu::GpuError> for Error {
    fn from(error: poplin_gpu::GpuError) -> Self {
        match error {
            poplin_gpu::GpuError::Model(error) => Self::Model(error),
            poplin_gpu::GpuError::NoSuchCloth { cloth, count } => {
                Self::NoSuchCloth { cloth, count }
            }
            error => Self::Gpu(error),
        }
    }
}
