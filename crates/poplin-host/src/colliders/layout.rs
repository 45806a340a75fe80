//! Layout of the colliders' inputs and scratch, and the upload of changed parts.

use bytemuck::cast_slice;
use poplin_layout::{
    BODY_ROWS, BOX_ROWS, CAPSULE_ROWS, CHUNK_ROWS, NEARBY_ROWS, SPHERE_ROWS, chunk_count,
};

use super::HostColliders;
use super::tree::Tree;
use crate::InterpolatedArray;
use crate::uploaded::Uploaded;

/// Rows that change rarely, floats as their bits.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<[u32; 4]>,
    pub(super) uploaded: Uploaded,
}

impl Rows {
    /// Replaces the rows, reusing their memory.
    pub(super) fn set(&mut self, rows: impl IntoIterator<Item = [u32; 4]>) {
        let before = self.rows.len();
        let (mut count, mut is_same) = (0, true);
        for row in rows {
            match self.rows.get_mut(count) {
                Some(own) => is_same &= std::mem::replace(own, row) == row,
                None => self.rows.push(row),
            }
            count += 1;
        }
        self.rows.truncate(count);
        if !is_same || count != before {
            self.uploaded.forget();
        }
    }

    /// Packs a refitted tree.
    pub(super) fn fit(&mut self, tree: &Tree) {
        tree.rows(&mut self.rows);
        self.uploaded.forget();
    }

    /// Uploads the rows to the address `begin` if they have changed or moved.
    fn take_changed(&mut self, begin: u32, mut upload: impl FnMut(u32, &[[u32; 4]])) {
        if !self.rows.is_empty() && self.uploaded.move_to(begin) {
            upload(begin, &self.rows);
        }
    }
}

/// Collider parts of the inputs of a cloth, in their order in memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Spheres,
    Planes,
    Boxes,
    Vertices,
    Capsules,
    Triangles,
    SphereTree,
    CapsuleTree,
    TriangleTree,
    Indices,
    Bodies,
    Twists,
}

pub(super) const PART_COUNT: usize = Part::Twists as usize + 1;

impl HostColliders {
    fn lens(&self) -> [u32; PART_COUNT] {
        // Start and target lie one after the other.
        let halves = |array: &InterpolatedArray| 2 * array.start().len();
        let lens = [
            halves(&self.spheres),
            halves(&self.planes),
            halves(&self.boxes),
            halves(&self.vertices),
            self.capsule_rows.rows.len(),
            self.triangle_rows.rows.len(),
            self.sphere_tree_rows.rows.len(),
            self.capsule_tree_rows.rows.len(),
            self.triangle_tree_rows.rows.len(),
            self.index_rows.rows.len(),
            self.body_rows.rows.len(),
            self.twist_rows.rows.len(),
        ];
        lens.map(|len| len as u32)
    }

    /// Lays out the parts and returns the length of the inputs \[vec4\].
    pub(crate) fn input_len(&mut self) -> u32 {
        let lens = self.lens();
        if lens.iter().zip(&self.capacities).any(|(len, capacity)| len > capacity) {
            // A part that has grown once grows again: doubling its room keeps old copies from
            // filling the pool.
            let room = |len: u32, capacity: u32| {
                if len <= capacity { capacity } else { len.max(2 * capacity) }
            };
            self.capacities = std::array::from_fn(|part| room(lens[part], self.capacities[part]));
        }
        self.capacities.iter().sum()
    }

    pub(super) fn begins(&self) -> [u32; PART_COUNT] {
        let mut sum = 0;
        // Exclusive prefix sum.
        self.capacities.map(|capacity| {
            sum += capacity;
            sum - capacity
        })
    }

    /// Uploads every changed or moved part with its address; the inputs of the colliders begin at
    /// the address `begin`.
    pub(crate) fn take_changed(&mut self, begin: u32, mut upload: impl FnMut(u32, &[[u32; 4]])) {
        let begins = self.begins().map(|part| begin.wrapping_add(part));
        let arrays = [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices];
        for (array, begin) in arrays.into_iter().zip(begins) {
            array.take_changed(begin, |address, rows| upload(address, cast_slice(rows)));
        }
        let others = [
            &mut self.capsule_rows,
            &mut self.triangle_rows,
            &mut self.sphere_tree_rows,
            &mut self.capsule_tree_rows,
            &mut self.triangle_tree_rows,
            &mut self.index_rows,
            &mut self.body_rows,
            &mut self.twist_rows,
        ];
        for (rows, begin) in others.into_iter().zip(&begins[Part::Capsules as usize..]) {
            rows.take_changed(*begin, &mut upload);
        }
    }

    /// Uploads the changes of [`HostColliders::move_spheres`], like
    /// [`HostColliders::take_changed`].
    pub(crate) fn take_moved_spheres(
        &mut self,
        begin: u32,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) {
        const { assert!(Part::Spheres as u32 == 0, "spheres are the first part") };
        self.spheres.take_changed(begin, |address, rows| upload(address, cast_slice(rows)));
        // Adding up the begin of the tree is left out while the tree is kept.
        if self.sphere_tree_rows.uploaded.is_nowhere() {
            let begin = begin + self.begins()[Part::SphereTree as usize];
            self.sphere_tree_rows.take_changed(begin, upload);
        }
    }

    /// Length of the scratch of the colliders \[vec4\].
    pub(crate) fn scratch_len(&self, particle_count: u32) -> u32 {
        self.prepared_len() + self.nearest_len(particle_count) + self.impulse_len(particle_count)
    }

    /// First row of what is known of each particle and the mesh, in scratch in which the colliders'
    /// part begins at `scratch_begin`.
    pub(crate) fn nearest_begin(&self, scratch_begin: u32) -> u32 {
        scratch_begin + self.prepared_len()
    }

    pub(super) fn prepared_len(&self) -> u32 {
        let (spheres, capsules) = (self.sphere_owners.len() as u32, self.capsules.len() as u32);
        let (planes, boxes) = (self.planes.start().len() as u32, self.box_owners.len() as u32);
        SPHERE_ROWS * spheres + CAPSULE_ROWS * capsules + planes + BOX_ROWS * boxes
    }

    pub(super) fn nearest_len(&self, particle_count: u32) -> u32 {
        if self.triangles.is_empty() { 0 } else { NEARBY_ROWS * particle_count }
    }

    fn impulse_len(&self, particle_count: u32) -> u32 {
        self.body_count() * (BODY_ROWS + CHUNK_ROWS * chunk_count(particle_count))
    }

    /// Begin of the impulse rows of bodies in the colliders' scratch \[vec4\].
    pub(crate) fn impulse_begin(&self, particle_count: u32) -> u32 {
        self.prepared_len() + self.nearest_len(particle_count)
    }
}
