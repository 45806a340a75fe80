//! Participants of triangle contact in one frame: cloths and colliders as bodies with rows, for
//! both backends.

use std::ops::Range;
use std::sync::Arc;

use glam::Vec3;
use poplin_model::{Collider, ColliderSet, Placement, Pose, Rigid, Shape};

use crate::frame_motion::rotation_vector;
use crate::surface::{Surface, surface_of};
use crate::{HostCloth, PairMultipliers};

/// Role of a body in triangle contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// Cloth, with its interaction groups.
    Cloth {
        /// Groups of other cloths that it belongs to.
        group: u32,
        /// Groups of other cloths that it collides with.
        mask: u32,
        /// Memberships and filter of its interaction groups with colliders.
        colliders: [u32; 2],
    },
    /// Collider, either of one cloth only or of all cloths that its groups match.
    Collider {
        /// Index of the cloth that owns it; `None` for the simulation's set.
        owner: Option<u32>,
        /// Memberships and filter of its interaction groups.
        groups: [u32; 2],
    },
}

/// Participating surface, with its rows.
#[derive(Debug, Clone)]
pub struct TriangleBody {
    /// Topology of the surface.
    pub surface: Arc<Surface>,
    /// Role of the body.
    pub role: Role,
    /// Friction coefficient of a cloth, friction factor of a collider.
    pub friction: f32,
    /// Rows of its vertices in the arrays of the scene.
    pub rows: Range<usize>,
    /// True if it collides with itself.
    pub meets_itself: bool,
    /// True for a plane: it has one row, a point of the plane, whose rest position is the normal.
    pub is_plane: bool,
    /// True for a box, whose corners form a parallelepiped.
    pub is_box: bool,
}

impl TriangleBody {
    /// Creates a body whose rows start at `begin`.
    pub fn new(surface: Arc<Surface>, role: Role, friction: f32, begin: usize) -> Self {
        let (rows, meets_itself) =
            (begin..begin + surface.rest.len(), matches!(role, Role::Cloth { .. }));
        Self { surface, role, friction, rows, meets_itself, is_plane: false, is_box: false }
    }

    /// True if it is a cloth.
    pub fn is_cloth(&self) -> bool {
        matches!(self.role, Role::Cloth { .. })
    }

    /// True if two different bodies, with indices `own` and `others`, collide: their groups match
    /// in both directions, and one of them is a cloth.
    pub fn wants(&self, own: u32, other: &Self, others: u32) -> bool {
        match (self.role, other.role) {
            (Role::Cloth { group, mask, .. }, Role::Cloth { group: g, mask: m, .. }) => {
                group & m != 0 && g & mask != 0
            }
            (Role::Cloth { colliders, .. }, Role::Collider { owner, groups }) => {
                // Both directions must match, as with InteractionGroups::meets.
                owner.is_none_or(|owner| owner == own)
                    && colliders[0] & groups[1] != 0
                    && groups[0] & colliders[1] != 0
            }
            (Role::Collider { .. }, Role::Cloth { .. }) => other.wants(others, self, own),
            (Role::Collider { .. }, Role::Collider { .. }) => false,
        }
    }

    /// Friction coefficient between two bodies: the geometric mean for two cloths, coefficient
    /// times factor for a cloth and a collider.
    pub fn friction_with(&self, other: &Self) -> f32 {
        let product = self.friction * other.friction;
        if self.is_cloth() && other.is_cloth() { product.sqrt() } else { product }
    }
}

/// Identity of a body's topology: equal keys have the same topology.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Cloth {
        fabric: usize,
        particle_count: usize,
        rest: usize,
    },
    /// Shape of a kind with one topology.
    Shape(std::mem::Discriminant<Shape>),
    Convex(usize),
    Mesh {
        triangles: usize,
        vertex_count: usize,
    },
}

/// Change of the scene since the last frame.
#[derive(Debug, Clone, PartialEq)]
pub enum SceneChange {
    /// Only positions have changed.
    None,
    /// Values have changed: thickness, friction, groups, the radius of a sphere or the normal of a
    /// plane.
    Values,
    /// Participants have changed. Gives the new index of each previous body, if it is still there.
    Bodies(Vec<Option<u32>>),
}

