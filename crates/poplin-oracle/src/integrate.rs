//! Damped Verlet step (Jakobsen, "Advanced Character Physics", 2001).

/// Returns the next position: `x + (x - before) * kept * step_ratio + gravity * gravity_step^2 +
/// acceleration * step^2`.
pub fn integrate(
    x: [f64; 3],
    before: [f64; 3],
    kept: [f64; 3],
    step_ratio: f64,
    gravity: ([f64; 3], f64),
    acceleration: ([f64; 3], f64),
) -> [f64; 3] {
    let (gravity, gravity_step) = gravity;
    let (acceleration, step) = acceleration;
    std::array::from_fn(|k| {
        x[k] + (x[k] - before[k]) * kept[k] * step_ratio
            + gravity[k] * gravity_step * gravity_step
            + acceleration[k] * step * step
    })
}
