//! Colliders of the sets, converted to arrays that the kernel reads, in a cloth's local space.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use poplin_geometry::wide;
use poplin_model::{
    BodyId, Capsule, ColliderMotion, ColliderSet, InteractionGroups, Placement, Plane, Pose, Rigid,
    RigidBody, Shape, ShapeKind,
};
use rustc_hash::FxHashMap;

use super::grown::grown;
use super::pad;
use crate::frame_motion::{angular_velocity, rotation_vector};

/// Start and target of an array over a frame.
pub(crate) type Halves = [Vec<[f32; 4]>; 2];

/// Motion of a cloth's local space over the next frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SpaceMotion {
    /// Pose at the start.
    pub(crate) start: Pose,
    /// Pose at the end.
    pub(crate) target: Pose,
    /// Duration \[s\].
    pub(crate) dt: f32,
}

impl SpaceMotion {
    /// Transforms from the world to the local space at the start and at the end; `None` if the two
    /// spaces are equal.
    fn world_to_local(&self) -> Option<[Rigid; 2]> {
        // Skipping the identity keeps the bits of world coordinates.
        let is_world = [self.start, self.target] == [Pose::default(); 2];
        (!is_world).then(|| [self.start, self.target].map(|pose| Rigid::new(pose).inverse()))
    }
}

/// Collider set as one cloth meets it.
pub(super) struct View<'a> {
    set: &'a ColliderSet,
    groups: InteractionGroups,
    into_local: Option<[Rigid; 2]>,
    /// Motion of the local space relative to the space of the set.
    motion: Option<SpaceMotion>,
}

impl<'a> View<'a> {
    /// View of the cloth's own set, in its local space.
    pub(super) fn of_own(set: &'a ColliderSet, groups: InteractionGroups) -> Self {
        Self { set, groups, into_local: None, motion: None }
    }

    /// View of the simulation's set, in world space.
    pub(super) fn of_world(
        set: &'a ColliderSet,
        groups: InteractionGroups,
        motion: SpaceMotion,
    ) -> Self {
        let into_local = motion.world_to_local();
        Self { set, groups, into_local, motion: into_local.map(|_| motion) }
    }

