//! Memory tiers of particles, and the grid of self collision in workgroup memory.

/// Memory of a cloth's particles while its kernel runs. Results are bit-identical in every tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryTier {
    /// Current and previous particles in workgroup memory: 32 bytes per particle.
    Resident,
    /// Current particles in workgroup memory, previous ones in storage: 16 bytes per particle.
    HalfResident,
    /// All particles in storage, limited only by the buffers.
    Streamed,
}

impl MemoryTier {
    /// All tiers, fastest first.
    pub const ALL: [Self; 3] = [Self::Resident, Self::HalfResident, Self::Streamed];

    /// Bytes of workgroup memory per particle.
    pub fn bytes_per_particle(self) -> u32 {
        match self {
            Self::Resident => 32,
            Self::HalfResident => 16,
            Self::Streamed => 0,
        }
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::HalfResident => "half-resident",
            Self::Streamed => "streamed",
        }
    }
}

/// Use of workgroup memory by a cloth. Results are bit-identical for every plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryPlan {
    /// Tier of the particles.
    pub tier: MemoryTier,
    /// Number of particles that fit in the arrays of the tier; 1 in the streamed tier.
    pub capacity: u32,
    /// Number of buckets of the grid, a power of two; 1 without self collision.
    pub grid_cells: u32,
    /// Number of vec4 of fiber rows; 0 if they are in storage, as in the streamed tier.
    pub row_capacity: u32,
}

impl MemoryPlan {
    /// Total size \[bytes\].
    pub fn bytes(&self) -> u32 {
        let grid = if self.grid_cells > 1 { 4 * (self.grid_cells + crate::GRID_PARTS) } else { 0 };
        self.tier.bytes_per_particle() * self.capacity + grid + 16 * self.row_capacity
    }
}

/// Smallest number of buckets of the grid for which the 27 neighbours of a cell have different
/// buckets.
pub const MIN_GRID_CELLS: u32 = 256;
