//! Texts and tables that follow from declarations: the guide, README and generated shaders.

mod readme;
mod shaders;
mod tables;
