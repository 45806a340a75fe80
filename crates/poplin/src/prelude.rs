//! Names that most programs need: `use poplin::prelude::*`.
//!
//! The trait [`Engine`](crate::Engine) comes without its name, which is left to
//! [`gpu::GpuEngine`](crate::gpu::GpuEngine).

pub use crate::cook::{CookOptions, cook};
pub use crate::model::{
    Air, Capsule, ClothConfig, ClothDesc, Collider, FixedStep, Material, Mesh, Particle, Plane,
    Pose, Shape, Solver, Sphere,
};
pub use crate::{
    Backend, Cloth, ClothId, Engine as _, ParticleMotion, Simulation, SimulationOptions, State,
};
