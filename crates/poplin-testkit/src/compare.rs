//! Comparators of particle states. All of them reject different lengths.

use thiserror::Error;

/// Difference between two states.
#[derive(Debug, Clone, PartialEq, Error)]
#[must_use]
pub enum Difference {
    /// The particle counts differ.
    #[error("{what}: {left} particles against {right}")]
    Count {
        /// Name of the comparison.
        what: String,
        /// Particle count of the first state.
        left: usize,
        /// Particle count of the second state.
        right: usize,
    },
    /// The bits of some particles differ.
    #[error(
        "{what}: {differing} of {count} particles differ, first {first}: {left:?} against {right:?}"
    )]
    Bits {
        /// Name of the comparison.
        what: String,
        /// Number of particles that differ.
        differing: usize,
        /// Particle count of each state.
        count: usize,
        /// Index of the first particle that differs.
        first: usize,
        /// First particle that differs, in the first state.
        left: [f32; 4],
        /// First particle that differs, in the second state.
        right: [f32; 4],
    },
    /// A component differs by more than allowed.
    #[error(
        "{what}: particle {particle} component {component}: {left} against {right}, {excess:.1} x the allowed {allowed:e}"
    )]
    Distance {
        /// Name of the comparison.
        what: String,
        /// Index of the worst particle.
        particle: usize,
        /// Worst component of that particle.
        component: usize,
        /// Worst component in the first state.
        left: f32,
        /// Worst component in the second state.
        right: f32,
        /// Difference relative to the allowed one; infinite for NaN.
        excess: f32,
        /// Allowed difference.
        allowed: f32,
    },
    /// The states are too far apart on average.
    #[error("{what}: {distance:e} m apart on average, {allowed:e} m allowed")]
    Mean {
        /// Name of the comparison.
        what: String,
        /// Root mean square of the distances \[m\].
        distance: f32,
        /// Allowed root mean square \[m\].
        allowed: f32,
    },
}

/// Particle, or its row of position and inverse mass.
pub trait Row: Copy + Into<[f32; 4]> {}

impl<T: Copy + Into<[f32; 4]>> Row for T {}

fn same_count<T, U>(what: &str, a: &[T], b: &[U]) -> Result<(), Difference> {
    if a.len() == b.len() {
        return Ok(());
    }
    Err(Difference::Count { what: what.to_owned(), left: a.len(), right: b.len() })
}

/// Checks that every bit agrees.
///
/// # Errors
/// [`Difference`] with the first particle whose bits differ.
pub fn same_bits(what: &str, a: &[impl Row], b: &[impl Row]) -> Result<(), Difference> {
    same_count(what, a, b)?;
    let bits = |p: [f32; 4]| p.map(f32::to_bits);
    let pairs = a.iter().zip(b).map(|(&a, &b)| (a.into(), b.into()));
    let mut differing = pairs.enumerate().filter(|&(_, (a, b))| bits(a) != bits(b));
    match differing.next() {
        None => Ok(()),
        Some((first, (left, right))) => Err(Difference::Bits {
            what: what.to_owned(),
            differing: 1 + differing.count(),
            count: a.len(),
            first,
            left,
            right,
        }),
    }
}

/// Checks that every value agrees within `factor * f32::EPSILON` times the larger of `scale` and
/// the value.
///
/// # Errors
/// [`Difference`] with the worst particle, both values and the allowance.
pub fn close(
    what: &str,
    a: &[impl Row],
    b: &[impl Row],
    factor: f32,
    scale: f32,
) -> Result<(), Difference> {
    let allowed = |p: [f32; 4]| p.map(|x| factor * f32::EPSILON * scale.max(x.abs()));
    within(what, a, b, &b.iter().map(|&p| allowed(p.into())).collect::<Vec<_>>())
}

