//! `poplin_reference::stage::implicit`: a triangle, a bend, a part of the sums or a particle per lane.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::{
    BEND_FACE_ANGLE, BEND_ISOMETRIC, BEND_SPRINGS, BEND_WORDS, ImplicitConstants, MIN_EDGE_SQUARE,
    MIN_HEIGHT_SQUARE, MIN_HINGE_SQUARE, MIN_NORMAL_SQUARE, PI, SOLVE_CHAIN_ROWS, SOLVE_DIRECTIONS,
    SOLVE_FORCES, SOLVE_MOVES, SOLVE_PARTS, SOLVE_PLANES, SOLVE_PREDICTIONS, SOLVE_RESIDUALS,
    SOLVE_TRIALS, STRETCH_SPRINGS, STRETCH_THREADS, TAU,
};
use poplin_reference::ClothMemory;
use poplin_reference::math::ARCTAN;
use poplin_reference::stage::implicit::{
    bend_end_row, bend_rate, chain_begin, chain_value_row, corner_row, is_preconditioned, is_start,
    link_list, link_row, part_row, rate_row, solve_row, solve_state, spring_end, spring_list,
    spring_rest, spring_stiffness, stretch_rate, take_step, takes_bends,
};

use super::particles::{Block, blocks};
use crate::lanes::{Lanes, MAX_LANES, gather, max, min, scatter};
use crate::vector::Vec3;

/// Gradients of the energies of triangles, to scratch.
#[inline(always)]
pub(crate) fn stretch_triangles<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let constants = memory.load_implicit();
    let rows = corner_row(memory, 0);
    for block in blocks::<V, S>(items) {
        let triangles = memory.cloth.fabric.triangle_begin;
        let corners: [[u32; MAX_LANES]; 3] = corners_of(memory, triangles, &block);
        let move_of =
            |k: usize| Vec3::xyz(gather(simd, |lane| memory.load_current(corners[k][lane])));
        let start_of =
            |k: usize| Vec3::xyz(gather(simd, |lane| memory.load_previous(corners[k][lane])));
        let (start, moved) = (start_of(0), move_of(0));
        let edges = Edges {
            last_p: start_of(1).sub(start),
            last_q: start_of(2).sub(start),
            p: move_of(1).sub(moved),
            q: move_of(2).sub(moved),
        };
        let shape = shapes_of::<S, V>(simd, memory, &block);
        let gradients = stretch_gradients(simd, &constants, edges, shape);
        let zero = V::splat(simd, 0.0);
        for (corner, gradient) in (0..).zip(gradients) {
            scatter(gradient.with(zero), |lane, row| {
                if lane < block.len() {
                    memory.store_scratch(rows + 3 * block.index(lane) + corner, row);
                }
            });
        }
    }
}

/// The particles of a block of triangles.
#[inline(always)]
fn corners_of<S: Simd, V: Lanes<S>>(
    memory: &ClothMemory<'_>,
    begin: u32,
    block: &Block<V>,
) -> [[u32; MAX_LANES]; 3] {
    let mut corners = [[0; MAX_LANES]; 3];
    let first = (begin + 3 * block.index(0)) as usize;
    let particles = &memory.fabric_pool[first..][..3 * block.len()];
    for lane in 0..V::LEN {
        let triangle = &particles[3 * lane.min(block.len() - 1)..][..3];
        for k in 0..3 {
            corners[k][lane] = triangle[k];
        }
    }
    corners
}

/// The rest shapes of a block of triangles.
#[inline(always)]
fn shapes_of<S: Simd, V: Lanes<S>>(simd: S, memory: &ClothMemory<'_>, block: &Block<V>) -> [V; 5] {
    let fabric = &memory.cloth.fabric;
    let begin = (fabric.element_begin + block.index(0)) as usize;
    let numbers: &[f32] = bytemuck::cast_slice(memory.fabric_pool);
    let number = |k: usize| {
        let numbers = &numbers[begin + k * fabric.triangle_count as usize..][..block.len()];
        if block.len() == V::LEN {
            V::from_slice(simd, numbers)
        } else {
            V::from_fn(simd, |lane| numbers[lane.min(numbers.len() - 1)])
        }
    };
    [number(0), number(1), number(2), number(3), number(4)]
}

/// Edges of triangles from their first corners one step ago, and how they have changed \[m\].
struct Edges<S: Simd, V: Lanes<S>> {
    last_p: Vec3<S, V>,
    last_q: Vec3<S, V>,
    p: Vec3<S, V>,
    q: Vec3<S, V>,
}

