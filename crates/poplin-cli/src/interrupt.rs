//! Ctrl-C and SIGTERM as a flag that the frame loop polls.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// No frame loop polls: a signal ends the process.
const UNWATCHED: u8 = 0;
/// A frame loop polls, and no signal has arrived.
const WATCHED: u8 = 1;
/// A signal has arrived.
const ASKED: u8 = 2;

/// State shared with the signal handler; a process has only one handler.
static STATE: AtomicU8 = AtomicU8::new(UNWATCHED);

/// Guard that makes the first signal set a flag instead of ending the process.
pub(crate) struct Interrupt(());

impl Interrupt {
    /// Starts watching. The frame loop reacts to the first signal; a second one ends the process at
    /// once. Point caches are valid at any time.
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

    /// Tests whether a signal has arrived.
    pub(crate) fn is_asked(&self) -> bool {
        STATE.load(Ordering::Relaxed) == ASKED
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        STATE.store(UNWATCHED, Ordering::Relaxed);
    }
}
