//! Twin of `shaders/stage/implicit.wgsl`.

use glam::{Vec2, Vec3, Vec3Swizzles, vec2};
use poplin_layout::{
    BEND_FACE_ANGLE, BEND_ISOMETRIC, BEND_SPRINGS, BEND_WORDS, END_OF_FIBER, ImplicitConstants,
    MIN_DETERMINANT, MIN_EDGE_SQUARE, MIN_HINGE_SQUARE, NO_OFFSET, PI, PRECONDITIONER_FIBERS,
    SHAPE_WORDS, SOLVE_CHAIN_ROWS, SOLVE_CHECK, SOLVE_DIRECTIONS, SOLVE_DONE, SOLVE_EXHAUSTED,
    SOLVE_FACTOR_INTERVAL, SOLVE_FIRST_REACH, SOLVE_FORCES, SOLVE_GROWTH, SOLVE_INERTIA,
    SOLVE_LINE, SOLVE_MAX, SOLVE_MAX_REACH, SOLVE_MOVES, SOLVE_PARTICLE_ARRAYS, SOLVE_PARTS,
    SOLVE_PLANE_DEPTH, SOLVE_PLANES, SOLVE_PREDICTIONS, SOLVE_RESIDUALS, SOLVE_ROUNDING,
    SOLVE_START, SOLVE_STATE_ROWS, SOLVE_SUMS, SOLVE_TRIALS, SOLVE_WORSE, SPRING_HORIZONTAL,
    SPRING_KINDS, SPRING_SHEARING, SPRING_VERTICAL, STRETCH_SPRINGS, STRETCH_THREADS, Stage,
    StageMask, TAU,
};

