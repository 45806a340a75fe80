//! How an engine is printed: by its size, not by its buffers.

use std::fmt;

use crate::ReferenceEngine;

impl fmt::Debug for ReferenceEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReferenceEngine")
            .field("cloth_count", &self.cloth_count())
            .finish_non_exhaustive()
    }
}
