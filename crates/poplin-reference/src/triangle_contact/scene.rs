//! From cloths and colliders to bodies and rows, and back. Targets and what is written back are the twin of
//! `shaders/contact/triangle_particles.wgsl`.

use std::sync::Arc;

use glam::{DMat3, Vec3};
use poplin_host::{HostCloth, PairMultipliers, space_axes};
use poplin_layout::{ContactCloth, Feedback};
use poplin_model::{Collider, ColliderSet, Parallelepiped, Placement, Plane, Pose, Rigid, Shape};

use super::body::{Body, Role, Surface};
use super::memory::TriangleContact;
use crate::contact::ContactBody;
use crate::math::{dot3, xyz};

/// What a body is of: equal keys have the same topology.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Key {
    Cloth { fabric: usize, particle_count: usize, rest: usize },
    Ball,
    Capsule,
    Plane,
    Box,
    Convex(usize),
    Mesh { triangles: usize, vertex_count: usize },
}

/// A cloth that takes part in a frame.
#[derive(Debug, Clone, Copy)]
pub struct ClothInput<'a> {
    /// Its settings and colliders.
    pub host: &'a HostCloth,
    /// Its particles before the frame.
    pub current: &'a [[f32; 4]],
}

fn point(at: &Placement, p: [f32; 3]) -> Vec3 {
    Vec3::from(at.point(p))
}

/// The corners of a convex and its faces, in its own space: cuts of three planes that are behind all others.
fn convex_surface(planes: &[Plane]) -> Surface {
    let normal = |k: usize| Vec3::from(planes[k].normal).as_dvec3();
    let offset = |k: usize| f64::from(planes[k].offset);
    let mut corners: Vec<glam::DVec3> = Vec::new();
    let mut sides = vec![Vec::new(); planes.len()];
    for a in 0..planes.len() {
        for b in a + 1..planes.len() {
            for c in b + 1..planes.len() {
                let matrix = DMat3::from_cols(normal(a), normal(b), normal(c)).transpose();
                if matrix.determinant().abs() < 1e-9 {
                    continue;
                }
                let corner = matrix.inverse() * glam::DVec3::new(offset(a), offset(b), offset(c));
                let is_behind = |k: usize| normal(k).dot(corner) <= offset(k) + 1e-6;
                if !(0..planes.len()).all(is_behind) {
                    continue;
                }
                let same = corners.iter().position(|other| other.distance(corner) < 1e-6);
                let index = same.unwrap_or_else(|| {
                    corners.push(corner);
                    corners.len() - 1
                });
                for side in [a, b, c] {
                    if !sides[side].contains(&index) {
                        sides[side].push(index);
                    }
                }
            }
        }
    }
    let mut triangles = Vec::new();
    for (k, side) in sides.iter_mut().enumerate().filter(|(_, side)| side.len() > 2) {
        let center = side.iter().map(|&i| corners[i]).sum::<glam::DVec3>() / side.len() as f64;
        let first = (corners[side[0]] - center).normalize_or_zero();
        let second = normal(k).cross(first);
        let angle = |i: usize| {
            let arm = corners[i] - center;
            arm.dot(second).atan2(arm.dot(first))
        };
        side.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)));
        for pair in side[1..].windows(2) {
            triangles.push([side[0] as u32, pair[0] as u32, pair[1] as u32]);
        }
    }
    Surface::of_triangles(corners.iter().map(|corner| corner.as_vec3()).collect(), &triangles)
}

fn key_of(shape: &Shape) -> Key {
    match shape {
        Shape::Sphere(_) => Key::Ball,
        Shape::Capsule(_) => Key::Capsule,
        Shape::Plane(_) => Key::Plane,
        Shape::Parallelepiped(_) => Key::Box,
        Shape::Convex(planes) => Key::Convex(planes.as_ptr() as usize),
        Shape::TriangleMesh(mesh) => Key::Mesh {
            triangles: mesh.triangles.as_ptr() as usize,
            vertex_count: mesh.vertices.len(),
        },
    }
}

fn surface_of(shape: &Shape) -> Surface {
    let zeros = |count: usize| vec![Vec3::ZERO; count];
    match shape {
        Shape::Sphere(_) => Surface { rest: zeros(1), vertices: vec![[0]], ..Surface::default() },
        Shape::Capsule(_) => Surface {
            rest: zeros(2),
            edges: vec![[0, 1]],
            vertices: vec![[0], [1]],
            ..Surface::default()
        },
        Shape::Plane(_) => Surface { rest: zeros(1), ..Surface::default() },
        Shape::Parallelepiped(it) => {
            let corners = it.corners().map(Vec3::from).to_vec();
            Surface::of_triangles(corners, &Parallelepiped::TRIANGLES)
        }
        Shape::Convex(planes) => convex_surface(planes),
        Shape::TriangleMesh(mesh) => {
            let rest = mesh.vertices.iter().map(|&vertex| Vec3::from(vertex)).collect();
            Surface::of_triangles(rest, &mesh.triangles)
        }
    }
}

