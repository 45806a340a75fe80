//! Fast path of packing: cloths with only moved colliders and particle writes, packed on one or
//! several threads.

use super::rows::{RowTarget, Rows};
use super::{GpuCloth, GpuEngine};
use crate::Error;
use bytemuck::cast_slice;
use poplin_host::MovedSpheres;
use poplin_layout::{ClothParameters, ColliderParameters, SleepParameters};
use poplin_model::{ClothContactSolver, ColliderSet};
use std::mem::offset_of;

/// Number of rows of a cloth's parameters.
pub(super) const PARAMETER_ROWS: u32 = size_of::<ClothParameters>() as u32 / 16;
/// Bit of the parameter row with the wake count.
const WAKE_ROW: u32 =
    row_bit(offset_of!(ClothParameters, sleep) + offset_of!(SleepParameters, wake_count));
/// Bit of the parameter row with the begins of spheres.
const SPHERE_ROW: u32 = {
    let colliders = offset_of!(ClothParameters, colliders);
    let start = row_bit(colliders + offset_of!(ColliderParameters, sphere_start));
    assert!(start == row_bit(colliders + offset_of!(ColliderParameters, sphere_target)));
    start
};

/// Prefetch distance \[cloths\].
const BLOCK: usize = 32;
/// Smallest number of cloths per thread: starting a thread costs as much as packing some tens of
/// cloths.
const MIN_CLOTHS: usize = 512;

/// Bit of the parameter row that contains this byte offset.
const fn row_bit(offset: usize) -> u32 {
    const { assert!(PARAMETER_ROWS <= u32::BITS) };
    1 << (offset / 16)
}

/// Packing state of one thread.
#[derive(Default)]
pub(super) struct Packer {
    rows: Rows,
    moved_spheres: MovedSpheres,
    /// Cloths that the next frame must visit as well.
    unsettled: Vec<usize>,
    /// Cloths with further changes, which need the full packing path; they are not packed here.
    slow: Vec<usize>,
}

/// Creates one packer per thread.
pub(super) fn packers(threads: usize) -> Vec<Packer> {
    (0..threads.max(1)).map(|_| Packer::default()).collect()
}

/// Inputs shared by all packers of a frame.
#[derive(Clone, Copy)]
struct Scene<'a> {
    colliders: &'a ColliderSet,
    contact: &'a ClothContactSolver,
    dt: f32,
}

/// Consecutive cloths, and the visited ones among them.
struct Part<'a> {
    cloths: &'a mut [Box<GpuCloth>],
    /// Index of the first of these cloths.
    first: usize,
    visited: &'a [usize],
}

impl<'a> Part<'a> {
    /// Splits off a part with the first `count` visited cloths; the rest must contain visited
    /// cloths.
    fn split(self, count: usize) -> (Self, Self) {
        let (visited, others) = self.visited.split_at(count);
        let (cloths, other_cloths) = self.cloths.split_at_mut(others[0] - self.first);
        let low = Part { cloths, first: self.first, visited };
        (low, Part { cloths: other_cloths, first: others[0], visited: others })
    }
}

impl GpuEngine {
    /// Packs the visited cloths with only new writes and moved colliders; the others are added to
    /// `slow`.
    pub(super) fn pack_quick(
        &mut self,
        visited: &[usize],
        dt: f32,
        slow: &mut Vec<usize>,
    ) -> Result<(), Error> {
        // Few cloths are packed by the caller's thread only.
        let count = (visited.len() / MIN_CLOTHS).clamp(1, self.packers.len());
        let packers = &mut self.packers[..count];
        let contact = &self.contacts.settings;
        // The first packer appends to the engine's own rows.
        std::mem::swap(&mut packers[0].rows, &mut self.rows);
        let part = Part { cloths: self.cloths.values_mut(), first: 0, visited };
        let result = pack_parts(packers, part, Scene { colliders: &self.colliders, contact, dt });
        std::mem::swap(&mut packers[0].rows, &mut self.rows);
        for packer in packers {
            // In the order of packers, hence of cloths: the result does not depend on scheduling.
            self.rows.append(&mut packer.rows);
            packer.unsettled.drain(..).for_each(|index| self.visits.add(index));
            slow.append(&mut packer.slow);
        }
        result
    }
}