    /// Colliders of a kind that the cloth meets.
    fn of_kind(&self, kind: ShapeKind) -> impl Iterator<Item = ColliderMotion<'a>> {
        let groups = self.groups;
        self.set.motions().filter(move |ColliderMotion { collider, .. }| {
            ShapeKind::of(&collider.shape) == kind && collider.groups.meets(groups)
        })
    }

    /// Transform from the space of this pose to the local space at the start or at the end of the
    /// frame.
    fn rigid(&self, pose: Pose, half: usize) -> Rigid {
        let rigid = Rigid::new(pose);
        self.into_local.map_or(rigid, |both| both[half].after(rigid))
    }

    /// Placement of a shape with this pose, as in [`View::rigid`].
    fn placement(&self, pose: Pose, half: usize) -> Placement {
        Placement::new(1.0, self.rigid(pose, half))
    }

    /// Motion of a collider over the frame, without that of its shape.
    fn twist(&self, motion: &ColliderMotion<'_>) -> Twist {
        let poses = [motion.start_pose, motion.collider.pose];
        if self.into_local.is_none() && poses[0] == poses[1] {
            return Twist::default();
        }
        let [start, end] = [0, 1].map(|half| self.rigid(poses[half], half));
        let row = |v: DVec3| pad(v.as_vec3().to_array());
        Twist {
            spin: row(rotation_vector(start.rotation, end.rotation)),
            center: row(start.translation),
            shift: row(end.translation - start.translation),
        }
    }

    /// Shape of a collider in the local space at the start and at the end of the frame.
    fn shapes(&self, motion: &ColliderMotion<'_>) -> [Shape; 2] {
        let ColliderMotion { collider, start_shape, start_pose } = *motion;
        let local_shape = |shape: &Shape, pose: Pose, half: usize| {
            // A clone shares the triangles of a mesh and keeps all bits.
            if self.into_local.is_none() && pose == Pose::default() {
                shape.clone()
            } else {
                shape.transformed(&self.placement(pose, half))
            }
        };
        [local_shape(start_shape, start_pose, 0), local_shape(&collider.shape, collider.pose, 1)]
    }

    /// True if the set has only spheres, and the cloth meets all of them.
    pub(super) fn has_only_spheres(&self) -> bool {
        self.set.iter().all(|(_, collider)| {
            matches!(collider.shape, Shape::Sphere(_)) && collider.groups.meets(self.groups)
        })
    }

    /// Collects the spheres of a set of spheres at the start and at the end of the frame, in the
    /// order of [`Round::collect`]. Returns false if one of them turns.
    pub(super) fn collect_spheres(&self, halves: &mut Halves) -> bool {
        halves.iter_mut().for_each(Vec::clear);
        let mut is_still = true;
        for ColliderMotion { collider, start_shape, start_pose } in self.set.motions() {
            is_still &= start_pose.rotation == collider.pose.rotation;
            let ends = [(start_shape, start_pose), (&collider.shape, collider.pose)];
            for (half, (shape, pose)) in ends.into_iter().enumerate() {
                if let Shape::Sphere(sphere) = shape {
                    halves[half].push(sphere.transformed(&self.placement(pose, half)).into());
                }
            }
        }
        is_still
    }

    /// Transforms a body to the local space, with velocities relative to it.
    fn body(&self, body: &RigidBody) -> RigidBody {
        // Bodies of the cloth's own set are already in its local space.
        let (Some([into_local, _]), Some(motion)) = (self.into_local, self.motion) else {
            return *body;
        };
        let narrow = |v: DVec3| v.as_vec3().to_array();
        let dt = f64::from(motion.dt);
        let origin = wide(motion.start.translation);
        let center = wide(body.center);
        let (velocity, spin) = if dt > 0.0 {
            let shift = wide(motion.target.translation) - origin;
            (shift / dt, angular_velocity(motion.start, motion.target, dt))
        } else {
            (DVec3::ZERO, DVec3::ZERO)
        };
        // v' = R (v - v_space - w_space x (c - origin)),  w' = R (w - w_space),  J' = R J R^T
        let rotate = |v: DVec3| into_local.rotation * v;
        // Velocity of the local space at the body's center.
        let carried = velocity + spin.cross(center - origin);
        let rotation = DMat3::from_quat(into_local.rotation);
        let inertia =
            DMat3::from_cols_array_2d(&body.inverse_inertia.map(|row| row.map(f64::from)));
        let inertia = (rotation * inertia * rotation.transpose()).to_cols_array_2d();
        RigidBody {
            center: narrow(rotate(center - origin)),
            velocity: narrow(rotate(wide(body.velocity) - carried)),
            angular_velocity: narrow(rotate(wide(body.angular_velocity) - spin)),
            inverse_inertia: inertia.map(|row| row.map(|x| x as f32)),
            ..*body
        }
    }
}

/// Motion of a collider over the frame, for the friction on surfaces that move along themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Twist {
    /// Axis times angle of the rotation \[rad\].
    pub(super) spin: [f32; 4],
    /// Point of the collider at the start \[m\].
    pub(super) center: [f32; 4],
    /// Displacement of this point \[m\].
    pub(super) shift: [f32; 4],
}

/// Rigid body that a cloth may push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyRef {
    /// Handle in its set.
    pub body: BodyId,
    /// True for the simulation's set, false for the cloth's own.
    pub is_world: bool,
}

/// Bodies with a collider that the cloth meets.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Bodies {
    pub(super) refs: Vec<BodyRef>,
    pub(super) states: Vec<RigidBody>,
    /// Distance beyond their shapes at which cloth meets bodies \[m\].
    margin: f32,
}

impl Bodies {
    pub(super) fn of(views: &[View<'_>; 2], margin: f32) -> Self {
        let mut bodies = Self { margin, ..Self::default() };
        for (view, is_world) in views.iter().zip([false, true]) {
            let met = |body: BodyId| {
                // A body without a collider that the cloth meets gets no rows.
                let mut colliders = view.set.iter().map(|(_, collider)| collider);
                colliders.any(|it| it.body == Some(body) && it.groups.meets(view.groups))
            };
            for (body, state) in view.set.bodies().filter(|(body, _)| met(*body)) {
                bodies.refs.push(BodyRef { body, is_world });
                bodies.states.push(view.body(state));
            }
        }
        if bodies.refs.is_empty() {
            // Without bodies the margin has no effect and must not count as a change.
            bodies.margin = 0.0;
        }
        bodies
    }

    /// Index of a collider's body in the list.
    fn index(&self, body: Option<BodyId>, is_world: bool) -> Option<u32> {
        let wanted = BodyRef { body: body?, is_world };
        self.refs.iter().position(|body| *body == wanted).map(|index| index as u32)
    }
}

/// Body and friction of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Owner {
    /// Index of the body, if the shape has one.
    pub(super) body: Option<u32>,
    /// Factor on friction.
    pub(super) friction: f32,
}

