//! Triangle contact: uploads of a frame, and the passes of its slices.

use super::{EngineOptions, GpuCloth, GpuEngine};
use crate::Error;
use crate::compilation::Made;
use crate::crossings::CrossingScene;
use crate::growable::GrowableBuffer;
use crate::triangles::{
    HELD, LISTS, MOVES, Passes, TriangleBuffers, TriangleGroups, TriangleKernels, TriangleSlice,
};
use bytemuck::cast_slice;
use poplin_host::{
    ClothId, ContactFrame, ContactMultipliers, HostCloth, SceneChange, State, TriangleScene,
    pack_triangle_bodies,
};
use poplin_layout::{
    ContactCloth, NO_OFFSET, TRIANGLE_FRAME_ENDS, TRIANGLE_FRAME_STARTS, TRIANGLE_SPINS,
    TRIANGLE_STARTS, TRIANGLE_SWEEPS, TriangleMultiplier, TriangleReport, TriangleRound,
    TriangleRow,
};
use poplin_model::{ClothContactSolver, ColliderSet};

/// Size of the contact report of a cloth \[bytes\].
pub(crate) const REPORT_BYTES: u64 = size_of::<TriangleReport>() as u64;
/// Size of a row of positions \[bytes\].
const ROW_BYTES: u64 = 16;
/// Default limit of rounds per slice.
const MAX_ROUNDS: u32 = 8;
/// Initial capacity for contact pairs, per particle.
const PAIRS_PER_PARTICLE: usize = 32;
/// Smallest capacity for contact pairs.
const MIN_PAIRS: usize = 1024;

/// Device state of triangle contact.
pub(super) struct Triangles {
    /// Kernels, compiled when a cloth first takes part.
    kernels: Made<Result<TriangleKernels, Error>>,
    scene: TriangleScene,
    /// Cloths of the last recorded frame that took time, with their local spaces after it. Empty
    /// without triangle contact in that frame, or if particles were set since.
    pub(super) recorded: Vec<(ClothId, ContactCloth)>,
    /// Changes of the begun frame that the buffers do not have yet.
    change: SceneChange,
    buffers: Option<TriangleBuffers>,
    /// Multipliers of a snapshot, to be uploaded with the first buffers.
    multipliers: ContactMultipliers,
    /// Length of the steps of the multipliers \[s\].
    step: f32,
    /// Reported number of pairs that exceeded the capacity, plus a reserve.
    known_pairs: usize,
    /// Contact report of each cloth, by slot.
    pub(super) reports: GrowableBuffer,
}

/// Buffers of a frame slot for triangle contact.
pub(super) struct TriangleSlot {
    uniforms: GrowableBuffer,
    /// Rows of colliders before the frame, then after it.
    rows: GrowableBuffer,
}

impl TriangleSlot {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        Self {
            uniforms: new("poplin.triangles.uniforms", wgpu::BufferUsages::UNIFORM),
            rows: new("poplin.triangles.colliders", wgpu::BufferUsages::COPY_SRC),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.uniforms.size() + self.rows.size()
    }
}

/// Parameters for recording the passes of a frame.
pub(super) struct TriangleFrame {
    groups: TriangleGroups,
    is_renamed: bool,
    slice_count: u32,
    max_rounds: u32,
    iterations: u32,
}

