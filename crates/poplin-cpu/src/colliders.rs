//! Twin of `shaders/state/colliders.wgsl`.

use glam::Vec3;
use poplin_layout::{
    BOX_ROWS, CAPSULE_ROWS, MIN_NORMAL_SQUARE, NO_OFFSET, SPHERE_ROWS, Stage, StageMask,
};

use crate::ClothMemory;
use crate::geometry::{Cone, cone_between};
use crate::lanes::{LaneMask as _, Real, max, min};
use crate::math::{cross3, dot3, particle as pack, xyz};
use crate::particles::Particles;
use crate::vector::Vec3 as Lanes;

/// Accumulated contacts of one particle per lane with some shapes in one stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contacts<V: Real> {
    /// Sum of the exits \[m\].
    pub(crate) push: Lanes<V>,
    /// Number of contacts.
    pub(crate) count: V,
    /// Sum of the displacements of the shapes in this iteration \[m\].
    pub(crate) travel: Lanes<V>,
    /// Sum of the advances of planes towards the particle in this iteration \[m\].
    pub(crate) approach: V,
    /// Sum of the exits, those that oppose the sum so far reversed: pushes of two shapes that pinch
    /// a particle cancel, their friction does not \[m\].
    pub(crate) axis: Lanes<V>,
    /// Sum of the distances to the surfaces, each times the friction factor of the shape \[m\].
    pub(crate) grip: V,
}

