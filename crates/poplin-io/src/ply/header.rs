//! Header of a PLY file.

use std::path::Path;

use crate::text::Words;
use crate::{FilePosition, IoError};

/// Limit of the header \[bytes\]; usual headers have some hundred.
const MAX_HEADER: usize = 64 << 10;

/// Encoding of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Ascii,
    Little,
    Big,
}

/// Number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Size of a number \[bytes\].
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// Type of a property.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    One(Scalar),
    /// Types of the list length and of its items.
    List(Scalar, Scalar),
}

/// Property: a value in each row of an element.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// Element: rows with the same properties.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) properties: Vec<Property>,
    /// Line of its declaration.
    pub(super) line: usize,
}

impl Element {
    /// Returns an error at the declaration of the element.
    pub(super) fn unexpected(&self, path: &Path, found: String, expected: &str) -> IoError {
        unexpected(path, self.line, found, expected)
    }
}

/// Header of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    pub(super) elements: Vec<Element>,
    /// Offset of the first value \[bytes\].
    pub(super) length: usize,
    /// Line after the header.
    pub(super) next_line: usize,
}

impl Header {
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, IoError> {
        let mut header =
            Self { encoding: Encoding::Ascii, elements: Vec::new(), length: 0, next_line: 1 };
        let mut has_encoding = false;
        loop {
            let line = header.next_line;
            // A binary file without line breaks must not be searched as a whole.
            let limited = &bytes[header.length..bytes.len().min(MAX_HEADER)];
            let Some(end) = limited.iter().position(|&byte| byte == b'\n') else {
                let found = match bytes.len() > MAX_HEADER && line > 1 {
                    true => format!("a header of more than {MAX_HEADER} bytes"),
                    false => "the end of the file".to_owned(),
                };
                let expected =
                    if line == 1 { "`ply`, the first line of a PLY file" } else { "end_header" };
                return Err(unexpected(path, line, found, expected));
            };
            header.length += end + 1;
            header.next_line += 1;
            let text = String::from_utf8_lossy(&limited[..end]);
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let is_known = match words[..] {
                ["ply"] if line == 1 => true,
                _ if line == 1 => {
                    let found = Words::show(text.trim().as_bytes());
                    return Err(unexpected(
                        path,
                        line,
                        found,
                        "`ply`, the first line of a PLY file",
                    ));
                }
                [] | ["comment" | "obj_info", ..] => true,
                ["format", name, "1.0"] => {
                    let known = ["ascii", "binary_little_endian", "binary_big_endian"];
                    let index = known.iter().position(|known| *known == name);
                    has_encoding = index.is_some();
                    let encodings = [Encoding::Ascii, Encoding::Little, Encoding::Big];
                    header.encoding = encodings[index.unwrap_or(0)];
                    has_encoding
                }
                ["element", name, count] => header.add_element(name, count, line),
                ["property", ..] => header.add_property(&words[1..]),
                ["end_header"] if has_encoding => return Ok(header),
                _ => false,
            };
            if !is_known {
                let found = Words::show(text.trim().as_bytes());
                let expected = "format (ascii, binary_little_endian or binary_big_endian 1.0), element NAME COUNT, property TYPE \
                     NAME, property list TYPE TYPE NAME, comment, or end_header after them";
                return Err(unexpected(path, line, found, expected));
            }
        }
    }

    fn add_element(&mut self, name: &str, count: &str, line: usize) -> bool {
        let Ok(count) = count.parse() else { return false };
        self.elements.push(Element { name: name.to_owned(), count, properties: Vec::new(), line });
        true
    }

    fn add_property(&mut self, words: &[&str]) -> bool {
        let read = match *words {
            ["list", length, item, name] => {
                let length = Scalar::named(length);
                // List lengths are integers.
                let length = length.filter(|it| !matches!(it, Scalar::F32 | Scalar::F64));
                length
                    .zip(Scalar::named(item))
                    .map(|(length, item)| (name, Kind::List(length, item)))
            }
            [scalar, name] => Scalar::named(scalar).map(|scalar| (name, Kind::One(scalar))),
            _ => None,
        };
        let (Some((name, kind)), Some(element)) = (read, self.elements.last_mut()) else {
            return false;
        };
        element.properties.push(Property { name: name.to_owned(), kind });
        true
    }
}

fn unexpected(path: &Path, line: usize, found: String, expected: &str) -> IoError {
    let (path, expected) = (path.to_path_buf(), expected.to_owned());
    IoError::Unexpected { path, position: FilePosition::Line(line), found, expected }
}
