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
    /// Convexes of planes.
    CollideConvex = 6,
    /// The triangle mesh.
    CollideTriangle = 7,
    /// Restores the working inverse mass.
    Mass = 8,
    /// Spheres and capsules where the particle is.
    CollideShape = 9,
    /// Virtual particles against spheres and capsules.
    VirtualParticles = 10,
    /// Particles of the cloth that come too close to each other.
    SelfCollide = 11,
    /// Tests whether the cloth rests.
    Sleep = 12,
    /// Boxes.
    CollideBox = 13,
    /// Spheres and capsules along the way of the particle; replaces [`Stage::CollideShape`].
    CollideContinuous = 14,
    /// Rigid bodies that feel the cloth.
    CollideBody = 15,
    /// Fabric phases: fibers as a whole, phases in turn with those of [`Stage::GaussSeidel`].
    SemiImplicit = 16,
    /// Angles between triangles.
    Bend = 17,
    /// Fabric phases: fibers as a whole, each by many lanes; phases in turn with those of [`Stage::GaussSeidel`].
    CyclicReduction = 18,
}

impl Stage {
    /// All stages in solving order.
    pub const ALL: [Self; 19] = [
        Self::Integrate,
        Self::Wind,
        Self::Motion,
        Self::Tether,
        Self::GaussSeidel,
        Self::SemiImplicit,
        Self::CyclicReduction,
        Self::Bend,
        Self::Separation,
        Self::SelfCollide,
        Self::CollideConvex,
        Self::CollideBox,
        Self::CollideTriangle,
        Self::Mass,
        Self::CollideShape,
        Self::CollideContinuous,
        Self::CollideBody,
        Self::VirtualParticles,
        Self::Sleep,
    ];

    /// The stem of the stage's shader file and of its mirror.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integrate => "integrate",
            Self::Wind => "wind",
            Self::Motion => "motion",
            Self::Tether => "tether",
            Self::GaussSeidel => "gauss_seidel",
            Self::Separation => "separation",
            Self::SelfCollide => "self_collide",
            Self::CollideConvex => "collide_convex",
            Self::CollideBox => "collide_box",
            Self::CollideTriangle => "collide_triangle",
            Self::Mass => "mass",
            Self::CollideShape => "collide_shape",
            Self::CollideContinuous => "collide_continuous",
            Self::CollideBody => "collide_body",
            Self::VirtualParticles => "virtual_particles",
            Self::Sleep => "sleep",
            Self::SemiImplicit => "semi_implicit",
            Self::Bend => "bend",
            Self::CyclicReduction => "cyclic_reduction",
        }
    }
}

/// A set of stages: bit `stage as u32` per [`Stage`]; the WGSL override `STAGES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageMask(pub u32);

impl StageMask {
    /// Every stage.
    pub const ALL: Self = Self(u32::MAX);

    /// The stages that solve fibers.
    pub const FIBERS: Self =
        Self::only(Stage::GaussSeidel).with(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// The stages that read prepared shapes.
    pub const SHAPES: Self = Self::only(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle)
        .with(Stage::CollideShape)
        .with(Stage::CollideContinuous)
        .with(Stage::CollideBody)
        .with(Stage::VirtualParticles);

    /// Whether the sets share a stage.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

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
