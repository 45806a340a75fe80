//! Twin of `shaders/stage/integrate.wgsl`.

use std::ops::Range;

use poplin_layout::{MAX_COORDINATE, NO_OFFSET, Stage};

use crate::lanes::{LaneMask as _, Real};
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Advances particles by one Verlet step.
#[inline(always)]
pub(crate) fn integrate_particle<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let splat = |value: f32| V::splat(simd, value);
    let bias = particles.constant(simd, |iteration| iteration.bias);
    let previous_bias = particles.constant(simd, |iteration| iteration.previous_bias);
    let velocity_scale = particles.constant(simd, |iteration| iteration.velocity_scale);
    let (zero, nothing) = (splat(0.0), Vec3::splat(simd, [0.0; 3]));
    let lead = particles.lead();
    let is_rotating = lead.cloth.rotation_begin != NO_OFFSET;
    let columns = lead.rotation_columns;
    let accelerations = lead.cloth.acceleration_begin;
    let acceleration_scale = splat(lead.cloth.acceleration_scale);
    let max_move = lead.cloth.self_collision.max_move;
    let is_implicit = lead.runs(Stage::Implicit);
    let remainders = lead.cloth.remainder_begin;
    let keeps_remainders = remainders != NO_OFFSET;
    let has_remainders = keeps_remainders && lead.iteration.previous_bias[3] > 0.0;
    let is_displaced = lead.is_displaced();
    let rests = lead.rest_begin();
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        let before = particles.previous(simd, block);
        let (here, last) = (Vec3::xyz(particle), Vec3::xyz(before));
        // A particle that a constraint pinned for one iteration gets its own mass back.
        let w = particle[3].simd_eq(zero).select(before[3], particle[3]);
        // x' = x + (x - x0) damping + bias; in a rotating frame both terms are matrix products.
        let mut inertia = if is_rotating {
            let of_last = last.transformed(particles.matrix(simd, columns));
            let of_here = here.transformed(particles.matrix(simd, columns + 3));
            of_last + of_here
        } else {
            let mut moved = here - last;
            if has_remainders {
                moved = moved + particles.rows(simd, remainders, block);
            }
            moved.scale(velocity_scale)
        };
        let mut moved = inertia + bias;
        let mut position = here + inertia + bias;
        if accelerations != NO_OFFSET {
            let rows = Vec3::xyz(particles.input(simd, accelerations, block)) * acceleration_scale;
            moved = moved + rows;
            position = position + rows;
        }
        let mut rest = nothing;
        if keeps_remainders {
            if is_displaced && has_remainders {
                rest = particles.rows(simd, rests, block);
            }
            position = here + (rest + moved);
        }
        if max_move > 0.0 {
            let displacement = position - here;
            let square = displacement.dot(displacement);
            // d <- d max_move / |d| where self collision could miss longer moves.
            let limit = splat(max_move) / square.sqrt();
            let is_limited = splat(max_move * max_move).simd_lt(square);
            moved = (displacement * limit).or(is_limited, moved);
            position = (here + displacement * limit).or(is_limited, position);
            inertia = (inertia * limit).or(is_limited, inertia);
        }
        if is_implicit {
            particles.set_inertia(block, inertia.with(zero));
        }
        let is_free = zero.simd_lt(before[3]);
        let is_sane =
            is_within(simd, position.x) & is_within(simd, position.y) & is_within(simd, position.z);
        // Particles that leave the range of coordinates stay where they are and count as faults.
        let faulty = (is_free & !is_sane).to_bitmask() & particles.bits(block);
        if faulty != 0 {
            particles.report_faults(block, faulty);
        }
        let moves = is_free & is_sane;
        let previous = (here + previous_bias).or(moves, last.or(is_free, here));
        if keeps_remainders {
            // What the next displacement, position less previous position, lacks of this one.
            let remainder = moved - previous_bias - (position - previous);
            particles.set_rows(remainders, block, remainder.or(moves, nothing).with(zero));
            if is_displaced {
                let rest = rest + moved - (position - here);
                particles.set_rows(rests, block, rest.or(moves, nothing).with(zero));
            }
        }
        // Pinned particles have arrived: their previous position is the current one.
        let previous_w = is_free.select(before[3], zero);
        particles.set_previous(block, previous.with(previous_w));
        particles.set_current(block, position.or(moves, here).with(w));
    }
}

/// Tests whether coordinates are in range; NaN is not.
#[inline(always)]
fn is_within<V: Real>(simd: V::Token, x: V) -> V::Mask {
    let most = V::splat(simd, MAX_COORDINATE);
    x.simd_le(most) & x.simd_ge(V::splat(simd, -MAX_COORDINATE))
}
