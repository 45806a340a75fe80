//! Implicit solve: backward Euler by non-linear conjugate gradients. Twin of
//! `shaders/stage/implicit.wgsl`.
//!
//! From `begin_solve` to `end_solve` the current position of a particle is its displacement u from
//! the previous one: differences of small numbers keep the digits that the forces of stiff cloth
//! consist of.

mod chains;
mod control;
mod fold;
mod rows;
mod springs;
mod stretch;

use glam::Vec3;
use poplin_layout::{
    SOLVE_DIRECTIONS, SOLVE_DONE, SOLVE_FORCES, SOLVE_INERTIA, SOLVE_LINE, SOLVE_MOVES,
    SOLVE_PARTS, SOLVE_PLANE_DEPTH, SOLVE_PLANES, SOLVE_PREDICTIONS, SOLVE_RESIDUALS, SOLVE_START,
    SOLVE_SUMS, SOLVE_TRIALS, Stage, StageMask,
};

use self::fold::bend_gradient;
use self::rows::{chain_value_row, sum_row};
use self::springs::spring_sum;
use self::stretch::stretch_gradient;
use super::collide_box::touch_boxes;
use super::collide_convex::touch_convexes;
use super::collide_shape::touch_shapes;
use super::collide_triangle::touch_mesh;
use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::math::{dot3, particle as pack, xyz};

pub use self::rows::{
    bend_count, bends_springs, chain_begin, chain_end, corner_row, evaluation_count, is_factored,
    is_preconditioned, is_solved, is_start, link_particle, part_row, rate_row, solve_row,
    solve_state, stretches_springs, takes_bends,
};
pub use self::springs::{spring_end, spring_list, spring_rest, spring_stiffness, springs_of};

/// Begins a step at the prediction of particle i.
///
/// A step may be made in 2^j equal parts, each a step of backward Euler. External acceleration adds
/// as much speed to each: the displacement of a part exceeds that of the part before by (y - x -
/// inertia) / 4^j.
pub fn begin_solve(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let predicted = xyz(particle) - xyz(memory.load_previous(i));
    let mut inertia = predicted;
    if memory.runs(Stage::Integrate) && particle[3] > 0.0 {
        inertia = xyz(memory.load_scratch(solve_row(memory, SOLVE_INERTIA, i)));
    }
    let fraction = memory.load_implicit().fraction;
    // Displacement by external acceleration scales with the square of the step.
    let added = (predicted - inertia) * (fraction * fraction);
    memory.store_scratch(solve_row(memory, SOLVE_INERTIA, i), pack(added, 0.0));
    let start = if fraction < 1.0 { inertia * fraction + added } else { predicted };
    start_at(memory, i, start, particle[3]);
    if i == 0 {
        let has_bends = memory.load_implicit().rigidity > 0.0;
        let takes = if has_bends { 1.0 } else { 0.0 };
        memory.store_scratch(solve_state(memory, 1), [0.0, 0.0, SOLVE_START, takes]);
        memory.store_scratch(solve_state(memory, 3), [0.0; 4]);
        memory.store_scratch(solve_state(memory, 6), [0.0; 4]);
    }
}

/// Initializes the solve of particle i with a prediction and an inverse mass.
fn start_at(memory: &mut ClothMemory<'_>, i: u32, prediction: Vec3, inverse_mass: f32) {
    let mass = if inverse_mass > 0.0 { 1.0 / inverse_mass } else { 0.0 };
    memory.store_current(i, pack(prediction, inverse_mass));
    for (array, row) in [
        (SOLVE_PREDICTIONS, pack(prediction, inverse_mass)),
        (SOLVE_MOVES, pack(prediction, mass)),
        (SOLVE_RESIDUALS, [0.0; 4]),
        (SOLVE_TRIALS, [0.0; 4]),
        (SOLVE_DIRECTIONS, [0.0; 4]),
        (SOLVE_FORCES, [0.0; 4]),
        (SOLVE_PLANES, [0.0; 4]),
    ] {
        memory.store_scratch(solve_row(memory, array, i), row);
    }
}

/// Tests whether this evaluation searches for contacts: all but those of line searches.
pub fn probes_contacts(memory: &ClothMemory<'_>) -> bool {
    StageMask(memory.registers.stages).intersects(StageMask::PROBES)
        && memory.load_scratch(solve_state(memory, 1))[2] != SOLVE_LINE
}

