//! The CPU backend: many cloths, one lane each, in parallel over cloths.

use std::sync::Arc;

use poplin_host::{ContactFrame, FramePart, HostCloth, takes_part};
use poplin_layout::{
    ClothPlacement, ContactCloth, FabricOffsets, Feedback, FrameArrays, StageMask, body_impulses,
    pack_fabric,
};
use poplin_model::{BodyImpulse, Cloth, ClothCollision, Fabric, Frame, ModelError};
use rayon::prelude::*;
use thiserror::Error;

use crate::contact::{ContactBody, ContactMemory};
use crate::kernel::simulate_cloth;
use crate::memory::{Pools, State};
use crate::{ClothMemory, Team};

struct PackedFabric {
    source: Arc<Fabric>,
    offsets: FabricOffsets,
    pool: Vec<u32>,
}

/// There is no cloth of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no cloth {cloth}; there are {count}")]
pub struct NoSuchCloth {
    /// The number.
    pub cloth: usize,
    /// How many there are.
    pub count: usize,
}

/// One cloth with the memory that its workgroup would have.
struct CpuCloth {
    host: HostCloth,
    fabric: Arc<PackedFabric>,
    placement: ClothPlacement,
    arrays: FrameArrays,
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
    scratch: Vec<[u32; 4]>,
    inputs: Vec<[u32; 4]>,
    feedback: Feedback,
}

impl CpuCloth {
    /// `may_rest`: leaves out a cloth that rests; else it sleeps in its kernel.
    fn begin_frame(&mut self, frame: &Frame, may_rest: bool) {
        self.arrays.clear();
        for (index, particle) in self.host.take_writes() {
            self.current[index as usize] = particle;
        }
        self.host.note_feedback(&self.feedback);
        if may_rest && self.host.is_resting() {
            self.host.skip_frame(frame);
            return;
        }
        let (input_len, scratch_len) =
            (self.host.input_len() as usize, self.host.scratch_len() as usize);
        self.inputs.resize(input_len.max(self.inputs.len()), [0; 4]);
        self.scratch.resize(scratch_len.max(self.scratch.len()), [0; 4]);
        let inputs = &mut self.inputs;
        self.host.take_inputs(|offset, values| {
            inputs[offset as usize..][..values.len()].copy_from_slice(values)
        });
        self.host.pack_frame(frame, &self.placement, &mut self.arrays);
    }

    fn run_part(&mut self, part: &FramePart, team: &mut Team<'_>) {
        let Some(cloth) = self.arrays.cloth_parameters.first() else { return };
        let cloth = part.restrict(cloth);
        let stages = StageMask(self.host.stages().0 & part.stages.0);
        let pools = Pools {
            frame_pool: &self.arrays.frame_pool,
            fabric_pool: &self.fabric.pool,
            input_pool: &self.inputs,
        };
        let state = State {
            current: &mut self.current,
            previous: &mut self.previous,
            scratch: &mut self.scratch,
        };
        let mut memory = ClothMemory::new(cloth, pools, state);
        simulate_cloth(&mut memory, &mut self.feedback, part.iterations.clone(), stages, team);
    }
}

/// The CPU backend. Cloths are numbered in the order in which they are added.
#[derive(Default)]
pub struct ReferenceEngine {
    cloths: Vec<CpuCloth>,
    fabrics: Vec<Arc<PackedFabric>>,
    cloth_collision: ClothCollision,
    contacts: ContactFrame,
    contact_memory: Box<ContactMemory>,
}