impl Triangles {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let storage = wgpu::BufferUsages::STORAGE;
        Self {
            kernels: Made::default(),
            scene: TriangleScene::default(),
            recorded: Vec::new(),
            change: SceneChange::None,
            buffers: None,
            multipliers: ContactMultipliers::default(),
            step: 0.0,
            known_pairs: 0,
            reports: GrowableBuffer::new(device, "poplin.triangles.reports", storage),
        }
    }

    /// Size on the device \[bytes\].
    pub(super) fn size(&self) -> u64 {
        self.buffers.as_ref().map_or(0, TriangleBuffers::size) + self.reports.size()
    }

    /// Requests the kernels for a cloth that takes part.
    pub(super) fn request(&mut self, device: &wgpu::Device, options: &EngineOptions) {
        let (compilation, device, options) = (options.compilation, device.clone(), options.clone());
        self.kernels.request(compilation, move || TriangleKernels::new(&device, &options));
    }

    /// Waits for requested kernels.
    pub(super) fn finish_compiling(&mut self) {
        self.kernels.wait();
    }

    /// True while the kernels are being compiled.
    pub(super) fn is_compiling(&self) -> bool {
        self.kernels.is_running()
    }

    /// True if a frame with contact need not wait for kernels.
    pub(super) fn is_ready(&mut self) -> bool {
        self.kernels.is_ready()
    }

    /// Forgets all bodies, so that replaced positions do not count as motion.
    pub(super) fn forget(&mut self) {
        self.scene.forget();
        self.recorded.clear();
        self.change = SceneChange::None;
        self.buffers = None;
        self.multipliers = ContactMultipliers::default();
        self.step = 0.0;
    }

    /// Forgets everything and sets the multipliers with which the bodies of the next frame start.
    pub(super) fn set_multipliers(&mut self, multipliers: &ContactMultipliers) {
        self.forget();
        self.step = multipliers.step;
        self.multipliers = multipliers.clone();
    }

    /// Multipliers on the device with their count, if there are any, those of a snapshot, and the
    /// length of their steps \[s\].
    pub(super) fn multipliers(&self) -> (Option<[&wgpu::Buffer; 2]>, &ContactMultipliers, f32) {
        let buffers = self.buffers.as_ref().map(|it| [&it.storage[LISTS], &it.storage[HELD]]);
        (buffers, &self.multipliers, self.step)
    }

    /// Updates the scene to the cloths and colliders of a frame, before they are packed.
    pub(super) fn begin_frame(
        &mut self,
        device: &wgpu::Device,
        cloths: &[Box<GpuCloth>],
        frame: &ContactFrame,
        world: &ColliderSet,
        options: &EngineOptions,
    ) -> Result<(), Error> {
        self.kernels.prepare(|| TriangleKernels::new(device, options))?;
        if self.change != SceneChange::None {
            // A frame was begun but never recorded, so the buffers missed its change.
            self.forget();
        }
        let hosts: Vec<&HostCloth> = frame.indices().map(|index| &cloths[index].host).collect();
        self.change = self.scene.begin_frame(&hosts, world);
        Ok(())
    }

    /// Capacity for contact pairs.
    fn capacity(&self) -> usize {
        let cloths = self.scene.bodies.iter().filter(|body| body.is_cloth());
        let particles: usize = cloths.map(|body| body.rows.len()).sum();
        (PAIRS_PER_PARTICLE * particles).max(MIN_PAIRS).max(self.known_pairs)
    }

    /// Creates new buffers if the present ones do not fit the scene. Returns true if multipliers
    /// must be mapped to new body indices.
    fn prepare(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<bool, Error> {
        let capacity = self.capacity();
        // Values and bodies are baked into the buffers, so any change of the scene replaces them.
        let fits = |buffers: &TriangleBuffers| buffers.parameters.capacity as usize == capacity;
        if self.change == SceneChange::None && self.buffers.as_ref().is_some_and(fits) {
            return Ok(false);
        }
        let Self { scene, change, buffers, multipliers, .. } = self;
        let (mut held, mut begins, mut is_renamed) = (Vec::new(), Vec::new(), false);
        // Warm start: multipliers of a snapshot, or those of bodies that remain.
        match (&*buffers, &*change) {
            (None, _) => held.extend(multipliers.pairs.iter().map(|pair| {
                let [x, y, z] = pair.drag;
                TriangleMultiplier { rank: pair.rank, drag: [x, y, z, pair.push] }
            })),
            (Some(_), SceneChange::Bodies(indices)) => {
                begins.extend(indices.iter().map(|index| index.unwrap_or(NO_OFFSET)));
                is_renamed = true;
            }
            _ => {}
        }
        let bodies: Vec<_> = scene.bodies.iter().collect();
        let rows = (0..)
            .zip(&bodies)
            .flat_map(|(index, body)| body.rows.clone().map(move |row| (index, row)));
        let row = |(body, row): (u32, usize)| {
            let [x, y, z] = scene.rest[row].to_array();
            let (radius, hard) = (scene.radius[row], scene.hard[row]);
            TriangleRow { rest: [x, y, z, 0.0], inverse_mass: 0.0, radius, hard, body }
        };
        let round = TriangleRound {
            rows: rows.map(row).collect(),
            held,
            begins,
            least_gap: f32::INFINITY,
            thickness: scene.least_thickness(),
            held_scale: 1.0,
            ..TriangleRound::default()
        };
        // All old multipliers must fit, as only the device knows their number.
        let old_count = buffers.as_ref().map_or(0, TriangleBuffers::held_capacity);
        let packed = pack_triangle_bodies(&bodies);
        let new = TriangleBuffers::new(device, &round, &packed, capacity, old_count)?;
        if let Some(old) = buffers {
            new.take_held(encoder, old);
        }
        *buffers = Some(new);
        *change = SceneChange::None;
        *multipliers = ContactMultipliers::default();
        Ok(is_renamed)
    }

    /// Uniforms of the slices of a frame, then one of its start.
    fn slices(&mut self, frame: &ContactFrame, step: f32) -> Vec<TriangleSlice> {
        // A constant force has multipliers proportional to the square of the step.
        let ratio = if self.step > 0.0 { step / self.step } else { 1.0 };
        self.step = step;
        let slice = |slice: u32| TriangleSlice {
            cloth_begin: frame.parameters[slice as usize].cloth_begin,
            fraction: frame.slice_fraction(slice),
            slice_part: frame.slice_part(slice),
            // Slices of a frame have equal steps; only the first follows another frame.
            held_scale: if slice == 0 { ratio * ratio } else { 1.0 },
            is_first: slice == 0,
        };
        let mut slices: Vec<_> = (0..frame.slice_count()).map(slice).collect();
        let cloth_begin = frame.start_begin() as u32;
        slices.extend(slices.first().map(|first| TriangleSlice { cloth_begin, ..*first }));
        slices
    }

    /// Rows of colliders before the frame, then after it, then their rotations; and the index of
    /// the first collider row.
    fn collider_rows(&self) -> (Vec<[f32; 4]>, usize) {
        let scene = &self.scene;
        // Rows of colliders follow those of all cloths.
        let begin = scene.bodies.iter().find(|body| !body.is_cloth());
        let begin = begin.map_or(scene.starts.len(), |body| body.rows.start);
        let parts = [&scene.starts, &scene.ends, &scene.spins];
        let rows = parts.into_iter().flat_map(|part| &part[begin..]);
        (rows.map(|at| at.extend(0.0).to_array()).collect(), begin)
    }

    /// Bodies whose crossings can be counted in the present particles, if the last frame had
    /// triangle contact.
    pub(super) fn crossing_scene(&self) -> Option<CrossingScene> {
        let Self { scene, recorded, .. } = self;
        (!recorded.is_empty()).then(|| CrossingScene {
            bodies: scene.bodies.clone(),
            rows: scene.ends.clone(),
            cloths: recorded.clone(),
        })
    }

    /// Raises the capacity if reports show that pairs did not fit.
    pub(super) fn note_reports(&mut self, state: &State) {
        let lacking = |&id: &_| state.contact_report(id).unlisted;
        let most = state.ids().iter().filter_map(lacking).map(|it| it.most_pairs as usize).max();
        if let Some(most) = most.filter(|&most| most > self.capacity()) {
            // A reserve of one half, so that a growing pile does not exceed it at once.
            self.known_pairs = most + most / 2;
        }
    }
}

