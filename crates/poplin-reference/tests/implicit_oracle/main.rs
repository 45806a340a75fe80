//! The implicit solver's oracle against analytic results, and what it has to be proof against.

mod common;
mod control;
mod dynamics;
mod energies;
mod solver;
mod statics;
