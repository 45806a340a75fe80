//! Surfaces of colliders.

use glam::{DVec3, Vec3};
use poplin_geometry::{HalfSpace, clip_polygon, convex_sides, walls, wide};
use poplin_model::{Parallelepiped, Plane, Shape, Sphere};

use super::Surface;
use super::studio::SOLID;

/// Segments around a ball or capsule.
const SEGMENTS: u32 = 40;
/// Rings from the pole of a ball to its equator.
const RINGS: u32 = 12;
/// Subdivisions of each part of a flat side: lighting is computed at vertices only.
const PIECES: u32 = 8;
/// Minimum y of the unit normal of a plane that counts as level.
const LEVEL: f64 = 0.999;

/// Returns the visible surface of the colliders, and their points that should be framed.
///
/// Convex shapes that leave the box `reach` are cut off there, and not framed. A level plane that
/// faces up is left out: the picture has its own floor.
pub(super) fn collider_surface(shapes: &[Shape], reach: [DVec3; 2]) -> (Surface, Vec<DVec3>) {
    let mut solid = Solid::default();
    let mut convexes: Vec<Vec<HalfSpace>> = Vec::new();
    for shape in shapes {
        match shape {
            Shape::Sphere(ball) => solid.add_capsule([*ball; 2]),
            Shape::Capsule(capsule) => solid.add_capsule(capsule.ends),
            Shape::Parallelepiped(shape) => solid.add_box(shape),
            Shape::Plane(plane) => convexes.push(vec![half_space(plane)]),
            Shape::Convex(planes) => convexes.push(planes.iter().map(half_space).collect()),
            _ => {
                let mesh = shape.mesh().unwrap_or_default();
                let first = solid.positions.len() as u32;
                solid.positions.extend(mesh.vertices.iter());
                // Saturating, so that an index out of range stays out of range.
                let moved = |corners: &[u32; 3]| corners.map(|corner| corner.saturating_add(first));
                solid.triangles.extend(mesh.triangles.iter().map(moved));
            }
        }
    }
    let mut endless = Vec::new();
    for planes in &convexes {
        if matches!(planes[..], [plane] if is_level(&plane)) {
            continue;
        }
        let polygons: Vec<_> = convex_sides(planes, reach).collect();
        let is_inside =
            |corner: &DVec3| corner.cmpge(reach[0]).all() && corner.cmple(reach[1]).all();
        if polygons.iter().flatten().all(is_inside) {
            polygons.iter().for_each(|polygon| solid.add_polygon(polygon));
        } else {
            endless.extend(
                polygons.into_iter().map(|polygon| clip_polygon(&polygon, &walls(reach), 0.0)),
            );
        }
    }
    let framed = solid.positions.iter().map(|&position| Vec3::from(position).as_dvec3()).collect();
    endless.iter().for_each(|polygon| solid.add_polygon(polygon));
    (Surface::new(solid.positions, solid.triangles, SOLID), framed)
}

/// Returns the heights of level planes that face up \[m\].
pub(super) fn floors(shapes: &[Shape]) -> impl Iterator<Item = f64> {
    let lone = shapes.iter().filter_map(|shape| match shape {
        Shape::Plane(plane) => Some(half_space(plane)),
        Shape::Convex(planes) => {
            if let [plane] = &planes[..] {
                Some(half_space(plane))
            } else {
                None
            }
        }
        _ => None,
    });
    lone.filter(is_level).map(|plane| -plane.distance)
}

/// Half space behind a plane.
fn half_space(plane: &Plane) -> HalfSpace {
    HalfSpace::new(plane.normal, plane.offset)
}

/// Tests whether a plane is level and faces up.
fn is_level(plane: &HalfSpace) -> bool {
    plane.normal.y > LEVEL
}

