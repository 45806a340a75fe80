//! `poplin_reference::colliders`: contacts of the particles in all lanes with some shapes, and what follows from them.

use fearless_simd::prelude::*;

use super::particles::Particles;
use crate::lanes::{Lanes, max, min};
use crate::vector::Vec3;

/// Contacts of a particle in each lane with some shapes in one stage.
pub(super) struct Contacts<S: Simd, V: Lanes<S>> {
    pub(super) push: Vec3<S, V>,
    count: V,
    travel: Vec3<S, V>,
    friction_factor: V,
}

impl<S: Simd, V: Lanes<S>> Contacts<S, V> {
    /// None.
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
        Self { push: nothing, count: zero, travel: nothing, friction_factor: zero }
    }

    /// Adds the exit from a shape, which moved by `travel`, where the mask is set.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        simd: S,
        mask: V::Mask,
        exit: Vec3<S, V>,
        travel: Vec3<S, V>,
        friction_factor: V,
    ) {
        self.push = self.push.add(exit).or(mask, self.push);
        self.count = mask.select(self.count + V::splat(simd, 1.0), self.count);
        self.travel = self.travel.add(travel).or(mask, self.travel);
        let largest = max(self.friction_factor, friction_factor);
        self.friction_factor = mask.select(largest, self.friction_factor);
    }

    /// What friction takes off the slide of particles that moved by `displacement` in this iteration.
    #[inline(always)]
    fn slide(&self, simd: S, displacement: Vec3<S, V>, friction: V, slop: V) -> Vec3<S, V> {
        let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
        let relative = displacement.sub(self.travel.div(self.count));
        let push_square = self.push.dot(self.push);
        let slop_square = slop * slop;
        let normal_square = slop_square + push_square;
        let along = relative.dot(self.push) / normal_square;
        let tangent = relative.sub(self.push.mul(along));
        let tangent_square = slop_square + tangent.dot(tangent);
        let push = push_square / normal_square.sqrt() / self.count;
        let limit = friction * self.friction_factor * push / tangent_square.sqrt();
        let is_held = zero.simd_lt(push_square) & zero.simd_lt(tangent_square);
        tangent.mul(min(limit, one)).or(is_held, Vec3::splat(simd, [0.0; 3]))
    }

    /// Moves particles, now at x, out of the shapes that they touch, and applies friction. `scales_mass`: those that are
    /// pushed get less inverse mass.
    #[inline(always)]
    pub(super) fn resolve<P: Particles<S, V>>(
        &self,
        simd: S,
        particles: &mut P,
        block: P::Block,
        [x, y, z, w]: [V; 4],
        scales_mass: bool,
    ) {
        let zero = V::splat(simd, 0.0);
        let touches = zero.simd_lt(self.count);
        if !touches.any_true() {
            return;
        }
        let [friction, slop, holds, mass_scale] = particles.collision(simd);
        let x = Vec3::new(x, y, z);
        let mut position = x.add(self.push.div(self.count));
        let slides = touches & zero.simd_lt(friction);
        if slides.any_true() {
            let previous = particles.previous(simd, block);
            let before = Vec3::xyz(previous);
            let slide = self.slide(simd, x.sub(before), friction, slop);
            let is_held = zero.simd_lt(holds);
            position = position.sub(slide).or(slides & is_held, position);
            let slower = before.add(slide).with(previous[3]);
            particles.set_some_previous(simd, block, slower, slides & !is_held);
        }
        let w = if scales_mass {
            w / (V::splat(simd, 1.0) + mass_scale * self.push.dot(self.push))
        } else {
            w
        };
        particles.set_some(simd, block, position.with(w), touches);
    }
}
