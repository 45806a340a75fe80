//! Recording of a simulation into a folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::folder::OutputFolder;
use super::record::Recorder;
use super::summary::{self, Summary};
use super::{Progress, files};
use crate::failure::Failure;
use crate::job::Job;
use crate::job_simulation::JobSimulation;
use crate::picture::PictureOptions;

/// Recording in progress: output folder, recorded data and frame times.
pub struct Recording {
    job: Arc<Job>,
    folder: OutputFolder,
    recorder: Recorder,
    progress: Progress,
}

impl fmt::Debug for Recording {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Recording").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}

/// Finished recording.
#[derive(Debug)]
pub struct Recorded {
    /// Report of the run.
    pub summary: Summary,
    /// Output folder.
    pub folder: PathBuf,
    /// Removed files of the previous run.
    pub stale: Vec<String>,
    /// Error of the first file that could not be written.
    pub fault: Result<(), Failure>,
}

impl Recording {
    /// Locks the folder (default `out/NAME`) and opens the frame files.
    ///
    /// # Errors
    /// [`Failure`] if another run writes into the folder, or it cannot be written.
    pub fn begin(
        job: Arc<Job>,
        out: Option<&Path>,
        picture: &PictureOptions,
    ) -> Result<Self, Failure> {
        let out = out.map_or_else(|| Path::new("out").join(&job.name), Path::to_path_buf);
        let mut folder = OutputFolder::claim(&out)?;
        let mut names = files::ClothFiles::names(&job.cloths, &job.formats);
        names.extend(picture.kind.file().map(str::to_owned));
        names.push(summary::FILE_NAME.to_owned());
        folder.announce(&names)?;
        let recorder = Recorder::create(job.clone(), picture, folder.path())?;
        let progress = Progress { frames: 0, times: Vec::new(), is_interrupted: false };
        Ok(Self { job, folder, recorder, progress })
    }

    /// Counts a simulated frame and stores its time.
    pub fn count(&mut self, time: Duration) {
        self.progress.frames += 1;
        self.progress.times.push(time);
    }

    /// Tests whether a frame has to be recorded.
    pub fn needs(&self, frame: u32) -> bool {
        self.recorder.needs(frame)
    }

    /// Reads back the current frame and records it.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the backend fails.
    pub fn record(&mut self, frame: u32, running: &mut JobSimulation) -> Result<(), Failure> {
        self.recorder.record(frame, running)
    }

    /// Measures the last frame and writes the remaining files.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the backend fails or the summary cannot be written.
    pub fn end(
        mut self,
        running: &mut JobSimulation,
        is_interrupted: bool,
        elapsed: Duration,
    ) -> Result<Recorded, Failure> {
        self.progress.is_interrupted = is_interrupted;
        self.recorder.measure_ending(running)?;
        self.recorder.measure_tangle(&mut running.simulation, &running.ids)?;
        let outcome = self.recorder.finish(self.progress.frames);
        let summary = Summary::new(&self.job, running, &self.progress, &outcome, elapsed);
        let stale = self.folder.remove_stale(summary.files());
        summary.write(self.folder.path())?;
        let folder = self.folder.path().to_path_buf();
        Ok(Recorded { summary, folder, stale, fault: outcome.fault })
    }

    /// Ends the recording like [`Recording::end`] and returns only the folder.
    ///
    /// # Errors
    /// Same as [`Recording::end`], also if a file could not be written.
    pub fn close(self, running: &mut JobSimulation, elapsed: Duration) -> Result<PathBuf, Failure> {
        let Recorded { folder, fault, .. } = self.end(running, false, elapsed)?;
        fault.map(|()| folder)
    }
}
