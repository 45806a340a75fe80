//! NPY array of frames with three numbers per vertex and a known number of frames. The file is only
//! open while a frame is appended, so that any number of arrays can grow at the same time.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use half::f16;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::IoError;
use crate::frames::npy::{ElementType, header};

/// Number format of an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats with 24 significant bits.
    #[default]
    F32,
    /// 16-bit floats with 11 significant bits, rounded to nearest, up to 65504; half the size.
    F16,
}

/// Array of shape `[frame_count, vertex_count, 3]` in a file.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    frame_count: usize,
    vertex_count: usize,
    precision: Precision,
    /// Frames appended so far.
    appended: usize,
}

impl ArrayFile {
    /// Creates (or empties) the file for `frame_count` frames.
    ///
    /// # Errors
    /// [`IoError::Write`] if the file cannot be written.
    pub fn create(
        path: impl Into<PathBuf>,
        frame_count: usize,
        vertex_count: usize,
        precision: Precision,
    ) -> Result<Self, IoError> {
        let path = path.into();
        let element = match precision {
            Precision::F32 => ElementType::F32,
            Precision::F16 => ElementType::F16,
        };
        let header = header(element, &[frame_count, vertex_count, 3]);
        std::fs::write(&path, header).map_err(IoError::write(&path))?;
        Ok(Self { path, frame_count, vertex_count, precision, appended: 0 })
    }

    /// Appends a frame, shape `[vertex_count]`.
    ///
    /// # Errors
    /// [`IoError::FrameLength`] for a different vertex count, [`IoError::TooMany`] for more frames
    /// than announced, [`IoError::Write`] if the file cannot be written.
    pub fn append(&mut self, values: &[[f32; 3]]) -> Result<(), IoError> {
        let path = &self.path;
        IoError::check_frame(path, self.appended as u32, [values.len(), self.vertex_count])?;
        if self.appended == self.frame_count {
            let (path, what) = (path.clone(), "frames of an array");
            let (count, limit) = (self.appended + 1, self.frame_count);
            return Err(IoError::TooMany { path, what, count, limit });
        }
        let values = values.iter().flatten();
        let bytes: Vec<u8> = match self.precision {
            Precision::F32 => values.flat_map(|value| value.to_le_bytes()).collect(),
            Precision::F16 => {
                values.flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect()
            }
        };
        let appended = OpenOptions::new().append(true).open(path);
        appended.and_then(|mut file| file.write_all(&bytes)).map_err(IoError::write(path))?;
        self.appended += 1;
        Ok(())
    }

    /// Waits until the file is on the disk.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk reports a late fault.
    pub fn finish(self) -> Result<(), IoError> {
        let Self { path, .. } = self;
        File::open(&path).and_then(|file| file.sync_all()).map_err(IoError::write(&path))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(precision: Precision, frames: &[[[f32; 3]; 2]]) -> Vec<u8> {
        let name = format!("poplin-array-{precision:?}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut array = ArrayFile::create(&path, frames.len(), 2, precision).unwrap();
        frames.iter().for_each(|frame| array.append(frame).unwrap());
        assert!(array.append(&frames[0]).is_err(), "one frame more than announced");
        array.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        bytes
    }

    #[test]
    fn frames_follow_the_header() {
        let frames = [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[-1.0, 0.0, 0.5], [7.0, 8.0, 9.0]]];
        let bytes = written(Precision::F32, &frames);
        let (header, values) = bytes.split_at(128);
        assert!(
            String::from_utf8_lossy(header)
                .contains("'<f4', 'fortran_order': False, 'shape': (2, 2, 3)")
        );
        assert_eq!(values.len(), 48);
        assert_eq!(values[24..28], (-1.0f32).to_le_bytes());
        let halves = written(Precision::F16, &frames);
        assert_eq!(halves.len(), 128 + 24);
        assert_eq!(halves[128..130], [0x00, 0x3c]);
    }
}
