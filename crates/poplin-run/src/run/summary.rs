//! The summary of a run: `summary.json` and the lines at the end.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use poplin_geometry::Bounds;
use poplin_measure::depth::{Depth, TriangleDepth, VISIBLE_DEPTH};
use poplin_measure::strain::Strain;
use poplin_measure::tangle::Tangle;
use poplin_model::{Hold, ImplicitReport, SolverChoice};
use serde::Serialize;

use super::record::{Findings, Outcome};
use super::warning::Warning;
use super::{Progress, copy_count};
use crate::bodies::BodySummary;
use crate::cook_summary::CookSummary;
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::JobCloth;
use crate::job_cloth::drivers::moved_by;
use crate::job_simulation::JobSimulation;
use crate::numbers::{counted, grouped};

/// Most printed lines of one kind; the file has all.
const MAX_LINES: usize = 8;

/// Value of the key `format`.
const FORMAT: &str = "poplin-summary/1";
/// Name of the file.
pub(super) const FILE_NAME: &str = "summary.json";

/// Report of a run. Units are in the names; strain is `|length / rest - 1|` of the stretch edges.
#[derive(Debug, Serialize)]
pub struct Summary {
    format: &'static str,
    poplin_version: &'static str,
    title: String,
    backend: &'static str,
    adapter: String,
    backend_reason: String,
    /// True after Ctrl-C: fewer frames than requested.
    interrupted: bool,
    /// True if every coordinate that was read back is finite.
    finite: bool,
    cloth_count: usize,
    faulted_cloth_count: usize,
    particle_count: usize,
    edge_count: usize,
    frames: u32,
    frames_asked: u32,
    frame_rate: f32,
    /// Largest number of iterations of a cloth.
    iterations: u32,
    /// Frames slept through, summed over cloths.
    slept_frames: u64,
    ms_per_frame: FrameTimes,
    seconds_in_all: f64,
    /// Strain of the worst cloth at the last frame.
    max_edge_strain: f32,
    p99_edge_strain: f32,
    /// Signed strain: above 0 longer than at rest, below 0 shorter.
    longest_edge_strain: f32,
    shortest_edge_strain: f32,
    /// Strain of the worst frame that was read back: all frames, or those of the picture with
    /// --no-cache.
    worst_max_edge_strain: f32,
    worst_p99_edge_strain: f32,
    worst_longest_edge_strain: f32,
    worst_shortest_edge_strain: f32,
    /// Speed of the fastest free particle in the last iteration of a frame, in local space.
    max_speed_m_per_s: f32,
    last_speed_m_per_s: f32,
    /// Depth of particles in colliders at the last frame, of all cloths with colliders.
    #[serde(skip_serializing_if = "Option::is_none")]
    collider_depth: Option<Depth>,
    /// Depth of triangles without pins in colliders at the last frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    triangle_depth: Option<TriangleDepth>,
    /// Entanglement at the last frame, of all cloths that collide with themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    tangle: Option<Tangle>,
    /// Rigid bodies at the last frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bodies: Vec<BodySummary>,
    /// World position that positions in files and warnings are relative to, except those in an OBJ;
    /// only for a mesh far from the world's origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_m: Option<[f64; 3]>,
    /// Automatic choices.
    choices: Vec<String>,
    /// Reasons to doubt the result.
    warnings: Vec<Warning>,
    cloths: Vec<ClothSummary>,
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Returns the files of the run whose summary is in a folder; none without a summary.
pub(super) fn files_in(folder: &Path) -> Vec<String> {
    let path = folder.join(FILE_NAME);
    // Links are skipped: they may lead to an endless file.
    let is_plain = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let text = is_plain.then(|| std::fs::read(path).ok()).flatten();
    let summary: Option<serde_json::Value> =
        text.and_then(|text| serde_json::from_slice(&text).ok());
    summary
        .filter(|summary| summary["format"] == FORMAT)
        .and_then(|summary| serde_json::from_value(summary["files"].clone()).ok())
        .unwrap_or_default()
}

/// Statistics of the time of a frame \[ms\].
#[derive(Debug, Serialize)]
struct FrameTimes {
    median: f64,
    p99: f64,
    max: f64,
    measures: &'static str,
}

/// Summary of one `[[cloth]]` with all its copies.
#[derive(Debug, Serialize)]
struct ClothSummary {
    name: String,
    copies: usize,
    iterations: u32,
    /// Sum over copies.
    slept_frames: u64,
    /// Sum over copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    implicit: Option<ImplicitSummary>,
    strain: Strain,
    worst_strain: Strain,
    max_speed_m_per_s: f32,
    faults: Vec<FaultSummary>,
    /// Reasons for the solver's frequency, if it was chosen automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    solver: Option<SolverSummary>,
    cooking: CookSummary,
}

/// Copy that was frozen because particles became NaN, infinite or too far away.
#[derive(Debug, Serialize)]
struct FaultSummary {
    copy: usize,
    particles: u32,
    first_particle: Option<u32>,
    /// Names of what moved the cloth besides gravity, constraints and colliders.
    driven_by: Vec<&'static str>,
}

/// Solver frequency that was chosen from the cloth.
#[derive(Debug, Serialize)]
struct SolverSummary {
    frequency_hz: f32,
    all_semi_implicit: bool,
    chain_edges: u32,
    edge_length_m: f32,
    held_by: Hold,
    /// Explanation for display.
    why: String,
}

impl Summary {
    /// Summarizes a run.
    pub(super) fn new(
        job: &Job,
        running: &JobSimulation,
        progress: &Progress,
        outcome: &Outcome,
        elapsed: Duration,
    ) -> Self {
        let backend = running.backend(job);
        let findings = &outcome.findings;
        let strain = |pick: fn(&Findings) -> Strain| {
            findings.iter().map(pick).fold(Strain::default(), Strain::worse)
        };
        let (last, worst) = (strain(|f| f.last_strain), strain(|f| f.worst_strain));
        let bounds = findings.iter().map(|it| it.ending.bounds).fold(Bounds::EMPTY, Bounds::union);
        let speed = |pick: fn(&Findings) -> f32| findings.iter().map(pick).fold(0.0, f32::max);
        Self {
            format: FORMAT,
            poplin_version: env!("CARGO_PKG_VERSION"),
            title: job.title.clone(),
            backend: backend.backend.name(),
            adapter: backend.adapter.clone(),
            backend_reason: backend.reason.clone(),
            interrupted: progress.is_interrupted,
            finite: findings.iter().all(|findings| findings.is_finite),
            cloth_count: copy_count(&job.cloths),
            faulted_cloth_count: findings.iter().map(|findings| findings.faults.len()).sum(),
            particle_count: job.cloths.iter().map(JobCloth::particle_count).sum(),
            edge_count: job.cloths.iter().map(JobCloth::edge_count).sum(),
            frames: progress.frames,
            frames_asked: job.frames,
            frame_rate: job.frame_rate,
            iterations: findings.iter().map(|findings| findings.iterations).max().unwrap_or(0),
            slept_frames: findings.iter().map(|findings| findings.slept_frames).sum(),
            ms_per_frame: FrameTimes::new(&progress.times),
            seconds_in_all: elapsed.as_secs_f64(),
            max_edge_strain: last.max,
            p99_edge_strain: last.p99,
            longest_edge_strain: last.longest,
            shortest_edge_strain: last.shortest,
            worst_max_edge_strain: worst.max,
            worst_p99_edge_strain: worst.p99,
            worst_longest_edge_strain: worst.longest,
            worst_shortest_edge_strain: worst.shortest,
            max_speed_m_per_s: speed(|f| f.max_speed),
            last_speed_m_per_s: speed(|f| f.last_speed),
            collider_depth: outcome.depth.map(|(depth, _)| depth),
            triangle_depth: outcome.depth.map(|(_, depth)| depth),
            tangle: outcome.tangle,
            bodies: running.bodies().summaries().collect(),
            origin_m: (job.origin != [0.0; 3]).then_some(job.origin),
            choices: job.choices.clone(),
            warnings: job
                .cloths
                .iter()
                .zip(findings)
                .flat_map(|(job_cloth, findings)| {
                    findings.warnings(job, job_cloth, progress.frames, backend.backend.name())
                })
                .chain(Warning::of_bodies(running.bodies(), bounds))
                .chain(Warning::of_tangle(
                    &job.cloths,
                    outcome.tangle,
                    job.cloth_contact_solver.contact,
                ))
                .chain(Warning::of_scene(
                    &job.cloths,
                    &job.colliders,
                    job.cloth_contact_solver.contact,
                ))
                .collect(),
            cloths: job
                .cloths
                .iter()
                .zip(findings)
                .map(|(job_cloth, findings)| ClothSummary::new(job_cloth, findings))
                .collect(),
            files: outcome
                .files
                .iter()
                .map(String::as_str)
                .chain([FILE_NAME])
                .map(str::to_owned)
                .collect(),
            note: outcome.omission.clone(),
        }
    }

