//! Engine interface shared by all backends.

use std::any::Any;
use std::fmt;

use poplin_model::{ClothContactSolver, ClothDesc, ColliderSet, Particle};

use crate::{Cloth, ClothId, Error, ParticleMotion, Reading, Snapshot, State};

/// Cloths on one device, stepped together: implemented by the CPU backend and by the GPU backend
/// with its own device.
///
/// Cloths may be added and removed between frames. Results of a cloth are bit-identical whether it
/// is simulated by itself, with others, or in memory that earlier cloths used.
pub trait Engine: Any + fmt::Debug + Send + Sync {
    /// Adds a cloth after all others. Cloths that share a fabric share its packed form.
    ///
    /// # Errors
    /// If the cloth is not valid or there is no room for it; nothing is added.
    fn add(&mut self, cloth: ClothDesc) -> Result<ClothId, Error>;

    /// Adds `count` copies of a cloth in its present state: particles, clock, counters, settings
    /// and inputs. Each copy continues exactly like the cloth. All share its fabric, which is
    /// stored once.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or if there is no room; then nothing is added.
    fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Error>;

    /// Removes a cloth. Its memory is reused, its fabric is freed with the last cloth that uses it,
    /// and its handle stays invalid.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    fn remove(&mut self, id: ClothId) -> Result<(), Error>;

    /// Removes all cloths.
    fn clear(&mut self);

    /// Resets a cloth to the state in which it was added: particles, velocities, pose, clock and
    /// counters. Keeps settings, phases, inputs and colliders as they were set last; motion from a
    /// start to a target continues.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    fn reset(&mut self, id: ClothId) -> Result<(), Error>;

    /// Sets all particles of a cloth: position \[m\] and working inverse mass [1/kg], shape
    /// `[particle_count]`, local axes. A frozen cloth continues from there, a sleeping one wakes;
    /// clock, pose and counters stay. Particles that were added pinned must keep the inverse mass
    /// 0. Earlier [`Cloth::write_particles`] of the next frame are discarded.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or [`Error::Model`] if a length or value is out of range; then
    /// nothing changes.
    fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Error>;

    /// Simulates one frame of `dt` seconds of every cloth, `0..=10` (usually 1/60); 0 simulates
    /// nothing, and the length may vary. The GPU backend returns before the frame is done;
    /// [`Engine::wait`], [`Engine::read`] and [`Engine::state`] wait for it.
    ///
    /// # Errors
    /// If the frame is out of range for a cloth (then no cloth moves) or the device failed.
    fn step(&mut self, dt: f32) -> Result<(), Error>;

    /// Waits until every frame is simulated.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn wait(&mut self) -> Result<(), Error>;

    /// Requests the state of some cloths after all frames so far, without waiting:
    /// [`Reading::poll`] never blocks, [`Reading::receive`] is for `async` code.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or if the device failed.
    fn begin_read(&mut self, ids: &[ClothId]) -> Result<Reading, Error>;

    /// Waits for and reads the state of one cloth.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or if the device failed or does not answer.
    fn read(&mut self, id: ClothId) -> Result<State, Error>;

    /// Waits for and reads the state of all cloths.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn state(&mut self) -> Result<State, Error>;

    /// Handles of the cloths, in the order of adding.
    fn ids(&self) -> &[ClothId];

    /// Settings, inputs and pose of a cloth.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    fn cloth(&self, id: ClothId) -> Result<&Cloth, Error>;

    /// Settings, inputs and pose of a cloth, to change them; changes act from the next frame on.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut Cloth, Error>;

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
    /// [`Error::Model`] if a field is out of range; the old settings stay.
    fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver) -> Result<(), Error>;

    /// Waits for the device, then captures the full simulation state: cloths with their particles,
    /// clocks, counters, settings, inputs and colliders, the shared colliders, and the settings of
    /// collision between cloths. Impulses on bodies belong to the last frame and are not included.
    ///
    /// # Errors
    /// If the device failed or does not answer.
    fn save(&mut self) -> Result<Snapshot, Error>;

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
    fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Error>;

    /// Memory held for cloths \[bytes\], in use or kept for later.
    fn memory_bytes(&self) -> u64;
}