/// Gradients at the corners.
#[inline(always)]
fn stretch_gradients<S: Simd, V: Lanes<S>>(
    simd: S,
    constants: &ImplicitConstants,
    edges: Edges<S, V>,
    [u_second, u_third, v_second, v_third, area]: [V; 5],
) -> [Vec3<S, V>; 3] {
    let splat = |value: f32| V::splat(simd, value);
    let Edges { last_p, last_q, p, q } = edges;
    let (p, q) = (last_p.add(p), last_q.add(q));
    let wu = p.mul(u_second).add(q.mul(u_third));
    let wv = p.mul(v_second).add(q.mul(v_third));
    let (stiffness_u, stiffness_v) = (splat(constants.stiffness_u), splat(constants.stiffness_v));
    let has_memory = constants.stretch_memory > 0.0;
    let memory = splat(constants.stretch_memory);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let (mut last_u, mut last_v) = (nothing, nothing);
    if has_memory {
        last_u = last_p.mul(u_second).add(last_q.mul(u_third));
        last_v = last_p.mul(v_second).add(last_q.mul(v_third));
    }
    let last_shear = last_u.dot(last_v) * memory;
    let (pu, pv);
    if constants.stretch_model == STRETCH_THREADS {
        let shear = splat(constants.shear_stiffness) * (wu.dot(wv) - last_shear);
        let share = splat(constants.rest_fraction);
        let (mut rest_u, mut rest_v) = (share, share);
        if has_memory {
            rest_u = share + last_u.dot(last_u).sqrt() * memory;
            rest_v = share + last_v.dot(last_v).sqrt() * memory;
        }
        pu = wu.mul(stiffness_u * slack(simd, wu, rest_u)).add(wv.mul(shear));
        pv = wv.mul(stiffness_v * slack(simd, wv, rest_v)).add(wu.mul(shear));
    } else {
        let (mut strain_u, mut strain_v) = (excess_square(simd, wu), excess_square(simd, wv));
        if has_memory {
            strain_u -= excess_square(simd, last_u) * memory;
            strain_v -= excess_square(simd, last_v) * memory;
        }
        let pressure = stiffness_u * splat(0.5) * (strain_u + strain_v);
        let shear = stiffness_v * (wu.dot(wv) - last_shear);
        pu = wu.mul(stiffness_v * strain_u + pressure).add(wv.mul(shear));
        pv = wv.mul(stiffness_v * strain_v + pressure).add(wu.mul(shear));
    }
    let second = pu.mul(u_second * area).add(pv.mul(v_second * area));
    let third = pu.mul(u_third * area).add(pv.mul(v_third * area));
    [second.add(third).neg(), second, third]
}

/// 1 - rest/|w|, 0 without a length.
#[inline(always)]
fn slack<S: Simd, V: Lanes<S>>(simd: S, w: Vec3<S, V>, rest: V) -> V {
    let square = w.dot(w);
    let slack = V::splat(simd, 1.0) - rest / square.sqrt();
    V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square).select(slack, V::splat(simd, 0.0))
}

/// -1 + |d|^2.
#[inline(always)]
fn excess_square<S: Simd, V: Lanes<S>>(simd: S, d: Vec3<S, V>) -> V {
    V::splat(simd, -1.0) + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Sum of rows in an order of the fabric: those that entries `begin` and `begin + 1` bound, of a list at `list`, of rows from
/// `rows` on.
#[inline(always)]
fn gradient<S: Simd>(
    simd: S,
    memory: &ClothMemory<'_>,
    begin: u32,
    list: u32,
    rows: u32,
) -> fearless_simd::f32x4<S> {
    use fearless_simd::f32x4;
    let [first, end] =
        [memory.fabric(begin), memory.fabric(begin + 1)].map(|k| (list + k) as usize);
    let mut sum = f32x4::splat(simd, 0.0);
    for &corner in &memory.fabric_pool[first..end] {
        sum += f32x4::from_slice(simd, &memory.load_scratch(rows + corner));
    }
    sum
}

/// First rows of the arrays over particles, the lists and the rows that gradients are gathered by.
#[derive(Clone, Copy)]
struct Arrays {
    predictions: u32,
    moves: u32,
    residuals: u32,
    trials: u32,
    directions: u32,
    forces: u32,
    planes: u32,
    chain_values: u32,
    corners: u32,
    corner_rows: u32,
    bend_ends: u32,
    bend_end_rows: u32,
}

impl Arrays {
    fn new(memory: &ClothMemory<'_>) -> Self {
        let array = |array: u32| solve_row(memory, array, 0);
        Self {
            predictions: array(SOLVE_PREDICTIONS),
            moves: array(SOLVE_MOVES),
            residuals: array(SOLVE_RESIDUALS),
            trials: array(SOLVE_TRIALS),
            directions: array(SOLVE_DIRECTIONS),
            forces: array(SOLVE_FORCES),
            planes: array(SOLVE_PLANES),
            chain_values: chain_value_row(memory, 0),
            corners: memory.cloth.fabric.corner_begin,
            corner_rows: corner_row(memory, 0),
            bend_ends: rate_row(memory, memory.cloth.particle_count),
            bend_end_rows: bend_end_row(memory, 0),
        }
    }
}

/// Rows of an array of the particles from `first` on; lanes behind `len` have those of the last.
#[inline(always)]
fn rows_of<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    array: u32,
    first: u32,
    len: usize,
) -> [V; 4] {
    gather(simd, |lane| memory.load_scratch(array + first + lane.min(len - 1) as u32))
}

