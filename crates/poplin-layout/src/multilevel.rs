//! Constants of the multilevel solver in a frame.

use poplin_model::{ClothDesc, Multilevel};

use crate::implicit::lame;
use crate::{STRETCH_SPRINGS, StepScale};

/// Least and largest transverse stiffness of an edge over its stiffness.
const TRANSVERSE: [f64; 2] = [5e-4, 0.03];

/// Transverse stiffness over the fall by gravity in a step, in mean edges.
const TRANSVERSE_PER_FALL: f64 = 0.05;

/// Stiffness of contact per particle over that of the membrane: as stiff as the cloth, it would
/// need more iterations, since coarser levels do not follow who touches what.
const CONTACT_STIFFNESS: f32 = 0.2;

/// Constants of a multilevel solve in one frame, rows of `frame_pool`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct MultilevelConstants {
    /// Stiffness along warp (vertical) and weft (horizontal) [N/m].
    pub stretch_stiffness: [f32; 2],
    /// Shear stiffness [N/m].
    pub shear_stiffness: f32,
    /// Lamé's lambda and mu of a trispring [N/m].
    pub lame: [f32; 2],
    /// Model of stretch: one of the `STRETCH` constants.
    pub stretch_model: u32,
    /// Factor on the force of springs that are shorter than at rest.
    pub compression: f32,
    /// Bending rigidity [N m].
    pub rigidity: f32,
    /// Reciprocal of the squared step [1/s^2].
    pub inertia: f32,
    /// Transverse stiffness of an edge over its stiffness: it holds back the rotations that a step
    /// linearised once cannot follow.
    pub transverse: f32,
    /// Most Newton steps of a step.
    pub max_newton_steps: u32,
    /// Number of iterations of a Newton step.
    pub iterations: u32,
}

impl MultilevelConstants {
    /// True if springs resist stretch and shear, otherwise triangles.
    pub fn stretches_springs(&self) -> bool {
        self.stretch_model == STRETCH_SPRINGS
    }

    /// Stiffness of contact with colliders, per particle [N/m].
    pub fn contact_stiffness(&self) -> f32 {
        CONTACT_STIFFNESS * self.stretch_stiffness[0].max(self.stretch_stiffness[1])
    }
}

/// Further iterations for bends that are stiffer than what else resists motion across edges.
fn for_bending(solver: &Multilevel, transverse: f64, mean_edge: f64) -> u32 {
    let stretch = f64::from(solver.stretch_stiffness[0].max(solver.stretch_stiffness[1]));
    let bending = 16.0 * f64::from(solver.bending_rigidity) / mean_edge.powi(2);
    // NaN and infinity are those of a cloth without edges or stiffness.
    let steps = (0.67 * (bending / (transverse * stretch)).log2()).ceil();
    steps.clamp(0.0, 4.0) as u32
}

/// Computes the constants of a frame.
pub(crate) fn multilevel_constants(
    cloth: &ClothDesc,
    solver: &Multilevel,
    scale: &StepScale,
) -> MultilevelConstants {
    let square = f64::from(scale.step).powi(2);
    let gravity = glam::Vec3::from(cloth.config.gravity).as_dvec3().length();
    let mean_edge = cloth.fabric.hierarchy.as_ref().map_or(0.0, |it| f64::from(it.mean_edge));
    let [least, most] = TRANSVERSE;
    // The bounds also catch a cloth without edges, 0 / 0.
    let transverse = (TRANSVERSE_PER_FALL * gravity * square / mean_edge).max(least).min(most);
    let usual = solver.iterations_for(cloth.particle_count());
    MultilevelConstants {
        stretch_stiffness: solver.stretch_stiffness,
        shear_stiffness: solver.shear_stiffness,
        lame: lame(solver.stretch_stiffness[0], solver.poisson_ratio).map(|it| it as f32),
        stretch_model: solver.stretch as u32,
        compression: solver.compression,
        rigidity: solver.bending_rigidity,
        inertia: square.recip().min(1e20) as f32,
        transverse: transverse as f32,
        max_newton_steps: solver.max_newton_steps,
        iterations: solver.iterations.unwrap_or(usual + for_bending(solver, transverse, mean_edge)),
    }
}
