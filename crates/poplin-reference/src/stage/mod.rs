//! Twins of `shaders/stage`, one file per algorithm, statement by statement.

pub mod bend;
pub mod collide_body;
pub mod collide_box;
pub mod collide_continuous;
pub mod collide_convex;
pub mod collide_shape;
pub mod collide_triangle;
pub mod cyclic_reduction;
pub mod gauss_seidel;
pub mod integrate;
pub mod mass;
pub mod motion;
pub mod self_collide;
pub mod semi_implicit;
pub mod separation;
pub mod sleep;
pub mod tether;
pub mod virtual_particles;
pub mod wind;
