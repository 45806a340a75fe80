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
/// by `displacement` \[m\] through the air; the corners move against it.
///
/// With speed U = |d| / step for a displacement d, n the unit normal, u = d / |d| and the *double*
/// area A2: drag along u and lift along the component of n perpendicular to u, `density/2 * A2 *
/// U^2 * step^2 / step * (drag |n.u| u + lift (n.u) |n x u| (n - (n.u) u))`.
pub fn air_impulse(corners: [[f64; 3]; 3], displacement: [f64; 3], air: Air) -> [f64; 3] {
    let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let p = minus(corners[2], corners[0]);
    let q = minus(corners[1], corners[0]);
    let normal = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    let double_area = dot(normal, normal).sqrt();
    let length = dot(displacement, displacement).sqrt();
    if length * length < air.still || double_area == 0.0 {
        return [0.0; 3];
    }
    let u = displacement.map(|x| x / length);
    let n = normal.map(|x| x / double_area);
    let cosine = dot(n, u);
    let across: [f64; 3] = std::array::from_fn(|k| n[k] - cosine * u[k]);
    let sine = dot(across, across).sqrt();
    let pressure = air.density / 2.0 * double_area * length * length / air.step;
    std::array::from_fn(|k| {
        pressure * (air.drag * cosine.abs() * u[k] + air.lift * cosine * sine * across[k])
    })
}
