//! Twin of `shaders/stage/self_collide.wgsl`: the same sums in the same order. The shader's cursor
//! is a closure here, and cells are rounded down without a library call.

use std::cell::Cell;

use glam::{IVec3, Vec3};
use poplin_layout::{
    GRID_PARTS, MIN_DISTANCE, NO_OFFSET, RELAXATION, REST_FRACTION_SQUARE, SELF_MAX_CELL,
};

use crate::ClothMemory;
use crate::grid::{bucket_of_cell, hash_of_cell};
use crate::math::{dot3, particle as pack, xyz};

/// Row of the sorted particles in scratch: position and inverse mass.
fn particle_row(memory: &ClothMemory<'_>, slot: u32) -> u32 {
    memory.cloth.self_collision.grid_begin + slot
}

/// Row of the indices of the sorted particles.
fn index_row(memory: &ClothMemory<'_>, slot: u32) -> u32 {
    let own = &memory.cloth.self_collision;
    own.grid_begin + own.member_count + slot
}

/// Row of the unsorted indices, later of the contacts: sum of their directions, count.
fn contact_row(memory: &ClothMemory<'_>, slot: u32) -> u32 {
    let own = &memory.cloth.self_collision;
    own.grid_begin + 2 * own.member_count + slot
}

/// Particle index in a row.
#[inline]
fn load_particle_index(memory: &ClothMemory<'_>, row: u32) -> u32 {
    memory.scratch[row as usize].get()[0]
}

/// Writes a particle index to a row.
#[inline]
fn store_particle_index(memory: &mut ClothMemory<'_>, row: u32, i: u32) {
    let cell = &memory.scratch[row as usize];
    let [_, y, z, w] = cell.get();
    cell.set([i, y, z, w]);
}

/// Returns the particle of member k; all particles are members without a list.
#[inline]
pub fn load_member(memory: &ClothMemory<'_>, k: u32) -> u32 {
    let begin = memory.cloth.self_collision.member_begin;
    if begin == NO_OFFSET {
        return k;
    }
    memory.input_pool[(begin + k / 4) as usize][(k % 4) as usize]
}

/// Bucket of the cell that holds a position.
#[inline]
fn bucket_of(memory: &ClothMemory<'_>, position: Vec3) -> u32 {
    let scaled = (position * memory.cloth.self_collision.inverse_cell)
        .clamp(Vec3::splat(-SELF_MAX_CELL), Vec3::splat(SELF_MAX_CELL));
    // Rounds down: `floor` is a library call on older x86.
    let whole = scaled.as_ivec3();
    let cell = whole - IVec3::select(scaled.cmplt(whole.as_vec3()), IVec3::ONE, IVec3::ZERO);
    bucket_of_cell(cell.to_array(), memory.grid_mask() + 1)
}

/// Empties bucket `cell`.
pub fn clear_cell(memory: &mut ClothMemory<'_>, cell: u32) {
    memory.cells[cell as usize].set(0);
}

/// Counts member k in its bucket.
pub fn count_member(memory: &mut ClothMemory<'_>, k: u32) {
    let bucket = bucket_of(memory, xyz(memory.load_current(load_member(memory, k))));
    memory.cells[bucket as usize].update(|count| count + 1);
}

/// Sums the counts of one part of the grid.
pub fn sum_cells(memory: &mut ClothMemory<'_>, part: u32) {
    let width = memory.cells.len() / GRID_PARTS as usize;
    memory.cell_sums[part as usize] =
        memory.cells[part as usize * width..][..width].iter().map(Cell::get).sum();
}

/// Converts the counts of one part to the first slots of its buckets: exclusive prefix sum.
pub fn scan_cells(memory: &mut ClothMemory<'_>, part: u32) {
    let width = memory.cells.len() / GRID_PARTS as usize;
    let mut begin = memory.cell_sums[..part as usize].iter().sum();
    for cell in &memory.cells[part as usize * width..][..width] {
        // Each cell receives the sum before it.
        begin += cell.replace(begin);
    }
}

/// Scatters member k into its bucket, in any order; afterwards a bucket's cell holds its end.
pub fn scatter_member(memory: &mut ClothMemory<'_>, k: u32) {
    let i = load_member(memory, k);
    let cell = &memory.cells[bucket_of(memory, xyz(memory.load_current(i))) as usize];
    let row = contact_row(memory, cell.replace(cell.get() + 1));
    store_particle_index(memory, row, i);
}

/// Slot of the first particle of a bucket.
#[inline]
fn bucket_begin(memory: &ClothMemory<'_>, bucket: u32) -> u32 {
    if bucket == 0 { 0 } else { memory.cells[bucket as usize - 1].get() }
}

/// Sorts the particle at a slot within its bucket by index and stores its position.
pub fn sort_member(memory: &mut ClothMemory<'_>, slot: u32) {
    let index_at = |slot| load_particle_index(memory, contact_row(memory, slot));
    let i = index_at(slot);
    let particle = memory.load_current(i);
    let bucket = bucket_of(memory, xyz(particle));
    let begin = bucket_begin(memory, bucket);
    let mut sorted = begin;
    for other in begin..memory.cells[bucket as usize].get() {
        // Rank sort: number of smaller indices in the bucket.
        sorted += u32::from(index_at(other) < i);
    }
    let (particle_row, index_row) = (particle_row(memory, sorted), index_row(memory, sorted));
    memory.store_scratch(particle_row, particle);
    store_particle_index(memory, index_row, i);
}

