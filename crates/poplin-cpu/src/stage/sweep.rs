//! Twin of `shaders/stage/sweep.wgsl`.

use glam::Vec3;
use poplin_layout::MIN_NORMAL_SQUARE;

use super::collide_triangle::{load_nearby, triangle_corners};
use crate::ClothMemory;
use crate::math::{cross3, dot3, particle as pack, xyz};

/// Depth at the start that still counts as outside, and distance beside a face that still counts as
/// on it \[m\].
const SWEEP_SKIN: f32 = 1.0e-4;

/// Least slope of a face against a direction.
const SWEEP_SLOPE: f32 = 1.0e-6;

/// Path relative to a shape: fractions at which it enters and leaves, and the face of entry.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    enter: f32,
    leave: f32,
    normal: Vec3,
    /// Height of the start over the face \[m\].
    start: f32,
    /// Height of the end over the face \[m\].
    end: f32,
}

impl Sweep {
    /// Path not yet clipped.
    const WHOLE: Self =
        Self { enter: -3.0e38, leave: 3.0e38, normal: Vec3::ZERO, start: 0.0, end: 0.0 };

    /// Path that crosses nothing.
    const FREE: Self = Self { enter: 3.0e38, ..Self::WHOLE };

    /// Clips the path at a face.
    fn clip(&mut self, normal: Vec3, start: f32, end: f32) {
        if end < start {
            // Inwards: the last such face is the entry.
            let enter = start / (start - end);
            if enter > self.enter {
                *self = Self { enter, normal, start, end, ..*self };
            }
        } else if end > start {
            self.leave = self.leave.min(start / (start - end));
        } else if end >= 0.0 {
            self.leave = -1.0;
        }
    }

    /// Tests whether the path may cross the shape, as far as it was clipped.
    fn is_open(&self) -> bool {
        self.enter < 1.0 && self.leave > 0.0
    }

    /// Returns the displacement of an end beyond the middle of a part back to a quarter of its
    /// thickness.
    fn back(&self, thickness: f32) -> Vec3 {
        let middle = 0.5 * thickness;
        let is_hit = self.enter <= self.leave && self.is_open();
        if is_hit && thickness > 0.0 && -self.end > middle && -self.start < middle {
            -self.normal * (self.end + 0.25 * thickness)
        } else {
            Vec3::ZERO
        }
    }
}

fn sweep_convex(memory: &ClothMemory<'_>, c: u32, before: Vec3, x: Vec3) -> Vec3 {
    let shapes = &memory.cloth.colliders;
    let begins = shapes.convex_plane_begin;
    let planes = begins + shapes.convex_count + 1;
    let [begin, end] = [c, c + 1].map(|k| planes + memory.load_index(begins + k));
    let height = |plane: [f32; 4], point: Vec3| dot3(xyz(plane), point) + plane[3];
    let mut sweep = Sweep::WHOLE;
    for p in (begin..end).map(|k| memory.load_index(k)) {
        let plane = memory.load_scratch(memory.plane_row(p));
        let old =
            memory.load_at(shapes.plane_start, shapes.plane_target, p, memory.iteration.bias[3]);
        sweep.clip(xyz(plane), height(old, before), height(plane, x));
        if !sweep.is_open() {
            return Vec3::ZERO;
        }
    }
    // Ray from the foot of the end on the face to the planes on the other side.
    let foot = x - sweep.normal * sweep.end;
    let mut thickness = 3.0e38f32;
    for p in (begin..end).map(|k| memory.load_index(k)) {
        let plane = memory.load_scratch(memory.plane_row(p));
        let (depth, slope) = (-height(plane, foot), -dot3(xyz(plane), sweep.normal));
        if slope > SWEEP_SLOPE {
            thickness = thickness.min(depth / slope);
        } else if depth < -SWEEP_SKIN {
            thickness = 0.0;
        }
    }
    sweep.back(thickness)
}

fn sweep_box(memory: &ClothMemory<'_>, b: u32, before: Vec3, x: Vec3) -> Vec3 {
    let shapes = &memory.cloth.colliders;
    let row = memory.box_row(b);
    let corner = xyz(memory.load_scratch(row));
    let faces = [1, 2, 3].map(|k| memory.load_scratch(row + k));
    let fraction = shapes.iteration_fraction;
    let [corner_move, edge_moves @ ..] = [0, 1, 2, 3].map(|k| {
        let k = 4 * b + k;
        xyz(memory.input_row(shapes.box_target + k)) - xyz(memory.input_row(shapes.box_start + k))
    });
    // Where the particle was in the box, whose material moves with corner and edges.
    let old = before - corner + corner_move * fraction;
    let mut begin = old;
    for (face, edge_move) in faces.into_iter().zip(edge_moves) {
        if face[3] > 0.0 {
            begin += edge_move * (dot3(xyz(face), old) / face[3] * fraction);
        }
    }
    let d = x - corner;
    let mut sweep = Sweep::WHOLE;
    for face in faces {
        let (normal, width) = (xyz(face), face[3]);
        let [start, end] = [begin, d].map(|point| dot3(normal, point));
        sweep.clip(-normal, -start, -end);
        sweep.clip(normal, start - width, end - width);
    }
    if !sweep.is_open() {
        return Vec3::ZERO;
    }
    let foot = d - sweep.normal * sweep.end;
    let mut thickness = 3.0e38f32;
    for face in faces {
        let (depth, slope) = (dot3(xyz(face), foot), dot3(xyz(face), sweep.normal));
        if slope > SWEEP_SLOPE {
            thickness = thickness.min(depth / slope);
        } else if slope < -SWEEP_SLOPE {
            thickness = thickness.min((face[3] - depth) / -slope);
        } else if depth < -SWEEP_SKIN || depth > face[3] + SWEEP_SKIN {
            thickness = 0.0;
        }
    }
    sweep.back(thickness)
}

