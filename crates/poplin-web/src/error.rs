//! Errors of the page.

use poplin::NoSuchCloth;
use poplin::cook::CookError;
use poplin::gpu::wgpu;
use poplin::model::ModelError;
use thiserror::Error;

use crate::NAMES;

/// Error that stops the page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WebError {
    /// No scene has this name.
    #[error("there is no scene `{name}`; available: {}", NAMES.join(", "))]
    NoSuchScene {
        /// Requested name.
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
    Engine(#[from] poplin::Error),
    /// The scene has lost its cloth.
    #[error(transparent)]
    Cloth(#[from] NoSuchCloth),
    /// The browser has no WebGPU adapter.
    #[error("the browser offers no WebGPU adapter: {source}")]
    NoAdapter {
        /// Error of wgpu.
        #[from]
        source: wgpu::RequestAdapterError,
    },
    /// No device can be opened on the adapter.
    #[error("cannot open a device on the WebGPU adapter: {source}")]
    NoDevice {
        /// Error of wgpu.
        #[from]
        source: wgpu::RequestDeviceError,
    },
    /// No surface can be created on the canvas.
    #[error("cannot draw to the canvas: {source}")]
    NoSurface {
        /// Error of wgpu.
        #[from]
        source: wgpu::CreateSurfaceError,
    },
    /// The device supports no format of the canvas.
    #[error("the device supports no format of the canvas")]
    NoFormat,
    /// The device reported an error.
    #[error("the device reports an error: {message}")]
    Device {
        /// Message of the device.
        message: String,
    },
}
