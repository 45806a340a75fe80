//! State of one workgroup: the packed buffers and its own variables. Twin of `shaders/state`.

use std::cell::Cell;

use glam::Vec3;
use poplin_layout::{
    ClothParameters, Feedback, GRID_PARTS, IMPLICIT_ROWS, ITERATION_ROWS, ImplicitConstants,
    IterationConstants, MIN_GRID_CELLS, MultilevelConstants, NO_OFFSET, PHASE_ROWS, PhaseConstants,
    Stage,
};

use crate::math::xyz;
use crate::multilevel::{LevelsPlan, Touching};

/// Buffers that a workgroup only reads; see [`ClothMemory`].
#[expect(missing_docs, reason = "the fields are those of ClothMemory")]
#[derive(Debug)]
pub struct Pools<'a> {
    pub frame_pool: &'a [[u32; 4]],
    pub fabric_pool: &'a [u32],
    pub input_pool: &'a [[u32; 4]],
    pub levels: Option<&'a LevelsPlan>,
    pub touching: &'a Touching,
}

/// The cloth's part of the buffers that a workgroup writes; see [`ClothMemory`].
#[expect(missing_docs, reason = "the fields are those of ClothMemory")]
#[derive(Debug)]
pub struct State<'a> {
    pub current: &'a mut [[f32; 4]],
    pub previous: &'a mut [[f32; 4]],
    pub scratch: &'a mut [[u32; 4]],
    pub cells: &'a mut [u32],
}

/// Variables of the kernel while it repeats steps.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Zeroable)]
pub struct Registers {
    /// The running phase.
    pub phase: PhaseConstants,
    /// First fiber of the running set and one past its last.
    pub fibers: [u32; 2],
    /// First edge of these fibers and one past the last.
    pub edges: [u32; 2],
    /// Current step of cyclic reduction: 0 builds the rows, later ones reduce them.
    pub reduction_step: u32,
    /// First yarn of the running set and one past its last.
    pub yarns: [u32; 2],
    /// First bend of the running set and one past its last.
    pub bends: [u32; 2],
    /// First bundle of virtual particles of the running set and one past its last.
    pub bundles: [u32; 2],
    /// True while contacts with bodies are only counted.
    pub is_counting: bool,
    /// Number of times the current step of the implicit solve is halved.
    pub halvings: u32,
    /// Bits of the active stages: the override `STAGES` of the kernel.
    pub stages: u32,
}

/// Buffers and state of the workgroup that simulates one cloth.
///
/// `current`, `previous` and `scratch` are the cloth's own parts, so `particle_begin` and
/// `scratch_begin` are not added. They are cells, because several views of one cloth may write to
/// them, as lanes write to GPU buffers.
#[derive(Debug)]
pub struct ClothMemory<'a> {
    /// Parameters of the cloth.
    pub cloth: ClothParameters,
    /// Iteration and phase constants.
    pub frame_pool: &'a [[u32; 4]],
    /// Packed fabrics.
    pub fabric_pool: &'a [u32],
    /// Per-particle inputs.
    pub input_pool: &'a [[u32; 4]],
    /// Levels of the fabric, if it has any.
    pub levels: Option<&'a LevelsPlan>,
    /// Contacts of the last slice, for multilevel solves with contact of triangles; otherwise
    /// empty.
    pub touching: &'a Touching,
    /// Position and working inverse mass of each particle.
    pub current: &'a [Cell<[f32; 4]>],
    /// Previous position and the user's inverse mass of each particle.
    pub previous: &'a [Cell<[f32; 4]>],
    /// Working memory of stages.
    pub scratch: &'a [Cell<[u32; 4]>],
    /// Constants of the current iteration.
    pub iteration: IterationConstants,
    /// Start in `frame_pool` of the matrices of the current iteration in a rotating local space.
    pub rotation_columns: u32,
    /// Kernel variables: ranges of the current loops.
    pub registers: Registers,
    /// Number of particles that would have left the range of f32.
    pub fault_count: u32,
    /// Lowest index of such a particle.
    pub fault_particle: u32,
    /// Time since the last test for rest \[ms\].
    pub sleep_time: u32,
    /// Number of passed rest tests in a row.
    pub sleep_pass_count: u32,
    /// Work of the multilevel solver.
    pub solves: Solves,
    /// Number of particles that moved too far for rest.
    pub restless: u32,
    /// Buckets of the self-collision grid: counts, then slots; [`grid_len`] of them.
    pub cells: &'a [Cell<u32>],
    /// Sums over the parts of the grid.
    pub cell_sums: [u32; GRID_PARTS as usize],
}

