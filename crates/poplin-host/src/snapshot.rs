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
        Self { cloths, colliders, cloth_contact_solver }
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
