//! Reader of the values of a PLY file.

use std::path::Path;

use super::header::{Element, Encoding, Header, Kind, Scalar};
use crate::text::Words;
use crate::{FilePosition, IoError};

/// Values after the header.
pub(super) struct Values<'a> {
    path: &'a Path,
    source: Source<'a>,
}

enum Source<'a> {
    Text(Words<'a>),
    /// All bytes, the offset of the next value, and the byte order.
    Binary {
        bytes: &'a [u8],
        at: usize,
        is_big: bool,
    },
}

impl<'a> Values<'a> {
    pub(super) fn new(bytes: &'a [u8], header: &Header, path: &'a Path) -> Self {
        let at = header.length;
        let source = match header.encoding {
            Encoding::Ascii => Source::Text(Words::from_line(&bytes[at..], header.next_line)),
            encoding => Source::Binary { bytes, at, is_big: encoding == Encoding::Big },
        };
        Self { path, source }
    }

    /// Reads the next value.
    pub(super) fn next(&mut self, scalar: Scalar) -> Result<f64, IoError> {
        match &mut self.source {
            Source::Text(words) => {
                let word = words.next().unwrap_or_default();
                Words::number(word)
                    .ok_or_else(|| self.unexpected(Words::show(word), "a number".to_owned()))
            }
            Source::Binary { bytes, at, is_big } => {
                let size = scalar.size();
                let Some(raw) = bytes.get(*at..*at + size) else {
                    return Err(
                        self.unexpected("the end of the file".to_owned(), "a value".to_owned())
                    );
                };
                *at += size;
                let mut word = [0; 8];
                word[..size].copy_from_slice(raw);
                if *is_big {
                    word[..size].reverse();
                }
                Ok(decode(word, scalar))
            }
        }
    }

    /// Reads the length of a list, and checks that its items fit in the remaining bytes.
    pub(super) fn length(&mut self, length: Scalar, item: Scalar) -> Result<usize, IoError> {
        let count = self.next(length)?;
        // Upper bound of the items in the rest of the file, checked before allocation.
        let most = self.left() / self.least_size(item);
        if count >= 0.0 && count.fract() == 0.0 && count <= most as f64 {
            Ok(count as usize)
        } else {
            let found = format!("a list of {count} items");
            Err(self.unexpected(
                found,
                format!("a count up to {most}, as the rest of the file has room for"),
            ))
        }
    }

    /// Skips a list.
    pub(super) fn skip_list(&mut self, length: Scalar, item: Scalar) -> Result<(), IoError> {
        let count = self.length(length, item)?;
        (0..count).try_for_each(|_| self.next(item).map(drop))
    }

    /// Skips all rows of an element.
    pub(super) fn skip(&mut self, element: &Element) -> Result<(), IoError> {
        if element.properties.is_empty() {
            return Ok(());
        }
        for _ in 0..element.count {
            for property in &element.properties {
                match property.kind {
                    Kind::One(scalar) => drop(self.next(scalar)?),
                    Kind::List(length, item) => self.skip_list(length, item)?,
                }
            }
        }
        Ok(())
    }

    /// Checks that the rows of an element fit in the remaining bytes, before anything is allocated
    /// for them.
    pub(super) fn check_room(&self, element: &Element) -> Result<(), IoError> {
        let least = |kind| match kind {
            Kind::One(scalar) | Kind::List(scalar, _) => self.least_size(scalar),
        };
        let row: usize = element.properties.iter().map(|property| least(property.kind)).sum();
        // The last number of a text needs no space after it.
        let most = (self.left() + 1).checked_div(row).unwrap_or(usize::MAX);
        if element.count <= most {
            return Ok(());
        }
        let found = format!("{} of element `{}`", element.count, element.name);
        let expected = format!("no more than {most}, as the rest of the file has room for");
        Err(element.unexpected(self.path, found, &expected))
    }

    /// Position of the last value, or of the next one in a binary file.
    fn position(&self) -> FilePosition {
        match &self.source {
            Source::Text(words) => words.position(),
            Source::Binary { at, .. } => FilePosition::Byte(*at),
        }
    }

    /// Line of the last value, 0 in a binary file.
    pub(super) fn line(&self) -> usize {
        match &self.source {
            Source::Text(words) => words.line(),
            Source::Binary { .. } => 0,
        }
    }

    pub(super) fn unexpected(&self, found: String, expected: String) -> IoError {
        let (path, position) = (self.path.to_path_buf(), self.position());
        IoError::Unexpected { path, position, found, expected }
    }

    fn left(&self) -> usize {
        match &self.source {
            Source::Text(words) => words.left(),
            Source::Binary { bytes, at, .. } => bytes.len() - at,
        }
    }

    /// Minimum size of a value \[bytes\]: as text, a digit and a space.
    fn least_size(&self, scalar: Scalar) -> usize {
        match &self.source {
            Source::Text(_) => 2,
            Source::Binary { .. } => scalar.size(),
        }
    }
}

/// Decodes a value from its little-endian bytes.
fn decode(word: [u8; 8], scalar: Scalar) -> f64 {
    let [a, b, c, d, ..] = word;
    match scalar {
        Scalar::I8 => f64::from(a as i8),
        Scalar::U8 => f64::from(a),
        Scalar::I16 => f64::from(i16::from_le_bytes([a, b])),
        Scalar::U16 => f64::from(u16::from_le_bytes([a, b])),
        Scalar::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
        Scalar::U32 => f64::from(u32::from_le_bytes([a, b, c, d])),
        Scalar::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
        Scalar::F64 => f64::from_le_bytes(word),
    }
}
