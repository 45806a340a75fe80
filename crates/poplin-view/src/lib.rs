//! A viewer of the poplin cloth engine: a scene in a window or in a picture, to watch, grab and tune while it runs.
//!
//! - [`Scenes`] and [`Show`] are what the program provides: scenes to choose from, and one in simulation.
//! - [`Viewer`] draws one into a texture, with a panel, and reacts to input; it knows no window.
//! - [`open_window`] puts it into a window, [`Screenshot`] into a picture.

mod body;
mod drawn_scene;
mod error;
mod gpu;
mod held;
mod history;
mod lines;
mod panel;
mod picture;
mod pipelines;
mod render_meshes;
mod renderer;
mod show;
mod strain;
mod tuning;
mod uniform;
mod viewer;
mod window;

pub use error::ViewError;
pub use gpu::Gpu;
pub use lines::LineLayers;
pub use picture::Screenshot;
pub use poplin_io::picture::Orbit;
pub use show::{Scenes, Show, ShowError, ShownCloth};
pub use viewer::{FORMAT, Viewer};
pub use window::open_window;
