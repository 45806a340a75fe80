//! Measured trajectories and stage states, replayed on both backends.

use std::path::PathBuf;

use poplin::{Backend, SimulationOptions};
use poplin_measure::case::Case;
use poplin_measure::conform::run_case;
use poplin_measure::stage_case::StageCase;
use poplin_measure::stage_runner::run_stages;
use poplin_testkit::adapter::backends;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

#[test]
fn every_case_stays_within_its_tolerance_on_both_backends() {
    let mut failures = Vec::new();
    for backend in backends() {
        for path in files(folder()) {
            let case = Case::load(&path).unwrap();
            let verdict = run_case(&case, &SimulationOptions::from(backend)).unwrap();
            if !verdict.passes() {
                failures.push(format!(
                    "{} on {}: {:?}",
                    case.name,
                    backend.name(),
                    verdict.worst()
                ));
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
}

#[test]
fn every_measured_stage_agrees_on_both_backends() {
    let mut failures = Vec::new();
    for backend in backends() {
        for path in files(folder().join("stages")) {
            let stages = StageCase::load(&path).unwrap();
            let case = Case::load(&folder().join(format!("{}.json", stages.case))).unwrap();
            let verdicts = run_stages(&case, &stages, &SimulationOptions::from(backend)).unwrap();
            assert_eq!(verdicts.len(), stages.stages.len(), "{} leaves out stages", case.name);
            failures.extend(
                verdicts
                    .into_iter()
                    .filter(|v| !v.passes())
                    .map(|v| format!("{} on {}: {v:?}", case.name, backend.name())),
            );
        }
    }
    assert_eq!(failures, Vec::<String>::new());
}

#[test]
fn a_case_with_a_wrong_setting_fails() {
    let mut case = Case::load(&folder().join("damping.json")).unwrap();
    case.setup.retain(|event| event.set != "damping");
    assert!(!run_case(&case, &Backend::Cpu.into()).unwrap().passes());
}

#[test]
fn a_stage_of_an_unknown_name_is_an_error() {
    let mut stages = StageCase::load(&folder().join("stages/tether_geodesic.json")).unwrap();
    let case = Case::load(&folder().join("tether_geodesic.json")).unwrap();
    stages.stages[1].stage = "wand".to_owned();
    let error = run_stages(&case, &stages, &Backend::Cpu.into()).unwrap_err();
    assert!(error.to_string().contains("stage `wand`"), "{error}");
}

#[test]
fn a_stage_that_is_left_out_is_named() {
    let stages = StageCase::load(&folder().join("stages/tether_geodesic.json")).unwrap();
    let mut case = Case::load(&folder().join("tether_geodesic.json")).unwrap();
    case.setup.retain(|event| event.set != "phase_configs");
    let verdicts = run_stages(&case, &stages, &Backend::Cpu.into()).unwrap();
    assert!(verdicts.iter().any(|v| !v.passes() && v.stage.starts_with("fabric_phase")));
}