use super::bend::has_height;
use super::collide_box::touch_boxes;
use super::collide_convex::touch_convexes;
use super::collide_shape::touch_shapes;
use super::collide_triangle::touch_mesh;
use crate::ClothMemory;
use crate::colliders::Contacts;
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
fn sum_row(memory: &ClothMemory<'_>, sum: u32) -> u32 {
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
fn bend_end_row(memory: &ClothMemory<'_>, end: u32) -> u32 {
    corner_row(memory, 3 * memory.cloth.fabric.triangle_count + end)
}

/// First row of link k of the chains.
fn link_row(memory: &ClothMemory<'_>, k: u32) -> u32 {
    bend_end_row(memory, 4 * bend_count(memory)) + SOLVE_CHAIN_ROWS * k
}

/// Row of what the chain of a family solves for particle i: entry `family * particle_count + i`.
fn chain_value_row(memory: &ClothMemory<'_>, entry: u32) -> u32 {
    link_row(memory, 2 * memory.cloth.particle_count) + entry
}

/// Where the chains are in `fabric_pool`.
fn chain_list(memory: &ClothMemory<'_>) -> u32 {
    let count = memory.cloth.particle_count;
    rate_row(memory, count) + count + 1 + 4 * bend_count(memory)
}

/// Number of chains.
pub fn chain_end(memory: &ClothMemory<'_>) -> u32 {
    memory.fabric(chain_list(memory))
}

/// First link of a chain.
pub fn chain_begin(memory: &ClothMemory<'_>, chain: u32) -> u32 {
    memory.fabric(chain_list(memory) + 1 + chain)
}

/// Where the particles of links are in `fabric_pool`.
fn link_list(memory: &ClothMemory<'_>) -> u32 {
    chain_list(memory) + 2 + chain_end(memory)
}

/// Particle of link k.
pub fn link_particle(memory: &ClothMemory<'_>, k: u32) -> u32 {
    memory.fabric(link_list(memory) + k)
}

/// Whether residuals become directions by chains.
pub fn is_preconditioned(memory: &ClothMemory<'_>) -> bool {
    memory.load_implicit().preconditioner == PRECONDITIONER_FIBERS
}

/// Whether the running evaluation factors chains: the first, and each check after another [`SOLVE_FACTOR_INTERVAL`] iterations.
pub fn is_factored(memory: &ClothMemory<'_>) -> bool {
    let mode = memory.load_scratch(solve_state(memory, 1))[2];
    let iterations = memory.load_scratch(solve_state(memory, 3))[0] as u32;
    mode == SOLVE_START || (mode == SOLVE_CHECK && iterations.is_multiple_of(SOLVE_FACTOR_INTERVAL))
}

/// Whether this is the first evaluation of a solve.
pub fn is_start(memory: &ClothMemory<'_>) -> bool {
    memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_START
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

/// Most evaluations of a whole step.
pub fn evaluation_count(memory: &ClothMemory<'_>) -> u32 {
    memory.load_implicit().evaluation_count
}

/// Whether springs resist stretch and shear, in place of triangles.
pub fn stretches_springs(memory: &ClothMemory<'_>) -> bool {
    memory.load_implicit().stretch_model == STRETCH_SPRINGS
}

/// Whether springs resist bending, in place of bends.
pub fn bends_springs(memory: &ClothMemory<'_>) -> bool {
    memory.load_implicit().bend_model == BEND_SPRINGS
}

/// Where the springs of particles are in `fabric_pool`; see the shader.
pub fn spring_list(memory: &ClothMemory<'_>, of_bends: bool) -> u32 {
    let count = memory.cloth.particle_count;
    let first = link_list(memory) + 2 * count;
    if of_bends { first + count + 1 + 2 * memory.fabric(first + count) } else { first }
}

/// Where the words of the springs of particle i are.
pub fn springs_of(
    memory: &ClothMemory<'_>,
    list: u32,
    i: u32,
) -> impl Iterator<Item = u32> + use<> {
    let words = list + memory.cloth.particle_count + 1;
    let [begin, end] = [list + i, list + i + 1].map(|entry| memory.fabric(entry));
    (begin..end).map(move |k| words + 2 * k)
}

/// Edge of a spring.
fn spring_edge(memory: &ClothMemory<'_>, spring: u32) -> u32 {
    memory.fabric(spring) / SPRING_KINDS
}

/// Particle at the other end of a spring of particle i.
pub fn spring_end(memory: &ClothMemory<'_>, spring: u32, i: u32) -> u32 {
    let ends = memory.cloth.fabric.ends_begin + 2 * spring_edge(memory, spring);
    (memory.fabric(ends) ^ memory.fabric(ends + 1) ^ i) & !END_OF_FIBER
}

/// Stiffness of a spring [N/m].
pub fn spring_stiffness(
    memory: &ClothMemory<'_>,
    implicit: &ImplicitConstants,
    spring: u32,
) -> f32 {
    let stiffness = match memory.fabric(spring) % SPRING_KINDS {
        SPRING_VERTICAL => implicit.stiffness_v,
        SPRING_HORIZONTAL => implicit.stiffness_u,
        SPRING_SHEARING => implicit.shear_stiffness,
        _ => implicit.rigidity,
    };
    stiffness * memory.fabric_f32(spring + 1)
}

/// Rest length of a spring \[m\].
pub fn spring_rest(memory: &ClothMemory<'_>, spring: u32) -> f32 {
    memory.rest_length_of(spring_edge(memory, spring))
}

/// Sum of the stiffnesses of the springs of particle i [N/m].
fn spring_sum(memory: &ClothMemory<'_>, i: u32, of_bends: bool) -> f32 {
    let implicit = memory.load_implicit();
    let mut sum = 0.0;
    for spring in springs_of(memory, spring_list(memory, of_bends), i) {
        sum += spring_stiffness(memory, &implicit, spring);
    }
    sum
}

/// Gradient of the energy of the springs of particle i \[N\]; see the shader.
fn spring_gradient(memory: &ClothMemory<'_>, i: u32, of_bends: bool) -> Vec3 {
    let implicit = memory.load_implicit();
    let (share, rest_fraction) = if of_bends {
        (implicit.bend_memory, implicit.bend_rest_fraction)
    } else {
        (implicit.stretch_memory, implicit.rest_fraction)
    };
    let mut gradient = Vec3::ZERO;
    for spring in springs_of(memory, spring_list(memory, of_bends), i) {
        let other = spring_end(memory, spring, i);
        let edge = trial_edge(memory, i, other);
        let mut rest = spring_rest(memory, spring) * rest_fraction;
        if share > 0.0 {
            let last = previous_edge(memory, i, other);
            rest += dot3(last, last).sqrt() * share;
        }
        let mut pull = slack(edge, rest) * spring_stiffness(memory, &implicit, spring);
        if pull < 0.0 && !of_bends {
            pull *= implicit.compression;
        }
        gradient -= edge * pull;
    }
    gradient
}

/// -1 + |d|^2; see the shader.
fn excess_square(d: Vec3) -> f32 {
    -1.0 + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Begins a step at the prediction of particle i; see the shader.
pub fn begin_solve(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let predicted = xyz(particle) - xyz(memory.load_previous(i));
    let mut inertia = predicted;
    if memory.runs(Stage::Integrate) && particle[3] > 0.0 {
        inertia = xyz(memory.load_scratch(solve_row(memory, SOLVE_INERTIA, i)));
    }
    let fraction = memory.load_implicit().fraction;
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

/// Begins a solve for particle i with this prediction and inverse mass.
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

/// Whether this evaluation looks for contacts: where forces are taken as they are.
pub fn probes_contacts(memory: &ClothMemory<'_>) -> bool {
    StageMask(memory.registers.stages).intersects(StageMask::PROBES)
        && memory.load_scratch(solve_state(memory, 1))[2] != SOLVE_LINE
}

/// Looks whether the trial has particle i in shapes; see the shader.
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
                let reach = (dot3(normal, xyz(particle)) + depth).min(advance.max(0.0));
                memory.store_scratch(row, pack(normal, reach));
            }
        }
    }
}

