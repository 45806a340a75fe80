//! PC2 and MDD point caches as the motion of a mesh. Samples are read when needed: a cache may be
//! larger than memory.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use glam::DVec3;
use poplin_geometry::wide;
use poplin_model::MAX_COORDINATE;

use super::point_cache::{Header, POSITION_LENGTH, check_counts, check_field};
use crate::IoError;
use crate::mesh_file::{VertexMotion, first_after};

/// Maximum number of samples of a cache, whose times are kept in memory.
const MAX_SAMPLES: usize = 1 << 24;

/// Number of samples kept in memory: those around a time.
const KEPT: usize = 2;

/// Positions of a sample \[m\], shape `[vertex_count]`.
type Sample = Arc<[[f32; 3]]>;

/// Times of the samples \[s\].
#[derive(Debug)]
enum Times {
    /// Evenly spaced times.
    Even { first: f64, step: f64, count: usize },
    /// Times listed in the file.
    Listed(Vec<f32>),
}

impl Times {
    fn count(&self) -> usize {
        match self {
            Self::Even { count, .. } => *count,
            Self::Listed(times) => times.len(),
        }
    }

    fn at(&self, sample: usize) -> f64 {
        match self {
            Self::Even { first, step, .. } => first + step * sample as f64,
            Self::Listed(times) => f64::from(times[sample]),
        }
    }
}

/// Point cache whose file is opened again for each sample that is not in memory: thousands of
/// caches would exceed the limit of open files.
#[derive(Debug)]
pub struct CacheMotion {
    path: PathBuf,
    vertex_count: usize,
    times: Times,
    /// Offset of the first position in the file \[bytes\].
    begin: u64,
    is_big_endian: bool,
    /// Samples read last, the newest at the end.
    kept: Mutex<Vec<(usize, Sample)>>,
}

impl CacheMotion {
    /// Returns true for the name of an MDD cache, false for PC2, and `None` for other names.
    pub fn is_mdd(path: &Path) -> Option<bool> {
        let extension = path.extension()?.to_str()?;
        let is = |known: &str| extension.eq_ignore_ascii_case(known);
        (is("mdd") || is("pc2")).then(|| is("mdd"))
    }

    /// Opens a cache and checks its whole content. `rate` is the frames per second of a PC2 cache
    /// \[1/s\].
    ///
    /// # Errors
    /// [`IoError`] if the file cannot be read, is damaged or has no samples.
    pub fn open(path: &Path, rate: f64) -> Result<Self, IoError> {
        let mut file = File::open(path).map_err(IoError::open(path))?;
        let cache = match Self::is_mdd(path) {
            Some(true) => Self::open_mdd(path, &file)?,
            _ => Self::open_pc2(path, &mut file, rate)?,
        };
        cache.check(file)?;
        Ok(cache)
    }

    fn open_pc2(path: &Path, file: &mut File, rate: f64) -> Result<Self, IoError> {
        let Header { vertex_count, start_frame, sample_rate, frame_count } =
            Header::read(path, file)?;
        let count = check_samples(path, frame_count)?;
        // PC2 counts in frames: seconds = frames / rate.
        let [first, step] = [start_frame, sample_rate].map(|frames| f64::from(frames) / rate);
        let times = Times::Even { first, step, count };
        let (path, begin) = (path.to_path_buf(), Header::LENGTH);
        Ok(Self { path, vertex_count, times, begin, is_big_endian: false, kept: Mutex::default() })
    }

    fn open_mdd(path: &Path, file: &File) -> Result<Self, IoError> {
        let mut reader = BufReader::new(file);
        let mut word = || {
            let mut bytes = [0; 4];
            reader.read_exact(&mut bytes).map(|()| bytes).map_err(IoError::read(path))
        };
        let counts = [i32::from_be_bytes(word()?), i32::from_be_bytes(word()?)];
        // Two counts, then the times, then the positions.
        let begin = |frames: u64| 8 + 4 * frames;
        let (frame_count, vertex_count) = check_counts(path, file, counts, begin)?;
        let count = check_samples(path, frame_count)?;
        let mut times: Vec<f32> = Vec::with_capacity(count);
        for _ in 0..count {
            let time = f32::from_be_bytes(word()?);
            let rises = time.is_finite() && times.last().is_none_or(|&before| before <= time);
            check_field(path, "time", time.into(), rises, "finite times that rise")?;
            times.push(time);
        }
        Ok(Self {
            path: path.to_path_buf(),
            vertex_count,
            times: Times::Listed(times),
            begin: begin(frame_count.into()),
            is_big_endian: true,
            kept: Mutex::default(),
        })
    }