impl ClothMemory<'_> {
    /// Tests whether a stage is active.
    pub fn runs(&self, stage: Stage) -> bool {
        StageMask(self.registers.stages).contains(stage)
    }

    /// Friction factor of a shape. Indices count spheres, then capsules, convexes, boxes and
    /// triangles.
    #[inline]
    pub(crate) fn friction_factor(&self, shape: u32) -> f32 {
        let begin = self.cloth.colliders.friction_factor_begin;
        if begin == NO_OFFSET { 1.0 } else { f32::from_bits(self.load_index(begin + shape)) }
    }

    /// Index of convex c among all shapes.
    pub fn convex_shape(&self, c: u32) -> u32 {
        self.cloth.colliders.sphere_count + self.cloth.colliders.capsule_count + c
    }

    /// Index of box b among all shapes.
    pub fn box_shape(&self, b: u32) -> u32 {
        self.convex_shape(self.cloth.colliders.convex_count) + b
    }

    /// Index of triangle t among all shapes.
    pub(crate) fn triangle_shape(&self, t: u32) -> u32 {
        self.box_shape(self.cloth.colliders.box_count) + t
    }

    /// Entry k of the cloth's lists of indices.
    #[inline]
    pub fn load_index(&self, k: u32) -> u32 {
        self.input_pool[(self.cloth.colliders.number_begin + (k >> 2)) as usize][(k & 3) as usize]
    }

    /// First prepared row of sphere s: its current state, then that of the last iteration.
    #[inline]
    pub fn sphere_row(&self, s: u32) -> u32 {
        self.cloth.colliders.prepared_begin + SPHERE_ROWS * s
    }

    /// Current center and radius of sphere s.
    #[inline]
    pub fn load_sphere(&self, s: u32) -> [f32; 4] {
        self.load_scratch(self.sphere_row(s))
    }

    /// Displacement of sphere s in this iteration \[m\].
    pub fn sphere_move(&self, s: u32) -> Vec3 {
        let row = self.sphere_row(s);
        xyz(self.load_scratch(row)) - xyz(self.load_scratch(row + 1))
    }

    /// Rotation of sphere or capsule `shape` over the frame, with the fraction of the frame that an
    /// iteration takes.
    #[inline]
    pub(crate) fn spin_of(&self, shape: u32) -> [f32; 4] {
        let shapes = &self.cloth.colliders;
        let [x, y, z, _] = self.input_row(shapes.twist_begin + shape);
        [x, y, z, shapes.iteration_fraction]
    }

    /// First prepared row of capsule c.
    #[inline]
    pub fn capsule_row(&self, c: u32) -> u32 {
        self.sphere_row(self.cloth.colliders.sphere_count) + CAPSULE_ROWS * c
    }

    /// Loads the cone whose three rows begin at `row`.
    #[inline]
    pub(crate) fn load_cone(&self, row: u32) -> Cone<f32> {
        Cone::of([0, 1, 2].map(|k| self.load_scratch(row + k)))
    }

    /// The two spheres of capsule c.
    #[inline]
    pub fn capsule_ends(&self, c: u32) -> [u32; 2] {
        let [a, b, ..] = self.input_pool[(self.cloth.colliders.capsule_begin + c) as usize];
        [a, b]
    }

    /// Prepared row of plane p.
    #[inline]
    pub fn plane_row(&self, p: u32) -> u32 {
        self.capsule_row(self.cloth.colliders.capsule_count) + p
    }

    /// First prepared row of box b.
    #[inline]
    pub fn box_row(&self, b: u32) -> u32 {
        self.plane_row(self.cloth.colliders.plane_count) + BOX_ROWS * b
    }

    /// Number of shapes to prepare.
    pub(crate) fn prepared_count(&self) -> u32 {
        let shapes = &self.cloth.colliders;
        shapes.sphere_count + shapes.capsule_count + shapes.plane_count + shapes.box_count
    }

    /// Interpolated center and radius of sphere s at a fraction of the frame.
    fn sphere_at(&self, s: u32, fraction: f32) -> [f32; 4] {
        self.load_at(
            self.cloth.colliders.sphere_start,
            self.cloth.colliders.sphere_target,
            s,
            fraction,
        )
    }

    /// Tests whether the box of a tree node, whose two rows begin at `row`, overlaps the box from
    /// `low` to `high`.
    #[inline]
    pub fn meets_node(&self, row: u32, low: Vec3, high: Vec3) -> bool {
        let node_low = xyz(self.input_row(row));
        let node_high = xyz(self.input_row(row + 1));
        node_low.x <= high.x
            && node_low.y <= high.y
            && node_low.z <= high.z
            && low.x <= node_high.x
            && low.y <= node_high.y
            && low.z <= node_high.z
    }

    /// Next node if the box of this one is missed.
    #[inline]
    pub fn node_escape(&self, row: u32) -> u32 {
        self.input_pool[row as usize][3]
    }

    /// Item of a leaf plus 1, 0 for an inner node.
    #[inline]
    pub fn node_item(&self, row: u32) -> u32 {
        self.input_pool[row as usize + 1][3]
    }

    /// Traverses a tree without a stack from `node` on. Returns 1 + the next item whose box
    /// overlaps the box from `low` to `high`, 0 at the end.
    #[inline]
    pub fn next_item(&self, begin: u32, count: u32, node: &mut u32, low: Vec3, high: Vec3) -> u32 {
        let mut item = 0;
        while item == 0 && *node < count {
            let row = begin + 2 * *node;
            if self.meets_node(row, low, high) {
                item = self.node_item(row);
                *node += 1;
            } else {
                *node = self.node_escape(row);
            }
        }
        item
    }
}

/// Stores the cone between the spheres of capsule c at a fraction of the frame.
fn prepare_cone(memory: &mut ClothMemory<'_>, c: u32, fraction: f32, row: u32) {
    let [a, b] = memory.capsule_ends(c);
    let cone = cone_between(memory.sphere_at(a, fraction), memory.sphere_at(b, fraction));
    (row..).zip(cone).for_each(|(row, numbers)| memory.store_scratch(row, numbers));
}

