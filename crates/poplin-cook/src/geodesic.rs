//! Shortest paths over a surface from islands of pins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use glam::{DVec3, Vec3};
use poplin_geometry::Csr;

/// Relative improvement required to replace a known path, so that rounding does not improve paths
/// forever.
const MIN_IMPROVEMENT: f64 = 1e-10;

/// Marks a vertex without known pin.
const NO_PIN: u32 = u32::MAX;

/// Path from a vertex to its nearest pin of an island.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Path {
    /// The pin.
    pub(crate) pin: u32,
    /// Length of the path \[m\].
    pub(crate) length: f64,
}

/// Marches distances from pins over the triangles of a surface.
///
/// Novotni & Klein, "Computing geodesic distances on triangular meshes", WSCG 2002: two vertices of
/// a triangle with known distances define a virtual source in the plane of the triangle, on the far
/// side; the third vertex is at its distance from that source, provided the line from there passes
/// between the two. Deviations: a vertex is reopened whenever a shorter path is found, so that
/// obtuse triangles need no unfolding and a flat convex surface is exact; if the line does not pass
/// between the vertices, the path follows the edges; no path is shorter than the straight line to
/// its pin; and if the two vertices lead to different pins, the distance of one to the other's pin
/// is replaced by its known lower bound (its own distance or the straight line, whichever is
/// longer), which is again exact on a flat convex surface.
#[derive(Debug)]
pub(crate) struct March<'a> {
    positions: &'a [DVec3],
    /// Other two corners of each triangle at a vertex.
    corners: Csr<[u32; 2]>,
    paths: Vec<Path>,
    reached: Vec<u32>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Computes the length of the shortest path over triangles from one vertex to every other \[m\],
/// infinite if there is none. Exact on a flat convex surface, otherwise slightly too long; same
/// source and deviations as tethers.
///
/// # Panics
/// Panics if `from` or a corner of a triangle is not a vertex.
pub fn path_lengths(triangles: &[[u32; 3]], positions: &[[f32; 3]], from: u32) -> Vec<f64> {
    let positions: Vec<_> =
        positions.iter().map(|&position| Vec3::from_array(position).as_dvec3()).collect();
    let mut lengths = vec![f64::INFINITY; positions.len()];
    March::new(&positions, triangles.iter().copied()).run(
        [from].into_iter(),
        |_, _| false,
        |vertex, path| lengths[vertex as usize] = path.length,
    );
    lengths
}

