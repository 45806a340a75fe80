//! The implicit solver against analytic results: stiffnesses in N/m and N m mean the same at any step and mesh.
//!
//! Nearly all on the CPU backend; `mirror.rs` holds the GPU to the same bits, and the solver in `f64` is tested in
//! `crates/poplin-reference/tests/implicit_oracle`.

mod bending;
mod motion;
mod robustness;
mod solver;
mod stretch;

use poplin::Engine as _;
