//! Writes criterion's results as a table that can be committed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Destination of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `benches/results/<machine>/bench.csv`.
    Results,
    /// `bench.csv` of this folder.
    Folder(PathBuf),
    /// Standard output.
    Stdout,
}

/// Writes the median of every benchmark and its 95 % interval as CSV, below lines with machine,
/// date and commit.
pub(crate) fn write(target: Target) -> Result<(), String> {
    let built =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let root = &built.join("criterion");
    let mut rows = Vec::new();
    collect(root, root, &mut rows)
        .map_err(|error| format!("{}: {error} (run `cargo bench` first)", root.display()))?;
    rows.sort();
    let machine = machine();
    let mut table = format!(
        "# machine: {machine}\n# date: {}\n# commit: {}\n# how: cargo bench\n\
         benchmark,median_ms,lower_ms,upper_ms\n",
        output("date", &["-u", "+%F"]),
        output("git", &["describe", "--always", "--dirty"]),
    );
    for (name, values) in &rows {
        let _ = writeln!(table, "{name},{values}");
    }
    let folder = match target {
        Target::Stdout => {
            crate::run::say(&table);
            return Ok(());
        }
        Target::Folder(folder) => folder,
        Target::Results => PathBuf::from("benches/results").join(folder_name(&machine)),
    };
    let path = folder.join("bench.csv");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, table));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    crate::run::say(&format!("wrote {}\n", path.display()));
    Ok(())
}

/// Returns the processor and its number of threads, for example `Intel(R) Xeon(R) CPU @ 2.60GHz, 2
/// threads`.
pub(crate) fn machine() -> String {
    let listed = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = listed.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = named.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} threads")
}

/// Returns the folder name of a machine: lower case, other characters than letters, digits and
/// points replaced by single hyphens.
pub(crate) fn folder_name(machine: &str) -> String {
    let lower = machine.to_lowercase();
    let words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// Returns the trimmed output of a program, `unknown` if it fails or prints nothing.
pub(crate) fn output(program: &str, arguments: &[&str]) -> String {
    let printed = std::process::Command::new(program).args(arguments).output();
    let printed = printed.ok().filter(|output| output.status.success());
    let text = printed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// Collects name and values of every benchmark below `folder`, named relative to `root`.
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

/// Returns median and interval bounds \[ms\] of criterion's estimates \[ns\], separated by commas.
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
    fn a_machine_name_becomes_a_folder_name() {
        assert_eq!(
            folder_name("Intel(R) Xeon(R) CPU @ 2.60GHz, 2 threads"),
            "intel-r-xeon-r-cpu-2.60ghz-2-threads"
        );
    }

    #[test]
    fn a_row_is_in_milliseconds() {
        let text = r#"{"median":{"point_estimate":1500000.0,"confidence_interval":{"lower_bound":1000000.0,"upper_bound":2000000.0}}}"#;
        assert_eq!(row(text).as_deref(), Some("1.5000,1.0000,2.0000"));
        assert_eq!(row("{}"), None);
    }
}
