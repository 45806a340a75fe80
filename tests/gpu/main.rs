//! Tests of the kernels against their CPU twins, and of the GPU engine, on the adapter of the
//! machine.

mod canaries;
mod cloth_collision;
mod colliders;
mod device_errors;
mod doctor;
mod engine;
mod faults;
mod frames;
mod lifecycle;
mod mirror;
mod physics;
mod reference_cases;
mod render;
mod save;
mod sleep;
mod textured_garment;
mod triangle_frames;
mod triangle_passes;
mod uploads;
