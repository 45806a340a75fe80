//! PC2 point caches: vertex positions over time, for Blender's Mesh Cache modifier, Houdini and 3ds
//! Max.
//!
//! Layout, little-endian: `"POINTCACHE2\0"`, version 1 (i32), vertex count (i32), start frame
//! (f32), sample rate (f32, frames between samples), frame count (i32), then `frame_count *
//! vertex_count` positions of three f32.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use poplin_model::MAX_PARTICLES;

use super::spool::triples;
use super::{FrameFormat, FrameSink};
use crate::IoError;

/// PC2 entry of the format table.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "pc2",
    doc: "PC2 point cache (Blender: Mesh Cache modifier; Houdini, 3ds Max)",
    is_sequence: false,
    create: |path, source| {
        Ok(Box::new(PointCacheWriter::create(path, source.vertex_count(), 0.0, 1.0)?))
    },
};

const SIGNATURE: &[u8; 12] = b"POINTCACHE2\0";
const VERSION: i32 = 1;
/// Size of the header \[bytes\].
const HEADER_LENGTH: u64 = 32;
/// Offset of the frame count in the header \[bytes\].
const FRAME_COUNT_OFFSET: u64 = 28;
/// Size of one position \[bytes\].
pub(super) const POSITION_LENGTH: u64 = 12;

/// Writes a point cache frame by frame.
///
/// The frame count in the header is updated after each frame, so a program that is stopped at any
/// time leaves a valid cache of the pushed frames. A frame that cannot be written is cut off again.
#[derive(Debug)]
pub struct PointCacheWriter {
    file: File,
    path: PathBuf,
    vertex_count: usize,
    frame_count: u32,
    bytes: Vec<u8>,
}

impl PointCacheWriter {
    /// Creates (or empties) the file and writes a header of 0 frames.
    ///
    /// `vertex_count`: `1..=`[`poplin_model::MAX_PARTICLES`]. `start_frame`: frame index of the
    /// first sample (usually 0 or 1). `sample_rate`: frames between two samples, above 0 (1 for one
    /// sample per frame).
    ///
    /// # Errors
    /// [`IoError::CacheField`] for a value out of range, [`IoError::Write`] if the file cannot be
    /// written.
    pub fn create(
        path: impl AsRef<Path>,
        vertex_count: usize,
        start_frame: f32,
        sample_rate: f32,
    ) -> Result<Self, IoError> {
        let path = path.as_ref();
        check_vertex_count(path, vertex_count as i64)?;
        check_times(path, start_frame, sample_rate)?;
        let mut header = Vec::with_capacity(HEADER_LENGTH as usize);
        header.extend(SIGNATURE);
        header.extend(VERSION.to_le_bytes());
        header.extend((vertex_count as i32).to_le_bytes());
        header.extend(start_frame.to_le_bytes());
        header.extend(sample_rate.to_le_bytes());
        header.extend(0_i32.to_le_bytes());
        let mut file = File::create(path).map_err(IoError::write(path))?;
        file.write_all(&header).map_err(IoError::write(path))?;
        let bytes = Vec::with_capacity(vertex_count * POSITION_LENGTH as usize);
        Ok(Self { file, path: path.to_path_buf(), vertex_count, frame_count: 0, bytes })
    }