impl ReferenceEngine {
    /// An engine without cloths.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a cloth and gives its number. Cloths that share a fabric share its packed form.
    ///
    /// # Errors
    /// [`ModelError`] if the cloth is not valid; nothing is added.
    pub fn add(&mut self, cloth: Cloth) -> Result<usize, ModelError> {
        let host = HostCloth::new(cloth)?;
        let fabric = self.pack(&host.cloth().fabric);
        let placement = ClothPlacement {
            cloth: 0,
            particle_begin: 0,
            particle_count: host.cloth().particle_count() as u32,
            scratch_begin: 0,
            input_begin: 0,
            fabric: fabric.offsets,
        };
        self.cloths.push(CpuCloth {
            current: host.initial_current().to_vec(),
            previous: host.initial_previous(),
            scratch: Vec::new(),
            arrays: FrameArrays::default(),
            feedback: Feedback::default(),
            host,
            fabric,
            placement,
            inputs: Vec::new(),
        });
        Ok(self.cloths.len() - 1)
    }

    fn pack(&mut self, source: &Arc<Fabric>) -> Arc<PackedFabric> {
        if let Some(packed) = self.fabrics.iter().find(|packed| Arc::ptr_eq(&packed.source, source))
        {
            return packed.clone();
        }
        let mut pool = Vec::new();
        let offsets = pack_fabric(source, &mut pool);
        let packed = Arc::new(PackedFabric { source: source.clone(), offsets, pool });
        self.fabrics.push(packed.clone());
        packed
    }

    /// Number of cloths.
    pub fn cloth_count(&self) -> usize {
        self.cloths.len()
    }

    /// Simulates one frame of every cloth.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range for a cloth; then no cloth is stepped.
    pub fn step(&mut self, frame: &Frame) -> Result<(), ModelError> {
        self.cloths.iter().try_for_each(|cloth| cloth.host.validate_frame(frame))?;
        self.find_contacts(frame);
        if self.contacts.slice_count() > 0 {
            self.step_in_slices(frame);
            return Ok(());
        }
        self.cloths.par_iter_mut().for_each(|cloth| {
            cloth.begin_frame(frame, true);
            cloth.run_part(&FramePart::WHOLE, &mut Team::single());
        });
        Ok(())
    }

    /// How cloths collide with one another.
    pub fn cloth_collision(&self) -> ClothCollision {
        self.cloth_collision
    }

    /// Sets how cloths collide with one another, from the next frame on. Cloths take part by their
    /// `cloth_collision_distance`; a frame simulated in parts ([`ReferenceEngine::run_part`]) leaves it out.
    ///
    /// # Errors
    /// [`ModelError`] if a field is out of range; the old settings stay.
    pub fn set_cloth_collision(&mut self, settings: ClothCollision) -> Result<(), ModelError> {
        settings.validate()?;
        self.cloth_collision = settings;
        Ok(())
    }

    /// What the last pass of collision between cloths has left, for tests.
    pub fn contact_memory(&self) -> &ContactMemory {
        &self.contact_memory
    }

    /// Finds out which cloths may collide in the next frame, and when.
    fn find_contacts(&mut self, frame: &Frame) {
        self.contacts.clear();
        for (index, cloth) in
            self.cloths.iter().enumerate().filter(|(_, cloth)| takes_part(&cloth.host))
        {
            self.contacts.add(index, &cloth.host, frame, 0);
        }
        self.contacts.finish(&self.cloth_collision);
    }

    /// Simulates a frame in slices with a collision of cloths after each.
    fn step_in_slices(&mut self, frame: &Frame) {
        // Cloths that collide may wake one another: they sleep in their kernel.
        self.cloths
            .par_iter_mut()
            .for_each(|cloth| cloth.begin_frame(frame, !takes_part(&cloth.host)));
        let Self { cloths, contacts, contact_memory, cloth_collision, .. } = self;
        for (slice, parameters) in contacts.parameters.iter().enumerate() {
            let slice = slice as u32;
            cloths.par_iter_mut().for_each(|cloth| {
                let count = cloth.host.iteration_count(frame);
                let begin = if slice == 0 { 0 } else { contacts.slice_end(count, slice - 1) };
                let iterations = begin..contacts.slice_end(count, slice);
                if !iterations.is_empty() {
                    cloth.run_part(
                        &FramePart { iterations, ..FramePart::WHOLE },
                        &mut Team::single(),
                    );
                }
            });
            let begin = parameters.cloth_begin as usize;
            let rows: &[ContactCloth] =
                &contacts.cloths[begin..begin + parameters.cloth_count as usize];
            let mut members = contacts.indices().peekable();
            let mut bodies = Vec::with_capacity(rows.len());
            for (index, cloth) in cloths.iter_mut().enumerate() {
                if members.next_if_eq(&index).is_some() {
                    let (current, previous) =
                        (cloth.current.as_mut_slice(), cloth.previous.as_slice());
                    bodies.push(ContactBody { current, previous, feedback: &mut cloth.feedback });
                }
            }
            for _ in 0..cloth_collision.iterations {
                if !contact_memory.pass(parameters, rows, &mut bodies) {
                    break;
                }
            }
        }
    }