/// Bodies of a frame and their rows.
#[derive(Debug, Clone, Default)]
pub struct TriangleScene {
    /// Cloths in the order of the frame, then colliders.
    pub bodies: Vec<TriangleBody>,
    /// Radius of each row \[m\]: half the thickness of a cloth, the radius of a sphere or capsule.
    pub radius: Vec<f32>,
    /// Portion of the radius that is solid collider \[m\], by row.
    pub hard: Vec<f32>,
    /// Rest positions \[m\]; the normal for a plane.
    pub rest: Vec<Vec3>,
    /// Positions of the rows of colliders before the frame \[m\]; 0 for rows of cloths.
    pub starts: Vec<Vec3>,
    /// Positions of the rows of colliders after the frame \[m\]; 0 for rows of cloths.
    pub ends: Vec<Vec3>,
    /// Rotation over the frame of each row of a sphere, capsule or plane, axis times angle
    /// \[rad\]; 0 for other rows, whose surfaces move with them.
    pub spins: Vec<Vec3>,
    keys: Vec<Key>,
}

fn point(at: &Placement, p: [f32; 3]) -> Vec3 {
    Vec3::from(at.point(p))
}

fn key_of(shape: &Shape) -> Key {
    match shape {
        Shape::Convex(planes) => Key::Convex(planes.as_ptr() as usize),
        Shape::TriangleMesh(mesh) => Key::Mesh {
            // Shared data is compared by address: the scene is checked every frame.
            triangles: mesh.triangles.as_ptr() as usize,
            vertex_count: mesh.vertices.len(),
        },
        _ => Key::Shape(std::mem::discriminant(shape)),
    }
}

/// Sets the vertices of a shape in the world; one point for a plane.
fn set_vertices(shape: &Shape, surface: &Surface, at: &Placement, rows: &mut [Vec3]) {
    match shape {
        Shape::Sphere(ball) => rows[0] = point(at, ball.center),
        Shape::Capsule(capsule) => {
            for (row, end) in rows.iter_mut().zip(&capsule.ends) {
                *row = point(at, end.center);
            }
        }
        Shape::Plane(plane) => {
            let (normal, offset) = at.plane(plane.normal, plane.offset);
            rows[0] = Vec3::from(normal) * offset;
        }
        Shape::Parallelepiped(it) => {
            for (row, corner) in rows.iter_mut().zip(it.corners()) {
                *row = point(at, corner);
            }
        }
        Shape::Convex(_) => {
            for (row, corner) in rows.iter_mut().zip(&surface.rest) {
                *row = point(at, corner.to_array());
            }
        }
        _ => {
            let mesh = shape.mesh().unwrap_or_default();
            for (row, vertex) in rows.iter_mut().zip(mesh.vertices.iter()) {
                *row = point(at, *vertex);
            }
        }
    }
}

fn radii_of(shape: &Shape) -> [f32; 2] {
    match shape {
        Shape::Sphere(ball) => [ball.radius; 2],
        Shape::Capsule(capsule) => capsule.ends.map(|end| end.radius),
        _ => [0.0; 2],
    }
}

/// Collider over a frame.
struct Entry<'a> {
    collider: &'a Collider,
    start_shape: &'a Shape,
    poses: [Rigid; 2],
    owner: Option<u32>,
}

/// Participating colliders. Colliders of rigid bodies do not take part: they collide with particles
/// in the cloth's kernel, which returns their impulses.
fn entries<'a>(
    cloths: &'a [&'a HostCloth],
    world: &'a ColliderSet,
) -> impl Iterator<Item = Entry<'a>> {
    // World colliders have no local space.
    let none = [Pose::default(); 2];
    let sets = cloths.iter().enumerate().map(|(index, cloth)| {
        let live = cloth.live();
        (live.colliders(), Some(index as u32), [live.pose(), live.target_pose()])
    });
    std::iter::once((world, None, none)).chain(sets).flat_map(|(set, owner, spaces)| {
        let free = set.motions().filter(|motion| motion.collider.body.is_none());
        free.map(move |motion| {
            let ends = [motion.start_pose, motion.collider.pose];
            let pose = |k: usize| Rigid::new(spaces[k]).after(Rigid::new(ends[k]));
            Entry {
                collider: motion.collider,
                start_shape: motion.start_shape,
                poses: [pose(0), pose(1)],
                owner,
            }
        })
    })
}

