//! Folder of a sweep: identity of the sweep, finished jobs and their files.
//!
//! The folder of a job appears complete, by a rename; then a row is appended to the manifest of its
//! writer. A job without a row is not finished, even if its folder exists. Each writer (the whole
//! sweep or a part of it) has its own manifest, so that parts of a sweep can share a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::row::Row;
use crate::failure::{Failure, OrFail};

/// Value of the key `format` of `sweep.json`.
const FORMAT: &str = "poplin-sweep/1";
/// File that identifies the sweep of a folder.
const SWEEP_NAME: &str = "sweep.json";
/// Prefix and suffix of the names of manifests.
const MANIFEST: [&str; 2] = ["manifest-", ".jsonl"];

/// Folder of a sweep, locked by one writer.
pub(super) struct Store {
    folder: PathBuf,
    writer: String,
    manifest: File,
    /// Status of each job of the sweep; `None` if it is not finished.
    known: Vec<Option<Known>>,
}

/// Status of a finished job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// Succeeded; the files exist.
    Done,
    /// Failed without files; the row holds the error.
    Failed,
}

/// Contents of `sweep.json`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SweepMark {
    format: String,
    poplin_version: String,
    /// Hash of sweep, scene, the files that they name, and version.
    fingerprint: String,
    /// Backend of all jobs, because backends may round differently.
    backend: String,
    jobs: usize,
}

/// Fields that are read from a row.
#[derive(Deserialize)]
struct KnownRow {
    job: usize,
    status: Status,
    #[serde(default)]
    warnings: Vec<IgnoredAny>,
}

/// Status and warnings of a finished job.
#[derive(Debug, Clone, Copy)]
struct Known {
    status: Status,
    has_warnings: bool,
}

impl Store {
    /// Locks the folder for a writer and reads the finished jobs.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if the folder belongs to another sweep, [`Failure::Failed`] if it
    /// cannot be written, [`Failure::Busy`] if another process is the same writer.
    pub(super) fn claim(
        folder: &Path,
        writer: &str,
        (fingerprint, backend): (&str, &str),
        jobs: usize,
    ) -> Result<Self, Failure> {
        let cannot_write = || format!("cannot write to the output folder {}", folder.display());
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the output folder {}", folder.display()))
            .or_failed()?;
        mark(folder, writer, (fingerprint, backend), jobs)?;
        let path = folder.join(format!("{}{writer}{}", MANIFEST[0], MANIFEST[1]));
        let manifest =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut manifest = manifest.with_context(cannot_write).or_failed()?;
        match manifest.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Busy(anyhow!(
                    "another process is writing {}: wait until it ends",
                    path.display()
                )));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(error)) => {
                log::info!("cannot lock {}: {error}", path.display());
            }
        }
        cut_torn_row(&mut manifest).with_context(cannot_write).or_failed()?;
        let mut store = Self {
            folder: folder.to_path_buf(),
            writer: writer.to_owned(),
            manifest,
            known: vec![None; jobs],
        };
        store.refresh()?;
        Ok(store)
    }

    /// Reads the finished jobs of all writers, and removes unfinished folders of this writer.
    pub(super) fn refresh(&mut self) -> Result<(), Failure> {
        let read = self.read_manifests();
        read.with_context(|| format!("cannot read {}", self.folder.display())).or_failed()
    }

    /// Returns the status of a job; `None` if it is not finished.
    pub(super) fn status(&self, job: usize) -> Option<Status> {
        self.known[job].map(|known| known.status)
    }

    /// Tests whether a finished job has warnings.
    pub(super) fn has_warnings(&self, job: usize) -> bool {
        self.known[job].is_some_and(|known| known.has_warnings)
    }

    /// Creates an empty hidden folder for the files of a job.
    pub(super) fn begin(&self, job: usize) -> Result<PathBuf, Failure> {
        let path = self.unfinished(job);
        let made = remove(&path).and_then(|()| std::fs::create_dir(&path));
        made.with_context(|| format!("cannot create {}", path.display())).or_failed()?;
        Ok(path)
    }

    /// Publishes the folder of a job by a rename; its files must be on disk.
    pub(super) fn publish(&self, job: usize) -> Result<(), Failure> {
        let (from, to) = (self.unfinished(job), self.folder.join(job_name(job)));
        let published = sync(&from)
            // A folder without a row, from a process that ended before it wrote the row.
            .and_then(|()| remove(&to))
            .and_then(|()| std::fs::rename(&from, &to));
        published.with_context(|| format!("cannot write {}", to.display())).or_failed()
    }

    /// Removes the unfinished folder of a job.
    pub(super) fn discard(&self, job: usize) {
        if let Err(error) = remove(&self.unfinished(job)) {
            log::info!("cannot remove the unfinished folder of job {job}: {error}");
        }
    }

    /// Appends the rows of jobs whose folders are published, and syncs them to disk.
    pub(super) fn record(&mut self, rows: &[Row]) -> Result<(), Failure> {
        let mut text = String::new();
        for row in rows {
            text += &serde_json::to_string(row).or_failed()?;
            text.push('\n');
        }
        let written = sync(&self.folder)
            .and_then(|()| self.manifest.write_all(text.as_bytes()))
            .and_then(|()| self.manifest.sync_all());
        written
            .with_context(|| format!("cannot write to the manifest in {}", self.folder.display()))
            .or_failed()?;
        for row in rows {
            let has_warnings = row.result.as_ref().is_some_and(|it| !it.warnings.is_empty());
            self.known[row.job] = Some(Known { status: row.status, has_warnings });
        }
        Ok(())
    }

    /// Reads the rows of all manifests, and removes unfinished folders of this writer.
    fn read_manifests(&mut self) -> std::io::Result<()> {
        for entry in self.folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if is_unfinished(&name, &self.writer) {
                remove(&entry.path())?;
            }
            if !(name.starts_with(MANIFEST[0]) && name.ends_with(MANIFEST[1])) {
                continue;
            }
            let text = std::fs::read(entry.path())?;
            for (index, line) in
                text[..whole_rows(&text)].split_inclusive(|&byte| byte == b'\n').enumerate()
            {
                match serde_json::from_slice::<KnownRow>(line) {
                    Ok(KnownRow { job, status, warnings }) if job < self.known.len() => {
                        let has_warnings = !warnings.is_empty();
                        self.known[job] = Some(Known { status, has_warnings });
                    }
                    _ => log::warn!(
                        "{}:{}: not a row of a job; ignored",
                        entry.path().display(),
                        index + 1
                    ),
                }
            }
        }
        Ok(())
    }

    /// Returns the temporary name of an unfinished file or folder of this writer.
    pub(super) fn temporary(&self, name: &str) -> String {
        format!(".{name}.{}.tmp", self.writer)
    }

    fn unfinished(&self, job: usize) -> PathBuf {
        self.folder.join(self.temporary(&job_name(job)))
    }
}

