//! Contact with colliders in a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::symmetric::Symmetric;
use super::{add, dot, scale, subtract};
use crate::stage::implicit::ContactPlane;

/// Contacts of particles.
#[derive(Debug, Clone, Default)]
pub(super) struct ContactMemory {
    contacts: Vec<Option<Contact>>,
    pub(super) options: ContactOptions,
}

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

/// Contact of a particle: a spring behind the plane, and friction along it.
#[derive(Debug, Clone, Copy)]
struct Contact {
    plane: ContactPlane,
    /// Stiffness along the plane, where friction holds \[N/m\].
    hold: f32,
    /// Friction where it does not \[N\].
    drag: [f32; 3],
    /// True if cloth pushed the particle, not a collider.
    is_pushed: bool,
}

impl Contact {
    fn normal(&self) -> [f32; 3] {
        let [x, y, z, _] = self.plane.plane;
        [x, y, z]
    }

    /// True if shapes press the particle from opposite sides, and it has no normal.
    fn is_pinched(&self) -> bool {
        self.normal() == [0.0; 3]
    }

    /// Depth behind the plane of a particle displaced by `moved` \[m\]; negative before it.
    fn depth(&self, moved: [f32; 3]) -> f32 {
        self.plane.plane[3] - dot(self.normal(), moved)
    }

    /// Slide along the plane of a particle displaced by `moved` \[m\].
    fn slide(&self, moved: [f32; 3]) -> [f32; 3] {
        let [x, y, z, _] = self.plane.travel;
        let (normal, relative) = (self.normal(), subtract(moved, [x, y, z]));
        subtract(relative, scale(normal, dot(normal, relative)))
    }

    /// Slide of a particle of the inertia `own` \[N/m\] that is displaced by `moved`, had it no
    /// friction \[m\].
    fn free_slide(&self, moved: [f32; 3], own: f32) -> [f32; 3] {
        let held = scale(self.slide(moved), 1.0 + self.hold / own);
        subtract(held, scale(self.drag, own.recip()))
    }

    /// Sets the friction of a particle that is displaced by `moved` from its largest force: it
    /// holds, or slips against it.
    fn set_friction(&mut self, moved: [f32; 3], own: f32, stiffness: f32, most: f32) {
        let free = self.free_slide(moved, own);
        let length = dot(free, free).sqrt();
        let slips = stiffness * own * length > (stiffness + own) * most;
        self.hold = if slips { 0.0 } else { stiffness };
        // The collision stages, which push a pinched particle from both sides, slow it as well.
        let drags = slips && !self.is_pinched();
        self.drag = if drags { scale(free, -most / length) } else { [0.0; 3] };
    }
}

impl ContactMemory {
    pub(super) fn fit(&mut self, count: usize) {
        self.contacts.resize(count, None);
    }

    pub(super) fn size(&self) -> usize {
        size_of::<Option<Contact>>() * self.contacts.capacity()
    }

    pub(super) fn clear(&mut self, options: ContactOptions) {
        self.contacts.fill(None);
        self.options = options;
    }

    pub(super) fn touch(&mut self, particle: usize, plane: ContactPlane) {
        self.contacts[particle] =
            Some(Contact { plane, hold: 0.0, drag: [0.0; 3], is_pushed: false });
    }

    /// Adds the plane, without friction, behind which cloth has pushed a particle.
    pub(super) fn push(&mut self, particle: usize, plane: [f32; 4]) {
        let plane = ContactPlane { plane, travel: [0.0; 4] };
        self.contacts[particle] =
            Some(Contact { plane, hold: 0.0, drag: [0.0; 3], is_pushed: true });
    }

    /// Moves the plane of a particle with it where it was pushed off, to the displacement `moved`.
    pub(super) fn raise(&mut self, particle: usize, moved: [f32; 3]) {
        if let Some(contact) = &mut self.contacts[particle] {
            contact.plane.plane[3] -= contact.depth(moved).min(0.0);
        }
    }

    /// True if the plane of a particle stands for a push of cloth.
    pub(super) fn is_pushed(&self, particle: usize) -> bool {
        self.contacts[particle].is_some_and(|contact| contact.is_pushed)
    }

    pub(super) fn release(&mut self, particle: usize) {
        self.contacts[particle] = None;
    }

    /// True if any particle touches or has been pushed.
    pub(super) fn has_any(&self) -> bool {
        self.contacts.iter().any(Option::is_some)
    }

    pub(super) fn is_touching(&self, particle: usize) -> bool {
        self.contacts[particle].is_some()
    }

