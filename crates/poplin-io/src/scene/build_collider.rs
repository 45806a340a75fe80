//! From a scene's collider to shapes for the solver.

use glam::{DMat3, DQuat, DVec3, EulerRot};
use poplin_model::{Colliders, Parallelepiped, Pose};

use super::collider::acts_on;
use super::frame::{pose_at, rigid_at};
use super::locate::Source;
use super::rigid::Rigid;
use super::validate::validate_collider;
use super::{ColliderShape, FrameKey, PlaneShape, Scene, SceneCollider, SceneError, Transform};
use crate::{IoError, read_obj};

/// A collider of a scene, its mesh read, ready to be put in place.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltCollider {
    /// Name in the scene.
    pub name: String,
    /// Its shapes, in the frame of the body that they are fixed to.
    pub shapes: Colliders,
    /// Path of that body, rising in time; empty for one that stands still at the world's origin.
    pub keys: Vec<FrameKey>,
    /// Names of the cloths that feel it, or `None` for all.
    pub cloths: Option<Vec<String>>,
}

/// Scaled, then turned, then moved: what transforms and poses have in common.
struct Placement {
    scale: f64,
    rotation: DMat3,
    translation: DVec3,
}

impl Placement {
    fn of_transform(transform: &Transform) -> Self {
        let [x, y, z] = transform.rotation.map(|angle| f64::from(angle).to_radians());
        let rotation = DMat3::from_quat(DQuat::from_euler(EulerRot::ZYX, z, y, x));
        Self { scale: transform.scale.into(), rotation, translation: vector(transform.translation) }
    }

    fn of_rigid(rigid: Rigid) -> Self {
        Self {
            scale: 1.0,
            rotation: DMat3::from_quat(rigid.rotation),
            translation: rigid.translation,
        }
    }

    fn edge(&self, edge: [f32; 3]) -> [f32; 3] {
        (self.rotation * (vector(edge) * self.scale)).as_vec3().to_array()
    }

    fn point(&self, point: [f32; 3]) -> [f32; 3] {
        (self.rotation * (vector(point) * self.scale) + self.translation).as_vec3().to_array()
    }

    /// Appends the shapes, put in place.
    fn append(&self, shapes: &Colliders, to: &mut Colliders) {
        let [spheres, planes, vertices] =
            [to.spheres.len(), to.planes.len(), to.mesh_vertices.len()].map(|count| count as u32);
        to.spheres.extend(shapes.spheres.iter().map(|&[x, y, z, radius]| {
            let [x, y, z] = self.point([x, y, z]);
            [x, y, z, (f64::from(radius) * self.scale) as f32]
        }));
        to.capsules.extend(shapes.capsules.iter().map(|ends| ends.map(|end| end + spheres)));
        to.planes.extend(shapes.planes.iter().map(|&[x, y, z, d]| {
            // n . x + d = 0 becomes n' . x' + d' = 0 with n' = R n, d' = s d - n' . t
            let normal = self.rotation * vector([x, y, z]);
            let distance = f64::from(d) * self.scale - normal.dot(self.translation);
            let [x, y, z] = normal.as_vec3().to_array();
            [x, y, z, distance as f32]
        }));
        let convexes =
            shapes.convexes.iter().map(|sides| sides.iter().map(|side| side + planes).collect());
        to.convexes.extend(convexes);
        to.boxes.extend(shapes.boxes.iter().map(|shape| Parallelepiped {
            corner: self.point(shape.corner),
            edges: shape.edges.map(|edge| self.edge(edge)),
        }));
        to.mesh_vertices.extend(shapes.mesh_vertices.iter().map(|&vertex| self.point(vertex)));
        to.mesh_triangles.extend(
            shapes.mesh_triangles.iter().map(|corners| corners.map(|corner| corner + vertices)),
        );
    }
}

impl BuiltCollider {
    /// Where its body is at a time \[s\], as [`super::LocalFrame::pose_at`].
    pub fn pose(&self, time: f64) -> Pose {
        pose_at(&self.keys, time)
    }

    /// Whether the cloth of this name feels it.
    pub fn acts_on(&self, cloth: &str) -> bool {
        acts_on(&self.cloths, cloth)
    }
}