/// Sums of rows as [`gradient`] has them, of the particles from `first` on.
#[inline(always)]
fn gradients<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    begins: u32,
    list: u32,
    rows: u32,
    (first, len): (u32, usize),
) -> Vec3<S, V> {
    let mut sums = [[0.0; 4]; MAX_LANES];
    for (lane, sum) in (0..len).zip(&mut sums) {
        gradient(simd, memory, begins + first + lane as u32, list, rows).store_slice(sum);
    }
    Vec3::xyz(V::columns(simd, &sums))
}

/// Gradients of the energies of the springs of the particles from `first` on, a particle per lane.
#[inline(always)]
fn spring_gradients<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    (first, len): (u32, usize),
    of_bends: bool,
) -> Vec3<S, V> {
    let splat = |value: f32| V::splat(simd, value);
    let (share, rest_fraction) = if of_bends {
        (constants.bend_memory, constants.bend_rest_fraction)
    } else {
        (constants.stretch_memory, constants.rest_fraction)
    };
    let list = spring_list(memory, of_bends);
    let begin_of = |lane: usize| memory.fabric(list + first + lane.min(len - 1) as u32);
    let (mut begins, mut counts, mut longest) = ([0; MAX_LANES], [0; MAX_LANES], 0);
    for lane in 0..len {
        let end = memory.fabric(list + first + lane as u32 + 1);
        begins[lane] = begin_of(lane);
        counts[lane] = end - begins[lane];
        longest = longest.max(counts[lane]);
    }
    let words = list + memory.cloth.particle_count + 1;
    let own = |lane: usize| first + lane.min(len - 1) as u32;
    let start: Vec3<S, V> = Vec3::xyz(gather(simd, |lane| memory.load_previous(own(lane))));
    let moved: Vec3<S, V> = Vec3::xyz(gather(simd, |lane| memory.load_current(own(lane))));
    let zero = splat(0.0);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let mut sum = nothing;
    for k in 0..longest {
        // Lanes without a spring k have one of no length to themselves.
        let (mut others, mut rests, mut stiffnesses) =
            ([0; MAX_LANES], [0.0; MAX_LANES], [0.0; MAX_LANES]);
        for lane in 0..V::LEN {
            others[lane] = own(lane);
            if k < counts[lane] {
                let spring = words + 2 * (begins[lane] + k);
                others[lane] = spring_end(memory, spring, own(lane));
                rests[lane] = spring_rest(memory, spring);
                stiffnesses[lane] = spring_stiffness(memory, constants, spring);
            }
        }
        let last = Vec3::xyz(gather(simd, |lane| memory.load_previous(others[lane]))).sub(start);
        let now = Vec3::xyz(gather(simd, |lane| memory.load_current(others[lane])));
        let edge = last.add(now.sub(moved));
        let mut rest = V::from_slice(simd, &rests[..V::LEN]) * splat(rest_fraction);
        if share > 0.0 {
            rest += last.dot(last).sqrt() * splat(share);
        }
        let mut pull = slack(simd, edge, rest) * V::from_slice(simd, &stiffnesses[..V::LEN]);
        if !of_bends {
            pull = pull.simd_lt(zero).select(pull * splat(constants.compression), pull);
        }
        sum = sum.sub(edge.mul(pull));
    }
    sum
}

