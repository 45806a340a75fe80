//! The stages of one iteration, in the order in which the kernel runs them.

/// One stage of the solver. The kernel compiles in only the stages a bucket of cloths needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Stage {
    /// Verlet step with damping, gravity and accelerations; clears the working mass of the last iteration.
    Integrate = 0,
    /// Drag and lift of the air.
    Wind = 1,
    /// Spheres that particles may not leave.
    Motion = 2,
    /// Largest distances to anchors.
    Tether = 3,
    /// Fabric phases: fibers of edges by Gauss-Seidel.
    GaussSeidel = 4,
    /// Spheres that particles may not enter.
    Separation = 5,
    /// Restores the working inverse mass.
    Mass = 8,
    /// Tests whether the cloth rests.
    Sleep = 12,
}

impl Stage {
    /// All stages in solving order.
    pub const ALL: [Self; 8] =
        [Self::Integrate, Self::Wind, Self::Motion, Self::Tether, Self::GaussSeidel, Self::Separation, Self::Mass, Self::Sleep];

    /// The stem of the stage's shader file and of its mirror.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integrate => "integrate",
            Self::Wind => "wind",
            Self::Motion => "motion",
            Self::Tether => "tether",
            Self::GaussSeidel => "gauss_seidel",
            Self::Separation => "separation",
            Self::Mass => "mass",
            Self::Sleep => "sleep",
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
