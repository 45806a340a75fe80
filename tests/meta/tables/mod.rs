//! Computed tables of README and guide. Each test fails if the text has drifted;
//! `cargo xtask tables` rewrites it.

mod benchmarks;
mod declarations;
mod measurements;
mod stages;

use poplin_testkit::generated::{assert_block, block, block_names, root};

/// Folder of the pages of the guide.
pub(crate) const GUIDE: &str = "crates/poplin/guide";

/// Reads a file at a path relative to the root.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the names of the entries of a folder, sorted.
fn entries(folder: &str) -> Vec<String> {
    let entries =
        root().join(folder).read_dir().unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Asserts that a block of a guide page is this text.
#[track_caller]
fn assert_guide(page: &str, name: &str, text: &str) {
    assert_block(&format!("{GUIDE}/{page}.md"), name, text);
}

/// Returns the names of a folder's files with this extension, without the extension.
pub(crate) fn stems(folder: &str, extension: &str) -> Vec<String> {
    entries(folder)
        .iter()
        .filter_map(|name| Some(name.strip_suffix(extension)?.to_owned()))
        .collect()
}

/// Escapes the brackets of a text, so that Markdown makes no links of them.
fn escaped(text: &str) -> String {
    // Every second piece between backticks is code, where brackets are plain already.
    let pieces = text.split('`').enumerate().map(|(index, piece)| match index % 2 {
        0 => piece.replace('[', "\\[").replace(']', "\\]"),
        _ => piece.to_owned(),
    });
    pieces.collect::<Vec<_>>().join("`")
}

/// Returns the text of a module or shader: its file and the files in a folder of the same name, or
/// one of both.
fn read_module(path: &str) -> String {
    let (folder, extension) = path.rsplit_once('.').unwrap();
    let parts = if root().join(folder).is_dir() { entries(folder) } else { Vec::new() };
    let parts = parts.iter().filter(|part| part.ends_with(extension));
    let own = root().join(path).is_file() || !root().join(folder).is_dir();
    let text = if own { read(path) } else { String::new() };
    parts.fold(text, |text, part| text + &read(&format!("{folder}/{part}")))
}

/// Returns the paths of all Rust files below a folder, relative to the root.
fn rust_files(folder: &str) -> Vec<String> {
    let paths = entries(folder).into_iter().map(|name| format!("{folder}/{name}"));
    let files = paths
        .flat_map(|path| if root().join(&path).is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.ends_with(".rs")).collect()
}

#[test]
fn every_generated_block_is_filled_and_has_a_test() {
    let pages = entries(GUIDE).into_iter().filter(|name| name.ends_with(".md"));
    let pages = pages.map(|name| format!("{GUIDE}/{name}")).chain(["README.md".to_owned()]);
    let tests: String = rust_files("tests")
        .into_iter()
        .chain(["crates/poplin-cli/src/args/documented.rs".to_owned()])
        .map(|path| read(&path))
        .collect();
    let mut count = 0;
    for path in pages {
        let page = read(&path);
        for name in block_names(&page) {
            count += 1;
            let text = block(&page, name).unwrap_or_else(|| panic!("{path}: `{name}` has no end"));
            assert!(!text.is_empty(), "{path}: the block `{name}` is empty");
            assert!(tests.contains(&format!("\"{name}\"")), "{path}: no test writes `{name}`");
        }
    }
    assert!(count > 15, "only {count} generated blocks");
}
