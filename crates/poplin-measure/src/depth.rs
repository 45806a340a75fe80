//! How deep particles are inside colliders.

use glam::{DQuat, DVec3};
use poplin_model::{Parallelepiped, Particle, Plane, Pose, Shape, Sphere};
use serde::Serialize;

use poplin::cook::TriangleTree;

/// Depth \[m\] up to which a particle lies on a surface: rounding of `f32` and of the contact itself.
const SKIN: f64 = 1e-5;

/// Added to it per metre of the largest coordinate.
const SKIN_PER_METRE: f64 = 1e-6;

/// Free particles inside colliders at one time, in world coordinates and double precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Depth {
    /// Particles that are not pinned and finite.
    pub free_particles: usize,
    /// Those deeper than a hundredth of a millimetre (more, far from the origin).
    pub particles_inside: usize,
    /// Of the deepest of them \[m\]; 0 if none is inside.
    pub deepest_m: f64,
}

/// Triangles of cloth inside colliders at one time: what the eye sees of it where particles are all outside, at edges and corners of
/// colliders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TriangleDepth {
    /// Triangles that were measured.
    pub triangles: usize,
    /// Those deeper than [`VISIBLE_DEPTH`] somewhere.
    pub triangles_inside: usize,
    /// Of the deepest of them \[m\], too small by at most a sixth of its longest side; 0 if none is inside.
    pub deepest_m: f64,
}

/// Depth from which a triangle counts as inside \[m\].
pub const VISIBLE_DEPTH: f64 = 1e-3;

/// How often a triangle is quartered at most, to find its deepest point.
const QUARTERINGS: u32 = 2;

/// Shapes that know how deep a point is in them.
#[derive(Debug)]
pub struct DepthField {
    capsules: Vec<[Sphere; 2]>,
    convexes: Vec<Vec<Plane>>,
    boxes: Vec<Slabs>,
    mesh: TriangleTree,
}

/// A box as three pairs of planes: inside `0 <= normal . (x - corner) <= width` for each.
#[derive(Debug)]
struct Slabs {
    corner: DVec3,
    sides: [(DVec3, f64); 3],
}

impl TriangleDepth {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            triangles: self.triangles + other.triangles,
            triangles_inside: self.triangles_inside + other.triangles_inside,
            deepest_m: self.deepest_m.max(other.deepest_m),
        }
    }
}

impl Depth {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            free_particles: self.free_particles + other.free_particles,
            particles_inside: self.particles_inside + other.particles_inside,
            deepest_m: self.deepest_m.max(other.deepest_m),
        }
    }
}

