//! Stretch and shear of triangles in a multilevel solve.
//!
//! The energies are those of the implicit solver, of wu and wv, the derivatives of position by the
//! rest coordinates. Their Hessians are taken without the parts that can be negative: along a
//! thread that of a spring, `q q^T + t 1`, and products of gradients for shear and pressure.

use poplin_geometry::Csr;
use poplin_layout::{MultilevelConstants, STRETCH_THREADS, triangle_weights};
use poplin_model::Fabric;

use super::parallel::{each, each_pair};
use super::symmetric::Symmetric;
use super::{add, dot, scale, subtract};

/// Triangles of a fabric.
#[derive(Debug)]
pub(super) struct TrianglePlan {
    triangles: Vec<Triangle>,
    /// Triangles of each particle.
    corners: Csr<Corner>,
}

#[derive(Debug, Clone, Copy)]
struct Triangle {
    corners: [u32; 3],
    /// Weights of the second and third corner in wu, and in wv; area.
    shape: [f32; 5],
}

/// Triangle of a particle, and the weights of the particle in its wu and wv.
#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    triangle: u32,
    weights: [f32; 2],
}

/// Triangles of a cloth in a step; empty if springs resist stretch.
#[derive(Debug, Clone, Default)]
pub(super) struct TriangleMemory {
    matrices: Vec<Matrix>,
    /// Gradients by wu and wv of the pressure of trisprings; empty with threads.
    pressures: Vec<[[f32; 3]; 2]>,
    /// Derivatives of the energies by wu and wv \[N m\]; in a product, those of the moves.
    stresses: Vec<[[f32; 3]; 2]>,
}

/// Hessian of a triangle by wu and wv.
#[derive(Debug, Clone, Copy, Default)]
struct Matrix {
    /// Along each: q and t.
    along: [[f32; 4]; 2],
    /// Gradients of the shear by wu and wv.
    shear: [[f32; 3]; 2],
}

impl TrianglePlan {
    pub(super) fn new(fabric: &Fabric) -> Self {
        let shapes = fabric.triangles.iter().zip(&fabric.triangle_shapes);
        let triangles: Vec<Triangle> = shapes
            .map(|(&corners, shape)| Triangle { corners, shape: triangle_weights(shape) })
            .collect();
        let corners = triangles.iter().zip(0..).flat_map(|(triangle, index)| {
            let [u_second, u_third, v_second, v_third, _] = triangle.shape;
            let weights = [
                [-(u_second + u_third), -(v_second + v_third)],
                [u_second, v_second],
                [u_third, v_third],
            ];
            let corner = move |weights| Corner { triangle: index, weights };
            triangle.corners.into_iter().zip(weights.map(corner))
        });
        Self { corners: Csr::new(fabric.particle_count as usize, corners), triangles }
    }

    pub(super) fn size(&self) -> usize {
        size_of_val(self.triangles.as_slice()) + self.corners.size()
    }
}

impl Triangle {
    /// Sums of the vectors of the corners by their weights in wu and wv.
    fn derivatives(&self, vectors: impl Fn(usize) -> [f32; 3]) -> [[f32; 3]; 2] {
        let [u_second, u_third, v_second, v_third, _] = self.shape;
        let [first, second, third] = self.corners.map(|corner| vectors(corner as usize));
        let (p, q) = (subtract(second, first), subtract(third, first));
        [add(scale(p, u_second), scale(q, u_third)), add(scale(p, v_second), scale(q, v_third))]
    }
}

impl TriangleMemory {
    pub(super) fn size(&self) -> usize {
        size_of::<Matrix>() * self.matrices.capacity()
            + 24 * (self.pressures.capacity() + self.stresses.capacity())
    }