/// Residuals of the trial of the particles from `first` on; 0 without inverse mass.
#[inline(always)]
fn trial_residuals<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    constants: &ImplicitConstants,
    arrays: &Arrays,
    (first, len, takes): (u32, usize, bool),
) -> Vec3<S, V> {
    let count = memory.cloth.particle_count;
    let zero = V::splat(simd, 0.0);
    let particles = (first, len);
    let stretch: Vec3<S, V> = if constants.stretch_model == STRETCH_SPRINGS {
        spring_gradients(simd, memory, constants, particles, false)
    } else {
        let list = arrays.corners + count + 1;
        gradients(simd, memory, arrays.corners, list, arrays.corner_rows, particles)
    };
    let bend: Vec3<S, V> = if takes {
        let bend: Vec3<S, V> = if constants.bend_model == BEND_SPRINGS {
            spring_gradients(simd, memory, constants, particles, true)
        } else {
            let list = arrays.bend_ends + count + 1;
            gradients(simd, memory, arrays.bend_ends, list, arrays.bend_end_rows, particles)
        };
        scatter(bend.with(zero), |lane, row| {
            if lane < len {
                memory.store_scratch(arrays.forces + first + lane as u32, row);
            }
        });
        bend
    } else {
        Vec3::xyz(rows_of::<S, V>(simd, memory, arrays.forces, first, len))
    };
    let force = stretch.add(bend);
    let prediction = rows_of::<S, V>(simd, memory, arrays.predictions, first, len);
    let moved =
        Vec3::xyz(gather(simd, |lane| memory.load_current(first + lane.min(len - 1) as u32)));
    let scale = V::splat(simd, constants.step_square) * prediction[3];
    let plane = rows_of::<S, V>(simd, memory, arrays.planes, first, len);
    let normal = Vec3::xyz(plane);
    let depth = max(plane[3] - normal.dot(moved), zero);
    let force = force.sub(normal.mul(V::splat(simd, constants.contact_stiffness) * depth));
    let trial = Vec3::xyz(prediction).sub(moved).sub(force.mul(scale));
    trial.or(zero.simd_lt(prediction[3]), Vec3::splat(simd, [0.0; 3]))
}

/// Residuals of the trial, to scratch.
#[inline(always)]
pub(crate) fn find_residuals<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let arrays = Arrays::new(memory);
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V, S>(items) {
        let range = (block.index(0), block.len(), takes);
        let trial = trial_residuals::<S, V>(simd, memory, &constants, &arrays, range);
        scatter(trial.with(zero), |lane, row| {
            if lane < block.len() {
                memory.store_scratch(arrays.trials + block.index(lane), row);
            }
        });
    }
}

/// The chains of a block: first link and number of links of each.
struct Chains {
    begins: [u32; MAX_LANES],
    lens: [u32; MAX_LANES],
    longest: u32,
}

impl Chains {
    #[inline(always)]
    fn new<V>(memory: &ClothMemory<'_>, block: &Block<V>) -> Self {
        let mut chains = Self { begins: [0; MAX_LANES], lens: [0; MAX_LANES], longest: 0 };
        for lane in 0..block.len() {
            let begin = chain_begin(memory, block.index(lane));
            let len = chain_begin(memory, block.index(lane) + 1) - begin;
            (chains.begins[lane], chains.lens[lane]) = (begin, len);
            chains.longest = chains.longest.max(len);
        }
        chains
    }

    /// Link k of each chain; the first one of all chains where there is none.
    #[inline(always)]
    fn links(&self, k: u32) -> [u32; MAX_LANES] {
        std::array::from_fn(|lane| if k < self.lens[lane] { self.begins[lane] + k } else { 0 })
    }

    /// 1 where there is a link k.
    #[inline(always)]
    fn has<S: Simd, V: Lanes<S>>(&self, simd: S, k: u32) -> V::Mask {
        let flags = V::from_fn(simd, |lane| if k < self.lens[lane] { 1.0 } else { 0.0 });
        V::splat(simd, 0.0).simd_lt(flags)
    }
}

/// Particles of links.
#[inline(always)]
fn particles_of(
    memory: &ClothMemory<'_>,
    begin: u32,
    links: &[u32; MAX_LANES],
) -> [u32; MAX_LANES] {
    links.map(|link| memory.fabric_pool[(begin + link) as usize])
}

