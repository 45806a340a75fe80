//! Scene files: cloths, pins, settings, colliders and animation in TOML.
//!
//! ```toml
//! title = "Flag"
//! frames = 120                  # default 120
//! frame_rate = 60.0             # [1/s], default 60
//! formats = ["pc2"]             # of frames, default pc2
//!
//! [[cloth]]
//! name = "flag"
//! grid = { columns = 48, rows = 32, width = 1.5, height = 1.0 }
//! density = 0.2                 # [kg/m^2]
//! pins = ["left:1%"]
//! damping = [0.1, 0.1, 0.1]     # settings of a cloth are keys and tables of the cloth
//! fabric = { tethers = "geodesic" }   # cooking options, `poplin_cook::CookOptions`
//!
//! [cloth.solver.pbd]            # or [cloth.solver.xpbd], [cloth.solver.implicit]
//! frequency = 300               # [1/s]
//! phases.bending.stiffness = 0.2
//! ```
//!
//! Wind and a moving local space have their own tables:
//!
//! ```toml
//! [wind]                        # blows on every cloth; [cloth.wind] replaces it for one
//! velocity = [6.0, 0.0, 0.0]    # [m/s]
//! gust = { strength = 2.0, period = 0.8, seed = 1, direction_spread = 0.3 }
//!
//! [[cloth]]
//! tube = { segments = 48, rings = 24, top_radius = 0.2, bottom_radius = 0.4, height = 0.6 }
//! transform = { translation = [0.0, 1.0, 0.0] } # inside the local space
//! pins = "top:1%"               # pins move with the local space
//! air = { drag = 0.5, lift = 0.3 }
//! inertia = { linear = [0.8, 0.8, 0.8] }
//! frame = { keys = [
//!   { time = 0.0 },
//!   { time = 1.0, translation = [0.0, 0.0, 1.2], rotation = [0, 90, 0] }, # [m], [degrees]
//! ] }
//! ```
//!
//! Colliders are placed in the world and act on all cloths, or on the cloths that they name:
//!
//! ```toml
//! [[cloth]]
//! name = "sheet"
//! grid = { columns = 41, rows = 41, width = 1.0, height = 1.0, plane = "xz" }
//! transform = { translation = [-0.5, 0.8, -0.5] }
//! contact = { friction = 0.4 }
//! fabric = { virtual_particles = { spacing = 0.01 } } # or { per_triangle = 4 }
//!
//! [[collider]]
//! plane = { normal = [0, 1, 0], offset = 0.0 }  # solid where normal . x < offset
//!
//! [[collider]]
//! sphere = { radius = 0.2, center = [0.0, 0.3, 0.0] }
//!
//! [[collider]]                              # one shape each; also `cylinder`, `convex`, `mesh`
//! box = { size = [0.2, 0.4, 0.2] }              # [m]
//! transform = { translation = [0.4, 0.2, 0.0], rotation = [0, 30, 0] }
//!
//! [[collider]]
//! name = "arm"
//! capsule = { from = [0, 0, 0], to = [0, 0.4, 0], radii = [0.06, 0.04] } # or radius = 0.05
//! keys = [                                      # after `transform`; same as in `frame`
//!   { time = 0.0, translation = [-0.4, 0.0, 0.0] },
//!   { time = 1.0, translation = [-0.4, 0.0, 0.0], rotation = [0, 0, 40] },
//! ]
//! friction = 0.5                                # factor on the friction of the cloth (default 1)
//! cloths = ["sheet"]                            # default: all
//! ```
//!
//! Meshes of colliders move vertex by vertex if they have an animation or a point cache:
//!
//! ```text
//! [[collider]]
//! mesh = "character.glb"                        # glTF or GLB
//! animation = "Walk"                            # or its index: skins, nodes, morph targets
//! start = 0.5                                   # [s]; default: time of the first key
//! speed = 1.0
//! loop = true                                   # default: holds its last pose
//!
//! [[collider]]
//! mesh = "body.obj"
//! cache = "body.pc2"                            # or MDD, with the same vertex count
//! cache_rate = 24.0                             # [1/s] of PC2 (default: frame_rate)
//! ```
//!
//! Vertices can be animated, kept near or outside their rest positions, or accelerated, and
//! colliders can be rigid bodies:
//!
//! ```toml
//! [[cloth]]
//! name = "sheet"
//! grid = { columns = 41, rows = 41, width = 1.0, height = 1.0, plane = "xz" }
//! motion_spheres = [{ vertices = "right:50%", radii = [0.2, 0.0], from = "right" }] # or radius
//! separation_spheres = [{ vertices = "all", radius = 0.5, offset = 0.02 }]            # [m]
//! accelerations = [{ vertices = "front:10%", acceleration = [0, 5, 0] }] # or keys
//! animated_pins = [{ pins = "left:2%", pivot = [0, 0, 0.5], keys = [
//!   { time = 0.0 },
//!   { time = 1.0, translation = [0.1, 0, 0], rotation = [90, 0, 0] },
//! ] }]
//!
//! [[collider]]
//! sphere = { radius = 0.1, center = [0.5, 0.5, 0.5] }
//! body = { mass = 0.3 }         # [kg]
//! ```
//!
//! Cloths with a thickness collide with themselves and with one another:
//!
//! ```toml
//! [cloth_contact_solver]        # optional, for the whole scene
//! friction = 0.2                # also stiffness, iterations and every
//!
//! [[cloth]]
//! grid = { columns = 41, rows = 41, width = 1.0, height = 1.0, plane = "xz" }
//! thickness = 0.01              # [m]
//! cloth_collision = { group = 1, mask = 1 } # optional collision groups
//! count = 3
//! spacing = [0.0, 0.1, 0.0]
//! ```
//!
//! [`Scene::load`] reads a scene, [`Scene::check_text`] lists all faults of one,
//! [`Scene::build_cloth`] makes the mesh and the pins of a cloth, [`Scene::build_colliders`] makes
//! the colliders, and [`BuiltCollider::collider_at`] returns one at its position at a time. Every
//! key is a field of the types here; unknown keys are errors.