impl GpuEngine {
    /// Prepares the next slot and the buffers for triangle contact in the begun frame.
    pub(super) fn begin_triangles(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        settings: &ClothContactSolver,
        step: f32,
    ) -> Result<TriangleFrame, Error> {
        let Self { triangles, contacts, cloths, device, queue, slots, next_slot, .. } = self;
        let is_renamed = triangles.prepare(device, encoder)?;
        let slices = triangles.slices(&contacts.frame, step);
        let (rows, begin) = triangles.collider_rows();
        let Some(buffers) = &triangles.buffers else { unreachable!("prepare creates the buffers") };
        let slot = &mut slots[*next_slot];
        let max_rounds = if settings.max_rounds == 0 { MAX_ROUNDS } else { settings.max_rounds };
        let uniforms = buffers.uniforms(max_rounds, &slices);
        slot.triangles.uniforms.upload(device, queue, &uniforms)?;
        slot.triangles.rows.upload(device, queue, cast_slice(&rows))?;
        self.uploaded_bytes += uniforms.len() as u64 + ROW_BYTES * rows.len() as u64;
        let members = contacts.frame.indices().map(|index| cloths.ids()[index]);
        triangles.recorded.extend(members.zip(contacts.frame.ends().iter().copied()));
        let third = ROW_BYTES * rows.len() as u64 / 3;
        let row_count = u64::from(buffers.parameters.row_count);
        // Positions go to the sections of slice starts, frame starts and frame ends.
        let sections = [
            (TRIANGLE_STARTS, 0),
            (TRIANGLE_FRAME_STARTS, 0),
            (TRIANGLE_FRAME_ENDS, third),
            (TRIANGLE_SPINS, 2 * third),
        ];
        for (section, source) in sections.into_iter().filter(|_| third > 0) {
            let target = ROW_BYTES * (u64::from(section) * row_count + begin as u64);
            let (from, to) = (slot.triangles.rows.buffer(), &buffers.storage[MOVES]);
            encoder.copy_buffer_to_buffer(from, source, to, target, third);
        }
        let Some(Ok(kernels)) = triangles.kernels.get() else {
            unreachable!("begin_frame creates the kernels")
        };
        let particles = [
            slot.contacts.cloths.buffer(),
            self.particles.buffer(0),
            self.particles.buffer(1),
            self.feedback.buffer(0),
            triangles.reports.buffer(),
        ];
        let uniforms = slot.triangles.uniforms.buffer();
        Ok(TriangleFrame {
            groups: kernels.bind(device, buffers, uniforms, Some(particles)),
            is_renamed,
            slice_count: contacts.frame.slice_count(),
            max_rounds,
            iterations: TRIANGLE_SWEEPS * settings.iterations,
        })
    }

