//! Inputs and constants of self collision.

use poplin_layout::{
    ClothPlacement, FrameSteps, NO_OFFSET, SelfCollisionParameters, effective_stiffness,
    stiffness_to_log2,
};
use poplin_model::ClothDesc;

use crate::uploaded::Uploaded;

/// Scratch rows per participating particle \[vec4\]: the particle, its index, its contacts.
const ROWS: u32 = 3;

/// Ratio of cell width to distance, above 1 so that rounding cannot put two touching particles more
/// than one cell apart.
const CELL_MARGIN: f32 = 1.01;

/// Number of indices in one vec4.
const PER_ROW: usize = 4;

/// Self collision of one cloth in simulation.
#[derive(Debug, Clone)]
pub(crate) struct HostSelfCollision {
    distance: f32,
    /// Distance from other cloths \[m\].
    cloth_distance: f32,
    /// Length of its part of the inputs \[vec4\]; never shrinks, so that parts keep their offsets.
    input_len: u32,
    uploaded: Uploaded,
}

impl HostSelfCollision {
    pub(crate) fn new(cloth: &ClothDesc) -> Self {
        let [distance, cloth_distance] = cloth.contact_distances();
        Self { distance, cloth_distance, input_len: 0, uploaded: Uploaded::default() }
    }

    /// Updates to changed settings, rest positions or participating particles.
    pub(crate) fn update(&mut self, cloth: &ClothDesc) {
        [self.distance, self.cloth_distance] = cloth.contact_distances();
        self.uploaded.forget();
    }

    /// Distance kept from other cloths \[m\]; 0 if there is none.
    pub(crate) fn cloth_distance(&self) -> f32 {
        self.cloth_distance
    }

    pub(crate) fn is_on(&self) -> bool {
        self.distance > 0.0
    }

    /// Length of its part of the inputs \[vec4\]: rest positions, then indices of the participating
    /// particles.
    pub(crate) fn input_len(&mut self, cloth: &ClothDesc) -> u32 {
        let wanted = cloth.particle_count() + cloth.self_collision_indices.len().div_ceil(PER_ROW);
        if self.is_on() {
            // Switched off or smaller, the part keeps its room.
            self.input_len = self.input_len.max(wanted as u32);
        }
        self.input_len
    }

    pub(crate) fn scratch_len(&self, cloth: &ClothDesc) -> u32 {
        if self.is_on() { ROWS * member_count(cloth) } else { 0 }
    }

    /// Loop trips of one particle in one iteration: its own sums, and two passes over nine rows of
    /// cells with about six particles each.
    pub(crate) fn trips_per_particle(&self) -> u64 {
        if self.is_on() { 8 + 2 * 9 * 6 } else { 0 }
    }

    /// Uploads the part's rows to the address `begin` if they have changed or moved.
    pub(crate) fn take_changed(
        &mut self,
        cloth: &ClothDesc,
        begin: u32,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) {
        if !self.is_on() || !self.uploaded.move_to(begin) {
            return;
        }
        let at_rest = |i: usize| {
            cloth.rest_positions.get(i).copied().unwrap_or_else(|| cloth.particles[i].position)
        };
        let mut rows: Vec<_> = (0..cloth.particle_count())
            .map(at_rest)
            .map(|[x, y, z]| [x, y, z, 0.0].map(f32::to_bits))
            .collect();
        let row = |chunk: &[u32]| std::array::from_fn(|k| chunk.get(k).copied().unwrap_or(0));
        rows.extend(cloth.self_collision_indices.chunks(PER_ROW).map(row));
        upload(begin, &rows);
    }

    /// Constants of a frame; the part begins at `input_begin` in `input_pool` and at
    /// `scratch_begin` in the cloth's scratch.
    pub(crate) fn frame(
        &self,
        cloth: &ClothDesc,
        steps: Option<&FrameSteps>,
        placement: &ClothPlacement,
        input_begin: u32,
        scratch_begin: u32,
    ) -> SelfCollisionParameters {
        let config = &cloth.config;
        let exponent = config.stiffness_frequency * steps.map_or(0.0, |steps| steps.step);
        let effective =
            |stiffness: f32| effective_stiffness(stiffness_to_log2(stiffness), exponent);
        let has_list = !cloth.self_collision_indices.is_empty();
        SelfCollisionParameters {
            distance: self.distance,
            stiffness: effective(config.self_collision.stiffness),
            friction: effective(config.self_collision.friction),
            // Half the distance, so that two particles cannot pass through each other in one step.
            max_move: if config.self_collision.limit_velocity { 0.5 * self.distance } else { 0.0 },
            // Cells are wider than the distance, so contacts lie in adjacent cells.
            inverse_cell: if self.is_on() { 1.0 / (CELL_MARGIN * self.distance) } else { 0.0 },
            member_count: member_count(cloth),
            member_begin: if has_list {
                input_begin.wrapping_add(placement.particle_count)
            } else {
                NO_OFFSET
            },
            rest_begin: input_begin,
            grid_begin: scratch_begin,
        }
    }
}

/// Number of participating particles.
pub(crate) fn member_count(cloth: &ClothDesc) -> u32 {
    let indices = &cloth.self_collision_indices;
    (if indices.is_empty() { cloth.particle_count() } else { indices.len() }) as u32
}
