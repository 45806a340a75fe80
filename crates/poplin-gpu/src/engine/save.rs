//! Saving and restoring of cloths with their state on the device.

use super::GpuEngine;
use crate::{Error, Readback};
use poplin_host::{ClothId, HostCloth, Snapshot, SnapshotCloth, State};
use poplin_model::{ClothContactSolver, ColliderSet};

/// Snapshot whose particles are in transfer from the device, see [`GpuEngine::encode_save`].
#[derive(Debug)]
pub struct PendingSnapshot {
    readback: Readback,
    hosts: Vec<HostCloth>,
    colliders: ColliderSet,
    cloth_contact_solver: ClothContactSolver,
}

impl PendingSnapshot {
    /// Returns the snapshot if the submitted copy has arrived and the device has been polled since,
    /// and only once; never blocks.
    ///
    /// # Errors
    /// [`Error::Readback`] if the device was lost.
    pub fn poll(&mut self) -> Result<Option<Snapshot>, Error> {
        Ok(self.readback.poll()?.map(|state| self.with(&state)))
    }

    /// Resolves to the snapshot once the submitted copy has arrived and the device has been polled;
    /// call it instead of [`PendingSnapshot::poll`], not after it.
    ///
    /// # Errors
    /// [`Error::Readback`] if the device was lost.
    pub async fn receive(mut self) -> Result<Snapshot, Error> {
        let state = self.readback.read().await?;
        Ok(self.with(&state))
    }

    /// Requests the mapping of the copy, which must have been submitted.
    pub(crate) fn request(&mut self) {
        self.readback.request();
    }

    fn with(&mut self, state: &State) -> Snapshot {
        let remainders = self.readback.take_remainders();
        let parts = state.ids().iter().zip(self.hosts.drain(..)).zip(remainders);
        let cloths = parts.map(|((&id, host), remainders)| SnapshotCloth {
            host,
            current: state.current(id).to_vec(),
            previous: state.previous(id).to_vec(),
            remainders,
            feedback: state.feedback(id),
        });
        Snapshot::new(cloths.collect(), self.colliders.clone(), self.cloth_contact_solver)
            .with_multipliers(self.readback.take_multipliers())
    }
}

impl GpuEngine {
    /// Captures the full simulation state after all frames recorded so far, like
    /// [`poplin_host::Engine::save`]: the host's part now, the device's part by a recorded copy. Do
    /// not call it between [`GpuEngine::begin_frame`] and [`GpuEngine::encode_part`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the device cannot create a buffer for the copy.
    pub fn encode_save(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<PendingSnapshot, Error> {
        let mut readback = Readback::new().with_multipliers(self);
        let ids = self.cloths.ids().to_vec();
        readback.encode(self, &ids, encoder)?;
        let cloths = self.cloths.values();
        Ok(PendingSnapshot {
            readback,
            hosts: cloths.iter().map(|cloth| cloth.copied_host(self.timed_frames)).collect(),
            colliders: self.colliders.clone(),
            cloth_contact_solver: self.cloth_contact_solver(),
        })
    }

    /// Replaces all cloths, the shared colliders and the settings of collision between cloths by
    /// those of a snapshot, from the next recorded frame on; see [`poplin_host::Engine::restore`].
    ///
    /// # Errors
    /// [`Error`] if there is no room for the new cloths beside the old ones; nothing changes.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Error> {
        // New cloths are added before the old ones are removed, so that a failure changes nothing.
        let old = self.cloths.ids().to_vec();
        let mut new = Vec::with_capacity(snapshot.cloths().len());
        for cloth in snapshot.cloths() {
            match self.add_as(cloth.clone()) {
                Ok(id) => new.push(id),
                Err(error) => {
                    new.into_iter().try_for_each(|id| self.remove(id))?;
                    return Err(error);
                }
            }
        }
        self.set_cloth_contact_solver(snapshot.cloth_contact_solver())?;
        old.into_iter().try_for_each(|id| self.remove(id))?;
        self.drop_begun_frame();
        self.colliders = snapshot.colliders().clone();
        // Forgets the bodies of the old cloths as well.
        self.triangles.set_multipliers(snapshot.multipliers());
        Ok(new)
    }
}