/// Returns the name of the folder of a job.
pub(super) fn job_name(job: usize) -> String {
    format!("job-{job:07}")
}

fn is_unfinished(name: &str, writer: &str) -> bool {
    let job =
        name.strip_prefix(".job-").and_then(|rest| rest.strip_suffix(&format!(".{writer}.tmp")));
    job.is_some_and(|job| job.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Writes the identity of the sweep into the folder, or checks it.
fn mark(
    folder: &Path,
    writer: &str,
    (fingerprint, backend): (&str, &str),
    jobs: usize,
) -> Result<(), Failure> {
    let path = folder.join(SWEEP_NAME);
    let mark = SweepMark {
        format: FORMAT.to_owned(),
        poplin_version: env!("CARGO_PKG_VERSION").to_owned(),
        fingerprint: fingerprint.to_owned(),
        backend: backend.to_owned(),
        jobs,
    };
    let known = match std::fs::read(&path) {
        Ok(text) => serde_json::from_slice::<SweepMark>(&text).ok(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let temporary = folder.join(format!(".{SWEEP_NAME}.{writer}.tmp"));
            let mut text = serde_json::to_string_pretty(&mark).or_failed()?;
            text.push('\n');
            let written = File::create(&temporary)
                .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
                .and_then(|()| std::fs::rename(&temporary, &path))
                .and_then(|()| sync(folder));
            written
                .with_context(|| format!("cannot write to the output folder {}", folder.display()))
                .or_failed()?;
            return Ok(());
        }
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read {}", path.display()))
                .or_failed();
        }
    };
    if known.as_ref() == Some(&mark) {
        return Ok(());
    }
    let differs = match known {
        None => "the file does not identify a sweep".to_owned(),
        Some(known) if known.poplin_version != mark.poplin_version => format!(
            "it was started by poplin {}, this is {}",
            known.poplin_version, mark.poplin_version
        ),
        Some(known) if known.fingerprint == mark.fingerprint && known.jobs == mark.jobs => {
            return Err(Failure::BadInput(anyhow!(
                "{} was started on the {} backend, this is the {}, which may round differently: continue with --backend {}",
                folder.display(),
                known.backend,
                mark.backend,
                known.backend
            )));
        }
        Some(known) => format!(
            "sweep, scene or the files that they name differ (fingerprint {}, now {fingerprint})",
            known.fingerprint
        ),
    };
    Err(Failure::BadInput(anyhow!(
        "{} belongs to another sweep: {differs}; choose another folder with --out",
        path.display()
    )))
}

/// Returns the length of the complete rows: the last row may be incomplete while it is written or
/// after a kill.
fn whole_rows(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

/// Truncates an incomplete last row and seeks to the end of the file.
fn cut_torn_row(manifest: &mut File) -> std::io::Result<()> {
    let mut text = Vec::new();
    manifest.read_to_end(&mut text)?;
    let end = whole_rows(&text);
    if end < text.len() {
        log::info!("removed an incomplete row");
        manifest.set_len(end as u64)?;
    }
    manifest.seek(SeekFrom::Start(end as u64)).map(|_| ())
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Syncs the entries of a folder to disk.
#[cfg(unix)]
fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing: folders cannot be opened on this system.
#[cfg(not(unix))]
fn sync(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}
