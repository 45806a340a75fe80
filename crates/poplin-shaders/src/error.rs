//! Errors between a shader file and a naga module.

use thiserror::Error;

/// Error of composing, parsing or validating a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShaderError {
    /// Import of a file that does not exist.
    #[error("{file}:{line}: no shader file `{import}`")]
    UnknownImport {
        /// Importing file.
        file: String,
        /// Line of the import, from 1.
        line: usize,
        /// Imported path.
        import: String,
    },
    /// Import that follows other code.
    #[error("{file}:{line}: an `#import` must be at the top of the file")]
    LateImport {
        /// Importing file.
        file: String,
        /// Line of the import, from 1.
        line: usize,
    },
    /// Composed text that naga rejects.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// File that contains the position.
        file: String,
        /// Line in that file, from 1; 0 if naga reported none.
        line: usize,
        /// Message of naga.
        message: String,
    },
}