/// Surface that is being built.
#[derive(Default)]
struct Solid {
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

impl Solid {
    /// Adds the hull of two balls as rings around their axis.
    fn add_capsule(&mut self, ends: [Sphere; 2]) {
        let [mut from, mut to] = ends.map(|end| (wide(end.center), f64::from(end.radius)));
        let length = from.0.distance(to.0);
        if length <= (from.1 - to.1).abs() {
            // One ball contains the other.
            let outer = if from.1 >= to.1 { from } else { to };
            (from, to) = (outer, outer);
        }
        let axis = (to.0 - from.0).try_normalize().unwrap_or(DVec3::Y);
        let (across, upward) = axis.any_orthonormal_pair();
        // The cone touches both balls where their normal n has n . axis = (r0 - r1) / length.
        let tangent = if from == to { 0.0 } else { (from.1 - to.1) / length };
        let tangent = f64::acos(tangent.clamp(-1.0, 1.0));
        let fraction = |ring: u32| f64::from(ring) / f64::from(RINGS);
        let of_from = (0..=RINGS).map(|ring| {
            (from, std::f64::consts::PI + (tangent - std::f64::consts::PI) * fraction(ring))
        });
        let of_to = (0..=RINGS).map(|ring| (to, tangent * (1.0 - fraction(ring))));
        let rings: Vec<_> = of_from.chain(of_to).collect();
        let first = self.positions.len() as u32;
        for &((center, radius), angle) in &rings {
            for segment in 0..SEGMENTS {
                let angle_around = std::f64::consts::TAU * f64::from(segment) / f64::from(SEGMENTS);
                let outward = across * angle_around.cos() + upward * angle_around.sin();
                let point = center + (axis * angle.cos() + outward * angle.sin()) * radius;
                self.positions.push(point.as_vec3().to_array());
            }
        }
        for ring in 0..rings.len() as u32 - 1 {
            for segment in 0..SEGMENTS {
                let at = |ring: u32, segment: u32| first + ring * SEGMENTS + segment % SEGMENTS;
                let [a, b] = [at(ring, segment), at(ring, segment + 1)];
                let [c, d] = [at(ring + 1, segment + 1), at(ring + 1, segment)];
                self.triangles.extend([[a, b, c], [c, d, a]]);
            }
        }
    }

    fn add_box(&mut self, shape: &Parallelepiped) {
        let [corner, a, b, c] = shape.rows().map(|row| Vec3::from(row).as_dvec3());
        // A left-handed box has inverted sides.
        let [a, b] = if a.cross(b).dot(c) < 0.0 { [b, a] } else { [a, b] };
        for [u, v, w] in [[a, b, c], [b, c, a], [c, a, b]] {
            self.add_polygon(&[corner, corner + v, corner + u + v, corner + u]);
            let far = corner + w;
            self.add_polygon(&[far, far + u, far + u + v, far + v]);
        }
    }