/// How far a particle that moves by u is behind a plane of contact \[m\].
fn plane_depth(plane: [f32; 4], u: Vec3) -> f32 {
    (plane[3] - dot3(xyz(plane), u)).max(0.0)
}

/// How far the plane of contact of particle i has pushed it in the solve, if shapes push it to the same side \[m\].
pub(crate) fn borne_push(memory: &ClothMemory<'_>, i: u32, push: Vec3) -> f32 {
    let plane = memory.load_scratch(solve_row(memory, SOLVE_PLANES, i));
    if dot3(xyz(plane), push) > 0.0 { plane[3] } else { 0.0 }
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
    if implicit.bend_model == BEND_ISOMETRIC {
        let heights = vec2(memory.fabric_f32(row + 6), memory.fabric_f32(row + 7));
        let weight = memory.fabric_f32(row + 9);
        let mut curvature = edge * weight - side_2 / heights.x - side_3 / heights.y;
        if share > 0.0 {
            let last = previous_edge(memory, i0, i1) * weight
                - previous_edge(memory, i0, i2) / heights.x
                - previous_edge(memory, i0, i3) / heights.y;
            curvature -= last * share;
        }
        let moment = curvature * stiffness;
        gradient_1 = moment * weight;
        gradient_2 = -moment / heights.x;
        gradient_3 = -moment / heights.y;
    } else if let Some(fold) = Fold::new(edge, side_2, side_3) {
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

/// Gradient of the energy of the triangles of particle i \[N\], in ascending order, or of its springs.
fn stretch_gradient(memory: &ClothMemory<'_>, i: u32) -> Vec3 {
    if stretches_springs(memory) {
        return spring_gradient(memory, i, false);
    }
    let begin = memory.fabric(memory.cloth.fabric.corner_begin + i);
    let end = memory.fabric(memory.cloth.fabric.corner_begin + i + 1);
    let corners = memory.cloth.fabric.corner_begin + memory.cloth.particle_count + 1;
    let mut gradient = Vec3::ZERO;
    for k in begin..end {
        gradient += xyz(memory.load_scratch(corner_row(memory, memory.fabric(corners + k))));
    }
    gradient
}

/// Gradient of the energy of the bends of particle i \[N\], in ascending order, or of its springs.
fn bend_gradient(memory: &ClothMemory<'_>, i: u32) -> Vec3 {
    if bends_springs(memory) {
        return spring_gradient(memory, i, true);
    }
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

/// Residual of the trial of particle i with inverse mass; see the shader.
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
    force -= xyz(plane) * (implicit.contact_stiffness * plane_depth(plane, moved));
    xyz(prediction) - moved - force * (implicit.step_square * prediction[3])
}

/// Residual of the trial of particle i, to scratch; see the shader.
pub fn find_residual(memory: &mut ClothMemory<'_>, i: u32) {
    let mut trial = Vec3::ZERO;
    if memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i))[3] > 0.0 {
        trial = trial_residual(memory, i);
    }
    memory.store_scratch(solve_row(memory, SOLVE_TRIALS, i), pack(trial, 0.0));
}

