//! Builds the shapes of a scene's colliders for the solver.

use std::sync::{Arc, OnceLock};

use glam::{DQuat, DVec3};
use poplin_geometry::wide;
use poplin_model::{Collider, InteractionGroups, Placement, Pose, Rigid, Shape, TriangleMesh};

use super::collider::acts_on;
use super::frame::BodyPath;
use super::locate::Source;
use super::mesh_motion::MovingMesh;
use super::surface::{OpenSurface, Repairs, close_surface, compact_surface};
use super::validate::validate_collider;
use super::{
    BuiltBody, ColliderShape, Extent, FrameKey, Scene, SceneCollider, SceneError, Transform,
};
use poplin_io::VertexMotion;
use poplin_io::{IoError, MeshFile, TwistedFaces, load_mesh};

/// Collider of a scene with its mesh read, to be placed at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltCollider {
    /// Name in the scene.
    pub name: String,
    /// Shape at the start, in the space of the body that it is fixed to.
    pub shape: Shape,
    /// Mesh that moves vertex by vertex, if it is one.
    moving: Option<Arc<MovingMesh>>,
    /// Motion of that body; it rests at the world's origin without keys and spin.
    path: BodyPath,
    /// Rigid body, if it is one. Its pose then follows from the simulation.
    pub body: Option<BuiltBody>,
    /// Factor on the friction of cloths that touch the collider.
    pub friction: f32,
    /// Names of the cloths that collide with it, or `None` for all.
    pub cloths: Option<Vec<String>>,
    /// Collision group, `0..32`, shared by the colliders of the scene that act on the same cloths.
    pub group: u32,
    /// Repairs of its mesh.
    pub repairs: Repairs,
    /// Faces of its mesh with a flipped triangle.
    pub twisted: TwistedFaces,
    /// Thickness and width of its shape, once measured \[m\].
    sizes: OnceLock<[f32; 2]>,
}

impl BuiltCollider {
    /// Returns the thickness and the width of its shape \[m\]: [`Extent::thickness`] and
    /// [`Extent::width`]. Measures it at the first call.
    pub fn sizes(&self) -> [f32; 2] {
        *self.sizes.get_or_init(|| {
            let extent = Extent::of(&self.shape);
            [extent.thickness(), extent.width()].map(|size| size as f32)
        })
    }

    /// Returns the rigid motion along its path at a time \[s\], as in
    /// [`super::LocalFrame::pose_at`], with its spin.
    pub fn rigid_at(&self, time: f64) -> Rigid {
        self.path.rigid_at(time)
    }

    /// Returns the pose along its path at a time \[s\], which moves [`BuiltCollider::collider_at`].
    pub fn pose_at(&self, time: f64) -> Pose {
        self.path.pose_at(time)
    }

    /// Returns the keys of its path, rising in time.
    pub fn keys(&self) -> &[FrameKey] {
        &self.path.keys
    }

    /// Tests whether its pose and its mesh are the same at two times \[s\].
    pub fn rests(&self, from: f64, to: f64) -> bool {
        self.rigid_at(from) == self.rigid_at(to)
            && self.moving.as_ref().is_none_or(|moving| moving.rests(from, to))
    }

    /// Returns its shape in the world at a time \[s\], transformed in double precision; of a rigid
    /// body, its shape at the start.
    ///
    /// # Errors
    /// [`SceneError`] if a point cache can no longer be read, or an animation leaves the range of
    /// coordinates.
    pub fn shape_at(&self, time: f64) -> Result<Shape, SceneError> {
        let shape = self.vertices_at(time)?.unwrap_or_else(|| self.shape.clone());
        Ok(moved(shape, self.rigid_at(time)))
    }

    /// Returns its shape at a time \[s\] in the space of the body that it is fixed to, if it moves
    /// vertex by vertex.
    ///
    /// # Errors
    /// Same as [`BuiltCollider::shape_at`].
    pub fn vertices_at(&self, time: f64) -> Result<Option<Shape>, SceneError> {
        Ok(self.moving.as_ref().map(|moving| moving.shape_at(time)).transpose()?)
    }

