//! Twin of `shaders/stage/implicit.wgsl`.

use glam::{Vec2, Vec3, vec2};
use poplin_layout::{
    BEND_FACE_ANGLE, BEND_WORDS, MIN_EDGE_SQUARE, MIN_HINGE_SQUARE, PI, SHAPE_WORDS, SOLVE_CHECK,
    SOLVE_CHECK_INTERVAL, SOLVE_DIRECTIONS, SOLVE_DONE, SOLVE_EXHAUSTED, SOLVE_FORCES,
    SOLVE_GROWTH, SOLVE_LINE, SOLVE_MAX, SOLVE_MAX_REACH, SOLVE_MOVES, SOLVE_PARTICLE_ARRAYS,
    SOLVE_PARTS, SOLVE_PREDICTIONS, SOLVE_RESIDUALS, SOLVE_ROUNDING, SOLVE_START, SOLVE_STATE_ROWS,
    SOLVE_SUMS, SOLVE_TRIALS, STRETCH_THREADS, TAU, max_evaluations,
};

use super::bend::has_height;
use crate::ClothMemory;
use crate::math::{atan2_portable, cross3, dot3, particle as pack, xyz};

/// Row k of the state; see the shader.
pub fn solve_state(memory: &ClothMemory<'_>, k: u32) -> u32 {
    memory.load_implicit().solve_begin + k
}

/// First of the two rows of the sums of a part.
pub fn part_row(memory: &ClothMemory<'_>, part: u32) -> u32 {
    memory.load_implicit().solve_begin + SOLVE_STATE_ROWS + 2 * part
}

/// First of the two rows of a sum of parts.
pub fn sum_row(memory: &ClothMemory<'_>, sum: u32) -> u32 {
    part_row(memory, SOLVE_PARTS + sum)
}

/// Row of particle i in an array of the solve.
pub fn solve_row(memory: &ClothMemory<'_>, array: u32, i: u32) -> u32 {
    part_row(memory, SOLVE_PARTS + SOLVE_SUMS) + array * memory.cloth.particle_count + i
}

/// Row of a corner of a triangle: the gradient of its energy there \[N\].
pub fn corner_row(memory: &ClothMemory<'_>, corner: u32) -> u32 {
    solve_row(memory, SOLVE_PARTICLE_ARRAYS, corner)
}

/// Row of a bend end: the gradient of its energy there \[N\].
pub fn bend_end_row(memory: &ClothMemory<'_>, end: u32) -> u32 {
    corner_row(memory, 3 * memory.cloth.fabric.triangle_count + end)
}

/// Where the rates of particle i are in `fabric_pool`; behind those of the last one the lists of bend ends.
pub fn rate_row(memory: &ClothMemory<'_>, i: u32) -> u32 {
    let fabric = &memory.cloth.fabric;
    fabric.element_begin + SHAPE_WORDS * fabric.triangle_count + 4 * i
}

/// Number of bends.
pub fn bend_count(memory: &ClothMemory<'_>) -> u32 {
    let fabric = &memory.cloth.fabric;
    memory.fabric(fabric.bend_set_begin + fabric.bend_set_count)
}

/// Most evaluations of a step.
pub fn evaluation_count(memory: &ClothMemory<'_>) -> u32 {
    max_evaluations(memory.load_implicit().max_iterations)
}

