//! Formats of simulated frames: the table used by options, scene keys, help and writers.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};

use super::{FrameSource, glb, mdd, npy, npz, point_cache, sequence, usd};
use crate::IoError;

/// Writer of the frames of a cloth to a file or a folder of files.
///
/// A sink that is dropped without [`FrameSink::finish`] leaves valid files of the pushed frames, or
/// none: a run may be stopped at any time.
pub trait FrameSink: Send {
    /// Appends a frame: positions \[m\] in world space, shape `[vertex_count]`.
    ///
    /// # Errors
    /// [`IoError::FrameLength`] for a different vertex count, [`IoError::Write`] if the disk is
    /// full or gone; earlier frames stay valid.
    fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError>;

    /// Completes the file and waits until it is on the disk.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk reports a late fault.
    fn finish(self: Box<Self>) -> Result<(), IoError>;
}

/// Creates (or empties) a file, or a folder, for frames.
pub type CreateFrameSink = fn(&Path, &FrameSource<'_>) -> Result<Box<dyn FrameSink>, IoError>;

/// Format of frames. Formats are equal if their names are.
#[derive(Debug, Clone, Copy)]
pub struct FrameFormat {
    /// Name in options and scene files; see [`FrameFormat::file_name`].
    pub name: &'static str,
    /// One-line description with programs that read it.
    pub doc: &'static str,
    /// True if it is a folder with one file per frame.
    pub is_sequence: bool,
    /// Creates (or empties) a file, or a folder, for frames.
    pub create: CreateFrameSink,
}

/// All formats.
pub const FRAME_FORMATS: &[FrameFormat] = &[
    point_cache::FORMAT,
    mdd::FORMAT,
    npy::FORMAT,
    npz::FORMAT,
    glb::FORMAT,
    usd::FORMAT,
    sequence::OBJ,
    sequence::PLY,
];

impl FrameFormat {
    /// Returns the name of the file, `STEM.NAME`, or of the folder, `STEM-NAME`.
    pub fn file_name(&self, stem: &str) -> String {
        let separator = if self.is_sequence { '-' } else { '.' };
        format!("{stem}{separator}{}", self.name)
    }
}

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
    use poplin_model::Mesh;

    use super::*;
    use crate::remove_frames;

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
    fn every_format_rejects_other_lengths_and_leaves_no_part() {
        let folder = std::env::temp_dir().join(format!("poplin-io-formats-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mesh = Mesh::grid(2, 2, 1.0, 1.0);
        let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 60.0, frame_count: 2 };
        for format in FRAME_FORMATS {
            let path = folder.join(format.file_name("cloth"));
            for is_finished in [false, true] {
                let mut sink = (format.create)(&path, &source).unwrap();
                sink.push(&mesh.positions).unwrap();
                let refused = sink.push(&[[0.0; 3]]).unwrap_err();
                assert!(
                    matches!(refused, IoError::FrameLength { frame: 1, .. }),
                    "{format}: {refused}"
                );
                match is_finished {
                    true => sink.finish().unwrap(),
                    false => drop(sink),
                }
                let names: Vec<_> =
                    std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
                assert!(names.iter().all(|name| *name == path), "{format}: {names:?}");
                assert!(!is_finished || path.exists(), "{format}");
            }
            remove_frames(&path).unwrap();
            assert!(!path.exists(), "{format}");
        }
        std::fs::remove_dir(folder).unwrap();
    }
}