/// Tests the trial of particle i against all shapes. A particle inside is kept out by the plane of
/// its mean exit, with the energy kc/2 max(0, o - n . u)^2.
///
/// A plane never moves a particle outwards that was behind it one step ago, except along with the
/// shape: the stages after the solve do. It is kept while it explains half of the depth, so that
/// rounding of positions does not disturb the solve.
pub fn probe_contacts(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    if particle[3] > 0.0 {
        let x = xyz(memory.load_previous(i)) + xyz(particle);
        let mut contacts = Contacts::default();
        if memory.runs(Stage::CollideConvex) {
            touch_convexes(memory, x, &mut contacts);
        }
        if memory.runs(Stage::CollideBox) {
            touch_boxes(memory, x, &mut contacts);
        }
        if memory.runs(Stage::CollideTriangle) {
            touch_mesh(memory, i, x, &mut contacts);
        }
        if StageMask(memory.registers.stages).intersects(StageMask::SPHERES) {
            touch_shapes(memory, x, &mut contacts);
        }
        if contacts.count > 0.0 {
            let push = contacts.push / contacts.count;
            let depth = dot3(push, push).sqrt();
            let row = solve_row(memory, SOLVE_PLANES, i);
            let plane = memory.load_scratch(row);
            if depth > SOLVE_PLANE_DEPTH * plane_depth(plane, xyz(particle)) {
                let normal = push / depth;
                let advance = contacts.approach / contacts.count
                    + dot3(contacts.travel, normal) / contacts.count;
                // o = min(n . u + depth, advance of the shape since the last step)
                let reach = (dot3(normal, xyz(particle)) + depth).min(advance.max(0.0));
                memory.store_scratch(row, pack(normal, reach));
            }
        }
    }
}

/// Returns the depth behind a contact plane of a particle displaced by u \[m\].
fn plane_depth(plane: [f32; 4], u: Vec3) -> f32 {
    // max(0, o - n . u)
    (plane[3] - dot3(xyz(plane), u)).max(0.0)
}

/// Returns how far the contact plane of particle i has pushed it in the solve \[m\]; 0 if shapes
/// push it to the other side.
pub(crate) fn borne_push(memory: &ClothMemory<'_>, i: u32, push: Vec3) -> f32 {
    let plane = memory.load_scratch(solve_row(memory, SOLVE_PLANES, i));
    if dot3(xyz(plane), push) > 0.0 { plane[3] } else { 0.0 }
}

/// Returns the residual of the trial of a movable particle i \[m\]: y - u - h^2 w grad E, the
/// negative gradient of m/(2 h^2) |u - y|^2 + E(x + u) in the metric m/h^2.
fn trial_residual(memory: &mut ClothMemory<'_>, i: u32) -> Vec3 {
    let load = |memory: &ClothMemory<'_>, array| memory.load_scratch(solve_row(memory, array, i));
    let prediction = load(memory, SOLVE_PREDICTIONS);
    let mut force = xyz(load(memory, SOLVE_FORCES));
    if takes_bends(memory) {
        force = bend_gradient(memory, i);
        memory.store_scratch(solve_row(memory, SOLVE_FORCES, i), pack(force, 0.0));
    }
    force = stretch_gradient(memory, i) + force;
    let plane = load(memory, SOLVE_PLANES);
    let moved = xyz(memory.load_current(i));
    let implicit = memory.load_implicit();
    // grad of kc/2 depth^2 = -kc depth n
    force -= xyz(plane) * (implicit.contact_stiffness * plane_depth(plane, moved));
    xyz(prediction) - moved - force * (implicit.step_square * prediction[3])
}

/// Stores the residual of the trial of particle i for the chains; 0 for an immovable particle.
pub fn find_residual(memory: &mut ClothMemory<'_>, i: u32) {
    let mut trial = Vec3::ZERO;
    if memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i))[3] > 0.0 {
        trial = trial_residual(memory, i);
    }
    memory.store_scratch(solve_row(memory, SOLVE_TRIALS, i), pack(trial, 0.0));
}

