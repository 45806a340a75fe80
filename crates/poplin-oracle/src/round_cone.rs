//! Round cone: the convex hull of two spheres.

use super::vector::{along, dot, length, minus};

/// Center \[m\] and radius \[m\].
pub type Sphere = ([f64; 3], f64);

/// Contact of a point with a round cone: the interpolated sphere whose surface is nearest.
#[derive(Debug, Clone, Copy)]
pub struct RoundConeTouch {
    /// Distance to the hull's surface \[m\], negative inside.
    pub distance: f64,
    /// Interpolation parameter of the sphere between the two, `0..=1`.
    pub fraction: f64,
    /// Shortest displacement to the surface \[m\]; 0 outside and exactly on the axis.
    pub push: [f64; 3],
    /// Distance of the foot on the axis to the nearer end \[m\], on either side of it: margin of
    /// the decision between side and end.
    pub clearance: f64,
}

/// Returns the contact of x with the hull of a and b: the minimum of `|x - c(t)| - r(t)` over
/// `0..=1` for the spheres `c(t), r(t)` between a and b. The function is convex, so its slope
/// changes sign once.
pub fn touch_round_cone(x: [f64; 3], a: Sphere, b: Sphere) -> RoundConeTouch {
    let axis = minus(b.0, a.0);
    let growth = b.1 - a.1;
    let slope = |t: f64| {
        let d = minus(along(a.0, axis, t), x);
        dot(d, axis) - growth * length(d)
    };
    // Searches beyond the ends too, to measure the distance of the minimum from them; half a hull's
    // length is far enough.
    let (mut low, mut high) = (-0.5, 1.5);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    let foot = 0.5 * (low + high);
    let fraction = foot.clamp(0.0, 1.0);
    let d = minus(x, along(a.0, axis, fraction));
    let distance = length(d) - (a.1 + growth * fraction);
    let factor = if distance < 0.0 && length(d) > 0.0 { -distance / length(d) } else { 0.0 };
    RoundConeTouch {
        distance,
        fraction,
        push: d.map(|x| x * factor),
        clearance: foot.abs().min((foot - 1.0).abs()) * length(axis),
    }
}

/// Contacts of a point with spheres and the capsules between them.
#[derive(Debug, Clone, Default)]
pub struct ShapeTouches {
    /// Exit from each shape that the point touches \[m\], with the fraction along a capsule.
    /// Spheres have their own index, capsules follow all spheres.
    pub touches: Vec<(usize, [f64; 3], f64)>,
    /// Distance of the point from a different result \[m\]: from touching another shape, or another
    /// part of a capsule.
    pub clearance: f64,
}

/// Returns the contacts of x with spheres and with the capsules between them. The surface of a
/// capsule is its side and a part of each of its end spheres; a sphere between several capsules
/// pushes only points that are nearest to it on all of them. A capsule with one sphere inside the
/// other is just its spheres.
pub fn touch_shapes(x: [f64; 3], spheres: &[Sphere], capsules: &[[usize; 2]]) -> ShapeTouches {
    let mut found = ShapeTouches { clearance: f64::INFINITY, ..Default::default() };
    let mut is_covered = vec![false; spheres.len()];
    for (index, &[a, b]) in capsules.iter().enumerate() {
        let ([p, q], [r, s]) = ([spheres[a].0, spheres[b].0], [spheres[a].1, spheres[b].1]);
        if length(minus(q, p)) <= (s - r).abs() {
            continue;
        }
        let touch = touch_round_cone(x, spheres[a], spheres[b]);
        is_covered[a] |= touch.fraction > 0.0;
        is_covered[b] |= touch.fraction < 1.0;
        found.clearance = found.clearance.min(touch.distance.abs());
        if touch.distance < 0.0 {
            found.clearance = found.clearance.min(touch.clearance);
            if touch.fraction > 0.0 && touch.fraction < 1.0 {
                found.touches.push((spheres.len() + index, touch.push, touch.fraction));
            }
        }
    }
    for (index, &(center, radius)) in spheres.iter().enumerate() {
        let d = minus(x, center);
        let distance = length(d);
        if !is_covered[index] {
            found.clearance = found.clearance.min((distance - radius).abs());
            if distance < radius {
                let factor = if distance > 0.0 { (radius - distance) / distance } else { 0.0 };
                found.touches.push((index, d.map(|x| x * factor), 0.0));
            }
        }
    }
    found
}

impl ShapeTouches {
    /// Sum of the exits \[m\].
    pub fn sum(&self) -> [f64; 3] {
        self.touches.iter().fold([0.0; 3], |sum, &(_, push, _)| along(sum, push, 1.0))
    }

    /// Mean of the exits \[m\]; 0 without a contact.
    pub fn mean(&self) -> [f64; 3] {
        self.sum().map(|x| x / self.touches.len().max(1) as f64)
    }
}
