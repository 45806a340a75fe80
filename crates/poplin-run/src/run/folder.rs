//! The output folder of a run.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::summary;
use crate::failure::{Failure, OrFail};

/// Lock file of the folder, which lists the files of the run. It is never deleted, so that two runs
/// cannot lock different files of this name.
const LOCK_NAME: &str = ".poplin.lock";

/// Output folder, locked against other runs for the lifetime of this value.
pub(super) struct OutputFolder {
    path: PathBuf,
    lock: File,
}

impl OutputFolder {
    /// Creates the folder if needed and locks it.
    pub(super) fn claim(path: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot create the output folder {}", path.display()))
            .or_failed()?;
        let lock_path = path.join(LOCK_NAME);
        let lock =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock
            .with_context(|| format!("cannot write to the output folder {}", path.display()))
            .or_failed()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Failed(anyhow!(
                    "another run is writing to {}: wait until it ends, or choose another folder with --out",
                    path.display()
                )));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) => {
                log::info!("cannot lock {}: {error}", lock_path.display());
            }
        }
        Ok(Self { path: path.to_path_buf(), lock })
    }

    /// Stores the names of the files that will be written in the lock file.
    ///
    /// # Errors
    /// [`Failure::Failed`] if one of them exists and is not from an earlier run.
    pub(super) fn announce(&mut self, names: &[String]) -> Result<(), Failure> {
        // After a killed run there is no summary, but the lock file has the names.
        let mut announced = String::new();
        self.lock.read_to_string(&mut announced).unwrap_or_default();
        let known = summary::files_in(&self.path);
        let is_ours = |name: &String| {
            known.contains(name) || announced.lines().any(|announced| announced == name)
        };
        let is_there = |name: &&String| self.path.join(name).symlink_metadata().is_ok();
        if let Some(name) = names.iter().filter(is_there).find(|name| !is_ours(name)) {
            return Err(Failure::Failed(anyhow!(
                "{} exists and is not from an earlier run: choose another folder with --out, or move it",
                self.path.join(name).display()
            )));
        }
        let written = self.lock.set_len(0).and_then(|()| self.lock.rewind());
        let written = written.and_then(|()| self.lock.write_all(names.join("\n").as_bytes()));
        written
            .with_context(|| format!("cannot write to the output folder {}", self.path.display()))
            .or_failed()
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the files listed in the summary of the previous run, except those in `written`.
    /// Returns their names. Files of the user stay.
    pub(super) fn remove_stale(&self, written: &[String]) -> Vec<String> {
        let mut names = summary::files_in(&self.path);
        names.retain(|name| {
            let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
            is_plain
                && !written.contains(name)
                && poplin_io::remove_frames(self.path.join(name)).is_ok()
        });
        names
    }
}
