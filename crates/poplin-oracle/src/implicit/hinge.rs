//! Geometry of two triangles at an edge, for all bending energies.

use super::spring::MIN_EDGE;
use crate::vector::{along, cross, dot, length, minus};

/// Length below which a normal has no direction [m^2].
const MIN_NORMAL: f64 = 1e-15;

/// Smallest height of a triangle over its hinge, as a fraction of the longer of the hinge and a
/// side.
const MIN_HEIGHT: f64 = 1e-5;

/// Triangles (p0, p1, p2) and (p1, p0, p3) over the edge from p0 to p1, as in
/// `shaders/stage/bend.wgsl`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hinge {
    edge: [f64; 3],
    /// Vectors from p0 to p2 and to p3.
    sides: [[f64; 3]; 2],
    /// Normals `m = e x (p2 - p0)` and `n = (p3 - p0) x e`; equal in direction for a flat hinge.
    normals: [[f64; 3]; 2],
}

impl Hinge {
    /// Creates a hinge; `None` if the edge has no length or a triangle no height.
    pub(super) fn new(p: [[f64; 3]; 4]) -> Option<Self> {
        let edge = minus(p[1], p[0]);
        let sides = [minus(p[2], p[0]), minus(p[3], p[0])];
        let normals = [cross(edge, sides[0]), cross(sides[1], edge)];
        let has_height = |k: usize| {
            let normal = length(normals[k]);
            normal > MIN_NORMAL
                && normal > MIN_HEIGHT * length(edge) * length(edge).max(length(sides[k]))
        };
        (length(edge) > MIN_EDGE && has_height(0) && has_height(1)).then_some(Self {
            edge,
            sides,
            normals,
        })
    }

    /// Returns the dihedral angle \[rad\]: 0 for a flat hinge, positive where the triangles fold
    /// away from their normals.
    pub(super) fn angle(&self) -> f64 {
        let [m, n] = self.normals;
        (dot(cross(m, n), self.edge) / length(self.edge)).atan2(dot(m, n))
    }

    /// Returns the gradient of [`Self::angle`] at the four particles [rad/m] (Bridson, Marino,
    /// Fedkiw, 2003; Tamstorf, Grinspun, 2013).
    pub(super) fn angle_gradient(&self) -> [[f64; 3]; 4] {
        let along_wing = |k: usize| {
            let factor = -length(self.edge) / dot(self.normals[k], self.normals[k]);
            self.normals[k].map(|n| n * factor)
        };
        let (at_2, at_3) = (along_wing(0), along_wing(1));
        let ratio = |k: usize| dot(self.sides[k], self.edge) / dot(self.edge, self.edge);
        let at_1 = along(at_2.map(|g| g * -ratio(0)), at_3, -ratio(1));
        [[0, 1, 2].map(|k| -at_1[k] - at_2[k] - at_3[k]), at_1, at_2, at_3]
    }

    /// Returns the distances of p2 and of p3 behind the plane of the other triangle \[m\].
    pub(super) fn depths(&self) -> [f64; 2] {
        [0, 1].map(|k| {
            let normal = self.normals[1 - k];
            -dot(self.sides[k], normal) / length(normal)
        })
    }

    /// Returns the gradients of [`Self::depths`] at the four particles: the negative unit normal of
    /// the plane at the far corner, and the normal times the barycentric weights of its foot at the
    /// corners of the plane.
    pub(super) fn depth_gradients(&self) -> [[[f64; 3]; 4]; 2] {
        [0, 1].map(|k| {
            let (normal, far) = (self.normals[1 - k], self.sides[k]);
            let square = dot(normal, normal);
            let unit = normal.map(|n| n / square.sqrt());
            // m = e x side: the weight of the side's end is (e x far) . m / m^2; for n = side x e
            // all signs flip.
            let sign = if k == 1 { 1.0 } else { -1.0 };
            let at_side = sign * dot(cross(self.edge, far), normal) / square;
            let at_1 = sign * dot(cross(far, self.sides[1 - k]), normal) / square;
            let mut weights = [1.0 - at_1 - at_side, at_1, 0.0, 0.0];
            weights[3 - k] = at_side;
            weights[2 + k] = -1.0;
            weights.map(|w| unit.map(|u| w * u))
        })
    }

    /// Returns the heights of p2 and p3 over the edge \[m\].
    pub(super) fn heights(&self) -> [f64; 2] {
        self.normals.map(|n| length(n) / length(self.edge))
    }

    /// Returns the coefficients of Bergou et al. over the length of the edge [1/m]: `|sum c_i x_i|`
    /// is `2 sin(angle / 2)`.
    pub(super) fn laplacian(&self) -> [f64; 4] {
        // Cotangents at p0 and at p1 in either triangle.
        let [at_0, at_1]: [[f64; 2]; 2] = [0, 1].map(|end: usize| {
            [0, 1].map(|k: usize| {
                let along_edge = dot(self.sides[k], self.edge);
                let ahead =
                    if end == 0 { along_edge } else { dot(self.edge, self.edge) - along_edge };
                ahead / length(self.normals[k])
            })
        });
        [at_1[0] + at_1[1], at_0[0] + at_0[1], -at_0[0] - at_1[0], -at_0[1] - at_1[1]]
            .map(|c| c / length(self.edge))
    }
}