fn key_of_cloth(host: &HostCloth) -> Key {
    let it = host.desc();
    Key::Cloth {
        fabric: Arc::as_ptr(&it.fabric) as usize,
        particle_count: it.particle_count(),
        rest: it.rest_positions.as_ptr() as usize,
    }
}

/// Sets a value, and clears `is_same` if it changes.
fn set<T: PartialEq>(is_same: &mut bool, slot: &mut T, value: T) {
    *is_same &= *slot == value;
    *slot = value;
}

/// Returns the multipliers of pairs of which both bodies are still there, with new body indices in
/// their keys.
pub fn renamed_multipliers(
    all: &[PairMultipliers],
    indices: &[Option<u32>],
) -> Vec<PairMultipliers> {
    let renamed = |held: &PairMultipliers| {
        let [a, b, first, second] = held.rank;
        let index = |body: u32| indices.get(body as usize).copied().flatten();
        let (a, b) = (index(a)?, index(b)?);
        Some(PairMultipliers { rank: [a, b, first, second], ..*held })
    };
    all.iter().filter_map(renamed).collect()
}

/// Index in `new` of each old body; bodies keep their order.
fn new_indices(old: &[Key], new: &[Key]) -> Vec<Option<u32>> {
    let mut from = 0;
    let find = |key: &Key| {
        // Searches forward only, so equal keys are matched in order.
        let found = new[from..].iter().position(|other| other == key)?;
        from += found + 1;
        Some((from - 1) as u32)
    };
    old.iter().map(find).collect()
}

impl TriangleScene {
    /// Clears the scene.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Smallest thickness of a cloth \[m\]; infinite if there is none.
    pub fn least_thickness(&self) -> f32 {
        least_thickness(self.bodies.iter(), &self.radius)
    }

    /// Updates the scene to the cloths and colliders of a frame.
    pub fn begin_frame(&mut self, cloths: &[&HostCloth], world: &ColliderSet) -> SceneChange {
        let keys = cloths.iter().map(|host| key_of_cloth(host));
        let keys: Vec<Key> =
            keys.chain(entries(cloths, world).map(|entry| key_of(&entry.collider.shape))).collect();
        let mut change = SceneChange::None;
        // Positions, radii and groups are not part of the keys and are updated below.
        if keys != self.keys {
            // Remaining bodies keep their multipliers: a stack stays at rest when something else is
            // added or removed.
            change = SceneChange::Bodies(new_indices(&self.keys, &keys));
            self.forget();
            self.keys = keys;
            self.add_all(cloths, world);
        }
        let mut is_same = true;
        let (of_cloths, of_colliders) = self.bodies.split_at_mut(cloths.len());
        for (it, host) in of_cloths.iter_mut().zip(cloths) {
            let config = &host.desc().config;
            let radius = 0.5 * config.thickness;
            let radii = &mut self.radius[it.rows.clone()];
            radii.iter_mut().for_each(|it| set(&mut is_same, it, radius));
            let groups = host.desc().collider_groups;
            // A cloth with a collision distance of 0 collides with no other cloth.
            let is_apart = host.cloth_collision_distance() == 0.0;
            let role = Role::Cloth {
                group: if is_apart { 0 } else { config.cloth_collision.group },
                mask: config.cloth_collision.mask,
                colliders: [groups.memberships, groups.filter],
            };
            set(&mut is_same, &mut it.meets_itself, host.has_self_collision());
            set(&mut is_same, &mut it.role, role);
            set(&mut is_same, &mut it.friction, config.contact.friction);
        }
        for (it, entry) in of_colliders.iter_mut().zip(entries(cloths, world)) {
            let Entry { collider, start_shape, poses, owner } = entry;
            let rows = it.rows.clone();
            // A shape replaced by a different kind has no start: it appears at its end.
            let is_one = key_of(start_shape) == key_of(&collider.shape);
            let first = if is_one { start_shape } else { &collider.shape };
            let places = poses.map(|pose| Placement::new(1.0, pose));
            set_vertices(first, &it.surface, &places[0], &mut self.starts[rows.clone()]);
            set_vertices(&collider.shape, &it.surface, &places[1], &mut self.ends[rows.clone()]);
            let spin = if it.surface.is_round() {
                rotation_vector(poses[0].rotation, poses[1].rotation).as_vec3()
            } else {
                Vec3::ZERO
            };
            self.spins[rows.clone()].fill(spin);
            let (before, after) = (radii_of(first), radii_of(&collider.shape));
            for (k, row) in rows.clone().enumerate().take(2) {
                // The larger radius of the frame, so that a growing sphere is met in time.
                let radius = if it.is_plane { 0.0 } else { before[k].max(after[k]) };
                set(&mut is_same, &mut self.radius[row], radius);
                set(&mut is_same, &mut self.hard[row], radius);
            }
            if let Shape::Plane(plane) = &collider.shape {
                let normal = Vec3::from(places[1].plane(plane.normal, plane.offset).0);
                set(&mut is_same, &mut self.rest[rows.start], normal);
                if poses[0] != poses[1] {
                    // The point moves with the plane, also along it, and stays on its surface.
                    let motion = poses[1].after(poses[0].inverse());
                    let end = &mut self.ends[rows.start];
                    let carried = motion.rotation * self.starts[rows.start].as_dvec3();
                    let carried = carried + motion.translation;
                    let axis = normal.as_dvec3();
                    let height = axis.dot(carried - end.as_dvec3());
                    *end = (carried - axis * height).as_vec3();
                }
            }
            let groups = collider.groups;
            let role = Role::Collider { owner, groups: [groups.memberships, groups.filter] };
            set(&mut is_same, &mut it.role, role);
            set(&mut is_same, &mut it.friction, collider.friction);
        }
        if change == SceneChange::None && !is_same {
            change = SceneChange::Values;
        }
        change
    }

