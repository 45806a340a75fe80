//! Checks of the workspace that link no crate of the engine.

mod arrows;
mod lints;
mod pages;
