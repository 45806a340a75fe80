//! Engine interface shared by all backends.

use std::future::Future;

use poplin_model::{ClothContactSolver, ClothDesc, ColliderSet, ModelError, Particle};
use thiserror::Error;

use crate::{Cloth, ClothId, NoSuchCloth, ParticleMotion, Snapshot, State};

/// Cloths on one device, stepped together: implemented by the CPU backend and by the GPU backend
/// with its own device.
///
/// Cloths may be added and removed between frames. Results of a cloth are bit-identical whether it
/// is simulated by itself, with others, or in memory that earlier cloths used.
pub trait Engine {
    /// Error of a rejected or failed operation.
    type Error: std::error::Error + From<ModelError> + From<NoSuchCloth> + Send + Sync + 'static;
    /// Pending read of a state.
    type Reading: Reading<Error = Self::Error>;

    /// Adds a cloth after all others. Cloths that share a fabric share its packed form.
    ///
    /// # Errors
    /// If the cloth is not valid or there is no room for it; nothing is added.
    fn add(&mut self, cloth: ClothDesc) -> Result<ClothId, Self::Error>;

    /// Adds `count` copies of a cloth in its present state: particles, clock, counters, settings
    /// and inputs. Each copy continues exactly like the cloth. All share its fabric, which is
    /// stored once.
    ///
    /// # Errors
    /// [`NoSuchCloth`], or if there is no room; then nothing is added.
    fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Self::Error>;

    /// Removes a cloth. Its memory is reused, its fabric is freed with the last cloth that uses it,
    /// and its handle stays invalid.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn remove(&mut self, id: ClothId) -> Result<(), Self::Error>;

    /// Removes all cloths.
    fn clear(&mut self);

    /// Resets a cloth to the state in which it was added: particles, velocities, pose, clock and
    /// counters. Keeps settings, phases, inputs and colliders as they were set last; motion from a
    /// start to a target continues.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn reset(&mut self, id: ClothId) -> Result<(), Self::Error>;

    /// Sets all particles of a cloth: position \[m\] and working inverse mass [1/kg], shape
    /// `[particle_count]`, local axes. A frozen cloth continues from there, a sleeping one wakes;
    /// clock, pose and counters stay. Particles that were added pinned must keep the inverse mass
    /// 0. Earlier [`Cloth::write_particles`] of the next frame are discarded.
    ///
    /// # Errors
    /// [`NoSuchCloth`], or [`ModelError`] if a length or value is out of range; then nothing
    /// changes.
    fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Self::Error>;

    /// Simulates one frame of `dt` seconds of every cloth, `0..=10` (usually 1/60); 0 simulates
    /// nothing, and the length may vary. The GPU backend returns before the frame is done;
    /// [`Engine::wait`], [`Engine::read`] and [`Engine::state`] wait for it.
    ///
    /// # Errors
    /// If the frame is out of range for a cloth (then no cloth moves) or the device failed.
    fn step(&mut self, dt: f32) -> Result<(), Self::Error>;

    /// Waits until every frame is simulated.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn wait(&mut self) -> Result<(), Self::Error>;

    /// Requests the state of some cloths after all frames so far, without waiting for it.
    ///
    /// # Errors
    /// [`NoSuchCloth`], or if the device failed.
    fn begin_read(&mut self, ids: &[ClothId]) -> Result<Self::Reading, Self::Error>;

    /// Waits for and reads the state of one cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`], or if the device failed or does not answer.
    fn read(&mut self, id: ClothId) -> Result<State, Self::Error>;

    /// Waits for and reads the state of all cloths.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn state(&mut self) -> Result<State, Self::Error>;

    /// Handles of the cloths, in the order of adding.
    fn ids(&self) -> &[ClothId];

    /// Settings, inputs and pose of a cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn cloth(&self, id: ClothId) -> Result<&Cloth, NoSuchCloth>;

    /// Settings, inputs and pose of a cloth, to change them; changes act from the next frame on.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut Cloth, NoSuchCloth>;

    /// Colliders in world space, shared by all cloths.
    fn colliders(&self) -> &ColliderSet;

    /// Colliders in world space, to add, move and remove colliders; changes act from the next frame
    /// on.
    fn colliders_mut(&mut self) -> &mut ColliderSet;

    /// Settings of collision between cloths.
    fn cloth_contact_solver(&self) -> ClothContactSolver;

    /// Sets collision between cloths from the next frame on; a cloth takes part if its
    /// `cloth_collision.distance` is above 0.
    ///
    /// # Errors
    /// [`ModelError`] if a field is out of range; the old settings stay.
    fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver)
    -> Result<(), Self::Error>;

    /// Waits for the device, then captures the full simulation state: cloths with their particles,
    /// clocks, counters, settings, inputs and colliders, the shared colliders, and the settings of
    /// collision between cloths. Impulses on bodies belong to the last frame and are not included.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn save(&mut self) -> Result<Snapshot, Self::Error>;

    /// Replaces all cloths, the shared colliders and the settings of collision between cloths by
    /// those of a snapshot of any engine. The next frames are bit-identical to those of that
    /// engine, provided both round alike.
    ///
    /// Returns the new handles of the cloths, in the order of the original engine
    /// ([`Engine::ids`]); all old handles are stale. Handles of colliders and bodies stay those of
    /// the time of the snapshot.
    ///
    /// # Errors
    /// If there is no room for the new cloths beside the old ones; nothing changes.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Self::Error>;

    /// Memory held for cloths \[bytes\], in use or kept for later.
    fn memory_bytes(&self) -> u64;
}

/// Pending read of an engine's state.
pub trait Reading {
    /// Error of a failed read.
    type Error;

    /// Returns the state once it has arrived, and only once; never blocks.
    ///
    /// # Errors
    /// If the device failed.
    fn poll(&mut self) -> Result<Option<State>, Self::Error>;

    /// Waits for the state without blocking a thread; call it instead of [`Reading::poll`], not
    /// after it. On native platforms the device makes progress only when it is polled: at every
    /// step of its engine and in [`Engine::wait`].
    ///
    /// # Errors
    /// If the device failed.
    fn receive(self) -> impl Future<Output = Result<State, Self::Error>>;
}

/// Read of a state that is available at once.
#[derive(Debug)]
pub struct Ready(Option<State>);

impl Ready {
    /// Wraps a state.
    pub fn new(state: State) -> Self {
        Self(Some(state))
    }
}

impl Reading for Ready {
    type Error = HostError;

    fn poll(&mut self) -> Result<Option<State>, HostError> {
        Ok(self.0.take())
    }

    async fn receive(self) -> Result<State, HostError> {
        Ok(self.0.unwrap_or_default())
    }
}

/// Error of a CPU engine.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HostError {
    /// Rejected user data.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Handle without a cloth.
    #[error(transparent)]
    NoSuchCloth(#[from] NoSuchCloth),
}
