//! Rows of manifests.

use poplin_measure::depth::Depth;
use poplin_measure::tangle::Tangle;
use serde::Serialize;
use serde_json::{Map, Value};

use super::store::Status;

/// What became of a job. Units are in the names.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) job: usize,
    pub(super) status: Status,
    /// The values of the keys that are varied.
    pub(super) parameters: Map<String, Value>,
    /// The seed of the sweep.
    pub(super) seed: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(flatten)]
    pub(super) result: Option<JobResult>,
}

/// What came of the simulation of a job.
#[derive(Debug, Serialize)]
pub(super) struct JobResult {
    pub(super) frames: u32,
    pub(super) particle_count: usize,
    /// At the last frame, of the worst cloth.
    pub(super) max_edge_strain: f32,
    pub(super) p99_edge_strain: f32,
    /// In the last iteration of the last frame.
    pub(super) max_speed_m_per_s: f32,
    /// At the last frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) collider_depth: Option<Depth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tangle: Option<Tangle>,
    pub(super) warnings: Vec<String>,
    /// FNV-1a, 64 bits, of positions and inverse masses after the last frame.
    pub(super) particle_hash: String,
    pub(super) files: Vec<String>,
    /// Of the group that the job was in, by its jobs.
    pub(super) seconds: f64,
    /// Jobs of that group.
    pub(super) group: usize,
    pub(super) backend: &'static str,
}