/// What the Hessian of triangle t is made of, to the rows of its corners; see the shader.
pub fn direct_triangle(memory: &mut ClothMemory<'_>, t: u32) {
    let corners = memory.cloth.fabric.triangle_begin + 3 * t;
    let i0 = memory.fabric(corners);
    let p = trial_edge(memory, i0, memory.fabric(corners + 1));
    let q = trial_edge(memory, i0, memory.fabric(corners + 2));
    let wu = p * shape_value(memory, 0, t) + q * shape_value(memory, 1, t);
    let wv = p * shape_value(memory, 2, t) + q * shape_value(memory, 3, t);
    let [all_u, all_v] = [wu, wv].map(|w| slack(w, 1.0).max(0.0));
    let remainders = [remainder_over_square(wu, all_u), remainder_over_square(wv, all_v), 0.0, 0.0];
    let row = corner_row(memory, 3 * t);
    memory.store_scratch(row, pack(wu, all_u));
    memory.store_scratch(row + 1, pack(wv, all_v));
    memory.store_scratch(row + 2, remainders);
}

/// (1 - all) / |w|^2, 0 without a length.
fn remainder_over_square(w: Vec3, all: f32) -> f32 {
    let square = dot3(w, w);
    if square > MIN_EDGE_SQUARE { (1.0 - all) / square } else { 0.0 }
}

/// Number k of the rest shape of triangle t.
fn shape_value(memory: &ClothMemory<'_>, k: u32, t: u32) -> f32 {
    let fabric = &memory.cloth.fabric;
    memory.fabric_f32(fabric.element_begin + k * fabric.triangle_count + t)
}

/// Weights of a corner of triangle t in the derivatives by u and v.
fn corner_weights(memory: &ClothMemory<'_>, t: u32, corner: u32) -> Vec2 {
    let second = vec2(shape_value(memory, 0, t), shape_value(memory, 2, t));
    let third = vec2(shape_value(memory, 1, t), shape_value(memory, 3, t));
    match corner {
        0 => -(second + third),
        1 => second,
        _ => third,
    }
}

/// Stiffness along u and v and of shear; see the shader.
fn chain_stiffness(memory: &ClothMemory<'_>) -> Vec3 {
    let implicit = memory.load_implicit();
    if implicit.stretch_model == STRETCH_THREADS {
        return Vec3::new(implicit.stiffness_u, implicit.stiffness_v, implicit.shear_stiffness);
    }
    let along = implicit.stiffness_u + 2.0 * implicit.stiffness_v;
    Vec3::new(along, along, implicit.stiffness_v)
}

