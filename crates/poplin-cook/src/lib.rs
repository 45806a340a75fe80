//! Cooks triangle and quad meshes into fabrics: what [`cook()`] does, in the order in which it does it.
//!
//! | step | module | what it decides |
//! |---|---|---|
//! | weld | `weld` | which vertices coincide |
//! | clean | `surface` | which faces and vertices are worth keeping |
//! | weigh | `mass` | inverse masses and pins |
//! | connect | `topology` | edges, rims, connected parts |
//! | pair | `quadify` | which triangles are really one quad |
//! | type | `edges`, `bending` | stretch, shearing or bending |
//! | measure | `triangle_shapes` | what each triangle is like at rest, along the vertical and across |
//! | chain | `straight`, `chains` | which edges continue each other |
//! | thread | `grain`, `runs`, `fibers`, `thread` | what is vertical or horizontal, and pieces for one lane each |
//! | colour | `sets` | which fibers run at the same time |
//! | tether | `geodesic`, `tethers` | how far particles may stray from the pins |
//! | bend | `bends` | which triangles bend against each other |
//! | spread | `virtual_particles` | which points of triangles collide too |
//!
//! Fibers and sets are those of Kim, "Character Clothing in PhysX-3", 2011, which does not say how they are found.
//!
//! ```
//! use poplin_cook::{CookOptions, cook};
//! use poplin_model::Mesh;
//!
//! // A square metre, hung by two corners.
//! let mesh = Mesh::grid(32, 32, 1.0, 1.0);
//! let cooked = cook(&mesh, &CookOptions { pins: vec![0, 31], ..CookOptions::default() })?;
//! assert_eq!(cooked.report.pinned_count, 2);
//! assert_eq!(cooked.fabric.tethers_per_particle, 2);
//! cooked.into_cloth().validate()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bending;
mod bends;
mod breadths;
mod chains;
mod choices;
mod cook;
mod csr;
mod cut;
mod edges;
mod error;
mod fibers;
mod geodesic;
mod grain;
mod lengths;
mod mass;
mod options;
mod quadify;
mod render_mesh;
mod report;
mod runs;
mod sets;
mod skin;
mod solids;
mod straight;
mod surface;
mod tethers;
mod thread;
mod topology;
mod triangle_shapes;
mod triangle_tree;
mod virtual_particles;
mod weld;

pub use choices::{Direction, Tethers, VirtualParticles, Weld};
pub use cook::{Cooked, cook};
pub use error::CookError;
pub use geodesic::path_lengths;
pub use lengths::FiberLengths;
pub use options::CookOptions;
pub use render_mesh::RenderMeshOptions;
pub use report::{CookReport, PhaseReport};
pub use skin::{Skin, SkinOptions, SkinReport};
pub use solids::{Contact, Solids};
pub use triangle_tree::{NearestTriangle, TriangleTree};