/// -1 + |d|^2; see the shader.
fn excess_square(d: Vec3) -> f32 {
    -1.0 + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Begins a step at the prediction of particle i; see the shader.
pub fn begin_solve(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let predicted = xyz(particle) - xyz(memory.load_previous(i));
    let mass = if particle[3] > 0.0 { 1.0 / particle[3] } else { 0.0 };
    memory.store_current(i, pack(predicted, particle[3]));
    for (array, row) in [
        (SOLVE_PREDICTIONS, pack(predicted, particle[3])),
        (SOLVE_MOVES, pack(predicted, mass)),
        (SOLVE_RESIDUALS, [0.0; 4]),
        (SOLVE_TRIALS, [0.0; 4]),
        (SOLVE_DIRECTIONS, [0.0; 4]),
        (SOLVE_FORCES, [0.0; 4]),
    ] {
        memory.store_scratch(solve_row(memory, array, i), row);
    }
    if i == 0 {
        let has_bends = memory.load_implicit().rigidity > 0.0;
        let takes = if has_bends { 1.0 } else { 0.0 };
        memory.store_scratch(solve_state(memory, 1), [0.0, 0.0, SOLVE_START, takes]);
        memory.store_scratch(solve_state(memory, 3), [0.0; 4]);
    }
}

/// Edge from particle a to particle b of the trial \[m\].
fn trial_edge(memory: &ClothMemory<'_>, a: u32, b: u32) -> Vec3 {
    previous_edge(memory, a, b) + (xyz(memory.load_current(b)) - xyz(memory.load_current(a)))
}

/// Edge from particle a to particle b one step ago \[m\].
fn previous_edge(memory: &ClothMemory<'_>, a: u32, b: u32) -> Vec3 {
    xyz(memory.load_previous(b)) - xyz(memory.load_previous(a))
}

/// Gradient of the energy of triangle t at its corners, to scratch; see the shader.
pub fn stretch_triangle(memory: &mut ClothMemory<'_>, t: u32) {
    let corners = memory.cloth.fabric.triangle_begin + 3 * t;
    let [i0, i1, i2] = [0, 1, 2].map(|k| memory.fabric(corners + k));
    let fabric = &memory.cloth.fabric;
    let [u_second, u_third, v_second, v_third, area] = [0, 1, 2, 3, 4]
        .map(|k| memory.fabric_f32(fabric.element_begin + k * fabric.triangle_count + t));
    let p = trial_edge(memory, i0, i1);
    let q = trial_edge(memory, i0, i2);
    let wu = p * u_second + q * u_third;
    let wv = p * v_second + q * v_third;
    let implicit = memory.load_implicit();
    let share = implicit.stretch_memory;
    let (mut last_u, mut last_v) = (Vec3::ZERO, Vec3::ZERO);
    if share > 0.0 {
        let last_p = previous_edge(memory, i0, i1);
        let last_q = previous_edge(memory, i0, i2);
        last_u = last_p * u_second + last_q * u_third;
        last_v = last_p * v_second + last_q * v_third;
    }
    let last_shear = dot3(last_u, last_v) * share;
    let (pu, pv);
    if implicit.stretch_model == STRETCH_THREADS {
        let shear = implicit.shear_stiffness * (dot3(wu, wv) - last_shear);
        let rest_u = implicit.rest_fraction + dot3(last_u, last_u).sqrt() * share;
        let rest_v = implicit.rest_fraction + dot3(last_v, last_v).sqrt() * share;
        pu = wu * (implicit.stiffness_u * slack(wu, rest_u)) + wv * shear;
        pv = wv * (implicit.stiffness_v * slack(wv, rest_v)) + wu * shear;
    } else {
        let mut strain_u = excess_square(wu);
        let mut strain_v = excess_square(wv);
        if share > 0.0 {
            strain_u -= excess_square(last_u) * share;
            strain_v -= excess_square(last_v) * share;
        }
        let pressure = implicit.stiffness_u * 0.5 * (strain_u + strain_v);
        let shear = implicit.stiffness_v * (dot3(wu, wv) - last_shear);
        pu = wu * (implicit.stiffness_v * strain_u + pressure) + wv * shear;
        pv = wv * (implicit.stiffness_v * strain_v + pressure) + wu * shear;
    }
    let gradient_1 = pu * (u_second * area) + pv * (v_second * area);
    let gradient_2 = pu * (u_third * area) + pv * (v_third * area);
    let row = corner_row(memory, 3 * t);
    memory.store_scratch(row, pack(-(gradient_1 + gradient_2), 0.0));
    memory.store_scratch(row + 1, pack(gradient_1, 0.0));
    memory.store_scratch(row + 2, pack(gradient_2, 0.0));
}

/// 1 - rest/|w|, 0 without a length.
fn slack(w: Vec3, rest: f32) -> f32 {
    let square = dot3(w, w);
    if square > MIN_EDGE_SQUARE { 1.0 - rest / square.sqrt() } else { 0.0 }
}

/// What two triangles at an edge have in common for energies of bending; see the shader.
struct Fold {
    normal_2: Vec3,
    normal_3: Vec3,
    edge_square: f32,
    squares: Vec2,
}

impl Fold {
    /// The fold of an edge and its sides; `None` if a triangle has no height.
    fn new(edge: Vec3, side_2: Vec3, side_3: Vec3) -> Option<Self> {
        let normal_2 = cross3(edge, side_2);
        let normal_3 = cross3(side_3, edge);
        let edge_square = dot3(edge, edge);
        let squares = vec2(dot3(normal_2, normal_2), dot3(normal_3, normal_3));
        let is_usable = edge_square > MIN_HINGE_SQUARE
            && has_height(edge_square, dot3(side_2, side_2), squares.x)
            && has_height(edge_square, dot3(side_3, side_3), squares.y);
        is_usable.then_some(Self { normal_2, normal_3, edge_square, squares })
    }

    /// Angle less that at rest \[rad\]; see the shader.
    fn angle_error(&self, edge: Vec3, rest: f32) -> f32 {
        let unit_2 = self.normal_2 / self.squares.x.sqrt();
        let unit_3 = self.normal_3 / self.squares.y.sqrt();
        let angle = atan2_portable(
            dot3(cross3(unit_2, unit_3), edge / self.edge_square.sqrt()),
            dot3(unit_2, unit_3),
        );
        let mut error = angle - rest;
        if error > PI {
            error -= TAU;
        } else if error <= -PI {
            error += TAU;
        }
        error
    }

    /// Depths over heights less the sine of the rest angle; see the shader.
    fn depth_errors(&self, side_2: Vec3, side_3: Vec3, heights: Vec2, sine: f32) -> Vec2 {
        let depth_2 = dot3(side_2, self.normal_3) / self.squares.y.sqrt();
        let depth_3 = dot3(side_3, self.normal_2) / self.squares.x.sqrt();
        vec2(-depth_2 / heights.x - sine, -depth_3 / heights.y - sine)
    }
}

/// Gradient of the energy of a bend at its particles, to scratch; see the shader.
pub fn fold_bend(memory: &mut ClothMemory<'_>, bend: u32) {
    let row = memory.cloth.fabric.bend_begin + BEND_WORDS * bend;
    let [i0, i1, i2, i3] = [0, 1, 2, 3].map(|k| memory.fabric(row + k));
    let implicit = memory.load_implicit();
    let stiffness = implicit.rigidity * memory.fabric_f32(row + 5);
    let share = implicit.bend_memory;
    let edge = trial_edge(memory, i0, i1);
    let side_2 = trial_edge(memory, i0, i2);
    let side_3 = trial_edge(memory, i0, i3);
    let (mut gradient_1, mut gradient_2, mut gradient_3) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    if let Some(fold) = Fold::new(edge, side_2, side_3) {
        let last_edge = previous_edge(memory, i0, i1);
        let last_2 = previous_edge(memory, i0, i2);
        let last_3 = previous_edge(memory, i0, i3);
        let last = if share > 0.0 { Fold::new(last_edge, last_2, last_3) } else { None };
        if implicit.bend_model == BEND_FACE_ANGLE {
            let rest = memory.fabric_f32(row + 4);
            let mut error = fold.angle_error(edge, rest);
            if let Some(last) = last {
                error -= last.angle_error(last_edge, rest) * share;
            }
            let moment = stiffness * error * fold.edge_square.sqrt();
            gradient_2 = fold.normal_2 * (-moment / fold.squares.x);
            gradient_3 = fold.normal_3 * (-moment / fold.squares.y);
            gradient_1 = gradient_2 * -(dot3(side_2, edge) / fold.edge_square)
                - gradient_3 * (dot3(side_3, edge) / fold.edge_square);
        } else {
            let heights = vec2(memory.fabric_f32(row + 6), memory.fabric_f32(row + 7));
            let sine = memory.fabric_f32(row + 8);
            let mut errors = fold.depth_errors(side_2, side_3, heights, sine);
            if let Some(last) = last {
                errors -= last.depth_errors(last_2, last_3, heights, sine) * share;
            }
            let force_2 = 0.5 * stiffness * errors.x / heights.x;
            let force_3 = 0.5 * stiffness * errors.y / heights.y;
            let push_2 = fold.normal_3 * (force_2 / fold.squares.y.sqrt());
            let push_3 = fold.normal_2 * (force_3 / fold.squares.x.sqrt());
            let at_2 = dot3(cross3(edge, side_3), fold.normal_2) / fold.squares.x;
            let at_3 = -dot3(cross3(edge, side_2), fold.normal_3) / fold.squares.y;
            let foot_3 = dot3(cross3(side_3, side_2), fold.normal_2) / fold.squares.x;
            let foot_2 = -dot3(cross3(side_2, side_3), fold.normal_3) / fold.squares.y;
            gradient_1 = push_3 * foot_3 + push_2 * foot_2;
            gradient_2 = push_3 * at_2 - push_2;
            gradient_3 = push_2 * at_3 - push_3;
        }
    }
    let first = bend_end_row(memory, 4 * bend);
    memory.store_scratch(first, pack(-(gradient_1 + gradient_2 + gradient_3), 0.0));
    memory.store_scratch(first + 1, pack(gradient_1, 0.0));
    memory.store_scratch(first + 2, pack(gradient_2, 0.0));
    memory.store_scratch(first + 3, pack(gradient_3, 0.0));
}

/// Gradient of the energy of the triangles of particle i \[N\], in ascending order.
fn stretch_gradient(memory: &ClothMemory<'_>, i: u32) -> Vec3 {
    let begin = memory.fabric(memory.cloth.fabric.corner_begin + i);
    let end = memory.fabric(memory.cloth.fabric.corner_begin + i + 1);
    let corners = memory.cloth.fabric.corner_begin + memory.cloth.particle_count + 1;
    let mut gradient = Vec3::ZERO;
    for k in begin..end {
        gradient += xyz(memory.load_scratch(corner_row(memory, memory.fabric(corners + k))));
    }
    gradient
}

/// Gradient of the energy of the bends of particle i \[N\], in ascending order.
fn bend_gradient(memory: &ClothMemory<'_>, i: u32) -> Vec3 {
    let begins = rate_row(memory, memory.cloth.particle_count);
    let begin = memory.fabric(begins + i);
    let end = memory.fabric(begins + i + 1);
    let ends = begins + memory.cloth.particle_count + 1;
    let mut gradient = Vec3::ZERO;
    for k in begin..end {
        gradient += xyz(memory.load_scratch(bend_end_row(memory, memory.fabric(ends + k))));
    }
    gradient
}

/// Whether forces of bends are taken in this evaluation.
pub fn takes_bends(memory: &ClothMemory<'_>) -> bool {
    memory.load_scratch(solve_state(memory, 1))[3] > 0.0
}

/// Whether the solve is done.
pub fn is_solved(memory: &ClothMemory<'_>) -> bool {
    memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_DONE
}

/// Residuals of the trial of every `SOLVE_PARTS`-th particle, and their sums; see the shader.
pub fn sum_part(memory: &mut ClothMemory<'_>, part: u32) {
    let takes = takes_bends(memory);
    let is_start = memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_START;
    let step_square = memory.load_implicit().step_square;
    let mut sums = [0.0f32; 4];
    let mut rates = [0.0f32; 4];
    for i in (part..memory.cloth.particle_count).step_by(SOLVE_PARTS as usize) {
        let prediction = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i));
        if prediction[3] > 0.0 {
            let mut force = xyz(memory.load_scratch(solve_row(memory, SOLVE_FORCES, i)));
            if takes {
                force = bend_gradient(memory, i);
                memory.store_scratch(solve_row(memory, SOLVE_FORCES, i), pack(force, 0.0));
            }
            force = stretch_gradient(memory, i) + force;
            let trial = xyz(prediction)
                - xyz(memory.load_current(i))
                - force * (step_square * prediction[3]);
            memory.store_scratch(solve_row(memory, SOLVE_TRIALS, i), pack(trial, 0.0));
            let load = |array| memory.load_scratch(solve_row(memory, array, i));
            let mass = load(SOLVE_MOVES)[3];
            let square = dot3(trial, trial);
            sums[0] += mass * dot3(trial, xyz(load(SOLVE_DIRECTIONS)));
            sums[1] += mass * dot3(trial, xyz(load(SOLVE_RESIDUALS)));
            sums[2] += mass * square;
            sums[3] = sums[3].max(square);
            if is_start {
                rates = largest(rates, particle_rates(memory, i, prediction[3]));
            }
        }
    }
    memory.store_scratch(part_row(memory, part), sums);
    memory.store_scratch(part_row(memory, part) + 1, rates);
}

