//! Distance constraint (Mueller et al., "Position Based Dynamics", 2006, eq. 10-11).

/// Soft range around the rest length; lengths are relative to it.
#[derive(Debug, Clone, Copy)]
pub struct SoftRange {
    /// Fraction of the error left uncorrected within the limits.
    pub multiplier: f64,
    /// Shortest relative length.
    pub compression_limit: f64,
    /// Longest relative length.
    pub stretch_limit: f64,
}

/// Moves a and b along their connection until `stiffness` of the length error is corrected, divided
/// by inverse mass.
pub fn project_distance(
    a: [f64; 3],
    b: [f64; 3],
    w: [f64; 2],
    rest_length: f64,
    stiffness: f64,
    soft: Option<SoftRange>,
) -> [[f64; 3]; 2] {
    let d = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
    if length == 0.0 || rest_length == 0.0 || w[0] + w[1] == 0.0 {
        return [a, b];
    }
    let mut relative_error = (length - rest_length) / length;
    if let Some(soft) = soft {
        let lower = 1.0 - 1.0 / soft.compression_limit;
        let upper = 1.0 - 1.0 / soft.stretch_limit;
        relative_error -= soft.multiplier * relative_error.min(upper).max(lower);
    }
    let fraction = relative_error * stiffness / (w[0] + w[1]);
    let move_by = |p: [f64; 3], factor: f64| {
        [p[0] + d[0] * factor, p[1] + d[1] * factor, p[2] + d[2] * factor]
    };
    [move_by(a, fraction * w[0]), move_by(b, -fraction * w[1])]
}
