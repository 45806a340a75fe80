//! Measured trajectories and stage states, replayed on both backends.

use poplin::{Backend, SimulationOptions};
use poplin_measure::case::Case;
use poplin_measure::conform::run_case;
use poplin_measure::shipped;
use poplin_measure::stage_case::StageCase;
use poplin_measure::stage_runner::run_stages;
use poplin_testkit::adapter::backends;

/// Case of this name.
fn case(name: &str) -> Case {
    shipped::cases().unwrap().into_iter().find(|case| case.name == name).unwrap()
}

/// Stages of the case of this name.
fn stages_of(name: &str) -> StageCase {
    shipped::stages().unwrap().into_iter().find(|stages| stages.case == name).unwrap()
}

#[test]
fn every_case_stays_within_its_tolerance_on_both_backends() {
    let mut failures = Vec::new();
    for backend in backends() {
        for case in shipped::cases().unwrap() {
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
    let (cases, all) = (shipped::cases().unwrap(), shipped::stages().unwrap());
    let mut failures = Vec::new();
    for backend in backends() {
        for stages in &all {
            let case = cases.iter().find(|case| case.name == stages.case).unwrap();
            let verdicts = run_stages(case, stages, &SimulationOptions::from(backend)).unwrap();
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
    let mut case = case("damping");
    case.setup.retain(|event| event.set != "damping");
    assert!(!run_case(&case, &Backend::Cpu.into()).unwrap().passes());
}

#[test]
fn a_stage_of_an_unknown_name_is_an_error() {
    let mut stages = stages_of("tether_geodesic");
    let case = case("tether_geodesic");
    stages.stages[1].stage = "wand".to_owned();
    let error = run_stages(&case, &stages, &Backend::Cpu.into()).unwrap_err();
    assert!(error.to_string().contains("stage `wand`"), "{error}");
}

#[test]
fn a_stage_that_is_left_out_is_named() {
    let stages = stages_of("tether_geodesic");
    let mut case = case("tether_geodesic");
    case.setup.retain(|event| event.set != "phase_configs");
    let verdicts = run_stages(&case, &stages, &Backend::Cpu.into()).unwrap();
    assert!(verdicts.iter().any(|v| !v.passes() && v.stage.starts_with("fabric_phase")));
}