    /// Number of vertices of each sample.
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// Reads and checks every position.
    fn check(&self, mut file: File) -> Result<(), IoError> {
        file.seek(SeekFrom::Start(self.begin)).map_err(IoError::read(&self.path))?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut bytes = [0; POSITION_LENGTH as usize];
        for sample in 0..self.times.count() {
            for vertex in 0..self.vertex_count {
                reader.read_exact(&mut bytes).map_err(IoError::read(&self.path))?;
                self.position(&bytes, [sample, vertex])?;
            }
        }
        Ok(())
    }

    /// Decodes and checks the position of a vertex in a sample.
    fn position(
        &self,
        bytes: &[u8; POSITION_LENGTH as usize],
        [sample, vertex]: [usize; 2],
    ) -> Result<[f32; 3], IoError> {
        let number = if self.is_big_endian { f32::from_be_bytes } else { f32::from_le_bytes };
        let (words, _) = bytes.as_chunks::<4>();
        let position = [words[0], words[1], words[2]].map(number);
        // NaN fails the comparison.
        if position.iter().all(|x| x.abs() <= MAX_COORDINATE) {
            return Ok(position);
        }
        Err(IoError::CachePosition { path: self.path.clone(), sample, vertex, position })
    }

    fn read(&self, sample: usize) -> Result<Sample, IoError> {
        let mut file = File::open(&self.path).map_err(IoError::open(&self.path))?;
        let length = self.vertex_count * POSITION_LENGTH as usize;
        let mut bytes = vec![0; length];
        let begin = self.begin + sample as u64 * length as u64;
        file.seek(SeekFrom::Start(begin))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(IoError::read(&self.path))?;
        let (positions, _) = bytes.as_chunks::<{ POSITION_LENGTH as usize }>();
        let position = |(vertex, bytes)| self.position(bytes, [sample, vertex]);
        positions.iter().enumerate().map(position).collect()
    }

    fn sample(&self, sample: usize) -> Result<Sample, IoError> {
        let mut kept = self.kept.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some((_, known)) = kept.iter().find(|(index, _)| *index == sample) {
            return Ok(known.clone());
        }
        // Read under the lock, so that threads at one time share a sample.
        let read = self.read(sample)?;
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((sample, read.clone()));
        Ok(read)
    }
}

/// Checks the number of samples of a cache.
fn check_samples(path: &Path, count: u32) -> Result<usize, IoError> {
    let (path, what) = (path.to_path_buf(), "samples of a point cache");
    match count as usize {
        0 => Err(IoError::Empty { path, what: "samples" }),
        count if count > MAX_SAMPLES => {
            Err(IoError::TooMany { path, what, count, limit: MAX_SAMPLES })
        }
        count => Ok(count),
    }
}

impl VertexMotion for CacheMotion {
    fn span(&self) -> [f64; 2] {
        [self.times.at(0), self.times.at(self.times.count() - 1)]
    }

