//! Oracle of the implicit solver against analytic results, and robustness tests.

mod common;
mod control;
mod dynamics;
mod energies;
mod solver;
mod statics;
