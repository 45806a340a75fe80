//! Twin of `shaders/stage/collide_triangle.wgsl`.

use glam::{Vec2, Vec3};
use poplin_layout::{MIN_NORMAL_SQUARE, NEARBY_ROWS};

use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::geometry::closest_on_triangle;
use crate::math::{cross3, dot3, xyz};
use crate::particles::Block;

/// Position of a triangle relative to a point.
#[derive(Debug, Clone, Copy)]
struct TriangleTouch {
    /// Squared distance \[m^2\], slightly enlarged behind the triangle so that front faces win
    /// ties.
    square: f32,
    /// Height of the point over the plane \[m\].
    height: f32,
    normal: Vec3,
    barycentric: Vec2,
}

impl TriangleTouch {
    const FAR: Self =
        Self { square: 3.0e38, height: 0.0, normal: Vec3::ZERO, barycentric: Vec2::ZERO };
}

/// Vertex indices of the corners of triangle t.
pub(super) fn triangle_corners(memory: &ClothMemory<'_>, t: u32) -> [u32; 3] {
    let [a, b, c, _] = memory.input_pool[(memory.cloth.colliders.triangle_begin + t) as usize];
    [a, b, c]
}

#[inline]
fn load_vertex(memory: &ClothMemory<'_>, v: u32) -> Vec3 {
    let shapes = &memory.cloth.colliders;
    xyz(memory.load_at(
        shapes.vertex_start,
        shapes.vertex_target,
        v,
        memory.iteration.velocity_scale[3],
    ))
}

/// Returns the position of triangle t relative to x; far away for a degenerate triangle.
fn touch_triangle(memory: &ClothMemory<'_>, t: u32, x: Vec3) -> TriangleTouch {
    let corners = triangle_corners(memory, t);
    let a = load_vertex(memory, corners[0]);
    let ab = load_vertex(memory, corners[1]) - a;
    let ac = load_vertex(memory, corners[2]) - a;
    let p = x - a;
    let normal = cross3(ab, ac);
    let normal_square = dot3(normal, normal);
    let mut touch = TriangleTouch::FAR;
    if normal_square > MIN_NORMAL_SQUARE {
        touch.normal = normal / normal_square.sqrt();
        touch.height = dot3(touch.normal, p);
        // gap: from the closest point to x
        touch.barycentric = closest_on_triangle(p, ab, ac);
        let gap = p - ab * touch.barycentric.x - ac * touch.barycentric.y;
        touch.square = dot3(gap, gap) * if touch.height < 0.0 { 1.0001 } else { 1.0 };
    }
    touch
}

#[inline]
fn square_to_node(memory: &ClothMemory<'_>, row: u32, x: Vec3) -> f32 {
    let low = xyz(memory.input_row(row)) - x;
    let high = x - xyz(memory.input_row(row + 1));
    let gap = low.max(high).max(Vec3::ZERO);
    // Squared distance to the box, rounded down so that no nearer triangle is missed.
    dot3(gap, gap) * 0.9999
}

/// Cached nearest triangle of a particle.
pub(super) struct Nearby {
    /// Position of the particle at its last test \[m\].
    pub(super) position: Vec3,
    triangle: u32,
    /// Distance that the particle can move before the next test \[m\].
    pub(super) clearance: f32,
}

/// Result of the last search for particle i.
pub(super) fn load_nearby(memory: &ClothMemory<'_>, i: u32) -> Nearby {
    let row = memory.cloth.colliders.nearest_begin + NEARBY_ROWS * i;
    let [x, y, z, triangle] = memory.scratch[row as usize].get();
    let clearance = f32::from_bits(memory.scratch[row as usize + 1].get()[0]);
    Nearby { position: [x, y, z].map(f32::from_bits).into(), triangle, clearance }
}

fn store_nearby(memory: &mut ClothMemory<'_>, i: u32, nearby: &Nearby) {
    let row = (memory.cloth.colliders.nearest_begin + NEARBY_ROWS * i) as usize;
    let [x, y, z] = nearby.position.to_array().map(f32::to_bits);
    memory.scratch[row].set([x, y, z, nearby.triangle]);
    memory.scratch[row + 1].set([nearby.clearance.to_bits(), 0, 0, 0]);
}