/// Packs a part with one thread per packer, including the caller's.
fn pack_parts(packers: &mut [Packer], part: Part<'_>, scene: Scene<'_>) -> Result<(), Error> {
    let (own, others) = packers.split_first_mut().expect("there is a packer for the caller");
    if others.is_empty() {
        return own.pack(part, scene);
    }
    let count = part.visited.len() / (others.len() + 1);
    // An equal share for this packer; the rest is divided among the others.
    let (part, rest) = part.split(count);
    let mut result = Ok(());
    let own = rayon::in_place_scope(|scope| {
        // The rest starts first, so that the threads work while the caller packs its part.
        scope.spawn(|_| result = pack_parts(others, rest, scene));
        own.pack(part, scene)
    });
    own.and(result)
}

impl Packer {
    fn pack(&mut self, part: Part<'_>, scene: Scene<'_>) -> Result<(), Error> {
        let Part { cloths, first, visited } = part;
        for block in visited.chunks(BLOCK) {
            fetch(cloths, first, block);
            for &index in block {
                let cloth = &mut cloths[index - first];
                if !self.pack_cloth(cloth, scene)? {
                    self.slow.push(index);
                } else if !cloth.host.is_settled() {
                    self.unsettled.push(index);
                }
            }
        }
        Ok(())
    }

    /// Packs the writes and moved colliders of a quick cloth. Returns false, without packing
    /// anything, for any other cloth.
    fn pack_cloth(&mut self, cloth: &mut GpuCloth, scene: Scene<'_>) -> Result<bool, Error> {
        if !cloth.is_quick() {
            return Ok(false);
        }
        let GpuCloth { placement, parameters: Some(parameters), host, .. } = cloth else {
            return Ok(false);
        };
        let Self { rows, moved_spheres, .. } = self;
        let inputs = placement.input_begin;
        let mut upload = |address, values: &[[u32; 4]]| {
            rows.extend(RowTarget::Inputs, address, values);
        };
        let mut changed = 0;
        if let Some(spheres) = host.move_spheres(inputs, moved_spheres, &mut upload) {
            let colliders = &mut parameters.colliders;
            // Start and target swap halves every frame; nothing else of the parameters has changed.
            [colliders.sphere_start, colliders.sphere_target] = spheres;
            changed |= SPHERE_ROW;
        } else if host.has_moving_colliders() {
            let mut moved = *parameters;
            let Scene { colliders, contact, dt } = scene;
            if !host.move_colliders(colliders, contact, dt, placement, &mut moved, upload)? {
                return Ok(false);
            }
            changed |= changed_rows(parameters, &moved);
            *parameters = moved;
        }
        if let Some(wake_count) = host.take_wake() {
            parameters.sleep.wake_count = wake_count;
            changed |= WAKE_ROW;
        }
        push_rows(rows, placement.cloth, parameters, changed);
        let particles = placement.particle_begin;
        host.take_writes(|particle, value| {
            rows.push(RowTarget::Particles, particles + particle, bytemuck::cast(value));
        });
        Ok(true)
    }
}

/// Prefetches the lists that packing moved colliders reads. Packing would wait for memory at each
/// of them; here the waits of many cloths overlap.
fn fetch(cloths: &[Box<GpuCloth>], first: usize, block: &[usize]) {
    let moving =
        || block.iter().map(|k| &cloths[k - first]).filter(|it| it.host.has_moving_colliders());
    // Two passes: the first loads the lists' addresses, the second their contents.
    let start = |it: &GpuCloth| it.parameters.as_ref().map_or(0, |it| it.colliders.sphere_start);
    let heads = moving().fold(0, |sum, it| sum ^ it.host.fetch() ^ start(it));
    std::hint::black_box(moving().fold(heads, |sum, it| sum ^ it.host.fetch_lists()));
}

/// Parameters of a cloth as rows.
fn rows_of(parameters: &ClothParameters) -> &[[u32; 4]] {
    cast_slice(std::slice::from_ref(parameters))
}

/// Bit mask of the parameter rows that differ.
pub(super) fn changed_rows(old: &ClothParameters, new: &ClothParameters) -> u32 {
    let pairs = rows_of(old).iter().zip(rows_of(new));
    (0..).zip(pairs).fold(0, |bits, (row, (old, new))| bits | u32::from(old != new) << row)
}

/// Pushes the parameter rows of `slot` selected by a bit mask.
pub(super) fn push_rows(rows: &mut Rows, slot: u32, parameters: &ClothParameters, mut bits: u32) {
    while bits != 0 {
        let row = bits.trailing_zeros();
        let value = rows_of(parameters)[row as usize];
        rows.push(RowTarget::Parameters, PARAMETER_ROWS * slot + row, value);
        // Clears the lowest set bit.
        bits &= bits - 1;
    }
}
