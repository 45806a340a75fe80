//! Settings of the phases of a fabric.

use crate::PhaseKind;
use crate::error::{Context, ModelError};

/// Settings per kind of phase. Each applies to every phase of that kind, except phases with a
/// setting of their own.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(bound = "T: Default + serde::Serialize + schemars::JsonSchema")
)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        default,
        deny_unknown_fields,
        bound(deserialize = "T: Default + serde::Deserialize<'de>")
    )
)]
pub struct Phases<T> {
    /// Stretch along the warp direction.
    pub vertical: T,
    /// Stretch across the warp direction.
    pub horizontal: T,
    /// Diagonals, which resist shear.
    pub shearing: T,
    /// Edges over two triangles, which resist folding.
    pub bending: T,
    /// Single phases, by index into [`crate::Fabric::phases`], with settings that override those of
    /// their kind (default none). The last entry of a phase wins. For fabrics with
    /// several phases of one kind; cooking makes one phase of each kind.
    pub single: Vec<(u32, T)>,
}

impl<T> Phases<T> {
    /// Applies one setting to every phase.
    pub fn all(setting: T) -> Self
    where
        T: Clone,
    {
        let [vertical, horizontal, shearing] = [(); 3].map(|()| setting.clone());
        Self { vertical, horizontal, shearing, bending: setting, single: Vec::new() }
    }

    /// Setting of phases of a kind.
    pub fn kind(&self, kind: PhaseKind) -> &T {
        match kind {
            PhaseKind::Vertical => &self.vertical,
            PhaseKind::Horizontal => &self.horizontal,
            PhaseKind::Shearing => &self.shearing,
            PhaseKind::Bending => &self.bending,
        }
    }

    /// Setting of phases of a kind, mutable.
    pub fn kind_mut(&mut self, kind: PhaseKind) -> &mut T {
        match kind {
            PhaseKind::Vertical => &mut self.vertical,
            PhaseKind::Horizontal => &mut self.horizontal,
            PhaseKind::Shearing => &mut self.shearing,
            PhaseKind::Bending => &mut self.bending,
        }
    }

    /// Setting of phase `index` of a fabric, whose kind is `kind`.
    pub fn of(&self, index: u32, kind: PhaseKind) -> &T {
        let single = self.single.iter().rev().find(|(phase, _)| *phase == index);
        single.map_or_else(|| self.kind(kind), |(_, setting)| setting)
    }

    /// Iterates over the settings of all kinds, then over those of single phases.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let Self { vertical, horizontal, shearing, bending, single } = self;
        let kinds = [vertical, horizontal, shearing, bending];
        kinds.into_iter().chain(single.iter_mut().map(|(_, setting)| setting))
    }

    /// Converts every setting with `change`.
    pub fn map<U>(&self, change: impl Fn(&T) -> U) -> Phases<U> {
        Phases {
            vertical: change(&self.vertical),
            horizontal: change(&self.horizontal),
            shearing: change(&self.shearing),
            bending: change(&self.bending),
            single: self.single.iter().map(|(phase, setting)| (*phase, change(setting))).collect(),
        }
    }

    pub(crate) fn validate_each(
        &self,
        check: impl Fn(&T) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        for kind in PhaseKind::ALL {
            check(self.kind(kind)).within(kind.name())?;
        }
        self.single.iter().try_for_each(|(_, setting)| check(setting).within("single"))
    }

    /// Rejects settings of phases that the fabric does not have.
    pub(crate) fn validate_indices(&self, phase_count: usize) -> Result<(), ModelError> {
        crate::error::check_indices(
            "solver phases.single",
            self.single.iter().map(|(phase, _)| *phase),
            phase_count,
        )
    }
}
