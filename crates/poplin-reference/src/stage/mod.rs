//! Twins of `shaders/stage`, one file per algorithm, statement by statement.

pub mod gauss_seidel;
pub mod integrate;
pub mod mass;
pub mod motion;
pub mod separation;
pub mod sleep;
pub mod tether;
pub mod wind;
