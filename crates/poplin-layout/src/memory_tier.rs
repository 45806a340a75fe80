//! Memory tiers and the grid of self collision in workgroup memory.

/// Where a cloth's particles live while its kernel runs. Every tier gives the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryTier {
    /// Current and previous particles in workgroup memory: 32 bytes a particle.
    Resident,
    /// Current particles in workgroup memory, previous ones in storage: 16 bytes a particle.
    HalfResident,
    /// Everything in storage; no limit but the buffers'.
    Streamed,
}

impl MemoryTier {
    /// All tiers, fastest first.
    pub const ALL: [Self; 3] = [Self::Resident, Self::HalfResident, Self::Streamed];

    /// Workgroup bytes per particle.
    pub fn bytes_per_particle(self) -> u32 {
        match self {
            Self::Resident => 32,
            Self::HalfResident => 16,
            Self::Streamed => 0,
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::HalfResident => "half-resident",
            Self::Streamed => "streamed",
        }
    }
}

/// Fewest buckets of the grid: from here on no two of a cell's 27 neighbours share a bucket.
pub const MIN_GRID_CELLS: u32 = 256;
