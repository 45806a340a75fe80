//! Words of text files, and what errors show of them.

use crate::FilePosition;

/// Characters of a faulty text that an error shows.
const EXCERPT_LENGTH: usize = 60;

/// The begin of a text of a file, for an error.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(EXCERPT_LENGTH).collect()
}

/// The words of a text and the line that each is in.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Words<'a> {
    /// The words of a whole text.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, line: 1 }
    }

    /// The same, the first line of which is another one of the file.
    pub(crate) fn from_line(text: &'a [u8], line: usize) -> Self {
        Self { rest: text, line }
    }

    /// The next word, if there is one.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.rest.iter().position(|byte| !byte.is_ascii_whitespace());
        let begin = begin.unwrap_or(self.rest.len());
        self.line += self.rest[..begin].iter().filter(|&&byte| byte == b'\n').count();
        let word = &self.rest[begin..];
        let length = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
        self.rest = &word[length..];
        (length > 0).then(|| &word[..length])
    }

    /// Leaves out the rest of the line.
    pub(crate) fn skip_line(&mut self) {
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// Bytes after the last word.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Where the last word is.
    pub(crate) fn position(&self) -> FilePosition {
        FilePosition::Line(self.line)
    }

    /// The line of the last word, from 1.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// A word as a number.
    pub(crate) fn number(word: &[u8]) -> Option<f64> {
        std::str::from_utf8(word).ok()?.parse().ok()
    }

    /// A word for an error, shortened; the end of the file if it is empty.
    pub(crate) fn show(word: &[u8]) -> String {
        match word {
            [] => "the end of the file".to_owned(),
            word => format!("`{}`", shortened(&String::from_utf8_lossy(word)).escape_debug()),
        }
    }
}
