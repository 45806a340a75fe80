//! An engine's cloths at one moment, to go on from.

use poplin_layout::Feedback;
use poplin_model::{ClothContactSolver, ColliderSet, Particle};

use crate::HostCloth;

/// All that the next frames of an engine depend on, for [`Engine::restore`](crate::Engine::restore) of the same or of another one,
/// on either backend. Fabrics are shared with the engine that it is of.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) cloths: Vec<SnapshotCloth>,
    pub(crate) colliders: ColliderSet,
    pub(crate) cloth_contact_solver: ClothContactSolver,
    pub(crate) multipliers: ContactMultipliers,
}

/// What the pairs of contact of triangles hold, so that a stack does not have to find its load again; engines build it.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct ContactMultipliers {
    /// Length of the solver iterations of which they are \[s\].
    pub step: f32,
    /// Those of each pair that pushes, in the order of `rank`.
    pub pairs: Vec<PairMultipliers>,
}

/// Multipliers of a pair of [`ContactMultipliers`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct PairMultipliers {
    /// Which pair: indices of both bodies (cloths in the order of adding, then colliders), kind and first simplex, second simplex.
    pub rank: [u32; 4],
    /// Of the push \[kg m\], at least 0.
    pub push: f32,
    /// Of friction \[kg m\].
    pub drag: [f32; 3],
}

impl ContactMultipliers {
    /// Whether all are numbers in their ranges, and no pair is there twice.
    #[cfg(feature = "save")]
    pub(crate) fn is_sane(&self) -> bool {
        const MOST: f32 = 1e9;
        let is_sane = |pair: &PairMultipliers| {
            (0.0..=MOST).contains(&pair.push) && pair.drag.iter().all(|drag| drag.abs() <= MOST)
        };
        (self.step == 0.0 || (1e-9..=1.0).contains(&self.step))
            && self.pairs.iter().all(is_sane)
            && self.pairs.windows(2).all(|pair| pair[0].rank < pair[1].rank)
    }
}

/// A cloth of a [`Snapshot`]; engines build them.
#[derive(Debug, Clone)]
pub struct SnapshotCloth {
    /// What the host has of it.
    pub host: HostCloth,
    /// Position \[m\] and working inverse mass [1/kg] of every particle.
    pub current: Vec<Particle>,
    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle.
    pub previous: Vec<Particle>,
    /// Faults and counters as the kernel reported them.
    pub feedback: Feedback,
}

impl Snapshot {
    /// A snapshot of these cloths, in the order of adding, and of the shared colliders and settings.
    pub fn new(
        cloths: Vec<SnapshotCloth>,
        colliders: ColliderSet,
        cloth_contact_solver: ClothContactSolver,
    ) -> Self {
        let multipliers = ContactMultipliers::default();
        Self { cloths, colliders, cloth_contact_solver, multipliers }
    }

    /// With what contact of triangles holds.
    #[must_use]
    pub fn with_multipliers(self, multipliers: ContactMultipliers) -> Self {
        Self { multipliers, ..self }
    }

    /// What contact of triangles holds; nothing in contact of particles.
    pub fn multipliers(&self) -> &ContactMultipliers {
        &self.multipliers
    }

    /// The cloths, in the order of adding.
    pub fn cloths(&self) -> &[SnapshotCloth] {
        &self.cloths
    }

    /// Colliders in world space, shared by all cloths.
    pub fn colliders(&self) -> &ColliderSet {
        &self.colliders
    }

    /// How cloths collide with one another.
    pub fn cloth_contact_solver(&self) -> ClothContactSolver {
        self.cloth_contact_solver
    }
}
