//! Contact sheets: moments of a simulation side by side in one PNG, drawn on the CPU.
//!
//! ```no_run
//! use poplin_picture::{ContactSheet, Surface, cloth_color};
//! # fn example(
//! #     positions: Vec<[f32; 3]>,
//! #     triangles: Vec<[u32; 3]>,
//! # ) -> Result<(), poplin_picture::PictureError> {
//! let mut sheet = ContactSheet::new(4, 2, 400)?;
//! sheet.add("frame 15  0.25 s", vec![Surface::new(positions, triangles, cloth_color(0))])?;
//! sheet.write_png("flag.png")
//! # }
//! ```

mod background;
mod camera;
mod color;
mod curve;
mod error;
mod label;
mod line;
mod mosaic;
mod orbit;
mod raster;
mod reel;
mod shading;
mod shadow;
mod sheet;
mod solid;
pub mod studio;
mod surface;
mod temporary;
mod tile;
mod visibility;

pub use camera::{Camera, fitting_view};
pub use color::{Color, cloth_color, line_color};
pub use error::PictureError;
pub use line::Line;
pub use mosaic::MosaicTile;
pub use orbit::Orbit;
pub use poplin_model::View;
pub use reel::{Reel, ReelLook};
pub use sheet::{ContactSheet, Image};
pub use surface::Surface;