/// Path in a search of the mesh, from `begin` at a fraction of the frame to `end` now, and the side
/// of triangles that it passes from: 1 in front, -1 behind.
struct Ray {
    begin: Vec3,
    end: Vec3,
    fraction: f32,
    side: f32,
}

/// Replaces `sweep` by the crossing of a triangle if that is earlier.
fn cross_triangle(memory: &ClothMemory<'_>, t: u32, ray: &Ray, sweep: &mut Sweep) {
    let shapes = &memory.cloth.colliders;
    let corners = triangle_corners(memory, t);
    let at = |fraction: f32| {
        corners.map(|v| xyz(memory.load_at(shapes.vertex_start, shapes.vertex_target, v, fraction)))
    };
    let [a, b, c] = at(memory.iteration.velocity_scale[3]);
    let [old_a, old_b, old_c] = at(ray.fraction);
    let [ab, ac, old_ab, old_ac] = [b - a, c - a, old_b - old_a, old_c - old_a];
    let (normal, old_normal) = (cross3(ab, ac), cross3(old_ab, old_ac));
    let (square, old_square) = (dot3(normal, normal), dot3(old_normal, old_normal));
    if square <= MIN_NORMAL_SQUARE || old_square <= MIN_NORMAL_SQUARE {
        return;
    }
    let unit = normal / square.sqrt();
    let (p, old_p) = (ray.end - a, ray.begin - old_a);
    let height = dot3(unit, p) * ray.side;
    let old_height = dot3(old_normal / old_square.sqrt(), old_p) * ray.side;
    let start = old_height.max(0.0);
    let time = start / (start - height);
    if height < 0.0 && old_height > -SWEEP_SKIN && time < sweep.enter {
        // The triangle at the time of the crossing.
        let [q, u, v] =
            [(old_p, p), (old_ab, ab), (old_ac, ac)].map(|(from, to)| from + (to - from) * time);
        let n = cross3(u, v);
        let slack = 1.0e-4 * dot3(n, n);
        let (beta, gamma) = (dot3(cross3(q, v), n), dot3(cross3(u, q), n));
        if beta >= -slack && gamma >= -slack && beta + gamma <= dot3(n, n) + slack {
            *sweep =
                Sweep { enter: time, leave: 3.0e38, normal: unit, start: old_height, end: height };
        }
    }
}

fn sweep_mesh(memory: &ClothMemory<'_>, i: u32, before: Vec3, x: Vec3) -> Vec3 {
    let shapes = &memory.cloth.colliders;
    let nearby = load_nearby(memory, i);
    let [a, b] = [x - nearby.position, before - nearby.position].map(|d| dot3(d, d));
    let reach = a.max(b).sqrt() + shapes.mesh_step;
    // Within the clearance the particle can reach no triangle.
    if shapes.is_mesh_closed != 0 && nearby.clearance > reach {
        return Vec3::ZERO;
    }
    let cross = |ray: &Ray| {
        let (low, high) = (ray.begin.min(ray.end), ray.begin.max(ray.end));
        let (mut found, mut node) = (Sweep::FREE, 0);
        loop {
            let (begin, count) = (shapes.triangle_tree_begin, shapes.triangle_tree_count);
            match memory.next_item(begin, count, &mut node, low, high) {
                0 => return found,
                item => cross_triangle(memory, item - 1, ray, &mut found),
            }
        }
    };
    let entry =
        cross(&Ray { begin: before, end: x, fraction: memory.iteration.bias[3], side: 1.0 });
    if entry.enter > 1.0 {
        return Vec3::ZERO;
    }
    // Straight through the part, twice as far as the end is behind the entry.
    let through = entry.normal * entry.end;
    let found = cross(&Ray {
        begin: x - through,
        end: x + through,
        fraction: memory.iteration.velocity_scale[3],
        side: -1.0,
    });
    match found.enter <= 1.0 {
        true => entry.back(-2.0 * entry.end * found.enter),
        false => Vec3::ZERO,
    }
}

/// Returns the displacement that brings particle i, at x and coming from `before`, back to where it
/// entered the thin parts that it has passed \[m\].
pub(crate) fn swept_back(memory: &ClothMemory<'_>, i: u32, before: Vec3, x: Vec3) -> Vec3 {
    let shapes = &memory.cloth.colliders;
    let free =
        |[begin, count]: [u32; 2]| (begin..begin + count).map(|listed| memory.load_index(listed));
    let mut back = Vec3::ZERO;
    for convex in free([shapes.free_convex_begin, shapes.free_convex_count]) {
        back += sweep_convex(memory, convex, before, x + back);
    }
    for block in free([shapes.free_box_begin, shapes.free_box_count]) {
        back += sweep_box(memory, block, before, x + back);
    }
    if shapes.triangle_count > 0 {
        back += sweep_mesh(memory, i, before, x + back);
    }
    back
}

/// Brings particle i back to where it entered a thin part of a convex, a box or the mesh.
pub fn sweep(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let x = xyz(particle);
    let back = swept_back(memory, i, xyz(memory.load_previous(i)), x);
    if back != Vec3::ZERO {
        memory.store_current(i, pack(x + back, particle[3]));
    }
}
