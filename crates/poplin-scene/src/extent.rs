//! Extent of shapes: how thin they are and how far they reach.

use glam::DVec3;
use poplin_geometry::{HalfSpace, convex_polygons, six_volumes, triangle_area, wide};
use poplin_model::{Shape, Sphere};

/// Number of triangles of a surface along whose normals its width is measured, the largest ones.
const WIDTHS: usize = 64;

/// Number of directions, over half a turn, in which the width of a surface is measured.
const TURNS: usize = 36;

/// Surface of a solid, for its extents.
#[derive(Debug)]
pub enum Extent {
    /// Hull of balls.
    Balls(Vec<Sphere>),
    /// Triangles in meters; they face outwards.
    Surface(Vec<[DVec3; 3]>),
    /// Half-space or another shape without end.
    Unbounded,
}

impl Extent {
    /// Measures a valid shape.
    pub fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Sphere(sphere) => Self::Balls(vec![*sphere]),
            Shape::Capsule(capsule) => Self::Balls(capsule.ends.to_vec()),
            Shape::Plane(_) => Self::Unbounded,
            Shape::Convex(planes) => {
                let planes = planes.iter().map(|plane| HalfSpace::new(plane.normal, plane.offset));
                let polygons = convex_polygons(&planes.collect::<Vec<_>>());
                let fan = |polygon: &Vec<DVec3>| -> Vec<[DVec3; 3]> {
                    let rest = polygon.get(1..).unwrap_or(&[]);
                    rest.windows(2).map(|pair| [polygon[0], pair[0], pair[1]]).collect()
                };
                polygons.map_or(Self::Unbounded, |polygons| {
                    Self::Surface(polygons.iter().flat_map(fan).collect())
                })
            }
            _ => {
                let mesh = shape.mesh().unwrap_or_default();
                let corners =
                    |triangle: &[u32; 3]| triangle.map(|k| wide(mesh.vertices[k as usize]));
                Self::Surface(mesh.triangles.iter().map(corners).collect())
            }
        }
    }

    /// Returns the farthest coordinate along a unit direction \[m\]; infinite for an unbounded
    /// shape, minus infinity for one without points.
    pub fn farthest(&self, direction: DVec3) -> f64 {
        match self {
            Self::Balls(balls) => balls
                .iter()
                .map(|ball| direction.dot(wide(ball.center)) + f64::from(ball.radius))
                .fold(f64::NEG_INFINITY, f64::max),
            Self::Surface(triangles) => triangles
                .iter()
                .flatten()
                .map(|p| direction.dot(*p))
                .fold(f64::NEG_INFINITY, f64::max),
            Self::Unbounded => f64::INFINITY,
        }
    }

    /// Returns the middle of its bounding box \[m\]; `None` without end or without points.
    pub fn middle(&self) -> Option<DVec3> {
        let of_axis = |axis| 0.5 * (self.farthest(axis) - self.farthest(-axis));
        let middle = DVec3::new(of_axis(DVec3::X), of_axis(DVec3::Y), of_axis(DVec3::Z));
        middle.is_finite().then_some(middle)
    }

    /// Returns an estimate of the thickness of the solid \[m\], infinite without end: the smaller
    /// of its least width along the normals of its largest triangles, which is exact for plates and
    /// boxes, and six times its volume by its area, which is exact for spheres and cubes and three
    /// times that of a thin shell.
    pub fn thickness(&self) -> f64 {
        match self {
            Self::Balls(balls) => {
                2.0 * balls.iter().map(|ball| f64::from(ball.radius)).fold(0.0, f64::max)
            }
            Self::Surface(triangles) => {
                let area: f64 = triangles.iter().copied().map(triangle_area).sum();
                let mean = six_volumes(triangles.iter().copied()).abs() / area;
                let widths = self.normals().into_iter().map(|normal| self.size_along(normal));
                // A surface without area has the mean NaN, which `min` ignores.
                widths.fold(f64::INFINITY, f64::min).min(mean)
            }
            Self::Unbounded => f64::INFINITY,
        }
    }

    /// Returns the width of the solid \[m\], infinite without end: its least size across the normal
    /// along which it is thinnest. A rod is as wide as it is thin, a plate is not.
    pub fn width(&self) -> f64 {
        match self {
            Self::Surface(_) => {
                let normals = self.normals();
                let sizes = normals.iter().map(|&normal| (self.size_along(normal), normal));
                let thinnest = sizes.min_by(|a, b| a.0.total_cmp(&b.0));
                let thinnest = thinnest.map_or(DVec3::Y, |(_, normal)| normal);
                let (u, v) = thinnest.any_orthonormal_pair();
                let size = |turn: usize| {
                    let angle = std::f64::consts::PI * turn as f64 / TURNS as f64;
                    self.size_along(u * angle.cos() + v * angle.sin())
                };
                // The sides of boxes and rods exactly, and all around.
                let across = normals
                    .iter()
                    .map(|normal| normal.reject_from_normalized(thinnest))
                    .filter(|across| across.length() > 0.1)
                    .map(DVec3::normalize);
                let sides = across.map(|direction| self.size_along(direction));
                (0..TURNS).map(size).chain(sides).fold(f64::INFINITY, f64::min)
            }
            _ => self.thickness(),
        }
    }

    /// Returns the area of its shadow along a unit direction \[m^2\], at most that if it is not
    /// convex; infinite without end.
    pub fn shadow(&self, direction: DVec3) -> f64 {
        match self {
            Self::Balls(balls) => {
                let radius = balls.iter().map(|ball| f64::from(ball.radius)).fold(0.0, f64::max);
                let ends = balls.first().zip(balls.last());
                let length = ends.map_or(0.0, |(a, b)| {
                    (wide(b.center) - wide(a.center)).reject_from_normalized(direction).length()
                });
                (std::f64::consts::PI * radius + 2.0 * length) * radius
            }
            Self::Surface(triangles) => {
                let area = |[a, b, c]: &[DVec3; 3]| (*b - *a).cross(*c - *a).dot(direction).abs();
                // Half of the area of a triangle, front and back of the solid.
                0.25 * triangles.iter().map(area).sum::<f64>()
            }
            Self::Unbounded => f64::INFINITY,
        }
    }

    /// Returns the unit normals of the largest triangles.
    fn normals(&self) -> Vec<DVec3> {
        let Self::Surface(triangles) = self else { return Vec::new() };
        let normal = |[a, b, c]: &[DVec3; 3]| (*b - *a).cross(*c - *a);
        let mut normals: Vec<_> = triangles.iter().map(normal).collect();
        normals.sort_by(|a, b| b.length().total_cmp(&a.length()));
        normals.iter().take(WIDTHS).filter_map(|normal| normal.try_normalize()).collect()
    }

    /// Returns the size along a unit direction \[m\].
    fn size_along(&self, direction: DVec3) -> f64 {
        self.farthest(direction) + self.farthest(-direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use poplin_model::{Capsule, Placement, Plane, Rigid, TriangleMesh};

    /// Turns a shape about a skew axis and shifts it.
    fn turned(shape: &Shape) -> Shape {
        let rotation = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 1.0);
        let translation = DVec3::new(1.0, -2.0, 3.0);
        shape.transformed(&Placement::new(1.0, Rigid { translation, rotation }))
    }

    fn near(got: f64, expected: f64, tolerance: f64) {
        assert!((got - expected).abs() <= tolerance * expected, "{got} is not {expected}");
    }

    #[test]
    fn thickness_and_width_fit_plates_balls_and_rods_in_any_pose() {
        let plate = Shape::cuboid([0.5, 0.0025, 0.3]);
        let as_mesh: Shape = plate.mesh().unwrap().into_owned().into();
        let cases = [
            (plate, 0.005, 0.6),
            (as_mesh, 0.005, 0.6),
            (Shape::sphere(0.02), 0.04, 0.04),
            (Shape::capsule(0.5, [0.02, 0.01]), 0.04, 0.04),
            (Shape::cylinder(0.5, [0.01, 0.01], 16), 0.02, 0.02),
            (Shape::cylinder(0.001, [0.1, 0.1], 32), 0.002, 0.2),
        ];
        for (shape, thickness, width) in cases {
            let extent = Extent::of(&turned(&shape));
            near(extent.thickness(), thickness, 1e-3);
            near(extent.width(), width, 0.02);
        }
        let plane = Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 };
        assert_eq!(Extent::of(&plane.into()).thickness(), f64::INFINITY);
        let wedge = [plane, Plane { normal: [1.0, 0.0, 0.0], offset: 0.0 }];
        assert_eq!(Extent::of(&Shape::Convex(wedge.into())).thickness(), f64::INFINITY);
        let nothing = TriangleMesh { vertices: [].into(), triangles: [].into() };
        assert_eq!(Extent::of(&nothing.into()).thickness(), f64::INFINITY);
    }

    #[test]
    fn the_shadow_is_that_of_boxes_and_balls() {
        let up = DVec3::Y;
        near(Extent::of(&Shape::cuboid([0.5, 0.2, 0.4])).shadow(up), 0.8, 1e-6);
        near(Extent::of(&Shape::sphere(0.2)).shadow(up), 0.125_663_7, 1e-6);
        let lying =
            Capsule { ends: [-0.5, 0.5].map(|x| Sphere { center: [x, 0.0, 0.0], radius: 0.1 }) };
        near(Extent::of(&lying.into()).shadow(up), 0.231_415_9, 1e-6);
    }

    #[test]
    fn the_farthest_coordinate_is_that_of_the_surface() {
        let up = DVec3::Y;
        near(Extent::of(&Shape::cuboid([0.5, 0.2, 0.5])).farthest(up), 0.2, 1e-6);
        near(Extent::of(&Shape::capsule(0.5, [0.1, 0.3])).farthest(up), 0.8, 1e-6);
        near(Extent::of(&Shape::cylinder(0.4, [0.1, 0.1], 8)).farthest(up), 0.4, 1e-6);
        let plane = Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 };
        assert_eq!(Extent::of(&plane.into()).farthest(up), f64::INFINITY);
    }
}