impl DepthField {
    /// The field of valid shapes in the world.
    pub fn new(shapes: &[Shape]) -> Self {
        let (mut capsules, mut convexes, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
        let mut triangles = Vec::new();
        for shape in shapes {
            match shape {
                Shape::Sphere(sphere) => capsules.push([*sphere; 2]),
                Shape::Capsule(capsule) => capsules.push(capsule.ends),
                Shape::Plane(plane) => convexes.push(vec![*plane]),
                Shape::Convex(planes) => convexes.push(planes.to_vec()),
                Shape::Parallelepiped(shape) => boxes.extend(Slabs::new(shape)),
                Shape::TriangleMesh(mesh) => {
                    let position = |corner: u32| vector(mesh.vertices[corner as usize]);
                    triangles.extend(mesh.triangles.iter().map(|corners| corners.map(position)));
                }
            }
        }
        Self { capsules, convexes, boxes, mesh: TriangleTree::new(triangles) }
    }

    /// Measures particles in the local space at `pose`, inverse mass 0 = pinned.
    pub fn measure(&self, pose: Pose, particles: &[Particle]) -> Depth {
        let rotation = DQuat::from_array(pose.rotation.map(f64::from)).normalize();
        let mut depth = Depth::default();
        for &Particle { position, inverse_mass } in particles {
            let point = rotation * vector(position) + vector(pose.translation);
            if inverse_mass <= 0.0 || !point.is_finite() {
                continue;
            }
            depth.free_particles += 1;
            let deepest = self.depth_of(point);
            if deepest > SKIN + SKIN_PER_METRE * point.abs().max_element() {
                depth.particles_inside += 1;
                depth.deepest_m = depth.deepest_m.max(deepest);
            }
        }
        depth
    }

    /// Measures triangles of points in the world \[m\].
    pub fn measure_triangles(
        &self,
        points: &[[f32; 3]],
        triangles: impl IntoIterator<Item = [u32; 3]>,
    ) -> TriangleDepth {
        let mut depth = TriangleDepth::default();
        for triangle in triangles {
            let corners = triangle.map(|corner| vector(points[corner as usize]));
            if !corners.iter().all(|corner| corner.is_finite()) {
                continue;
            }
            depth.triangles += 1;
            let mut deepest = VISIBLE_DEPTH;
            self.search(corners, QUARTERINGS, &mut deepest);
            if deepest > VISIBLE_DEPTH {
                depth.triangles_inside += 1;
                depth.deepest_m = depth.deepest_m.max(deepest);
            }
        }
        depth
    }

    /// Raises `deepest` to the depth of the deepest point of a triangle. Depth changes by no more than a point moves, so that parts
    /// which cannot be deeper are left out.
    fn search(&self, corners: [DVec3; 3], quarterings: u32, deepest: &mut f64) {
        let [a, b, c] = corners;
        let middle = (a + b + c) / 3.0;
        let depth = self.depth_of(middle);
        *deepest = deepest.max(depth);
        let reach = corners.iter().map(|corner| corner.distance(middle)).fold(0.0, f64::max);
        if quarterings == 0 || depth + reach <= *deepest {
            return;
        }
        let [ab, bc, ca] = [a.midpoint(b), b.midpoint(c), c.midpoint(a)];
        for part in [[ab, bc, ca], [a, ab, ca], [ab, b, bc], [ca, bc, c]] {
            self.search(part, quarterings - 1, deepest);
        }
    }

    /// Depth of a point in the shape that holds it deepest \[m\], negative or 0 outside of all.
    pub(crate) fn depth_of(&self, point: DVec3) -> f64 {
        let capsules = self.capsules.iter().map(|ends| capsule_depth(point, *ends));
        let plane_depth = |plane: &Plane| f64::from(plane.offset) - vector(plane.normal).dot(point);
        let convexes = self
            .convexes
            .iter()
            .map(|sides| sides.iter().map(plane_depth).fold(f64::INFINITY, f64::min));
        let boxes = self.boxes.iter().map(|slabs| slabs.depth(point));
        capsules
            .chain(convexes)
            .chain(boxes)
            .chain(self.mesh.depth(point))
            .fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Depth in the hull of two balls, center and radius.
fn capsule_depth(point: DVec3, ends: [Sphere; 2]) -> f64 {
    let [(a, from_radius), (b, to_radius)] =
        ends.map(|end| (vector(end.center), f64::from(end.radius)));
    if ends[0] == ends[1] {
        return from_radius - point.distance(a);
    }
    let length = a.distance(b);
    let slope = (to_radius - from_radius) / length;
    let fraction = if slope.abs() < 1.0 {
        // The hull is the union of the balls along the axis. In axial coordinate y and distance x from the axis the depth in
        // ball s is f(s) = r0 + k s - sqrt(x^2 + (y - s)^2), concave, with f'(s) = 0 at s = y + x k / sqrt(1 - k^2).
        let axis = (b - a) / length;
        let along = (point - a).dot(axis);
        let across = (point - a - axis * along).length();
        ((along + across * slope / (1.0 - slope * slope).sqrt()) / length).clamp(0.0, 1.0)
    } else {
        // One ball holds the other.
        if from_radius >= to_radius { 0.0 } else { 1.0 }
    };
    from_radius + (to_radius - from_radius) * fraction - point.distance(a.lerp(b, fraction))
}

impl Slabs {
    /// `None` for a flat box, which keeps nothing out.
    fn new(shape: &Parallelepiped) -> Option<Self> {
        let [corner, a, b, c] = shape.rows().map(vector);
        let side = |edge: DVec3, [u, v]: [DVec3; 2]| {
            let normal = u.cross(v).try_normalize()?;
            let width = normal.dot(edge);
            (width != 0.0).then(|| (normal * width.signum(), width.abs()))
        };
        Some(Self { corner, sides: [side(a, [b, c])?, side(b, [c, a])?, side(c, [a, b])?] })
    }

    fn depth(&self, point: DVec3) -> f64 {
        let of_side = |&(normal, width): &(DVec3, f64)| {
            let height = normal.dot(point - self.corner);
            height.min(width - height)
        };
        self.sides.iter().map(of_side).fold(f64::INFINITY, f64::min)
    }
}

fn vector(value: [f32; 3]) -> DVec3 {
    DVec3::from(value.map(f64::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Capsule, Mesh, TriangleMesh};

    fn depth(shape: impl Into<Shape>, point: [f64; 3]) -> f64 {
        let shape = shape.into();
        shape.validate().unwrap();
        DepthField::new(&[shape]).depth_of(DVec3::from(point))
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    fn ball(x: f32, radius: f32) -> Sphere {
        Sphere { center: [x, 0.0, 0.0], radius }
    }

    #[test]
    fn every_shape_knows_its_depth() {
        assert_eq!(DepthField::new(&[]).depth_of(DVec3::ZERO), f64::NEG_INFINITY);
        near(depth(ball(1.0, 0.5), [1.0, 0.2, 0.0]), 0.3);
        near(depth(ball(1.0, 0.5), [3.0, 0.0, 0.0]), -1.5);
        let floor = Plane { normal: [0.0, 1.0, 0.0], offset: 1.0 };
        near(depth(floor, [7.0, 0.75, 3.0]), 0.25);
        let side = |normal| Plane { normal, offset: 0.0 };
        let wedge = Shape::Convex([side([0.0, 1.0, 0.0]), side([1.0, 0.0, 0.0])].into());
        near(depth(wedge.clone(), [-0.5, -0.25, 0.0]), 0.25);
        near(depth(wedge, [-0.5, 0.25, 0.0]), -0.25);
    }

    #[test]
    fn a_tapered_capsule_is_the_hull_of_its_ends() {
        let capsule = Capsule { ends: [ball(0.0, 0.5), ball(2.0, 0.2)] };
        near(depth(capsule, [-0.4, 0.0, 0.0]), 0.1);
        near(depth(capsule, [2.1, 0.0, 0.0]), 0.1);
        // The cone touches the balls where n . axis = 0.15; its surface there has depth 0.
        let (sin, cos) = (0.15, (1.0 - 0.15_f64 * 0.15).sqrt());
        for fraction in [0.0, 0.3, 0.8, 1.0] {
            let radius = 0.5 - 0.3 * fraction;
            near(depth(capsule, [2.0 * fraction + sin * radius, cos * radius, 0.0]), 0.0);
            near(
                depth(capsule, [2.0 * fraction + sin * (radius - 0.1), 0.0, cos * (radius - 0.1)]),
                0.1,
            );
        }
        let inside = Capsule { ends: [ball(0.0, 0.5), ball(0.1, 0.2)] };
        near(depth(inside, [0.0, 0.4, 0.0]), 0.1);
    }

    #[test]
    fn boxes_and_skewed_boxes_keep_their_sides() {
        let mut shape = Parallelepiped::cuboid([0.5, 0.2, 0.5]);
        shape.corner[1] += 1.0;
        near(depth(shape, [0.3, 1.1, 0.0]), 0.1);
        assert!(depth(shape, [0.3, 1.3, 0.0]) < 0.0);
        let skewed = Parallelepiped {
            corner: [0.0; 3],
            edges: [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
        };
        near(depth(skewed, [0.6, 0.5, -0.5]), 0.1 * 0.5_f64.sqrt());
        let flat = Parallelepiped { edges: [[1.0, 0.0, 0.0]; 3], ..skewed };
        assert_eq!(depth(flat, [0.5, 0.0, 0.0]), f64::NEG_INFINITY);
    }

    #[test]
    fn a_mesh_is_solid_behind_its_front() {
        let tube = Mesh::tube(64, 33, 0.5, 0.5, 4.0);
        let triangles = tube.triangulated().into();
        let mesh = TriangleMesh { vertices: tube.positions.into(), triangles };
        assert!((depth(mesh.clone(), [0.3, -2.0, 0.0]) - 0.2).abs() < 2e-3);
        assert!((depth(mesh, [0.0, -2.0, 0.7]) + 0.2).abs() < 2e-3);
    }

    #[test]
    fn triangles_are_inside_where_none_of_their_corners_is() {
        let field = DepthField::new(&[Shape::cuboid([0.5, 0.2, 0.5])]);
        // The corner of a box through a large triangle, whose middle is 0.1 m below the top of it.
        let corner = |x: f32, z: f32| [x, 0.1, z];
        let points = [corner(-2.0, -2.0), corner(2.0, -2.0), corner(0.0, 3.0), [0.0, 9.0, 0.0]];
        let depth = field.measure_triangles(&points, [[0, 1, 2], [0, 1, 3]]);
        assert_eq!((depth.triangles, depth.triangles_inside), (2, 1));
        near(depth.deepest_m, 0.1);
        let nan = [[f32::NAN; 3]; 3];
        assert_eq!(field.measure_triangles(&nan, [[0, 1, 2]]), TriangleDepth::default());
    }

    #[test]
    fn pins_and_what_lies_on_a_surface_do_not_count() {
        let floor = [Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 })];
        let particles = [
            [0.0, -1.0, 0.0, 0.0],
            [0.0, -5e-6, 0.0, 1.0],
            [0.0, -0.01, 0.0, 1.0],
            [0.0, 1.0, 0.0, 1.0],
            [f32::NAN, 0.0, 0.0, 1.0],
        ];
        let depth =
            DepthField::new(&floor).measure(Pose::default(), Particle::from_rows(&particles));
        assert_eq!((depth.free_particles, depth.particles_inside), (3, 1));
        near(depth.deepest_m, 0.01);
        let raised = Pose { translation: [0.0, 1.0, 0.0], ..Pose::default() };
        assert_eq!(
            DepthField::new(&floor)
                .measure(raised, Particle::from_rows(&particles))
                .particles_inside,
            0
        );
    }
}
