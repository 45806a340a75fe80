//! Twin of `shaders/stage/wind.wgsl`.

use std::ops::Range;

use crate::ClothMemory;
use poplin_layout::{MIN_FLOW_SQUARE, MIN_NORMAL_SQUARE, NO_OFFSET};

use crate::lanes::{LaneMask as _, Real, gather, max, scatter};
use crate::math::{particle as pack, xyz};
use crate::particles::{Particles, blocks};
use crate::vector::Vec3;

/// Computes the impulses of air on triangles and stores them in scratch memory.
#[inline(always)]
pub(crate) fn blow_triangle<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let [x, y, z, corner_count] = memory.iteration.wind;
    let wind = Vec3::<V>::splat(simd, [x, y, z]);
    let splat = |value: f32| V::splat(simd, value);
    let (zero, corner_count) = (splat(0.0), splat(corner_count));
    let air = memory.cloth.air;
    for block in blocks::<V>(items) {
        let corner = |lane: usize, k: u32| {
            memory.fabric(memory.cloth.fabric.triangle_begin + 3 * block.index(lane) + k)
        };
        let current = |k: u32| gather(simd, |lane| memory.load_current(corner(lane, k)));
        let previous =
            |k: u32| Vec3::xyz(gather(simd, |lane| memory.load_previous(corner(lane, k))));
        // Inverse mass of a corner, times the number of its triangles, which share its motion.
        let shared = |k: u32, weight: V| {
            let count = V::from_fn(simd, |lane| {
                let begin = memory.cloth.fabric.corner_begin + corner(lane, k);
                (memory.fabric(begin + 1) - memory.fabric(begin)) as f32
            });
            weight * count
        };
        let (r0, r1, r2) = (current(0), current(1), current(2));
        let (c0, c1, c2) = (Vec3::xyz(r0), Vec3::xyz(r1), Vec3::xyz(r2));
        let (p0, p1, p2) = (previous(0), previous(1), previous(2));
        // d = mean(x) - mean(x0) + wind: displacement of the triangle relative to the air.
        let now = c0 + c1 + c2;
        let before = p0 + p1 + p2;
        let d = if memory.cloth.rotation_begin == NO_OFFSET {
            (now - before) / corner_count + wind
        } else {
            let moved = wind - before / corner_count;
            let rotation = Particles::<V>::matrix(memory, simd, memory.cloth.rotation_begin + 12);
            now / corner_count + moved.transformed(rotation)
        };
        let normal = (c2 - c0).cross(c1 - c0);
        let (d_square, normal_square) = (d.dot(d), normal.dot(normal));
        let blows = d_square.simd_ge(splat(MIN_FLOW_SQUARE))
            & splat(MIN_NORMAL_SQUARE).simd_lt(normal_square);
        let (speed, double_area) = (d_square.sqrt(), normal_square.sqrt());
        let unit = normal / double_area;
        let cosine = unit.dot(d) / speed;
        // Angle of attack: cosine between flow and normal.
        let sine = max(splat(1.0) - cosine * cosine, zero).sqrt();
        let lift_direction = d.cross(unit).cross(d) / speed;
        // Drag acts along the flow, lift at right angles to it in the plane of flow and normal.
        let drag = d * (splat(air.drag) * cosine.abs() * speed);
        let lift = lift_direction * (splat(air.lift) * cosine * sine * speed);
        let scale = splat(air.impulse_scale) * double_area;
        let impulse = (drag + lift) * scale;
        // Bound on the part A of the motion relative to the air that drag takes and on the angle B
        // by which lift turns it: (1 - A)^2 + B^2 <= 1.
        let share = max(max(shared(0, r0[3]), shared(1, r1[3])), shared(2, r2[3]));
        let one = splat(1.0);
        let blown = share * scale * speed * cosine.abs();
        let along = splat(air.drag) * blown;
        let across = splat(air.lift) * blown * sine * sine;
        let turned = across.lesser(one);
        let least = turned * turned / (one + (one - turned * turned).sqrt());
        let is_beyond = one.simd_lt(across);
        let kept_lift = lift * (scale * is_beyond.select(one / across, one));
        let bounded = d * (max(along, least).lesser(one) / share) + kept_lift;
        let is_bounded = along.simd_lt(least) | one.simd_lt(along) | is_beyond;
        let impulse = bounded.or(is_bounded, impulse);
        let mut impulse = impulse.or(blows, Vec3::splat(simd, [0.0; 3]));
        if air.pressure_scale != 0.0 {
            impulse = impulse + normal * splat(air.pressure_scale);
        }
        scatter(impulse.with(zero), |lane, row| {
            if block.bits() >> lane & 1 != 0 {
                memory.store_scratch(block.index(lane), row);
            }
        });
    }
}

/// Moves particle i by the impulses of its incident triangles, in ascending order.
pub fn gather_wind(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let begin = memory.fabric(memory.cloth.fabric.corner_begin + i);
    let end = memory.fabric(memory.cloth.fabric.corner_begin + i + 1);
    let corners = memory.cloth.fabric.corner_begin + memory.cloth.particle_count + 1;
    let mut impulse = glam::Vec3::ZERO;
    for k in begin..end {
        impulse += xyz(memory.load_scratch(memory.fabric(corners + k) / 3));
    }
    if particle[3] > 0.0 {
        let here = xyz(particle);
        let position = here - impulse * particle[3];
        let remainders = memory.cloth.remainder_begin;
        let (is_displaced, rests) = (memory.is_displaced(), memory.rest_begin());
        if remainders != NO_OFFSET {
            let lost = -(impulse * particle[3]) - (position - here);
            let mut add_to = |row: u32| {
                memory.store_scratch(row, pack(xyz(memory.load_scratch(row)) + lost, 0.0));
            };
            add_to(remainders + i);
            if is_displaced {
                add_to(rests + i);
            }
        }
        memory.store_current(i, pack(position, particle[3]));
    }
}
