//! Surfaces of colliders.

use glam::{DVec3, Vec3};
use poplin_geometry::{Bounds, wide};
use poplin_model::{Parallelepiped, Shape, Sphere};

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
    let mut convexes: Vec<Vec<Plane>> = Vec::new();
    for shape in shapes {
        match shape {
            Shape::Sphere(ball) => solid.add_capsule([*ball; 2]),
            Shape::Capsule(capsule) => solid.add_capsule(capsule.ends),
            Shape::Parallelepiped(shape) => solid.add_box(shape),
            Shape::Plane(plane) => convexes.push(vec![Plane::new(plane)]),
            Shape::Convex(planes) => convexes.push(planes.iter().map(Plane::new).collect()),
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
        if matches!(planes[..], [plane] if plane.is_level()) {
            continue;
        }
        let polygons: Vec<_> = convex_sides(planes, reach).collect();
        let is_inside =
            |corner: &DVec3| corner.cmpge(reach[0]).all() && corner.cmple(reach[1]).all();
        if polygons.iter().flatten().all(is_inside) {
            polygons.iter().for_each(|polygon| solid.add_polygon(polygon));
        } else {
            endless.extend(polygons.into_iter().map(|polygon| clip(&polygon, &walls(reach), 0.0)));
        }
    }
    let framed = solid.positions.iter().map(|&position| Vec3::from(position).as_dvec3()).collect();
    endless.iter().for_each(|polygon| solid.add_polygon(polygon));
    (Surface::new(solid.positions, solid.triangles, SOLID), framed)
}

/// Returns the heights of level planes that face up \[m\].
pub(super) fn floors(shapes: &[Shape]) -> impl Iterator<Item = f64> {
    let lone = shapes.iter().filter_map(|shape| match shape {
        Shape::Plane(plane) => Some(Plane::new(plane)),
        Shape::Convex(planes) => {
            if let [plane] = &planes[..] {
                Some(Plane::new(plane))
            } else {
                None
            }
        }
        _ => None,
    });
    lone.filter(Plane::is_level).map(|plane| -plane.distance)
}

/// Plane: the points with `normal . x + distance < 0` are behind it.
#[derive(Debug, Clone, Copy)]
struct Plane {
    normal: DVec3,
    distance: f64,
}

impl Plane {
    fn new(plane: &poplin_model::Plane) -> Self {
        let normal = wide(plane.normal);
        Self { normal, distance: -f64::from(plane.offset) }
    }

    fn is_level(&self) -> bool {
        self.normal.y > LEVEL
    }

    fn height(&self, point: DVec3) -> f64 {
        self.normal.dot(point) + self.distance
    }
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

/// Returns the face on each plane of a convex shape, cut far beyond the box `reach` where it is
/// unbounded; fewer than three corners for a redundant plane.
fn convex_sides(planes: &[Plane], reach: [DVec3; 2]) -> impl Iterator<Item = Vec<DVec3>> {
    let [low, high] = reach;
    let (middle, size) = ((low + high) * 0.5, (high - low).length());
    // A large square on the plane, clipped by all other planes.
    let side = move |(index, plane): (usize, &Plane)| {
        let center = middle - plane.normal * plane.height(middle);
        let (across, upward) = plane.normal.any_orthonormal_pair();
        let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let polygon = corners.map(|[x, y]| center + (across * x + upward * y) * size);
        clip(&polygon, planes.iter().take(index).chain(&planes[index + 1..]), size * 1e-9)
    };
    planes.iter().enumerate().map(side)
}

/// Half extent of the box in which a convex shape is evaluated: ten thousand times the distance of
/// its farthest plane from the origin.
fn far_reach(planes: &[Plane]) -> DVec3 {
    let farthest = planes.iter().map(|plane| plane.distance.abs()).fold(0.0, f64::max);
    DVec3::splat(1e4 * if farthest > 0.0 { farthest } else { 1.0 })
}

/// Tests whether no point is behind all planes. Points farther away than ten thousand times the
/// planes' distance from the origin are ignored.
pub fn is_empty_convex(planes: &[poplin_model::Plane]) -> bool {
    let planes: Vec<_> = planes.iter().map(Plane::new).collect();
    let reach = far_reach(&planes);
    convex_sides(&planes, [-reach, reach]).all(|side| side.len() < 3)
}

/// Returns the faces of a bounded convex shape, their corners counter-clockwise seen from outside;
/// `None` if it is unbounded. Shapes that extend farther than ten thousand times their planes'
/// distance from the origin count as unbounded.
pub fn convex_polygons(planes: &[poplin_model::Plane]) -> Option<Vec<Vec<DVec3>>> {
    let planes: Vec<_> = planes.iter().map(Plane::new).collect();
    let reach = far_reach(&planes);
    let Bounds { low, high } = Bounds::of(convex_sides(&planes, [-reach, reach]).flatten());
    let has_end = low.cmpgt(-reach).all() && high.cmplt(reach).all() && low.cmplt(high).all();
    // Computed again in a smaller box: corners are as precise as the box is small.
    let margin = (high - low) * 0.1;
    has_end.then(|| convex_sides(&planes, [low - margin, high + margin]).collect())
}

/// Planes of a box, their fronts outside.
fn walls([low, high]: [DVec3; 2]) -> [Plane; 6] {
    let wall = |normal: DVec3, point: DVec3| Plane { normal, distance: -normal.dot(point) };
    let [x, y, z] = DVec3::AXES;
    [wall(x, high), wall(y, high), wall(z, high), wall(-x, low), wall(-y, low), wall(-z, low)]
}

/// Clips a polygon to the points behind all planes (Sutherland and Hodgman, 1974).
fn clip<'a>(
    polygon: &[DVec3],
    planes: impl IntoIterator<Item = &'a Plane>,
    tolerance: f64,
) -> Vec<DVec3> {
    let mut polygon = polygon.to_vec();
    for plane in planes {
        let mut kept = Vec::with_capacity(polygon.len() + 1);
        for (index, &a) in polygon.iter().enumerate() {
            let b = polygon[(index + 1) % polygon.len()];
            let [from, to] = [a, b].map(|point| plane.height(point));
            if from <= tolerance {
                kept.push(a);
            }
            if (from <= tolerance) != (to <= tolerance) {
                // Intersection of the edge with the plane: height 0.
                kept.push(a.lerp(b, from / (from - to)));
            }
        }
        polygon = kept;
    }
    polygon
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

    fn plane(normal: [f32; 3], offset: f32) -> poplin_model::Plane {
        poplin_model::Plane { normal, offset }
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
