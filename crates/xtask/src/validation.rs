//! Measures every table of the validation page again and writes it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::bench_table::output;
use crate::ci::{Tables, tables};
use crate::run::{cargo_program, root, run_program, say, timed};

/// Page of the guide.
const PAGE: &str = "crates/poplin/guide/validation.md";

/// Examples of poplin-run that print tables from the scene files beside them, and their blocks of
/// the page.
const EXAMPLES: [(&str, &[&str]); 2] = [
    ("hold", &["hold_gripper", "hold_ramps", "hold_edges"]),
    ("drape", &["drape_materials", "drape_steps"]),
];

/// Files that `implicit_validation` writes.
const FILES: [&str; 3] = ["implicit_theory.csv", "implicit_cantilever.csv", "buckling.csv"];

/// Folder of these files: the bits are those of any machine.
const FOLDER: &str = "benches/results/any-machine";

/// Runs the examples, and then all tests that write tables.
pub(crate) fn write() -> Result<(), String> {
    let commit = output("git", &["describe", "--always", "--dirty"]);
    for (example, blocks) in EXAMPLES {
        let printed = timed(example, || run_example(example))?;
        let found: Vec<&str> = printed.trim().split("\n\n").collect();
        if found.len() != blocks.len() {
            return Err(format!("{example}: {} tables, not {}", found.len(), blocks.len()));
        }
        let path = root().join(PAGE);
        let explain = |error: std::io::Error| format!("{PAGE}: {error}");
        let mut page = std::fs::read_to_string(&path).map_err(explain)?;
        for (name, table) in blocks.iter().zip(found) {
            page = replaced(&page, name, table).ok_or_else(|| format!("{PAGE}: no `{name}`"))?;
        }
        std::fs::write(&path, page).map_err(explain)?;
    }
    let folder = root().join(FOLDER);
    timed("implicit_validation", || {
        let arguments = ["run", "--release", "-p", "poplin-testkit", "--example"];
        let mut command = Command::new(cargo_program());
        run_program(command.args(arguments).args(["implicit_validation", "--"]).arg(&folder))
    })?;
    FILES.iter().try_for_each(|file| stamp(&folder.join(file), &commit))?;
    tables(Tables::Write)
}

/// Runs an example of poplin-run and returns what it prints.
fn run_example(example: &str) -> Result<String, String> {
    let mut command = Command::new(cargo_program());
    command.args(["run", "--release", "-p", "poplin-run", "--example", example]);
    let result = command.stderr(Stdio::inherit()).output();
    let result = result.map_err(|error| format!("{example}: {error}"))?;
    let printed = String::from_utf8_lossy(&result.stdout).into_owned();
    say(&printed);
    if result.status.success() { Ok(printed) } else { Err(format!("{example}: {}", result.status)) }
}

/// Fills in the date and the commit of a file of results.
fn stamp(path: &Path, commit: &str) -> Result<(), String> {
    let explain = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(explain)?;
    let date = format!("# date: {}\n", output("date", &["-u", "+%F"]));
    let commit = format!("# commit: {commit}\n");
    let text = text.replacen("# date: \n", &date, 1).replacen("# commit: \n", &commit, 1);
    std::fs::write(path, text).map_err(explain)
}

/// The page with another table in a block; `None` if it has no such block.
fn replaced(page: &str, name: &str, table: &str) -> Option<String> {
    let begin = format!("<!-- begin generated: {name} -->");
    let start = page.find(&begin)? + begin.len();
    let end = start + page[start..].find(&format!("<!-- end generated: {name} -->"))?;
    Some(format!("{}\n{}\n{}", &page[..start], table.trim(), &page[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_block_for_each_printed_table() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        for name in EXAMPLES.iter().flat_map(|(_, blocks)| *blocks) {
            let found = replaced(&page, name, "| new |").unwrap_or_else(|| panic!("{name}"));
            assert!(found.contains("| new |"), "{name}");
        }
    }
}
