//! Plain data types of the poplin cloth engine: its inputs and reports.
//!
//! A [`Mesh`] is cooked (crate `poplin-cook`) into a [`Fabric`]; a [`ClothDesc`] is a fabric with
//! particles and settings. Types have plain
//! public fields and a `validate()` whose error names the field, its position and the limit. Units
//! are SI; inverse masses are in 1/kg, 0 = pinned.

mod arena;
mod cloth;
mod cloth_contact_solver;
mod collider_set;
mod config;
mod contact_report;
mod error;
mod fabric;
mod first_fit;
mod fixed_step;
mod frame;
mod hierarchy;
mod interaction_groups;
mod lane_cost;
mod material;
mod mesh;
mod particle;
mod placement;
mod pose;
mod render_mesh;
mod rigid_body;
mod shape;
mod solver_choice;
mod view;

pub use cloth::ClothDesc;
pub use cloth_contact_solver::{ClothContactSolver, ContactMode};
#[cfg(feature = "serde")]
pub use collider_set::StoredColliders;
pub use collider_set::{
    BodyId, Collider, ColliderId, ColliderMotion, ColliderSet, ColliderStamps, MAX_BODIES,
    MAX_SHAPES, ShapeKind,
};
pub use config::{
    Air, BendModel, ClothCollision, ClothConfig, Contact, FiberSolver, Implicit, ImplicitReport,
    Inertia, MAX_FREQUENCY, MAX_HALVINGS, MAX_LEVEL_ITERATIONS, MAX_NEWTON_STEPS,
    MAX_SOLVER_ITERATIONS, MAX_SUBSTEPS, Membrane, MotionConstraints, Multilevel, Pbd, PbdPhase,
    Phases, Preconditioner, SELF_COLLISION_REST_FRACTION, SelfCollision, Sleep, Solver,
    StretchModel, Tethers, Xpbd, XpbdPhase,
};
pub use contact_report::{ContactPartner, ContactReport, Trouble};
pub use error::{ModelError, check_finite, parse_name};
pub use fabric::{Bend, Fabric, Phase, PhaseKind, VirtualParticle, Wing, Yarn, YarnPoint};
pub use first_fit::FirstFitSets;
pub use fixed_step::{FixedStep, Steps};
pub use frame::check_dt;
pub use hierarchy::{Hierarchy, Level, Parents, Term};
pub use interaction_groups::InteractionGroups;
pub use lane_cost::LaneCost;
pub use material::Material;
pub use mesh::{CornerUvs, Mesh, halves_of_quad};
pub use particle::Particle;
pub use placement::{Placement, Rigid};
pub use pose::Pose;
pub use render_mesh::{Corners, MAX_RENDER_VERTICES, RenderMesh, RenderVertex, VertexBinding};
pub use rigid_body::{BodyImpulse, RigidBody};
pub use shape::{Capsule, Parallelepiped, Plane, Shape, Sphere, TriangleMesh};
pub use solver_choice::{Chosen, Hold, SolverChoice};
pub use view::{View, ViewError};

/// Largest particle count of one cloth; keeps indices exact in `f32` and buffers addressable.
pub const MAX_PARTICLES: usize = 1 << 24;

/// Largest coordinate \[m\] that is accepted or simulated; keeps squared lengths finite in `f32`.
pub const MAX_COORDINATE: f32 = 1.0e15;
