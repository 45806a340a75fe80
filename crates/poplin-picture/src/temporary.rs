//! Temporary file of a picture in the making.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use super::PictureError;

/// Hidden file next to a picture, removed unless it is renamed.
#[derive(Debug)]
pub(super) struct Temporary {
    file: File,
    path: PathBuf,
    /// Number of appended bytes.
    length: u64,
}

impl Temporary {
    pub(super) fn create(of: &Path, extension: &str) -> Result<Self, PictureError> {
        // In the same folder, so that the rename stays on one file system.
        let name = of.file_name().unwrap_or_default().to_string_lossy();
        let path = of.with_file_name(format!(".{name}.{extension}"));
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path);
        Ok(Self { file: file.map_err(PictureError::write(&path))?, path, length: 0 })
    }

    /// File, open for reading and writing.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Appends positions, to be read with [`triples`]; a failed append is overwritten by the next
    /// one.
    pub(super) fn append<'a>(
        &mut self,
        positions: impl Iterator<Item = &'a [f32; 3]>,
    ) -> std::io::Result<()> {
        let bytes: Vec<u8> = positions.flatten().flat_map(|x| x.to_le_bytes()).collect();
        self.file.seek(std::io::SeekFrom::Start(self.length))?;
        self.file.write_all(&bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Renames the file to `path`, once it is on the disk.
    pub(super) fn rename(self, path: &Path) -> Result<(), PictureError> {
        let renamed = self.file.sync_all().and_then(|()| std::fs::rename(&self.path, path));
        renamed.map_err(PictureError::write(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Decodes positions from little-endian bytes.
pub(super) fn triples(bytes: &[u8]) -> impl Iterator<Item = [f32; 3]> {
    let (words, _) = bytes.as_chunks::<4>();
    let (triples, _) = words.as_chunks::<3>();
    triples.iter().map(|triple| triple.map(f32::from_le_bytes))
}
