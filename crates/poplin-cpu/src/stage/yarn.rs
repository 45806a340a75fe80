//! Twin of `shaders/stage/yarn.wgsl`, one yarn per lane.

use std::ops::Range;

use poplin_layout::{
    MIN_EDGE_SQUARE, MIN_PIVOT_FRACTION, YARN_POINT_WORDS, YARN_SHEAR, YARN_WARP, YARN_WEFT,
    YARN_WORDS,
};

use crate::ClothMemory;
use crate::fibers::{displacement_of, load_current, load_last, store_massive};
use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, min, scatter};
use crate::particles::{Block, blocks};
use crate::vector::Vec3;

/// One index per lane.
type Indices = [u32; MAX_LANES];

/// Yarns of one set, one per lane.
struct Yarns {
    /// First point of each yarn, in `fabric_pool`.
    begins: Indices,
    /// Number of segments of each yarn.
    counts: Indices,
    /// First row of each yarn in scratch.
    scratch: Indices,
}

impl Yarns {
    /// Rows in `fabric_pool` of the points at place `k`, the last point beyond the end.
    #[inline(always)]
    fn points(&self, k: u32) -> Indices {
        let mut rows = self.begins;
        for (row, &count) in rows.iter_mut().zip(&self.counts) {
            *row += YARN_POINT_WORDS * k.min(count);
        }
        rows
    }

    /// Rows in scratch of the segments at place `k`, the last segment beyond the end.
    #[inline(always)]
    fn segments(&self, k: u32) -> Indices {
        let mut rows = self.scratch;
        for (row, &count) in rows.iter_mut().zip(&self.counts) {
            *row += 2 * k.min(count.saturating_sub(1));
        }
        rows
    }

    /// Bit mask of the lanes with a segment at place `k`.
    #[inline(always)]
    fn bits(&self, k: u32) -> u64 {
        let bit = |(lane, &count): (usize, &u32)| u64::from(k < count) << lane;
        self.counts.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit)
    }
}

/// Words of `fabric_pool`, `word` after each row.
#[inline(always)]
fn words<V: Real>(simd: V::Token, memory: &ClothMemory<'_>, rows: &Indices, word: u32) -> V {
    V::from_fn(simd, |lane| memory.fabric_f32(rows[lane] + word))
}

/// Particles at one end of the edges of points.
#[inline(always)]
fn ends_of<V: Real>(memory: &ClothMemory<'_>, rows: &Indices, end: u32) -> Indices {
    let mut particles = [0; MAX_LANES];
    for lane in 0..V::LEN {
        particles[lane] = memory.fabric(rows[lane] + end);
    }
    particles
}

/// Returns the positions of points and their inverse masses.
#[inline(always)]
fn load_points<V: Real>(simd: V::Token, memory: &ClothMemory<'_>, rows: &Indices) -> (Vec3<V>, V) {
    let [a, b] = [ends_of::<V>(memory, rows, 0), ends_of::<V>(memory, rows, 1)];
    let a = load_current(simd, memory, |lane| a[lane]);
    let b = load_current(simd, memory, |lane| b[lane]);
    let (pa, pb) = (Vec3::xyz(a), Vec3::xyz(b));
    let shares: [V; 2] = [words(simd, memory, rows, 3), words(simd, memory, rows, 4)];
    (pa + (pb - pa) * words(simd, memory, rows, 2), shares[0] * a[3] + shares[1] * b[3])
}

/// Returns the displacements of points since the last step.
#[inline(always)]
fn displacements<V: Real>(simd: V::Token, memory: &ClothMemory<'_>, rows: &Indices) -> Vec3<V> {
    let [a, b] = [ends_of::<V>(memory, rows, 0), ends_of::<V>(memory, rows, 1)];
    let of_a = displacement::<V>(simd, memory, &a);
    let of_b = displacement::<V>(simd, memory, &b);
    of_a + (of_b - of_a) * words(simd, memory, rows, 2)
}

/// Returns the displacements of particles since the last step.
#[inline(always)]
fn displacement<V: Real>(simd: V::Token, memory: &ClothMemory<'_>, particles: &Indices) -> Vec3<V> {
    let now = load_current(simd, memory, |lane| particles[lane]);
    displacement_of(simd, memory, now, |lane| particles[lane])
}

/// Returns the previous positions of points: that of the first particle, and the vector from it.
#[inline(always)]
fn last_points<V: Real>(simd: V::Token, memory: &ClothMemory<'_>, rows: &Indices) -> [Vec3<V>; 2] {
    let [a, b] = [ends_of::<V>(memory, rows, 0), ends_of::<V>(memory, rows, 1)];
    let first = load_last::<V>(simd, memory, |lane| a[lane]);
    let second = load_last(simd, memory, |lane| b[lane]);
    [first, (second - first) * words(simd, memory, rows, 2)]
}

/// Solves the segments of each yarn as one system.
#[inline(always)]
pub(crate) fn solve_yarn<V: Real>(simd: V::Token, memory: &mut ClothMemory<'_>, items: Range<u32>) {
    for block in blocks::<V>(items) {
        solve_block(simd, memory, block);
    }
}

