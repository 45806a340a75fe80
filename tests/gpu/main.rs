//! Kernels against their CPU twins, and the GPU engine, on the machine's adapter.

mod cloth_collision;
mod colliders;
mod engine;
mod faults;
mod frames;
mod garment;
mod lifecycle;
mod mirror;
mod physics;
mod reference_cases;
mod render;
mod save;
mod sleep;
mod triangle_frames;
mod triangle_passes;
mod uploads;
