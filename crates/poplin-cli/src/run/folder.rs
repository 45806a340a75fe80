//! The output folder of a run.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::summary;
use crate::failure::{Failure, OrFail};

/// Locked while a run writes to the folder, whose files it names; it stays, so that no two runs lock different files of this name.
const LOCK_NAME: &str = ".poplin.lock";

/// A folder that no other run writes to as long as this lives.
pub(super) struct OutputFolder {
    path: PathBuf,
    lock: File,
}

impl OutputFolder {
    /// Makes the folder if it is not there and claims it.
    pub(super) fn claim(path: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot make the output folder {}", path.display()))
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
                    "another run writes to {}: wait until it has ended, or choose another folder with --out",
                    path.display()
                )));
            }
            // As on some network file systems.
            Err(TryLockError::Error(error)) => {
                log::info!("cannot lock {}: {error}", lock_path.display());
            }
        }
        Ok(Self { path: path.to_path_buf(), lock })
    }

    /// Announces the files that will be written.
    ///
    /// # Errors
    /// [`Failure::Failed`] if one of them is there already and no run has written it: a mesh that was put there, for example.
    pub(super) fn announce(&mut self, names: &[String]) -> Result<(), Failure> {
        // A run that is killed leaves its files without a summary, but with the names in the lock.
        let mut announced = String::new();
        self.lock.read_to_string(&mut announced).unwrap_or_default();
        let known = summary::files_in(&self.path);
        let is_ours = |name: &String| {
            known.contains(name) || announced.lines().any(|announced| announced == name)
        };
        let is_there = |name: &&String| self.path.join(name).symlink_metadata().is_ok();
        if let Some(name) = names.iter().filter(is_there).find(|name| !is_ours(name)) {
            return Err(Failure::Failed(anyhow!(
                "{} would be overwritten, and no run has written it: choose another folder with --out, or move it away",
                self.path.join(name).display()
            )));
        }
        let written = self.lock.set_len(0).and_then(|()| self.lock.rewind());
        let written = written.and_then(|()| self.lock.write_all(names.join("\n").as_bytes()));
        written
            .with_context(|| format!("cannot write to the output folder {}", self.path.display()))
            .or_failed()
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the files of the run before this one, as its summary lists them, but for those that this one has `written`, and
    /// returns their names. What a user has put there stays.
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