    /// Advances every cloth's clock and packs the frame's constants; [`ReferenceEngine::run_part`] then simulates it.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range for a cloth; then no cloth's time advances.
    pub fn begin_frame(&mut self, frame: &Frame) -> Result<(), ModelError> {
        self.cloths.iter().try_for_each(|cloth| cloth.host.validate_frame(frame))?;
        self.cloths.iter_mut().for_each(|cloth| cloth.begin_frame(frame, true));
        Ok(())
    }

    /// Simulates a part of the begun frame of one cloth with a given team.
    ///
    /// # Panics
    /// If there is no cloth of this number.
    pub fn run_part(&mut self, cloth: usize, part: &FramePart, team: &mut Team<'_>) {
        self.cloths[cloth].run_part(part, team);
    }

    /// The cloth's host side: settings, inputs, local frame.
    ///
    /// # Errors
    /// [`NoSuchCloth`] if there is no cloth of this number.
    pub fn cloth(&self, cloth: usize) -> Result<&HostCloth, NoSuchCloth> {
        let count = self.cloths.len();
        self.cloths.get(cloth).map(|cloth| &cloth.host).ok_or(NoSuchCloth { cloth, count })
    }

    /// The cloth's host side, to change settings and inputs; they act from the next frame on.
    ///
    /// # Errors
    /// [`NoSuchCloth`] if there is no cloth of this number.
    pub fn cloth_mut(&mut self, cloth: usize) -> Result<&mut HostCloth, NoSuchCloth> {
        let count = self.cloths.len();
        self.cloths.get_mut(cloth).map(|cloth| &mut cloth.host).ok_or(NoSuchCloth { cloth, count })
    }

    /// Position \[m\] and working inverse mass [1/kg] of every particle.
    pub fn current(&self, cloth: usize) -> &[[f32; 4]] {
        &self.cloths[cloth].current
    }

    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle.
    pub fn previous(&self, cloth: usize) -> &[[f32; 4]] {
        &self.cloths[cloth].previous
    }

    /// Replaces the whole state of a cloth, for tests that start from a given state.
    pub fn set_state(&mut self, cloth: usize, current: &[[f32; 4]], previous: &[[f32; 4]]) {
        self.cloths[cloth].current.copy_from_slice(current);
        self.cloths[cloth].previous.copy_from_slice(previous);
    }

    /// What the last frame did to the cloth's rigid bodies, in their order; empty if the cloth was not simulated.
    pub fn body_impulses(&self, cloth: usize) -> Vec<BodyImpulse> {
        let cloth = &self.cloths[cloth];
        let rows = cloth.host.body_rows();
        let is_there =
            !cloth.arrays.cloth_parameters.is_empty() && rows.end as usize <= cloth.scratch.len();
        let rows =
            if is_there { &cloth.scratch[rows.start as usize..rows.end as usize] } else { &[] };
        body_impulses(bytemuck::cast_slice(rows), &cloth.feedback)
    }

    /// Faults and counters.
    pub fn feedback(&self, cloth: usize) -> Feedback {
        self.cloths[cloth].feedback
    }
}