    /// Returns the start shape moved by a rigid motion, for bodies that the simulation moves.
    pub fn shape_moved(&self, by: Rigid) -> Shape {
        moved(self.shape.clone(), by)
    }

    /// Returns the collider at a time \[s\], without its body: its shape in the space of the body
    /// that it is fixed to, and the pose of that space.
    ///
    /// # Errors
    /// Same as [`BuiltCollider::shape_at`].
    pub fn collider_at(&self, time: f64) -> Result<Collider, SceneError> {
        let groups = InteractionGroups { memberships: 1 << self.group, ..Default::default() };
        let shape = self.vertices_at(time)?.unwrap_or_else(|| self.shape.clone());
        let pose = self.pose_at(time);
        Ok(Collider { pose, groups, friction: self.friction, ..Collider::from(shape) })
    }

    /// Tests whether the collider acts on the cloth of this name.
    pub fn acts_on(&self, cloth: &str) -> bool {
        acts_on(&self.cloths, cloth)
    }
}

/// Moves a shape in double precision; returns it bit-identical if `by` is the identity.
fn moved(shape: Shape, by: Rigid) -> Shape {
    match by == NOT_MOVED {
        true => shape,
        false => shape.transformed(&Placement::new(1.0, by)),
    }
}

/// Identity: no rotation and no displacement.
const NOT_MOVED: Rigid = Rigid { translation: DVec3::ZERO, rotation: DQuat::IDENTITY };

impl SceneCollider {
    /// Reads the mesh, if the shape is one, and applies the transform.
    ///
    /// # Errors
    /// [`SceneError`] if the mesh file is not usable, or the shape is not [valid](Shape::validate).
    pub fn build(&self) -> Result<BuiltCollider, SceneError> {
        self.build_near([0.0; 3])
    }

    /// Builds the collider with positions relative to `origin` in the world \[m\]. The shape must
    /// be a mesh, or a plane without a transform.
    ///
    /// # Errors
    /// Same as [`SceneCollider::build`].
    pub fn build_near(&self, origin: [f64; 3]) -> Result<BuiltCollider, SceneError> {
        let Solid { shape, from, twisted, motion } = match (&self.shape, &self.motion) {
            (ColliderShape::Mesh(path), Some(play)) => {
                let (file, motion) = play.load(path)?;
                Solid { motion: Some(motion), ..Solid::from(file) }
            }
            // Vertices that move keep their order.
            _ => self.shape.solid()?.compact(),
        };
        let placement = placement(&self.transform, from, origin);
        let (shape, repairs, holes) = self.closed(shape, from)?;
        let moving = match (&self.motion, motion, &shape) {
            (Some(play), Some(motion), Shape::TriangleMesh(mesh)) => Some(Arc::new(MovingMesh {
                play: play.clone(),
                motion,
                origin: from.into(),
                triangles: mesh.triangles.clone(),
                holes,
                placement,
            })),
            _ => None,
        };
        let shape = match &moving {
            Some(moving) => moving.shape_at(0.0)?,
            None => shape.transformed(&placement),
        };
        shape.validate().map_err(|source| match &self.shape {
            // The transform may move a mesh past the coordinate limit.
            ColliderShape::Mesh(path) => IoError::Mesh { path: path.clone(), source }.into(),
            _ => SceneError::Collider { name: self.name.clone(), source },
        })?;
        let Self { name, keys, friction, cloths, .. } = self.clone();
        let spin = self.spin.map(|rate| f64::from(rate).to_radians()).into();
        let path = BodyPath { keys, pivot: wide(self.pivot), spin };
        let body = self.body.map(|body| {
            let built = BuiltBody::new(body, &shape);
            built.ok_or_else(|| SceneError::NoVolume { name: self.name.clone() })
        });
        let body = body.transpose()?;
        Ok(BuiltCollider {
            name,
            shape,
            moving,
            path,
            body,
            friction,
            cloths,
            group: 0,
            repairs,
            twisted,
            sizes: OnceLock::new(),
        })
    }