/// Solves chains for the residuals of their particles, a chain per lane.
#[inline(always)]
pub(crate) fn solve_chains<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let count = memory.cloth.particle_count;
    let (first_link, first_value) = (link_row(memory, 0), chain_value_row(memory, 0));
    let trials = solve_row(memory, SOLVE_TRIALS, 0);
    let list = link_list(memory);
    let zero = V::splat(simd, 0.0);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    for block in blocks::<V, S>(items) {
        let chains = Chains::new(memory, &block);
        // Chains of the second family begin behind those of all particles.
        let families = chains.begins.map(|begin| if begin >= count { count } else { 0 });
        let mut last = nothing;
        for k in 0..chains.longest {
            let links = chains.links(k);
            let particles = particles_of(memory, list, &links);
            let rows = links.map(|link| first_link + SOLVE_CHAIN_ROWS * link);
            let column = |column: u32| -> [V; 4] {
                gather(simd, |lane| memory.load_scratch(rows[lane] + column))
            };
            let (l0, l1) = (Vec3::xyz(column(0)), Vec3::xyz(column(1)));
            let l2 = Vec3::xyz(column(2));
            let [.., root] = column(3);
            let residual =
                Vec3::xyz(gather(simd, |lane| memory.load_scratch(trials + particles[lane])));
            let value = residual.div(root).or(zero.simd_lt(root), nothing);
            let value = value.sub(l0.mul(last.x).add(l1.mul(last.y)).add(l2.mul(last.z)));
            scatter(value.with(zero), |lane, row| {
                if k < chains.lens[lane] {
                    memory.store_scratch(first_value + families[lane] + particles[lane], row);
                }
            });
            last = value;
        }
        let mut carried = nothing;
        for k in (0..chains.longest).rev() {
            let links = chains.links(k);
            let particles = particles_of(memory, list, &links);
            let rows = links.map(|link| first_link + SOLVE_CHAIN_ROWS * link);
            let column = |column: u32| -> [V; 4] {
                gather(simd, |lane| memory.load_scratch(rows[lane] + column))
            };
            let (l0, l1, l2, beside) = (column(0), column(1), column(2), column(3));
            let entry = |lane: usize| first_value + families[lane] + particles[lane];
            let value: Vec3<S, V> =
                Vec3::xyz(gather(simd, |lane| memory.load_scratch(entry(lane))));
            let solved = Vec3::new(
                l0[3] * value.x + beside[0] * value.y + beside[1] * value.z,
                beside[0] * value.x + l1[3] * value.y + beside[2] * value.z,
                beside[1] * value.x + beside[2] * value.y + l2[3] * value.z,
            )
            .sub(carried);
            scatter(solved.with(zero), |lane, row| {
                if k < chains.lens[lane] {
                    memory.store_scratch(first_value + families[lane] + particles[lane], row);
                }
            });
            let next = Vec3::new(
                Vec3::xyz(l0).dot(solved),
                Vec3::xyz(l1).dot(solved),
                Vec3::xyz(l2).dot(solved),
            );
            carried = next.or(chains.has::<S, V>(simd, k), nothing);
        }
    }
}

/// Residuals of the trial as they are preconditioned, and sums, of as many parts as there are lanes.
#[inline(always)]
pub(crate) fn sum_parts<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let is_start = is_start(memory);
    let by_chains = is_preconditioned(memory);
    let count = memory.cloth.particle_count;
    let arrays = Arrays::new(memory);
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V, S>(items) {
        let (mut along, mut overlap, mut square_sum, mut longest) = (zero, zero, zero, zero);
        let mut rates = [zero; 4];
        for first in (block.index(0)..count).step_by(SOLVE_PARTS as usize) {
            let len = block.len().min((count - first) as usize);
            let load = |array: u32| rows_of::<S, V>(simd, memory, array, first, len);
            let [.., inverse_mass] = load(arrays.predictions);
            let (trial, conditioned);
            if by_chains {
                trial = Vec3::xyz(load(arrays.trials));
                let (one, other) = (load(arrays.chain_values), load(arrays.chain_values + count));
                let root = V::splat(simd, 0.5) * inverse_mass.sqrt();
                conditioned = Vec3::xyz(one).add(Vec3::xyz(other)).mul(root);
            } else {
                let range = (first, len, takes);
                trial = trial_residuals::<S, V>(simd, memory, &constants, &arrays, range);
                conditioned = trial;
            }
            let load = |array: u32| rows_of::<S, V>(simd, memory, array, first, len);
            // Pinned particles have no residual, and lanes without a particle count for nothing.
            let moves_mask = zero.simd_lt(inverse_mass);
            let conditioned = conditioned.or(moves_mask, Vec3::splat(simd, [0.0; 3]));
            let [.., mass] = load(arrays.moves);
            let counts = V::from_fn(simd, |lane| if lane < len { 1.0 } else { 0.0 });
            let counted = zero.simd_lt(counts) & moves_mask;
            let of_direction = mass * trial.dot(Vec3::xyz(load(arrays.directions)));
            along += counted.select(of_direction, zero);
            overlap += counted.select(mass * trial.dot(Vec3::xyz(load(arrays.residuals))), zero);
            square_sum += counted.select(mass * trial.dot(conditioned), zero);
            longest = counted.select(max(longest, trial.dot(trial)), longest);
            if is_start {
                let row = |lane: usize| first + lane.min(len - 1) as u32;
                let plane = load(arrays.planes);
                let own = particle_rates(simd, memory, &constants, inverse_mass, plane, row);
                for (rate, own) in rates.iter_mut().zip(own) {
                    *rate = counted.select(max(*rate, own), *rate);
                }
            }
            scatter(conditioned.with(zero), |lane, row| {
                if lane < len {
                    memory.store_scratch(arrays.trials + first + lane as u32, row);
                }
            });
        }
        let part = part_row(memory, block.index(0));
        scatter([along, overlap, square_sum, longest], |lane, row| {
            if lane < block.len() {
                memory.store_scratch(part + 2 * lane as u32, row);
            }
        });
        scatter(rates, |lane, row| {
            if lane < block.len() {
                memory.store_scratch(part + 2 * lane as u32 + 1, row);
            }
        });
    }
}

