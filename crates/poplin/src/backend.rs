//! Choice of the backend.

use std::fmt;

/// Backend requested for a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Backend {
    /// A real GPU if there is one, otherwise the CPU, which is faster than a software adapter.
    #[default]
    Auto,
    /// The best adapter; a software adapter if there is no other.
    Gpu,
    /// The CPU, parallel over cloths and within large ones.
    Cpu,
}

impl Backend {
    /// Name used in commands and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        }
    }
}

/// Backend of a simulation, and the reason for the choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendChoice {
    /// [`Backend::Gpu`] or [`Backend::Cpu`].
    pub backend: Backend,
    /// Name and driver of the adapter, or the number of CPU threads and the instruction set.
    pub adapter: String,
    /// Reason for the choice.
    pub reason: String,
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} backend on {} ({})", self.backend.name(), self.adapter, self.reason)
    }
}