/// Finds the triangle nearest to x among those that do not face away from `side`, beginning with a
/// guess.
fn nearest_triangle(
    memory: &ClothMemory<'_>,
    x: Vec3,
    guess: u32,
    side: Vec3,
) -> (u32, TriangleTouch) {
    let tree = memory.cloth.colliders.triangle_tree_begin;
    let mut nearest = 0;
    let mut touch = TriangleTouch::FAR;
    // The guess gives an early bound for the branch-and-bound traversal.
    let mut candidate = 1 + guess.min(memory.cloth.colliders.triangle_count - 1);
    let mut node = 0;
    while candidate > 0 || node < memory.cloth.colliders.triangle_tree_count {
        if candidate > 0 {
            let triangle = candidate - 1;
            let other = touch_triangle(memory, triangle, x);
            let is_nearer =
                other.square < touch.square || (other.square == touch.square && triangle < nearest);
            if is_nearer && dot3(other.normal, side) >= 0.0 {
                touch = other;
                nearest = triangle;
            }
            candidate = 0;
        } else {
            let row = tree + 2 * node;
            // Prunes nodes farther than the nearest triangle so far.
            if square_to_node(memory, row, x) <= touch.square {
                candidate = memory.node_item(row);
                node += 1;
            } else {
                node = memory.node_escape(row);
            }
        }
    }
    (nearest, touch)
}

/// Finds the triangle through whose plane x leaves the mesh. In a thin part it is one of the side
/// where x came in.
fn exit_triangle(
    memory: &ClothMemory<'_>,
    x: Vec3,
    before: Vec3,
    guess: u32,
) -> (u32, TriangleTouch) {
    let (nearest, touch) = nearest_triangle(memory, x, guess, Vec3::ZERO);
    if touch.height >= 0.0 {
        return (nearest, touch);
    }
    // Where the particle was, relative to the mesh as it is now.
    let before = before + triangle_move(memory, nearest, touch.barycentric);
    let height_before = touch.height + dot3(touch.normal, before - x);
    // Deeper behind this face before: in a thin part the particle came in on the other side, and
    // leaves on that side.
    if height_before < 1.5 * touch.height {
        let (_, entered) = nearest_triangle(memory, before, nearest, Vec3::ZERO);
        if entered.height > touch.height && dot3(touch.normal, entered.normal) < 0.0 {
            let (of_side, other) = nearest_triangle(memory, x, nearest, entered.normal);
            if other.height < 0.0 {
                return (of_side, other);
            }
        }
    }
    (nearest, touch)
}

/// Adds the exit of x from the mesh: up to the plane of the nearest triangle, if x is behind it.
pub(crate) fn touch_mesh(
    memory: &mut ClothMemory<'_>,
    i: u32,
    x: Vec3,
    contacts: &mut Contacts<f32>,
) {
    let tree = memory.cloth.colliders.triangle_tree_begin;
    let is_closed = memory.cloth.colliders.is_mesh_closed != 0;
    let mut nearby = load_nearby(memory, i);
    let displacement = x - nearby.position;
    nearby.clearance -= dot3(displacement, displacement).sqrt() + memory.cloth.colliders.mesh_step;
    nearby.position = x;
    // Triangle inequality: no triangle is nearer than the clearance minus all motion since.
    let is_clear = is_closed && (nearby.clearance > 0.0 || !memory.meets_node(tree, x, x));
    if !is_clear {
        let before = xyz(memory.load_previous(i));
        let (exit, touch) = exit_triangle(memory, x, before, nearby.triangle);
        nearby.triangle = exit;
        nearby.clearance = if touch.height > 0.0 { 0.999 * touch.square.sqrt() } else { 0.0 };
        if touch.height < 0.0 {
            let push = -touch.normal * touch.height;
            let travel = triangle_move(memory, exit, touch.barycentric);
            let factor = memory.friction_factor(memory.triangle_shape(exit));
            contacts.add((), true, push.into(), travel.into(), factor);
        }
    }
    store_nearby(memory, i, &nearby);
}

fn triangle_move(memory: &ClothMemory<'_>, t: u32, barycentric: Vec2) -> Vec3 {
    let [a, b, c] = triangle_corners(memory, t).map(|corner| vertex_move(memory, corner));
    (a + (b - a) * barycentric.x + (c - a) * barycentric.y)
        * memory.cloth.colliders.iteration_fraction
}

fn vertex_move(memory: &ClothMemory<'_>, v: u32) -> Vec3 {
    let shapes = &memory.cloth.colliders;
    xyz(memory.input_row(shapes.vertex_target + v)) - xyz(memory.input_row(shapes.vertex_start + v))
}

/// Pushes particle i out of the mesh.
pub fn collide_triangle(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let mut contacts = Contacts::new(());
    touch_mesh(memory, i, xyz(particle), &mut contacts);
    contacts.resolve((), memory, Block::at(i, i + 1), particle, false);
}