/// Stores the preconditioned residuals z1 of every `SOLVE_PARTS`-th particle from `part` on, and
/// their partial sums: m r1 . d, m r1 . z, m r1 . z1 and the largest |r1|^2; at the start of a
/// solve also the largest squared rates.
pub fn sum_part(memory: &mut ClothMemory<'_>, part: u32) {
    let is_start = memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_START;
    let particle_count = memory.cloth.particle_count;
    let mut sums = [0.0f32; 4];
    let mut rates = [0.0f32; 4];
    for i in (part..particle_count).step_by(SOLVE_PARTS as usize) {
        let prediction = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i));
        if prediction[3] > 0.0 {
            let (trial, conditioned);
            if is_preconditioned(memory) {
                trial = xyz(memory.load_scratch(solve_row(memory, SOLVE_TRIALS, i)));
                let [first, second] = [i, particle_count + i]
                    .map(|entry| xyz(memory.load_scratch(chain_value_row(memory, entry))));
                // Mean of the solutions along both families of chains, back in displacements: z =
                // sqrt(w) x.
                conditioned = (first + second) * (0.5 * prediction[3].sqrt());
            } else {
                trial = trial_residual(memory, i);
                conditioned = trial;
            }
            memory.store_scratch(solve_row(memory, SOLVE_TRIALS, i), pack(conditioned, 0.0));
            let load = |array| memory.load_scratch(solve_row(memory, array, i));
            let mass = load(SOLVE_MOVES)[3];
            let square = dot3(trial, trial);
            sums[0] += mass * dot3(trial, xyz(load(SOLVE_DIRECTIONS)));
            sums[1] += mass * dot3(trial, xyz(load(SOLVE_RESIDUALS)));
            sums[2] += mass * dot3(trial, conditioned);
            sums[3] = sums[3].max(square);
            if is_start {
                let has_plane = xyz(load(SOLVE_PLANES)) != Vec3::ZERO;
                rates = largest(rates, particle_rates(memory, i, prediction[3], has_plane));
            }
        }
    }
    memory.store_scratch(part_row(memory, part), sums);
    memory.store_scratch(part_row(memory, part) + 1, rates);
}

/// Returns the component-wise maximum.
fn largest(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|k| a[k].max(b[k]))
}

/// Returns an upper bound on the bending stiffness at particle i [N/m].
pub fn bend_rate(memory: &ClothMemory<'_>, i: u32) -> f32 {
    if bends_springs(memory) {
        return 2.0 * spring_sum(memory, i, true);
    }
    memory.load_implicit().rigidity * memory.fabric_f32(rate_row(memory, i) + 2)
}

/// Returns the stretch stiffness at particle i at rest, or of its springs along their directions
/// [N/m].
pub fn stretch_rate(memory: &ClothMemory<'_>, i: u32) -> f32 {
    if stretches_springs(memory) {
        return spring_sum(memory, i, false);
    }
    let (row, implicit) = (rate_row(memory, i), memory.load_implicit());
    implicit.rate_u * memory.fabric_f32(row) + implicit.rate_v * memory.fabric_f32(row + 1)
}

/// Returns the squared rates of particle i: of stretch and contact [1/s^2], of bending [1/s^2], and
/// of stretch times the length of its edges [m/s^2].
fn particle_rates(
    memory: &ClothMemory<'_>,
    i: u32,
    inverse_mass: f32,
    has_plane: bool,
) -> [f32; 4] {
    let implicit = memory.load_implicit();
    let stretch = stretch_rate(memory, i) * inverse_mass;
    let bend = bend_rate(memory, i) * inverse_mass;
    let contact = if has_plane { implicit.contact_stiffness * inverse_mass } else { 0.0 };
    [stretch + contact, bend, stretch * memory.fabric_f32(rate_row(memory, i) + 3), 0.0]
}

/// Adds the partial sums from row `begin` on, in order.
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

/// Adds the partial sums of one group of parts.
pub fn sum_parts(memory: &mut ClothMemory<'_>, sum: u32) {
    let count = SOLVE_PARTS / SOLVE_SUMS;
    let [sums, rates] = add_sums(memory, part_row(memory, sum * count), count);
    memory.store_scratch(sum_row(memory, sum), sums);
    memory.store_scratch(sum_row(memory, sum) + 1, rates);
}