/// The vertices of a shape in the world; of a plane a point.
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
        Shape::TriangleMesh(mesh) => {
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

/// A collider over a frame.
struct Entry<'a> {
    collider: &'a Collider,
    start_shape: &'a Shape,
    poses: [Placement; 2],
    owner: Option<u32>,
}

fn entries<'a>(
    cloths: &'a [ClothInput<'a>],
    world: &'a ColliderSet,
) -> impl Iterator<Item = Entry<'a>> {
    let none = [Pose::default(); 2];
    let sets = cloths.iter().enumerate().map(|(index, cloth)| {
        let live = cloth.host.live();
        (live.colliders(), Some(index as u32), [live.pose(), live.target_pose()])
    });
    std::iter::once((world, None, none)).chain(sets).flat_map(|(set, owner, spaces)| {
        set.motions().map(move |motion| {
            let ends = [motion.start_pose, motion.collider.pose];
            let pose =
                |k: usize| Placement::new(1.0, Rigid::new(spaces[k]).after(Rigid::new(ends[k])));
            Entry {
                collider: motion.collider,
                start_shape: motion.start_shape,
                poses: [pose(0), pose(1)],
                owner,
            }
        })
    })
}

fn key_of_cloth(cloth: &ClothInput<'_>) -> Key {
    let it = cloth.host.cloth();
    Key::Cloth {
        fabric: Arc::as_ptr(&it.fabric) as usize,
        particle_count: it.particle_count(),
        rest: it.rest_positions.as_ptr() as usize,
    }
}

/// Sets a value of a body, and whether everything has remained the same.
fn set<T: PartialEq>(is_same: &mut bool, slot: &mut T, value: T) {
    *is_same &= *slot == value;
    *slot = value;
}

/// The multipliers of the bodies that are still there, ranked by their new indices.
fn kept(all: &[PairMultipliers], old: &[Key], new: &[Key]) -> Vec<PairMultipliers> {
    let mut from = 0;
    let indices: Vec<Option<u32>> = old
        .iter()
        .map(|key| {
            let found = new[from..].iter().position(|other| other == key)?;
            from += found + 1;
            Some((from - 1) as u32)
        })
        .collect();
    let renamed = |held: &PairMultipliers| {
        let [a, b, first, second] = held.rank;
        let index = |body: u32| indices.get(body as usize).copied().flatten();
        let (a, b) = (index(a)?, index(b)?);
        Some(PairMultipliers { rank: [a, b, first, second], ..*held })
    };
    all.iter().filter_map(renamed).collect()
}