mod animation;
mod body;
mod build;
mod build_collider;
mod cloth;
mod collider;
mod distribution;
mod error;
mod extent;
mod file;
mod frame;
mod key_path;
mod keys;
mod locate;
mod lone;
mod mend;
mod mesh_motion;
mod moved;
mod pin;
mod save;
mod settings;
mod shape;
mod spheres;
mod surface;
mod sweep;
mod validate;
mod wind;

pub use animation::{AnimatedPins, MovingPins, PinMotion};
pub use body::{BuiltBody, SceneBody};
pub use build::BuiltCloth;
pub use build_collider::{BuiltCollider, groups_of_cloth};
pub use cloth::{DEFAULT_PERTURBATION, Scene, SceneCloth};
pub use collider::{
    BoxShape, CapsuleShape, ColliderShape, CylinderShape, PlaneShape, SceneCollider, SphereShape,
};
pub use error::{Location, PinError, SceneError};
pub use extent::Extent;
pub use file::{SceneCheck, read_scene_text};
pub use frame::{FrameKey, LocalFrame};
pub use key_path::PathError;
pub use keys::{SceneKey, keys_like, scene_keys, scene_schema, sweep_schema};
pub use lone::{KeysError, contact_solver_of_keys};
pub use mesh_motion::{MeshMotion, MotionSource};
pub use pin::{Corner, PinRule, Side};
pub use settings::{BaseSettings, Settings, is_live_setting};
pub use shape::{GridPlane, GridShape, Shape, Transform, TubeShape};
pub use spheres::{AccelerationKey, SceneAcceleration, SceneSpheres, VertexAcceleration};
pub use surface::{OpenSurface, Repairs, close_surface, compact_surface};
pub use sweep::{ArrayKind, MAX_JOBS, Sweep, SweepError, SweepJobError, SweepJobs, SweepOutput};
pub use wind::{Gust, Wind};

/// Maximum number of particles of a scene, all copies of all cloths together: 4 GiB of positions
/// and inverse masses.
pub const MAX_SCENE_PARTICLES: usize = 1 << 28;