    /// Repairs the mesh of a shape, if it is one; also returns the boundary vertices of filled
    /// holes.
    fn closed(
        &self,
        shape: Shape,
        from: [f64; 3],
    ) -> Result<(Shape, Repairs, Vec<Vec<u32>>), SceneError> {
        match (&self.shape, shape) {
            (ColliderShape::Mesh(path), Shape::TriangleMesh(mesh)) if !self.is_open => {
                let open = |mut surface: OpenSurface| {
                    // The message has file coordinates.
                    for (x, from) in surface.near.iter_mut().zip(from) {
                        *x = (f64::from(*x) + from) as f32;
                    }
                    let (name, path) = (self.name.clone(), path.clone());
                    SceneError::OpenCollider { name, path, surface }
                };
                close_surface(&mesh)
                    .map(|(mesh, repairs, holes)| (mesh.into(), repairs, holes))
                    .map_err(open)
            }
            (_, shape) => Ok((shape, Repairs::default(), Vec::new())),
        }
    }
}

/// Shape before its transform.
struct Solid {
    shape: Shape,
    /// Point of the file that positions are relative to \[m\].
    from: [f64; 3],
    /// Faces with a flipped triangle.
    twisted: TwistedFaces,
    /// Motion of its vertices, if they move.
    motion: Option<Box<dyn VertexMotion>>,
}

impl Solid {
    fn compact(mut self) -> Self {
        if let Shape::TriangleMesh(mesh) = self.shape {
            self.shape = compact_surface(mesh).into();
        }
        self
    }
}

impl From<MeshFile> for Solid {
    fn from(MeshFile { mesh, origin, twisted }: MeshFile) -> Self {
        let triangles = mesh.triangulated().into();
        let mesh = TriangleMesh { vertices: mesh.positions.into(), triangles };
        Self { shape: mesh.into(), from: origin, twisted, motion: None }
    }
}

/// Transform from positions relative to `from`, a point of the file, to positions relative to
/// `origin` in the world.
fn placement(transform: &Transform, from: [f64; 3], origin: [f64; 3]) -> Placement {
    let (scale, rotation) = (f64::from(transform.scale), transform.precise_rotation());
    // x_world = R s (x + from) + t - origin, so that small and large terms add in double precision.
    let from = rotation * (DVec3::from(from) * scale);
    let translation = from + wide(transform.translation) - DVec3::from(origin);
    Placement::new(scale, Rigid { translation, rotation })
}

impl ColliderShape {
    /// Returns the shape before its transform, with its mesh read.
    fn solid(&self) -> Result<Solid, SceneError> {
        match self.shape() {
            Ok(shape) => {
                Ok(Solid { shape, from: [0.0; 3], twisted: TwistedFaces::default(), motion: None })
            }
            Err(path) => Ok(load_mesh(path)?.into()),
        }
    }
}

impl Scene {
    /// Builds all colliders: reads meshes, applies transforms.
    ///
    /// # Errors
    /// [`SceneError`] if a mesh file is not usable.
    pub fn build_colliders(&self) -> Result<Vec<BuiltCollider>, SceneError> {
        let source = Source::new(&self.text, &self.path);
        // The fields are public: they may have changed since the file was checked.
        for (index, collider) in self.colliders.iter().enumerate() {
            validate_collider(collider, &self.cloths, &format!("collider[{index}]"), &source);
        }
        source.verdict()?;
        let all: Vec<_> = (0..self.colliders.len()).collect();
        self.check_colliders(&all).map_err(|mut faults| faults.remove(0).1)
    }

