//! Recording of a simulated job: frames, pictures, measurements, warnings and summary.

pub(crate) mod ending;
pub(crate) mod files;
mod folder;
pub(crate) mod picture_frames;
pub(crate) mod record;
mod recording;
mod rest;
mod summary;
pub(crate) mod warning;

use std::time::Duration;

use crate::job::Job;
use crate::job_cloth::JobCloth;
pub use recording::{Recorded, Recording};
pub use rest::RestWatch;
pub use summary::Summary;
pub use warning::{Warning, in_line};

/// Returns the disk space that the frames of a job take \[bytes\].
pub fn frame_bytes(job: &Job) -> u64 {
    let vertices: usize = job.cloths.iter().map(JobCloth::vertex_count).sum();
    let frame = vertices as u64 * size_of::<[f32; 3]>() as u64;
    frame * (u64::from(job.frames) + 1) * job.formats.len() as u64
}

/// Simulated frames and their times.
struct Progress {
    /// Number of simulated frames.
    frames: u32,
    /// Time of each frame without read-back and files.
    times: Vec<Duration>,
    /// True if the user stopped the run.
    is_interrupted: bool,
}

/// Returns the number of copies of all cloths.
fn copy_count(job_cloths: &[JobCloth]) -> usize {
    job_cloths.iter().map(|job_cloth| job_cloth.offsets.len()).sum()
}
