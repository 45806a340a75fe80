//! Checks of the workspace itself, which link nothing of the engine.

mod arrows;
mod lints;
mod pages;
