//! The implicit solver against analytic results: stiffnesses in N/m and N m have the same effect at
//! any step and mesh.
//!
//! Nearly all tests use the CPU backend; `tests/gpu/mirror` compares the bits of the GPU, and
//! `crates/poplin-oracle/tests/implicit` tests the solver in `f64`.

mod bending;
mod motion;
mod robustness;
mod solver;
mod stretch;