/// Returns the squared distance at which particles i and j are kept apart: the distance, or a
/// fraction of their rest distance if that is less.
#[inline]
pub fn kept_square(memory: &ClothMemory<'_>, i: u32, j: u32) -> f32 {
    let rest = |i: u32| xyz(memory.input_row(memory.cloth.self_collision.rest_begin + i));
    let between = rest(i) - rest(j);
    let distance = memory.cloth.self_collision.distance;
    (distance * distance).min(REST_FRACTION_SQUARE * dot3(between, between))
}

/// Hash offsets from a bucket to the first of three in each of the nine rows of cells around it.
const ROW_STEPS: [u32; 9] = {
    let mut steps = [0; 9];
    let mut row = 0;
    while row < 9 {
        steps[row] = hash_of_cell([-1, row as i32 % 3 - 1, row as i32 / 3 - 1]);
        row += 1;
    }
    steps
};

/// Calls `touch` with every slot whose particle is within the distance of a position, with its row,
/// each once, in an order that does not depend on the bucket count: rows of cells along x, then
/// cells, then indices.
#[inline]
fn visit_near(memory: &ClothMemory<'_>, position: Vec3, mut touch: impl FnMut(u32, [f32; 4], f32)) {
    let own = &memory.cloth.self_collision;
    let rows = &memory.scratch[own.grid_begin as usize..][..own.member_count as usize];
    let mask = memory.grid_mask();
    let center = bucket_of(memory, position);
    for step in ROW_STEPS {
        let first = center.wrapping_add(step) & mask;
        let last = first + 2;
        // A row may run past the last bucket and wrap to the first.
        // Second part: after the wrap.
        for part in 0..=u32::from(last > mask) {
            let begin = if part == 0 { bucket_begin(memory, first) } else { 0 };
            let last = if part == 0 { last.min(mask) } else { last & mask };
            let end = memory.cells[last as usize].get();
            for (slot, row) in (begin..end).zip(&rows[begin as usize..end as usize]) {
                let row = row.get().map(f32::from_bits);
                let between = position - xyz(row);
                let square = dot3(between, between);
                if square < own.distance * own.distance {
                    touch(slot, row, square);
                }
            }
        }
    }
}

/// Returns the direction from particle j at b to particle i at a; coincident particles separate
/// along y.
#[inline]
fn normal_of(a: [f32; 4], b: [f32; 4], length: f32, i: u32, j: u32) -> Vec3 {
    let aside = if i < j { Vec3::Y } else { Vec3::NEG_Y };
    if length > MIN_DISTANCE { (xyz(a) - xyz(b)) / length } else { aside }
}

/// Sums the directions of the contacts of the particle at a slot, and counts them.
pub fn count_contacts(memory: &mut ClothMemory<'_>, slot: u32) {
    let a = memory.load_scratch(particle_row(memory, slot));
    let i = load_particle_index(memory, index_row(memory, slot));
    let (mut sum, mut count) = (Vec3::ZERO, 0.0);
    visit_near(memory, xyz(a), |other, b, square| {
        if other != slot {
            let j = load_particle_index(memory, index_row(memory, other));
            if square < kept_square(memory, i, j) && a[3] + b[3] > 0.0 {
                sum += normal_of(a, b, square.sqrt(), i, j);
                count += 1.0;
            }
        }
    });
    let row = contact_row(memory, slot);
    memory.store_scratch(row, pack(sum, count));
}

/// Returns the number of contacts that push along a direction: half of all plus half of the
/// projection of their sum, at least 1.
#[inline]
fn contacts_along(direction: Vec3, contacts: [f32; 4]) -> f32 {
    (0.5 * contacts[3] + 0.5 * dot3(direction, xyz(contacts))).max(1.0)
}

/// Pushes the particle at a slot away from those that it touches, with friction; pushes are
/// averaged over contacts in their direction.
pub fn push_apart(memory: &mut ClothMemory<'_>, slot: u32) {
    let contacts = |slot| memory.load_scratch(contact_row(memory, slot));
    let a = memory.load_scratch(particle_row(memory, slot));
    let own_contacts = contacts(slot);
    if own_contacts[3] == 0.0 || a[3] == 0.0 {
        return;
    }
    let i = load_particle_index(memory, index_row(memory, slot));
    let own = memory.cloth.self_collision;
    let move_i = xyz(a) - xyz(memory.load_previous(i));
    let mut push = Vec3::ZERO;
    visit_near(memory, xyz(a), |other, b, square| {
        if other != slot {
            let j = load_particle_index(memory, index_row(memory, other));
            let kept = kept_square(memory, i, j);
            if square < kept {
                let length = square.sqrt();
                let normal = normal_of(a, b, length, i, j);
                let others = contacts(other);
                // Share by inverse mass.
                let weight = a[3] / (a[3] + b[3]);
                let count =
                    contacts_along(normal, own_contacts).max(contacts_along(-normal, others));
                let push_fraction = own.stiffness * weight * (RELAXATION / count).min(1.0);
                let friction_fraction = own.friction * weight / own_contacts[3].max(others[3]);
                let move_j = xyz(b) - xyz(memory.load_previous(j));
                let slip = move_i - move_j;
                let sideways = slip - normal * dot3(normal, slip);
                push += normal * ((kept.sqrt() - length) * push_fraction);
                // Friction removes a part of the relative tangential motion.
                push -= sideways * friction_fraction;
            }
        }
    });
    memory.store_current(i, pack(xyz(a) + push, a[3]));
}
