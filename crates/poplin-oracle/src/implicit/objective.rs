//! Objective function of a step of backward Euler.

use super::cloth::ImplicitCloth;
use super::law::Element;
use crate::vector::{along, dot, minus};

/// Contact plane of one particle: `E = kc/2 max(0, o - n . x)^2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactPlane {
    /// Unit normal n, away from the shape.
    pub normal: [f64; 3],
    /// Offset o \[m\].
    pub offset: f64,
    /// Stiffness kc [N/m]: the membrane stiffness K of the cloth.
    pub stiffness: f64,
}

impl ContactPlane {
    /// Creates the plane of a collider that pushes a particle at its prediction `y` by `push`
    /// \[m\]; `None` without a push.
    pub fn from_push(y: [f64; 3], push: [f64; 3], stiffness: f64) -> Option<Self> {
        let length = dot(push, push).sqrt();
        (length > 0.0).then(|| {
            let normal = push.map(|p| p / length);
            Self { normal, offset: dot(normal, along(y, push, 1.0)), stiffness }
        })
    }

    /// Returns the depth of `x` behind the plane \[m\], at least 0.
    pub fn depth(&self, x: [f64; 3]) -> f64 {
        (self.offset - dot(self.normal, x)).max(0.0)
    }

    /// Returns the displacement of a particle of inverse mass w by the plane in a step that ended
    /// at `x` \[m\], `h^2 w kc depth`; together with the push after the step it is the |delta| of
    /// friction.
    pub fn push(&self, x: [f64; 3], inverse_mass: f64, step: f64) -> f64 {
        step * step * inverse_mass * self.stiffness * self.depth(x)
    }
}

/// `Phi(u) = sum m/(2 h^2) |u - yh|^2 + E(xn + u)` over displacements u from the positions `xn` at
/// the start of a step (Martin, Thomaszewski, Grinspun, Gross, "Example-Based Elastic Materials",
/// 2011; Gast et al., "Optimization Integrator for Large Time Steps", 2015). Its minimum is the
/// step of backward Euler.
#[derive(Debug, Clone)]
pub struct Objective<'a> {
    pub(super) inverse_masses: &'a [f64],
    previous: &'a [[f64; 3]],
    pub(super) prediction: &'a [[f64; 3]],
    pub(super) step: f64,
    /// Damped stretch elements.
    stretch: Vec<Element>,
    bends: Vec<Element>,
    planes: &'a [Option<ContactPlane>],
}

impl<'a> Objective<'a> {
    /// Creates the objective of a step of `step` \[s\] from positions `previous` \[m\], with
    /// displacements `prediction` \[m\] where no element acts. `planes` has one entry per particle,
    /// or none.
    pub fn new(
        cloth: &'a ImplicitCloth,
        previous: &'a [[f64; 3]],
        prediction: &'a [[f64; 3]],
        step: f64,
        planes: &'a [Option<ContactPlane>],
    ) -> Self {
        let damped = |elements: &[Element], beta: f64| -> Vec<Element> {
            let damped = |&element: &Element| Element {
                law: element.law.damped(element.gather(previous), beta / step),
                ..element
            };
            if beta > 0.0 { elements.iter().map(damped).collect() } else { elements.to_vec() }
        };
        Self {
            inverse_masses: &cloth.inverse_masses,
            previous,
            prediction,
            step,
            stretch: damped(&cloth.stretch, cloth.stretch_damping),
            bends: damped(&cloth.bends, cloth.bend_damping),
            planes,
        }
    }

    /// Returns the positions of an element's particles relative to its first \[m\]: edges at the
    /// start of the step plus differences of displacements, so that nothing is rounded at the
    /// magnitude of a position.
    pub(super) fn local(&self, element: &Element, u: &[[f64; 3]]) -> [[f64; 3]; 4] {
        let first = element.particles[0];
        let mut x = [[0.0; 3]; 4];
        for (x, &particle) in x.iter_mut().zip(element.members()).skip(1) {
            let edge = minus(self.previous[particle], self.previous[first]);
            *x = along(edge, minus(u[particle], u[first]), 1.0);
        }
        x
    }

    /// Iterates over the damped elements: stretch, then bends.
    pub(super) fn elements(&self) -> impl Iterator<Item = &Element> {
        self.stretch.iter().chain(&self.bends)
    }

    /// Iterates over the planes that particles are behind, with the particle and its depth \[m\].
    pub(super) fn touched<'b>(
        &'b self,
        u: &'b [[f64; 3]],
    ) -> impl Iterator<Item = (usize, &'b ContactPlane, f64)> {
        self.planes.iter().enumerate().filter_map(|(i, plane)| {
            let plane = plane.as_ref()?;
            let depth =
                plane.offset - dot(plane.normal, self.previous[i]) - dot(plane.normal, u[i]);
            (depth > 0.0).then_some((i, plane, depth))
        })
    }

    /// Value of `Phi` \[J\].
    pub fn value(&self, u: &[[f64; 3]]) -> f64 {
        let inertia: f64 = (0..u.len())
            .filter(|&i| self.inverse_masses[i] > 0.0)
            .map(|i| {
                let d = minus(u[i], self.prediction[i]);
                dot(d, d) / (2.0 * self.step.powi(2) * self.inverse_masses[i])
            })
            .sum();
        let elements: f64 =
            self.elements().map(|element| element.law.energy(self.local(element, u))).sum();
        let planes: f64 =
            self.touched(u).map(|(_, plane, depth)| 0.5 * plane.stiffness * depth * depth).sum();
        inertia + elements + planes
    }

    /// Gradient of the bends \[N\].
    pub fn bend_gradient(&self, u: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; u.len()];
        for element in &self.bends {
            element.scatter(element.law.gradient(self.local(element, u)), &mut sums);
        }
        sums
    }

    /// `r = -h^2 w grad Phi = yh - u - h^2 w grad E` \[m\], with the gradient of the bends as
    /// given; 0 where w = 0.
    ///
    /// The seed's residuals of position and velocity are `r_p + h r_v / k`.
    pub fn residual(&self, u: &[[f64; 3]], bend_gradient: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut gradient = bend_gradient.to_vec();
        for element in &self.stretch {
            element.scatter(element.law.gradient(self.local(element, u)), &mut gradient);
        }
        for (i, plane, depth) in self.touched(u) {
            gradient[i] = along(gradient[i], plane.normal, -plane.stiffness * depth);
        }
        for (i, g) in gradient.iter_mut().enumerate() {
            let w = self.inverse_masses[i];
            let scale = self.step * self.step * w;
            *g =
                if w > 0.0 { along(minus(self.prediction[i], u[i]), *g, -scale) } else { [0.0; 3] };
        }
        gradient
    }

    /// `<a, b> = sum m a . b` over particles with w > 0 [kg m^2].
    pub fn product(&self, a: &[[f64; 3]], b: &[[f64; 3]]) -> f64 {
        let moving = self.inverse_masses.iter().zip(a.iter().zip(b)).filter(|(w, _)| **w > 0.0);
        moving.map(|(w, (&a, &b))| dot(a, b) / w).sum()
    }
}

/// Returns the length of the longest vector; NaN if any vector is.
pub(super) fn longest(vectors: &[[f64; 3]]) -> f64 {
    let longest = vectors.iter().map(|&v| dot(v, v)).fold(0.0, |longest: f64, square| {
        if square > longest || square.is_nan() { square } else { longest }
    });
    longest.sqrt()
}