/// Moves particle i along its search direction, updates residual and direction, and sets the next
/// trial.
pub fn take_step(memory: &mut ClothMemory<'_>, i: u32) {
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0));
    let [mixed, trial, mode, _] = memory.load_scratch(solve_state(memory, 1));
    if mode == SOLVE_START {
        return begin_part(memory, i, step > 0.0, kept);
    }
    let load = |array| memory.load_scratch(solve_row(memory, array, i));
    let displacement = load(SOLVE_MOVES);
    let direction = xyz(load(SOLVE_DIRECTIONS));
    let inverse_mass = load(SOLVE_PREDICTIONS)[3];
    let moved = xyz(displacement) + direction * step;
    // r = (1 - f) r + f r1;  d = z + beta d
    let residual = xyz(load(SOLVE_RESIDUALS)) * kept + xyz(load(SOLVE_TRIALS)) * taken;
    let next_direction = residual * renewed + direction * mixed;
    let row = |array| solve_row(memory, array, i);
    let [moves, residuals, directions] = [SOLVE_MOVES, SOLVE_RESIDUALS, SOLVE_DIRECTIONS].map(row);
    memory.store_scratch(moves, pack(moved, displacement[3]));
    memory.store_scratch(residuals, pack(residual, 0.0));
    memory.store_scratch(directions, pack(next_direction, 0.0));
    memory.store_current(i, pack(moved + next_direction * trial, inverse_mass));
}

/// Begins the next part of a step for particle i, `ratio` times as long as the last one; after that
/// one if it is taken, else again from its start.
fn begin_part(memory: &mut ClothMemory<'_>, i: u32, is_taken: bool, ratio: f32) {
    let prediction = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i));
    let row = solve_row(memory, SOLVE_INERTIA, i);
    let added = xyz(memory.load_scratch(row));
    let mut inertia = xyz(prediction) - added;
    if is_taken {
        inertia = solved_move(memory, i, prediction[3]);
        let before = memory.load_previous(i);
        memory.store_previous(i, pack(xyz(before) + inertia, before[3]));
    }
    // Displacement by external acceleration scales with the square of the step.
    let next_added = added * (ratio * ratio);
    memory.store_scratch(row, pack(next_added, 0.0));
    start_at(memory, i, inertia * ratio + next_added, prediction[3]);
}

/// Returns the displacement of particle i by the solve; 0 without a finite result, unless the
/// particle is pinned.
fn solved_move(memory: &ClothMemory<'_>, i: u32, inverse_mass: f32) -> Vec3 {
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    if inverse_mass > 0.0 && is_held {
        return Vec3::ZERO;
    }
    xyz(memory.load_scratch(solve_row(memory, SOLVE_MOVES, i)))
}

/// Moves particle i to the result of the solve. After a step in parts the previous position is set
/// back, so that the velocity is that of the last part.
pub fn end_solve(memory: &mut ClothMemory<'_>, i: u32) {
    let prediction = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i));
    debug_assert_eq!(memory.load_scratch(solve_state(memory, 1))[2], SOLVE_DONE);
    let displacement = solved_move(memory, i, prediction[3]);
    let row = solve_row(memory, SOLVE_PLANES, i);
    let plane = memory.load_scratch(row);
    let implicit = memory.load_implicit();
    let strength = implicit.contact_stiffness * implicit.step_square * prediction[3];
    // Displacement by the contact force: h^2 w kc depth, over all parts of the step.
    let push = strength * plane_depth(plane, displacement) * (implicit.split * implicit.split);
    memory.store_scratch(row, pack(xyz(plane), push));
    let before = memory.load_previous(i);
    if implicit.split > 1.0 {
        let start = xyz(before) - displacement * (implicit.split - 1.0);
        memory.store_previous(i, pack(start, before[3]));
    }
    memory.store_current(i, pack(xyz(before) + displacement, prediction[3]));
}

/// Writes the gradient of the stretch energy of triangle t at its corners to scratch.
pub fn stretch_triangle(memory: &mut ClothMemory<'_>, t: u32) {
    stretch::stretch_triangle(memory, t);
}

/// Writes the gradient of the energy of a bend at its four particles to scratch.
pub fn fold_bend(memory: &mut ClothMemory<'_>, bend: u32) {
    fold::fold_bend(memory, bend);
}

/// Writes the terms of the stretch Hessian of triangle t to the rows of its corners.
pub fn direct_triangle(memory: &mut ClothMemory<'_>, t: u32) {
    chains::direct_triangle(memory, t);
}

/// Factors the block-tridiagonal part of the Hessian along a chain.
pub fn factor_chain(memory: &mut ClothMemory<'_>, chain: u32) {
    chains::factor_chain(memory, chain);
}

/// Solves a factored chain for the residuals of its particles.
pub fn solve_chain(memory: &mut ClothMemory<'_>, chain: u32) {
    chains::solve_chain(memory, chain);
}

/// Chooses the next phase of the solve from the sums over all particles.
pub fn choose_step(memory: &mut ClothMemory<'_>, item: u32) {
    control::choose_step(memory, item);
}