    /// Appends a frame: positions \[m\], shape `[vertex_count]`. They are written unchanged, NaN
    /// included.
    ///
    /// # Errors
    /// [`IoError::FrameLength`] for a different vertex count, [`IoError::Write`] if the disk is
    /// full or gone; earlier frames stay valid, and the push may be tried again.
    pub fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        IoError::check_frame(&self.path, self.frame_count, [positions.len(), self.vertex_count])?;
        if self.frame_count == i32::MAX as u32 {
            let limit = i32::MAX as usize;
            return Err(IoError::TooMany {
                path: self.path.clone(),
                what: "point cache frames",
                count: limit + 1,
                limit,
            });
        }
        self.bytes.clear();
        self.bytes.extend(positions.iter().flatten().flat_map(|value| value.to_le_bytes()));
        let end = HEADER_LENGTH + u64::from(self.frame_count) * self.bytes.len() as u64;
        self.append(end).map_err(|source| {
            // Best effort: if this fails, too, the count in the header still excludes the broken
            // frame.
            if let Err(error) = self.file.set_len(end) {
                log::warn!("cannot shorten {}: {error}", self.path.display());
            }
            IoError::Write { path: self.path.clone(), source }
        })?;
        self.frame_count += 1;
        Ok(())
    }

    fn append(&mut self, end: u64) -> std::io::Result<()> {
        // Positions first, count second: in between, the header counts complete frames only.
        self.file.seek(SeekFrom::Start(end))?;
        self.file.write_all(&self.bytes)?;
        self.file.seek(SeekFrom::Start(FRAME_COUNT_OFFSET))?;
        self.file.write_all(&(self.frame_count as i32 + 1).to_le_bytes())
    }

    /// Number of frames written so far.
    pub fn frame_count(&self) -> u32 {
        self.frame_count
    }

    /// Waits until the file is on the disk and returns the number of frames.
    ///
    /// # Errors
    /// [`IoError::Write`] if the disk reports a late fault.
    pub fn finish(self) -> Result<u32, IoError> {
        self.file.sync_all().map_err(IoError::write(&self.path))?;
        Ok(self.frame_count)
    }
}

impl FrameSink for PointCacheWriter {
    fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        Self::push(self, positions)
    }

    fn finish(self: Box<Self>) -> Result<(), IoError> {
        Self::finish(*self).map(|_| ())
    }
}

/// Header of a point cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) vertex_count: usize,
    /// Frame index of the first sample.
    pub(super) start_frame: f32,
    /// Frames between two samples.
    pub(super) sample_rate: f32,
    /// Number of samples, all of them in the file.
    pub(super) frame_count: u32,
}

impl Header {
    /// Size of the header \[bytes\].
    pub(super) const LENGTH: u64 = HEADER_LENGTH;

    /// Reads and checks the header.
    pub(super) fn read(path: &Path, file: &mut File) -> Result<Self, IoError> {
        let mut header = [0; HEADER_LENGTH as usize];
        if file.read_exact(&mut header).is_err() || !header.starts_with(SIGNATURE) {
            return Err(IoError::NotACache { path: path.to_path_buf() });
        }
        let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
        let (version, vertex_count) = (i32::from_le_bytes(word(12)), i32::from_le_bytes(word(16)));
        let (start_frame, sample_rate) =
            (f32::from_le_bytes(word(20)), f32::from_le_bytes(word(24)));
        let frame_count = i32::from_le_bytes(word(28));
        check_field(path, "version", version.into(), version == VERSION, "1")?;
        let (frame_count, vertex_count) =
            check_counts(path, file, [frame_count, vertex_count], |_| HEADER_LENGTH)?;
        check_times(path, start_frame, sample_rate)?;
        Ok(Self { vertex_count, start_frame, sample_rate, frame_count })
    }
}

/// Point cache in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct PointCache {
    /// Number of vertices per frame.
    pub vertex_count: usize,
    /// Frame index of the first sample.
    pub start_frame: f32,
    /// Frames between two samples.
    pub sample_rate: f32,
    /// Positions \[m\] of all frames, shape `[frame_count * vertex_count]`.
    pub positions: Vec<[f32; 3]>,
}

impl PointCache {
    /// Reads a whole cache; memory is allocated for the content of the file, not for the counts in
    /// its header.
    ///
    /// # Errors
    /// [`IoError::NotACache`], [`IoError::CacheField`] or [`IoError::CacheTruncated`] for a damaged
    /// file, and [`IoError::Open`] or [`IoError::Read`] from the disk.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(IoError::open(path))?;
        let Header { vertex_count, start_frame, sample_rate, frame_count } =
            Header::read(path, &mut file)?;
        let frame_length = vertex_count as u64 * POSITION_LENGTH;
        let mut bytes = Vec::new();
        file.take(u64::from(frame_count) * frame_length)
            .read_to_end(&mut bytes)
            .map_err(IoError::read(path))?;
        let positions = triples(&bytes).collect();
        Ok(Self { vertex_count, start_frame, sample_rate, positions })
    }

    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.positions.len() / self.vertex_count.max(1)
    }

    /// Positions \[m\] of one frame, shape `[vertex_count]`, or `None` past the end.
    pub fn frame(&self, frame: usize) -> Option<&[[f32; 3]]> {
        self.positions.chunks_exact(self.vertex_count.max(1)).nth(frame)
    }
}

