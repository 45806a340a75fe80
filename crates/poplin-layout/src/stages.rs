//! The stages of one iteration, in the order in which the kernel runs them.

/// One stage of the solver. The kernel compiles in only the stages a bucket of cloths needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Stage {
    /// Verlet step with damping, gravity and accelerations; clears the working mass of the last iteration.
    Integrate = 0,
    /// Largest distances to anchors.
    Tether = 3,
    /// Fabric phases: fibers of edges by Gauss-Seidel.
    GaussSeidel = 4,
    /// Restores the working inverse mass.
    Mass = 8,
}

impl Stage {
    /// All stages in solving order.
    pub const ALL: [Self; 4] = [Self::Integrate, Self::Tether, Self::GaussSeidel, Self::Mass];

    /// The stem of the stage's shader file and of its mirror.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integrate => "integrate",
            Self::Tether => "tether",
            Self::GaussSeidel => "gauss_seidel",
            Self::Mass => "mass",
        }
    }
}

/// A set of stages: bit `stage as u32` per [`Stage`]; the WGSL override `STAGES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageMask(pub u32);

impl StageMask {
    /// Every stage.
    pub const ALL: Self = Self(u32::MAX);

    /// Only `stage`.
    pub const fn only(stage: Stage) -> Self {
        Self(1 << stage as u32)
    }

    /// Whether `stage` is in the set.
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u32) != 0
    }

    /// The set without `stage`.
    pub const fn without(self, stage: Stage) -> Self {
        Self(self.0 & !(1 << stage as u32))
    }

    /// The set with `stage`.
    pub const fn with(self, stage: Stage) -> Self {
        Self(self.0 | (1 << stage as u32))
    }
}
