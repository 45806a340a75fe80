//! Logging of the libraries to stderr.

use log::LevelFilter;

/// Shows warnings; with `-v` what poplin does, with `-vv` its details, with `-vvv` what wgpu does.
/// `RUST_LOG` wins.
pub(crate) fn init(verbosity: u8) {
    let (own, others) = match verbosity {
        0 => (LevelFilter::Warn, LevelFilter::Error),
        1 => (LevelFilter::Info, LevelFilter::Warn),
        2 => (LevelFilter::Debug, LevelFilter::Warn),
        _ => (LevelFilter::Trace, LevelFilter::Info),
    };
    // The commands report canaries themselves; the library would repeat it for every device it
    // opens.
    let devices = if verbosity == 0 { LevelFilter::Error } else { own };
    env_logger::Builder::new()
        .filter_level(others)
        // A module's filter holds for everything that begins with its name: poplin_gpu, poplin_io
        // and so on.
        .filter_module("poplin", own)
        .filter_module("poplin_gpu::headless", devices)
        .parse_default_env()
        .try_init()
        // A second command in one process keeps the logger of the first.
        .unwrap_or_default();
}