/// Visits every collider of a kind with its owner and motion.
fn visit(
    views: &[View<'_>; 2],
    bodies: &Bodies,
    kind: ShapeKind,
    mut visit: impl FnMut([Shape; 2], Owner, Twist),
) {
    for (view, is_world) in views.iter().zip([false, true]) {
        for motion in view.of_kind(kind) {
            let body = bodies.index(motion.collider.body, is_world);
            let mut shapes = view.shapes(&motion);
            // Free colliders keep their distance in triangle contact; those of bodies are expanded
            // instead.
            if body.is_some() && bodies.margin > 0.0 {
                shapes.iter_mut().for_each(|shape| *shape = grown(shape, bodies.margin));
            }
            // Velocities of bodies are part of their states.
            let twist = if body.is_none() { view.twist(&motion) } else { Twist::default() };
            visit(shapes, Owner { body, friction: motion.collider.friction }, twist);
        }
    }
}

/// Key of a capsule's end: its sphere at the start and the end of the frame (as bits), body and
/// friction.
type EndKey = ([[u32; 4]; 2], Option<u32>, u32);

/// Spheres, and capsules between them, each with its owner.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    pub(super) spheres: Halves,
    pub(super) sphere_owners: Vec<Owner>,
    pub(super) capsules: Vec<[u32; 2]>,
    pub(super) capsule_owners: Vec<Owner>,
    /// Rotations of the spheres and of the capsules over the frame.
    pub(super) spins: Halves,
    /// Spheres at the ends of capsules.
    ends: FxHashMap<EndKey, u32>,
}

impl Round {
    /// Collects the spheres and capsules that the cloth meets, reusing memory.
    pub(super) fn collect(&mut self, views: &[View<'_>; 2], bodies: &Bodies) {
        self.spheres.iter_mut().for_each(Vec::clear);
        self.sphere_owners.clear();
        self.capsules.clear();
        self.capsule_owners.clear();
        self.spins.iter_mut().for_each(Vec::clear);
        // Moved out of self, as the closure below borrows the rest.
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        let round = &mut *self;
        visit(views, bodies, ShapeKind::Round, |shapes, owner, Twist { spin, .. }| match shapes {
            [Shape::Sphere(start), Shape::Sphere(target)] => {
                round.push([start, target].map(<[f32; 4]>::from), owner, spin);
            }
            [
                Shape::Capsule(Capsule { ends: starts }),
                Shape::Capsule(Capsule { ends: targets }),
            ] => {
                let end = |k: usize| {
                    let rows = [starts[k], targets[k]].map(<[f32; 4]>::from);
                    let key = (
                        rows.map(|row| row.map(f32::to_bits)),
                        owner.body,
                        owner.friction.to_bits(),
                    );
                    // Capsules with equal ends share one sphere, the joint.
                    *ends.entry(key).or_insert_with(|| round.push(rows, owner, spin))
                };
                let pair = [0, 1].map(end);
                round.capsules.push(pair);
                round.capsule_owners.push(owner);
                round.spins[1].push(spin);
            }
            _ => {}
        });
        self.ends = ends;
    }

    fn push(&mut self, rows: [[f32; 4]; 2], owner: Owner, spin: [f32; 4]) -> u32 {
        for (half, row) in self.spheres.iter_mut().zip(rows) {
            half.push(row);
        }
        self.sphere_owners.push(owner);
        self.spins[0].push(spin);
        self.sphere_owners.len() as u32 - 1
    }
}

/// Planes and the convex shapes that they bound, each with its owner.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Flat {
    pub(super) planes: Halves,
    pub(super) convexes: Vec<Vec<u32>>,
    pub(super) convex_owners: Vec<Owner>,
    /// Motion of each convex over the frame.
    pub(super) twists: Vec<Twist>,
}

