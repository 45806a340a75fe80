//! A simulation that is being recorded into a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::folder::OutputFolder;
use super::record::Recorder;
use super::summary::{self, Summary};
use super::{Progress, files};
use crate::args::PictureArgs;
use crate::failure::Failure;
use crate::job::Job;
use crate::job_simulation::JobSimulation;

/// The folder, what is kept for it, and how the simulation goes.
pub(crate) struct Recording {
    job: Arc<Job>,
    folder: OutputFolder,
    recorder: Recorder,
    progress: Progress,
}

/// What has become of a recording.
pub(super) struct Recorded {
    pub(super) summary: Summary,
    /// Where it is.
    pub(super) folder: PathBuf,
    /// Files of the run before, which are gone.
    pub(super) stale: Vec<String>,
    /// The first file that could not be written.
    pub(super) fault: Result<(), Failure>,
}

impl Recording {
    /// Claims the folder, `out/NAME` if none is stated, and opens the files of frames.
    pub(crate) fn begin(
        job: Arc<Job>,
        out: Option<&Path>,
        picture: &PictureArgs,
    ) -> Result<Self, Failure> {
        let out = out.map_or_else(|| Path::new("out").join(&job.name), Path::to_path_buf);
        let mut folder = OutputFolder::claim(&out)?;
        let mut names = files::ClothFiles::names(&job.cloths, &job.formats);
        names.extend(picture.picture.file().map(str::to_owned));
        names.push(summary::FILE_NAME.to_owned());
        folder.announce(&names)?;
        let recorder = Recorder::create(job.clone(), picture, folder.path())?;
        let progress = Progress { frames: 0, times: Vec::new(), is_interrupted: false };
        Ok(Self { job, folder, recorder, progress })
    }

    /// Notes that a frame was simulated, in this time.
    pub(crate) fn count(&mut self, time: Duration) {
        self.progress.frames += 1;
        self.progress.times.push(time);
    }

    /// Whether the frame is worth recording.
    pub(super) fn wants(&self, frame: u32) -> bool {
        self.recorder.wants(frame)
    }

    /// Reads a frame back and records it.
    pub(crate) fn record(
        &mut self,
        frame: u32,
        running: &mut JobSimulation,
    ) -> Result<(), Failure> {
        self.recorder.record(frame, running)
    }

    /// Measures the last frame and writes what is still to be written.
    pub(super) fn end(
        mut self,
        running: &mut JobSimulation,
        is_interrupted: bool,
        elapsed: Duration,
    ) -> Result<Recorded, Failure> {
        self.progress.is_interrupted = is_interrupted;
        self.recorder.measure_depth(running)?;
        self.recorder.measure_tangle(&mut running.simulation, &running.ids)?;
        let outcome = self.recorder.finish(self.progress.frames);
        let summary = Summary::new(&self.job, running, &self.progress, &outcome, elapsed);
        let stale = self.folder.remove_stale(summary.files());
        summary.write(self.folder.path())?;
        let folder = self.folder.path().to_path_buf();
        Ok(Recorded { summary, folder, stale, fault: outcome.fault })
    }

    /// As [`Recording::end`] for who asks only whether it succeeded. Returns the folder.
    #[cfg(feature = "view")]
    pub(crate) fn close(
        self,
        running: &mut JobSimulation,
        elapsed: Duration,
    ) -> Result<PathBuf, Failure> {
        let Recorded { folder, fault, .. } = self.end(running, false, elapsed)?;
        fault.map(|()| folder)
    }
}
