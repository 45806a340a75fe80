//! How engines are printed: by their sizes, not by their buffers.

use std::fmt;

use crate::Engine;

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("cloth_count", &self.cloth_count())
            .field("particle_count", &self.particle_count())
            .finish_non_exhaustive()
    }
}
