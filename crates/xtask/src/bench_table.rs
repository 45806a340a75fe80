//! Turns criterion's results into a table that can be committed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Writes `median` and its 95 % interval of every benchmark, as CSV, to `folder/bench.csv` or to standard output.
pub(crate) fn write(folder: Option<&Path>) -> Result<(), String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let root = &target.join("criterion");
    let mut rows = Vec::new();
    collect(root, root, &mut rows)
        .map_err(|error| format!("{}: {error} (run `cargo bench` first)", root.display()))?;
    rows.sort();
    let mut table = "benchmark,median_ms,lower_ms,upper_ms\n".to_owned();
    for (name, values) in &rows {
        let _ = writeln!(table, "{name},{values}");
    }
    match folder {
        None => crate::run::say(&table),
        Some(folder) => {
            let path = folder.join("bench.csv");
            let written =
                std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, table));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn collect(root: &Path, folder: &Path, rows: &mut Vec<(String, String)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if !path.is_dir() {
            continue;
        }
        if let Ok(text) = std::fs::read_to_string(path.join("new/estimates.json")) {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            if let Some(values) = row(&text) {
                rows.push((name, values));
            }
        }
        collect(root, &path, rows)?;
    }
    Ok(())
}

fn row(estimates: &str) -> Option<String> {
    let value: Value = serde_json::from_str(estimates).ok()?;
    let median = &value["median"];
    let interval = &median["confidence_interval"];
    let numbers = [&median["point_estimate"], &interval["lower_bound"], &interval["upper_bound"]];
    let milliseconds: Vec<String> = numbers
        .iter()
        .map(|number| number.as_f64().map(|ns| format!("{:.4}", ns / 1e6)))
        .collect::<Option<_>>()?;
    Some(milliseconds.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_milliseconds() {
        let text = r#"{"median":{"point_estimate":1500000.0,"confidence_interval":{"lower_bound":1000000.0,"upper_bound":2000000.0}}}"#;
        assert_eq!(row(text).as_deref(), Some("1.5000,1.0000,2.0000"));
        assert_eq!(row("{}"), None);
    }
}