    /// Builds some colliders, whose fields must be in range, and returns all faults, each with the
    /// index of its collider.
    ///
    /// # Errors
    /// Every [`SceneError`], at least one.
    ///
    /// # Panics
    /// If there is no collider of an index.
    pub fn check_colliders(
        &self,
        indices: &[usize],
    ) -> Result<Vec<BuiltCollider>, Vec<(usize, SceneError)>> {
        let source = Source::new(&self.text, &self.path);
        let (mut built, mut faults) = (Vec::with_capacity(indices.len()), Vec::new());
        let mut groups: Vec<Option<Vec<String>>> = Vec::new();
        for &index in indices {
            let (scene, field) = (&self.colliders[index], format!("collider[{index}]"));
            let mut collider = match scene.build() {
                Ok(collider) => collider,
                Err(error) => {
                    // A valid file may still not fit the motion that the scene states.
                    faults.push(match (error, &scene.motion) {
                        (SceneError::File(error), Some(motion)) => {
                            (index, motion.error(error, &field, &source))
                        }
                        (error, _) => (index, error),
                    });
                    continue;
                }
            };
            // Colliders with equal lists of cloths share a group.
            let known = groups.iter().position(|cloths| *cloths == collider.cloths);
            let group = known.unwrap_or_else(|| {
                groups.push(collider.cloths.clone());
                groups.len() - 1
            });
            if group >= MAX_GROUPS {
                let field = format!("{field}.cloths");
                let at = source.location(&field);
                faults.push((index, SceneError::TooManyGroups { at, field, limit: MAX_GROUPS }));
                break;
            }
            collider.group = group as u32;
            built.push(collider);
        }
        if faults.is_empty() { Ok(built) } else { Err(faults) }
    }
}

/// Returns the collision groups of a cloth: its filter has the groups of colliders that act on it.
pub fn groups_of_cloth<'a>(
    colliders: impl IntoIterator<Item = &'a BuiltCollider>,
    cloth: &str,
) -> InteractionGroups {
    let own = colliders.into_iter().filter(|collider| collider.acts_on(cloth));
    let filter = own.fold(0, |bits, collider| bits | 1 << collider.group);
    InteractionGroups { filter, ..InteractionGroups::default() }
}

