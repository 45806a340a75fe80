//! Contact of a point of a cloth with colliders in a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::symmetric::Symmetric;
use super::{add, dot, scale, subtract};
use crate::stage::implicit::ContactPlane;

/// Settings of the contact of a cloth.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContactOptions {
    /// Coefficient of friction.
    pub(super) friction: f32,
    /// True if contact of triangles, which lifts corners of faces, gives the planes.
    pub(super) is_by_triangles: bool,
    /// True if its particles collide with each other.
    pub(super) meets_itself: bool,
}

/// Contact of a particle, or of a point of an edge or face: a spring behind the plane, and friction
/// along it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contact {
    plane: ContactPlane,
    /// Stiffness along the plane, where friction holds \[N/m\].
    hold: f32,
    /// Direction of friction where it does not, else 0.
    slip: [f32; 3],
    /// Friction there \[N\].
    drag: f32,
    /// True if cloth pushed the particle, not a collider.
    pub(super) is_pushed: bool,
}

impl Contact {
    /// Contact with a collider.
    pub(super) fn new(plane: ContactPlane) -> Self {
        Self { plane, hold: 0.0, slip: [0.0; 3], drag: 0.0, is_pushed: false }
    }

    /// Contact, without friction, at the plane behind which cloth has pushed a particle.
    pub(super) fn pushed(plane: [f32; 4]) -> Self {
        let plane = ContactPlane { plane, travel: [0.0; 4] };
        Self { is_pushed: true, ..Self::new(plane) }
    }

    /// Contact of a point, which the solution has moved behind the plane, with the prediction
    /// `begun`. What it will bear is not known yet: its spring has not acted.
    pub(super) fn met(
        plane: ContactPlane,
        begun: [f32; 3],
        own: f32,
        options: &ContactOptions,
        constants: &MultilevelConstants,
    ) -> Self {
        let mut contact = Self::new(plane);
        contact.predict(begun, own, options, constants);
        contact.drag = 0.0;
        contact
    }

    fn normal(&self) -> [f32; 3] {
        let [x, y, z, _] = self.plane.plane;
        [x, y, z]
    }

    /// True if shapes press the point from opposite sides, and it has no normal.
    fn is_pinched(&self) -> bool {
        self.normal() == [0.0; 3]
    }

    /// Depth behind the plane of a point displaced by `moved` \[m\]; negative before it.
    pub(super) fn depth(&self, moved: [f32; 3]) -> f32 {
        self.plane.plane[3] - dot(self.normal(), moved)
    }

    /// Moves the plane along with a point that was pushed off, to the displacement `moved`.
    pub(super) fn raise(&mut self, moved: [f32; 3]) {
        self.plane.plane[3] -= self.depth(moved).min(0.0);
    }

    /// Slide along the plane of a point displaced by `moved` \[m\].
    fn slide(&self, moved: [f32; 3]) -> [f32; 3] {
        let [x, y, z, _] = self.plane.travel;
        let (normal, relative) = (self.normal(), subtract(moved, [x, y, z]));
        subtract(relative, scale(normal, dot(normal, relative)))
    }

    /// Slide of a point of the inertia `own` \[N/m\] that is displaced by `moved`, had it no
    /// friction \[m\].
    fn free_slide(&self, moved: [f32; 3], own: f32) -> [f32; 3] {
        let held = scale(self.slide(moved), 1.0 + self.hold / own);
        subtract(held, scale(self.slip, self.drag / own))
    }

    /// Largest friction of a point displaced by `moved` \[N\].
    fn most_friction(
        &self,
        moved: [f32; 3],
        own: f32,
        options: &ContactOptions,
        constants: &MultilevelConstants,
    ) -> f32 {
        let stiffness = if self.is_pinched() { own } else { constants.contact_stiffness() };
        let load = stiffness * self.depth(moved).max(0.0);
        options.friction * self.plane.travel[3] * load
    }