/// Columns of the Hessian of triangle t between two of its corners; see the shader.
fn corner_block(memory: &ClothMemory<'_>, t: u32, a: Vec2, b: Vec2) -> [Vec3; 3] {
    let row = corner_row(memory, 3 * t);
    let [u, v, remainders] = [0, 1, 2].map(|k| memory.load_scratch(row + k));
    let (wu, wv) = (xyz(u), xyz(v));
    let stiffness = chain_stiffness(memory) * shape_value(memory, 4, t);
    let along_u = stiffness.x * (a.x * b.x);
    let along_v = stiffness.y * (a.y * b.y);
    let all = along_u * u[3] + along_v * v[3];
    let in_u = wu * (along_u * remainders[0]);
    let in_v = wv * (along_v * remainders[1]);
    let ga = (wv * a.x + wu * a.y) * stiffness.z;
    let gb = wv * b.x + wu * b.y;
    [
        Vec3::new(all, 0.0, 0.0) + in_u * wu.x + in_v * wv.x + ga * gb.x,
        Vec3::new(0.0, all, 0.0) + in_u * wu.y + in_v * wv.y + ga * gb.y,
        Vec3::new(0.0, 0.0, all) + in_u * wu.z + in_v * wv.z + ga * gb.z,
    ]
}

/// Columns of the Hessian of a spring of particle i there; see the shader.
fn spring_block(
    memory: &ClothMemory<'_>,
    implicit: &ImplicitConstants,
    spring: u32,
    i: u32,
) -> [Vec3; 3] {
    let edge = trial_edge(memory, i, spring_end(memory, spring, i));
    let all = slack(edge, spring_rest(memory, spring)).max(0.0);
    let stiffness = spring_stiffness(memory, implicit, spring);
    let along = edge * (stiffness * remainder_over_square(edge, all));
    let beside = stiffness * all;
    [
        Vec3::new(beside, 0.0, 0.0) + along * edge.x,
        Vec3::new(0.0, beside, 0.0) + along * edge.y,
        Vec3::new(0.0, 0.0, beside) + along * edge.z,
    ]
}

/// Sum of blocks.
fn add_block(sum: &mut [Vec3; 3], block: [Vec3; 3]) {
    sum.iter_mut().zip(block).for_each(|(sum, column)| *sum += column);
}

/// Factors the part of the Hessian along a chain; see the shader.
pub fn factor_chain(memory: &mut ClothMemory<'_>, chain: u32) {
    let implicit = memory.load_implicit();
    let step_square = implicit.step_square;
    let fabric = memory.cloth.fabric;
    let corners = fabric.corner_begin + memory.cloth.particle_count + 1;
    let mut previous = NO_OFFSET;
    let mut root_before = 0.0;
    let (mut diagonal, mut beside) = (Vec3::ZERO, Vec3::ZERO);
    for k in chain_begin(memory, chain)..chain_begin(memory, chain + 1) {
        let i = link_particle(memory, k);
        let inverse_mass = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i))[3];
        let root = inverse_mass.max(0.0).sqrt();
        let (mut pivot, mut coupling) = ([Vec3::ZERO; 3], [Vec3::ZERO; 3]);
        let has_springs = stretches_springs(memory);
        if has_springs {
            for spring in springs_of(memory, spring_list(memory, false), i) {
                let block = spring_block(memory, &implicit, spring, i);
                add_block(&mut pivot, block);
                if spring_end(memory, spring, i) == previous {
                    add_block(&mut coupling, block.map(|column| -column));
                }
            }
        }
        let begin = memory.fabric(fabric.corner_begin + i);
        let end = if has_springs { 0 } else { memory.fabric(fabric.corner_begin + i + 1) };
        for c in begin..end {
            let entry = memory.fabric(corners + c);
            let t = entry / 3;
            let own = corner_weights(memory, t, entry % 3);
            add_block(&mut pivot, corner_block(memory, t, own, own));
            for other in 0..3 {
                if memory.fabric(fabric.triangle_begin + 3 * t + other) == previous {
                    let beyond = corner_weights(memory, t, other);
                    add_block(&mut coupling, corner_block(memory, t, own, beyond));
                }
            }
        }
        let plane = xyz(memory.load_scratch(solve_row(memory, SOLVE_PLANES, i)));
        let held = plane * implicit.contact_stiffness;
        let bend = bend_rate(memory, i);
        let scale = step_square * inverse_mass;
        let [x, y, z] = pivot;
        let own_diagonal = Vec3::new(x.x, y.y, z.z) + held * plane + bend;
        let own_beside = Vec3::new(y.x, z.x, z.y) + held.xxy() * plane.yzz();
        let between = step_square * (root * root_before);
        let [c0, c1, c2] = coupling.map(|column| column * between);
        let l0 = c0 * diagonal.x + c1 * beside.x + c2 * beside.y;
        let l1 = c0 * beside.x + c1 * diagonal.y + c2 * beside.z;
        let l2 = c0 * beside.y + c1 * beside.z + c2 * diagonal.z;
        let d = 1.0 + own_diagonal * scale - (l0 * c0 + l1 * c1 + l2 * c2);
        let o =
            own_beside * scale - (l0.xxy() * c0.yzz() + l1.xxy() * c1.yzz() + l2.xxy() * c2.yzz());
        let cofactors =
            Vec3::new(d.y * d.z - o.z * o.z, d.x * d.z - o.y * o.y, d.x * d.y - o.x * o.x);
        let minors = Vec3::new(o.y * o.z - o.x * d.z, o.x * o.z - o.y * d.y, o.x * o.y - d.x * o.z);
        let determinant = d.x * cofactors.x + o.x * minors.x + o.y * minors.y;
        if determinant >= MIN_DETERMINANT {
            diagonal = cofactors / determinant;
            beside = minors / determinant;
        } else {
            diagonal = 1.0 / (1.0 + own_diagonal * scale);
            beside = Vec3::ZERO;
        }
        let row = link_row(memory, k);
        memory.store_scratch(row, pack(l0, diagonal.x));
        memory.store_scratch(row + 1, pack(l1, diagonal.y));
        memory.store_scratch(row + 2, pack(l2, diagonal.z));
        memory.store_scratch(row + 3, pack(beside, root));
        previous = i;
        root_before = root;
    }
}

