//! Sets of stages and of the parts of the implicit stage.

use crate::{STAGES, Stage};

/// A set of stages: bit `stage as u32` per [`Stage`], then the multilevel solver and the optional
/// parts of [`Stage::Implicit`]; the WGSL override `STAGES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageMask(pub u32);

impl StageMask {
    /// All stages.
    pub const ALL: Self = Self(u32::MAX);

    /// Stages that solve fibers.
    pub const FIBERS: Self =
        Self::only(Stage::GaussSeidel).with(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// Stages that solve the edges of a fiber as one system.
    pub const WHOLE_FIBERS: Self = Self::only(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// Stages that read prepared shapes.
    pub const SHAPES: Self = Self::only(Stage::Sweep)
        .with(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle)
        .with(Stage::CollideShape)
        .with(Stage::CollideContinuous)
        .with(Stage::CollideBody)
        .with(Stage::VirtualParticles);

    /// Stages that collide with spheres and capsules that belong to no body.
    pub const SPHERES: Self = Self::only(Stage::CollideShape).with(Stage::CollideContinuous);

    /// Stages whose contacts an implicit solve probes for.
    pub const PROBES: Self = Self::SPHERES
        .with(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle);

    /// The multilevel solver, which no kernel of one workgroup has.
    pub const LEVELS: Self = Self(1 << 26);

    /// Part of [`Stage::Implicit`]: triangles that resist stretch.
    pub const TRIANGLES: Self = Self(1 << 27);

    /// Part of [`Stage::Implicit`]: bends that resist bending.
    pub const BENDS: Self = Self(1 << 28);

    /// Part of [`Stage::Implicit`]: springs that resist stretch or bending.
    pub const SPRINGS: Self = Self(1 << 29);

    /// Part of [`Stage::Implicit`]: the preconditioner along chains.
    pub const CHAINS: Self = Self(1 << 30);

    /// Part of [`Stage::Implicit`]: halving of steps.
    pub const HALVINGS: Self = Self(1 << 31);

    /// All parts of [`Stage::Implicit`].
    pub const IMPLICIT_PARTS: Self = Self(
        Self::TRIANGLES.0 | Self::BENDS.0 | Self::SPRINGS.0 | Self::CHAINS.0 | Self::HALVINGS.0,
    );

    /// Intersection with the stages of `other`; keeps its own parts of [`Stage::Implicit`] if that
    /// stage remains.
    pub const fn restrict(self, other: Self) -> Self {
        let stages = self.0 & other.0 & !Self::IMPLICIT_PARTS.0;
        let has_parts = Self(stages).contains(Stage::Implicit);
        Self(if has_parts { stages | self.0 & Self::IMPLICIT_PARTS.0 } else { stages })
    }

    /// True if the sets have a bit in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Set of one stage.
    pub const fn only(stage: Stage) -> Self {
        Self(1 << stage as u32)
    }

    /// True if `stage` is in the set.
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u32) != 0
    }

    /// Returns the set without `stage`.
    pub const fn without(self, stage: Stage) -> Self {
        Self(self.0 & !(1 << stage as u32))
    }

    /// Returns the set with `stage`.
    pub const fn with(self, stage: Stage) -> Self {
        Self(self.0 | (1 << stage as u32))
    }

    /// WGSL constant with the bits of this set.
    pub(crate) fn constant(self) -> String {
        let set = STAGE_SETS.iter().find(|(_, _, set)| *set == self);
        let row = STAGES.iter().find(|row| Self::only(row.stage) == self);
        match (row, set) {
            (Some(row), _) => format!("STAGE_{}", row.name.to_uppercase()),
            (None, Some((name, _, _))) => (*name).to_owned(),
            (None, None) => format!("{:#x}u", self.0),
        }
    }

    /// Union of two sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Sets that the shaders test: name of the constant, its meaning, the set.
pub const STAGE_SETS: &[(&str, &str, StageMask)] = &[
    ("STAGES_OF_FIBERS", "the stages that solve fibers", StageMask::FIBERS),
    ("STAGES_OF_SHAPES", "the stages that read prepared shapes", StageMask::SHAPES),
    ("STAGES_OF_SPHERES", "the stages that touch spheres and capsules", StageMask::SPHERES),
    (
        "STAGES_OF_PROBES",
        "the stages whose contacts an implicit solve looks for",
        StageMask::PROBES,
    ),
    (
        "IMPLICIT_TRIANGLES",
        "triangles that resist stretch in an implicit solve",
        StageMask::TRIANGLES,
    ),
    ("IMPLICIT_BENDS", "bends that resist bending in an implicit solve", StageMask::BENDS),
    (
        "IMPLICIT_SPRINGS",
        "springs that resist stretch or bending in an implicit solve",
        StageMask::SPRINGS,
    ),
    ("IMPLICIT_CHAINS", "chains that precondition an implicit solve", StageMask::CHAINS),
    ("IMPLICIT_HALVINGS", "implicit steps that may be halved", StageMask::HALVINGS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restrict_keeps_implicit_parts_only_with_their_stage() {
        let set = StageMask::only(Stage::Implicit).with(Stage::Wind).union(StageMask::CHAINS);
        let implicit = StageMask::only(Stage::Implicit);
        assert_eq!(set.restrict(implicit), implicit.union(StageMask::CHAINS));
        assert_eq!(set.restrict(StageMask::only(Stage::Wind)), StageMask::only(Stage::Wind));
        assert_eq!(implicit.restrict(StageMask::ALL), implicit);
    }
}
