//! Rows of manifests.

use poplin_measure::depth::Depth;
use poplin_measure::tangle::Tangle;
use serde::Serialize;
use serde_json::{Map, Value};

use super::store::Status;
use crate::run::warning::Warning;

/// Row of a finished job. Units are in the names.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) job: usize,
    pub(super) status: Status,
    /// Values of the varied keys.
    pub(super) parameters: Map<String, Value>,
    /// Seed of the sweep.
    pub(super) seed: u64,
    /// Error of a failed job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(flatten)]
    pub(super) result: Option<JobResult>,
}

/// Result of the simulation of a job.
#[derive(Debug, Serialize)]
pub(super) struct JobResult {
    pub(super) frames: u32,
    pub(super) particle_count: usize,
    /// Strain of the worst cloth at the last frame.
    pub(super) max_edge_strain: f32,
    pub(super) p99_edge_strain: f32,
    /// Speed in the last iteration of the last frame.
    pub(super) max_speed_m_per_s: f32,
    /// Depth in colliders at the last frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) collider_depth: Option<Depth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tangle: Option<Tangle>,
    pub(super) warnings: Vec<Warning>,
    /// 64-bit FNV-1a hash of positions and inverse masses after the last frame.
    pub(super) particle_hash: String,
    pub(super) files: Vec<String>,
    /// Duration of the group divided by its number of jobs.
    pub(super) seconds: f64,
    /// Number of jobs of the group.
    pub(super) group: usize,
    pub(super) backend: &'static str,
}
