//! Table of stages: their kernels, mirrors, oracles and oracle tests.

use poplin_layout::{Oracle, STAGES, StageRow};
use poplin_testkit::generated::markdown_table;

use super::{assert_guide, read, read_module, stems};

/// Folder of the oracle functions.
const ORACLE_FOLDER: &str = "crates/poplin-oracle/src";

/// Tests that compare stages with the oracle: files, or folders of the same names.
const ORACLE_TESTS: [&str; 3] =
    ["tests/cpu/oracle.rs", "tests/cpu/collision.rs", "tests/cpu/self_collision.rs"];

/// Tests that compare triangle contact with its oracle: a file, or a folder of the same name.
const TRIANGLE_ORACLE_TESTS: &str = "tests/cpu/triangle_oracle.rs";

/// Returns the names of the functions that a source text defines after this prefix.
fn functions<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(prefix)?.split(['(', '<']).next())
}

/// Returns every oracle function with its file.
fn oracle_functions() -> Vec<(String, String)> {
    let files =
        stems(ORACLE_FOLDER, ".rs").into_iter().map(|stem| format!("{ORACLE_FOLDER}/{stem}.rs"));
    files
        .flat_map(|file| {
            functions(&read(&file), "pub fn ")
                .map(|name| (name.to_owned(), file.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the public functions of a file.
fn functions_of(file: &str) -> impl Iterator<Item = String> + use<> {
    let text = read(file);
    functions(&text, "pub fn ").map(str::to_owned).collect::<Vec<_>>().into_iter()
}

#[test]
fn table_of_stages() {
    let row = |row: &StageRow| {
        let called: Vec<_> = row.tasks.iter().map(|task| format!("`{}`", task.name())).collect();
        let oracle = match row.oracle {
            Oracle::None(reason) => reason.to_owned(),
            Oracle::Functions(functions) => {
                let names = functions.iter().map(|(_, function)| format!("`{function}`"));
                names.collect::<Vec<_>>().join(", ")
            }
        };
        vec![row.name.to_owned(), called.join(", "), oracle]
    };
    let rows: Vec<_> = STAGES.iter().map(row).collect();
    let table = markdown_table(&["stage", "called by the kernel", "oracle"], &rows);
    assert_guide("architecture", "stages", &table);
}

#[test]
fn every_row_of_the_stage_table_names_existing_code() {
    let kernel_text = read("shaders/kernel/simulate_cloth.wgsl");
    for row in STAGES {
        let name = row.name;
        let (source, mirror) = (
            format!("shaders/stage/{name}.wgsl"),
            format!("crates/poplin-cpu/src/stage/{name}.rs"),
        );
        let (source_text, mirror_text) = (read_module(&source), read_module(&mirror));
        assert!(
            kernel_text.contains(&format!("#import stage/{name}\n")),
            "the kernel does not import stage/{name}"
        );
        for task in row.tasks.iter().map(|task| task.name()) {
            let is_in = |text, prefix| functions(text, prefix).any(|known| known == task);
            assert!(is_in(&source_text, "fn "), "{source} does not have `{task}`");
            // A function for several lanes is visible in its crate only.
            let is_mirrored =
                ["pub fn ", "pub(crate) fn "].iter().any(|prefix| is_in(&mirror_text, prefix));
            assert!(is_mirrored, "{mirror} does not mirror `{task}`");
        }
        let Oracle::Functions(functions) = row.oracle else { continue };
        for (file, function) in functions {
            let file = format!("{ORACLE_FOLDER}/{file}.rs");
            let has_function = functions_of(&file).any(|known| known == *function);
            assert!(has_function, "{file} has no `pub fn {function}`");
            let is_called =
                ORACLE_TESTS.iter().any(|file| read_module(file).contains(&format!("{function}(")));
            assert!(is_called, "none of {ORACLE_TESTS:?} calls `{function}`");
        }
    }
}

#[test]
fn every_stage_file_is_a_stage() {
    let known: Vec<_> = STAGES.iter().map(|row| row.name).collect();
    let shaders = stems("shaders/stage", ".wgsl");
    let mirrors = stems("crates/poplin-cpu/src/stage", ".rs");
    for stem in shaders.iter().chain(mirrors.iter().filter(|stem| *stem != "mod")) {
        assert!(
            known.contains(&stem.as_str()),
            "the stage file `{stem}` is not in the table of stages"
        );
    }
}

#[test]
fn every_oracle_is_in_the_table() {
    // The oracle of triangle contact belongs to no stage: other kernels compute triangle contact.
    let (outside, stages): (Vec<_>, Vec<_>) =
        oracle_functions().into_iter().partition(|(_, file)| file.ends_with("triangle_contact.rs"));
    let tests = read_module(TRIANGLE_ORACLE_TESTS);
    for (function, _) in outside {
        assert!(tests.contains(&function), "{TRIANGLE_ORACLE_TESTS} has no {function}");
    }
    for known in stages {
        let is_named = STAGES.iter().any(|row| match row.oracle {
            Oracle::Functions(functions) => functions.iter().any(|(file, function)| {
                known == ((*function).to_owned(), format!("{ORACLE_FOLDER}/{file}.rs"))
            }),
            Oracle::None(_) => false,
        });
        assert!(is_named, "{known:?} is in no row of the table of stages");
    }
}
