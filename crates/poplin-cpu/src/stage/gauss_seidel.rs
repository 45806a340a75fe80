//! Twin of `shaders/stage/gauss_seidel.wgsl`, one fiber per lane.

use std::ops::Range;

use crate::ClothMemory;
use bytemuck::cast_slice;
use poplin_layout::{EPSILON, NO_OFFSET, PhaseConstants};

use crate::fibers::{FiberLanes, Fibers, load_last, load_run, rows_of_run, store_run};
use crate::lanes::{LaneMask as _, Real, max, min};
use crate::vector::Vec3;

/// Solves the edges of fibers one after another; each one sees the corrections of the edges before
/// it.
#[inline(always)]
pub(crate) fn project_fiber<V: Real, const DISPLACED: bool>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let phase = memory.registers.phase;
    if phase.compliance > 0.0 {
        project_fibers::<V, DISPLACED, true>(simd, memory, &phase, items);
    } else {
        project_fibers::<V, DISPLACED, false>(simd, memory, &phase, items);
    }
}

/// Solves fibers, one per lane; `DISPLACED` where particles are displacements, `COMPLIANT` where
/// the compliance is not 0.
#[inline(always)]
fn project_fibers<V: Real, const DISPLACED: bool, const COMPLIANT: bool>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    phase: &PhaseConstants,
    items: Range<u32>,
) {
    let mut begin = items.start;
    if let Some(edges) = single_edges(memory, items.clone()) {
        let vertices = edges.vertices.chunks_exact(2 * V::LEN);
        let rest_lengths = edges.rest_lengths.chunks_exact(V::LEN);
        for (vertices, rest_lengths) in vertices.zip(rest_lengths) {
            let edges = SingleEdges { vertices, rest_lengths };
            project_edges::<V, DISPLACED, COMPLIANT>(simd, memory, phase, &edges);
            begin += V::LEN as u32;
        }
    }
    while begin < items.end {
        project::<V, _, DISPLACED>(simd, phase, &mut Fibers::<V>::new(memory, begin..items.end));
        begin += V::LEN as u32;
    }
}

/// Fibers of a single edge each, whose vertices and rest lengths are contiguous.
struct SingleEdges<'a> {
    /// First and second particle of each edge.
    vertices: &'a [u32],
    /// Bits of the rest lengths.
    rest_lengths: &'a [u32],
}

/// Returns the edges of fibers if each has a single one.
#[inline(always)]
fn single_edges<'a>(memory: &ClothMemory<'a>, items: Range<u32>) -> Option<SingleEdges<'a>> {
    let (fabric, pool) = (&memory.cloth.fabric, memory.fabric_pool);
    if fabric.edge_stiffness_begin != NO_OFFSET {
        return None;
    }
    let count = (items.end - items.start) as usize;
    let begins = &pool[(fabric.fiber_begin + items.start) as usize..][..=count];
    // Nonzero if a fiber does not have exactly one edge.
    let others = begins.windows(2).fold(0, |others, pair| others | ((pair[1] - pair[0]) ^ 1));
    let first = |begin: u32| (begin + begins[0]) as usize;
    (others == 0).then(|| SingleEdges {
        vertices: &pool[first(fabric.vertex_begin + items.start)..][..2 * count],
        rest_lengths: &pool[first(fabric.edge_begin)..][..count],
    })
}

/// Solves one edge per lane.
#[inline(always)]
fn project_edges<V: Real, const DISPLACED: bool, const COMPLIANT: bool>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    phase: &PhaseConstants,
    edges: &SingleEdges<'_>,
) {
    let [a, b] = [0, 1].map(|end| move |lane: usize| edges.vertices[2 * lane + end]);
    let runs = [rows_of_run::<V>(memory, &a), rows_of_run::<V>(memory, &b)];
    let ends = [load_run(simd, memory, runs[0], a), load_run(simd, memory, runs[1], b)];
    let rest_length = V::from_slice(simd, cast_slice(edges.rest_lengths));
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let mut last = [nothing; 2];
    if DISPLACED || COMPLIANT {
        last = [load_last(simd, memory, a), load_last(simd, memory, b)];
    }
    let mut delta = Vec3::xyz(ends[1]) - Vec3::xyz(ends[0]);
    if DISPLACED {
        delta = (last[1] - last[0]) + delta;
        last = [nothing; 2];
    }
    let mut edge = Edge::new(simd, phase, ends, delta, rest_length);
    if COMPLIANT {
        edge.comply(simd, phase, last);
    }
    let [moved_a, moved_b] = edge.moved(V::splat(simd, phase.stiffness));
    let bits = (1 << V::LEN) - 1;
    store_run(simd, memory, runs[0], moved_a, a, bits);
    store_run(simd, memory, runs[1], moved_b, b, bits);
}