    /// Linearises the triangles at the prediction.
    pub(super) fn set_up(
        &mut self,
        plan: &TrianglePlan,
        constants: &MultilevelConstants,
        positions: &[[f32; 3]],
        moves: &[[f32; 3]],
    ) {
        let count = if constants.stretches_springs() { 0 } else { plan.triangles.len() };
        let is_woven = constants.stretch_model == STRETCH_THREADS;
        self.matrices.resize(count, Matrix::default());
        self.stresses.resize(count, [[0.0; 3]; 2]);
        self.pressures.resize(if is_woven { 0 } else { count }, [[0.0; 3]; 2]);
        let linearise = move |index: usize| {
            let triangle = &plan.triangles[index];
            let last = triangle.derivatives(|corner| positions[corner]);
            let moved = triangle.derivatives(|corner| moves[corner]);
            let along = [add(last[0], moved[0]), add(last[1], moved[1])];
            (along, triangle.shape[4])
        };
        if is_woven {
            each_pair(&mut self.matrices, &mut self.stresses, move |index, matrix, stress| {
                let (along, area) = linearise(index);
                (*matrix, *stress) = threads(along, area, constants);
            });
        } else {
            let rows = self.matrices.iter_mut().zip(&mut self.pressures).zip(&mut self.stresses);
            for (index, ((matrix, pressure), stress)) in rows.enumerate() {
                let (along, area) = linearise(index);
                (*matrix, *pressure, *stress) = trispring(along, area, constants);
            }
        }
    }

    /// Adds the forces of triangles at a particle \[N\].
    pub(super) fn force(&self, plan: &TrianglePlan, particle: usize, force: [f32; 3]) -> [f32; 3] {
        self.gather(plan, particle, force, -1.0)
    }

    /// Adds the part of triangles to the diagonal block of a particle.
    pub(super) fn add_block(&self, plan: &TrianglePlan, particle: usize, block: &mut Symmetric) {
        if self.matrices.is_empty() {
            return;
        }
        let mixed = |[u, v]: [[f32; 3]; 2], [by_u, by_v]: [f32; 2]| {
            let [x, y, z] = add(scale(u, by_u), scale(v, by_v));
            [x, y, z, 0.0]
        };
        for &Corner { triangle, weights } in plan.corners.row(particle) {
            let Matrix { along, shear } = self.matrices[triangle as usize];
            for (matrix, weight) in along.into_iter().zip(weights) {
                block.add_spring(matrix, weight * weight);
            }
            block.add_spring(mixed(shear, weights), 1.0);
            if let Some(&pressure) = self.pressures.get(triangle as usize) {
                block.add_spring(mixed(pressure, weights), 1.0);
            }
        }
    }

    /// Begins a product with the matrix of triangles.
    pub(super) fn begin_product(&mut self, plan: &TrianglePlan, vectors: &[[f32; 3]]) {
        let (matrices, pressures) = (&self.matrices[..], &self.pressures[..]);
        each(&mut self.stresses, move |index, stress| {
            let matrix = &matrices[index];
            let moved = plan.triangles[index].derivatives(|corner| vectors[corner]);
            let product = |[u, v]: [[f32; 3]; 2]| dot(u, moved[0]) + dot(v, moved[1]);
            let shear = product(matrix.shear);
            for (k, out) in stress.iter_mut().enumerate() {
                let [x, y, z, t] = matrix.along[k];
                let own = scale([x, y, z], dot([x, y, z], moved[k]));
                *out = add(add(own, scale(moved[k], t)), scale(matrix.shear[k], shear));
            }
            if let Some(pressure) = pressures.get(index) {
                let by = product(*pressure);
                for (out, gradient) in stress.iter_mut().zip(pressure) {
                    *out = add(*out, scale(*gradient, by));
                }
            }
        });
    }

    /// Adds the product at a particle.
    pub(super) fn product(&self, plan: &TrianglePlan, particle: usize, sum: [f32; 3]) -> [f32; 3] {
        self.gather(plan, particle, sum, 1.0)
    }