impl TriangleContact {
    /// Forgets everybody: what is not where it was is no motion.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Takes in the cloths and colliders of a frame, where they are before it.
    pub fn begin_frame(&mut self, cloths: &[ClothInput<'_>], world: &ColliderSet) {
        let keys = cloths.iter().map(key_of_cloth);
        let keys: Vec<Key> =
            keys.chain(entries(cloths, world).map(|entry| key_of(&entry.collider.shape))).collect();
        self.tangles.end_frame(&self.start);
        if keys != self.keys {
            // Who is still there keeps its multipliers: a stack does not move because something else came or went.
            // After `set_multipliers` they are those of who comes now.
            let held = match self.keys.is_empty() {
                true => std::mem::take(&mut self.held),
                false => kept(&self.held, &self.keys, &keys),
            };
            let step = self.step;
            self.forget();
            self.keys = keys;
            self.add_all(cloths, world);
            (self.step, self.held) = (step, held);
        }
        let mut body = 0;
        let mut is_same = true;
        for cloth in cloths {
            let (host, rows) = (cloth.host, self.bodies[body].rows.clone());
            let (axes, origin) = space_axes(host.live().pose());
            for (start, row) in self.start[rows.clone()].iter_mut().zip(cloth.current) {
                *start = axes[0] * row[0] + axes[1] * row[1] + axes[2] * row[2] + origin;
            }
            let config = &host.cloth().config;
            let radius = 0.5 * config.thickness;
            self.radius[rows].iter_mut().for_each(|it| set(&mut is_same, it, radius));
            let groups = host.cloth().collider_groups;
            // Nobody wants a cloth that keeps no distance from others.
            let is_apart = host.cloth_collision_distance() == 0.0;
            let role = Role::Cloth {
                group: if is_apart { 0 } else { config.cloth_collision.group },
                mask: config.cloth_collision.mask,
                colliders: [groups.memberships, groups.filter],
            };
            let it = &mut self.bodies[body];
            set(&mut is_same, &mut it.meets_itself, host.has_self_collision());
            set(&mut is_same, &mut it.role, role);
            set(&mut is_same, &mut it.friction, config.contact.friction);
            body += 1;
        }
        self.ends.clear();
        self.ends.extend(&self.start);
        for Entry { collider, start_shape, poses, owner } in entries(cloths, world) {
            let it = &mut self.bodies[body];
            let rows = it.rows.clone();
            let is_one = key_of(start_shape) == key_of(&collider.shape);
            let first = if is_one { start_shape } else { &collider.shape };
            set_vertices(first, &it.surface, &poses[0], &mut self.start[rows.clone()]);
            set_vertices(&collider.shape, &it.surface, &poses[1], &mut self.ends[rows.clone()]);
            let (before, after) = (radii_of(first), radii_of(&collider.shape));
            for (k, row) in rows.clone().enumerate().take(2) {
                let radius = if it.is_plane { 0.0 } else { before[k].max(after[k]) };
                set(&mut is_same, &mut self.radius[row], radius);
                set(&mut is_same, &mut self.hard[row], radius);
            }
            if let Shape::Plane(plane) = &collider.shape {
                let normal = Vec3::from(poses[1].plane(plane.normal, plane.offset).0);
                set(&mut is_same, &mut self.rest[rows.start], normal);
            }
            let groups = collider.groups;
            let role = Role::Collider { owner, groups: [groups.memberships, groups.filter] };
            set(&mut is_same, &mut it.role, role);
            set(&mut is_same, &mut it.friction, collider.friction);
            body += 1;
        }
        if !is_same {
            self.drop_lists();
        }
        self.frame_start.clone_from(&self.start);
        self.expect_tangles();
    }

    fn add_all(&mut self, cloths: &[ClothInput<'_>], world: &ColliderSet) {
        let none = Role::Collider { owner: None, groups: [0; 2] };
        for cloth in cloths {
            let it = cloth.host.cloth();
            let rest: Vec<Vec3> = if it.rest_positions.is_empty() {
                it.particles.iter().map(|particle| Vec3::from(particle.position)).collect()
            } else {
                it.rest_positions.iter().map(|&position| Vec3::from(position)).collect()
            };
            let surface = Surface::of_triangles(rest, &it.fabric.triangles);
            let role = Role::Cloth { group: 0, mask: 0, colliders: [0; 2] };
            self.add(Body::new(Arc::new(surface), role, 0.0), 0.0, 0.0);
        }
        for entry in entries(cloths, world) {
            let surface = surface_of(&entry.collider.shape);
            let mut body = Body::new(Arc::new(surface), none, 0.0);
            body.is_plane = matches!(entry.collider.shape, Shape::Plane(_));
            self.add(body, 0.0, 0.0);
        }
    }

    /// Where the rows would be at a fraction of the frame: particles where the solver has put them, colliders on their paths.
    pub fn set_targets(
        &mut self,
        cloths: &[ContactCloth],
        members: &[ContactBody<'_>],
        fraction: f32,
    ) {
        for (index, body) in self.bodies.iter().enumerate() {
            let rows = body.rows.clone();
            if let (Some(cloth), Some(member)) = (cloths.get(index), members.get(index)) {
                let is_held = is_held(member.feedback);
                let axes = [cloth.axis_x, cloth.axis_y, cloth.axis_z].map(xyz);
                for (row, particle) in rows.zip(member.current.iter()) {
                    let [x, y, z, w] = *particle;
                    let position = axes[0] * x + axes[1] * y + axes[2] * z + xyz(cloth.origin);
                    self.target[row] = if is_held { self.start[row] } else { position };
                    self.inverse_mass[row] = if is_held { 0.0 } else { w };
                }
            } else {
                for row in rows {
                    let (start, end) = (self.frame_start[row], self.ends[row]);
                    self.target[row] =
                        if fraction < 1.0 { start + (end - start) * fraction } else { end };
                }
            }
        }
        self.wanted.clone_from(&self.target);
    }

    /// Puts particles where contact lets them be.
    pub fn write_back(&self, cloths: &[ContactCloth], members: &mut [ContactBody<'_>]) {
        for ((cloth, member), body) in cloths.iter().zip(members).zip(&self.bodies) {
            if is_held(member.feedback) {
                continue;
            }
            let axes = [cloth.axis_x, cloth.axis_y, cloth.axis_z].map(xyz);
            let local = |v: Vec3| Vec3::from(axes.map(|axis| dot3(axis, v)));
            let rows = body.rows.clone();
            let particles = member.current.iter_mut().zip(member.previous.iter_mut());
            for (row, (current, previous)) in rows.zip(particles) {
                if self.inverse_mass[row] == 0.0 {
                    continue;
                }
                let push = local(self.start[row] - self.wanted[row]);
                let carry = local(self.carry[row]);
                for k in 0..3 {
                    current[k] += push[k];
                    previous[k] += carry[k];
                }
            }
        }
    }
}

fn is_held(feedback: &Feedback) -> bool {
    feedback.fault_count != 0 || feedback.is_asleep != 0
}
