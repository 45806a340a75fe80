//! Ctrl-C and SIGTERM as a question that the frame loop asks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Nobody asks: a signal ends the process.
const UNWATCHED: u8 = 0;
/// Somebody asks, and no signal came.
const WATCHED: u8 = 1;
/// A signal came.
const ASKED: u8 = 2;

/// What signals find and leave. A process has one handler for them.
static STATE: AtomicU8 = AtomicU8::new(UNWATCHED);

/// Whether the user wants to stop, for as long as this is kept.
pub(crate) struct Interrupt(());

impl Interrupt {
    /// Watches from now on. The first signal is answered by the frame loop, a second one ends the process at once: point
    /// caches are valid at any time.
    pub(crate) fn watch() -> Self {
        static HANDLER: OnceLock<()> = OnceLock::new();
        HANDLER.get_or_init(|| {
            let handler = || {
                let first =
                    STATE.compare_exchange(WATCHED, ASKED, Ordering::Relaxed, Ordering::Relaxed);
                if first.is_err() {
                    std::process::exit(130);
                }
            };
            if let Err(error) = ctrlc::set_handler(handler) {
                log::warn!("Ctrl-C will end the run without a summary: {error}");
            }
        });
        STATE.store(WATCHED, Ordering::Relaxed);
        Self(())
    }

    /// Whether a signal came.
    pub(crate) fn is_asked(&self) -> bool {
        STATE.load(Ordering::Relaxed) == ASKED
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        STATE.store(UNWATCHED, Ordering::Relaxed);
    }
}
