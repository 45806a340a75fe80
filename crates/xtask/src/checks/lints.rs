//! Lints: every crate follows those of the workspace.

use toml::{Table, Value};

use crate::run::root;

/// Lints that the test suite leaves out: clippy exempts tests from them, but not helper functions
/// of integration tests.
const SPARED: [&str; 2] = ["unwrap_used", "print_stdout"];

fn read(path: &str) -> Table {
    let text = std::fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    text.parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path().join("Cargo.toml");
        let manifest = read(path.to_str().unwrap());
        let lints = manifest["lints"].as_table().unwrap();
        assert_eq!(lints.get("workspace"), Some(&Value::Boolean(true)), "{}", path.display());
        assert_eq!(lints.len(), 1, "{} has lints of its own", path.display());
        count += 1;
    }
    assert!(count > 10, "only {count} crates were found");
}

#[test]
fn the_suite_keeps_all_lints_except_those_spared_for_tests() {
    let manifest = read("Cargo.toml");
    let mut wanted = manifest["workspace"]["lints"].as_table().unwrap().clone();
    let clippy = wanted["clippy"].as_table_mut().unwrap();
    for name in SPARED {
        assert!(clippy.remove(name).is_some(), "{name} is not a lint of the workspace");
    }
    assert_eq!(manifest["lints"].as_table().unwrap(), &wanted);
}

#[test]
fn no_source_weakens_a_lint_of_its_crate() {
    let sources = walk("crates").chain(walk("tests")).chain(walk("benches"));
    let mut count = 0;
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        for weak in [concat!("#![", "warn("), concat!("#![", "allow("), concat!("#[", "allow(")] {
            assert!(!text.contains(weak), "{}: {weak}", path.display());
        }
        count += 1;
    }
    assert!(count > 100, "only {count} sources were found");
}

#[test]
fn only_three_modules_have_unsafe_code() {
    let has_unsafe = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path).unwrap().contains(concat!("expect(", "unsafe_code"))
    };
    let found: Vec<_> = ["crates", "tests", "benches"].into_iter().flat_map(walk).collect();
    let mut found: Vec<_> = found.into_iter().filter(has_unsafe).collect();
    found.sort();
    // An environment variable that the command sets before anything else, threads of the CPU
    // backend, and a separate tool that calls Vulkan without wgpu.
    let known = [
        "crates/poplin-cli/src/main.rs",
        "crates/poplin-cpu/src/wide/split.rs",
        "crates/poplin-gpu-stats/src/vulkan.rs",
    ];
    assert_eq!(found, known.map(|path| root().join(path)));
}

#[test]
fn tests_ask_the_test_kit_whether_the_gpu_is_off() {
    // The test kit counts the test as skipped; a test that reads the variable itself does not.
    let is_test = |path: &std::path::PathBuf| path.iter().any(|part| part == "tests");
    let mut count = 0;
    for path in walk("tests").chain(walk("crates")).filter(is_test) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(concat!("var(\"POPLIN", "_GPU\")")), "{}", path.display());
        count += 1;
    }
    assert!(count > 40, "only {count} tests were found");
}

/// Returns every Rust file below a folder.
fn walk(folder: &str) -> impl Iterator<Item = std::path::PathBuf> {
    let mut pending = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.into_iter()
}
