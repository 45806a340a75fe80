//! NPY files: one array of all positions, shape `[frame, vertex, 3]`, for NumPy and other readers
//! of its files.
//!
//! Layout (NumPy enhancement proposal 1, format version 1.0): `"\x93NUMPY"`, version 1, 0, header
//! length (u16, little-endian), a Python dict as text padded with spaces to a multiple of 64 bytes
//! in all, ending in a line break; then `frame_count * vertex_count` positions of three
//! little-endian f32.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{FrameFormat, FrameSink};
use crate::IoError;

/// NPY entry of the format table.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "npy",
    doc: "NumPy array of f32, shape [frame, vertex, 3] (numpy.load)",
    is_sequence: false,
    create: |path, source| Ok(Box::new(NpyWriter::create(path, source.vertex_count())?)),
};

/// Size of the header \[bytes\]: a multiple of 64 with room for the dict with the largest counts.
const HEADER_LENGTH: usize = 128;

/// Element type of an array, little-endian.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ElementType {
    F16,
    F32,
    I32,
}

/// Header of an array of up to three axes.
pub(crate) fn header(element: ElementType, shape: &[usize]) -> Vec<u8> {
    let descr = match element {
        ElementType::F16 => "<f2",
        ElementType::F32 => "<f4",
        ElementType::I32 => "<i4",
    };
    // A Python tuple of one element ends with a comma.
    let axes: Vec<_> = shape.iter().map(usize::to_string).collect();
    let shape = format!("({}{})", axes.join(", "), if axes.len() == 1 { "," } else { "" });
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // 10 bytes precede the dict, and a line break ends it.
    let padded = format!("{dict:<width$}\n", width = HEADER_LENGTH - 11);
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((padded.len() as u16).to_le_bytes());
    header.extend(padded.as_bytes());
    header
}

/// Writes an array frame by frame; the shape in the header is updated after each frame.
#[derive(Debug)]
struct NpyWriter {
    file: File,
    path: PathBuf,
    vertex_count: usize,
    frame_count: u32,
}

impl NpyWriter {
    fn create(path: &Path, vertex_count: usize) -> Result<Self, IoError> {
        let file = File::create(path).map_err(IoError::write(path))?;
        let mut writer = Self { file, path: path.to_path_buf(), vertex_count, frame_count: 0 };
        writer.write_header(0).map_err(IoError::write(path))?;
        Ok(writer)
    }

    fn write_header(&mut self, frame_count: u32) -> std::io::Result<()> {
        let header = header(ElementType::F32, &[frame_count as usize, self.vertex_count, 3]);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)
    }

    fn append(&mut self, positions: &[[f32; 3]]) -> std::io::Result<()> {
        // Positions first, shape second: in between, the header counts complete frames only.
        let bytes: Vec<u8> = positions.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        let offset = HEADER_LENGTH as u64 + u64::from(self.frame_count) * bytes.len() as u64;
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(&bytes)?;
        self.write_header(self.frame_count + 1)
    }
}

impl FrameSink for NpyWriter {
    fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        IoError::check_frame(&self.path, self.frame_count, [positions.len(), self.vertex_count])?;
        self.append(positions).map_err(IoError::write(&self.path))?;
        self.frame_count += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), IoError> {
        self.file.sync_all().map_err(IoError::write(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_round_trips() {
        let path = std::env::temp_dir().join(format!("poplin-io-{}.npy", std::process::id()));
        let frames = [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [[-1.0, 0.5, 1e-20], [7.0, 8.0, 9.0]]];
        let mut sink = NpyWriter::create(&path, 2).unwrap();
        frames.iter().for_each(|frame| sink.push(frame).unwrap());
        Box::new(sink).finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!((10 + length) % 64, 0);
        let (dict, data) = bytes[10..].split_at(length);
        let dict = std::str::from_utf8(dict).unwrap();
        assert_eq!(
            dict.trim_end_matches(' ').trim_end(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }"
        );
        assert!(dict.ends_with('\n'));
        let (words, rest) = data.as_chunks::<4>();
        let read: Vec<_> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        assert_eq!((read.as_slice(), rest), (frames.as_flattened().as_flattened(), &[][..]));
    }

    #[test]
    fn the_header_holds_the_largest_counts() {
        let path = std::env::temp_dir().join(format!("poplin-io-{}-large.npy", std::process::id()));
        let mut writer = NpyWriter::create(&path, poplin_model::MAX_PARTICLES).unwrap();
        writer.write_header(u32::MAX).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(length, HEADER_LENGTH as u64);
    }
}
