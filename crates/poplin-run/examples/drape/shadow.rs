//! Shadow of draped cloth on the ground: its area and its folds.

use std::f64::consts::{PI, TAU};

use super::disc::{CLAMP, Disc};

/// Number of directions in which the outline is measured.
const DIRECTIONS: usize = 1440;

/// Distance by which a fold reaches farther out than the valleys beside it \[m\].
const FOLD: f64 = 0.003;

/// Directions on either side over which the outline is averaged before folds are counted: 8
/// degrees, more than the steps at the rim of a grid.
const SMOOTHED: usize = DIRECTIONS / 45;

/// Outline of a shadow: distance from the axis in each direction \[m\].
#[derive(Debug)]
pub(crate) struct Shadow(Vec<f64>);

impl Shadow {
    /// Creates the shadow of a disc with its vertices at x and z of `positions` \[m\].
    pub(crate) fn new(disc: &Disc, positions: &[[f64; 2]]) -> Self {
        let cross = |a: [f64; 2], b: [f64; 2]| a[0] * b[1] - a[1] * b[0];
        let step = TAU / DIRECTIONS as f64;
        let mut outline = vec![0.0_f64; DIRECTIONS];
        for face in &disc.faces {
            for k in 0..face.len() {
                let [mut p, mut q] = [face[k], face[(k + 1) % face.len()]].map(|it| positions[it]);
                if cross(p, q) < 0.0 {
                    (p, q) = (q, p);
                }
                let [begin, end] = [p, q].map(|it| it[1].atan2(it[0]) / step);
                let end = end + if end < begin { DIRECTIONS as f64 } else { 0.0 };
                for direction in begin.ceil() as i64..=end.floor() as i64 {
                    let (sin, cos) = (direction as f64 * step).sin_cos();
                    let along = [q[0] - p[0], q[1] - p[1]];
                    // r u = p + s (q - p)  =>  r = p x (q - p) / u x (q - p)
                    let distance = cross(p, along) / cross([cos, sin], along);
                    let at = &mut outline[direction.rem_euclid(DIRECTIONS as i64) as usize];
                    *at = if distance.is_finite() { at.max(distance) } else { *at };
                }
            }
        }
        Self(outline)
    }

    /// Returns the area \[m^2\].
    pub(crate) fn area(&self) -> f64 {
        self.0.iter().map(|r| 0.5 * r * r).sum::<f64>() * TAU / DIRECTIONS as f64
    }

    /// Returns the drape coefficient: the area outside of the clamp over that of the flat disc.
    pub(crate) fn coefficient(&self, disc: &Disc) -> f64 {
        let clamp = PI * CLAMP * CLAMP;
        (self.area() - clamp) / (Self::new(disc, &disc.vertices).area() - clamp)
    }

    /// Returns the number of folds.
    pub(crate) fn folds(&self) -> usize {
        let width = 2 * SMOOTHED + 1;
        let mean = |k: usize| {
            let near = (k + DIRECTIONS - SMOOTHED..).take(width).map(|k| self.0[k % DIRECTIONS]);
            near.sum::<f64>() / width as f64
        };
        let smooth: Vec<_> = (0..DIRECTIONS).map(mean).collect();
        let least = (0..DIRECTIONS).min_by(|&a, &b| smooth[a].total_cmp(&smooth[b]));
        let (mut count, mut is_rising, mut extreme) = (0, false, f64::INFINITY);
        for k in 0..=DIRECTIONS {
            let distance = smooth[(least.unwrap_or(0) + k) % DIRECTIONS];
            if is_rising {
                extreme = distance.max(extreme);
            } else {
                extreme = distance.min(extreme);
            }
            if (distance - extreme).abs() > FOLD {
                count += usize::from(is_rising);
                (is_rising, extreme) = (!is_rising, distance);
            }
        }
        count
    }
}