/// The shapes of all these colliders at a time \[s\], kind by kind one after another, in the frame that stands at `frame`: the
/// local frame of a cloth, or the world.
pub fn colliders_in_frame<'a>(
    colliders: impl IntoIterator<Item = &'a BuiltCollider>,
    frame: Pose,
    time: f64,
) -> Colliders {
    let into_frame = Rigid::new(frame).inverse();
    let mut placed = Colliders::default();
    for collider in colliders {
        let body = rigid_at(&collider.keys, time);
        Placement::of_rigid(into_frame.after(body)).append(&collider.shapes, &mut placed);
    }
    placed
}

impl SceneCollider {
    /// Reads its mesh, if it is one, and applies the transform.
    ///
    /// # Errors
    /// [`SceneError`] if the mesh file is not usable, or the shapes are not [valid](Colliders::validate).
    pub fn build(&self) -> Result<BuiltCollider, SceneError> {
        let placement = Placement::of_transform(&self.transform);
        let mut shapes = Colliders::default();
        placement.append(&self.shape.colliders()?, &mut shapes);
        shapes.validate().map_err(|source| match &self.shape {
            // A mesh file near the limit may leave it by its transform.
            ColliderShape::Mesh(path) => IoError::Mesh { path: path.clone(), source }.into(),
            _ => SceneError::Collider { name: self.name.clone(), source },
        })?;
        let Self { name, keys, cloths, .. } = self.clone();
        Ok(BuiltCollider { name, shapes, keys, cloths })
    }
}

impl ColliderShape {
    /// The shape before its transform.
    fn colliders(&self) -> Result<Colliders, SceneError> {
        let none = Colliders::default();
        Ok(match self {
            Self::Sphere(sphere) => {
                Colliders { spheres: vec![ball(sphere.center, sphere.radius)], ..none }
            }
            Self::Capsule(capsule) => {
                let [from, to] = capsule.radii;
                Colliders {
                    spheres: vec![ball(capsule.from, from), ball(capsule.to, to)],
                    capsules: vec![[0, 1]],
                    ..none
                }
            }
            Self::Plane(plane) => convex(std::slice::from_ref(plane)),
            Self::Convex(planes) => convex(planes),
            Self::Box(shape) => {
                let pose = Pose { translation: shape.center, ..Pose::default() };
                Colliders {
                    boxes: vec![Parallelepiped::cuboid(
                        pose,
                        shape.size.map(|length| 0.5 * length),
                    )],
                    ..none
                }
            }
            Self::Mesh(path) => {
                let mesh = read_obj(path)?;
                Colliders {
                    mesh_triangles: mesh.triangulated(),
                    mesh_vertices: mesh.positions,
                    ..none
                }
            }
        })
    }
}

impl Scene {
    /// Builds all colliders: reads meshes, applies transforms.
    ///
    /// # Errors
    /// [`SceneError`] if a mesh file is not usable.
    pub fn build_colliders(&self) -> Result<Vec<BuiltCollider>, SceneError> {
        let source = Source { text: &self.text, path: &self.path };
        let build = |(index, collider): (usize, &SceneCollider)| {
            // The fields are public: they may have changed since the file was checked.
            validate_collider(collider, &self.cloths, &format!("collider[{index}]"), &source)?;
            collider.build()
        };
        self.colliders.iter().enumerate().map(build).collect()
    }
}

fn ball([x, y, z]: [f32; 3], radius: f32) -> [f32; 4] {
    [x, y, z, radius]
}

fn convex(planes: &[PlaneShape]) -> Colliders {
    let row = |plane: &PlaneShape| {
        let [x, y, z] = vector(plane.normal).normalize_or_zero().as_vec3().to_array();
        [x, y, z, 0.0 - plane.offset]
    };
    let sides = (0..planes.len() as u32).collect();
    Colliders {
        planes: planes.iter().map(row).collect(),
        convexes: vec![sides],
        ..Colliders::default()
    }
}

