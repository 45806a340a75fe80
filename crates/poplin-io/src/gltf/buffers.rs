//! Bytes of a glTF file: the chunks of a GLB, and buffers inside or next to the text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::json::Json;
use crate::mesh_file::{MAX_MESH_FILE, read_bytes};
use crate::text::shortened;
use crate::{FilePosition, IoError};

/// Limit of generated accessor items \[bytes\]: 22 million positions.
const MAX_MADE: usize = 1 << 28;

/// JSON text of a file and its binary chunk.
pub(super) struct Container<'a> {
    pub(super) text: &'a [u8],
    pub(super) binary: Option<&'a [u8]>,
}

impl<'a> Container<'a> {
    /// Splits a GLB into its chunks; any other file is only text.
    pub(super) fn open(bytes: &'a [u8], path: &Path) -> Result<Self, IoError> {
        if !bytes.starts_with(b"glTF") {
            return Ok(Self { text: bytes.trim_ascii_start(), binary: None });
        }
        let fault = |byte, found: String, expected: &str| IoError::Unexpected {
            path: path.to_path_buf(),
            position: FilePosition::Byte(byte),
            found,
            expected: expected.to_owned(),
        };
        let version = word(bytes, 4);
        if version != Some(2) {
            let found =
                version.map_or("the end of the file".to_owned(), |it| format!("version {it}"));
            return Err(fault(4, found, "version 2 of GLB"));
        }
        let (mut text, mut binary) = (None, None);
        let mut at = 12;
        // Chunks after the 12-byte header: length, type, data.
        while let (Some(length), Some(kind)) = (word(bytes, at), word(bytes, at + 4)) {
            let chunk = bytes[at + 8..].get(..length as usize);
            let chunk = chunk.ok_or_else(|| {
                let left = bytes.len() - at - 8;
                fault(
                    at,
                    format!("a chunk of {length} bytes"),
                    &format!("no more than the {left} bytes that are left"),
                )
            })?;
            match &kind.to_le_bytes() {
                b"JSON" => text = text.or(Some(chunk)),
                b"BIN\0" => binary = binary.or(Some(chunk)),
                _ => {}
            }
            at += 8 + length as usize;
        }
        let text =
            text.ok_or_else(|| fault(12, "no chunk of JSON".to_owned(), "one after the header"))?;
        Ok(Self { text, binary })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let raw = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*raw))
}

/// Buffers of a file, each read when first needed.
pub(super) struct Buffers<'a> {
    root: Json<'a>,
    binary: Option<&'a [u8]>,
    path: &'a Path,
    loaded: HashMap<usize, Arc<[u8]>>,
    /// Size of all buffers read so far \[bytes\].
    total: usize,
    /// Size of all generated accessor items \[bytes\].
    made: usize,
}

impl<'a> Buffers<'a> {
    pub(super) fn new(root: Json<'a>, binary: Option<&'a [u8]>, path: &'a Path) -> Self {
        Self { root, binary, path, loaded: HashMap::new(), total: 0, made: 0 }
    }

    /// Returns entry `index` of the accessors or buffer views.
    pub(super) fn item(&self, list: &str, index: &Json<'_>) -> Result<Json<'a>, IoError> {
        self.root.item(list, index).map(|(_, item)| item)
    }

    /// Returns the bytes of a buffer.
    pub(super) fn bytes(&mut self, index: &Json<'_>) -> Result<Arc<[u8]>, IoError> {
        let (k, buffer) = self.root.item("buffers", index)?;
        if let Some(known) = self.loaded.get(&k) {
            return Ok(known.clone());
        }
        let bytes: Cow<'_, [u8]> = match buffer.get("uri") {
            None => match self.binary {
                Some(binary) if k == 0 => binary.into(),
                _ => {
                    return Err(
                        buffer.fault("no \"uri\"".to_owned(), "one, or the binary chunk of a GLB")
                    );
                }
            },
            Some(uri) => match uri.text()?.split_once(";base64,") {
                Some((kind, data)) if kind.starts_with("data:") => {
                    let decoded = decode_base64(data.as_bytes());
                    decoded
                        .ok_or_else(|| uri.fault("a byte that is not base64".to_owned(), "base64"))?
                        .into()
                }
                _ => read_bytes(&self.file_of(&uri)?)?.into(),
            },
        };
        // The chunk may be padded, so it may be longer than declared.
        let declared = buffer.field("byteLength")?.size()?;
        if declared > bytes.len() {
            let expected = format!("no more than the {} bytes that it has", bytes.len());
            return Err(buffer.fault(format!("a buffer of {declared} bytes"), &expected));
        }
        self.total += declared;
        self.limit("bytes of buffers", self.total, MAX_MESH_FILE as usize)?;
        let bytes: Arc<[u8]> = bytes[..declared].into();
        self.loaded.insert(k, bytes.clone());
        Ok(bytes)
    }

    /// Counts bytes of generated items: a small file may ask for many.
    pub(super) fn make(&mut self, bytes: usize) -> Result<(), IoError> {
        self.made = self.made.saturating_add(bytes);
        self.limit("bytes of sparse items", self.made, MAX_MADE)
    }

    fn limit(&self, what: &'static str, count: usize, limit: usize) -> Result<(), IoError> {
        match count > limit {
            true => Err(IoError::TooMany { path: self.path.to_path_buf(), what, count, limit }),
            false => Ok(()),
        }
    }

    /// Resolves a relative URI to a file in the folder of the glTF file or below.
    pub(super) fn file_of(&self, uri: &Json<'_>) -> Result<PathBuf, IoError> {
        let name = decode_percent(uri.text()?);
        let relative = Path::new(&name);
        // No parent folders or absolute paths: a mesh file must not read arbitrary files.
        let is_below = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let file = self.path.parent().unwrap_or(Path::new("")).join(relative);
        if is_below && !name.contains(':') && file.is_file() {
            return Ok(file);
        }
        let expected = "a file in the folder of this one, or data in base64";
        Err(uri.fault(format!("{:?}", shortened(&name)), expected))
    }
}

/// Decodes base64 (RFC 4648); `None` for a character outside its alphabet. Padding ends the data.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0);
    for &byte in text.iter().take_while(|&&byte| byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        // Six bits per character; a byte is complete at every eighth bit.
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let decoded = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match decoded {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
