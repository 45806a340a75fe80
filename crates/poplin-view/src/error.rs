//! What can go wrong with a viewer.

use std::error::Error;

use thiserror::Error;

/// Why a scene cannot be shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// No adapter can draw.
    #[error(
        "no adapter to draw with: install a GPU driver, or Mesa's software one (mesa-vulkan-drivers)"
    )]
    NoAdapter,
    /// The adapter yields no device.
    #[error("the adapter {adapter} yields no device: {source}")]
    NoDevice {
        /// Its name.
        adapter: String,
        /// What it said.
        source: wgpu::RequestDeviceError,
    },
    /// There is nowhere to open a window.
    #[error("no display: set DISPLAY or WAYLAND_DISPLAY, or use --screenshot")]
    NoDisplay,
    /// The window could not be opened.
    #[error("cannot open a window: {0}")]
    Window(String),
    /// Nothing can be drawn into the window.
    #[error("cannot draw into the window: {0}")]
    Surface(String),
    /// The device stopped to answer.
    #[error("the device does not answer: {0}")]
    Device(String),
    /// A picture of a size that cannot be drawn.
    #[error("a picture of {width} x {height} pixels is outside 1..={limit} on a side")]
    Size {
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
        /// Most pixels on a side.
        limit: u32,
    },
    /// A picture could not be written.
    #[error(transparent)]
    Picture(#[from] poplin_io::IoError),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] poplin::Error),
    /// A setting was refused.
    #[error(transparent)]
    Setting(#[from] poplin_model::ModelError),
    /// The scene says what is wrong.
    #[error(transparent)]
    Show(#[from] Box<dyn Error + Send + Sync>),
}
