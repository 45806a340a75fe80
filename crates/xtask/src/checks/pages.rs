//! Checks of README and guide: commands, links, paths and lists.

use std::path::Path;

use crate::run::root;

/// Folder of the guide.
const GUIDE: &str = "crates/poplin/guide";

/// Reads a file at a path relative to the root.
fn read(path: &str) -> String {
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

/// Returns the names of a folder's files with this extension, without the extension.
fn stems(folder: &str, extension: &str) -> Vec<String> {
    entries(folder)
        .iter()
        .filter_map(|name| Some(name.strip_suffix(extension)?.to_owned()))
        .collect()
}

/// Returns path and text of READMEs, contribution guide, change log and all pages of the guide.
fn pages() -> Vec<(String, String)> {
    let guide = stems(GUIDE, ".md").into_iter().map(|stem| format!("{GUIDE}/{stem}.md"));
    let others = [
        "README.md",
        ".github/CONTRIBUTING.md",
        "bevy_poplin/README.md",
        "crates/poplin/CHANGELOG.md",
    ];
    guide
        .chain(others.map(str::to_owned))
        .map(|path| {
            let text = read(&path);
            (path, text)
        })
        .collect()
}

/// Returns the code blocks of a page in this language.
fn code_blocks<'a>(page: &'a str, language: &'a str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_readme_has_at_most_150_lines() {
    let count = read("README.md").lines().count();
    assert!(count <= 150, "README.md has {count} lines, more than 150: move details to the guide");
}

#[test]
fn cargo_commands_in_pages_name_existing_targets() {
    let xtask = read("crates/xtask/src/main.rs");
    let mut count = 0;
    for (path, page) in pages() {
        let lines = code_blocks(&page, "sh").into_iter().flat_map(str::lines);
        for line in lines.filter(|line| line.starts_with("cargo ")) {
            count += 1;
            let words: Vec<_> = line.split_whitespace().take_while(|word| *word != "#").collect();
            let after = |flag: &str| words.windows(2).find(|w| w[0] == flag).map(|w| w[1]);
            let member = after("-p").map(|name| format!("crates/{name}/"));
            let other = after("--manifest-path").and_then(|path| path.strip_suffix("Cargo.toml"));
            let package = member.or(other.map(str::to_owned)).unwrap_or_default();
            assert!(root().join(&package).exists(), "{path}: `{line}`: no {package}");
            for (flag, folder) in
                [("--test", "tests"), ("--bench", "benches"), ("--example", "examples")]
            {
                let Some(name) = after(flag) else { continue };
                let stem = format!("{package}{folder}/{name}");
                let files = [format!("{stem}.rs"), format!("{stem}/main.rs")];
                let exists = files.iter().any(|file| root().join(file).exists());
                assert!(exists, "{path}: `{line}`: no {stem}.rs");
            }
            if words[1] == "xtask" {
                let task = format!("[\"{}\"", words[2]);
                assert!(xtask.contains(&task), "{path}: `{line}`: xtask has no such task");
            }
        }
    }
    assert!(count > 8, "only {count} commands");
}

/// Returns the targets of inline links and of reference definitions.
fn links(page: &str) -> Vec<&str> {
    let inline = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined = page
        .lines()
        .filter(|line| line.starts_with('['))
        .filter_map(|line| line.split_once("]: ").map(|(_, target)| target.trim()));
    inline.chain(defined).collect()
}

#[test]
fn the_files_that_the_pages_link_to_exist() {
    let mut count = 0;
    for (path, page) in pages() {
        let folder = root().join(Path::new(&path).parent().unwrap());
        for target in links(&page) {
            if target.starts_with("http") || target.starts_with('#') {
                continue;
            }
            count += 1;
            assert!(folder.join(target).exists(), "{path} links to {target}, which does not exist");
        }
    }
    assert!(count > 30, "only {count} links to files");
}

#[test]
fn the_paths_that_the_pages_name_exist() {
    let mut count = 0;
    for (path, page) in pages().into_iter().filter(|(path, _)| !path.ends_with("CHANGELOG.md")) {
        for code in page.split('`').skip(1).step_by(2) {
            let is_path = ["tests/", "crates/", "shaders/", "benches/", ".github/"]
                .iter()
                .any(|folder| code.starts_with(folder));
            if !is_path || code.contains(['*', '<', ' ', '\n']) {
                continue;
            }
            count += 1;
            assert!(root().join(code).exists(), "{path} names `{code}`, which does not exist");
        }
    }
    assert!(count > 20, "only {count} paths");
}

#[test]
fn every_page_is_a_module_of_the_guide() {
    let modules = read("crates/poplin/src/guide.rs");
    let pages = stems(GUIDE, ".md");
    for stem in &pages {
        let page = format!("page!({stem}, \"{stem}.md\"");
        assert!(modules.contains(&page), "crates/poplin/src/guide.rs has no `{page}`");
        let link = format!("({GUIDE}/{stem}.md)");
        assert!(read("README.md").contains(&link), "README.md does not link to {stem}.md");
    }
    assert!(pages.len() > 10, "only {} pages", pages.len());
}

#[test]
fn every_crate_and_test_file_is_in_the_guide() {
    let (architecture, testing) =
        (read(&format!("{GUIDE}/architecture.md")), read(&format!("{GUIDE}/testing.md")));
    let mut count = 0;
    for folder in ["tests", "tests/cpu", "tests/gpu", "tests/meta"] {
        for name in entries(folder) {
            let is_module = name.ends_with(".rs") || folder != "tests";
            if is_module && name != "main.rs" {
                count += 1;
                let name = format!("`{folder}/{name}`");
                assert!(testing.contains(&name), "testing.md does not say what {name} holds");
            }
        }
    }
    assert!(count > 30, "only {count} test files");
    for name in entries("crates") {
        let row = format!("| `{name}` |");
        assert!(architecture.contains(&row), "architecture.md has no row for the crate {name}");
    }
}
