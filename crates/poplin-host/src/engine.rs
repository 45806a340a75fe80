//! What every engine can do.

use std::future::Future;

use poplin_model::{Cloth, ClothContactSolver, ColliderSet, Frame, ModelError, Particle};
use thiserror::Error;

use crate::{ClothId, LiveCloth, NoSuchCloth, ParticleMotion, Snapshot, State};

/// Cloths on one device, stepped together: implemented by the CPU backend and by the GPU backend with its own device.
///
/// Cloths come and go between frames. A cloth has the same bits alone, with others, and in the memory of cloths that were
/// there before it.
pub trait Engine {
    /// Why an operation was refused or failed.
    type Error: std::error::Error + From<ModelError> + From<NoSuchCloth> + Send + Sync + 'static;
    /// A state that is being read.
    type Reading: Reading<Error = Self::Error>;

    /// Adds a cloth after all others. Cloths that share a fabric share its packed form.
    ///
    /// # Errors
    /// If the cloth is not valid or there is no room for it; nothing is added.
    fn add(&mut self, cloth: Cloth) -> Result<ClothId, Self::Error>;

    /// Adds `count` copies of a cloth as it is now: particles, clock, counters, settings and inputs. Each goes on exactly as
    /// the cloth does. They share its fabric, which is stored once.
    ///
    /// # Errors
    /// [`NoSuchCloth`], or if there is no room; then nothing is added.
    fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Self::Error>;

    /// Removes a cloth. Its memory is reused, its fabric is freed with the last cloth of it, and its handle stays invalid.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn remove(&mut self, id: ClothId) -> Result<(), Self::Error>;

    /// Removes all cloths.
    fn clear(&mut self);

    /// Resets a cloth to the state in which it was added: particles, velocities, pose, clock and counters. Settings, phases,
    /// inputs and colliders stay as they were set last, and what moves from a start to a target goes on from where it is.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn reset(&mut self, id: ClothId) -> Result<(), Self::Error>;

    /// Sets all particles of a cloth: position \[m\] and working inverse mass [1/kg], shape `[particle_count]`, local axes.
    /// A frozen cloth goes on from there, a sleeping one wakes; clock, pose and counters stay. Particles that were added
    /// pinned must keep the inverse mass 0. It replaces earlier [`LiveCloth::write_particles`] of the coming frame.
    ///
    /// # Errors
    /// [`NoSuchCloth`], or [`ModelError`] if a length or value is out of range; then nothing changes.
    fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Self::Error>;

    /// Simulates one frame of every cloth; may return before it is done.
    ///
    /// # Errors
    /// If the frame is out of range for a cloth (then no cloth moves) or the device failed.
    fn step(&mut self, frame: &Frame) -> Result<(), Self::Error>;

    /// Waits until every frame is simulated.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn wait(&mut self) -> Result<(), Self::Error>;

    /// Asks for the state of some cloths as it is after all frames so far; does not wait for it.
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

    /// The cloths, in the order of adding.
    fn ids(&self) -> &[ClothId];

    /// Settings, inputs and pose of a cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn cloth(&self, id: ClothId) -> Result<&LiveCloth, NoSuchCloth>;

    /// Settings, inputs and pose of a cloth, to change them; changes act from the next frame on.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut LiveCloth, NoSuchCloth>;

    /// Colliders in world space, shared by all cloths.
    fn colliders(&self) -> &ColliderSet;

    /// The shared colliders, to add, move and remove some; changes act from the next frame on.
    fn colliders_mut(&mut self) -> &mut ColliderSet;

    /// How cloths collide with one another.
    fn cloth_contact_solver(&self) -> ClothContactSolver;

    /// Sets how cloths collide with one another, from the next frame on; cloths take part by their `cloth_collision.distance`.
    ///
    /// # Errors
    /// [`ModelError`] if a field is out of range; the old settings stay.
    fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver)
    -> Result<(), Self::Error>;

    /// Waits for and takes down all that the next frames depend on: cloths with their particles, clocks, counters, settings, inputs
    /// and colliders, the shared colliders, how cloths collide. Impulses on bodies, which are of the last frame, are not in it.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn save(&mut self) -> Result<Snapshot, Self::Error>;

    /// Replaces all cloths, the shared colliders and how cloths collide by those of a snapshot, whichever engine it is of. The next
    /// frames have the bits that they would have had there, where both round alike.
    ///
    /// Returns new handles of the cloths, in the order in which the other engine had them ([`Engine::ids`]); all old ones are stale.
    /// Handles of colliders and bodies mean what they meant when the snapshot was taken.
    ///
    /// # Errors
    /// If there is no room for the cloths beside those that they replace; nothing changes.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Self::Error>;

    /// Memory that the engine holds for its cloths \[bytes\], used or kept for later.
    fn memory_bytes(&self) -> u64;
}

/// A state that an engine was asked for.
pub trait Reading {
    /// Why it could not be read.
    type Error;

    /// The state if it has arrived, and only once; never blocks.
    ///
    /// # Errors
    /// If the device failed.
    fn poll(&mut self) -> Result<Option<State>, Self::Error>;

    /// Waits for the state without blocking a thread; call it instead of [`Reading::poll`], not after it. On native platforms
    /// the device answers when it is polled: at every step of its engine and in [`Engine::wait`].
    ///
    /// # Errors
    /// If the device failed.
    fn receive(self) -> impl Future<Output = Result<State, Self::Error>>;
}

/// A state that is ready at once.
#[derive(Debug)]
pub struct Ready(Option<State>);

impl Ready {
    /// A reading of this state.
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

/// Why an engine without a device refused something.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HostError {
    /// User data was refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The handle refers to no cloth.
    #[error(transparent)]
    NoSuchCloth(#[from] NoSuchCloth),
}
