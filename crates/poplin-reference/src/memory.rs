//! What one workgroup sees: the packed buffers and its own state. Twin of `shaders/state`.

use poplin_layout::{ClothFrame, Feedback, IterationConstants, PhaseConstants};

/// Buffers and state of the workgroup that simulates one cloth.
///
/// `current`, `previous` and `scratch` are the cloth's own parts, so `particle_begin` and `scratch_begin` are not added.
pub struct ClothMemory<'a> {
    /// The cloth of this workgroup.
    pub cloth: ClothFrame,
    /// Iteration and phase constants.
    pub frame_pool: &'a [[f32; 4]],
    /// Packed fabrics.
    pub fabric_pool: &'a [u32],
    /// Per-particle inputs.
    pub input_pool: &'a [[f32; 4]],
    /// Position and working inverse mass of each particle.
    pub current: &'a mut [[f32; 4]],
    /// Previous position and the user's inverse mass of each particle.
    pub previous: &'a mut [[f32; 4]],
    /// Working memory of stages.
    pub scratch: &'a mut [[f32; 4]],
    /// The running iteration.
    pub iteration: IterationConstants,
    /// The running phase.
    pub phase: PhaseConstants,
    /// Particles that would have left the number range.
    pub fault_count: u32,
    /// The lowest such particle.
    pub fault_particle: u32,
}

impl<'a> ClothMemory<'a> {
    /// A workgroup about to start.
    pub fn new(
        cloth: ClothFrame,
        pools: (&'a [[f32; 4]], &'a [u32], &'a [[f32; 4]]),
        state: (&'a mut [[f32; 4]], &'a mut [[f32; 4]], &'a mut [[f32; 4]]),
    ) -> Self {
        let (frame_pool, fabric_pool, input_pool) = pools;
        let (current, previous, scratch) = state;
        let Feedback { fault_count, fault_particle, .. } = Feedback::default();
        let (iteration, phase) = (bytemuck::Zeroable::zeroed(), bytemuck::Zeroable::zeroed());
        Self {
            cloth,
            frame_pool,
            fabric_pool,
            input_pool,
            current,
            previous,
            scratch,
            iteration,
            phase,
            fault_count,
            fault_particle,
        }
    }

    /// Entry of `fabric_pool`.
    #[inline]
    pub fn fabric(&self, index: u32) -> u32 {
        self.fabric_pool[index as usize]
    }

    /// Entry of `fabric_pool` as a float.
    #[inline]
    pub fn fabric_f32(&self, index: u32) -> f32 {
        f32::from_bits(self.fabric(index))
    }

    /// Current state of particle i.
    #[inline]
    pub fn load_current(&self, i: u32) -> [f32; 4] {
        self.current[i as usize]
    }

    /// Writes the current state of particle i.
    #[inline]
    pub fn store_current(&mut self, i: u32, particle: [f32; 4]) {
        self.current[i as usize] = particle;
    }

    /// Previous state of particle i.
    #[inline]
    pub fn load_previous(&self, i: u32) -> [f32; 4] {
        self.previous[i as usize]
    }

    /// Writes the previous state of particle i.
    #[inline]
    pub fn store_previous(&mut self, i: u32, particle: [f32; 4]) {
        self.previous[i as usize] = particle;
    }

    /// Constants of iteration k.
    pub fn load_iteration(&self, k: u32) -> IterationConstants {
        let begin = (self.cloth.iteration_begin + k * 3) as usize;
        let [velocity_scale, bias, previous_bias] = [0, 1, 2].map(|row| self.frame_pool[begin + row]);
        IterationConstants { velocity_scale, bias, previous_bias }
    }

    /// Constants whose first vec4 stands at `begin` in `frame_pool`.
    pub fn load_phase(&self, begin: u32) -> PhaseConstants {
        let rows = [self.frame_pool[begin as usize], self.frame_pool[begin as usize + 1]];
        bytemuck::cast(rows)
    }
}
