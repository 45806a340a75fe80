//! Penetration depth of points in shapes.

use glam::{DQuat, DVec3};
use poplin_geometry::{Bounds, TriangleTree, is_rimless, weld_triangles, wide};
use poplin_model::{
    ColliderSet, Parallelepiped, Particle, Placement, Plane, Pose, Rigid, Shape, Sphere,
};

/// Shapes for depth queries in double precision.
#[derive(Debug)]
pub struct Solids {
    capsules: Vec<[Sphere; 2]>,
    convexes: Vec<Vec<Plane>>,
    boxes: Vec<Slabs>,
    mesh: TriangleTree,
    /// Boxes of the meshes, if none of them has a rim: points outside these are outside.
    mesh_boxes: Option<Vec<Bounds>>,
}

/// A particle at the surface of a solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Index of the particle.
    pub particle: u32,
    /// Unit normal out of the solid, in the local space of the cloth.
    pub normal: [f32; 3],
    /// Penetration depth \[m\], negative outside.
    pub depth: f32,
}

/// A box as three pairs of planes: inside where `0 <= normal . (x - corner) <= width` for each.
#[derive(Debug)]
struct Slabs {
    corner: DVec3,
    sides: [(DVec3, f64); 3],
}

impl Solids {
    /// Creates solids from valid shapes in world space.
    pub fn new(shapes: &[Shape]) -> Self {
        let (mut capsules, mut convexes, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
        let mut triangles: Vec<[DVec3; 3]> = Vec::new();
        let mut mesh_boxes = Some(Vec::new());
        for shape in shapes {
            match shape {
                Shape::Sphere(sphere) => capsules.push([*sphere; 2]),
                Shape::Capsule(capsule) => capsules.push(capsule.ends),
                Shape::Plane(plane) => convexes.push(vec![*plane]),
                Shape::Convex(planes) => convexes.push(planes.to_vec()),
                Shape::Parallelepiped(shape) => boxes.extend(Slabs::new(shape)),
                _ => {
                    let mesh = shape.mesh().unwrap_or_default();
                    let position = |corner: u32| wide(mesh.vertices[corner as usize]);
                    let positions = mesh.vertices.iter().map(|&vertex| wide(vertex));
                    let has_rim = !is_rimless(&weld_triangles(positions, &mesh.triangles));
                    if has_rim {
                        mesh_boxes = None;
                    }
                    let begin = triangles.len();
                    triangles.extend(mesh.triangles.iter().map(|corners| corners.map(position)));
                    let corners = triangles[begin..].iter().flatten().copied();
                    mesh_boxes.iter_mut().for_each(|all| all.push(Bounds::of(corners.clone())));
                }
            }
        }
        Self { capsules, convexes, boxes, mesh: TriangleTree::new(triangles), mesh_boxes }
    }

    /// Creates solids from colliders in their state at the end of the next frame.
    pub fn of(colliders: &ColliderSet) -> Self {
        let shapes = colliders.iter().map(|(_, collider)| {
            collider.shape.transformed(&Placement::new(1.0, Rigid::new(collider.pose)))
        });
        Self::new(&shapes.collect::<Vec<_>>())
    }

    /// Returns the contacts of free particles of a cloth at `pose` that are inside a solid or less
    /// than `reach` metres outside, each with the solid that contains it deepest. Positions that
    /// are not finite have no contact, nor have points where the depth has no gradient, such as the
    /// center of a sphere.
    pub fn contacts(&self, pose: Pose, particles: &[Particle], reach: f32) -> Vec<Contact> {
        let rotation = DQuat::from_array(pose.rotation.map(f64::from)).normalize();
        let contact = |(particle, &Particle { position, inverse_mass }): (u32, &Particle)| {
            let point = rotation * wide(position) + wide(pose.translation);
            if inverse_mass <= 0.0 || !point.is_finite() {
                return None;
            }
            let depth = self.depth(point.to_array());
            // False if reach is NaN.
            let is_near = depth > -f64::from(reach);
            if !is_near {
                return None;
            }
            // Central differences: the depth decreases fastest along the normal.
            let step = 1e-6 * point.abs().max_element().max(1.0);
            let slope = |axis: DVec3| {
                let at = |side: f64| self.depth((point + axis * side).to_array());
                at(-step) - at(step)
            };
            let normal = DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
            let normal = rotation.conjugate() * normal.try_normalize()?;
            Some(Contact { particle, normal: normal.as_vec3().to_array(), depth: depth as f32 })
        };
        (0..).zip(particles).filter_map(contact).collect()
    }

    /// Depth of a point in the shape that contains it deepest \[m\], negative or 0 outside all
    /// shapes; minus infinity without shapes.
    pub fn depth(&self, point: [f64; 3]) -> f64 {
        let point = DVec3::from(point);
        let capsules = self.capsules.iter().map(|ends| capsule_depth(point, *ends));
        let plane_depth = |plane: &Plane| f64::from(plane.offset) - wide(plane.normal).dot(point);
        let convexes = self
            .convexes
            .iter()
            .map(|sides| sides.iter().map(plane_depth).fold(f64::INFINITY, f64::min));
        let boxes = self.boxes.iter().map(|slabs| slabs.depth(point));
        capsules
            .chain(convexes)
            .chain(boxes)
            .chain(self.mesh_depth(point))
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Depth of a point in the meshes; `None` without any.
    fn mesh_depth(&self, point: DVec3) -> Option<f64> {
        let depth = self.mesh.depth(point)?;
        let holds = |it: &Bounds| it.low.cmple(point).all() && it.high.cmpge(point).all();
        let may_hold = self.mesh_boxes.as_ref().is_none_or(|boxes| boxes.iter().any(holds));
        Some(if may_hold { depth } else { -depth.abs() })
    }
}

/// Depth of a point in the convex hull of two spheres.
fn capsule_depth(point: DVec3, ends: [Sphere; 2]) -> f64 {
    let [(a, from_radius), (b, to_radius)] =
        ends.map(|end| (wide(end.center), f64::from(end.radius)));
    if ends[0] == ends[1] {
        return from_radius - point.distance(a);
    }
    let length = a.distance(b);
    // Sine of the half angle of the cone.
    let slope = (to_radius - from_radius) / length;
    let fraction = if slope.abs() < 1.0 {
        // The hull is the union of the spheres along the axis. In axial coordinate y and distance x
        // from the axis, the depth in sphere s is f(s) = r0 + k s - sqrt(x^2 + (y - s)^2), concave,
        // with f'(s) = 0 at s = y + x k / sqrt(1 - k^2).
        let axis = (b - a) / length;
        let along = (point - a).dot(axis);
        let across = (point - a - axis * along).length();
        ((along + across * slope / (1.0 - slope * slope).sqrt()) / length).clamp(0.0, 1.0)
    } else {
        // One sphere contains the other.
        if from_radius >= to_radius { 0.0 } else { 1.0 }
    };
    from_radius + (to_radius - from_radius) * fraction - point.distance(a.lerp(b, fraction))
}

impl Slabs {
    /// Returns `None` for a flat box, which has no volume.
    fn new(shape: &Parallelepiped) -> Option<Self> {
        let [corner, a, b, c] = shape.rows().map(wide);
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

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Capsule, Mesh, TriangleMesh};

    fn depth(shape: impl Into<Shape>, point: [f64; 3]) -> f64 {
        let shape = shape.into();
        shape.validate().unwrap();
        Solids::new(&[shape]).depth(point)
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    fn ball(x: f32, radius: f32) -> Sphere {
        Sphere { center: [x, 0.0, 0.0], radius }
    }

    #[test]
    fn depth_matches_analytic_values_for_every_shape() {
        assert_eq!(Solids::new(&[]).depth([0.0; 3]), f64::NEG_INFINITY);
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
    fn tapered_capsule_is_the_hull_of_its_ends() {
        let capsule = Capsule { ends: [ball(0.0, 0.5), ball(2.0, 0.2)] };
        near(depth(capsule, [-0.4, 0.0, 0.0]), 0.1);
        near(depth(capsule, [2.1, 0.0, 0.0]), 0.1);
        // The cone touches the spheres where n . axis = 0.15; its surface there has depth 0.
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
    fn depth_in_right_angled_and_skewed_boxes() {
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
    fn mesh_is_solid_behind_its_front() {
        let tube = Mesh::tube(64, 33, 0.5, 0.5, 4.0);
        let triangles = tube.triangulated().into();
        let mesh = TriangleMesh { vertices: tube.positions.into(), triangles };
        assert!((depth(mesh.clone(), [0.3, -2.0, 0.0]) - 0.2).abs() < 2e-3);
        assert!((depth(mesh, [0.0, -2.0, 0.7]) + 0.2).abs() < 2e-3);
    }

    #[test]
    fn contacts_are_free_particles_near_surfaces() {
        let floor = Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 });
        let solids = Solids::new(&[floor, ball(0.0, 0.5).into()]);
        // Rotated by 90 degrees about x: up in the world is -z in local space.
        let pose = Pose { rotation: [0.5_f32.sqrt(), 0.0, 0.0, 0.5_f32.sqrt()], ..Pose::default() };
        let particles: Vec<_> = [
            ([2.0, 0.0005, 0.0], 1.0),
            ([2.0, 0.002, 0.0], 1.0),
            ([2.0, 0.0, 0.0], 0.0),
            ([0.0, 0.48, 0.0], 1.0),
            ([f32::NAN; 3], 1.0),
        ]
        .map(|(point, inverse_mass)| Particle { position: pose.to_local(point), inverse_mass })
        .into();
        let contacts = solids.contacts(pose, &particles, 0.001);
        let found: Vec<_> = contacts.iter().map(|contact| contact.particle).collect();
        assert_eq!(found, [0, 3]);
        near(contacts[0].depth.into(), -0.0005);
        near(contacts[1].depth.into(), 0.02);
        for contact in contacts {
            let [x, y, z] = contact.normal.map(f64::from);
            near(x, 0.0);
            near(y, 0.0);
            near(z, -1.0);
        }
        assert!(solids.contacts(pose, &particles, f32::NAN).is_empty());
        assert!(Solids::new(&[]).contacts(pose, &particles, f32::MAX).is_empty());
    }
}