fn vector(value: [f32; 3]) -> DVec3 {
    DVec3::from(value.map(f64::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{BoxShape, CapsuleShape, SphereShape};

    fn collider(shape: ColliderShape) -> SceneCollider {
        SceneCollider {
            name: "it".into(),
            shape,
            transform: Transform::default(),
            keys: Vec::new(),
            cloths: None,
        }
    }

    fn near<const N: usize>(a: [f32; N], b: [f32; N]) {
        assert!((0..N).all(|k| (a[k] - b[k]).abs() < 1e-6), "{a:?} is not {b:?}");
    }

    const TURNED: Transform =
        Transform { translation: [1.0, 2.0, 3.0], rotation: [0.0, 90.0, 0.0], scale: 2.0 };

    #[test]
    fn transforms_scale_turn_and_move_every_shape() {
        let build =
            |shape| SceneCollider { transform: TURNED, ..collider(shape) }.build().unwrap().shapes;
        let sphere = SphereShape { radius: 0.5, center: [1.0, 0.0, 0.0] };
        near(build(ColliderShape::Sphere(sphere)).spheres[0], [1.0, 2.0, 1.0, 1.0]);
        // The points with x >= 0.5 are in front; after it, those with z <= 3 - 1.
        let plane = PlaneShape { normal: [4.0, 0.0, 0.0], offset: 0.5 };
        near(build(ColliderShape::Plane(plane)).planes[0], [0.0, 0.0, -1.0, 2.0]);
        let shape =
            build(ColliderShape::Box(BoxShape { size: [1.0, 2.0, 3.0], center: [0.5, 1.0, 1.5] }))
                .boxes[0];
        near(shape.corner, [1.0, 2.0, 3.0]);
        near(shape.edges[0], [0.0, 0.0, -2.0]);
        near(shape.edges[2], [6.0, 0.0, 0.0]);
    }

    #[test]
    fn colliders_come_into_the_frame_of_a_cloth() {
        let key = |time, x, turn| FrameKey {
            time,
            translation: [x, 0.0, 0.0],
            rotation: [0.0, turn, 0.0],
        };
        let keys = vec![key(0.0, 0.0, 0.0), key(1.0, 4.0, 180.0)];
        let sphere =
            collider(ColliderShape::Sphere(SphereShape { radius: 0.5, center: [1.0, 0.0, 0.0] }));
        let built = SceneCollider { keys, ..sphere }.build().unwrap();
        near(colliders_in_frame([&built], Pose::default(), 0.5).spheres[0], [2.0, 0.0, -1.0, 0.5]);
        // The frame stands where the body is: nothing is turned or moved.
        let local = colliders_in_frame([&built], built.pose(0.25), 0.25);
        near(local.spheres[0], [1.0, 0.0, 0.0, 0.5]);
    }

    #[test]
    fn colliders_of_a_kind_follow_each_other() {
        let capsule = CapsuleShape { from: [0.0; 3], to: [0.0, 1.0, 0.0], radii: [0.2, 0.1] };
        let capsule = collider(ColliderShape::Capsule(capsule)).build().unwrap();
        let plane = PlaneShape { normal: [0.0, 2.0, 0.0], offset: -1.0 };
        let convex = collider(ColliderShape::Convex(vec![plane; 3])).build().unwrap();
        let both = colliders_in_frame([&capsule, &convex, &capsule, &convex], Pose::default(), 0.0);
        assert_eq!(both.capsules, [[0, 1], [2, 3]]);
        assert_eq!(both.convexes, [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(both.planes[5], [0.0, 1.0, 0.0, 1.0]);
        both.validate().unwrap();
    }

    #[test]
    fn a_body_at_rest_does_not_change_by_a_bit() {
        let key =
            |time| FrameKey { time, translation: [0.3, 0.7, -0.1], rotation: [10.0, 20.0, 30.0] };
        let shape = ColliderShape::Sphere(SphereShape { radius: 0.5, center: [1.0, 0.1, 0.2] });
        let built =
            SceneCollider { keys: vec![key(0.0), key(1.0)], ..collider(shape) }.build().unwrap();
        let at = |time| colliders_in_frame([&built], Pose::default(), time);
        assert_eq!(at(0.0), at(0.37));
        assert_eq!(at(0.0), at(5.0));
    }
}