/// One edge per lane with what its correction needs.
struct Edge<V: Real> {
    /// Particles at both ends.
    particles: [[V; 4]; 2],
    /// Vector from the first particle to the second [m].
    delta: Vec3<V>,
    /// Guarded square of its length [m^2].
    square: V,
    /// Lanes whose edge has a rest length.
    has_length: V::Mask,
    /// Fraction of `delta` to correct.
    error: V,
    /// Sum of the inverse masses and of the compliance.
    weight: V,
}

impl<V: Real> Edge<V> {
    #[inline(always)]
    fn new(
        simd: V::Token,
        phase: &PhaseConstants,
        [pa, pb]: [[V; 4]; 2],
        delta: Vec3<V>,
        rest_length: V,
    ) -> Self {
        let splat = |value: f32| V::splat(simd, value);
        let (zero, epsilon) = (splat(0.0), splat(EPSILON));
        let has_length = epsilon.simd_lt(rest_length);
        // slack = 1 - L / |d|;  d * slack = d - L * d / |d|  (length error along d)
        let square = delta.guarded_square(simd);
        let slack = has_length.select(splat(1.0) - rest_length / square.sqrt(), zero);
        // The fraction `multiplier` of the error between both limits stays uncorrected.
        let limited = max(splat(phase.compression), min(slack, splat(phase.stretch)));
        let error = slack - splat(phase.multiplier) * limited;
        let weight = epsilon + pa[3] + pb[3];
        Self { particles: [pa, pb], delta, square, has_length, error, weight }
    }

    /// XPBD (Macklin et al., 2016) with damping: compliance adds to the effective mass. `last` are
    /// both particles at the begin of the iteration, 0 if particles are displacements.
    #[inline(always)]
    fn comply(&mut self, simd: V::Token, phase: &PhaseConstants, last: [Vec3<V>; 2]) {
        let ([pa, pb], [last_a, last_b]) = (self.particles, last);
        let damping = V::splat(simd, phase.damping);
        let displacement = Vec3::xyz(pb) - last_b - (Vec3::xyz(pa) - last_a);
        let damped = self.error + damping * (self.delta.dot(displacement) / self.square);
        let compliance = V::splat(simd, phase.compliance);
        let heavier = self.weight + damping * (pa[3] + pb[3]) + compliance;
        self.error = self.has_length.select(damped, self.error);
        self.weight = self.has_length.select(heavier, self.weight);
    }

    /// Returns both particles after the correction.
    #[inline(always)]
    fn moved(self, stiffness: V) -> [[V; 4]; 2] {
        let [pa, pb] = self.particles;
        let correction = self.error * stiffness / self.weight;
        let moved_a = (Vec3::xyz(pa) + self.delta * (correction * pa[3])).with(pa[3]);
        let moved_b = (Vec3::xyz(pb) - self.delta * (correction * pb[3])).with(pb[3]);
        [moved_a, moved_b]
    }
}

/// Solves the edges of one fiber per lane; `DISPLACED` where particles are displacements.
#[inline(always)]
pub(crate) fn project<V: Real, F: FiberLanes<V>, const DISPLACED: bool>(
    simd: V::Token,
    phase: &PhaseConstants,
    fibers: &mut F,
) {
    let mut a = fibers.first();
    let mut pa = fibers.current(simd, a);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let needs_last = DISPLACED || phase.compliance > 0.0;
    let last = |fibers: &F, particles| {
        if needs_last { Vec3::xyz(fibers.previous(simd, particles)) } else { nothing }
    };
    let mut last_a = last(fibers, a);
    for k in 0..fibers.longest() {
        let b = fibers.particles(k, 1, a);
        let pb = fibers.current(simd, b);
        let last_b = last(fibers, b);
        let mut delta = Vec3::xyz(pb) - Vec3::xyz(pa);
        if DISPLACED {
            delta = (last_b - last_a) + delta;
        }
        let mut edge = Edge::new(simd, phase, [pa, pb], delta, fibers.rest_lengths(simd, k));
        if phase.compliance > 0.0 {
            edge.comply(simd, phase, if DISPLACED { [nothing; 2] } else { [last_a, last_b] });
        }
        let [moved_a, moved_b] = edge.moved(fibers.stiffness(simd, k, phase.stiffness));
        fibers.store_massive(simd, moved_a, a, fibers.bits_of(k));
        // Particles without mass are shared: the next edge reads them unmoved.
        let is_moved = V::splat(simd, 0.0).simd_lt(pb[3]);
        let next = Vec3::xyz(moved_b).or(is_moved, Vec3::xyz(pb)).with(pb[3]);
        pa = fibers.keep(simd, k, next, pa);
        a = b;
        last_a = last_b;
    }
    fibers.store_massive(simd, pa, a, fibers.bits());
}
