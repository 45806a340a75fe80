//! Ctrl-C and SIGTERM as a question that the frame loop asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants to stop.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches from now on. The first signal is answered by the frame loop, a second one ends the process at once: point
    /// caches are valid at any time.
    pub(crate) fn watch() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        let flag = asked.clone();
        let handler = move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            log::warn!("Ctrl-C will end the run without a summary: {error}");
        }
        Self(asked)
    }

    /// Whether a signal came.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
