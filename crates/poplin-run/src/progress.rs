//! Progress bars.

use indicatif::{ProgressBar, ProgressStyle};

/// Creates a progress bar of so many steps on stderr, hidden unless that is a terminal; `template`
/// is that of indicatif.
pub fn progress_bar(template: &str, steps: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps).with_style(style)
}
