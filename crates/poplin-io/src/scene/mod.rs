//! Scene files: cloths, pins, settings and animation in TOML.
//!
//! ```toml
//! title = "Flag"
//! frames = 120                  # default 120
//! frame_rate = 60.0             # [1/s], default 60
//!
//! [[cloth]]
//! name = "flag"
//! grid = { columns = 48, rows = 32, width = 1.5, height = 1.0 }
//! density = 0.2                 # [kg/m^2]
//! pins = ["left:1%"]
//! config = { damping = [0.1, 0.1, 0.1], solver_frequency = 300 }
//! fabric = { tethers = "geodesic" }
//! phases = { bending = { stiffness = 0.2 } }
//! ```
//!
//! [`Scene::load`] reads one, [`Scene::build_cloth`] makes the mesh and the pins of a cloth. Every key is a field of the
//! types here; unknown keys are errors.

mod animation;
mod build;
mod cloth;
mod error;
mod file;
mod locate;
mod pin;
mod shape;
mod validate;

pub use animation::{AnimatedPins, Keyframe};
pub use build::{BuiltCloth, MovingPins};
pub use cloth::{FabricOptions, PhaseOptions, PhaseSettings, Scene, SceneCloth, Tethers, WarpDirection};
pub use error::{Location, PinError, SceneError};
pub use pin::{Corner, PinRule, Side};
pub use shape::{GridPlane, GridShape, Shape, Transform, TubeShape};

/// Most particles of a whole scene, all copies of all cloths together: 4 GiB of positions and inverse masses.
pub const MAX_SCENE_PARTICLES: usize = 1 << 28;