/// Packs a plane for the kernel: a point x with `n.x + d < 0` is behind.
fn plane_row(Plane { normal: [x, y, z], offset }: Plane) -> [f32; 4] {
    // 0 - offset, not -offset, so that an offset of 0 does not become -0.
    [x, y, z, 0.0 - offset]
}

impl Flat {
    pub(super) fn of(views: &[View<'_>; 2], bodies: &Bodies) -> Self {
        let mut flat = Self::default();
        visit(views, bodies, ShapeKind::Flat, |shapes, owner, twist| {
            let begin = flat.planes[0].len() as u32;
            for (half, shape) in flat.planes.iter_mut().zip(shapes) {
                match shape {
                    Shape::Plane(plane) => half.push(plane_row(plane)),
                    Shape::Convex(planes) => half.extend(planes.iter().copied().map(plane_row)),
                    _ => {}
                }
            }
            flat.convexes.push((begin..flat.planes[0].len() as u32).collect());
            flat.convex_owners.push(owner);
            flat.twists.push(twist);
        });
        flat
    }
}

/// Boxes of four rows, each with its owner.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Boxes {
    pub(super) rows: Halves,
    pub(super) owners: Vec<Owner>,
}

impl Boxes {
    pub(super) fn of(views: &[View<'_>; 2], bodies: &Bodies) -> Self {
        let mut boxes = Self::default();
        visit(views, bodies, ShapeKind::Box, |shapes, owner, _| {
            for (half, shape) in boxes.rows.iter_mut().zip(shapes) {
                if let Shape::Parallelepiped(shape) = shape {
                    half.extend(shape.rows().map(pad));
                }
            }
            boxes.owners.push(owner);
        });
        boxes
    }
}

/// Union of all triangle meshes.
#[derive(Debug, Clone, Default)]
pub(super) struct Mesh {
    pub(super) vertices: Halves,
    /// Triangles of each mesh, and the index of its first vertex.
    pub(super) parts: Vec<(Arc<[[u32; 3]]>, u32)>,
    /// Owners of the meshes.
    pub(super) owners: Vec<Owner>,
}

impl Mesh {
    pub(super) fn of(views: &[View<'_>; 2], bodies: &Bodies) -> Self {
        let mut mesh = Self::default();
        visit(views, bodies, ShapeKind::Mesh, |shapes, owner, _| {
            let begin = mesh.vertices[0].len() as u32;
            if let Shape::TriangleMesh(part) = &shapes[1] {
                // Topology is the same at start and target, so it is taken from the target.
                mesh.parts.push((part.triangles.clone(), begin));
            }
            for (half, shape) in mesh.vertices.iter_mut().zip(shapes) {
                if let Shape::TriangleMesh(part) = shape {
                    half.extend(part.vertices.iter().copied().map(pad));
                }
            }
            mesh.owners.push(owner);
        });
        mesh
    }

    /// Friction factor of every triangle.
    pub(super) fn frictions(&self) -> impl Iterator<Item = f32> {
        let parts = self.parts.iter().zip(&self.owners);
        parts.flat_map(|((triangles, _), owner)| {
            std::iter::repeat_n(owner.friction, triangles.len())
        })
    }

    /// Tests whether both have the same triangles.
    pub(super) fn has_triangles_of(&self, other: &Self) -> bool {
        let mut pairs = self.parts.iter().zip(&other.parts);
        self.parts.len() == other.parts.len()
            && pairs.all(|((a, a_begin), (b, b_begin))| {
                // Equal pointers spare the comparison of large arrays.
                a_begin == b_begin && (Arc::ptr_eq(a, b) || a == b)
            })
    }

    /// Triangles of all meshes, with indices into the common vertices.
    pub(super) fn triangles(&self) -> Vec<[u32; 3]> {
        let of_part = |(triangles, begin): &(Arc<[[u32; 3]]>, u32)| {
            let begin = *begin;
            triangles.iter().map(move |corners| corners.map(|corner| corner + begin)).collect()
        };
        self.parts.iter().flat_map(|part| -> Vec<[u32; 3]> { of_part(part) }).collect()
    }
}