    /// Records passes of the begun frame.
    fn record_triangles(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        frame: &TriangleFrame,
        add: impl FnOnce(&mut Passes, &TriangleBuffers),
    ) {
        let Triangles { kernels, buffers, .. } = &self.triangles;
        if let (Some(Ok(kernels)), Some(buffers)) = (kernels.get(), buffers) {
            let mut passes = Passes::default();
            add(&mut passes, buffers);
            let max_row = self.device.limits().max_compute_workgroups_per_dimension;
            kernels.record(pass, buffers, &frame.groups, &passes, max_row);
        }
    }

    /// Records the passes before the first slice, which must precede particle writes.
    pub(super) fn record_triangle_start(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        frame: &TriangleFrame,
    ) {
        self.record_triangles(pass, frame, |passes, buffers| {
            if frame.is_renamed {
                passes.rename();
            }
            passes.start(buffers.slice(frame.slice_count as usize));
        });
    }

    /// Records the contact after a slice.
    pub(super) fn record_triangle_slice(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        frame: &TriangleFrame,
        slice: usize,
    ) {
        self.record_triangles(pass, frame, |passes, buffers| {
            let slice = buffers.slice(slice);
            passes.target(slice);
            passes.begin(slice);
            // All rounds are recorded; the device skips those that are not needed.
            for _ in 0..frame.max_rounds {
                passes.round(buffers.level_count(), frame.iterations);
            }
            passes.finish(slice);
            passes.apply(slice);
            passes.report(slice);
        });
    }
}