    fn positions(&self, time: f64) -> Result<Vec<DVec3>, IoError> {
        let after = first_after(time, self.times.count(), |sample| self.times.at(sample));
        let before = after.saturating_sub(1);
        let from = self.sample(before)?;
        if after == 0 || after == self.times.count() || self.times.at(before) == time {
            return Ok(from.iter().copied().map(wide).collect());
        }
        let to = self.sample(after)?;
        let t = (time - self.times.at(before)) / (self.times.at(after) - self.times.at(before));
        Ok(from.iter().zip(to.iter()).map(|(a, b)| wide(*a).lerp(wide(*b), t)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FRAME_FORMATS, FrameSource, PointCacheWriter};
    use poplin_model::Mesh;
    use poplin_testkit::Scratch;
    use poplin_testkit::fuzz;

    /// Vertex 0 moves along x and vertex 1 up, by the square of `frame`.
    fn frame(k: usize) -> [[f32; 3]; 2] {
        let k = k as f32;
        [[k * k, 0.0, 0.0], [0.0, 1.0 + k * k, -1.0]]
    }

    fn pc2(folder: &Scratch) -> PathBuf {
        let file = folder.path("cache.pc2");
        let mut writer = PointCacheWriter::create(&file, 2, 1.0, 2.0).unwrap();
        (0..4).for_each(|k| writer.push(&frame(k)).unwrap());
        writer.finish().unwrap();
        file
    }

    fn mdd(folder: &Scratch) -> PathBuf {
        let file = folder.path("cache.mdd");
        let mesh = Mesh { positions: frame(0).to_vec(), ..Mesh::default() };
        let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 10.0, frame_count: 4 };
        let format = FRAME_FORMATS.iter().find(|format| format.name == "mdd").unwrap();
        let mut sink = (format.create)(&file, &source).unwrap();
        (0..4).for_each(|k| sink.push(&frame(k)).unwrap());
        sink.finish().unwrap();
        file
    }

    #[test]
    fn samples_are_interpolated_and_held_at_the_ends() {
        let folder = Scratch::new("cache-ends");
        let (pc2, mdd) = (pc2(&folder), mdd(&folder));
        // Frames 1, 3, 5, 7 at 20 per second; 0, 1, 2, 3 at 10 per second.
        let caches = [(&pc2, [0.05, 0.35]), (&mdd, [0.0, 0.3])];
        for (file, [begin, end]) in caches {
            let cache = CacheMotion::open(file, 20.0).unwrap();
            assert_eq!(cache.vertex_count(), 2);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
            let [from, to] = cache.span();
            assert!(near(from, begin) && near(to, end), "{from} {to}");
            for (time, x) in
                [(-1.0, 0.0), (0.0, 0.0), (0.1, 1.0), (0.175, 3.25), (0.3, 9.0), (5.0, 9.0)]
            {
                let positions = cache.positions(begin + time).unwrap();
                assert!(near(positions[0].x, x), "at {time} s: {}", positions[0]);
                assert!(near(positions[1].y, 1.0 + x), "at {time} s: {}", positions[1]);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_cache_keeps_no_file_open_between_samples() {
        let folder = Scratch::new("cache-closed");
        for file in [pc2(&folder), mdd(&folder)] {
            let cache = CacheMotion::open(&file, 20.0).unwrap();
            let own = file.canonicalize().unwrap();
            let open_count = || {
                let all = std::fs::read_dir("/proc/self/fd").unwrap();
                let targets = all.filter_map(|it| std::fs::read_link(it.ok()?.path()).ok());
                targets.filter(|target| *target == own).count()
            };
            assert_eq!(open_count(), 0);
            cache.positions(0.12).unwrap();
            assert_eq!(open_count(), 0);
            let _held = File::open(&own).unwrap();
            assert_eq!(open_count(), 1, "files that are open are counted");
        }
    }

    #[test]
    fn damaged_caches_give_precise_errors() {
        let folder = Scratch::new("cache-damaged");
        let (pc2, mdd) = (pc2(&folder), mdd(&folder));
        let message = |file: &Path, at: usize, bytes: &[u8]| {
            let good = std::fs::read(file).unwrap();
            let mut damaged = good.clone();
            damaged[at..at + bytes.len()].copy_from_slice(bytes);
            std::fs::write(file, damaged).unwrap();
            let message = CacheMotion::open(file, 24.0).unwrap_err().to_string();
            std::fs::write(file, good).unwrap();
            message.split_once(": ").unwrap().1.to_owned()
        };
        let nan = f32::NAN.to_le_bytes();
        assert_eq!(
            message(&pc2, 32 + 24 + 16, &nan),
            "sample 1, vertex 1 is at [0.0, NaN, -1.0]; expected finite numbers below 1e15"
        );
        assert_eq!(message(&pc2, 28, &[0; 4]), "the file has no samples");
        assert_eq!(message(&mdd, 0, &[0; 4]), "the file has no samples");
        assert_eq!(
            message(&mdd, 0, &[127, 0, 0, 0]),
            "the header announces 2130706432 frames, but the file holds 0"
        );
        assert_eq!(
            message(&mdd, 4, &[0; 4]),
            "point cache vertex count is 0; expected 1 to 16777216 (2^24)"
        );
        assert_eq!(
            message(&mdd, 12, &(-1.0_f32).to_be_bytes()),
            "point cache time is -1; expected finite times that rise"
        );
    }

    #[test]
    fn mutated_caches_never_panic() {
        let folder = Scratch::new("cache-mutated");
        let (pc2, mdd) = (pc2(&folder), mdd(&folder));
        for file in [pc2, mdd] {
            let good = std::fs::read(&file).unwrap();
            fuzz::run(&[good], 2000, |bytes| {
                std::fs::write(&file, bytes).unwrap();
                let Ok(cache) = CacheMotion::open(&file, 30.0) else { return false };
                let [begin, end] = cache.span();
                for time in [begin - 1.0, 0.7 * begin + 0.3 * end, end, f64::NAN] {
                    let positions = cache.positions(time).unwrap();
                    assert_eq!(positions.len(), cache.vertex_count());
                    assert!(positions.iter().all(|p| p.is_finite()));
                }
                true
            });
        }
    }
}