/// The larger of both, coordinate by coordinate.
fn largest(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|k| a[k].max(b[k]))
}

/// Squared rates of particle i; see the shader.
fn particle_rates(memory: &ClothMemory<'_>, i: u32, inverse_mass: f32) -> [f32; 4] {
    let row = rate_row(memory, i);
    let implicit = memory.load_implicit();
    let along_u = implicit.rate_u * memory.fabric_f32(row);
    let along_v = implicit.rate_v * memory.fabric_f32(row + 1);
    let stretch = (along_u + along_v) * inverse_mass;
    let bend = implicit.rigidity * memory.fabric_f32(row + 2) * inverse_mass;
    [stretch, bend, stretch * memory.fabric_f32(row + 3), 0.0]
}

/// Adds sums of parts from row `begin` on, in order.
fn add_sums(memory: &ClothMemory<'_>, begin: u32, count: u32) -> [[f32; 4]; 2] {
    let mut sums = [0.0f32; 4];
    let mut rates = [0.0f32; 4];
    for k in 0..count {
        let part = memory.load_scratch(begin + 2 * k);
        (0..3).for_each(|axis| sums[axis] += part[axis]);
        sums[3] = sums[3].max(part[3]);
        rates = largest(rates, memory.load_scratch(begin + 2 * k + 1));
    }
    [sums, rates]
}

