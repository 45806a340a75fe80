//! Memory of the passes. Twin of `shaders/contact/buffers.wgsl`.

use std::fmt;

use glam::{IVec3, Vec3};
use poplin_layout::{CONTACT_MAX_CELL, ContactCloth, ContactParameters, Feedback};

use crate::grid::bucket_of_cell;

/// Cloth as the passes see it: its particles and its report.
#[derive(Debug)]
pub struct ContactBody<'a> {
    /// Position \[m\] and working inverse mass [1/kg] of each particle.
    pub current: &'a mut [[f32; 4]],
    /// Position one iteration ago \[m\].
    pub previous: &'a mut [[f32; 4]],
    /// Its report.
    pub feedback: &'a mut Feedback,
}

/// Working memory of collision between cloths, kept from pass to pass so that nothing is
/// reallocated.
#[derive(Debug, Clone, Default)]
pub struct ContactMemory {
    /// Position in the world \[m\] and inverse mass [1/kg] of each row.
    pub positions: Vec<[f32; 4]>,
    /// Motion of the last iteration \[m\] and radius \[m\] of each row.
    pub motions: Vec<[f32; 4]>,
    /// Cloth of each row.
    pub slots: Vec<u32>,
    /// Start of the rows of each bucket, prefix sum, shape `[bucket_count + 1]`.
    pub begins: Vec<u32>,
    /// Rows sorted by bucket and then by index.
    pub sorted: Vec<u32>,
    /// Position and inverse mass of each row of `sorted`, so that neighbours are read
    /// consecutively.
    pub(super) sorted_positions: Vec<[f32; 4]>,
    /// Largest radius \[m\].
    pub widest: f32,
    /// Number of contacts of each row.
    pub counts: Vec<u32>,
    /// Lowest and highest corner of each cloth \[m\].
    pub bounds: Vec<[Vec3; 2]>,
    /// Cloths sorted by their lowest corners.
    pub(super) order: Vec<usize>,
    /// Flags of the cloths that meet another.
    pub is_met: Vec<bool>,
    /// Flags of the cloths that sleep or are frozen.
    pub is_held: Vec<bool>,
    /// Pushes of the rows in their local spaces \[m\].
    pub(super) pushes: Vec<Vec3>,
    /// Bucket of each row.
    pub(super) buckets: Vec<u32>,
}

/// Passes of collision between cloths, with their memory between passes, for some
/// [`Workers`](crate::Workers).
pub trait ContactPasses<W: ?Sized>: fmt::Debug + Default + Send + Sync {
    /// Runs one pass: finds particles of different cloths that touch and pushes them apart.
    /// `bodies` are the cloths of `cloths`, in their order. Returns false if no cloth meets
    /// another: then nothing moves, and another pass changes nothing.
    fn pass(
        &mut self,
        workers: &W,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &mut [ContactBody<'_>],
    ) -> bool;

    /// Allocated bytes.
    fn size(&self) -> usize;
}

impl<W: ?Sized> ContactPasses<W> for ContactMemory {
    fn pass(
        &mut self,
        _: &W,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &mut [ContactBody<'_>],
    ) -> bool {
        self.gather_particles(parameters, cloths, bodies);
        self.find_near_cloths(cloths);
        if !self.is_met.contains(&true) {
            // No row would be counted, so none would be pushed.
            self.sorted.clear();
            self.counts.clear();
            return false;
        }
        self.sort(parameters);
        self.count_all_contacts(parameters, cloths);
        self.push_particles(parameters, cloths, bodies);
        true
    }

    fn size(&self) -> usize {
        let rows = [&self.positions, &self.motions, &self.sorted_positions].map(Vec::capacity);
        let indices = [&self.slots, &self.begins, &self.sorted, &self.counts, &self.buckets];
        16 * rows.iter().sum::<usize>()
            + 4 * indices.map(Vec::capacity).iter().sum::<usize>()
            + size_of::<Vec3>() * (self.pushes.capacity() + 2 * self.bounds.capacity())
            + size_of::<usize>() * self.order.capacity()
            + self.is_met.capacity()
            + self.is_held.capacity()
    }
}

impl ContactMemory {
    /// Tests whether row i belongs to a cloth that meets another.
    pub(super) fn is_row_met(&self, i: usize) -> bool {
        self.is_met[self.slots[i] as usize]
    }
}

/// Tests whether two cloths collide: the group of each must be in the mask of the other.
pub fn wants(cloths: &[ContactCloth], a: u32, b: u32) -> bool {
    let (first, second) = (&cloths[a as usize], &cloths[b as usize]);
    first.group & second.mask != 0 && second.group & first.mask != 0 && a != b
}

/// Returns the grid cell of a point.
pub(super) fn cell_of(parameters: &ContactParameters, point: Vec3) -> IVec3 {
    let coordinate = |x: f32| {
        (x * parameters.cell_scale).floor().clamp(-CONTACT_MAX_CELL, CONTACT_MAX_CELL) as i32
    };
    IVec3::new(coordinate(point.x), coordinate(point.y), coordinate(point.z))
}

/// Returns the bucket of a cell.
pub(super) fn bucket_of(parameters: &ContactParameters, cell: IVec3) -> u32 {
    bucket_of_cell(cell.to_array(), parameters.bucket_count)
}

/// Returns the first bucket of line k of the nine lines of three cells along x that contain a cell
/// and its neighbours.
pub(super) fn line_of(parameters: &ContactParameters, cell: IVec3, k: i32) -> u32 {
    bucket_of(parameters, cell + IVec3::new(-1, k % 3 - 1, k / 3 - 1))
}
