//! What can go wrong between a shader file and a module.

use thiserror::Error;

/// Why a kernel could not be composed, parsed or validated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShaderError {
    /// An `#import` names a file that does not exist.
    #[error("{file}:{line}: no shader file `{import}`")]
    UnknownImport {
        /// The importing file.
        file: String,
        /// Line of the import, from 1.
        line: usize,
        /// The imported path.
        import: String,
    },
    /// An `#import` follows other code.
    #[error("{file}:{line}: imports belong at the top of a file")]
    LateImport {
        /// The importing file.
        file: String,
        /// Line of the import, from 1.
        line: usize,
    },
    /// naga refused the composed text.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// The file that the position falls in.
        file: String,
        /// Line in that file, from 1; 0 if naga reported none.
        line: usize,
        /// naga's message.
        message: String,
    },
}
