//! Tests of texts and tables that follow from declarations: guide, README and generated shaders.

mod readme;
mod shaders;
mod tables;