/// Stores the outward unit normal of a pair of box faces spanned by a and b, and the thickness
/// between them.
fn prepare_face(memory: &mut ClothMemory<'_>, a: Vec3, b: Vec3, edge: Vec3, row: u32) {
    let normal = cross3(a, b);
    let area_square = dot3(normal, normal);
    let mut face = [0.0; 4];
    if area_square > MIN_NORMAL_SQUARE {
        let unit = normal / area_square.sqrt();
        // Points outwards even for a left-handed box.
        let thickness = dot3(unit, edge);
        face = if thickness < 0.0 { pack(-unit, -thickness) } else { pack(unit, thickness) };
    }
    memory.store_scratch(row, face);
}

/// Prepares shape `shape` for this iteration; indices count spheres, then capsules, planes, boxes.
pub(crate) fn prepare_shape(memory: &mut ClothMemory<'_>, shape: u32) {
    let fraction = memory.iteration.velocity_scale[3];
    let fraction_before = memory.iteration.bias[3];
    let shapes = memory.cloth.colliders;
    let sphere_end = shapes.sphere_count;
    let capsule_end = sphere_end + shapes.capsule_count;
    let plane_end = capsule_end + shapes.plane_count;
    if shape < sphere_end {
        let row = memory.sphere_row(shape);
        memory.store_scratch(row, memory.sphere_at(shape, fraction));
        memory.store_scratch(row + 1, memory.sphere_at(shape, fraction_before));
    } else if shape < capsule_end {
        let capsule = shape - sphere_end;
        prepare_cone(memory, capsule, fraction, memory.capsule_row(capsule));
        prepare_cone(memory, capsule, fraction_before, memory.capsule_row(capsule) + 3);
    } else if shape < plane_end {
        let plane = shape - capsule_end;
        memory.store_scratch(
            memory.plane_row(plane),
            memory.load_at(shapes.plane_start, shapes.plane_target, plane, fraction),
        );
    } else {
        let box_index = shape - plane_end;
        let [corner, a, b, c] = [0, 1, 2, 3].map(|k| {
            memory.load_at(shapes.box_start, shapes.box_target, 4 * box_index + k, fraction)
        });
        let [a, b, c] = [a, b, c].map(xyz);
        let row = memory.box_row(box_index);
        memory.store_scratch(row, corner);
        prepare_face(memory, b, c, a, row + 1);
        prepare_face(memory, c, a, b, row + 2);
        prepare_face(memory, a, b, c, row + 3);
    }
}

impl<V: Real> Contacts<V> {
    /// Returns no contacts.
    #[inline(always)]
    pub(crate) fn new(simd: V::Token) -> Self {
        let (zero, nothing) = (V::splat(simd, 0.0), Lanes::splat(simd, [0.0; 3]));
        let (push, travel, axis) = (nothing, nothing, nothing);
        Self { push, count: zero, travel, approach: zero, axis, grip: zero }
    }