    /// Adds the stresses at a particle, with this sign.
    fn gather(&self, plan: &TrianglePlan, particle: usize, sum: [f32; 3], sign: f32) -> [f32; 3] {
        if self.matrices.is_empty() {
            return sum;
        }
        plan.corners.row(particle).iter().fold(sum, |sum, corner| {
            let [u, v] = self.stresses[corner.triangle as usize];
            let [by_u, by_v] = corner.weights.map(|weight| sign * weight);
            add(sum, add(scale(u, by_u), scale(v, by_v)))
        })
    }
}

/// Returns the matrix and the stresses of threads, A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu .
/// wv)^2).
fn threads(
    [wu, wv]: [[f32; 3]; 2],
    area: f32,
    constants: &MultilevelConstants,
) -> (Matrix, [[f32; 3]; 2]) {
    let [warp, weft] = constants.stretch_stiffness;
    let (along_u, pull_u) = thread(wu, area * weft, constants);
    let (along_v, pull_v) = thread(wv, area * warp, constants);
    let stiffness = area * constants.shear_stiffness;
    let shear = stiffness * dot(wu, wv);
    let root = stiffness.sqrt();
    let matrix = Matrix { along: [along_u, along_v], shear: [scale(wv, root), scale(wu, root)] };
    (matrix, [add(pull_u, scale(wv, shear)), add(pull_v, scale(wu, shear))])
}

/// Returns the matrix q and t and the pull of a thread of this stiffness.
fn thread(w: [f32; 3], k: f32, constants: &MultilevelConstants) -> ([f32; 4], [f32; 3]) {
    let length = dot(w, w).sqrt();
    let unit = if length > 0.0 { scale(w, length.recip()) } else { [0.0; 3] };
    let pull = k * (length - 1.0);
    let pulled = if length > 0.0 { pull.max(0.0) / length } else { 0.0 };
    let t = constants.transverse * k + pulled;
    let [x, y, z] = scale(unit, (k - t).max(0.0).sqrt());
    ([x, y, z, t], scale(unit, pull))
}

/// Returns the matrix, the gradients of pressure and the stresses of a trispring, A (mu |E|^2 +
/// lambda/2 tr(E)^2), E the Green strain.
fn trispring(
    [wu, wv]: [[f32; 3]; 2],
    area: f32,
    constants: &MultilevelConstants,
) -> (Matrix, [[f32; 3]; 2], [[f32; 3]; 2]) {
    let [lambda, mu] = constants.lame.map(|it| it * area);
    // Twice the Green strains.
    let strains = [wu, wv].map(|w| dot(w, w) - 1.0);
    let pressure = 0.5 * lambda * (strains[0] + strains[1]);
    let shear = mu * dot(wu, wv);
    let stresses = [mu * strains[0] + pressure, mu * strains[1] + pressure];
    // The least stiffness of what turns a triangle.
    let floor = constants.transverse * (lambda.max(0.0) + 2.0 * mu);
    // By the strains of both directions the Hessian is 2 mu 1 + lambda (1, 1) (1, 1)^T or, of a
    // negative ratio and lambda, 2 (mu + lambda) 1 - lambda (1, -1) (1, -1)^T.
    let own = (2.0 * mu + 2.0 * lambda.min(0.0)).max(0.0).sqrt();
    let along = |w: [f32; 3], stress: f32| {
        let [x, y, z] = scale(w, own);
        [x, y, z, floor + stress.max(0.0)]
    };
    let (root, both) = (mu.max(0.0).sqrt(), lambda.abs().sqrt());
    let matrix = Matrix {
        along: [along(wu, stresses[0]), along(wv, stresses[1])],
        shear: [scale(wv, root), scale(wu, root)],
    };
    let pull = [
        add(scale(wu, stresses[0]), scale(wv, shear)),
        add(scale(wv, stresses[1]), scale(wu, shear)),
    ];
    (matrix, [scale(wu, both), scale(wv, both.copysign(lambda))], pull)
}
