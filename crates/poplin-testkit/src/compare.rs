//! Comparators of particle states. All reject different lengths.

use thiserror::Error;

/// Where two states differ.
#[derive(Debug, Clone, PartialEq, Error)]
#[must_use]
pub enum Difference {
    /// Their particle counts differ.
    #[error("{what}: {left} particles against {right}")]
    Count {
        /// What was compared.
        what: String,
        /// Particles of the first state.
        left: usize,
        /// Particles of the second state.
        right: usize,
    },
    /// Bits differ.
    #[error(
        "{what}: {differing} of {count} particles differ, first {first}: {left:?} against {right:?}"
    )]
    Bits {
        /// What was compared.
        what: String,
        /// Particles that differ.
        differing: usize,
        /// Particles of each state.
        count: usize,
        /// The first particle that differs.
        first: usize,
        /// It in the first state.
        left: [f32; 4],
        /// It in the second state.
        right: [f32; 4],
    },
    /// A component is farther off than allowed.
    #[error(
        "{what}: particle {particle} component {component}: {left} against {right}, {excess:.1} x the allowed {factor} eps at scale {scale}"
    )]
    Distance {
        /// What was compared.
        what: String,
        /// The worst particle.
        particle: usize,
        /// Its worst component.
        component: usize,
        /// It in the first state.
        left: f32,
        /// It in the second state.
        right: f32,
        /// The difference over what is allowed; infinite for NaN.
        excess: f32,
        /// What is allowed, in epsilons of the scale.
        factor: f32,
        /// The scale.
        scale: f32,
    },
}

/// A particle, or its row of position and inverse mass.
pub trait Row: Copy + Into<[f32; 4]> {}

impl<T: Copy + Into<[f32; 4]>> Row for T {}

fn same_count<T, U>(what: &str, a: &[T], b: &[U]) -> Result<(), Difference> {
    if a.len() == b.len() {
        return Ok(());
    }
    Err(Difference::Count { what: what.to_owned(), left: a.len(), right: b.len() })
}

/// Whether every bit agrees.
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

/// Whether every value agrees within `factor * f32::EPSILON * scale`, with the scale the larger of `scale` and the value.
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
    same_count(what, a, b)?;
    let mut worst: Option<(f32, usize, usize, [f32; 2])> = None;
    for (i, (&a, &b)) in a.iter().zip(b).enumerate() {
        let (a, b): ([f32; 4], [f32; 4]) = (a.into(), b.into());
        for k in 0..4 {
            if a[k].to_bits() == b[k].to_bits() {
                continue;
            }
            let allowed = factor * f32::EPSILON * scale.max(b[k].abs());
            let excess = (a[k] - b[k]).abs() / allowed;
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
                factor,
                scale,
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_is_seen() {
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
    fn closeness_is_relative_and_never_forgives_nan() {
        let a = [[1000.0, 0.0, 0.0, 0.0]];
        assert_eq!(close("a", &a, &[[1000.0001, 0.0, 0.0, 0.0]], 2.0, 1.0), Ok(()));
        assert!(close("a", &a, &[[1000.01, 0.0, 0.0, 0.0]], 2.0, 1.0).is_err());
        assert!(close("a", &a, &[[f32::NAN, 0.0, 0.0, 0.0]], 1e9, 1.0).is_err());
        assert!(close("a", &[[f32::NAN; 4]], &a, 1e9, 1.0).is_err());
    }
}
