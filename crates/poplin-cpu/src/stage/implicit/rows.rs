//! Rows of an implicit solve in `scratch` and its lists in `fabric_pool`.

use poplin_layout::{
    BEND_SPRINGS, PRECONDITIONER_FIBERS, SHAPE_WORDS, SOLVE_CHAIN_ROWS, SOLVE_CHECK, SOLVE_DONE,
    SOLVE_FACTOR_INTERVAL, SOLVE_PARTICLE_ARRAYS, SOLVE_PARTS, SOLVE_START, SOLVE_STATE_ROWS,
    SOLVE_SUMS, STRETCH_SPRINGS,
};

use crate::ClothMemory;
use crate::lanes::{Real, scatter};
use crate::particles::Block;

/// Row k of the state of the solve.
#[inline]
pub fn solve_state(memory: &ClothMemory<'_>, k: u32) -> u32 {
    memory.load_implicit().solve_begin + k
}

/// First of the two rows of the sums of a part.
#[inline]
pub(super) fn part_row(memory: &ClothMemory<'_>, part: u32) -> u32 {
    memory.load_implicit().solve_begin + SOLVE_STATE_ROWS + 2 * part
}

/// First of the two rows of a sum of parts.
#[inline]
pub(super) fn sum_row(memory: &ClothMemory<'_>, sum: u32) -> u32 {
    part_row(memory, SOLVE_PARTS + sum)
}

/// Row of particle i in an array of the solve.
#[inline]
pub fn solve_row(memory: &ClothMemory<'_>, array: u32, i: u32) -> u32 {
    part_row(memory, SOLVE_PARTS + SOLVE_SUMS) + array * memory.cloth.particle_count + i
}

/// Row of a corner of a triangle: the gradient of its energy there \[N\].
#[inline]
pub(super) fn corner_row(memory: &ClothMemory<'_>, corner: u32) -> u32 {
    solve_row(memory, SOLVE_PARTICLE_ARRAYS, corner)
}

/// Row of a bend end: the gradient of its energy there \[N\].
#[inline]
pub(super) fn bend_end_row(memory: &ClothMemory<'_>, end: u32) -> u32 {
    corner_row(memory, 3 * memory.cloth.fabric.triangle_count + end)
}

/// First row of link k of the chains.
#[inline]
pub(super) fn link_row(memory: &ClothMemory<'_>, k: u32) -> u32 {
    bend_end_row(memory, 4 * bend_count(memory)) + SOLVE_CHAIN_ROWS * k
}

/// Row of the chain solution of a particle: entry `family * particle_count + i`.
#[inline]
pub(super) fn chain_value_row(memory: &ClothMemory<'_>, entry: u32) -> u32 {
    link_row(memory, 2 * memory.cloth.particle_count) + entry
}

/// Start of the chains in `fabric_pool`: their number, first link of each and one past the last,
/// particles.
#[inline]
fn chain_list(memory: &ClothMemory<'_>) -> u32 {
    let count = memory.cloth.particle_count;
    rate_row(memory, count) + count + 1 + 4 * bend_count(memory)
}

/// Number of chains.
#[inline]
pub fn chain_end(memory: &ClothMemory<'_>) -> u32 {
    memory.fabric(chain_list(memory))
}

/// First link of a chain.
#[inline]
pub fn chain_begin(memory: &ClothMemory<'_>, chain: u32) -> u32 {
    memory.fabric(chain_list(memory) + 1 + chain)
}

/// Start of the particles of the links in `fabric_pool`.
#[inline]
pub(super) fn link_list(memory: &ClothMemory<'_>) -> u32 {
    chain_list(memory) + 2 + chain_end(memory)
}

/// Particle of link k.
#[inline]
pub fn link_particle(memory: &ClothMemory<'_>, k: u32) -> u32 {
    memory.fabric(link_list(memory) + k)
}

/// True if residuals are preconditioned by chains.
#[inline]
pub fn is_preconditioned(memory: &ClothMemory<'_>) -> bool {
    memory.load_implicit().preconditioner == PRECONDITIONER_FIBERS
}

/// Tests whether this evaluation factors the chains: the first, and each check after another
/// [`SOLVE_FACTOR_INTERVAL`] iterations.
#[inline]
pub fn is_factored(memory: &ClothMemory<'_>) -> bool {
    let mode = memory.load_scratch(solve_state(memory, 1))[2];
    let iterations = memory.load_scratch(solve_state(memory, 3))[0] as u32;
    mode == SOLVE_START || (mode == SOLVE_CHECK && iterations.is_multiple_of(SOLVE_FACTOR_INTERVAL))
}

/// Start of the rates of particle i in `fabric_pool`; the lists of bend ends follow those of the
/// last particle.
#[inline]
pub(super) fn rate_row(memory: &ClothMemory<'_>, i: u32) -> u32 {
    let fabric = &memory.cloth.fabric;
    fabric.element_begin + SHAPE_WORDS * fabric.triangle_count + 4 * i
}

/// Number of bends.
#[inline]
pub fn bend_count(memory: &ClothMemory<'_>) -> u32 {
    let fabric = &memory.cloth.fabric;
    memory.fabric(fabric.bend_set_begin + fabric.bend_set_count)
}

/// Largest number of evaluations of a whole step.
#[inline]
pub fn evaluation_count(memory: &ClothMemory<'_>) -> u32 {
    memory.load_implicit().evaluation_count
}

/// True if springs resist stretch and shear instead of triangles.
#[inline]
pub fn stretches_springs(memory: &ClothMemory<'_>) -> bool {
    memory.load_implicit().stretch_model == STRETCH_SPRINGS
}

/// True if springs resist bending instead of bends.
#[inline]
pub fn bends_springs(memory: &ClothMemory<'_>) -> bool {
    memory.load_implicit().bend_model == BEND_SPRINGS
}

/// True if this evaluation computes the forces of bends.
#[inline]
pub fn takes_bends(memory: &ClothMemory<'_>) -> bool {
    memory.load_scratch(solve_state(memory, 1))[3] > 0.0
}

/// True if the solve is done.
#[inline]
pub fn is_solved(memory: &ClothMemory<'_>) -> bool {
    memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_DONE
}

/// Loads particles of an array of the solve.
#[inline(always)]
pub(crate) fn load_rows<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    array: u32,
    block: Block<V>,
) -> [V; 4] {
    block.load_bits(simd, &memory.scratch[solve_row(memory, array, 0) as usize..])
}

/// Stores particles of an array of the solve.
#[inline(always)]
pub(crate) fn store_rows<V: Real>(
    memory: &mut ClothMemory<'_>,
    array: u32,
    block: Block<V>,
    columns: [V; 4],
) {
    block.store_bits(&memory.scratch[solve_row(memory, array, 0) as usize..], columns);
}

/// Stores the scratch rows of a block of items, `stride` rows apart; that of item 0 is `begin`.
#[inline(always)]
pub(crate) fn scatter_rows<V: Real>(
    memory: &mut ClothMemory<'_>,
    begin: u32,
    stride: u32,
    block: Block<V>,
    columns: [V; 4],
) {
    scatter(columns, |lane, row| {
        if lane < block.len() {
            memory.store_scratch(begin + stride * block.index(lane), row);
        }
    });
}
