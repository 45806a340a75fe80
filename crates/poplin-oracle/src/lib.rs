//! Independent `f64` version of every constraint, from its paper and in its plainest form. It
//! shares no code with the stages.

mod bend;
mod contact;
mod distance;
pub mod implicit;
mod integrate;
mod polyhedron;
mod round_cone;
mod self_collide;
mod semi_implicit;
mod sphere;
mod sweep;
mod tether;
mod triangle_contact;
mod triangle_mesh;
mod vector;
mod wind;
mod yarn;

pub use bend::{BendStep, bend_angle, bend_gradient, solve_bend};
pub use contact::{coulomb, weigh_pushed};
pub use distance::{SoftRange, project_distance};
pub use integrate::integrate;
pub use polyhedron::{WayOut, leave_convex, leave_parallelepiped};
pub use round_cone::{RoundConeTouch, ShapeTouches, Sphere, touch_round_cone, touch_shapes};
pub use self_collide::{Apartness, Member, push_apart};
pub use semi_implicit::{Chain, ChainSolution, solve_chain};
pub use sphere::{keep_inside, keep_outside};
pub use sweep::{PolyhedronSweep, SideSweep, Sweep, sweep_convex, sweep_side, sweep_sphere};
pub use tether::constrain_to_anchors;
pub use triangle_contact::{NearPairs, near_pairs, point_triangle, segment_segment};
pub use triangle_mesh::{NearTriangle, nearest_triangle};
pub use wind::{Air, air_impulse};
pub use yarn::{YarnStep, solve_yarn};
