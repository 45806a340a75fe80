//! Twin of `shaders/stage/wind.wgsl`.

use glam::Vec3;
use poplin_layout::{EPSILON, MIN_NORMAL_SQUARE, NO_OFFSET};

use crate::ClothMemory;
use crate::math::{cross3, dot3, particle as pack, xyz};

/// Writes the air impulse on triangle t to scratch, from positions before the stage.
pub fn blow_triangle(memory: &mut ClothMemory<'_>, t: u32) {
    let corners = memory.cloth.fabric.triangle_begin + 3 * t;
    let [i0, i1, i2] = [0, 1, 2].map(|k| memory.fabric(corners + k));
    let [c0, c1, c2] = [i0, i1, i2].map(|i| xyz(memory.load_current(i)));
    let [p0, p1, p2] = [i0, i1, i2].map(|i| xyz(memory.load_previous(i)));
    let now = c0 + c1 + c2;
    let before = p0 + p1 + p2;
    let wind = xyz(memory.iteration.wind);
    let corner_count = memory.iteration.wind[3];
    let mut d = (now - before) / corner_count + wind;
    if memory.cloth.rotation_begin != NO_OFFSET {
        d = now / corner_count
            + memory
                .multiply_columns(memory.cloth.rotation_begin + 12, wind - before / corner_count);
    }
    let normal = cross3(c2 - c0, c1 - c0);
    let d_square = dot3(d, d);
    let normal_square = dot3(normal, normal);
    let mut impulse = Vec3::ZERO;
    if d_square >= EPSILON && normal_square > MIN_NORMAL_SQUARE {
        let cloth = &memory.cloth;
        let speed = d_square.sqrt();
        let double_area = normal_square.sqrt();
        let unit = normal / double_area;
        let cosine = dot3(unit, d) / speed;
        let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
        let lift_direction = cross3(cross3(d, unit), d) / speed;
        // Thin plate: drag along d, lift across it in the plane of d and the normal.
        let drag = d * (cloth.air.drag * cosine.abs() * speed);
        let lift = lift_direction * (cloth.air.lift * cosine * sine * speed);
        impulse = (drag + lift) * (cloth.air.impulse_scale * double_area);
    }
    if memory.cloth.air.pressure_scale != 0.0 {
        impulse += normal * memory.cloth.air.pressure_scale;
    }
    memory.store_scratch(t, pack(impulse, 0.0));
}

/// Moves particle i by the impulses of its incident triangles, in ascending order.
pub fn gather_wind(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let begin = memory.fabric(memory.cloth.fabric.corner_begin + i);
    let end = memory.fabric(memory.cloth.fabric.corner_begin + i + 1);
    let corners = memory.cloth.fabric.corner_begin + memory.cloth.particle_count + 1;
    let mut impulse = Vec3::ZERO;
    for k in begin..end {
        impulse += xyz(memory.load_scratch(memory.fabric(corners + k) / 3));
    }
    if particle[3] > 0.0 {
        memory.store_current(i, pack(xyz(particle) - impulse * particle[3], particle[3]));
    }
}