/// Solves one yarn per lane.
#[inline(always)]
fn solve_block<V: Real>(simd: V::Token, memory: &mut ClothMemory<'_>, block: Block<V>) {
    let splat = |value: f32| V::splat(simd, value);
    let (zero, one) = (splat(0.0), splat(1.0));
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let fabric = &memory.cloth.fabric;
    let membrane = memory.cloth.yarns;
    let (yarn_begin, point_begin) = (fabric.yarn_begin, fabric.yarn_point_begin);
    let [begins, counts, scratch] = [[0; MAX_LANES]; 3];
    let mut yarns = Yarns { begins, counts, scratch };
    let [mut compliances, mut dampings] = [[0.0; MAX_LANES]; 2];
    for lane in 0..block.len() {
        let row = yarn_begin + YARN_WORDS * block.index(lane);
        let [begin, end, scratch_row, kind] = [0, 1, 2, 3].map(|k| memory.fabric(row + k));
        yarns.begins[lane] = point_begin + YARN_POINT_WORDS * begin;
        yarns.counts[lane] = (end - begin).saturating_sub(1);
        yarns.scratch[lane] = scratch_row;
        compliances[lane] = match kind {
            YARN_WARP => membrane.warp_compliance,
            YARN_WEFT => membrane.weft_compliance,
            _ => membrane.shear_compliance,
        };
        dampings[lane] = if kind == YARN_SHEAR { membrane.shear_damping } else { 0.0 };
    }
    for lane in block.len()..V::LEN {
        yarns.begins[lane] = yarns.begins[0];
        yarns.scratch[lane] = yarns.scratch[0];
    }
    let compliance = V::from_slice(simd, &compliances[..V::LEN]);
    let damping = V::from_slice(simd, &dampings[..V::LEN]);
    let is_damped = zero.simd_lt(damping);
    let is_displaced = memory.is_displaced();
    let longest = yarns.counts.iter().copied().fold(0, u32::max);
    let mut rows = yarns.points(0);
    let (mut last, mut last_mass) = load_points::<V>(simd, memory, &rows);
    let mut last_direction = nothing;
    let (mut last_pivot, mut last_value) = (one, zero);
    for k in 0..longest {
        let next_rows = yarns.points(k + 1);
        let (next, next_mass) = load_points::<V>(simd, memory, &next_rows);
        let mut delta = next - last;
        if is_displaced {
            let [a, along_a] = last_points::<V>(simd, memory, &rows);
            let [b, along_b] = last_points(simd, memory, &next_rows);
            delta = ((b - a) + (along_b - along_a)) + delta;
        }
        let square = delta.dot(delta);
        let mobility = (one + damping) * (last_mass + next_mass);
        let is_usable = zero.simd_lt(mobility) & splat(MIN_EDGE_SQUARE).simd_lt(square);
        let length = square.sqrt();
        let direction = delta / length;
        let mut right = words::<V>(simd, memory, &rows, 5) - length;
        if is_damped.any_true() {
            let moved = displacements::<V>(simd, memory, &next_rows)
                - displacements::<V>(simd, memory, &rows);
            right = is_damped.select(right - damping * direction.dot(moved), right);
        }
        let diagonal = mobility + compliance * words::<V>(simd, memory, &rows, 6);
        let between = -(one + damping) * last_mass * last_direction.dot(direction);
        let ratio = between / last_pivot;
        let taken = between * ratio;
        let most = diagonal - splat(MIN_PIVOT_FRACTION) * diagonal;
        // A pivot that would vanish is bounded by weakening the coupling.
        let is_weak = most.simd_lt(taken);
        let between = is_weak.select(between * (most / taken).sqrt(), between);
        let ratio = is_weak.select(between / last_pivot, ratio);
        let pivot = diagonal - min(taken, most);
        let value = (right - between * last_value) / pivot;

        last_direction = direction.or(is_usable, nothing);
        last_pivot = is_usable.select(pivot, one);
        last_value = is_usable.select(value, zero);
        let ratio = is_usable.select(ratio, zero);
        let (bits, segments) = (yarns.bits(k), yarns.segments(k));
        scatter(last_direction.with(ratio), |lane, row| {
            if bits >> lane & 1 != 0 {
                memory.store_scratch(segments[lane], row);
            }
        });
        scatter([last_value, zero, zero, zero], |lane, row| {
            if bits >> lane & 1 != 0 {
                memory.store_scratch(segments[lane] + 1, row);
            }
        });
        (last, last_mass, rows) = (next, next_mass, next_rows);
    }
    let mut pull = nothing;
    let (mut lambda, mut next_ratio) = (zero, zero);
    for k in (0..longest).rev() {
        let (bits, segments) = (yarns.bits(k), yarns.segments(k));
        let has_segment = V::Mask::from_bitmask(simd, bits);
        let built = gather::<V>(simd, |lane| memory.load_scratch(segments[lane]));
        let [value, ..] = gather::<V>(simd, |lane| memory.load_scratch(segments[lane] + 1));
        lambda = has_segment.select(value - next_ratio * lambda, zero);
        next_ratio = has_segment.select(built[3], zero);
        let next_pull = pull;
        pull = (Vec3::xyz(built) * lambda).or(has_segment, nothing);
        push_points(simd, memory, &yarns.points(k + 1), pull - next_pull, bits);
    }
    push_points(simd, memory, &yarns.points(0), -pull, block.bits());
}

/// Moves the particles of points by impulses on these, where the bit is set.
#[inline(always)]
fn push_points<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    rows: &Indices,
    impulse: Vec3<V>,
    bits: u64,
) {
    let weight = words::<V>(simd, memory, rows, 2);
    let [a, b] = [ends_of::<V>(memory, rows, 0), ends_of::<V>(memory, rows, 1)];
    push_particles(simd, memory, &a, impulse, V::splat(simd, 1.0) - weight, bits);
    push_particles(simd, memory, &b, impulse, weight, bits);
}

/// Moves particles by parts of impulses, where the bit is set, unless they are pinned.
#[inline(always)]
fn push_particles<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    particles: &Indices,
    impulse: Vec3<V>,
    weight: V,
    bits: u64,
) {
    let particle = load_current(simd, memory, |lane| particles[lane]);
    let moved = Vec3::xyz(particle) + impulse * (weight * particle[3]);
    store_massive(simd, memory, moved.with(particle[3]), |lane| particles[lane], bits);
}