/// Squared rates of the particles of lanes.
#[inline(always)]
fn particle_rates<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    inverse_mass: V,
    [x, y, z, _]: [V; 4],
    particle: impl Fn(usize) -> u32,
) -> [V; 4] {
    let begin = rate_row(memory, 0);
    let row = |lane: usize| {
        let i = particle(lane);
        let length = memory.fabric_f32(begin + 4 * i + 3);
        [stretch_rate(memory, i), bend_rate(memory, i), length, 0.0]
    };
    let [stretch, bend, length, _]: [V; 4] = gather(simd, row);
    let (stretch, bend) = (stretch * inverse_mass, bend * inverse_mass);
    let zero = V::splat(simd, 0.0);
    let has_plane = !(x.simd_eq(zero) & y.simd_eq(zero) & z.simd_eq(zero));
    let contact = V::splat(simd, constants.contact_stiffness) * inverse_mass;
    [stretch + has_plane.select(contact, zero), bend, stretch * length, zero]
}

/// Moves particles along the direction, and makes the next trial; the row of a particle is a vector.
#[inline(always)]
pub(crate) fn take_steps<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    use fearless_simd::f32x4;
    if is_start(memory) {
        // The next part of a step begins.
        items.for_each(|i| take_step(memory, i));
        return;
    }
    let splat = |value: f32| f32x4::splat(simd, value);
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0)).map(splat);
    let [mixed, trial, ..] = memory.load_scratch(solve_state(memory, 1)).map(splat);
    let array = |array: u32| solve_row(memory, array, 0);
    let [predictions, moves, residuals, trials, directions] =
        [SOLVE_PREDICTIONS, SOLVE_MOVES, SOLVE_RESIDUALS, SOLVE_TRIALS, SOLVE_DIRECTIONS]
            .map(array);
    for i in items {
        let load = |begin: u32| f32x4::from_slice(simd, &memory.load_scratch(begin + i));
        let displacement = load(moves);
        let direction = load(directions);
        let moved = displacement + direction * step;
        let residual = load(residuals) * kept + load(trials) * taken;
        let next_direction = residual * renewed + direction * mixed;
        let next = moved + next_direction * trial;
        let mut rows = [[0.0; 4]; 4];
        moved.store_slice(&mut rows[0]);
        residual.store_slice(&mut rows[1]);
        next_direction.store_slice(&mut rows[2]);
        next.store_slice(&mut rows[3]);
        let [x, y, z, mass] = rows[0];
        let inverse_mass = memory.load_scratch(predictions + i)[3];
        memory.store_scratch(moves + i, [x, y, z, mass]);
        memory.store_scratch(residuals + i, rows[1]);
        memory.store_scratch(directions + i, rows[2]);
        let [x, y, z, _] = rows[3];
        memory.store_current(i, [x, y, z, inverse_mass]);
    }
}

/// What two triangles at an edge have in common.
#[derive(Clone, Copy)]
struct Fold<S: Simd, V: Lanes<S>> {
    is_usable: V::Mask,
    normal_2: Vec3<S, V>,
    normal_3: Vec3<S, V>,
    edge_square: V,
    squares: [V; 2],
}

/// The edge of a fold and the sides from its first end.
#[derive(Clone, Copy)]
struct Hinge<S: Simd, V: Lanes<S>> {
    edge: Vec3<S, V>,
    side_2: Vec3<S, V>,
    side_3: Vec3<S, V>,
}

