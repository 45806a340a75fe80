//! Motion and separation spheres of single particles.

fn towards(x: [f64; 3], center: [f64; 3]) -> ([f64; 3], f64) {
    let d = [center[0] - x[0], center[1] - x[1], center[2] - x[2]];
    (d, (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt())
}

/// Pulls `x` towards the sphere by `stiffness` of its distance outside. A radius below 0 counts as
/// 0.
pub fn keep_inside(x: [f64; 3], center: [f64; 3], radius: f64, stiffness: f64) -> [f64; 3] {
    let (d, distance) = towards(x, center);
    let excess = distance - radius.max(0.0);
    if excess <= 0.0 {
        x
    } else {
        std::array::from_fn(|k| x[k] + d[k] / distance * excess * stiffness)
    }
}

/// Moves `x` radially to the surface of the sphere if it is inside; at the center, without a
/// direction, it stays.
pub fn keep_outside(x: [f64; 3], center: [f64; 3], radius: f64) -> [f64; 3] {
    let (d, distance) = towards(x, center);
    if distance >= radius || distance == 0.0 {
        x
    } else {
        std::array::from_fn(|k| center[k] - d[k] / distance * radius)
    }
}