    /// Sets the friction of a point that is displaced by `moved`: it holds up to the force `limit`,
    /// or slips against the force `most`.
    fn set_friction(&mut self, moved: [f32; 3], own: f32, stiffness: f32, [limit, most]: [f32; 2]) {
        let free = self.free_slide(moved, own);
        let length = dot(free, free).sqrt();
        let slips = stiffness * own * length > (stiffness + own) * limit;
        self.hold = if slips { 0.0 } else { stiffness };
        // The collision stages, which push a pinched particle from both sides, slow it as well.
        let drags = slips && !self.is_pinched();
        self.slip = if drags { scale(free, -length.recip()) } else { [0.0; 3] };
        self.drag = most;
    }

    /// Sets the friction of a point with the prediction `moved`, and returns where it would end if
    /// it were alone \[m\].
    ///
    /// Begun there, the residuals of cloth that lies on a shape are small, and loads, which are
    /// small differences of displacements, are exact.
    pub(super) fn predict(
        &mut self,
        moved: [f32; 3],
        own: f32,
        options: &ContactOptions,
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let stiffness = constants.contact_stiffness();
        let risen = self.depth(moved).max(0.0) * (stiffness / (stiffness + own));
        let raised = add(moved, scale(self.normal(), risen));
        let most = self.most_friction(raised, own, options, constants);
        let mut limit = most;
        if options.is_by_triangles {
            // As if it bore from the start: what bears changes from step to step.
            let [x, y, z, factor] = self.plane.travel;
            let approach = dot(self.normal(), subtract([x, y, z], moved)).max(0.0);
            let load = approach * (own * stiffness / (stiffness + own));
            limit = limit.max(options.friction * factor * load);
        }
        self.set_friction(raised, own, stiffness, [limit, most]);
        // own (slide - rest) = hold rest - drag
        let back = self.friction(raised);
        add(raised, scale(back, (own + self.hold).recip()))
    }

    /// Sets the friction of a point by the load and the slide of its displacement `moved`.
    ///
    /// With contact of triangles one that slips still slips where it moves on: its inertia alone
    /// does not tell what pulls it, and a few that held would hold a whole sheet.
    pub(super) fn renew_friction(
        &mut self,
        moved: [f32; 3],
        own: f32,
        options: &ContactOptions,
        constants: &MultilevelConstants,
    ) {
        let most = self.most_friction(moved, own, options, constants);
        if options.is_by_triangles && dot(self.slip, self.slide(moved)) < 0.0 {
            self.drag = most;
        } else {
            self.set_friction(moved, own, constants.contact_stiffness(), [most; 2]);
        }
    }

    /// Slide of a point displaced by `moved` that friction takes off beyond its force in the solve,
    /// which it stops by a slide: what its load still permits \[m\].
    pub(super) fn held_slide(
        &self,
        moved: [f32; 3],
        own: f32,
        options: &ContactOptions,
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let most = self.most_friction(moved, own, options, constants);
        let slide = self.slide(moved);
        let length = dot(slide, slide).sqrt();
        // Where it slips, loads above the mean would take off more than those below leave.
        let is_held = self.hold > 0.0;
        let rest = if is_held { (most - self.hold * length).max(0.0) } else { 0.0 };
        if own * length <= rest { slide } else { scale(slide, rest / (own * length)) }
    }

    /// Force on a point displaced by `moved` \[N\]: a plane pulls, too, until it is released.
    pub(super) fn force(&self, moved: [f32; 3], constants: &MultilevelConstants) -> [f32; 3] {
        let push = scale(self.normal(), constants.contact_stiffness() * self.depth(moved));
        add(push, self.friction(moved))
    }

    /// Friction on a point displaced by `moved` \[N\].
    fn friction(&self, moved: [f32; 3]) -> [f32; 3] {
        subtract(scale(self.slip, self.drag), scale(self.slide(moved), self.hold))
    }

    /// Matrix of the contact: the derivative of minus its force.
    pub(super) fn block(&self, constants: &MultilevelConstants) -> Symmetric {
        let [x, y, z] = self.normal();
        let mut block = Symmetric::scalar(self.hold);
        block.add_spring([x, y, z, 0.0], constants.contact_stiffness() - self.hold);
        block
    }

    /// Product of its matrix with a vector.
    pub(super) fn product(&self, vector: [f32; 3], constants: &MultilevelConstants) -> [f32; 3] {
        let normal = self.normal();
        let across = (constants.contact_stiffness() - self.hold) * dot(normal, vector);
        add(scale(normal, across), scale(vector, self.hold))
    }
}
