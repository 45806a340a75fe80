//! Adding cloths: tier, lanes, bucket, room in the buffers.

use super::{ClothId, Engine, FEEDBACK_BYTES, GpuCloth};
use crate::GpuError;
use bytemuck::{bytes_of, cast_slice};
use poplin_host::{GridPlan, HostCloth, LoopTrips, choose_lane_count, takes_part};
use poplin_layout::{ClothPlacement, Feedback, MemoryTier, NO_OFFSET, Stage, pack_fabric};
use poplin_model::Cloth;
use poplin_shaders::OverrideValues;
use std::sync::Arc;

impl Engine {
    /// Adds a cloth. Writes go to the queue and take effect with the next submission; buffers that must grow are copied
    /// by a submission of its own.
    ///
    /// # Errors
    /// [`GpuError`] if the cloth is not valid or too large for the device; nothing is added.
    pub fn add(&mut self, cloth: Cloth) -> Result<ClothId, GpuError> {
        let mut host = HostCloth::new(cloth)?;
        host.input_len();
        let scratch_len = host.scratch_len();
        let particle_count = host.cloth().particle_count() as u32;
        let tier = self.choose_tier(particle_count)?;
        let lane_count = match self.options.lane_count {
            Some(count) => count.min(self.tier_limits.invocations),
            None => choose_lane_count(host.fiber_width(), particle_count, self.tier_limits),
        };
        let loop_trips = LoopTrips::new(&host.cloth().fabric, lane_count);
        let trips = loop_trips.of(&host.cloth().phase_configs, &host);
        if let Some(limit) = self.options.loop_limit.filter(|&limit| trips > limit) {
            return Err(GpuError::LoopTooLong { trips, limit });
        }

        // Everything that can be refused is refused before anything is written.
        let source = host.cloth().fabric.clone();
        let known = self
            .fabrics
            .iter()
            .find(|(fabric, _)| Arc::ptr_eq(fabric, &source))
            .map(|(_, offsets)| *offsets);
        let mut packed = Vec::new();
        let fabric = match known {
            Some(offsets) => offsets,
            None => pack_fabric(&source, &mut packed).moved_by((self.fabric_pool.len() / 4) as u32),
        };
        let particle_bytes = self.current.len() + 16 * u64::from(particle_count);
        let fabric_begin = self.fabric_pool.len();
        let cloth = self.cloths.len() as u32;
        let wanted = [
            (&self.current, particle_bytes),
            (&self.previous, particle_bytes),
            (&self.fabric_pool, fabric_begin + 4 * packed.len() as u64),
            (&self.scratch, self.scratch.len() + 16 * u64::from(scratch_len)),
            (&self.feedback, FEEDBACK_BYTES * (u64::from(cloth) + 1)),
        ];
        wanted.iter().try_for_each(|(buffer, len)| buffer.check(&self.device, *len))?;

        let placement = ClothPlacement {
            cloth,
            particle_begin: (self.current.len() / 16) as u32,
            particle_count,
            scratch_begin: (self.scratch.len() / 16) as u32,
            input_begin: NO_OFFSET,
            fabric,
        };
        if known.is_none() {
            self.fabrics.push((source, fabric));
        }
        let lens = wanted.map(|(_, len)| len);
        self.grow(lens);
        let particle_offset = 16 * u64::from(placement.particle_begin);
        self.queue.write_buffer(
            self.current.buffer(),
            particle_offset,
            cast_slice(host.initial_current()),
        );
        self.queue.write_buffer(
            self.previous.buffer(),
            particle_offset,
            cast_slice(&host.initial_previous()),
        );
        self.queue.write_buffer(self.fabric_pool.buffer(), fabric_begin, cast_slice(&packed));
        self.queue.write_buffer(
            self.feedback.buffer(),
            FEEDBACK_BYTES * u64::from(cloth),
            bytes_of(&Feedback::default()),
        );
        let bucket = self.override_values(&host, tier, lane_count);
        self.cloths.push(GpuCloth {
            host,
            placement,
            input_capacity: 0,
            scratch_capacity: scratch_len,
            impulse_rows: 0..0,
            tier,
            lane_count,
            loop_trips,
            trips,
            bucket,
        });
        self.enter_bucket(cloth as usize);
        if !self.options.lazy_pipelines && takes_part(&self.cloths[cloth as usize].host) {
            self.contacts.prepare(&self.device);
        }
        Ok(ClothId(cloth as usize))
    }

    fn choose_tier(&self, particle_count: u32) -> Result<MemoryTier, GpuError> {
        let Some(tier) = self.options.tier else {
            return Ok(self.tier_limits.choose_tier(particle_count));
        };
        match self.tier_limits.particles_in(tier) {
            Some(capacity) if particle_count > capacity => Err(GpuError::TooLarge {
                buffer: "workgroup memory",
                bytes: u64::from(particle_count) * u64::from(tier.bytes_per_particle()),
                limit: u64::from(self.tier_limits.workgroup_bytes),
            }),
            _ => Ok(tier),
        }
    }

    fn grow(&mut self, [current, previous, fabric, scratch, feedback]: [u64; 5]) {
        let (device, queue) = (&self.device, &self.queue);
        let replaced = [
            self.current.grow(device, queue, current),
            self.previous.grow(device, queue, previous),
            self.fabric_pool.grow(device, queue, fabric),
            self.scratch.grow(device, queue, scratch),
            self.feedback.grow(device, queue, feedback),
        ];
        if replaced.contains(&true) {
            self.slots.iter_mut().for_each(|slot| slot.bind_group = None);
        }
    }

    /// Overrides of the kernel that a cloth needs.
    pub(super) fn override_values(
        &self,
        host: &HostCloth,
        tier: MemoryTier,
        lane_count: u32,
    ) -> OverrideValues {
        // Few capacities, so that few pipelines are built; less workgroup memory lets more workgroups share a core.
        let limit = self.tier_limits.particles_in(tier).unwrap_or(1);
        let particle_count = host.cloth().particle_count() as u32;
        let capacity = if tier == MemoryTier::Streamed {
            1
        } else {
            particle_count.next_power_of_two().max(64).min(limit)
        };
        let stages = host.stages();
        let values = OverrideValues { lane_count, tier, capacity, stages, grid_cells: 1 };
        if !stages.contains(Stage::SelfCollide) {
            return values;
        }
        let GridPlan { tier, capacity, cells } =
            self.tier_limits.plan_grid(tier, particle_count, host.self_collision_count());
        OverrideValues { tier, capacity, grid_cells: cells, ..values }
    }

    /// Puts a cloth into its bucket, in the order of adding.
    fn enter_bucket(&mut self, cloth: usize) {
        let values = self.cloths[cloth].bucket;
        if !self.options.lazy_pipelines {
            self.pipelines.prepare(&self.device, values);
        }
        let bucket = self.buckets.entry(values).or_default();
        let place = bucket.partition_point(|&other| other < cloth);
        bucket.insert(place, cloth);
    }

    /// Moves a cloth whose overrides have changed from its bucket to another.
    pub(super) fn change_bucket(&mut self, cloth: usize, values: OverrideValues) {
        let old = std::mem::replace(&mut self.cloths[cloth].bucket, values);
        if let Some(bucket) = self.buckets.get_mut(&old) {
            bucket.retain(|&other| other != cloth);
            if bucket.is_empty() {
                self.buckets.remove(&old);
            }
        }
        self.enter_bucket(cloth);
    }
}