    /// Returns the names of the written files, including `summary.json`.
    pub(super) fn files(&self) -> &[String] {
        &self.files
    }

    /// Writes `summary.json`.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(FILE_NAME);
        let mut text = serde_json::to_string_pretty(self).or_failed()?;
        text.push('\n');
        std::fs::write(&path, text)
            .with_context(|| format!("cannot write {}", path.display()))
            .or_failed()
    }

    /// Returns the main values as lines of text; `folder` is named in them.
    pub fn lines(&self, folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        let Self { backend, adapter, backend_reason, .. } = self;
        lines.push(format!("{backend} backend on {adapter} ({backend_reason})"));
        lines.push(format!(
            "{}, {}, {}",
            counted(self.cloth_count, "cloth"),
            counted(self.particle_count, "particle"),
            counted(self.edge_count, "edge")
        ));
        let asked = if self.interrupted {
            format!(" of {} (interrupted)", grouped(self.frames_asked as usize))
        } else {
            String::new()
        };
        let seconds = f64::from(self.frames) / f64::from(self.frame_rate);
        let (frames, iterations) =
            (grouped(self.frames as usize), counted(self.iterations as usize, "iteration"));
        lines.push(format!(
            "frames {frames}{asked}: {seconds:.2} s simulated, {iterations} per cloth"
        ));
        self.add_solvers(&mut lines);
        lines.extend_from_slice(&self.choices);
        if self.slept_frames > 0 {
            let all = grouped(self.frames as usize * self.cloth_count);
            lines.push(format!(
                "sleep  {} of {all} frames, summed over cloths",
                grouped(self.slept_frames as usize)
            ));
        }
        lines.push(format!(
            "time   {:.2} ms per frame (median, simulation only), {:.1} s in total",
            self.ms_per_frame.median, self.seconds_in_all
        ));
        let percent = |strain: f32| f64::from(strain) * 100.0;
        lines.push(format!(
            "strain 99 % of stretch edges within {:.2} %, the longest by {:+.2} %, the shortest by {:+.2} % (at the end; \
             worst during the run {:.2} %, {:+.2} %, {:+.2} %)",
            percent(self.p99_edge_strain),
            percent(self.longest_edge_strain),
            percent(self.shortest_edge_strain),
            percent(self.worst_p99_edge_strain),
            percent(self.worst_longest_edge_strain),
            percent(self.worst_shortest_edge_strain)
        ));
        let finite = if self.finite { "all finite" } else { "NOT FINITE" };
        lines.push(format!(
            "speed  {:.2} m/s at most, {:.2} m/s at the end; {finite}",
            self.max_speed_m_per_s, self.last_speed_m_per_s
        ));
        if let Some(Depth { free_particles, particles_inside, deepest_m }) = self.collider_depth {
            let (inside, all) =
                (grouped(particles_inside), counted(free_particles, "free particle"));
            lines.push(format!(
                "depth  {inside} of {all} inside colliders, deepest {:.1} mm (at the end)",
                deepest_m * 1e3
            ));
        }
        if let Some(depth) = self.triangle_depth.filter(|depth| depth.triangles_inside > 0) {
            lines.push(format!(
                "       {} of {} more than {:.0} mm inside, deepest {:.1} mm",
                grouped(depth.triangles_inside),
                counted(depth.triangles, "triangle"),
                VISIBLE_DEPTH * 1e3,
                depth.deepest_m * 1e3
            ));
        }
        if let Some(Tangle { close_pairs, crossings }) = self.tangle {
            let pairs = counted(close_pairs, "particle pair");
            lines.push(format!(
                "tangle {pairs} closer than half the thickness, {} (at the end)",
                counted(crossings, "edge-triangle crossing")
            ));
        }
        lines.extend(BodySummary::lines(&self.bodies));
        lines.push(format!("files  {}: {}", folder.display(), self.files.join(", ")));
        if let Some(note) = &self.note {
            lines.push(format!("note   {note}"));
        }
        lines
    }

