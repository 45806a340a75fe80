//! Errors and warnings of scenes and sweeps, without simulating.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use poplin_scene::{
    ColliderShape, Location, Scene, SceneCheck, SceneError, Shape, Sweep, SweepError, SweepJobs,
};

use crate::batch::scene_path;
use crate::cook_cache::CookCache;
use crate::failure::Failure;
use crate::job_cloth::JobCloth;
use crate::numbers::counted;
use crate::run::warning::Warning;
use crate::shipped;

/// Most jobs of a sweep that are checked, starting with the first.
const MAX_JOBS: usize = 1000;

/// Most faulty jobs that are listed.
const MAX_NAMED_JOBS: usize = 10;

/// Error or warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// True for an error.
    pub is_error: bool,
    /// Location; `None` for a file that cannot be read.
    pub at: Option<Location>,
    /// Text that says what is wrong, with the limit.
    pub message: String,
}

/// Checked file with its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    /// The file, or the name of a shipped scene.
    pub path: PathBuf,
    /// Its text; empty if it cannot be read.
    pub text: String,
    /// Findings in the order of the file.
    pub findings: Vec<Finding>,
}

/// Checks scene files, sweeps with their scenes, and shipped scenes. A scene of several sweeps is
/// checked once; the files are in the order of their paths.
pub fn check_files(paths: &[PathBuf]) -> Vec<CheckedFile> {
    let mut checked: BTreeMap<PathBuf, CheckedFile> = BTreeMap::new();
    for path in paths {
        for file in files_of(path) {
            checked.entry(file.path.clone()).or_insert(file);
        }
    }
    checked.into_values().collect()
}

/// Checks a file, and the scene of a sweep.
fn files_of(path: &Path) -> Vec<CheckedFile> {
    let text = match shipped::scene_text(path) {
        Ok(text) => text,
        Err(error) => return vec![unread(path, &error)],
    };
    if Sweep::is_sweep(&text) {
        return files_of_sweep(path, text);
    }
    vec![scene_of(path, text).0]
}

/// Checks a scene and returns it.
fn scene_of(path: &Path, text: String) -> (CheckedFile, Scene) {
    let check = Scene::check_text(&text, path);
    let findings = findings_of_scene(&check);
    (CheckedFile { path: path.into(), text, findings }, check.scene)
}

/// Returns the finding for a file that cannot be read.
fn unread(path: &Path, failure: &Failure) -> CheckedFile {
    let finding = Finding { is_error: true, at: None, message: failure.to_string() };
    CheckedFile { path: path.into(), text: String::new(), findings: vec![finding] }
}

/// Checks a sweep and its scene.
fn files_of_sweep(path: &Path, text: String) -> Vec<CheckedFile> {
    let of_error = |error: &SweepError| Finding {
        is_error: true,
        at: error.location().cloned(),
        message: error.reason(),
    };
    let mut findings = Vec::new();
    let mut files = Vec::new();
    match Sweep::parse(text.clone(), path) {
        Err(error) => findings.push(of_error(&error)),
        Ok(sweep) => {
            let scene_path = scene_path(path, &sweep.scene);
            // Read as a scene in any case: a sweep may name itself.
            let checked = shipped::scene_text(&scene_path).map(|text| scene_of(&scene_path, text));
            match checked {
                Err(error) => files.push(unread(&scene_path, &error)),
                Ok((file, scene)) => {
                    if file.findings.iter().all(|it| !it.is_error) {
                        match sweep.of_scene(&scene) {
                            Err(error) => findings.push(of_error(&error)),
                            Ok(jobs) => findings.extend(findings_of_jobs(&jobs)),
                        }
                    }
                    files.push(file);
                }
            }
        }
    }
    files.insert(0, CheckedFile { path: path.into(), text, findings });
    files
}

/// Returns the errors of the jobs of a sweep, and a warning if not all of them are checked.
fn findings_of_jobs(jobs: &SweepJobs) -> Vec<Finding> {
    let finding =
        |is_error, message| Finding { is_error, at: Some(jobs.location("vary")), message };
    let checked = jobs.count().min(MAX_JOBS);
    let faulty = (0..checked).filter_map(|index| Some((index, jobs.scene_of(index).err()?)));
    let faulty: Vec<_> = faulty.collect();
    let named = faulty.iter().take(MAX_NAMED_JOBS);
    let named = named.map(|(index, error)| finding(true, format!("job {index}: {error}")));
    let mut findings: Vec<_> = named.collect();
    if faulty.len() > MAX_NAMED_JOBS {
        let more = counted(faulty.len() - MAX_NAMED_JOBS, "more job");
        findings.push(finding(true, format!("{more} have errors")));
    }
    if checked < jobs.count() {
        let all = counted(jobs.count(), "job");
        findings.push(finding(false, format!("only the first {MAX_JOBS} of {all} are checked")));
    }
    findings
}

/// Returns the errors and warnings of a scene, in the order of the file.
fn findings_of_scene(check: &SceneCheck) -> Vec<Finding> {
    let scene = &check.scene;
    let of_fault = |fault: &SceneError, field: &str| Finding {
        is_error: true,
        at: Some(fault.location().cloned().unwrap_or_else(|| scene.location(field))),
        message: fault.reason(),
    };
    let mut findings: Vec<_> = check.faults.iter().map(|fault| of_fault(fault, "")).collect();
    let built = scene.check_colliders(&check.sound_colliders).map(|built| {
        // With a collider missing, the depth at the start is unknown.
        let are_all = built.len() == scene.colliders.len();
        if are_all { built } else { Vec::new() }
    });
    let colliders = built.unwrap_or_else(|faults| {
        findings.extend(faults.iter().map(|(index, fault)| {
            let key = match scene.colliders[*index].shape {
                ColliderShape::Mesh(_) => ".mesh",
                _ => "",
            };
            of_fault(fault, &format!("collider[{index}]{key}"))
        }));
        Vec::new()
    });
    let colliders: Vec<_> = colliders.into_iter().map(Arc::new).collect();
    let (mut job_cloths, cache) = (Vec::new(), CookCache::default());
    for &index in &check.sound_cloths {
        let cloth = &scene.cloths[index];
        let key = if matches!(cloth.shape, Shape::Mesh(_)) { ".mesh" } else { "" };
        let field = format!("cloth[{index}]{key}");
        match scene.check_cloth(index) {
            Err(faults) => findings.extend(faults.iter().map(|fault| of_fault(fault, &field))),
            Ok(built) => match JobCloth::cook(cloth, built, &colliders, &cache) {
                Ok(job_cloth) => job_cloths.push((index, job_cloth)),
                Err(failure) => findings.push(Finding {
                    is_error: true,
                    at: Some(scene.location(&field)),
                    message: failure.to_string(),
                }),
            },
        }
    }
    let contact = scene.cloth_contact_solver.contact;
    for (index, job_cloth) in &job_cloths {
        let warnings = Warning::before_run(job_cloth, contact, scene.frames, scene.frame_rate);
        findings.extend(warnings.map(|warning| Finding {
            is_error: false,
            at: Some(scene.location(&format!("cloth[{index}].{}", warning.key))),
            message: warning.text,
        }));
    }
    let job_cloths: Vec<_> = job_cloths.into_iter().map(|(_, job_cloth)| job_cloth).collect();
    findings.extend(Warning::of_scene(&job_cloths, &colliders, contact).map(|warning| Finding {
        is_error: false,
        at: Some(scene.location(warning.key)),
        message: warning.text,
    }));
    findings.sort_by_key(|finding| finding.at.as_ref().map(|at| at.span.start));
    findings
}
