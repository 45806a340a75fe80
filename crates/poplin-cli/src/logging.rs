//! Logging of the libraries to stderr.

use log::LevelFilter;

/// Logs warnings; with `-v` steps of poplin, with `-vv` details, with `-vvv` wgpu too. `RUST_LOG`
/// takes precedence.
pub(crate) fn init(verbosity: u8) {
    let (own, others) = match verbosity {
        0 => (LevelFilter::Warn, LevelFilter::Error),
        1 => (LevelFilter::Info, LevelFilter::Warn),
        2 => (LevelFilter::Debug, LevelFilter::Warn),
        _ => (LevelFilter::Trace, LevelFilter::Info),
    };
    // Commands report canaries themselves; the library would repeat them for every device.
    let devices = if verbosity == 0 { LevelFilter::Error } else { own };
    env_logger::Builder::new()
        .filter_level(others)
        // A filter matches all modules with this prefix: poplin_gpu, poplin_io and so on.
        .filter_module("poplin", own)
        .filter_module("poplin_gpu::headless", devices)
        .parse_default_env()
        .try_init()
        // A second command in one process keeps the logger of the first.
        .unwrap_or_default();
}
