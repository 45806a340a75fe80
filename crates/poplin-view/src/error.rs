//! Errors of the viewer.

use std::error::Error;

use thiserror::Error;

/// Error of the viewer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// No adapter can draw.
    #[error(
        "no adapter can draw: install a GPU driver, or Mesa's software driver (mesa-vulkan-drivers)"
    )]
    NoAdapter,
    /// No device can be opened on the adapter.
    #[error("cannot open a device on the adapter {adapter}: {source}")]
    NoDevice {
        /// Name of the adapter.
        adapter: String,
        /// Error of wgpu.
        source: wgpu::RequestDeviceError,
    },
    /// No display for a window.
    #[error("no display: set DISPLAY or WAYLAND_DISPLAY, or use --screenshot")]
    NoDisplay,
    /// The window could not be opened.
    #[error("cannot open a window: {0}")]
    Window(String),
    /// The surface of the window cannot be used.
    #[error("cannot draw into the window: {0}")]
    Surface(String),
    /// The device does not answer.
    #[error("the device does not answer: {0}")]
    Device(String),
    /// Size of a picture out of range.
    #[error("a picture of {width} x {height} pixels is outside 1..={limit} on a side")]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// Largest number of pixels on a side.
        limit: u32,
    },
    /// A picture could not be written.
    #[error(transparent)]
    Picture(#[from] poplin_picture::PictureError),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] poplin::Error),
    /// A setting was rejected.
    #[error(transparent)]
    Setting(#[from] poplin::model::ModelError),
    /// The scene reports an error.
    #[error(transparent)]
    Show(#[from] Box<dyn Error + Send + Sync>),
}
