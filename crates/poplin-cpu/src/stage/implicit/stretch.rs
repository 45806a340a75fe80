//! Stretch and shear of triangles.

use glam::Vec3;
use poplin_layout::{MIN_EDGE_SQUARE, STRETCH_THREADS};

use super::rows::{corner_row, previous_edge, stretches_springs, trial_edge};
use super::springs::spring_gradient;
use crate::ClothMemory;
use crate::math::{dot3, particle as pack, xyz};

/// Writes the gradient of the energy of triangle t at its corners to scratch.
///
/// With wu and wv the derivatives of position by the rest coordinates u and v, and A the area:
/// threads: A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu . wv)^2), after Baraff, Witkin 1998,
/// Large Steps in Cloth Simulation, eqs. 9 to 11, with A instead of its square;
/// trispring: A (mu |E|^2 + lambda/2 tr(E)^2), E the Green strain: the quadratic springs of
/// Delingette 2008, Triangular Springs for Modeling Nonlinear Membranes.
///
/// Damping resists the change of |wu|, |wv| and wu . wv, or of E, since the last step: stiffer by
/// beta/h about a shape between the rest shape and the last one.
pub(super) fn stretch_triangle(memory: &mut ClothMemory<'_>, t: u32) {
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
        // dE/dwu = Ku (1 - 1/|wu|) wu + G (wu . wv) wv, and likewise for wv
        pu = wu * (implicit.stiffness_u * slack(wu, rest_u)) + wv * shear;
        pv = wv * (implicit.stiffness_v * slack(wv, rest_v)) + wu * shear;
    } else {
        let mut strain_u = excess_square(wu);
        let mut strain_v = excess_square(wv);
        if share > 0.0 {
            strain_u -= excess_square(last_u) * share;
            strain_v -= excess_square(last_v) * share;
        }
        // strain_u, strain_v are twice the Green strains.
        let pressure = implicit.stiffness_u * 0.5 * (strain_u + strain_v);
        let shear = implicit.stiffness_v * (dot3(wu, wv) - last_shear);
        pu = wu * (implicit.stiffness_v * strain_u + pressure) + wv * shear;
        pv = wv * (implicit.stiffness_v * strain_v + pressure) + wu * shear;
    }
    // Chain rule: wu and wv are linear in the corners. The first corner balances the others.
    let gradient_1 = pu * (u_second * area) + pv * (v_second * area);
    let gradient_2 = pu * (u_third * area) + pv * (v_third * area);
    let row = corner_row(memory, 3 * t);
    memory.store_scratch(row, pack(-(gradient_1 + gradient_2), 0.0));
    memory.store_scratch(row + 1, pack(gradient_1, 0.0));
    memory.store_scratch(row + 2, pack(gradient_2, 0.0));
}

/// Returns |d|^2 - 1. The constant comes first: drivers move constants out of sums (Mesa does), and
/// this order survives that.
fn excess_square(d: Vec3) -> f32 {
    -1.0 + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Returns 1 - rest/|w|; 0 for a zero vector.
pub(super) fn slack(w: Vec3, rest: f32) -> f32 {
    let square = dot3(w, w);
    if square > MIN_EDGE_SQUARE { 1.0 - rest / square.sqrt() } else { 0.0 }
}

/// Returns the gradient of the energy of the triangles of particle i \[N\], in ascending order, or
/// of its springs.
pub(super) fn stretch_gradient(memory: &ClothMemory<'_>, i: u32) -> Vec3 {
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