/// Work of the multilevel solver since the frame began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Solves {
    /// Steps.
    pub steps: u32,
    /// Iterations of all steps.
    pub iterations: u32,
    /// Steps whose last Newton step left too many edges off.
    pub unconverged: u32,
    /// Steps that moved nothing, because no finite solution was found.
    pub held: u32,
}

/// Counters that the items of a loop share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    fault_count: u32,
    fault_particle: u32,
    restless: u32,
}

impl Counters {
    /// Merges two sets of counters; the order does not matter.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            fault_count: self.fault_count + other.fault_count,
            fault_particle: self.fault_particle.min(other.fault_particle),
            restless: self.restless + other.restless,
        }
    }
}

/// Number of buckets of the self-collision grid: four per particle, a power of two. It does not
/// change the result.
pub fn grid_len(member_count: u32) -> usize {
    (4 * member_count).next_power_of_two().max(MIN_GRID_CELLS) as usize
}

impl<'a> ClothMemory<'a> {
    /// Creates the state of a workgroup before its first iteration.
    pub fn new(cloth: ClothParameters, pools: Pools<'a>, state: State<'a>) -> Self {
        let Pools { frame_pool, fabric_pool, input_pool, levels, touching } = pools;
        let State { current, previous, scratch, cells } = state;
        let Feedback { fault_count, fault_particle, .. } = Feedback::default();
        let (iteration, registers) = (bytemuck::Zeroable::zeroed(), bytemuck::Zeroable::zeroed());
        Self {
            cloth,
            frame_pool,
            fabric_pool,
            input_pool,
            levels,
            touching,
            current: Cell::from_mut(current).as_slice_of_cells(),
            previous: Cell::from_mut(previous).as_slice_of_cells(),
            scratch: Cell::from_mut(scratch).as_slice_of_cells(),
            iteration,
            rotation_columns: 0,
            registers,
            fault_count,
            fault_particle,
            sleep_time: 0,
            sleep_pass_count: 0,
            solves: Solves::default(),
            restless: 0,
            cells: Cell::from_mut(cells).as_slice_of_cells(),
            cell_sums: [0; GRID_PARTS as usize],
        }
    }

    /// Returns another view of the same rows, with a copy of the registers and zero counters.
    #[must_use]
    pub fn view(&self) -> Self {
        let Feedback { fault_count, fault_particle, .. } = Feedback::default();
        Self { fault_count, fault_particle, restless: 0, ..*self }
    }

    /// Counters of this view.
    pub fn counters(&self) -> Counters {
        let Self { fault_count, fault_particle, restless, .. } = *self;
        Counters { fault_count, fault_particle, restless }
    }

    /// Adds the counters of other views.
    pub fn count(&mut self, others: Counters) {
        let all = self.counters().with(others);
        (self.fault_count, self.fault_particle) = (all.fault_count, all.fault_particle);
        self.restless = all.restless;
    }

