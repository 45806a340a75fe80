//! Values of varied keys.

use std::path::Path;

use toml::Value;

use super::{MAX_JOBS, RangeFile, SweepError, Values, VaryFile};
use crate::distribution::Distribution;
use crate::locate::Source;

/// Returns an error if a field does not meet a requirement.
pub(super) fn require(
    source: &Source<'_>,
    is_met: bool,
    field: &str,
    requirement: &'static str,
) -> Result<(), SweepError> {
    if is_met {
        return Ok(());
    }
    Err(SweepError::Range { at: source.location(field), field: field.into(), requirement })
}

/// Returns the values of a parameter.
pub(super) fn values(
    vary: VaryFile,
    field: &str,
    source: &Source<'_>,
) -> Result<Values, SweepError> {
    let range = |is_met, name: &str, requirement| {
        require(source, is_met, &format!("{field}.{name}"), requirement)
    };
    let ordered = |name, [min, max]: [f64; 2]| {
        range(min <= max && min.is_finite() && max.is_finite(), name, "must be [least, most]")
    };
    let VaryFile { values, linear, log, glob, uniform, log_uniform, normal, .. } = vary;
    let found = match (values, linear, log, glob, uniform, log_uniform, normal) {
        (Some(values), None, None, None, None, None, None) => {
            range(!values.is_empty(), "values", "needs at least one value")?;
            Values::List(values)
        }
        (None, Some(ends), None, None, None, None, None) => {
            Values::List(ends.values("linear", range, |t, [a, b]| a + (b - a) * t)?)
        }
        (None, None, Some(ends), None, None, None, None) => {
            range(ends.from > 0.0 && ends.to > 0.0, "log", "must be above 0 at both ends")?;
            // Linear in the logarithm.
            let between = |t: f64, [a, b]: [f64; 2]| (a.ln() + (b.ln() - a.ln()) * t).exp();
            Values::List(ends.values("log", range, between)?)
        }
        (None, None, None, Some(pattern), None, None, None) => {
            let names = files(&pattern, &format!("{field}.glob"), source)?;
            Values::List(names.into_iter().map(Value::String).collect())
        }
        (None, None, None, None, Some(ends), None, None) => {
            ordered("uniform", ends)?;
            Values::Random(Distribution::Uniform(ends))
        }
        (None, None, None, None, None, Some(ends), None) => {
            range(ends[0] > 0.0, "log_uniform", "must be above 0")?;
            ordered("log_uniform", ends)?;
            Values::Random(Distribution::LogUniform(ends))
        }
        (None, None, None, None, None, None, Some(normal)) => {
            let is_met = normal.mean.is_finite() && (0.0..f64::MAX).contains(&normal.deviation);
            range(is_met, "normal", "must have a finite mean and a deviation of 0 or more")?;
            Values::Random(Distribution::Normal(normal))
        }
        _ => return Err(SweepError::Kind { at: source.location(field), field: field.into() }),
    };
    Ok(found)
}

impl RangeFile {
    fn values(
        self,
        name: &str,
        range: impl Fn(bool, &str, &'static str) -> Result<(), SweepError>,
        between: impl Fn(f64, [f64; 2]) -> f64,
    ) -> Result<Vec<Value>, SweepError> {
        let Self { from, to, count } = self;
        range((1..=MAX_JOBS as u32).contains(&count), name, "must have a count in 1..=10000000")?;
        range(from.is_finite() && to.is_finite(), name, "must have finite ends")?;
        let value = |index: u32| {
            // Both ends exactly as written.
            let number = match index {
                0 => from,
                _ if index == count - 1 => to,
                _ => between(f64::from(index) / f64::from(count - 1), [from, to]),
            };
            Value::Float(number)
        };
        Ok((0..count).map(value).collect())
    }
}

/// Returns the absolute paths of files that match a pattern, sorted by name.
fn files(pattern: &str, field: &str, source: &Source<'_>) -> Result<Vec<String>, SweepError> {
    let folder = std::path::absolute(source.path()).unwrap_or_else(|_| source.path().into());
    let folder = folder.parent().unwrap_or(Path::new("")).display().to_string();
    let pattern = match Path::new(pattern).is_absolute() {
        true => pattern.to_owned(),
        // Special characters in the folder's name are not part of the pattern.
        false => format!("{}/{pattern}", glob::Pattern::escape(&folder)),
    };
    let refused = |reason: String| SweepError::Glob {
        at: source.location(field),
        field: field.into(),
        pattern: pattern.clone(),
        reason,
    };
    let found = glob::glob(&pattern).map_err(|error| refused(error.msg.to_owned()))?;
    let mut names = Vec::new();
    for path in found {
        let path = path.map_err(|error| refused(error.to_string()))?;
        if path.is_file() {
            let name = path.to_str().ok_or_else(|| refused("a file name is not UTF-8".into()))?;
            names.push(name.to_owned());
        }
    }
    names.sort();
    if names.is_empty() { Err(refused("matches no file".into())) } else { Ok(names) }
}
