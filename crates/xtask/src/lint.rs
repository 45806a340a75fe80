//! Checks the texts in sources: first words of docs, width of comments, length of names and files,
//! spelling.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::{answers, environment};
use crate::run::{root, run_program, say};

/// Folders with sources.
const SEARCHED: [&str; 5] = ["benches", "bevy_poplin", "crates", "shaders", "tests"];

/// First words of a doc comment that is neither a noun phrase nor a verb in the third person.
const REJECTED_HEADS: [&str; 12] = [
    "What", "Who", "Whose", "Of", "Whether", "How", "Where", "The same", "Those", "As", "Which",
    "Why",
];

/// Width of a comment with its indentation \[columns\].
const COMMENT_WIDTH: usize = 100;

/// Length of a function's name \[letters\].
const NAME_LENGTH: usize = 60;

/// Length of a file by extension \[lines\].
const FILE_LENGTHS: [(&str, usize); 2] = [("rs", 500), ("wgsl", 300)];

/// First words of a generated file, which may be longer.
const GENERATED: &str = "// Written by `cargo xtask generate`";

/// Result of a check of some sources.
#[derive(Debug, Default)]
struct Findings {
    lines: Vec<String>,
    doc_count: usize,
    bad_doc_count: usize,
}

impl Findings {
    /// Checks one source; `name` is its path from the root.
    fn add_source(&mut self, name: &str, source: &str) {
        let mut is_in_doc = false;
        for (line, at) in source.lines().zip(1..) {
            let text = line.trim_start();
            let doc = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"));
            if let Some(head) = doc.map(str::trim).filter(|head| !head.is_empty() && !is_in_doc) {
                self.doc_count += 1;
                if is_rejected(head) {
                    self.bad_doc_count += 1;
                    self.lines.push(format!(
                        "{name}:{at}: a doc begins with a noun phrase or a verb: `{head}`"
                    ));
                }
            }
            is_in_doc = doc.is_some();
            let width = line.chars().count();
            if text.starts_with("//") && width > COMMENT_WIDTH {
                self.lines.push(format!(
                    "{name}:{at}: a comment of {width} columns, more than {COMMENT_WIDTH}"
                ));
            }
            let length = function_name(text).map_or(0, str::len);
            if length > NAME_LENGTH {
                self.lines.push(format!(
                    "{name}:{at}: a name of {length} letters, more than {NAME_LENGTH}"
                ));
            }
        }
        let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
        let limit = FILE_LENGTHS.into_iter().find(|(known, _)| Some(*known) == extension);
        let length = source.lines().count();
        if let Some((_, limit)) = limit.filter(|(_, limit)| length > *limit)
            && !source.starts_with(GENERATED)
        {
            self.lines.push(format!("{name}: {length} lines, more than {limit}"));
        }
    }
}

/// Tests whether a doc begins with one of [`REJECTED_HEADS`].
fn is_rejected(head: &str) -> bool {
    REJECTED_HEADS.iter().any(|word| {
        let rest = head.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    })
}

/// Returns the name of the function that a line declares.
fn function_name(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_declared = before.is_empty() || (before.starts_with("pub") && before.ends_with(' '));
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_')?;
    is_declared.then_some(&rest[..end])
}

/// Collects the sources below a folder, without links and build folders.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let explain = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in folder.read_dir().map_err(explain)? {
        let path = entry.map_err(explain)?.path();
        if path.is_symlink() || path.ends_with("target") {
            continue;
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            sources(&path, found)?;
        } else if FILE_LENGTHS.iter().any(|(known, _)| Some(*known) == extension) {
            found.push(path);
        }
    }
    Ok(())
}

/// Checks every source and its spelling; prints each finding.
pub(crate) fn check() -> Result<(), String> {
    let root =
        root().canonicalize().map_err(|error| format!("the root of the project: {error}"))?;
    let mut paths = Vec::new();
    SEARCHED.iter().try_for_each(|folder| sources(&root.join(folder), &mut paths))?;
    paths.sort();
    let mut findings = Findings::default();
    for path in &paths {
        let source = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        findings.add_source(&name, &source);
    }
    findings.lines.iter().for_each(|line| say(&format!("{line}\n")));
    let Findings { lines, doc_count, bad_doc_count } = &findings;
    let percent = 100.0 * *bad_doc_count as f64 / (*doc_count).max(1) as f64;
    say(&format!(
        "{} files, {doc_count} docs, {bad_doc_count} ({percent:.1} %) without a noun or verb at their head\n",
        paths.len()
    ));
    if !lines.is_empty() {
        return Err(format!("{} texts break the rules of .github/CONTRIBUTING.md", lines.len()));
    }
    check_spelling()
}

/// Checks spelling with `typos`. If it is missing, installs it under `CI=true` and otherwise only
/// says so.
fn check_spelling() -> Result<(), String> {
    let mut program = PathBuf::from("typos");
    if !answers("typos", &["--version"]) {
        if !crate::adapter::is_ci() {
            say("spelling is not checked: `typos` is not installed (pip install typos)\n");
            return Ok(());
        }
        let python = environment("python3", &root().join("target/typos"), &["typos"])?;
        program = python.with_file_name("typos");
    }
    let arguments = ["--config", ".config/typos.toml", "--format", "brief"];
    run_program(Command::new(program).args(arguments).current_dir(root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, source: &str) -> Vec<String> {
        let mut findings = Findings::default();
        findings.add_source(name, source);
        findings.lines
    }

    #[test]
    fn a_doc_begins_with_a_noun_or_a_verb() {
        for good in
            ["/// Radius [m].", "/// Whatever holds.", "//! Offsets.\n//! Of rows.", "// As"]
        {
            assert_eq!(findings("a.rs", good), Vec::<String>::new(), "{good}");
        }
        for bad in
            ["/// What holds.", "    /// As [`x`].", "//! The same rows.", "/// Of\n/// rows."]
        {
            assert_eq!(findings("a.rs", bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn wide_comments_long_names_and_long_files_are_found() {
        let wide = format!("// {}", "x".repeat(98));
        let name = format!("    pub(crate) fn {}() {{}}", "x".repeat(61));
        let long = "\n".repeat(301);
        assert_eq!(findings("a.rs", &wide).len(), 1);
        assert_eq!(findings("a.rs", &wide[1..]).len(), 0, "it is no comment");
        assert_eq!(findings("a.rs", &name).len(), 1);
        assert_eq!(findings("a.rs", &long).len(), 0);
        assert_eq!(findings("a.wgsl", &long).len(), 1);
        assert_eq!(findings("a.wgsl", &format!("{GENERATED}{long}")).len(), 0);
    }
}