    /// Adds a subdivided convex polygon, counter-clockwise seen from its front.
    fn add_polygon(&mut self, corners: &[DVec3]) {
        if corners.len() < 3 {
            return;
        }
        let center = corners.iter().sum::<DVec3>() / corners.len() as f64;
        for (index, &a) in corners.iter().enumerate() {
            let b = corners[(index + 1) % corners.len()];
            let first = self.positions.len() as u32;
            // Row r has r + 1 points, so r (r + 1) / 2 points precede it.
            for row in 0..=PIECES {
                for column in 0..=row {
                    let part = |count: u32| f64::from(count) / f64::from(PIECES);
                    let point =
                        center + (a - center) * part(row - column) + (b - center) * part(column);
                    self.positions.push(point.as_vec3().to_array());
                }
            }
            let at = |row: u32, column: u32| first + row * (row + 1) / 2 + column;
            for row in 0..PIECES {
                for column in 0..=row {
                    self.triangles.push([
                        at(row, column),
                        at(row + 1, column),
                        at(row + 1, column + 1),
                    ]);
                    if column < row {
                        self.triangles.push([
                            at(row, column),
                            at(row + 1, column + 1),
                            at(row, column + 1),
                        ]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Capsule, TriangleMesh};

    const REACH: [DVec3; 2] = [DVec3::splat(-10.0), DVec3::splat(10.0)];

    /// Volume enclosed by the surface; positive if its front is outside.
    fn volume(surface: &Surface) -> f64 {
        let at = |vertex: usize| Vec3::from(surface.positions[vertex]).as_dvec3();
        surface
            .drawable_triangles()
            .map(|triangle| triangle.map(at))
            .map(|[a, b, c]| a.cross(b).dot(c) / 6.0)
            .sum()
    }

    fn of(shape: impl Into<Shape>) -> f64 {
        volume(&collider_surface(&[shape.into()], REACH).0)
    }

    fn ball(y: f32, radius: f32) -> Sphere {
        Sphere { center: [1.0, y, 3.0], radius }
    }

    fn plane(normal: [f32; 3], offset: f32) -> Plane {
        Plane { normal, offset }
    }

    #[test]
    fn surfaces_enclose_the_volume_of_their_shapes() {
        let of_ball = |radius: f64| 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
        let sphere = of(ball(2.0, 0.5));
        assert!((sphere / of_ball(0.5) - 1.0).abs() < 0.02, "{sphere}");
        let even = of(Capsule { ends: [ball(0.0, 0.5), ball(2.0, 0.5)] });
        let expected = of_ball(0.5) + std::f64::consts::PI * 0.25 * 2.0;
        assert!((even / expected - 1.0).abs() < 0.02, "{even} {expected}");
        let inside = of(Capsule { ends: [ball(0.0, 0.5), ball(0.2, 0.1)] });
        assert!((inside / of_ball(0.5) - 1.0).abs() < 0.02, "{inside}");
        let mut cuboid = Parallelepiped::cuboid([1.0, 2.0, 0.5]);
        assert!((of(cuboid) - 8.0).abs() < 1e-5, "{}", of(cuboid));
        cuboid.edges.swap(0, 1);
        assert!((of(cuboid) - 8.0).abs() < 1e-5, "a left-handed box: {}", of(cuboid));
    }

    #[test]
    fn convex_shapes_are_clipped_to_the_reach() {
        let sides = [
            plane([1.0, 0.0, 0.0], 1.0),
            plane([-1.0, 0.0, 0.0], 1.0),
            plane([0.0, 1.0, 0.0], 1.0),
            plane([0.0, -1.0, 0.0], 1.0),
            plane([0.0, 0.0, 1.0], 1.0),
            plane([0.0, 0.0, -1.0], 1.0),
        ];
        let cube = of(Shape::Convex(sides.into()));
        assert!((cube - 8.0).abs() < 1e-5, "{cube}");
        for wall in [sides[0].into(), Shape::Convex([sides[0]].into())] {
            let (surface, framed) = collider_surface(&[wall], REACH);
            assert!(framed.is_empty());
            assert!(
                surface
                    .positions
                    .iter()
                    .all(|p| p[0] == 1.0 && p[1].abs() < 10.001 && p[2].abs() < 10.001)
            );
        }
        let nothing = [plane([1.0, 0.0, 0.0], -1.0), plane([-1.0, 0.0, 0.0], -1.0)];
        let nothing = Shape::Convex(nothing.into());
        assert!(collider_surface(&[nothing], REACH).0.positions.is_empty());
    }

    #[test]
    fn a_level_floor_is_found_but_not_drawn() {
        let floor = [Shape::from(plane([0.0, 1.0, 0.0], 0.25))];
        assert!(collider_surface(&floor, REACH).0.positions.is_empty());
        assert_eq!(floors(&floor).collect::<Vec<_>>(), [0.25]);
    }

    #[test]
    fn indices_out_of_range_are_ignored() {
        let triangles = [[0, 1, u32::MAX]].into();
        let mesh = TriangleMesh { vertices: [[0.0; 3]; 2].into(), triangles };
        let broken = [Shape::from(mesh), Shape::Convex([].into())];
        assert_eq!(collider_surface(&broken, REACH).0.drawable_triangles().count(), 0);
        assert_eq!(floors(&broken).count(), 0);
    }
}
