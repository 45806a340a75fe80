//! Snapshots of an engine's cloths, from which simulation can continue.

use poplin_layout::Feedback;
use poplin_model::{ClothContactSolver, ColliderSet, Particle};

use crate::HostCloth;

/// Complete simulation state of an engine, for [`Engine::restore`](crate::Engine::restore) on the
/// same or a different engine of either backend. Fabrics are shared with the original engine.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) cloths: Vec<SnapshotCloth>,
    pub(crate) colliders: ColliderSet,
    pub(crate) cloth_contact_solver: ClothContactSolver,
    pub(crate) multipliers: ContactMultipliers,
}

/// Lagrange multipliers of the pairs of triangle contact, as warm start of a loaded stack; engines
/// build them.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct ContactMultipliers {
    /// Length of the solver iterations that produced them \[s\].
    pub step: f32,
    /// Multipliers of each pushing pair, in the order of `rank`.
    pub pairs: Vec<PairMultipliers>,
}

/// Multipliers of a pair of [`ContactMultipliers`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct PairMultipliers {
    /// Key of the pair: indices of both bodies (cloths in the order of adding, then colliders),
    /// kind and first simplex, second simplex.
    pub rank: [u32; 4],
    /// Multiplier of the normal push \[kg m\], at least 0.
    pub push: f32,
    /// Multiplier of friction \[kg m\].
    pub drag: [f32; 3],
}

impl ContactMultipliers {
    /// True if all values are in range and the pairs are sorted without duplicates.
    #[cfg(feature = "save")]
    pub(crate) fn is_sane(&self) -> bool {
        const MOST: f32 = 1e9;
        let is_sane = |pair: &PairMultipliers| {
            (0.0..=MOST).contains(&pair.push) && pair.drag.iter().all(|drag| drag.abs() <= MOST)
        };
        (self.step == 0.0 || (1e-9..=1.0).contains(&self.step))
            && self.pairs.iter().all(is_sane)
            // The kernel finds multipliers by binary search.
            && self.pairs.windows(2).all(|pair| pair[0].rank < pair[1].rank)
    }
}

/// Cloth of a [`Snapshot`]; engines build them.
#[derive(Debug, Clone)]
pub struct SnapshotCloth {
    /// Host side of the cloth.
    pub host: HostCloth,
    /// Position \[m\] and working inverse mass [1/kg] of every particle.
    pub current: Vec<Particle>,
    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle.
    pub previous: Vec<Particle>,
    /// Rows of [`HostCloth::remainder_rows`]; unused if the host has none stored.
    pub remainders: Vec<[f32; 4]>,
    /// Faults and counters as the kernel reported them.
    pub feedback: Feedback,
}

impl Snapshot {
    /// Creates a snapshot of cloths in the order of adding, the shared colliders and settings.
    pub fn new(
        cloths: Vec<SnapshotCloth>,
        colliders: ColliderSet,
        cloth_contact_solver: ClothContactSolver,
    ) -> Self {
        let multipliers = ContactMultipliers::default();
        Self { cloths, colliders, cloth_contact_solver, multipliers }
    }

    /// Adds the multipliers of triangle contact.
    #[must_use]
    pub fn with_multipliers(self, multipliers: ContactMultipliers) -> Self {
        Self { multipliers, ..self }
    }

    /// Multipliers of triangle contact; empty with particle contact.
    pub fn multipliers(&self) -> &ContactMultipliers {
        &self.multipliers
    }

    /// Cloths, in the order of adding.
    pub fn cloths(&self) -> &[SnapshotCloth] {
        &self.cloths
    }

    /// Colliders in world space, shared by all cloths.
    pub fn colliders(&self) -> &ColliderSet {
        &self.colliders
    }

    /// Settings of collision between cloths.
    pub fn cloth_contact_solver(&self) -> ClothContactSolver {
        self.cloth_contact_solver
    }
}
