//! Adding of cloths: tier, lanes, bucket, ranges in the buffers.

use super::changes::Target;
use super::dispatches::restricted;
use super::triangles::REPORT_BYTES;
use super::{FEEDBACK_BYTES, GpuCloth, GpuEngine};
use crate::Error;
use crate::crossings::CrossingLog;
use bytemuck::{bytes_of, cast_slice};
use poplin_host::{
    ClothId, FrameBodies, HostCloth, SnapshotCloth, collides_by_triangles, takes_part,
};
use poplin_layout::{
    ClothParameters, ClothPlacement, FabricOffsets, Feedback, NO_OFFSET, Stage, StageMask,
    pack_fabric,
};
use poplin_model::{ClothDesc, Fabric, Particle};
use poplin_shaders::OverrideValues;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of one cloth in the shared buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) particles: Range<u32>,
    pub(super) inputs: Range<u32>,
    pub(super) scratch: Range<u32>,
    /// Constants of the cloth's frame.
    pub(super) frame: Range<u32>,
    pub(super) feedback: Range<u32>,
}

impl Parts {
    pub(super) fn placement(&self, fabric: FabricOffsets) -> ClothPlacement {
        ClothPlacement {
            cloth: self.feedback.start,
            particle_begin: self.particles.start,
            particle_count: self.particles.end - self.particles.start,
            scratch_begin: self.scratch.start,
            input_begin: NO_OFFSET,
            fabric,
        }
    }
}

impl GpuEngine {
    /// Adds a cloth after all others. Its particles are on the device once the next recorded frame,
    /// or [`GpuEngine::encode_changes`], was submitted; frames recorded before stay valid.
    ///
    /// # Errors
    /// [`Error`] if the cloth is not valid or too large for the device; nothing is added.
    pub fn add(&mut self, cloth: ClothDesc) -> Result<ClothId, Error> {
        let mut host = HostCloth::new(cloth)?;
        host.plan(&self.colliders, &self.contacts.settings, 0.0)?;
        self.add_as(SnapshotCloth {
            current: host.initial_current().to_vec(),
            previous: host.initial_previous(),
            remainders: Vec::new(),
            feedback: Feedback::default(),
            host,
        })
    }

    /// Adds a cloth with its particles and report.
    pub(super) fn add_as(&mut self, cloth: SnapshotCloth) -> Result<ClothId, Error> {
        let SnapshotCloth { mut host, current, previous, remainders, feedback } = cloth;
        let particle_count = host.desc().particle_count() as u32;
        self.check_tier(particle_count)?;
        let lanes = self.lane_choice.choose(&host)?;

        // All checks and allocations come first, so that a rejected cloth writes nothing.
        let parts = self.allocate(particle_count, host.scratch_len())?;
        let offsets = self
            .acquire_fabric(&host.desc().fabric)
            .inspect_err(|_| self.free_parts(parts.clone()))?;
        let placement = parts.placement(offsets);
        self.write_particles(&placement, &current, &previous);
        host.note_moved_remainders();
        if let Some(rows) = host.stored_remainder_rows() {
            let offset = 16 * u64::from(placement.scratch_begin + rows.start);
            self.changes.write(Target::Scratch, offset, cast_slice(&remainders));
        }
        self.write_feedback(&placement, &feedback);
        let bucket = self.override_values(&host, &offsets, lanes.count);
        Ok(self.insert(GpuCloth {
            host,
            placement,
            parameters: None,
            parts,
            impulse_rows: 0..0,
            impulse_bodies: FrameBodies::default(),
            lanes,
            bucket,
            rest_begin: None,
            takes_part: false,
            is_waiting: false,
            planned: None,
            crossings: CrossingLog::default(),
        }))
    }

    pub(super) fn insert(&mut self, cloth: GpuCloth) -> ClothId {
        let takes_part = takes_part(&cloth.host, self.contacts.settings.contact);
        self.write_report(cloth.placement.cloth);
        let id = self.cloths.insert(cloth);
        let index = self.cloths.len() - 1;
        self.enter_bucket(index);
        self.visits.add(index);
        if takes_part {
            self.request_contact();
        }
        id
    }

    /// Allocates the ranges of a new cloth, or none of them.
    pub(super) fn allocate(
        &mut self,
        particle_count: u32,
        scratch_len: u32,
    ) -> Result<Parts, Error> {
        let mut parts = Parts::default();
        let result = self.fill(&mut parts, particle_count, scratch_len);
        if result.is_err() {
            self.free_parts(std::mem::take(&mut parts));
        }
        result.map(|()| parts)
    }

    fn fill(&mut self, parts: &mut Parts, particles: u32, scratch: u32) -> Result<(), Error> {
        parts.particles = self.particles.allocate(&self.device, particles)?;
        parts.scratch = self.scratch.allocate(&self.device, scratch)?;
        parts.feedback = self.feedback.allocate(&self.device, 1)?;
        let bytes = u64::from(parts.feedback.end) * size_of::<ClothParameters>() as u64;
        // Parameters and reports are indexed by the feedback slot, so they grow with it.
        self.parameters.grow_keeping(&self.device, bytes)?;
        let bytes = u64::from(parts.feedback.end) * REPORT_BYTES;
        self.triangles.reports.grow_keeping(&self.device, bytes)
    }

