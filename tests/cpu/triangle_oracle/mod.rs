//! Triangle contact against its oracle: closest points, trees, candidates, momentum, and no
//! crossing for any motion of rows.

mod candidates;
mod geometry;
mod motion;

use std::sync::Arc;

use glam::{Quat, Vec3};
use poplin_cpu::triangle_contact::{Body, Kind, Role, Surface, TriangleContact};
use poplin_geometry::Rng;
use poplin_layout::TRIANGLE_REST;
use poplin_measure::entanglement::EntanglementCounter;
use poplin_oracle::{NearPairs, near_pairs, point_triangle, segment_segment};
use poplin_testkit::triangles::{
    direction, point, power, random_sheet, random_triangles, rotation,
};

/// Length of a solver iteration \[s\]; it only scales the multipliers.
const STEP: f32 = 1.0 / 300.0;

fn wide(x: Vec3) -> [f64; 3] {
    x.to_array().map(f64::from)
}

/// Cloths with random motion.
#[derive(Debug)]
struct Cloths {
    contact: TriangleContact,
    /// Rows of the corners of all triangles.
    triangles: Vec<[u32; 3]>,
    counter: EntanglementCounter,
    /// Smallest thickness \[m\].
    thickness: f32,
}

impl Cloths {
    /// Builds cloths of these surfaces and radii \[m\], with random masses and friction.
    fn new(rng: &mut Rng, surfaces: Vec<(Surface, f32)>) -> Self {
        let mut contact = TriangleContact::default();
        let mut triangles = Vec::new();
        let mut thickness = f32::INFINITY;
        for (surface, radius) in surfaces {
            let begin = contact.start.len() as u32;
            triangles.extend(surface.faces.iter().map(|face| face.map(|corner| begin + corner)));
            let role = Role::Cloth { group: 1, mask: 1, colliders: [0; 2] };
            let friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
            contact.add(Body::new(Arc::new(surface), role, friction), radius, 0.0);
            thickness = thickness.min(2.0 * radius);
        }
        let masses = contact.start.iter().map(|_| 1.0 / rng.range(0.001, 0.01));
        contact.inverse_mass = masses.collect();
        contact.target.clone_from(&contact.start);
        let rest: Vec<_> = contact.start.iter().map(|x| x.to_array()).collect();
        let counter = EntanglementCounter::new(&rest, &triangles, &[]);
        Self { contact, triangles, counter, thickness }
    }

    /// Builds two to four close cloths without crossings: sheets above each other, or loose
    /// triangles.
    fn random(rng: &mut Rng) -> Self {
        loop {
            let thickness = power(rng, -2.7, -1.7);
            let edge = thickness * rng.range(0.5, 5.0);
            let rotation = rotation(rng);
            let is_dense = rng.index(3) > 0;
            let mut height = 0.0;
            let mut surfaces = Vec::new();
            for _ in 0..2 + rng.index(3) {
                let mut surface = match rng.index(4) {
                    0 => {
                        let count = 1 + rng.index(6);
                        random_triangles(rng, count, 2.0 * edge)
                    }
                    _ => {
                        let [columns, rows] = [(); 2].map(|()| 2 + rng.index(5));
                        random_sheet(rng, columns, rows, edge)
                    }
                };
                height +=
                    thickness * if is_dense { rng.range(0.1, 3.0) } else { power(rng, -1.0, 1.5) };
                let offset = point(rng, edge).with_z(height);
                let spin = Quat::from_rotation_z(rng.range(0.0, 6.0));
                let put = |x: &mut Vec3| *x = rotation * (spin * *x + offset);
                surface.rest.iter_mut().for_each(put);
                surfaces.push((surface, 0.5 * thickness * rng.range(1.0, 1.5)));
            }
            let cloths = Self::new(rng, surfaces);
            if cloths.crossings() == 0 {
                return cloths;
            }
        }
    }

    /// Counts crossings of edges and triangles exactly.
    fn crossings(&self) -> usize {
        let positions: Vec<_> = self.contact.start.iter().map(|x| x.to_array()).collect();
        self.counter.crossings(&positions)
    }

    /// Finds the pairs within thickness by trying all pairs.
    fn near(&self) -> NearPairs {
        let positions: Vec<_> = self.contact.start.iter().map(|&x| wide(x)).collect();
        let radius = |row: u32| f64::from(self.contact.radius[row as usize]);
        near_pairs(&positions, &self.triangles, |a, b| radius(a) + radius(b))
    }

    /// Tests whether a pair of one body is exempt: it rests closer than its thickness, and is now
    /// at least as far apart as contact keeps it.
    fn rests_closer(&self, kind: Kind, rows: [u32; 4]) -> bool {
        let TriangleContact { bodies, start, rest, .. } = &self.contact;
        let apart = |all: &[Vec3]| distance(kind, rows.map(|row| wide(all[row as usize])));
        let is_own = |body: &Body| rows.iter().all(|&row| body.rows.contains(&(row as usize)));
        bodies.iter().any(is_own) && apart(start) > 0.999 * f64::from(TRIANGLE_REST) * apart(rest)
    }

    /// Sets random targets: each row by itself, whole bodies, or all rows to a point, a plane or
    /// the other side.
    fn aim(&mut self, rng: &mut Rng) {
        let size = self.thickness * power(rng, -2.0, 2.0);
        let TriangleContact { bodies, start, target, .. } = &mut self.contact;
        target.clone_from(start);
        let noise = if rng.index(2) == 0 { size } else { 0.0 };
        // A common drift: rows meet only where some of them are held back.
        let speed = [0.0, 50.0][rng.index(2)] * self.thickness;
        let drift = point(rng, speed);
        let all = target.len() as f32;
        let middle = start.iter().sum::<Vec3>() / all;
        let (kind, axis, point_of_all) = (rng.index(5), direction(rng), point(rng, size));
        for body in bodies {
            let rows = body.rows.clone();
            let center = start[rows.clone()].iter().sum::<Vec3>() / rows.len() as f32;
            let offset = point(rng, size);
            let spin = Quat::from_axis_angle(direction(rng), rng.range(-2.0, 2.0));
            for target in &mut target[rows] {
                let from_middle = *target - middle;
                *target = match kind {
                    0 => *target + offset,
                    1 => center + spin * (*target - center) + offset,
                    2 => middle + point_of_all,
                    3 => *target - axis * axis.dot(from_middle) * rng.range(0.0, 2.0),
                    _ => *target + point(rng, size),
                } + drift
                    + point(rng, noise * 0.3);
            }
        }
    }
}

/// Distance of a pair \[m\].
fn distance(kind: Kind, [a, b, c, d]: [[f64; 3]; 4]) -> f64 {
    if kind == Kind::VertexFace {
        point_triangle(a, [b, c, d])
    } else {
        segment_segment([a, b], [c, d])
    }
}
