//! Reference cases on both backends.

use poplin::{Backend, SimulationOptions};

use super::{Finding, Patient};
use crate::conform::run_case;
use crate::shipped;

/// One in how many cases a software adapter runs.
const SHORT: usize = 5;

/// Runs the shipped cases on both backends.
pub(super) fn cases(patient: &Patient) -> Result<Finding, String> {
    let cases = shipped::cases().map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    let mut worst = [0.0f32; 2];
    let lanes: [(&str, SimulationOptions); 2] =
        [("cpu", Backend::Cpu.into()), ("gpu", patient.options.clone())];
    let every = if patient.is_short { SHORT } else { 1 };
    let chosen: Vec<_> = cases.iter().step_by(every).collect();
    for ((name, options), worst) in lanes.iter().zip(&mut worst) {
        for case in &chosen {
            match run_case(case, options) {
                Ok(verdict) if verdict.passes() => {
                    let ratio = verdict.worst().map_or(0.0, |it| it.error / it.tolerance);
                    *worst = worst.max(ratio);
                }
                Ok(verdict) => {
                    let error = verdict.worst().map_or(f32::NAN, |it| it.error);
                    wrong.push(format!("{} on the {name} is off by {error:.1e} m", case.name));
                }
                Err(error) => wrong.push(format!("{} on the {name}: {error}", case.name)),
            }
        }
    }
    let [cpu, gpu] = worst;
    let of = if every == 1 { String::new() } else { format!(" of {}", cases.len()) };
    let text = format!(
        "{}{of} pass on both backends, within {:.0} % of their tolerance on the cpu, {:.0} % on the gpu",
        chosen.len(),
        100.0 * cpu,
        100.0 * gpu
    );
    Ok(Finding::judged("cases", some(wrong), text)
        .with("cases", chosen.len() as f64)
        .with("worst_cpu", f64::from(cpu))
        .with("worst_gpu", f64::from(gpu)))
}

/// Runs the frames that were measured stage by stage.
#[cfg(feature = "stages")]
pub(super) fn stages(patient: &Patient) -> Result<Finding, String> {
    let cases = shipped::cases().map_err(|error| error.to_string())?;
    let all = shipped::stages().map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    let mut count = 0;
    let every = if patient.is_short { SHORT } else { 1 };
    for stages in all.iter().step_by(every) {
        let case = cases.iter().find(|case| case.name == stages.case);
        let case = case.ok_or_else(|| format!("the case {} is missing", stages.case))?;
        match crate::stage_runner::run_stages(case, stages, &patient.options) {
            Ok(verdicts) => {
                count += verdicts.len();
                wrong.extend(verdicts.iter().filter(|it| !it.passes()).map(|it| {
                    format!("{} of {} is off by {:.1e} m", it.stage, case.name, it.error)
                }));
            }
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    let text = format!("{count} stages agree one by one with measured ones");
    Ok(Finding::judged("stages", some(wrong), text).with("stages", count as f64))
}

/// First of what is wrong, with their number.
fn some(wrong: Vec<String>) -> Option<String> {
    let first = wrong.first()?;
    let more = wrong.len() - 1;
    Some(if more == 0 { first.clone() } else { format!("{first}; {more} more") })
}