/// Solves a chain for the residuals of its particles; see the shader.
pub fn solve_chain(memory: &mut ClothMemory<'_>, chain: u32) {
    let begin = chain_begin(memory, chain);
    let end = chain_begin(memory, chain + 1);
    let particle_count = memory.cloth.particle_count;
    let values = if begin >= particle_count { particle_count } else { 0 };
    let mut last = Vec3::ZERO;
    for k in begin..end {
        let i = link_particle(memory, k);
        let row = link_row(memory, k);
        let root = memory.load_scratch(row + 3)[3];
        let mut value = Vec3::ZERO;
        if root > 0.0 {
            value = xyz(memory.load_scratch(solve_row(memory, SOLVE_TRIALS, i))) / root;
        }
        let [l0, l1, l2] = [0, 1, 2].map(|column| xyz(memory.load_scratch(row + column)));
        value -= l0 * last.x + l1 * last.y + l2 * last.z;
        memory.store_scratch(chain_value_row(memory, values + i), pack(value, 0.0));
        last = value;
    }
    let mut carried = Vec3::ZERO;
    for k in (begin..end).rev() {
        let i = link_particle(memory, k);
        let row = link_row(memory, k);
        let [l0, l1, l2, beside] = [0, 1, 2, 3].map(|column| memory.load_scratch(row + column));
        let entry = chain_value_row(memory, values + i);
        let value = xyz(memory.load_scratch(entry));
        let solved = Vec3::new(
            l0[3] * value.x + beside[0] * value.y + beside[1] * value.z,
            beside[0] * value.x + l1[3] * value.y + beside[2] * value.z,
            beside[1] * value.x + beside[2] * value.y + l2[3] * value.z,
        ) - carried;
        memory.store_scratch(entry, pack(solved, 0.0));
        carried = Vec3::from_array([l0, l1, l2].map(|column| dot3(xyz(column), solved)));
    }
}

/// Residuals of the trial of every `SOLVE_PARTS`-th particle, as they are preconditioned, and sums; see the shader.
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

