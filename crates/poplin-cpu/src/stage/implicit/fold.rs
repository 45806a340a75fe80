//! Bending energies of two triangles at an edge.

use glam::{Vec2, Vec3, vec2};
use poplin_layout::{BEND_FACE_ANGLE, BEND_ISOMETRIC, BEND_WORDS, MIN_HINGE_SQUARE, PI, TAU};

use super::rows::{bend_end_row, bends_springs, previous_edge, rate_row, trial_edge};
use super::springs::spring_gradient;
use crate::ClothMemory;
use crate::math::{atan2_portable, cross3, dot3, particle as pack, xyz};
use crate::stage::bend::has_height;

/// Geometry of two triangles that share an edge.
struct Fold {
    /// Normal of the third particle's triangle \[m^2\].
    normal_2: Vec3,
    /// Normal of the fourth particle's triangle \[m^2\].
    normal_3: Vec3,
    /// Squared length of the edge \[m^2\].
    edge_square: f32,
    /// Squared lengths of the normals \[m^4\].
    squares: Vec2,
}

impl Fold {
    /// Creates the fold from the edge and the sides from its first end to the third and fourth
    /// particle; `None` if a triangle has no height.
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

    /// Returns the dihedral angle minus the rest angle \[rad\], in -PI..=PI.
    fn angle_error(&self, edge: Vec3, rest: f32) -> f32 {
        let unit_2 = self.normal_2 / self.squares.x.sqrt();
        let unit_3 = self.normal_3 / self.squares.y.sqrt();
        let angle = atan2_portable(
            dot3(cross3(unit_2, unit_3), edge / self.edge_square.sqrt()),
            dot3(unit_2, unit_3),
        );
        let mut error = angle - rest;
        // Wraps the difference of two angles.
        if error > PI {
            error -= TAU;
        } else if error <= -PI {
            error += TAU;
        }
        error
    }

    /// Returns the depths of the third and fourth particle behind the plane of the other's
    /// triangle, over their rest heights, minus the sine of the rest angle.
    fn depth_errors(&self, side_2: Vec3, side_3: Vec3, heights: Vec2, sine: f32) -> Vec2 {
        let depth_2 = dot3(side_2, self.normal_3) / self.squares.y.sqrt();
        let depth_3 = dot3(side_3, self.normal_2) / self.squares.x.sqrt();
        vec2(-depth_2 / heights.x - sine, -depth_3 / heights.y - sine)
    }
}

/// Writes the gradient of the energy of a bend at its four particles to scratch.
///
/// Face angle: k/2 (angle - rest)^2. Plane projection: k/4 ((d2/H2 - sin rest)^2 + (d3/H3 - sin
/// rest)^2), d the depth of the third and fourth particle behind the plane of the other's triangle,
/// H their rest heights. Isometric: k/2 |sum c_i x_i|^2 with the cotangent weights c of a flat rest
/// shape (Bergou et al. 2006, A Quadratic Bending Model for Inextensible Surfaces). Damping as in
/// `stretch_triangle`.
pub(super) fn fold_bend(memory: &mut ClothMemory<'_>, bend: u32) {
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
        // sum c_i x_i relative to the first particle: c_2 = -1/H2, c_3 = -1/H3
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
            // d angle / dx_2 = -|e| n_2 / |n_2|^2, and likewise for x_3; the ends of the edge
            // balance both.
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
            // grad d_3 is -m/|m| at the fourth particle and m/|m| times the barycentric weights of
            // its foot at the corners of the other triangle, m = normal_2; and likewise for d_2.
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

/// Returns the gradient of the energy of the bends of particle i \[N\], in ascending order, or of
/// its springs.
pub(super) fn bend_gradient(memory: &ClothMemory<'_>, i: u32) -> Vec3 {
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