    fn add_all(&mut self, cloths: &[&HostCloth], world: &ColliderSet) {
        for host in cloths {
            let it = host.desc();
            let rest: Vec<Vec3> = if it.rest_positions.is_empty() {
                it.particles.iter().map(|particle| Vec3::from(particle.position)).collect()
            } else {
                it.rest_positions.iter().map(|&position| Vec3::from(position)).collect()
            };
            let surface = Surface::of_triangles(rest, &it.fabric.triangles);
            let role = Role::Cloth { group: 0, mask: 0, colliders: [0; 2] };
            self.add(surface, role, [false; 2]);
        }
        for entry in entries(cloths, world) {
            let surface = surface_of(&entry.collider.shape);
            let role = Role::Collider { owner: None, groups: [0; 2] };
            let shape = &entry.collider.shape;
            let is_plane = matches!(shape, Shape::Plane(_));
            self.add(surface, role, [is_plane, matches!(shape, Shape::Parallelepiped(_))]);
        }
    }

    /// Adds a body, with its rows after all others.
    fn add(&mut self, surface: Surface, role: Role, [is_plane, is_box]: [bool; 2]) {
        self.rest.extend(&surface.rest);
        // Still the old length: the body's rows begin after all others.
        let begin = self.radius.len();
        let body = TriangleBody::new(Arc::new(surface), role, 0.0, begin);
        let count = self.rest.len();
        self.radius.resize(count, 0.0);
        self.hard.resize(count, 0.0);
        self.starts.resize(count, Vec3::ZERO);
        self.ends.resize(count, Vec3::ZERO);
        self.spins.resize(count, Vec3::ZERO);
        self.bodies.push(TriangleBody { is_plane, is_box, ..body });
    }
}

/// Smallest thickness of a cloth \[m\], computed from the radii of the rows; infinite if there is
/// none.
pub fn least_thickness<'a>(bodies: impl Iterator<Item = &'a TriangleBody>, radius: &[f32]) -> f32 {
    let radii =
        bodies.filter(|body| body.is_cloth()).filter_map(|body| radius.get(body.rows.start));
    // A radius is half the thickness.
    2.0 * radii.copied().fold(f32::INFINITY, f32::min)
}