/// Number of collision groups.
const MAX_GROUPS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoxShape, CapsuleShape, PlaneShape, SphereShape};
    use poplin_model::Sphere;

    fn collider(shape: ColliderShape) -> SceneCollider {
        SceneCollider::new("it", shape)
    }

    fn near<const N: usize>(a: [f32; N], b: [f32; N]) {
        assert!((0..N).all(|k| (a[k] - b[k]).abs() < 1e-6), "{a:?} is not {b:?}");
    }

    const ROTATED: Transform =
        Transform { translation: [1.0, 2.0, 3.0], rotation: [0.0, 90.0, 0.0], scale: 2.0 };

    fn sphere_of(shape: Shape) -> [f32; 4] {
        let Shape::Sphere(Sphere { center: [x, y, z], radius }) = shape else {
            panic!("{shape:?} is no sphere")
        };
        [x, y, z, radius]
    }

    #[test]
    fn transforms_scale_rotate_and_move_every_shape() {
        let build =
            |shape| SceneCollider { transform: ROTATED, ..collider(shape) }.build().unwrap().shape;
        let sphere = SphereShape { radius: 0.5, center: [1.0, 0.0, 0.0] };
        near(sphere_of(build(ColliderShape::Sphere(sphere))), [1.0, 2.0, 1.0, 1.0]);
        // The points with x >= 0.5 are in front; after it, those with z <= 3 - 1.
        let shape = PlaneShape { normal: [4.0, 0.0, 0.0], offset: 0.5 };
        let Shape::Plane(plane) = build(ColliderShape::Plane(shape)) else { panic!() };
        near(plane.normal, [0.0, 0.0, -1.0]);
        near([plane.offset], [-2.0]);
        let shape = BoxShape { size: [1.0, 2.0, 3.0], center: [0.5, 1.0, 1.5] };
        let Shape::Parallelepiped(shape) = build(ColliderShape::Box(shape)) else { panic!() };
        near(shape.corner, [1.0, 2.0, 3.0]);
        near(shape.edges[0], [0.0, 0.0, -2.0]);
        near(shape.edges[2], [6.0, 0.0, 0.0]);
        let capsule = CapsuleShape { from: [0.0; 3], to: [0.0, 1.0, 0.0], radii: [0.2, 0.1] };
        let Shape::Capsule(capsule) = build(ColliderShape::Capsule(capsule)) else { panic!() };
        near(capsule.ends[1].center, [1.0, 4.0, 3.0]);
        near(capsule.ends.map(|end| end.radius), [0.4, 0.2]);
    }

    #[test]
    fn colliders_follow_their_body() {
        let key = |time, x, angle| FrameKey {
            time,
            translation: [x, 0.0, 0.0],
            rotation: [0.0, angle, 0.0],
        };
        let keys = vec![key(0.0, 0.0, 0.0), key(1.0, 4.0, 180.0)];
        let sphere =
            collider(ColliderShape::Sphere(SphereShape { radius: 0.5, center: [1.0, 0.0, 0.0] }));
        let built = SceneCollider { keys, ..sphere }.build().unwrap();
        let at = |time| sphere_of(built.shape_at(time).unwrap());
        near(at(0.5), [2.0, 0.0, -1.0, 0.5]);
        let angle = 0.25 * std::f32::consts::PI;
        near(at(0.25), [1.0 + angle.cos(), 0.0, -angle.sin(), 0.5]);
    }

    #[test]
    fn a_body_at_rest_does_not_change_by_a_bit() {
        let key =
            |time| FrameKey { time, translation: [0.3, 0.7, -0.1], rotation: [10.0, 20.0, 30.0] };
        let shape = ColliderShape::Sphere(SphereShape { radius: 0.5, center: [1.0, 0.1, 0.2] });
        let built =
            SceneCollider { keys: vec![key(0.0), key(1.0)], ..collider(shape) }.build().unwrap();
        let at = |time| built.shape_at(time).unwrap();
        assert_eq!(at(0.0), at(0.37));
        assert_eq!(at(0.0), at(5.0));
    }

    #[test]
    fn colliders_that_act_on_the_same_cloths_share_a_group() {
        let sheet = "grid = { columns = 2, rows = 2, width = 1, height = 1 }\n";
        let mut text = format!("[[cloth]]\nname = 'a'\n{sheet}[[cloth]]\nname = 'b'\n{sheet}");
        for cloths in ["", "cloths = ['a']", "cloths = ['b']", "cloths = ['a']"] {
            text += &format!("[[collider]]\nsphere = {{ radius = 1 }}\n{cloths}\n");
        }
        let built = Scene::parse(&text, "scene.toml").unwrap().build_colliders().unwrap();
        assert_eq!(built.iter().map(|it| it.group).collect::<Vec<_>>(), [0, 1, 2, 1]);
        let met = |cloth| -> Vec<bool> {
            let groups = groups_of_cloth(&built, cloth);
            built.iter().map(|it| it.collider_at(0.0).unwrap().groups.meets(groups)).collect()
        };
        assert_eq!(met("a"), [true, true, false, true]);
        assert_eq!(met("b"), [true, false, true, false]);
    }

    #[test]
    fn more_lists_of_cloths_than_groups_are_refused() {
        let sheet = "grid = { columns = 2, rows = 2, width = 1, height = 1 }\n";
        let cloth = |k: usize| format!("[[cloth]]\nname = 'c{k}'\n{sheet}");
        let ball =
            |k: usize| format!("[[collider]]\nsphere = {{ radius = 1 }}\ncloths = ['c{k}']\n");
        let text =
            |count: usize| (0..count).map(cloth).chain((0..count).map(ball)).collect::<String>();
        let build = |count| Scene::parse(&text(count), "scene.toml").unwrap().build_colliders();
        assert_eq!(build(32).unwrap().len(), 32);
        let message = build(33).unwrap_err().to_string();
        assert!(message.contains("collider[32].cloths") && message.contains("32"), "{message}");
    }
}
