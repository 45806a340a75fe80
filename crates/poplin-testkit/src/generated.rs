//! Generated Markdown blocks: tables of README and guide between `generated` comments.
//!
//! A test computes the text of a block and calls [`assert_block`], which fails if the file differs.
//! Under `POPLIN_TABLES=write`, as `cargo xtask tables` sets it, the block is rewritten instead.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use poplin_measure::table::Table;

/// Environment variable that makes [`assert_block`] write: `POPLIN_TABLES=write`.
pub const WRITE_VARIABLE: &str = "POPLIN_TABLES";

/// Lock for files: tests of one binary run concurrently, and a file has several blocks.
static FILES: Mutex<()> = Mutex::new(());

/// Root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Asserts that the block `name` of the Markdown file `path` (relative to the repository root) is
/// `text`.
///
/// # Panics
/// Panics with the first line that differs; if the file has no such block; if it cannot be read or,
/// under `POPLIN_TABLES=write`, written.
#[track_caller]
pub fn assert_block(path: &str, name: &str, text: &str) {
    let _guard = FILES.lock();
    let file = root().join(path);
    let page = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let Some(range) = block_range(&page, name) else {
        panic!("{path} has no block `{name}`, that is no {} and {}", begin(name), end(name));
    };
    let (found, expected) = (page[range.clone()].trim(), text.trim());
    if std::env::var(WRITE_VARIABLE).is_ok_and(|value| value == "write") {
        let (before, after) = (&page[..range.start], &page[range.end..]);
        write(&file, &format!("{before}\n{expected}\n{after}"));
    } else if found != expected {
        let difference = first_difference(found, expected);
        panic!("{path}: the block `{name}` has drifted, run `cargo xtask tables`\n{difference}");
    }
}

/// Asserts that the generated file `path` (relative to the repository root) is `text`.
///
/// # Panics
/// Panics with the first line that differs, or if the file cannot be written under
/// `POPLIN_TABLES=write`.
#[track_caller]
pub fn assert_file(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var(WRITE_VARIABLE).is_ok_and(|value| value == "write") {
        return write(&file, text);
    }
    let found = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    if found != text {
        let difference = first_difference(&found, text);
        panic!("{path} has drifted, run `cargo xtask tables`\n{difference}");
    }
}

/// Names of the blocks of a page, in order.
pub fn block_names(page: &str) -> Vec<&str> {
    let named = |line: &str| line.starts_with("<!-- begin generated: ");
    page.lines()
        .filter(|line| named(line))
        .filter_map(|line| line.split(": ").nth(1)?.strip_suffix(" -->"))
        .collect()
}

/// Content of a block without surrounding blank lines; `None` if the page has no such block.
pub fn block<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    Some(page[block_range(page, name)?].trim())
}

/// Formats a Markdown table, see [`Table::markdown`]. Every row has as many cells as the head.
pub fn markdown_table<T: AsRef<str>>(head: &[T], rows: &[Vec<String>]) -> String {
    let head = head.iter().map(|name| name.as_ref().to_owned()).collect();
    Table { head, rows: rows.to_vec() }.markdown()
}

fn begin(name: &str) -> String {
    format!("<!-- begin generated: {name} -->")
}

fn end(name: &str) -> String {
    format!("<!-- end generated: {name} -->")
}

fn block_range(page: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let start = page.find(&begin(name))? + begin(name).len();
    Some(start..start + page[start..].find(&end(name))?)
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

fn first_difference(found: &str, expected: &str) -> String {
    let (mut found, mut expected) = (found.lines(), expected.lines());
    loop {
        match (found.next(), expected.next()) {
            (None, None) => return String::new(),
            (is, should) if is != should => {
                let text = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
                return format!("  is:        {}\n  should be: {}", text(is), text(should));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "a\n<!-- begin generated: x -->\nold\n<!-- end generated: x -->\nb\n";

    #[test]
    fn blocks_are_found_by_name() {
        assert_eq!(block(PAGE, "x"), Some("old"));
        assert_eq!(block(PAGE, "y"), None);
        assert_eq!(block_names(PAGE), ["x"]);
    }

    #[test]
    fn first_differing_line_is_shown() {
        let text = first_difference("a\nb", "a\nc");
        assert!(text.contains("is:        b") && text.contains("should be: c"), "{text}");
        assert!(first_difference("a", "a\nc").contains("(nothing)"));
    }
}
