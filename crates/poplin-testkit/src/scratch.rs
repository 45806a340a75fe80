//! Temporary folder for the files of a test.

use std::path::{Path, PathBuf};

/// Temporary folder, removed on drop.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder for the test of this name.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("poplin-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for temporary files is writable");
        Self(path)
    }

    /// Path of a file of this name in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