/// The larger of both, coordinate by coordinate.
fn largest(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|k| a[k].max(b[k]))
}

/// What bends and springs of bending resist particle i with at most [N/m].
pub fn bend_rate(memory: &ClothMemory<'_>, i: u32) -> f32 {
    if bends_springs(memory) {
        return 2.0 * spring_sum(memory, i, true);
    }
    memory.load_implicit().rigidity * memory.fabric_f32(rate_row(memory, i) + 2)
}

/// What triangles resist particle i with at rest, or its springs drawn straight [N/m].
pub fn stretch_rate(memory: &ClothMemory<'_>, i: u32) -> f32 {
    if stretches_springs(memory) {
        return spring_sum(memory, i, false);
    }
    let (row, implicit) = (rate_row(memory, i), memory.load_implicit());
    implicit.rate_u * memory.fabric_f32(row) + implicit.rate_v * memory.fabric_f32(row + 1)
}

/// Squared rates of particle i; see the shader.
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
    let [halvings, quick, rejections, is_first] = state(5);
    let [ticks, spent, mut start_square, _] = state(6);
    let most = implicit.max_halvings as f32;
    let (mut next, mut ratio) = (halvings, 1.0f32);
    if mode == SOLVE_START {
        start_square = sums[3];
        let tolerance = implicit.tolerance.max(SOLVE_ROUNDING * rates[2] * step_square);
        tolerance_square = tolerance * tolerance;
        holds_bends = rates[1] * step_square <= 1.0;
        let reach = (2.0 * rates[0] * step_square).min(SOLVE_MAX_REACH);
        first_trial = if reach > 4.0 && !is_preconditioned(memory) { 4.0 / reach } else { 1.0 };
        trial = first_trial;
        let mut square = reach;
        let limit = implicit.max_iterations as f32;
        let first_reach = SOLVE_FIRST_REACH * limit * limit;
        while is_first > 0.0 && square > first_reach && next < most {
            square *= 0.25;
            ratio *= 0.5;
            next += 1.0;
        }
    }
    if mode == SOLVE_LINE {
        iterations += 1.0;
        step = 2.0 * products[2];
        if sums[0] < products[1] {
            step = products[2] * products[1] / (products[1] - sums[0]);
        }
        step = step.min(SOLVE_GROWTH * products[2]).min(implicit.max_step);
        taken = step / products[2];
        kept = 1.0 - taken;
        rr = kept * kept * products[0] + 2.0 * (taken * kept) * sums[1] + taken * taken * sums[2];
        overlap = kept * products[0] + taken * sums[1];
        rd = kept * products[1] + taken * sums[0];
        trial = step.max(0.015625 * first_trial);
        let is_due = (iterations as u32).is_multiple_of(implicit.check_interval);
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
    let is_late = most > 0.0 && spent + iterations > implicit.iteration_budget as f32;
    let is_last_check =
        iterations as u32 >= implicit.max_iterations || (is_late && mode != SOLVE_START);
    let is_over = is_check && !is_solved && is_last_check;
    let may_halve = halvings < most && !is_late;
    let is_worse = is_check && sums[3] > SOLVE_WORSE * start_square.max(tolerance_square);
    let has_failed = !is_sane || is_over || (is_worse && may_halve);
    let number = |is_set: bool| if is_set { 1.0 } else { 0.0 };
    if next > halvings || has_failed || is_solved {
        let is_first_cut = next > halvings;
        let is_rejected = !is_first_cut && has_failed && may_halve;
        let is_taken = !is_first_cut && !is_rejected;
        let ticks_of_step = implicit.tick_count as f32;
        let mut ticks_done = ticks;
        let mut quick_steps = 0.0;
        let iteration_limit = implicit.max_iterations as f32;
        if is_taken {
            ticks_done += ticks_of_step;
            if 4.0 * iterations > 3.0 * iteration_limit && may_halve {
                (next, ratio) = (halvings + 1.0, 0.5);
            } else if is_solved && 8.0 * iterations <= 3.0 * iteration_limit {
                quick_steps = 1.0;
                let is_even = (ticks_done as u32).is_multiple_of(2 * implicit.tick_count);
                if quick > 0.0 && is_even && halvings > 0.0 {
                    (next, ratio, quick_steps) = (halvings - 1.0, 2.0, 0.0);
                }
            }
        } else if is_rejected {
            (next, ratio) = (halvings + 1.0, 0.5);
        }
        let is_done = is_taken && ticks_done as u32 >= 1 << implicit.max_halvings;
        let is_held = is_taken && !is_sane;
        let [steps, total, unconverged, held] = state(4);
        let rows = [
            [number(is_taken), ratio, 0.0, 0.0],
            [0.0, 0.0, if is_done { SOLVE_DONE } else { SOLVE_START }, number(has_bends)],
            [0.0; 4],
            [0.0, 0.0, 0.0, number(is_held)],
            [
                steps + number(is_taken),
                total + iterations,
                unconverged + number(is_taken && is_sane && !is_solved),
                held + number(is_held),
            ],
            [next, quick_steps, rejections + number(is_rejected), 0.0],
            [ticks_done, spent + iterations, 0.0, 0.0],
        ];
        for (k, row) in (0..).zip(rows) {
            memory.store_scratch(solve_state(memory, k), row);
        }
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
        memory.store_scratch(solve_state(memory, 6), [ticks, spent, start_square, 0.0]);
    }
}

