//! Air drag and lift of a triangle by the thin-plate law; see `shaders/stage/wind.wgsl`.

/// Air in one step.
#[derive(Debug, Clone, Copy)]
pub struct Air {
    /// Drag coefficient of one step.
    pub drag: f64,
    /// Lift coefficient of one step.
    pub lift: f64,
    /// Density [kg/m^3].
    pub density: f64,
    /// Length of the step \[s\].
    pub step: f64,
    /// Squared displacement through the air below which there is no impulse [m^2].
    pub still: f64,
}

/// Returns the impulse \[kg m\] (mass times displacement) on *each* corner of a triangle that moves
/// by `displacement` \[m\] through the air; the corners move against it; and whether the
/// bound cut it.
///
/// With speed U = |d| / step for a displacement d, n the unit normal, u = d / |d| and the *double*
/// area A2: drag along u and lift along the component of n perpendicular to u, `density/2 * A2 *
/// U^2 * step^2 / step * (drag |n.u| u + lift (n.u) |n x u| (n - (n.u) u))`.
///
/// The bound: `share` [1/kg] is no less than a corner's inverse mass times the number of its
/// triangles. Times `share / |d|`, drag is the part A of the motion that it takes and lift the turn
/// B. B is at most 1, and A at most 1 and at least so large that (1 - A)^2 + B^2 <= 1.
pub fn air_impulse(
    corners: [[f64; 3]; 3],
    displacement: [f64; 3],
    share: f64,
    air: Air,
) -> ([f64; 3], bool) {
    let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let p = minus(corners[2], corners[0]);
    let q = minus(corners[1], corners[0]);
    let normal = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    let double_area = dot(normal, normal).sqrt();
    let length = dot(displacement, displacement).sqrt();
    if length * length < air.still || double_area == 0.0 {
        return ([0.0; 3], false);
    }
    let u = displacement.map(|x| x / length);
    let n = normal.map(|x| x / double_area);
    let cosine = dot(n, u);
    let across: [f64; 3] = std::array::from_fn(|k| n[k] - cosine * u[k]);
    let sine = dot(across, across).sqrt();
    let pressure = air.density / 2.0 * double_area * length * length / air.step;
    let [mut drag, mut lift] =
        [air.drag * cosine.abs(), air.lift * cosine * sine].map(|c| c * pressure);
    let part = share / length;
    let turn = (lift * sine * part).abs();
    let least = 1.0 - (1.0 - turn.min(1.0).powi(2)).sqrt();
    let is_bounded = turn > 1.0 || drag * part > 1.0 || drag * part < least;
    if is_bounded {
        lift /= turn.max(1.0);
        drag = (drag * part).clamp(least, 1.0) / part;
    }
    (std::array::from_fn(|k| drag * u[k] + lift * across[k]), is_bounded)
}
