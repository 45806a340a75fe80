//! Jobs of the poplin cloth engine, for the command `poplin` and for the Python package: builds a
//! scene or a mesh, simulates it and writes its frames, pictures and summary; runs sweeps of many
//! variants.
//!
//! - [`Job`] is what a scene or a mesh asks for; [`JobSimulation`] simulates it and [`Recording`]
//!   writes it into a folder.
//! - [`SceneRun`] simulates a scene for a program that reads it frame by frame.
//! - [`run_batch`] simulates the jobs of a sweep, and continues an interrupted one.
//! - [`cook_cloth`] cooks a mesh from memory; [`check_files`] finds errors in scenes and sweeps.
//! - [`shipped`] has the scenes that come with poplin.
//!
//! Nothing here reads a command line. Errors are [`Failure`]s: bad input, or a failed run.

mod backend;
mod batch;
mod bodies;
mod check;
mod choices;
mod cook_cache;
mod cook_cloth;
mod cook_summary;
mod failure;
mod fiber_picture;
mod job;
mod job_cloth;
mod job_simulation;
mod memory;
mod mesh_job;
mod numbers;
mod picture;
mod progress;
mod run;
mod scene_run;
pub mod shipped;

pub use backend::simulation_options;
pub use batch::{Batch, BatchOptions, Part, PartError, run_batch, run_sweep, sweep_jobs};
pub use bodies::{ColliderPoses, joined_frames};
pub use check::{CheckedFile, Finding, check_files};
pub use cook_cloth::{CookedCloth, cook_cloth};
pub use cook_summary::CookSummary;
pub use failure::{Failure, OrFail, gpu_message};
pub use fiber_picture::write_fiber_picture;
pub use job::Job;
pub use job_cloth::JobCloth;
pub use job_simulation::JobSimulation;
pub use mesh_job::{Ground, MeshJob};
pub use numbers::{counted, grouped, short_length};
pub use picture::{PictureKind, PictureOptions};
pub use poplin_measure::strain::StretchEdges;
pub use progress::progress_bar;
pub use run::{Recorded, Recording, RestWatch, Summary, Warning, frame_bytes, in_line};
pub use scene_run::{SceneReport, SceneRun};