/// Adds as many parts as there are in a sum.
pub fn sum_parts(memory: &mut ClothMemory<'_>, sum: u32) {
    let count = SOLVE_PARTS / SOLVE_SUMS;
    let [sums, rates] = add_sums(memory, part_row(memory, sum * count), count);
    memory.store_scratch(sum_row(memory, sum), sums);
    memory.store_scratch(sum_row(memory, sum) + 1, rates);
}

/// Decides by the sums over all particles how the solve continues; see the shader.
pub fn choose_step(memory: &mut ClothMemory<'_>, _item: u32) {
    let [sums, rates] = add_sums(memory, sum_row(memory, 0), SOLVE_SUMS);
    let state = |k| memory.load_scratch(solve_state(memory, k));
    let mode = state(1)[2];
    let products = state(2);
    let last = state(3);
    let implicit = memory.load_implicit();
    let has_bends = implicit.rigidity > 0.0;
    let step_square = implicit.step_square;
    let is_sane = (sums[0] + sums[1] + sums[2]).abs() <= SOLVE_MAX;
    let [mut iterations, mut tolerance_square, holds, _] = last;
    let mut holds_bends = holds > 0.0;
    let mut first_trial = products[3];
    let mut next_mode = SOLVE_LINE;
    let (mut step, mut kept, mut taken) = (0.0f32, 0.0f32, 1.0f32);
    let [mut rd, mut overlap, mut rr, _] = sums;
    let mut trial = products[2];
    if mode == SOLVE_START {
        let tolerance = implicit.tolerance.max(SOLVE_ROUNDING * rates[2] * step_square);
        tolerance_square = tolerance * tolerance;
        holds_bends = rates[1] * step_square <= 1.0;
        let reach = (2.0 * rates[0] * step_square).min(SOLVE_MAX_REACH);
        first_trial = if reach > 4.0 { 4.0 / reach } else { 1.0 };
        trial = first_trial;
    }
    if mode == SOLVE_LINE {
        iterations += 1.0;
        step = 2.0 * products[2];
        if sums[0] < products[1] {
            step = products[2] * products[1] / (products[1] - sums[0]);
        }
        step = step.min(SOLVE_GROWTH * products[2]).min(1.0);
        taken = step / products[2];
        kept = 1.0 - taken;
        rr = kept * kept * products[0] + 2.0 * (taken * kept) * sums[1] + taken * taken * sums[2];
        overlap = kept * products[0] + taken * sums[1];
        rd = kept * products[1] + taken * sums[0];
        trial = step.max(0.015625 * first_trial);
        let is_due = (iterations as u32).is_multiple_of(SOLVE_CHECK_INTERVAL);
        let is_last = iterations as u32 >= implicit.max_iterations;
        let is_exhausted = rr <= SOLVE_EXHAUSTED * products[0];
        if is_due || is_last || is_exhausted {
            next_mode = SOLVE_CHECK;
        }
        if is_exhausted && !is_due && !is_last {
            iterations += 1.0;
        }
    }
    let is_check = mode != SOLVE_LINE;
    let is_solved = is_sane && is_check && sums[3] <= tolerance_square;
    let is_over = is_check && iterations as u32 >= implicit.max_iterations;
    let number = |is_set: bool| if is_set { 1.0 } else { 0.0 };
    if !is_sane || is_solved || is_over {
        let [steps, total, unconverged, held] = state(4);
        let counters = [
            steps + 1.0,
            total + iterations,
            unconverged + number(is_sane && !is_solved),
            held + number(!is_sane),
        ];
        memory.store_scratch(solve_state(memory, 4), counters);
        let outcome = [iterations, tolerance_square, 0.0, number(!is_sane)];
        memory.store_scratch(solve_state(memory, 3), outcome);
        memory.store_scratch(solve_state(memory, 1), [0.0, 0.0, SOLVE_DONE, 0.0]);
    } else {
        let takes = number(has_bends && (next_mode == SOLVE_CHECK || !holds_bends));
        let rows = if next_mode == SOLVE_CHECK {
            [
                [step, 1.0, 0.0, 0.0],
                [1.0, 0.0, SOLVE_CHECK, takes],
                [products[0], products[1], trial, first_trial],
            ]
        } else {
            let mut mixed = 0.0;
            if mode != SOLVE_START {
                mixed = ((rr - overlap) / products[0]).max(0.0);
            }
            let mut descent = rr + mixed * rd;
            // NaN fails too.
            if !matches!(descent.partial_cmp(&0.0), Some(std::cmp::Ordering::Greater)) {
                mixed = 0.0;
                descent = rr;
            }
            [
                [step, kept, taken, 1.0],
                [mixed, trial, SOLVE_LINE, takes],
                [rr, descent, trial, first_trial],
            ]
        };
        for (k, row) in (0..).zip(rows) {
            memory.store_scratch(solve_state(memory, k), row);
        }
        let next = [iterations, tolerance_square, number(holds_bends), 0.0];
        memory.store_scratch(solve_state(memory, 3), next);
    }
}

