//! Loop of the seed as printed, to show that it does not converge.

use super::cloth::ImplicitCloth;
use super::objective::longest;
use crate::vector::{along, minus};

/// Settings of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeedLoop {
    /// Scale k of the residuals of velocity \[s\].
    pub scale: f64,
    /// Residual below which a vector is converged \[m\]; the seed's `precision` is its square.
    pub precision: f64,
    /// Largest number of iterations.
    pub iterations: usize,
    /// True to evaluate the residual again after every change of the variables, which the printed
    /// loop omits.
    pub is_mended: bool,
}

/// Result of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedOutcome {
    /// All residuals were small after this number of iterations.
    Converged(usize),
    /// A residual was a thousand times the first, or not finite, after this number of iterations.
    Diverged(usize),
    /// Neither of both.
    Unconverged,
}

/// Ratio to the first residual above which the loop has diverged.
const DIVERGENCE: f64 = 1e3;

/// Solves `p' = p + v' dt`, `v' = v + w f(p') dt` for both by the printed loop: Fletcher-Reeves
/// directions, a unit trial step and a secant, from the current positions and velocities. `s`,
/// which the print never sets, is the number of the iteration.
pub fn run_seed_loop(
    cloth: &ImplicitCloth,
    positions: &[[f64; 3]],
    velocities: &[[f64; 3]],
    gravity: [f64; 3],
    step: f64,
    settings: &SeedLoop,
) -> SeedOutcome {
    let count = positions.len();
    // Positions, then velocities; the seed has them alternate.
    let mut x = [positions, velocities].concat();
    let residual = |x: &[[f64; 3]]| -> Vec<[f64; 3]> {
        let (p, v) = x.split_at(count);
        let gradient = cloth.gradient(p);
        let of_position = (0..count).map(|i| minus(along(positions[i], v[i], step), p[i]));
        let of_velocity = (0..count).map(|i| {
            let w = cloth.inverse_masses[i];
            let gravity = if w > 0.0 { gravity } else { [0.0; 3] };
            let goal = along(along(velocities[i], gravity, step), gradient[i], -w * step);
            minus(goal, v[i]).map(|r| r * settings.scale)
        });
        of_position.chain(of_velocity).collect()
    };
    let add = |x: &mut [[f64; 3]], d: &[[f64; 3]], factor: f64| {
        for (i, (x, &d)) in x.iter_mut().zip(d).enumerate() {
            *x = along(*x, d, if i < count { factor } else { factor / settings.scale });
        }
    };
    let sum = |a: &[[f64; 3]], b: &[[f64; 3]]| -> f64 {
        a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| a * b).sum()
    };
    let mut r = residual(&x);
    let first = longest(&r);
    add(&mut x, &r.clone(), 1.0);
    let mut d = r.clone();
    let mut old = 0.0;
    for s in 0..settings.iterations {
        if settings.is_mended {
            r = residual(&x);
        }
        let largest = longest(&r);
        if largest < settings.precision {
            return SeedOutcome::Converged(s);
        }
        if !largest.is_finite() || largest > DIVERGENCE * first {
            return SeedOutcome::Diverged(s);
        }
        let t = sum(&r, &r);
        if s == 0 {
            d.clone_from(&r);
        } else {
            let b = t / old;
            d.iter_mut().zip(&r).for_each(|(d, &r)| *d = along(r, *d, b));
        }
        old = t;
        let t0 = sum(&r, &d);
        add(&mut x, &d, 1.0);
        r = residual(&x);
        let t1 = sum(&r, &d);
        let k = -t0 / (t1 - t0);
        add(&mut x, &d, k - 1.0);
    }
    SeedOutcome::Unconverged
}
