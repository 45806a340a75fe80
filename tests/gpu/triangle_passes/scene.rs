//! Random scenes and moves.

use std::sync::Arc;

use glam::Vec3;
use poplin_cpu::triangle_contact::{Body, Role, Surface, TriangleContact};
use poplin_geometry::Rng;
use poplin_testkit::triangles::{
    direction, point, power, random_sheet, random_triangles, rotation,
};

/// Mask of all collider groups.
const ALL: [u32; 2] = [u32::MAX; 2];

/// Returns overlapping bodies and their least thickness \[m\]: two or three sheets or sets of loose
/// triangles, some with pinned rows, and at random a plane, a ball, a capsule and a tetrahedron.
pub(super) fn random_scene(rng: &mut Rng) -> (TriangleContact, f32) {
    let thickness = power(rng, -2.7, -1.7);
    let edge = thickness * rng.range(0.5, 5.0);
    let mut contact = TriangleContact::default();
    for layer in 0..2 + rng.index(2) {
        let mut surface = match rng.index(3) {
            0 => {
                let count = 1 + rng.index(6);
                random_triangles(rng, count, 2.0 * edge)
            }
            _ => {
                let [columns, rows] = [(); 2].map(|()| 2 + rng.index(4));
                random_sheet(rng, columns, rows, edge)
            }
        };
        let spin = rotation(rng);
        let flat = rng.index(3) > 0;
        let offset = point(rng, edge) + Vec3::Z * (layer as f32 * thickness * rng.range(0.1, 2.0));
        surface.rest.iter_mut().for_each(|x| *x = if flat { *x } else { spin * *x } + offset);
        let role = Role::Cloth { group: 1, mask: 1, colliders: ALL };
        let friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
        let begin = contact.start.len();
        let radius = 0.5 * thickness * rng.range(1.0, 1.5);
        contact.add(Body::new(Arc::new(surface), role, friction), radius, 0.0);
        let pins = [0, 0, 4][rng.index(3)];
        for inverse_mass in &mut contact.inverse_mass[begin..] {
            *inverse_mass = if rng.index(8) < pins { 0.0 } else { 1.0 / rng.range(0.001, 0.01) };
        }
    }
    let collider = Role::Collider { owner: None, groups: ALL };
    let mut add = |surface: Surface, radius: f32, normal: Option<Vec3>, friction: f32| {
        let mut body = Body::new(Arc::new(surface), collider, friction);
        body.is_plane = normal.is_some();
        contact.add(body, radius, radius);
        if let Some(normal) = normal {
            *contact.rest.last_mut().unwrap() = normal;
        }
    };
    let at = |rng: &mut Rng| point(rng, 2.0 * edge) - Vec3::Z * edge;
    if rng.index(2) == 0 {
        let plane = Surface { rest: vec![at(rng)], ..Surface::default() };
        let (normal, friction) = (direction(rng), rng.range(0.0, 1.0));
        add(plane, 0.0, Some(normal), friction);
    }
    if rng.index(2) == 0 {
        add(Surface::of_sphere(at(rng)), edge * rng.range(0.1, 1.0), None, 0.5);
    }
    if rng.index(2) == 0 {
        let capsule = Surface::of_capsule([at(rng), at(rng)]);
        add(capsule, edge * rng.range(0.1, 1.0), None, 0.5);
    }
    if rng.index(2) == 0 {
        let rest = (0..4).map(|_| at(rng)).collect();
        let faces = [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]];
        add(Surface::of_triangles(rest, &faces), 0.0, None, 0.5);
    }
    contact.target.clone_from(&contact.start);
    let mut rng = rng.clone();
    let mut spins = vec![Vec3::ZERO; contact.start.len()];
    for body in contact.bodies.iter().filter(|body| !body.is_cloth()) {
        spins[body.rows.clone()].fill(point(&mut rng, 0.1) * rng.index(2) as f32);
    }
    contact.set_spins(&spins, rng.range(0.1, 1.0));
    (contact, thickness)
}

/// Returns random moves of one of six kinds, among them: each row on its own, bodies as a whole,
/// all towards a point, only rows with finite mass, all of these by one common move.
pub(super) fn random_moves(rng: &mut Rng, contact: &TriangleContact, thickness: f32) -> Vec<Vec3> {
    let size = thickness * power(rng, -2.0, 0.5);
    let middle = contact.start.iter().sum::<Vec3>() / contact.start.len() as f32;
    let (kind, common) = (rng.index(6), point(rng, 5.0 * thickness));
    let mut moves = Vec::new();
    for body in &contact.bodies {
        let offset = point(rng, size);
        for row in body.rows.clone() {
            moves.push(match kind {
                0 => offset,
                1 => point(rng, size),
                2 => (middle - contact.start[row]).clamp_length_max(size) + 0.1 * offset,
                3 => offset + point(rng, 0.3 * size),
                _ if contact.inverse_mass[row] == 0.0 => Vec3::ZERO,
                4 => offset + point(rng, size),
                _ => common,
            });
        }
    }
    moves
}

/// Returns the sums of corresponding rows.
pub(super) fn sum(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| *a + *b).collect()
}
