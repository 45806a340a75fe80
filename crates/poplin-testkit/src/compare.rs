//! Comparators of particle states. All refuse different lengths.

/// The first particle whose bits differ, as a message; `Ok` if every bit agrees.
///
/// # Errors
/// A message with the particle and both values.
pub fn same_bits(what: &str, a: &[[f32; 4]], b: &[[f32; 4]]) -> Result<(), String> {
    if a.len() != b.len() {
        return Err(format!("{what}: {} particles against {}", a.len(), b.len()));
    }
    let bits = |p: &[f32; 4]| p.map(f32::to_bits);
    let differing = a.iter().zip(b).filter(|(a, b)| bits(a) != bits(b)).count();
    match a.iter().zip(b).position(|(a, b)| bits(a) != bits(b)) {
        None => Ok(()),
        Some(i) => Err(format!(
            "{what}: {differing} of {} particles differ, first {i}: {:?} against {:?}",
            a.len(),
            a[i],
            b[i]
        )),
    }
}

/// Whether every number agrees within `factor * f32::EPSILON * scale`, with the scale the larger of `scale` and the number.
///
/// # Errors
/// A message with the worst particle, both values and the allowance.
pub fn close(
    what: &str,
    a: &[[f32; 4]],
    b: &[[f32; 4]],
    factor: f32,
    scale: f32,
) -> Result<(), String> {
    if a.len() != b.len() {
        return Err(format!("{what}: {} particles against {}", a.len(), b.len()));
    }
    let mut worst: Option<(f32, usize, usize)> = None;
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        for k in 0..4 {
            if a[k].to_bits() == b[k].to_bits() {
                continue;
            }
            let allowed = factor * f32::EPSILON * scale.max(b[k].abs());
            let share = (a[k] - b[k]).abs() / allowed;
            // NaN on either side must be the worst of all.
            let share = if share.is_nan() { f32::INFINITY } else { share };
            if worst.is_none_or(|(known, ..)| share > known) {
                worst = Some((share, i, k));
            }
        }
    }
    match worst {
        Some((share, i, k)) if share > 1.0 => Err(format!(
            "{what}: particle {i} component {k}: {} against {}, {share:.1} x the allowed {factor} eps at scale {scale}",
            a[i][k], b[i][k]
        )),
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
        assert!(same_bits("a", &a, &b).unwrap_err().contains("1 of 1 particles differ, first 0"));
        assert!(same_bits("a", &a, &[]).is_err());
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