/// Checks that the counts of frames and vertices are in range and that the file has all of them.
/// `begin` returns the offset of the first position for a number of frames.
///
/// The size of the file is taken here, after its counts were read: a run that is still writing has
/// appended every frame that it counts.
pub(super) fn check_counts(
    path: &Path,
    file: &File,
    [frame_count, vertex_count]: [i32; 2],
    begin: impl Fn(u64) -> u64,
) -> Result<(u32, usize), IoError> {
    check_field(path, "frame count", frame_count.into(), frame_count >= 0, "0 or more")?;
    check_vertex_count(path, vertex_count.into())?;
    let length = file.metadata().map_err(IoError::read(path))?.len();
    let (declared, frame_length) = (frame_count as u32, vertex_count as u64 * POSITION_LENGTH);
    let held = length.saturating_sub(begin(declared.into())) / frame_length;
    if u64::from(declared) > held {
        return Err(IoError::CacheTruncated { path: path.to_path_buf(), declared, held });
    }
    Ok((declared, vertex_count as usize))
}

fn check_vertex_count(path: &Path, count: i64) -> Result<(), IoError> {
    let fits = (1..=MAX_PARTICLES as i64).contains(&count);
    check_field(path, "vertex count", count as f64, fits, "1 to 16777216 (2^24)")
}

fn check_times(path: &Path, start_frame: f32, sample_rate: f32) -> Result<(), IoError> {
    check_field(
        path,
        "start frame",
        start_frame.into(),
        start_frame.is_finite(),
        "a finite number",
    )?;
    let fits = sample_rate.is_finite() && sample_rate > 0.0;
    check_field(path, "sample rate", sample_rate.into(), fits, "a finite number above 0")
}

