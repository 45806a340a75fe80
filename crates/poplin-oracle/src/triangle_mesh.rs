//! Nearest triangle of a mesh by brute force.

use super::vector::{along, cross, dot, length, minus};

/// Position of a triangle relative to a point.
#[derive(Debug, Clone, Copy)]
pub struct NearTriangle {
    /// Nearest point of the triangle.
    pub nearest: [f64; 3],
    /// Squared distance to it [m^2], times 1.0001 if the point is behind the triangle.
    pub square: f64,
    /// Height of the point over the triangle's plane \[m\]; the front is where the corners appear
    /// counter-clockwise.
    pub height: f64,
    /// Unit normal.
    pub normal: [f64; 3],
}

impl NearTriangle {
    /// Returns the displacement to the triangle's plane \[m\], 0 for a point in front.
    pub fn push(&self) -> [f64; 3] {
        self.normal.map(|x| x * (-self.height).max(0.0))
    }
}

fn nearest_on_segment(x: [f64; 3], a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    let ab = minus(b, a);
    let square = dot(ab, ab);
    if square == 0.0 { a } else { along(a, ab, (dot(minus(x, a), ab) / square).clamp(0.0, 1.0)) }
}

/// Locates a triangle relative to x; `None` for a degenerate triangle.
///
/// The foot of x on the plane is nearest if it lies within all three sides; otherwise a point of a
/// side is.
fn locate_triangle(x: [f64; 3], corners: [[f64; 3]; 3]) -> Option<NearTriangle> {
    let [a, b, c] = corners;
    let normal = cross(minus(b, a), minus(c, a));
    let double_area = length(normal);
    if double_area == 0.0 {
        return None;
    }
    let normal = normal.map(|x| x / double_area);
    let height = dot(normal, minus(x, a));
    let foot = along(x, normal, -height);
    let sides = [[a, b], [b, c], [c, a]];
    let is_within =
        sides.iter().all(|&[p, q]| dot(normal, cross(minus(q, p), minus(foot, p))) >= 0.0);
    let reach = |p: &[f64; 3]| length(minus(x, *p));
    let on_sides = sides.map(|[p, q]| nearest_on_segment(x, p, q));
    let on_side = on_sides.into_iter().min_by(|p, q| reach(p).total_cmp(&reach(q)));
    let nearest = if is_within { foot } else { on_side.unwrap_or(foot) };
    let square = reach(&nearest).powi(2) * if height < 0.0 { 1.0001 } else { 1.0 };
    Some(NearTriangle { nearest, square, height, normal })
}

/// Returns the triangle nearest to x, the first of equally near ones, and the margin of this
/// result: the smallest difference of distances \[m\] to a triangle that would push x elsewhere, by
/// more than `other` \[m\].
pub fn nearest_triangle(
    x: [f64; 3],
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    other: f64,
) -> Option<(usize, NearTriangle, f64)> {
    let located =
        |triangle: &[u32; 3]| locate_triangle(x, triangle.map(|vertex| vertices[vertex as usize]));
    let all: Vec<_> = triangles.iter().map(located).collect();
    let mut best: Option<(usize, NearTriangle)> = None;
    for (index, located) in all.iter().enumerate() {
        if let Some(located) = located
            && best.is_none_or(|(_, known)| located.square < known.square)
        {
            best = Some((index, *located));
        }
    }
    let (index, nearest) = best?;
    let elsewhere = all
        .iter()
        .flatten()
        .filter(|located| length(minus(located.push(), nearest.push())) > other);
    let clearance = elsewhere
        .map(|located| located.square.sqrt() - nearest.square.sqrt())
        .fold(f64::INFINITY, f64::min);
    Some((index, nearest, clearance))
}
