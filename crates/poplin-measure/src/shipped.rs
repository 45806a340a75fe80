//! Reference cases and stage files inside the crate.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::case::{Case, CaseError};
use crate::stage_case::StageCase;

/// Cases, packed by the build script.
const CASES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cases.z"));

/// Stage files, packed by the build script.
const STAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stages.z"));

/// Returns the reference cases that the crate ships, in order of their names.
///
/// # Errors
/// [`CaseError`] if one cannot be read, which would be a bug of this crate.
pub fn cases() -> Result<Vec<Case>, CaseError> {
    unpacked(CASES, Case::parse)
}

/// Returns the stage files that the crate ships, in order of their names.
///
/// # Errors
/// [`CaseError`] if one cannot be read, which would be a bug of this crate.
pub fn stages() -> Result<Vec<StageCase>, CaseError> {
    unpacked(STAGES, StageCase::parse)
}

/// Unpacks files, a line each, and parses them.
fn unpacked<T>(
    packed: &[u8],
    parse: impl Fn(&str, &str) -> Result<T, CaseError>,
) -> Result<Vec<T>, CaseError> {
    let mut text = String::new();
    let io = |source| CaseError::Io { path: "the shipped cases".to_owned(), source };
    ZlibDecoder::new(packed).read_to_string(&mut text).map_err(io)?;
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, it)| parse(name, it))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_is_shipped() {
        let count = |folder: &str| {
            let entries = std::fs::read_dir(Path::new(folder)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.ends_with(".json")).count()
        };
        let (cases, stages) = (cases().unwrap(), stages().unwrap());
        assert_eq!([cases.len(), stages.len()], [count("cases"), count("cases/stages")]);
        let has_case = |it: &StageCase| cases.iter().any(|case| case.name == it.case);
        assert!(stages.iter().all(has_case) && !stages.is_empty());
    }
}