    /// Adds the exit from a shape that moved by `travel`, where the mask is set.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        simd: V::Token,
        mask: V::Mask,
        exit: Lanes<V>,
        travel: Lanes<V>,
        friction_factor: V,
    ) {
        self.push = (self.push + exit).or(mask, self.push);
        self.count = mask.select(self.count + V::splat(simd, 1.0), self.count);
        self.travel = (self.travel + travel).or(mask, self.travel);
        let opposes = exit.dot(self.axis).simd_lt(V::splat(simd, 0.0));
        self.axis = (self.axis + (-exit).or(opposes, exit)).or(mask, self.axis);
        let grip = self.grip + exit.dot(exit).sqrt() * friction_factor;
        self.grip = mask.select(grip, self.grip);
    }

    /// Returns the friction factor for a normal force along the axis: more than that of the shapes
    /// where their exits are not parallel, since each is pressed.
    #[inline(always)]
    pub(crate) fn friction_factor(&self) -> V {
        self.grip / self.axis.dot(self.axis).sqrt()
    }

    /// Returns the contacts of which only a fraction of each push is applied, for friction.
    #[inline(always)]
    pub(crate) fn gripping(&self, fraction: V) -> Self {
        Self { axis: self.axis * fraction, grip: self.grip * fraction, ..*self }
    }

    /// Mean exit \[m\].
    #[inline(always)]
    pub(crate) fn mean_push(&self) -> Lanes<V> {
        self.push / self.count
    }

    /// Tests whether the mean push exceeds the depenetration step of one iteration, `limit`.
    #[inline(always)]
    pub(crate) fn is_deep(&self, limit: V) -> V::Mask {
        let push = self.mean_push();
        (limit * limit).simd_lt(push.dot(push))
    }

    /// Returns the fraction of a deep push that this iteration applies, and the fraction that adds
    /// no velocity.
    #[inline(always)]
    pub(crate) fn push_fractions(
        &self,
        simd: V::Token,
        displacement: Lanes<V>,
        limit: V,
    ) -> [V; 2] {
        let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
        let push = self.mean_push();
        let length = push.dot(push).sqrt();
        let relative = displacement - self.travel / self.count;
        // Speed of the particle into the shape, along the push. A particle leaves at once as far as
        // it came in during this iteration, plus the limit.
        let inward = self.approach / self.count - relative.dot(push) / length;
        let allowed = max(inward, zero) + limit;
        let is_long = allowed.simd_lt(length);
        [is_long.select(allowed / length, one), is_long.select(limit / length, zero)]
    }

    /// Returns the part of the tangential displacement that friction removes from a particle that
    /// moved by `displacement` in this iteration.
    #[inline(always)]
    pub(crate) fn friction_slide(
        &self,
        simd: V::Token,
        displacement: Lanes<V>,
        [friction, slop]: [V; 2],
    ) -> Lanes<V> {
        let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
        let relative = displacement - self.travel / self.count;
        let axis_square = self.axis.dot(self.axis);
        let grip_square = self.grip * self.grip;
        let slop_square = slop * slop;
        // The slop regularizes lengths, and keeps directions defined for vanishing pushes and
        // motions.
        let along = relative.dot(self.axis) / (slop_square + axis_square);
        // Tangential part: relative - n (relative . n)
        let tangent = relative - self.axis * along;
        let tangent_square = slop_square + tangent.dot(tangent);
        let push = grip_square / (slop_square + grip_square).sqrt() / self.count;
        // |slide| <= friction sum |push| (Coulomb, for each shape that presses), and at most all of
        // the tangential motion
        let limit = friction * push / tangent_square.sqrt();
        let is_held =
            zero.simd_lt(axis_square) & zero.simd_lt(grip_square) & zero.simd_lt(tangent_square);
        (tangent * min(limit, one)).or(is_held, Lanes::splat(simd, [0.0; 3]))
    }

    /// Moves particles out of the shapes that they touch and applies friction. With `scales_mass`,
    /// the inverse mass of pushed particles is reduced, so that their neighbours give way.
    #[inline(always)]
    pub(crate) fn resolve<P: Particles<V>>(
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
        let x = Lanes::new(x, y, z);
        let push = self.mean_push();
        let mut position = x + push;
        let slides = touches & zero.simd_lt(friction);
        let is_deep = touches & self.is_deep(limit);
        if (slides | is_deep).any_true() {
            let previous = particles.previous(simd, block);
            let start = Lanes::xyz(previous);
            let displacement = x - start;
            let (mut before, mut gripping) = (start, *self);
            if is_deep.any_true() {
                let [made, lost] = self.push_fractions(simd, displacement, limit);
                position = (x + push * made).or(is_deep, position);
                // Moving the previous position along removes this part of the push from the
                // velocity.
                before = (before + push * lost).or(is_deep, before);
                gripping = self.gripping(is_deep.select(made, V::splat(simd, 1.0)));
            }
            if slides.any_true() {
                let slide = gripping.friction_slide(simd, displacement, [friction, slop]);
                // Friction either holds the particle in place or only changes its velocity.
                let is_held = zero.simd_lt(holds);
                position = (position - slide).or(slides & is_held, position);
                before = (before + slide).or(slides & !is_held, before);
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
