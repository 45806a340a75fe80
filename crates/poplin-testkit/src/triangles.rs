//! Simplices and surfaces for tests of triangle contact, with every kind of degeneracy.

use glam::{Quat, Vec3};
use poplin_cpu::triangle_contact::Surface;

use poplin_geometry::Rng;

/// Random power of ten, `10^exponent` with the exponent in `low..high`.
pub fn power(rng: &mut Rng, low: f32, high: f32) -> f32 {
    10.0_f32.powf(rng.range(low, high))
}

/// Random point in `-size..size`.
pub fn point(rng: &mut Rng, size: f32) -> Vec3 {
    rng.point(-size, size).into()
}

/// Random point near the origin, smaller than `size` by a factor of `10^least` to `0.1`.
pub fn speck(rng: &mut Rng, size: f32, least: f32) -> Vec3 {
    let size = size * power(rng, least, -1.0);
    point(rng, size)
}

/// Random direction.
pub fn direction(rng: &mut Rng) -> Vec3 {
    point(rng, 1.0).try_normalize().unwrap_or(Vec3::X)
}

/// Random rotation.
pub fn rotation(rng: &mut Rng) -> Quat {
    Quat::from_axis_angle(direction(rng), rng.range(0.0, std::f32::consts::TAU))
}

/// Moves all corners by one offset, up to 100 m from the origin.
pub fn far<const N: usize>(rng: &mut Rng, corners: [Vec3; N]) -> [Vec3; N] {
    let distance = [0.0, 1.0, 100.0][rng.index(3)];
    let offset = point(rng, distance);
    corners.map(|corner| corner + offset)
}

/// Random point and triangle, with every kind of degeneracy.
pub fn random_vertex_face(rng: &mut Rng) -> [Vec3; 4] {
    let size = power(rng, -3.0, 0.5);
    let [p, a, b, mut c] = [(); 4].map(|()| point(rng, size));
    let mut b = b;
    match rng.index(8) {
        // Collinear, coincident and nearly degenerate corners.
        0 => c = a + (b - a) * rng.range(-2.0, 2.0),
        1 => b = a,
        2 => (b, c) = (a, a),
        3 => b = a + speck(rng, size, -6.0),
        4 => c = (a + b) / 2.0 + speck(rng, size, -6.0),
        _ => {}
    }
    let in_plane = a + (b - a) * rng.range(-1.0, 2.0) + (c - a) * rng.range(-1.0, 2.0);
    // At a corner, on a side, in the plane, or close to it.
    let p = match rng.index(6) {
        0 => [a, b, c][rng.index(3)],
        1 => a + (b - a) * rng.range(-0.5, 1.5),
        2 => in_plane,
        3 => in_plane + direction(rng) * size * power(rng, -6.0, 0.0),
        _ => p,
    };
    far(rng, [p, a, b, c])
}

/// Random pair of edges, with every kind of degeneracy.
pub fn random_edge_edge(rng: &mut Rng) -> [Vec3; 4] {
    let size = power(rng, -3.0, 0.5);
    let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| point(rng, size));
    let along = b - a;
    match rng.index(10) {
        // Parallel, collinear, coincident, nearly degenerate and crossing edges.
        0 => d = c + along * rng.range(-2.0, 2.0),
        1 => d = c + along * rng.range(-2.0, 2.0) + speck(rng, size, -6.0),
        2 => (c, d) = (a + along * rng.range(-3.0, 3.0), a + along * rng.range(-3.0, 3.0)),
        3 => d = c,
        4 => (b, d) = (a, c),
        5 => b = a + speck(rng, size, -7.0),
        6 => c = [a, b][rng.index(2)],
        7 => d = a + along * rng.range(0.0, 1.0) - (c - a) * rng.range(0.0, 2.0),
        _ => {}
    }
    if rng.index(2) == 0 {
        (a, b, c, d) = (c, d, b, a);
    }
    far(rng, [a, b, c, d])
}

/// Random sheet of `columns` by `rows` vertices around the origin, wavy and rough, with edges of
/// about `edge` \[m\].
pub fn random_sheet(rng: &mut Rng, columns: usize, rows: usize, edge: f32) -> Surface {
    let (wave, rough) = (edge * rng.range(0.0, 0.5), rng.range(0.0, 0.3));
    let mut rest = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let [x, y] = [(column, columns), (row, rows)]
                .map(|(index, count)| edge * (index as f32 - (count - 1) as f32 / 2.0));
            let bump = wave * (2.0 * x / edge).sin() * (1.3 * y / edge).cos();
            rest.push(Vec3::new(x, y, bump) + point(rng, rough * edge));
        }
    }
    let mut triangles = Vec::new();
    for row in 0..rows - 1 {
        for column in 0..columns - 1 {
            let [a, b] = [row, row + 1].map(|row| (row * columns + column) as u32);
            triangles.extend(match rng.index(2) {
                0 => [[a, a + 1, b], [a + 1, b + 1, b]],
                _ => [[a, a + 1, b + 1], [a, b + 1, b]],
            });
        }
    }
    Surface::of_triangles(rest, &triangles)
}

/// Random triangles without common vertices.
pub fn random_triangles(rng: &mut Rng, count: usize, size: f32) -> Surface {
    let mut rest = Vec::new();
    for _ in 0..count {
        let center = point(rng, size);
        let thin = power(rng, -3.0, 0.0);
        let [a, b, c] = [(); 3].map(|()| point(rng, size / 2.0));
        rest.extend([center + a, center + b, center + a + (c - a) * thin]);
    }
    let triangles: Vec<_> = (0..count as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    Surface::of_triangles(rest, &triangles)
}
