//! Formats of simulated frames: the one table that options, scene keys, help and writers follow.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};

use crate::{IoError, npy, point_cache};

/// Takes the frames of a cloth, one after another, into a file.
///
/// A sink that is dropped without [`FrameSink::finish`] leaves a valid file of the frames that were
/// pushed: a run may be stopped at any time.
pub trait FrameSink {
    /// Appends a frame: positions \[m\] in world space, shape `[vertex_count]`.
    ///
    /// # Errors
    /// [`IoError::FrameLength`] for another count of positions, [`IoError::Write`] if the disk is full
    /// or gone; the frames before stay valid.
    fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError>;

    /// Completes the file and waits until it is on the disk.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk reports a late fault.
    fn finish(self: Box<Self>) -> Result<(), IoError>;
}

/// Creates (or empties) a file for frames of so many vertices.
pub type CreateFrameSink = fn(&Path, usize) -> Result<Box<dyn FrameSink>, IoError>;

/// A format of frames. Two are equal if their names are.
#[derive(Debug, Clone, Copy)]
pub struct FrameFormat {
    /// Name in options and scene files; also the extension of its files.
    pub name: &'static str,
    /// What it is and what reads it, in a line.
    pub doc: &'static str,
    /// Creates (or empties) a file for frames of so many vertices.
    pub create: CreateFrameSink,
}

/// Every format.
pub const FRAME_FORMATS: &[FrameFormat] = &[point_cache::FORMAT, npy::FORMAT];

impl PartialEq for FrameFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for FrameFormat {}

impl fmt::Display for FrameFormat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl FromStr for FrameFormat {
    type Err = IoError;

    fn from_str(name: &str) -> Result<Self, IoError> {
        let found = FRAME_FORMATS.iter().find(|format| format.name == name);
        found.copied().ok_or_else(|| {
            let known: Vec<_> = FRAME_FORMATS.iter().map(|format| format.name).collect();
            IoError::UnknownFormat { name: name.to_owned(), known: known.join(", ") }
        })
    }
}

impl JsonSchema for FrameFormat {
    fn schema_name() -> Cow<'static, str> {
        "FrameFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = FRAME_FORMATS.iter().map(|format| format.name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

impl<'de> Deserialize<'de> for FrameFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_name() {
        for format in FRAME_FORMATS {
            assert_eq!(format.name.parse::<FrameFormat>().unwrap(), *format);
        }
        let error = "pc3".parse::<FrameFormat>().unwrap_err().to_string();
        assert!(
            error.starts_with("there is no frame format `pc3`; expected one of pc2"),
            "{error}"
        );
    }

    #[test]
    fn every_format_keeps_what_was_pushed_and_refuses_other_lengths() {
        for format in FRAME_FORMATS {
            let name = format!("poplin-io-format-{}.{format}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let mut sink = (format.create)(&path, 2).unwrap();
            sink.push(&[[1.5, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
            let refused = sink.push(&[[0.0; 3]]).unwrap_err();
            assert!(
                matches!(refused, IoError::FrameLength { frame: 1, .. }),
                "{format}: {refused}"
            );
            drop(sink);
            let bytes = std::fs::read(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let frame = [1.5_f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes).concat();
            assert!(bytes.ends_with(&frame), "{format}: the frame is not at the end of the file");
        }
    }
}
