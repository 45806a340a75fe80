//! Words of text files, and their excerpts in errors.

use crate::FilePosition;

/// Maximum length of an excerpt in an error \[characters\].
const EXCERPT_LENGTH: usize = 60;

/// Returns the beginning of a text for an error.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(EXCERPT_LENGTH).collect()
}

/// Iterator over the words of a text that tracks the line.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Words<'a> {
    /// Iterates over the words of a whole text.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Iterates over the words of a text that starts at `line` of its file.
    pub(crate) fn from_line(text: &'a [u8], line: usize) -> Self {
        Self { rest: text, line }
    }

    /// Returns the next word, if there is one.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.rest.iter().position(|byte| !byte.is_ascii_whitespace());
        let begin = begin.unwrap_or(self.rest.len());
        self.line += self.rest[..begin].iter().filter(|&&byte| byte == b'\n').count();
        let word = &self.rest[begin..];
        let length = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
        self.rest = &word[length..];
        (length > 0).then(|| &word[..length])
    }

    /// Skips the rest of the line.
    pub(crate) fn skip_line(&mut self) {
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// Number of bytes after the last word.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Position of the last word.
    pub(crate) fn position(&self) -> FilePosition {
        FilePosition::Line(self.line)
    }

    /// Line of the last word, from 1.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Parses a word as a number.
    pub(crate) fn number(word: &[u8]) -> Option<f64> {
        std::str::from_utf8(word).ok()?.parse().ok()
    }

    /// Formats a word for an error, shortened; the end of the file if it is empty.
    pub(crate) fn show(word: &[u8]) -> String {
        match word {
            [] => "the end of the file".to_owned(),
            word => format!("`{}`", shortened(&String::from_utf8_lossy(word)).escape_debug()),
        }
    }
}
