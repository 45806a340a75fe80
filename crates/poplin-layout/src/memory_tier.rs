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

/// What a cloth has in the memory of its workgroup. All plans give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryPlan {
    /// Tier of the particles.
    pub tier: MemoryTier,
    /// Particles that the tier's arrays hold; 1 in the streamed tier.
    pub capacity: u32,
    /// Buckets of the grid, a power of two; 1 without self collision.
    pub grid_cells: u32,
    /// Vec4 of the rows of whole fibers; 0: they are in storage, as they are in the streamed tier.
    pub row_capacity: u32,
}

impl MemoryPlan {
    /// Bytes of all of it.
    pub fn bytes(&self) -> u32 {
        let grid = if self.grid_cells > 1 { 4 * (self.grid_cells + crate::GRID_PARTS) } else { 0 };
        self.tier.bytes_per_particle() * self.capacity + grid + 16 * self.row_capacity
    }
}

/// Fewest buckets of the grid: from here on no two of a cell's 27 neighbours share a bucket.
pub const MIN_GRID_CELLS: u32 = 256;