/// Checks that every value agrees within its own allowance, which must be above 0.
///
/// # Errors
/// [`Difference`] with the worst particle, both values and the allowance.
pub fn within(
    what: &str,
    a: &[impl Row],
    b: &[impl Row],
    allowed: &[[f32; 4]],
) -> Result<(), Difference> {
    same_count(what, a, b)?;
    same_count(what, a, allowed)?;
    let mut worst: Option<(f32, usize, usize, [f32; 2])> = None;
    for (i, ((&a, &b), allowed)) in a.iter().zip(b).zip(allowed).enumerate() {
        let (a, b): ([f32; 4], [f32; 4]) = (a.into(), b.into());
        for k in 0..4 {
            if a[k].to_bits() == b[k].to_bits() {
                continue;
            }
            let excess = (a[k] - b[k]).abs() / allowed[k];
            // NaN on either side must be the worst of all.
            let excess = if excess.is_nan() { f32::INFINITY } else { excess };
            if worst.is_none_or(|(known, ..)| excess > known) {
                worst = Some((excess, i, k, [a[k], b[k]]));
            }
        }
    }
    match worst {
        Some((excess, particle, component, [left, right])) if excess > 1.0 => {
            Err(Difference::Distance {
                what: what.to_owned(),
                particle,
                component,
                left,
                right,
                excess,
                allowed: allowed[particle][component],
            })
        }
        _ => Ok(()),
    }
}

/// Checks that the root mean square of the particle distances is at most `allowed` \[m\].
///
/// # Errors
/// [`Difference`] with that distance.
pub fn near(what: &str, a: &[impl Row], b: &[impl Row], allowed: f32) -> Result<(), Difference> {
    same_count(what, a, b)?;
    let square = |[a, b]: [[f32; 4]; 2]| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>();
    let pairs = a.iter().zip(b).map(|(&a, &b)| [a.into(), b.into()]);
    let distance = (pairs.map(square).sum::<f32>() / a.len().max(1) as f32).sqrt();
    // NaN is not near.
    if distance <= allowed {
        return Ok(());
    }
    Err(Difference::Mean { what: what.to_owned(), distance, allowed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_different_bit_is_found() {
        let a = [[1.0, 2.0, 3.0, 4.0]];
        let mut b = a;
        assert_eq!(same_bits("a", &a, &b), Ok(()));
        b[0][2] = f32::from_bits(b[0][2].to_bits() + 1);
        let difference = same_bits("a", &a, &b).unwrap_err();
        assert!(matches!(difference, Difference::Bits { differing: 1, count: 1, first: 0, .. }));
        assert!(difference.to_string().contains("1 of 1 particles differ, first 0"));
        assert!(same_bits("a", &a, &a[1..]).is_err());
    }

    #[test]
    fn close_is_relative_and_rejects_nan() {
        let a = [[1000.0, 0.0, 0.0, 0.0]];
        assert_eq!(close("a", &a, &[[1000.0001, 0.0, 0.0, 0.0]], 2.0, 1.0), Ok(()));
        assert!(close("a", &a, &[[1000.01, 0.0, 0.0, 0.0]], 2.0, 1.0).is_err());
        assert!(close("a", &a, &[[f32::NAN, 0.0, 0.0, 0.0]], 1e9, 1.0).is_err());
        assert!(close("a", &[[f32::NAN; 4]], &a, 1e9, 1.0).is_err());
    }

    #[test]
    fn near_is_an_average_and_rejects_nan() {
        let a = [[0.0; 4], [0.0, 0.0, 3.0, 0.0]];
        let b = [[0.0; 4], [0.0, 4.0, 0.0, 9.0]];
        assert_eq!(near("a", &a, &b, 12.5f32.sqrt()), Ok(()));
        assert!(near("a", &a, &b, 3.5).is_err());
        assert!(near("a", &a, &[[0.0; 4], [f32::NAN; 4]], 1e9).is_err());
        assert!(near("a", &a, &b[..1], 1e9).is_err());
    }
}