    /// Bucket count minus one.
    #[inline]
    pub fn grid_mask(&self) -> u32 {
        self.cells.len() as u32 - 1
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

    /// Rest length of an edge \[m\].
    #[inline]
    pub fn rest_length_of(&self, edge: u32) -> f32 {
        self.fabric_f32(self.cloth.fabric.edge_begin + edge)
    }

    /// Current state of particle i.
    #[inline]
    pub fn load_current(&self, i: u32) -> [f32; 4] {
        self.current[i as usize].get()
    }

    /// Writes the current state of particle i.
    #[inline]
    pub fn store_current(&mut self, i: u32, particle: [f32; 4]) {
        self.current[i as usize].set(particle);
    }

    /// Previous state of particle i.
    #[inline]
    pub fn load_previous(&self, i: u32) -> [f32; 4] {
        self.previous[i as usize].get()
    }

    /// First row of scratch with the rests of positions: what these lack after rounding.
    #[inline]
    pub fn rest_begin(&self) -> u32 {
        self.cloth.remainder_begin.wrapping_add(self.cloth.particle_count)
    }

    /// True where the stages of the fabric find displacements in place of positions.
    #[inline]
    pub fn is_displaced(&self) -> bool {
        self.cloth.remainder_begin != NO_OFFSET && self.runs(Stage::Displacement)
    }

    /// Writes the previous state of particle i.
    #[inline]
    pub fn store_previous(&mut self, i: u32, particle: [f32; 4]) {
        self.previous[i as usize].set(particle);
    }

    /// Returns a row of `frame_pool` as floats.
    #[inline]
    fn frame_row(&self, row: usize) -> [f32; 4] {
        self.frame_pool[row].map(f32::from_bits)
    }

    /// Returns a row of `input_pool` as floats.
    #[inline]
    pub fn input_row(&self, row: u32) -> [f32; 4] {
        self.input_pool[row as usize].map(f32::from_bits)
    }

    /// Returns a row of the cloth's `scratch` as floats.
    #[inline]
    pub fn load_scratch(&self, row: u32) -> [f32; 4] {
        self.scratch[row as usize].get().map(f32::from_bits)
    }

    /// Writes floats to a row of the cloth's `scratch`.
    #[inline]
    pub fn store_scratch(&mut self, row: u32, value: [f32; 4]) {
        self.scratch[row as usize].set(value.map(f32::to_bits));
    }

    /// Loads the constants of iteration k.
    pub fn begin_iteration(&mut self, k: u32) {
        self.iteration = self.load_iteration(k);
        self.rotation_columns = self.cloth.rotation_begin.wrapping_add(if k == 0 { 0 } else { 6 });
    }

    /// Constants of iteration k.
    pub fn load_iteration(&self, k: u32) -> IterationConstants {
        let begin = (self.cloth.iteration_begin + k * ITERATION_ROWS) as usize;
        let [velocity_scale, bias, previous_bias, wind] =
            [0, 1, 2, 3].map(|row| self.frame_row(begin + row));
        IterationConstants { velocity_scale, bias, previous_bias, wind }
    }

    /// Column of a matrix in `frame_pool`.
    #[inline]
    pub fn frame_column(&self, row: u32) -> [f32; 3] {
        let [x, y, z, _] = self.frame_row(row as usize);
        [x, y, z]
    }

    /// Product of v with the matrix whose three columns begin at `begin` in `frame_pool`.
    #[inline]
    pub fn multiply_columns(&self, begin: u32, v: Vec3) -> Vec3 {
        let column = |k: usize| xyz(self.frame_row(begin as usize + k));
        column(0) * v.x + column(1) * v.y + column(2) * v.z
    }

    /// Returns row i of an array interpolated between a start and a target at a fraction of the
    /// frame; exactly the target at its end.
    #[inline]
    pub fn load_at(&self, start: u32, target: u32, i: u32, fraction: f32) -> [f32; 4] {
        let from_row = self.input_row(start + i);
        let to_row = self.input_row(target + i);
        if fraction == 1.0 {
            to_row
        } else {
            std::array::from_fn(|k| from_row[k] + (to_row[k] - from_row[k]) * fraction)
        }
    }

    /// Returns row i of an interpolated array in the current iteration.
    #[inline]
    pub fn load_interpolated(&self, start: u32, target: u32, i: u32) -> [f32; 4] {
        self.load_at(start, target, i, self.iteration.velocity_scale[3])
    }

    /// Returns the constants of the implicit solver at the current number of halvings.
    #[inline]
    pub fn load_implicit(&self) -> ImplicitConstants {
        let begin = self.cloth.phase_begin + IMPLICIT_ROWS * self.registers.halvings;
        let rows: [[u32; 4]; IMPLICIT_ROWS as usize] =
            std::array::from_fn(|k| self.frame_pool[begin as usize + k]);
        bytemuck::cast(rows)
    }

    /// Returns the constants of the multilevel solver.
    pub fn load_multilevel(&self) -> MultilevelConstants {
        let begin = self.cloth.phase_begin as usize;
        let rows: [[u32; 4]; 3] = std::array::from_fn(|k| self.frame_pool[begin + k]);
        bytemuck::cast(rows)
    }

    /// Constants whose first vec4 is at `begin` in `frame_pool`.
    pub fn load_phase(&self, begin: u32) -> PhaseConstants {
        let rows: [[u32; 4]; PHASE_ROWS as usize] =
            std::array::from_fn(|k| self.frame_pool[begin as usize + k]);
        bytemuck::cast(rows)
    }
}
