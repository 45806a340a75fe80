//! What can go wrong on the page.

use poplin::NoSuchCloth;
use poplin::cook::CookError;
use poplin::gpu::GpuError;
use poplin::gpu::wgpu;
use poplin::model::ModelError;
use thiserror::Error;

use crate::NAMES;

/// Why the page stands still.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WebError {
    /// There is no scene of that name.
    #[error("there is no scene `{name}`; there are {}", NAMES.join(", "))]
    NoSuchScene {
        /// What was asked for.
        name: String,
    },
    /// A scene cannot be cooked.
    #[error(transparent)]
    Cook(#[from] CookError),
    /// A setting is out of range.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The engine failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The scene has lost its cloth.
    #[error(transparent)]
    Cloth(#[from] NoSuchCloth),
    /// The browser has no WebGPU adapter.
    #[error("the browser offers no WebGPU adapter: {source}")]
    NoAdapter {
        /// What wgpu said.
        #[from]
        source: wgpu::RequestAdapterError,
    },
    /// The adapter yields no device.
    #[error("the WebGPU adapter yields no device: {source}")]
    NoDevice {
        /// What wgpu said.
        #[from]
        source: wgpu::RequestDeviceError,
    },
    /// The canvas cannot be drawn to.
    #[error("the canvas cannot be drawn to: {source}")]
    NoSurface {
        /// What wgpu said.
        #[from]
        source: wgpu::CreateSurfaceError,
    },
    /// The canvas has no format that the device draws.
    #[error("the canvas has no format that the device draws")]
    NoFormat,
    /// The device has reported an error.
    #[error("the device has reported an error: {message}")]
    Device {
        /// What it said.
        message: String,
    },
}
