//! Cooks triangle and quad meshes into fabrics. [`cook()`] runs these steps in order:
//!
//! | step | module | result |
//! |---|---|---|
//! | weld | `weld` | coincident vertices merged |
//! | clean | `surface` | degenerate and duplicate faces and unused vertices removed |
//! | weigh | `mass` | inverse masses and pins |
//! | connect | `topology` | edges, boundaries, connected components |
//! | pair | `quadify` | pairs of triangles that form one quad |
//! | type | `edges`, `bending` | stretch, shear and bending edges |
//! | measure | `triangle_shapes` | rest shape of each triangle along warp and weft |
//! | chain | `straight`, `chains` | chains of edges that continue each other |
//! | thread | `grain`, `runs`, `fibers`, `thread` | vertical and horizontal fibers, one lane each |
//! | colour | `sets` | sets of fibers that run in parallel |
//! | tether | `geodesic`, `tethers` | largest distances from the pins |
//! | bend | `bends` | dihedral-angle constraints |
//! | spread | `virtual_particles` | additional collision points on triangles |
//! | coarsen | `levels` | coarser levels for the multilevel solver |
//!
//! Fibers and sets follow Kim, "Character Clothing in PhysX-3", 2011, which does not describe how
//! to find them.
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
mod cut;
mod edges;
mod error;
mod fibers;
mod geodesic;
mod grain;
mod lengths;
mod levels;
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
#[cfg(test)]
mod test_meshes;
mod tethers;
mod thread;
mod topology;
mod triangle_shapes;
mod virtual_particles;
mod yarns;

pub use choices::{Direction, Tethers, VirtualParticles, Weld, Yarns};
pub use cook::{Cooked, cook};
pub use error::CookError;
pub use geodesic::path_lengths;
pub use lengths::FiberLengths;
// No engine takes levels yet.
#[doc(hidden)]
pub use levels::coarsened;
pub use options::CookOptions;
pub use render_mesh::RenderMeshOptions;
pub use report::{CookReport, PhaseReport};
pub use skin::{Skin, SkinOptions, SkinReport};
pub use solids::{Contact, Solids};
