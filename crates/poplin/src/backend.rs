//! Where a simulation runs.

use std::fmt;

/// Where a simulation should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Backend {
    /// A real GPU if there is one, else the CPU: a software adapter would be slower than either.
    #[default]
    Auto,
    /// The best adapter, a software one if there is no other.
    Gpu,
    /// The CPU, in parallel over cloths and within large ones.
    Cpu,
}

impl Backend {
    /// The name as it is in commands and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        }
    }
}

/// Where a simulation runs, and why there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendChoice {
    /// [`Backend::Gpu`] or [`Backend::Cpu`].
    pub backend: Backend,
    /// The adapter's name and driver, or the count of CPU threads.
    pub adapter: String,
    /// Why it was chosen.
    pub reason: String,
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} backend on {} ({})", self.backend.name(), self.adapter, self.reason)
    }
}