impl<'a> March<'a> {
    /// Prepares a march over a surface.
    pub(crate) fn new(
        positions: &'a [DVec3],
        triangles: impl Iterator<Item = [u32; 3]> + Clone,
    ) -> Self {
        let corners = triangles.flat_map(|[a, b, c]| [(a, [b, c]), (b, [c, a]), (c, [a, b])]);
        Self {
            positions,
            corners: Csr::new(positions.len(), corners),
            paths: vec![Path { pin: NO_PIN, length: f64::INFINITY }; positions.len()],
            reached: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// Calls `found(vertex, path)` for every vertex reachable from the pins, in no particular
    /// order.
    ///
    /// Paths do not pass through vertices for which `is_far(vertex, length)` holds.
    pub(crate) fn run(
        &mut self,
        pins: impl Iterator<Item = u32>,
        is_far: impl Fn(u32, f64) -> bool,
        mut found: impl FnMut(u32, Path),
    ) {
        for pin in pins {
            self.offer(pin, Path { pin, length: 0.0 });
        }
        while let Some(Reverse((bits, vertex))) = self.queue.pop() {
            let path = self.paths[vertex as usize];
            // Bits of non-negative lengths sort like the lengths; different bits mean that a
            // shorter path was found since.
            if path.length.to_bits() == bits && !is_far(vertex, path.length) {
                self.spread(vertex, path);
            }
        }
        for vertex in self.reached.drain(..) {
            let path = &mut self.paths[vertex as usize];
            found(vertex, *path);
            *path = Path { pin: NO_PIN, length: f64::INFINITY };
        }
    }

    fn spread(&mut self, vertex: u32, path: Path) {
        for k in 0..self.corners.row(vertex as usize).len() {
            let [b, c] = self.corners.row(vertex as usize)[k];
            for (near, far) in [(b, c), (c, b)] {
                let length = path.length
                    + self.positions[vertex as usize].distance(self.positions[far as usize]);
                // Path along the edge, always valid; then straight across the triangle, which may
                // be shorter.
                self.offer(far, Path { pin: path.pin, length });
                let other = self.paths[near as usize];
                if other.pin != NO_PIN {
                    self.offer_across(far, (vertex, path), (near, other));
                }
            }
        }
    }

    /// Offers `far` the straight paths through the edge between `a` and `b`.
    fn offer_across(&mut self, far: u32, a: (u32, Path), b: (u32, Path)) {
        // If the ends lead to different pins, either may be nearer to `far`.
        let pins = [Some(a.1.pin), (b.1.pin != a.1.pin).then_some(b.1.pin)];
        for pin in pins.into_iter().flatten() {
            let source = self.positions[pin as usize];
            let length_to_pin = |(vertex, path): (u32, Path)| {
                if path.pin == pin {
                    path.length
                } else {
                    path.length.max(source.distance(self.positions[vertex as usize]))
                }
            };
            let [at_a, at_b, at_far] =
                [a.0, b.0, far].map(|vertex| self.positions[vertex as usize]);
            if let Some(length) =
                length_through_edge(at_a, length_to_pin(a), at_b, length_to_pin(b), at_far)
            {
                self.offer(far, Path { pin, length: length.max(source.distance(at_far)) });
            }
        }
    }

    fn offer(&mut self, vertex: u32, path: Path) {
        let known = &mut self.paths[vertex as usize];
        if known.pin == NO_PIN {
            self.reached.push(vertex);
        } else if path.length >= known.length * (1.0 - MIN_IMPROVEMENT) {
            return;
        }
        *known = path;
        self.queue.push(Reverse((path.length.to_bits(), vertex)));
    }
}

/// Length of the straight path from the virtual source behind `a b` to `far`, if it passes between
/// `a` and `b`.
///
/// ```text
/// a = (0, 0), b = (e, 0), far = (x, y) with y > 0, source = (s, -t):
/// s^2 + t^2 = la^2 and (s - e)^2 + t^2 = lb^2
/// =>   s = (la^2 - lb^2 + e^2) / 2e,  t = sqrt(la^2 - s^2)
/// the line from the source to far crosses y = 0 at s + (x - s) t / (t + y)
/// ```
fn length_through_edge(
    a: DVec3,
    length_a: f64,
    b: DVec3,
    length_b: f64,
    far: DVec3,
) -> Option<f64> {
    let edge = b - a;
    let e = edge.length();
    if e == 0.0 {
        return None;
    }
    // Local coordinates of `far` in the plane of the triangle.
    let x = (far - a).dot(edge) / e;
    let y = ((far - a).length_squared() - x * x).max(0.0).sqrt();
    // (la - lb)(la + lb) is more accurate than la^2 - lb^2.
    let s = ((length_a - length_b) * (length_a + length_b) / e + e) * 0.5;
    let t = (length_a * length_a - s * s).max(0.0).sqrt();
    let crossing = s + (x - s) * t / (t + y);
    // False for NaN (t + y = 0).
    (crossing >= 0.0 && crossing <= e).then(|| (x - s).hypot(t + y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;
    use crate::surface::Surface;
    use poplin_model::Mesh;

    fn lengths(mesh: &Mesh, pins: &[u32]) -> Vec<f64> {
        let surface = Surface::new(mesh, Weld::Off).unwrap();
        let mut lengths = vec![f64::INFINITY; surface.positions.len()];
        March::new(&surface.positions, surface.triangles()).run(
            pins.iter().copied(),
            |_, _| false,
            |vertex, path| lengths[vertex as usize] = path.length,
        );
        lengths
    }

    fn straight(mesh: &Mesh, pins: &[u32]) -> Vec<f64> {
        let at = |vertex: u32| glam::Vec3::from(mesh.positions[vertex as usize]).as_dvec3();
        let nearest = |vertex: u32| {
            pins.iter().map(|&pin| at(pin).distance(at(vertex))).fold(f64::INFINITY, f64::min)
        };
        (0..mesh.positions.len() as u32).map(nearest).collect()
    }

    #[must_use]
    fn worst(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn flat_meshes_are_exact() {
        let mut mesh = Mesh::grid(40, 30, 2.0, 1.0);
        assert!(worst(&lengths(&mesh, &[0]), &straight(&mesh, &[0])) < 1e-9);
        assert!(worst(&lengths(&mesh, &[617]), &straight(&mesh, &[617])) < 1e-9);
        let lengths_from_0 = path_lengths(&mesh.triangulated(), &mesh.positions, 0);
        assert!(worst(&lengths_from_0, &straight(&mesh, &[0])) < 1e-9);
        assert!(worst(&lengths(&mesh, &[0, 39]), &straight(&mesh, &[0, 39])) < 1e-9);
        assert!(worst(&lengths(&mesh, &[0, 39, 600]), &straight(&mesh, &[0, 39, 600])) < 1e-9);
        // Sheared and stretched until the triangles are obtuse.
        mesh.positions.iter_mut().for_each(|p| *p = [p[0] + 1.5 * p[2], 0.0, 0.5 * p[2]]);
        assert!(worst(&lengths(&mesh, &[0]), &straight(&mesh, &[0])) < 1e-9);
        assert!(worst(&lengths(&mesh, &[300]), &straight(&mesh, &[300])) < 1e-9);
    }

    #[test]
    fn rolled_sheet_keeps_the_path_lengths_of_the_flat_one() {
        let flat = Mesh::grid(65, 20, 2.0, 0.6);
        let mut rolled = flat.clone();
        for position in &mut rolled.positions {
            let (sin, cos) = (position[0] / 0.5).sin_cos();
            *position = [0.5 * cos, 0.5 * sin, position[2]];
        }
        let worst = worst(&lengths(&rolled, &[0]), &straight(&flat, &[0]));
        assert!(worst < 1e-3, "chords are a little shorter than arcs, but not {worst} m");
    }

    #[test]
    fn paths_lead_around_a_hole() {
        let mut mesh = Mesh::grid(21, 21, 1.0, 1.0);
        // A slit from x = 0 to 0.8 along z = 0.5: the path from corner to corner leads around its
        // end.
        mesh.quads.retain(|quad| !(quad[0] / 21 == 10 && quad[0] % 21 < 16));
        let path = lengths(&mesh, &[0])[20 * 21];
        let around = (0.8f64.hypot(0.5)) + 0.05 + (0.8f64.hypot(0.45));
        assert!((path / around - 1.0).abs() < 0.02, "{path} instead of {around}");
    }

    #[test]
    fn disconnected_parts_are_not_reached() {
        let mut mesh = Mesh::grid(3, 3, 1.0, 1.0);
        mesh.positions.extend([[5.0, 0.0, 0.0], [6.0, 0.0, 0.0], [5.0, 0.0, 1.0]]);
        mesh.triangles.push([9, 10, 11]);
        mesh.uvs.clear();
        assert!(lengths(&mesh, &[4])[9..].iter().all(|length| length.is_infinite()));
    }
}