    /// Adds the reasons for chosen solver frequencies, once for cloths with equal reasons.
    fn add_solvers(&self, lines: &mut Vec<String>) {
        let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
        for cloth in &self.cloths {
            let Some(SolverSummary { why, .. }) = &cloth.solver else { continue };
            match found.iter_mut().find(|(known, _)| known == why) {
                Some((_, names)) => names.push(&cloth.name),
                None => found.push((why, vec![&cloth.name])),
            }
        }
        for (why, names) in found.iter().take(MAX_LINES) {
            match names[..] {
                _ if names.len() == self.cloths.len() => lines.push(format!("solver {why}")),
                [name] => lines.push(format!("solver of {name}: {why}")),
                _ => lines.push(format!("solver of {}: {why}", counted(names.len(), "cloth"))),
            }
        }
        if found.len() > MAX_LINES {
            lines.push(format!("       and {} more, in {FILE_NAME}", found.len() - MAX_LINES));
        }
    }

    /// Returns the warnings as lines of text, the first in full and the rest counted.
    pub fn warning_lines(&self) -> Vec<String> {
        let shown = self.warnings.iter().take(MAX_LINES);
        let mut lines: Vec<_> = shown.map(|warning| warning.text.clone()).collect();
        if self.warnings.len() > MAX_LINES {
            let more = counted(self.warnings.len() - MAX_LINES, "more warning");
            lines.push(format!("{more}, in {FILE_NAME}"));
        }
        lines
    }