    /// Depth behind its plane of a particle displaced by `moved` \[m\].
    pub(super) fn depth(&self, particle: usize, moved: [f32; 3]) -> f32 {
        self.contacts[particle].map_or(0.0, |contact| contact.depth(moved))
    }

    /// Largest friction of a particle displaced by `moved` \[N\].
    fn most_friction(
        &self,
        contact: &Contact,
        moved: [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) -> f32 {
        let stiffness = if contact.is_pinched() { own } else { constants.contact_stiffness() };
        let load = stiffness * contact.depth(moved).max(0.0);
        self.options.friction * contact.plane.travel[3] * load
    }

    /// Sets the friction of a particle with the prediction `moved`, and returns where it would end
    /// if it were alone \[m\].
    ///
    /// Begun there, the residuals of cloth that lies on a shape are small, and loads, which are
    /// small differences of displacements, are exact.
    pub(super) fn predict(
        &mut self,
        particle: usize,
        moved: [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let Some(mut contact) = self.contacts[particle] else { return moved };
        let stiffness = constants.contact_stiffness();
        let risen = contact.depth(moved).max(0.0) * (stiffness / (stiffness + own));
        let raised = add(moved, scale(contact.normal(), risen));
        let most = self.most_friction(&contact, raised, own, constants);
        contact.set_friction(raised, own, stiffness, most);
        self.contacts[particle] = Some(contact);
        // own (slide - rest) = hold rest - drag
        let back = subtract(contact.drag, scale(contact.slide(raised), contact.hold));
        add(raised, scale(back, (own + contact.hold).recip()))
    }

    /// Sets the friction of a particle by the load and the slide of its displacement `moved`.
    ///
    /// With contact of triangles one that slips still slips where it moves on: its inertia alone
    /// does not tell what pulls it, and a few that held would hold a whole sheet.
    pub(super) fn renew_friction(
        &mut self,
        particle: usize,
        moved: [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) {
        let Some(mut contact) = self.contacts[particle] else { return };
        let most = self.most_friction(&contact, moved, own, constants);
        let drag = dot(contact.drag, contact.drag).sqrt();
        let slips_on = drag > 0.0 && dot(contact.drag, contact.slide(moved)) < 0.0;
        if slips_on && self.options.is_by_triangles {
            contact.drag = scale(contact.drag, most / drag);
        } else {
            contact.set_friction(moved, own, constants.contact_stiffness(), most);
        }
        self.contacts[particle] = Some(contact);
    }

    /// Slide of a particle displaced by `moved` that friction takes off beyond its force in the
    /// solve, which it stops by a slide: what its load still permits \[m\].
    pub(super) fn held_slide(
        &self,
        particle: usize,
        moved: [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let Some(contact) = self.contacts[particle] else { return [0.0; 3] };
        let most = self.most_friction(&contact, moved, own, constants);
        let slide = contact.slide(moved);
        let length = dot(slide, slide).sqrt();
        // Where it slips, loads above the mean would take off more than those below leave.
        let is_held = contact.hold > 0.0;
        let rest = if is_held { (most - contact.hold * length).max(0.0) } else { 0.0 };
        if own * length <= rest { slide } else { scale(slide, rest / (own * length)) }
    }

    /// Force on a particle displaced by `moved` \[N\]: a plane pulls, too, until it is released.
    pub(super) fn force(
        &self,
        particle: usize,
        moved: [f32; 3],
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let Some(contact) = self.contacts[particle] else { return [0.0; 3] };
        let push = scale(contact.normal(), constants.contact_stiffness() * contact.depth(moved));
        add(push, subtract(contact.drag, scale(contact.slide(moved), contact.hold)))
    }

    /// Adds the part of contact to the diagonal block of a particle.
    pub(super) fn add_block(
        &self,
        particle: usize,
        constants: &MultilevelConstants,
        block: &mut Symmetric,
    ) {
        let Some(contact) = self.contacts[particle] else { return };
        let [x, y, z] = contact.normal();
        block.add_spring([x, y, z, 0.0], constants.contact_stiffness() - contact.hold);
        *block = block.plus(Symmetric::scalar(contact.hold));
    }

    /// Product of the part of contact with a vector.
    pub(super) fn product(
        &self,
        particle: usize,
        vector: [f32; 3],
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let Some(contact) = self.contacts[particle] else { return [0.0; 3] };
        let normal = contact.normal();
        let across = (constants.contact_stiffness() - contact.hold) * dot(normal, vector);
        add(scale(normal, across), scale(vector, contact.hold))
    }
}
