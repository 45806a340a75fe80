//! Cloth by backward Euler: energies, the objective of a step, and solvers for it.

mod block;
mod cloth;
mod conjugate_gradients;
mod face_angle;
mod hinge;
mod isometric;
mod law;
mod newton;
mod objective;
mod plane_projection;
mod seed_loop;
mod sheet;
mod spring;
mod step_control;
mod stretch_shear;
mod trispring;

pub use cloth::ImplicitCloth;
pub use conjugate_gradients::{MinimizeOptions, Minimum, Mixing, Outcome, minimize};
pub use face_angle::FaceAngle;
pub use isometric::Isometric;
pub use law::{Element, Law};
pub use newton::{NewtonMinimum, Preconditioner, minimize_by_newton};
pub use objective::{ContactPlane, Objective};
pub use plane_projection::PlaneProjection;
pub use seed_loop::{SeedLoop, SeedOutcome, run_seed_loop};
pub use sheet::{
    BendModel, Diagonals, GridSheet, bends, stretch_shear, triangle_masses, trisprings,
};
pub use spring::Spring;
pub use step_control::{ImplicitFeedback, ImplicitSettings, ImplicitSimulation, StepControl};
pub use stretch_shear::StretchShear;
pub use trispring::Trispring;