    /// Tests whether a cloth is frozen or not finite.
    pub fn is_faulty(&self) -> bool {
        self.faulted_cloth_count > 0 || !self.finite
    }

    /// Returns a line of text for each frozen cloth.
    pub fn fault_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for cloth in &self.cloths {
            let Some(fault) = cloth.faults.first() else { continue };
            let copies = match cloth.copies {
                1 => String::new(),
                count => format!(
                    " ({} of {count} copies, first copy {})",
                    cloth.faults.len(),
                    fault.copy
                ),
            };
            let first = fault
                .first_particle
                .map_or_else(String::new, |particle| format!(", the first is particle {particle}"));
            lines.push(format!(
                "cloth `{}`{copies} is frozen: {} became NaN, infinite or too far away{first}{}",
                cloth.name,
                counted(fault.particles as usize, "particle"),
                moved_by(&fault.driven_by)
            ));
        }
        lines
    }
}

/// Steps and iterations of the implicit or the multilevel solver.
#[derive(Debug, Serialize)]
struct ImplicitSummary {
    steps: u32,
    iterations: u32,
    unconverged: u32,
    held: u32,
    floored: u32,
    rejections: u32,
    halvings: u32,
}

impl ImplicitSummary {
    fn new(report: ImplicitReport) -> Self {
        let ImplicitReport { steps, iterations, unconverged, held, floored, rejections, halvings } =
            report;
        Self { steps, iterations, unconverged, held, floored, rejections, halvings }
    }
}

impl ClothSummary {
    fn new(job_cloth: &JobCloth, findings: &Findings) -> Self {
        let faults = findings.faults.iter();
        let faults = faults.map(|f| FaultSummary {
            copy: f.copy,
            particles: f.count,
            first_particle: f.particle,
            driven_by: job_cloth.drivers(),
        });
        let solver = &job_cloth.cloth.config.solver;
        Self {
            name: job_cloth.name.clone(),
            copies: job_cloth.offsets.len(),
            iterations: findings.iterations,
            slept_frames: findings.slept_frames,
            implicit: (solver.as_implicit().is_some() || solver.as_multilevel().is_some())
                .then(|| ImplicitSummary::new(findings.implicit)),
            strain: findings.last_strain,
            worst_strain: findings.worst_strain,
            max_speed_m_per_s: findings.max_speed,
            faults: faults.collect(),
            solver: job_cloth.solver_choice.map(SolverSummary::new),
            cooking: CookSummary::new(job_cloth),
        }
    }
}

impl SolverSummary {
    fn new(choice: SolverChoice) -> Self {
        Self {
            frequency_hz: choice.frequency,
            all_semi_implicit: choice.all_semi_implicit,
            chain_edges: choice.chain_edges(),
            edge_length_m: choice.edge_length,
            held_by: choice.held_by,
            why: choice.to_string(),
        }
    }
}

impl FrameTimes {
    fn new(times: &[Duration]) -> Self {
        let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0.0)
        };
        let measures = "pins, step and wait; read-back, caches and pictures are not counted";
        Self { median: at(50), p99: at(99), max: at(100), measures }
    }
}