/// Moves particle i along the direction, updates its residual and direction, and makes the next trial.
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
    let residual = xyz(load(SOLVE_RESIDUALS)) * kept + xyz(load(SOLVE_TRIALS)) * taken;
    let next_direction = residual * renewed + direction * mixed;
    let row = |array| solve_row(memory, array, i);
    let [moves, residuals, directions] = [SOLVE_MOVES, SOLVE_RESIDUALS, SOLVE_DIRECTIONS].map(row);
    memory.store_scratch(moves, pack(moved, displacement[3]));
    memory.store_scratch(residuals, pack(residual, 0.0));
    memory.store_scratch(directions, pack(next_direction, 0.0));
    memory.store_current(i, pack(moved + next_direction * trial, inverse_mass));
}

/// Begins the next part of a step for particle i, `ratio` as long as the one that was solved last; see the shader.
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
    let next_added = added * (ratio * ratio);
    memory.store_scratch(row, pack(next_added, 0.0));
    start_at(memory, i, inertia * ratio + next_added, prediction[3]);
}

/// What the solve moves particle i by: nothing where nothing finite was found, unless it is pinned.
fn solved_move(memory: &ClothMemory<'_>, i: u32, inverse_mass: f32) -> Vec3 {
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    if inverse_mass > 0.0 && is_held {
        return Vec3::ZERO;
    }
    xyz(memory.load_scratch(solve_row(memory, SOLVE_MOVES, i)))
}

/// Moves particle i to where the solve has found it to be; see the shader.
pub fn end_solve(memory: &mut ClothMemory<'_>, i: u32) {
    let prediction = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i));
    debug_assert_eq!(memory.load_scratch(solve_state(memory, 1))[2], SOLVE_DONE);
    let displacement = solved_move(memory, i, prediction[3]);
    let row = solve_row(memory, SOLVE_PLANES, i);
    let plane = memory.load_scratch(row);
    let implicit = memory.load_implicit();
    let strength = implicit.contact_stiffness * implicit.step_square * prediction[3];
    let push = strength * plane_depth(plane, displacement) * (implicit.split * implicit.split);
    memory.store_scratch(row, pack(xyz(plane), push));
    let before = memory.load_previous(i);
    if implicit.split > 1.0 {
        let start = xyz(before) - displacement * (implicit.split - 1.0);
        memory.store_previous(i, pack(start, before[3]));
    }
    memory.store_current(i, pack(xyz(before) + displacement, prediction[3]));
}
