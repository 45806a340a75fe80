//! Viewer of the poplin cloth engine: shows a scene in a window or a picture, and lets the user
//! grab and tune its cloths.
//!
//! - [`Scenes`] and [`Show`], implemented by the program, are its scenes and one in simulation.
//! - [`Viewer`] draws a scene and a panel into a texture and handles input, without a window.
//! - [`open_window`] shows a viewer in a window, [`Screenshot`] writes its picture.

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
pub use poplin_picture::Orbit;
pub use show::{Scenes, Show, ShowError, ShownCloth};
pub use viewer::{FORMAT, Viewer};
pub use window::open_window;
