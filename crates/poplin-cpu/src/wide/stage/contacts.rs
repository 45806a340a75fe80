//! Wide form of `crate::colliders`: accumulates the collider contacts of one particle
//! per lane and resolves them.

use crate::lanes::{LaneMask as _, Real, max, min};
use crate::particles::Particles;
use crate::vector::Vec3;

/// Accumulated collider contacts of one particle per lane in one stage.
pub(super) struct Contacts<V: Real> {
    pub(super) push: Vec3<V>,
    count: V,
    travel: Vec3<V>,
    approach: V,
    friction_factor: V,
}

impl<V: Real> Contacts<V> {
    /// Returns no contacts.
    #[inline(always)]
    pub(super) fn new(simd: V::Token) -> Self {
        let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
        Self { push: nothing, count: zero, travel: nothing, approach: zero, friction_factor: zero }
    }

    /// Adds the displacement `exit` out of a collider that moved by `travel`, where the mask is
    /// set.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        simd: V::Token,
        mask: V::Mask,
        exit: Vec3<V>,
        travel: Vec3<V>,
        friction_factor: V,
    ) {
        self.push = self.push.add(exit).or(mask, self.push);
        self.count = mask.select(self.count + V::splat(simd, 1.0), self.count);
        self.travel = self.travel.add(travel).or(mask, self.travel);
        let largest = max(self.friction_factor, friction_factor);
        self.friction_factor = mask.select(largest, self.friction_factor);
    }

    /// Adds the advance of a plane towards the particle, where the mask is set.
    #[inline(always)]
    pub(super) fn add_approach(&mut self, mask: V::Mask, approach: V) {
        self.approach = mask.select(self.approach + approach, self.approach);
    }

    /// Mask of the particles whose mean push exceeds the limit per iteration.
    #[inline(always)]
    pub(super) fn is_deep(&self, limit: V) -> V::Mask {
        let push = self.push.div(self.count);
        (limit * limit).simd_lt(push.dot(push))
    }

    /// Fractions of the mean push: applied in this iteration, and applied without changing
    /// velocity.
    #[inline(always)]
    fn push_fractions(&self, simd: V::Token, displacement: Vec3<V>, limit: V) -> [V; 2] {
        let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
        let push = self.push.div(self.count);
        let length = push.dot(push).sqrt();
        let relative = displacement.sub(self.travel.div(self.count));
        // A particle leaves at once as far as it came in during this iteration, plus the limit.
        let inward = self.approach / self.count - relative.dot(push) / length;
        let allowed = max(inward, zero) + limit;
        let is_long = allowed.simd_lt(length);
        [is_long.select(allowed / length, one), is_long.select(limit / length, zero)]
    }

    /// Friction displacement of particles that moved by `displacement` in this iteration; `sum` is
    /// the sum of the applied pushes.
    #[inline(always)]
    fn slide(
        &self,
        simd: V::Token,
        sum: Vec3<V>,
        displacement: Vec3<V>,
        [friction, slop]: [V; 2],
    ) -> Vec3<V> {
        let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
        let relative = displacement.sub(self.travel.div(self.count));
        let push_square = sum.dot(sum);
        let slop_square = slop * slop;
        // Tangential part: relative - n (relative . n). `slop` guards the divisions.
        let normal_square = slop_square + push_square;
        let along = relative.dot(sum) / normal_square;
        let tangent = relative.sub(sum.mul(along));
        let tangent_square = slop_square + tangent.dot(tangent);
        let push = push_square / normal_square.sqrt() / self.count;
        // Coulomb: |slide| = min(mu |push|, |tangent|)
        let limit = friction * self.friction_factor * push / tangent_square.sqrt();
        let is_held = zero.simd_lt(push_square) & zero.simd_lt(tangent_square);
        tangent.mul(min(limit, one)).or(is_held, Vec3::splat(simd, [0.0; 3]))
    }

    /// Moves particles out of the colliders that they touch and applies friction. With
    /// `scales_mass`, the inverse mass of pushed particles is reduced.
    #[inline(always)]
    pub(super) fn resolve<P: Particles<V>>(
        &self,
        simd: V::Token,
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
        let limit = particles.depenetration_step(simd);
        let x = Vec3::new(x, y, z);
        let push = self.push.div(self.count);
        let mut position = x.add(push);
        let slides = touches & zero.simd_lt(friction);
        let is_deep = touches & self.is_deep(limit);
        if (slides | is_deep).any_true() {
            let previous = particles.previous(simd, block);
            let start = Vec3::xyz(previous);
            let displacement = x.sub(start);
            let (mut before, mut sum) = (start, self.push);
            if is_deep.any_true() {
                let [made, lost] = self.push_fractions(simd, displacement, limit);
                position = x.add(push.mul(made)).or(is_deep, position);
                before = before.add(push.mul(lost)).or(is_deep, before);
                sum = sum.mul(made).or(is_deep, sum);
            }
            if slides.any_true() {
                if let Some(plane) = particles.planes(simd, block) {
                    // The contact plane of the implicit solve has already pushed: it adds to the
                    // normal force.
                    let is_borne = zero.simd_lt(Vec3::xyz(plane).dot(push));
                    let borne = is_borne.select(plane[3], zero);
                    let length = push.guarded_square(simd).sqrt();
                    sum = sum.mul(V::splat(simd, 1.0) + borne / length).or(touches, sum);
                }
                let slide = self.slide(simd, sum, displacement, [friction, slop]);
                // Friction moves the position, or the previous position, which only changes the
                // velocity.
                let is_held = zero.simd_lt(holds);
                position = position.sub(slide).or(slides & is_held, position);
                before = before.add(slide).or(slides & !is_held, before);
            }
            particles.set_some_previous(simd, block, before.with(previous[3]), slides | is_deep);
        }
        let w = if scales_mass {
            w / (V::splat(simd, 1.0) + mass_scale * self.push.dot(self.push))
        } else {
            w
        };
        particles.set_some(simd, block, position.with(w), touches);
    }
}