impl<S: Simd, V: Lanes<S>> Hinge<S, V> {
    #[inline(always)]
    fn fold(self, simd: S) -> Fold<S, V> {
        let Self { edge, side_2, side_3 } = self;
        let normal_2 = edge.cross(side_2);
        let normal_3 = side_3.cross(edge);
        let edge_square = edge.dot(edge);
        let squares = [normal_2.dot(normal_2), normal_3.dot(normal_3)];
        let is_usable = V::splat(simd, MIN_HINGE_SQUARE).simd_lt(edge_square)
            & has_height(simd, edge_square, side_2.dot(side_2), squares[0])
            & has_height(simd, edge_square, side_3.dot(side_3), squares[1]);
        Fold { is_usable, normal_2, normal_3, edge_square, squares }
    }
}

/// Whether the triangle over an edge has a usable height.
#[inline(always)]
fn has_height<S: Simd, V: Lanes<S>>(simd: S, hinge: V, side: V, normal: V) -> V::Mask {
    V::splat(simd, MIN_NORMAL_SQUARE).simd_lt(normal)
        & (V::splat(simd, MIN_HEIGHT_SQUARE) * hinge * max(hinge, side)).simd_lt(normal)
}

/// `poplin_reference::math::atan2_portable`.
#[inline(always)]
fn atan2<S: Simd, V: Lanes<S>>(simd: S, y: V, x: V) -> V {
    let splat = |value: f32| V::splat(simd, value);
    let (across, along) = (y.abs(), x.abs());
    let far = max(along, across);
    let slope = min(along, across) / far;
    let square = slope * slope;
    let mut series = splat(ARCTAN[0]);
    series = series * square - splat(ARCTAN[1]);
    series = series * square + splat(ARCTAN[2]);
    series = series * square - splat(ARCTAN[3]);
    series = series * square + splat(ARCTAN[4]);
    series = series * square - splat(ARCTAN[5]);
    series = series * square + splat(ARCTAN[6]);
    series = series * square - splat(ARCTAN[7]);
    let cube = square * slope;
    let mut angle = slope + cube * series;
    angle = along.simd_lt(across).select(splat(0.5 * PI) - angle, angle);
    angle = x.simd_lt(splat(0.0)).select(splat(PI) - angle, angle);
    angle = y.simd_lt(splat(0.0)).select(-angle, angle);
    far.simd_eq(splat(0.0)).select(splat(0.0), angle)
}

impl<S: Simd, V: Lanes<S>> Fold<S, V> {
    /// Angle less that at rest.
    #[inline(always)]
    fn angle_error(&self, simd: S, edge: Vec3<S, V>, rest: V) -> V {
        let splat = |value: f32| V::splat(simd, value);
        let unit_2 = self.normal_2.div(self.squares[0].sqrt());
        let unit_3 = self.normal_3.div(self.squares[1].sqrt());
        let sine = unit_2.cross(unit_3).dot(edge.div(self.edge_square.sqrt()));
        let error = atan2(simd, sine, unit_2.dot(unit_3)) - rest;
        let is_low = error.simd_le(splat(-PI));
        let wrapped = is_low.select(error + splat(TAU), error);
        splat(PI).simd_lt(error).select(error - splat(TAU), wrapped)
    }

    /// Depths over heights less the sine of the rest angle.
    #[inline(always)]
    fn depth_errors(&self, hinge: Hinge<S, V>, heights: [V; 2], sine: V) -> [V; 2] {
        let depth_2 = hinge.side_2.dot(self.normal_3) / self.squares[1].sqrt();
        let depth_3 = hinge.side_3.dot(self.normal_2) / self.squares[0].sqrt();
        [-depth_2 / heights[0] - sine, -depth_3 / heights[1] - sine]
    }
}

/// Writes the gradients at the four ends of a block of bends.
#[inline(always)]
fn store_bend_ends<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    rows: u32,
    block: &Block<V>,
    gradients: [Vec3<S, V>; 4],
) {
    for (end, gradient) in (0..).zip(gradients) {
        scatter(gradient.with(V::splat(simd, 0.0)), |lane, row| {
            if lane < block.len() {
                memory.store_scratch(rows + 4 * block.index(lane) + end, row);
            }
        });
    }
}