    pub(super) fn free_parts(&mut self, parts: Parts) {
        self.particles.free(parts.particles);
        self.input_pool.free(parts.inputs);
        self.scratch.free(parts.scratch);
        self.frame_pool.free(parts.frame);
        self.feedback.free(parts.feedback);
    }

    /// Adds a user of a fabric, which is uploaded for its first user.
    pub(super) fn acquire_fabric(&mut self, fabric: &Arc<Fabric>) -> Result<FabricOffsets, Error> {
        let Self { fabrics, fabric_pool, changes, device, .. } = self;
        let pack = || {
            let mut packed = Vec::new();
            let offsets = pack_fabric(fabric, &mut packed);
            let range = fabric_pool.allocate(device, packed.len() as u32)?;
            changes.write(Target::Fabrics, 4 * u64::from(range.start), cast_slice(&packed));
            Ok((offsets.moved_by(range.start), range))
        };
        fabrics.acquire(fabric, pack).map(|(offsets, _)| *offsets)
    }

    /// Replaces the particles of a cloth before the next commands.
    pub(super) fn write_particles(
        &mut self,
        placement: &ClothPlacement,
        current: &[Particle],
        previous: &[Particle],
    ) {
        let offset = 16 * u64::from(placement.particle_begin);
        self.changes.write(Target::Current, offset, cast_slice(current));
        self.changes.write(Target::Previous, offset, cast_slice(previous));
    }

    /// Replaces the report of a cloth before the next commands.
    pub(super) fn write_feedback(&mut self, placement: &ClothPlacement, feedback: &Feedback) {
        let offset = FEEDBACK_BYTES * u64::from(placement.cloth);
        self.changes.write(Target::Feedback, offset, bytes_of(feedback));
    }

    /// Clears the contact report of a slot.
    pub(super) fn write_report(&mut self, slot: u32) {
        let zeros = [0; REPORT_BYTES as usize];
        self.changes.write(Target::Reports, REPORT_BYTES * u64::from(slot), &zeros);
    }

    /// Rejects a cloth that does not fit into a forced tier.
    fn check_tier(&self, particle_count: u32) -> Result<(), Error> {
        let Some(tier) = self.options.tier else { return Ok(()) };
        match self.tier_limits.particles_in(tier) {
            Some(capacity) if particle_count > capacity => Err(Error::TooLarge {
                buffer: "workgroup memory",
                bytes: u64::from(particle_count) * u64::from(tier.bytes_per_particle()),
                limit: u64::from(self.tier_limits.workgroup_bytes),
            }),
            _ => Ok(()),
        }
    }

    /// Pipeline overrides that a cloth needs.
    pub(super) fn override_values(
        &self,
        host: &HostCloth,
        fabric: &FabricOffsets,
        lane_count: u32,
    ) -> OverrideValues {
        let needed = host.stages();
        let needs = host.memory_needs(needed, fabric.fiber_row_count);
        let memory = self.tier_limits.plan(needs, self.options.tier);
        let stages = self.options.compiled(needed);
        let values = OverrideValues { lane_count, stages, memory };
        let settings = &self.contacts.settings;
        // Self collision of particles is replaced by triangle contact.
        if collides_by_triangles(settings) && takes_part(host, settings.contact) {
            return restricted(&values, StageMask::ALL.without(Stage::SelfCollide));
        }
        values
    }

    /// Inserts a cloth into its bucket, in the order of adding. Cloths are identified by index.
    fn enter_bucket(&mut self, cloth: usize) {
        let values = self.cloths.values()[cloth].bucket;
        self.pipelines.request(values);
        let bucket = self.buckets.entry(values).or_default();
        // Sorted by index, so that results do not depend on the order of changes.
        let position = bucket.cloths.partition_point(|&other| other < cloth);
        bucket.cloths.insert(position, cloth);
        bucket.is_stale = true;
    }

    /// Moves a cloth whose overrides may have changed to the bucket of `values`.
    pub(super) fn change_bucket(&mut self, cloth: usize, values: OverrideValues) {
        let old = std::mem::replace(&mut self.cloths.values_mut()[cloth].bucket, values);
        if old == values {
            return;
        }
        if let Some(bucket) = self.buckets.get_mut(&old) {
            bucket.is_stale = true;
            if let Ok(position) = bucket.cloths.binary_search(&cloth) {
                bucket.cloths.remove(position);
            }
        }
        self.drop_empty_buckets();
        self.enter_bucket(cloth);
    }

    /// Removes a cloth from its bucket and decrements the indices after it.
    pub(super) fn leave_bucket(&mut self, cloth: usize) {
        for bucket in self.buckets.values_mut() {
            bucket.cloths.retain(|&other| other != cloth);
            // Indices fall when an earlier cloth is removed.
            bucket.cloths.iter_mut().filter(|other| **other > cloth).for_each(|other| *other -= 1);
            bucket.is_stale = true;
        }
        self.drop_empty_buckets();
    }

    fn drop_empty_buckets(&mut self) {
        let Self { buckets, fabric_pool, .. } = self;
        buckets.retain(|_, bucket| {
            let is_used = !bucket.cloths.is_empty();
            if !is_used {
                // The dispatch list of the bucket.
                fabric_pool.free(std::mem::take(&mut bucket.list));
            }
            is_used
        });
    }
}
