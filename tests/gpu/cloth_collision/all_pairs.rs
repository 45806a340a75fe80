//! One contact pass over all pairs in `f64`.

use super::Setup;

pub(super) type Point = [f64; 3];

fn wide(row: &[f32; 4]) -> Point {
    std::array::from_fn(|k| f64::from(row[k]))
}

fn minus(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: Point, b: Point) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Rows of a pass: world position and inverse mass, motion, and cloth of each particle.
pub(super) struct Rows {
    pub(super) positions: Vec<[f32; 4]>,
    pub(super) motions: Vec<[f32; 4]>,
    pub(super) cloths: Vec<u32>,
}

/// Contact pass that tries all pairs in `f64`.
pub(super) struct Oracle<'a> {
    setup: &'a Setup,
    x: Vec<Point>,
    v: Vec<Point>,
    w: Vec<f64>,
    cloths: &'a [u32],
}

impl<'a> Oracle<'a> {
    pub(super) fn new(setup: &'a Setup, rows: &'a Rows) -> Self {
        Self {
            setup,
            x: rows.positions.iter().map(wide).collect(),
            v: rows.motions.iter().map(wide).collect(),
            w: rows.positions.iter().map(|row| f64::from(row[3])).collect(),
            cloths: &rows.cloths,
        }
    }

    /// Overlap of two rows \[m\], if any, with the contact distance enlarged by a fraction `slack`.
    fn overlap(&self, i: usize, j: usize, slack: f64) -> Option<f64> {
        let config = |i: usize| &self.setup.cloths[self.cloths[i] as usize].config.cloth_collision;
        let (a, b) = (config(i), config(j));
        let wanted = a.group & b.mask != 0 && b.group & a.mask != 0;
        if !wanted || self.cloths[i] == self.cloths[j] {
            return None;
        }
        let d = 0.5 * (f64::from(a.distance.unwrap()) + f64::from(b.distance.unwrap()));
        let delta = minus(self.x[i], self.x[j]);
        let gap = dot(delta, delta).sqrt();
        (gap < d * (1.0 + slack)).then_some(d - gap)
    }

    /// Number of rows in contact with a row; 0 if it cannot move.
    pub(super) fn count(&self, i: usize, slack: f64) -> u32 {
        let touched = (0..self.x.len()).filter(|&j| self.overlap(i, j, slack).is_some());
        if self.w[i] > 0.0 { touched.count() as u32 } else { 0 }
    }

    /// Position of a row after the pass, given the contact counts of all rows.
    pub(super) fn pushed(&self, i: usize, counts: &[u32]) -> Point {
        let settings = self.setup.settings;
        let (x, v, w) = (&self.x, &self.v, &self.w);
        let mut position = x[i];
        for j in 0..x.len() {
            let (true, Some(overlap)) = (w[i] > 0.0, self.overlap(i, j, 0.0)) else { continue };
            let delta = minus(x[i], x[j]);
            let length = dot(delta, delta).sqrt();
            let up = if i < j { 1.0 } else { -1.0 };
            // Coincident rows are separated along y, by order of their indices.
            let n = if length > 1e-15 { delta.map(|d| d / length) } else { [0.0, up, 0.0] };
            // Fraction of a mass-weighted Jacobi step: w_i / (w_i + w_j), divided by the contacts
            // of either row.
            let fraction = w[i] / (w[i] + w[j]) / f64::from(counts[i].max(counts[j]).max(1));
            let relative = minus(v[j], v[i]);
            let across = dot(relative, n);
            for k in 0..3 {
                position[k] += fraction * f64::from(settings.stiffness) * overlap * n[k];
                position[k] +=
                    fraction * f64::from(settings.friction) * (relative[k] - across * n[k]);
            }
        }
        position
    }
}