pub(super) fn check_field(
    path: &Path,
    field: &'static str,
    value: f64,
    fits: bool,
    expected: &'static str,
) -> Result<(), IoError> {
    if fits {
        Ok(())
    } else {
        Err(IoError::CacheField { path: path.to_path_buf(), field, value, expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_testkit::Scratch;

    const FRAMES: [[[f32; 3]; 2]; 3] = [
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        [[-1.0, 0.5, 1e-20], [7.0, 8.0, 9.0]],
        [[1e9, 0.0, 0.0], [0.1, 0.2, 0.3]],
    ];

    fn write_frames(path: &Path) {
        let mut writer = PointCacheWriter::create(path, 2, 1.0, 1.0).unwrap();
        FRAMES.iter().for_each(|frame| writer.push(frame).unwrap());
        assert_eq!(writer.finish().unwrap(), 3);
    }

    #[test]
    fn a_cache_round_trips_bit_for_bit() {
        let folder = Scratch::new("pc2-round-trip");
        let file = folder.path("cache.pc2");
        write_frames(&file);
        let cache = PointCache::read(&file).unwrap();
        assert_eq!(
            (cache.vertex_count, cache.start_frame, cache.sample_rate, cache.frame_count()),
            (2, 1.0, 1.0, 3)
        );
        for (index, frame) in FRAMES.iter().enumerate() {
            assert_eq!(cache.frame(index), Some(&frame[..]));
        }
        assert_eq!(cache.frame(3), None);
    }

    #[test]
    fn the_bytes_are_the_published_layout() {
        let folder = Scratch::new("pc2-layout");
        let file = folder.path("cache.pc2");
        write_frames(&file);
        let bytes = std::fs::read(&file).unwrap();
        let mut expected = b"POINTCACHE2\0".to_vec();
        expected.extend([1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f, 3, 0, 0, 0]);
        assert_eq!(bytes[..32], expected);
        assert_eq!(bytes[36..40], 1.0_f32.to_le_bytes());
        assert_eq!(bytes.len(), 32 + 3 * 2 * 12);
    }

    #[test]
    fn an_unfinished_cache_has_every_pushed_frame() {
        let folder = Scratch::new("pc2-abandoned");
        let file = folder.path("cache.pc2");
        let mut writer = PointCacheWriter::create(&file, 2, 0.0, 1.0).unwrap();
        assert_eq!(PointCache::read(&file).unwrap().frame_count(), 0);
        for done in 1..=3 {
            writer.push(&FRAMES[done - 1]).unwrap();
            assert_eq!(PointCache::read(&file).unwrap().frame_count(), done);
        }
    }

    #[test]
    fn a_cache_can_be_read_while_it_is_written() {
        let folder = Scratch::new("pc2-growing");
        let file = folder.path("cache.pc2");
        let mut writer = PointCacheWriter::create(&file, 2, 0.0, 1.0).unwrap();
        std::thread::scope(|scope| {
            let written = scope.spawn(move || {
                (0..20_000).for_each(|frame| writer.push(&FRAMES[frame % 3]).unwrap());
            });
            let mut reached = 0;
            while !written.is_finished() {
                let mut cache = File::open(&file).unwrap();
                let count = Header::read(&file, &mut cache).unwrap().frame_count;
                assert!(count >= reached, "{count} frames after {reached}");
                reached = count;
            }
        });
        assert_eq!(PointCache::read(&file).unwrap().frame_count(), 20_000);
    }

    #[test]
    fn a_frame_with_another_vertex_count_is_rejected() {
        let folder = Scratch::new("pc2-length");
        let file = folder.path("cache.pc2");
        let mut writer = PointCacheWriter::create(&file, 2, 0.0, 1.0).unwrap();
        let error = writer.push(&[[0.0; 3]]).unwrap_err();
        assert!(
            matches!(error, IoError::FrameLength { frame: 0, vertex_count: 1, expected: 2, .. }),
            "{error}"
        );
    }

    #[test]
    fn invalid_headers_are_rejected_before_the_file_is_touched() {
        let folder = Scratch::new("pc2-header");
        let file = folder.path("cache.pc2");
        for (vertices, start, rate) in [
            (0, 0.0, 1.0),
            (MAX_PARTICLES + 1, 0.0, 1.0),
            (1, f32::NAN, 1.0),
            (1, 0.0, 0.0),
            (1, 0.0, f32::INFINITY),
        ] {
            let error = PointCacheWriter::create(&file, vertices, start, rate).unwrap_err();
            assert!(matches!(error, IoError::CacheField { .. }), "{error}");
        }
        assert!(!file.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let error = PointCacheWriter::create("/dev/full", 2, 0.0, 1.0).unwrap_err();
        assert!(
            error.to_string().contains("cannot write /dev/full: No space left on device"),
            "{error}"
        );
    }

    #[test]
    fn header_counts_beyond_the_file_are_rejected() {
        let folder = Scratch::new("pc2-lying");
        let file = folder.path("cache.pc2");
        write_frames(&file);
        let good = std::fs::read(&file).unwrap();
        let damage = |at: usize, value: i32| {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            std::fs::write(&file, bytes).unwrap();
            PointCache::read(&file).unwrap_err()
        };
        assert!(matches!(damage(28, i32::MAX), IoError::CacheTruncated { held: 3, .. }));
        assert!(matches!(damage(16, 1 << 24), IoError::CacheTruncated { held: 0, .. }));
        assert!(matches!(damage(16, 0), IoError::CacheField { .. }));
        assert!(matches!(damage(16, -1), IoError::CacheField { .. }));
        assert!(matches!(damage(28, -1), IoError::CacheField { .. }));
        assert!(matches!(damage(12, 2), IoError::CacheField { .. }));
        assert!(matches!(damage(0, 0), IoError::NotACache { .. }));
    }

    #[test]
    fn any_truncation_is_an_error_and_no_panic() {
        let folder = Scratch::new("pc2-truncated");
        let file = folder.path("cache.pc2");
        write_frames(&file);
        let good = std::fs::read(&file).unwrap();
        for length in 0..good.len() {
            std::fs::write(&file, &good[..length]).unwrap();
            assert!(PointCache::read(&file).is_err(), "{length} bytes were accepted");
        }
    }
}
