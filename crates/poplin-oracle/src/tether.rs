//! Tethers (Kim, Chentanez, Mueller, "Long Range Attachments", 2012).

/// Pulls `x` towards every anchor farther away than its length, by `stiffness` of the excess,
/// averaged over the anchors.
pub fn constrain_to_anchors(x: [f64; 3], anchors: &[([f64; 3], f64)], stiffness: f64) -> [f64; 3] {
    let mut moved = x;
    for (anchor, length) in anchors {
        let d = [anchor[0] - x[0], anchor[1] - x[1], anchor[2] - x[2]];
        let distance = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        if distance > *length {
            let excess = (distance - length) / distance * stiffness / anchors.len() as f64;
            for axis in 0..3 {
                moved[axis] += d[axis] * excess;
            }
        }
    }
    moved
}
