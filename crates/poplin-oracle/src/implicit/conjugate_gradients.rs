//! Non-linear conjugate gradients with one gradient per iteration.

use super::objective::{Objective, longest};
use crate::vector::along;

/// Formula for the share of the last direction in the next one (beta).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mixing {
    /// `max(0, <r', r' - r> / <r, r>)` (Polak, Ribiere, 1969; Powell, 1986).
    PolakRibierePlus,
    /// `<r', r'> / <r, r>` (Fletcher, Reeves, 1964), as in the seed.
    FletcherReeves,
}

/// Stopping criteria and variants of the method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinimizeOptions {
    /// Largest allowed residual of a particle \[m\].
    pub tolerance: f64,
    /// Largest number of iterations, I.
    pub iterations: usize,
    /// First trial step, `min(1, 4 / (h omega_G)^2)`.
    pub first_step: f64,
    /// Largest step over the trial that measured it (8).
    pub growth: f64,
    /// Ratio above which the solution has diverged: residual over the larger of the first residual
    /// and the tolerance.
    pub divergence: f64,
    /// Iterations between exact residuals (10). With 1 there is no recurrence.
    pub interval: usize,
    /// True if the gradient of the bends is constant between exact residuals.
    pub lags_bends: bool,
    /// Formula of beta.
    pub mixing: Mixing,
}

/// Reason why a minimization ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The residual is within the tolerance.
    Converged,
    /// The iterations are used up.
    Unconverged,
    /// The residual grew beyond the divergence limit.
    Diverged,
    /// A sum is not finite.
    NotFinite,
}

/// Result of a minimization.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Displacements \[m\].
    pub displacements: Vec<[f64; 3]>,
    /// Reason why it ended.
    pub outcome: Outcome,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of evaluated gradients of the stretch elements.
    pub gradients: usize,
    /// Largest exact residual of the first and of the last evaluation \[m\].
    pub residuals: [f64; 2],
}

/// Fraction of the first `<r, r>` below which the recurrence consists of rounding.
const EXHAUSTED: f64 = 1e-14;

/// Minimizes by conjugate gradients from the prediction (Polak, Ribiere, 1969; a secant step as in
/// Shewchuk, 1994, B4).
///
/// An iteration evaluates the residual r1 once, at the trial `u + s d`. The secant of `<r, d>`
/// yields the step `a`. The residual is taken as linear along d, so `r' = (1 - f) r + f r1` with `f
/// = a/s`, and so are all products; every [`interval`](MinimizeOptions::interval) iterations it is
/// evaluated exactly. Deviations from the seed: starts at the prediction, restarts where `<r, d>`
/// is not positive, tries the last step instead of 1, and never steps farther than 1, because no
/// eigenvalue of the metric `m/h^2` is below 1. Deviation from the design: once the recurrence has
/// removed all but 1e-7 of the first residual, the exact one is evaluated too, because the next
/// ratio of both would consist of rounding, or not be finite.
pub fn minimize(objective: &Objective<'_>, options: &MinimizeOptions) -> Minimum {
    let mut u = objective.prediction.to_vec();
    let mut bends = objective.bend_gradient(&u);
    let mut r = objective.residual(&u, &bends);
    let first = longest(&r);
    let mut gradients = 1;
    let finish = |u, outcome, iterations, gradients, last| Minimum {
        displacements: u,
        outcome,
        iterations,
        gradients,
        residuals: [first, last],
    };
    let mut d = r.clone();
    let mut rr = objective.product(&r, &r);
    let (first_rr, mut rd) = (rr, rr);
    let mut s = options.first_step;
    if !rr.is_finite() {
        return finish(u, Outcome::NotFinite, 0, gradients, first);
    }
    if first <= options.tolerance {
        return finish(u, Outcome::Converged, 0, gradients, first);
    }
    let mut last = first;
    for k in 1..=options.iterations {
        if rd <= 0.0 || rd.is_nan() {
            d.clone_from(&r);
            rd = rr;
        }
        let trial = add(&u, &d, s);
        if !options.lags_bends {
            bends = objective.bend_gradient(&trial);
        }
        let r1 = objective.residual(&trial, &bends);
        gradients += 1;
        let (t, p, q) =
            (objective.product(&r1, &d), objective.product(&r1, &r), objective.product(&r1, &r1));
        if !(t + p + q).is_finite() {
            return finish(u, Outcome::NotFinite, k, gradients, last);
        }
        // a = s <r, d> / (<r, d> - <r1, d>)
        let secant = if t < rd { s * rd / (rd - t) } else { 2.0 * s };
        let a = secant.min(options.growth * s).min(1.0);
        let f = a / s;
        u = add(&u, &d, a);
        let kept = 1.0 - f;
        let mut next_rr = kept * kept * rr + 2.0 * f * kept * p + f * f * q;
        let (next, overlap, next_rd);
        let is_exhausted = next_rr <= EXHAUSTED * first_rr;
        if k % options.interval == 0 || k == options.iterations || is_exhausted {
            bends = objective.bend_gradient(&u);
            next = objective.residual(&u, &bends);
            gradients += 1;
            (next_rr, overlap, next_rd) = (
                objective.product(&next, &next),
                objective.product(&next, &r),
                objective.product(&next, &d),
            );
            last = longest(&next);
            if !(next_rr + overlap + next_rd).is_finite() {
                return finish(u, Outcome::NotFinite, k, gradients, last);
            }
            if last <= options.tolerance {
                return finish(u, Outcome::Converged, k, gradients, last);
            }
            if last > options.divergence * first.max(options.tolerance) {
                return finish(u, Outcome::Diverged, k, gradients, last);
            }
        } else {
            next = mix(&r, kept, &r1, f);
            overlap = kept * rr + f * p;
            next_rd = kept * rd + f * t;
        }
        let b = match options.mixing {
            Mixing::PolakRibierePlus => ((next_rr - overlap) / rr).max(0.0),
            Mixing::FletcherReeves => next_rr / rr,
        };
        rd = next_rr + b * next_rd;
        d = add(&next, &d, b);
        rr = next_rr;
        r = next;
        s = a.max(0.25 * options.first_step);
    }
    finish(u, Outcome::Unconverged, options.iterations, gradients, last)
}

/// `a + factor b`.
pub(super) fn add(a: &[[f64; 3]], b: &[[f64; 3]], factor: f64) -> Vec<[f64; 3]> {
    a.iter().zip(b).map(|(&a, &b)| along(a, b, factor)).collect()
}

/// `fa a + fb b`.
fn mix(a: &[[f64; 3]], fa: f64, b: &[[f64; 3]], fb: f64) -> Vec<[f64; 3]> {
    a.iter().zip(b).map(|(&a, &b)| along(a.map(|a| fa * a), b, fb)).collect()
}