/// Moves particle i along the direction, updates its residual and direction, and makes the next trial.
pub fn take_step(memory: &mut ClothMemory<'_>, i: u32) {
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0));
    let [mixed, trial, ..] = memory.load_scratch(solve_state(memory, 1));
    let load = |array| memory.load_scratch(solve_row(memory, array, i));
    let displacement = load(SOLVE_MOVES);
    let direction = xyz(load(SOLVE_DIRECTIONS));
    let inverse_mass = load(SOLVE_PREDICTIONS)[3];
    let moved = xyz(displacement) + direction * step;
    let residual = xyz(load(SOLVE_RESIDUALS)) * kept + xyz(load(SOLVE_TRIALS)) * taken;
    let next_direction = residual * renewed + direction * mixed;
    let row = |array| solve_row(memory, array, i);
    let [moves, residuals, directions] = [SOLVE_MOVES, SOLVE_RESIDUALS, SOLVE_DIRECTIONS].map(row);
    memory.store_scratch(moves, pack(moved, displacement[3]));
    memory.store_scratch(residuals, pack(residual, 0.0));
    memory.store_scratch(directions, pack(next_direction, 0.0));
    memory.store_current(i, pack(moved + next_direction * trial, inverse_mass));
}

/// Moves particle i to where the solve has found it to be; see the shader.
pub fn end_solve(memory: &mut ClothMemory<'_>, i: u32) {
    let prediction = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i));
    let mut displacement = xyz(memory.load_scratch(solve_row(memory, SOLVE_MOVES, i)));
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    if prediction[3] > 0.0 && is_held {
        displacement = Vec3::ZERO;
    }
    let position = xyz(memory.load_previous(i)) + displacement;
    memory.store_current(i, pack(position, prediction[3]));
}