/// Gradients of the energies of bends, to scratch.
#[inline(always)]
pub(crate) fn fold_bends<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let constants = memory.load_implicit();
    let rows = bend_end_row(memory, 0);
    let splat = |value: f32| V::splat(simd, value);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let share = splat(constants.bend_memory);
    for block in blocks::<V, S>(items) {
        let word = |lane: usize, k: u32| {
            memory.fabric(memory.cloth.fabric.bend_begin + BEND_WORDS * block.index(lane) + k)
        };
        let number = |k: u32| V::from_fn(simd, |lane| f32::from_bits(word(lane, k)));
        let move_of = |k: u32| Vec3::xyz(gather(simd, |lane| memory.load_current(word(lane, k))));
        let start_of = |k: u32| Vec3::xyz(gather(simd, |lane| memory.load_previous(word(lane, k))));
        let (start, moved) = (start_of(0), move_of(0));
        let last = Hinge {
            edge: start_of(1).sub(start),
            side_2: start_of(2).sub(start),
            side_3: start_of(3).sub(start),
        };
        let hinge = Hinge {
            edge: last.edge.add(move_of(1).sub(moved)),
            side_2: last.side_2.add(move_of(2).sub(moved)),
            side_3: last.side_3.add(move_of(3).sub(moved)),
        };
        let Hinge { edge, side_2, side_3 } = hinge;
        let stiffness = splat(constants.rigidity) * number(5);
        if constants.bend_model == BEND_ISOMETRIC {
            let [height_2, height_3, weight] = [number(6), number(7), number(9)];
            let curvature = |hinge: Hinge<S, V>| {
                let ahead = hinge.edge.mul(weight).sub(hinge.side_2.div(height_2));
                ahead.sub(hinge.side_3.div(height_3))
            };
            let mut vector = curvature(hinge);
            if constants.bend_memory > 0.0 {
                vector = vector.sub(curvature(last).mul(share));
            }
            let moment = vector.mul(stiffness);
            let gradient_1 = moment.mul(weight);
            let gradient_2 = moment.neg().div(height_2);
            let gradient_3 = moment.neg().div(height_3);
            let gradient_0 = gradient_1.add(gradient_2).add(gradient_3).neg();
            store_bend_ends(
                simd,
                memory,
                rows,
                &block,
                [gradient_0, gradient_1, gradient_2, gradient_3],
            );
            continue;
        }
        let fold = hinge.fold(simd);
        let [square_2, square_3] = fold.squares;
        let has_memory = constants.bend_memory > 0.0;
        let (gradient_1, gradient_2, gradient_3);
        if constants.bend_model == BEND_FACE_ANGLE {
            let rest = number(4);
            let mut error = fold.angle_error(simd, edge, rest);
            if has_memory {
                let before = last.fold(simd);
                let damped = error - before.angle_error(simd, last.edge, rest) * share;
                error = before.is_usable.select(damped, error);
            }
            let moment = stiffness * error * fold.edge_square.sqrt();
            gradient_2 = fold.normal_2.mul(-moment / square_2);
            gradient_3 = fold.normal_3.mul(-moment / square_3);
            gradient_1 = gradient_2
                .mul(-(side_2.dot(edge) / fold.edge_square))
                .sub(gradient_3.mul(side_3.dot(edge) / fold.edge_square));
        } else {
            let (heights, sine) = ([number(6), number(7)], number(8));
            let [mut error_2, mut error_3] = fold.depth_errors(hinge, heights, sine);
            if has_memory {
                let before = last.fold(simd);
                let [before_2, before_3] = before.depth_errors(last, heights, sine);
                error_2 = before.is_usable.select(error_2 - before_2 * share, error_2);
                error_3 = before.is_usable.select(error_3 - before_3 * share, error_3);
            }
            let half = splat(0.5);
            let force_2 = half * stiffness * error_2 / heights[0];
            let force_3 = half * stiffness * error_3 / heights[1];
            let push_2 = fold.normal_3.mul(force_2 / square_3.sqrt());
            let push_3 = fold.normal_2.mul(force_3 / square_2.sqrt());
            let at_2 = edge.cross(side_3).dot(fold.normal_2) / square_2;
            let at_3 = -edge.cross(side_2).dot(fold.normal_3) / square_3;
            let foot_3 = side_3.cross(side_2).dot(fold.normal_2) / square_2;
            let foot_2 = -side_2.cross(side_3).dot(fold.normal_3) / square_3;
            gradient_1 = push_3.mul(foot_3).add(push_2.mul(foot_2));
            gradient_2 = push_3.mul(at_2).sub(push_2);
            gradient_3 = push_2.mul(at_3).sub(push_3);
        }
        let [gradient_1, gradient_2, gradient_3] = [gradient_1, gradient_2, gradient_3]
            .map(|gradient| gradient.or(fold.is_usable, nothing));
        let gradient_0 = gradient_1.add(gradient_2).add(gradient_3).neg();
        store_bend_ends(
            simd,
            memory,
            rows,
            &block,
            [gradient_0, gradient_1, gradient_2, gradient_3],
        );
    }
}
