//! Contacts of a cloth with colliders in a multilevel solve.

use poplin_geometry::Csr;
use poplin_layout::MultilevelConstants;

use super::contact::{Contact, ContactOptions};
use super::symmetric::Symmetric;
use super::touching::ContactLink;
use super::{add, scale, subtract};
use crate::stage::implicit::ContactPlane;

/// Contacts of particles, and of points between them.
#[derive(Debug, Clone, Default)]
pub(super) struct ContactMemory {
    contacts: Vec<Option<Contact>>,
    links: Vec<Link>,
    /// Links of each particle, and its share in their points; empty without links.
    corners: Option<Csr<(u32, f32)>>,
    /// Sum of the shares of each particle in what touches, itself included.
    totals: Vec<f32>,
    pub(super) options: ContactOptions,
}

/// Contact of a point of an edge or face.
#[derive(Debug, Clone, Copy)]
struct Link {
    particles: [u32; 3],
    /// Share of each particle in the point.
    shares: [f32; 3],
    plane: ContactPlane,
    /// `None` while it is before the plane.
    contact: Option<Contact>,
    /// Inertia that it bears \[N/m\], 0 if it is pinned.
    inertia: f32,
    /// Displacement from the prediction to where it would end if it were alone \[m\].
    shift: [f32; 3],
}

impl Link {
    /// Its particles with their shares.
    fn corners(&self) -> impl Iterator<Item = (usize, f32)> + Clone + use<> {
        let corners = self.particles.map(|particle| particle as usize).into_iter();
        corners.zip(self.shares).filter(|(_, share)| *share > 0.0)
    }

    /// Value at the point of a field of the particles.
    fn at_point(&self, field: impl Fn(usize) -> [f32; 3]) -> [f32; 3] {
        let [a, b, c] = self.particles.map(|it| field(it as usize));
        let [p, q, r] = self.shares;
        add(add(scale(a, p), scale(b, q)), scale(c, r))
    }
}

impl ContactMemory {
    pub(super) fn fit(&mut self, count: usize) {
        self.contacts.resize(count, None);
        self.totals.resize(count, 0.0);
    }

    pub(super) fn size(&self) -> usize {
        size_of::<Option<Contact>>() * self.contacts.capacity()
            + size_of::<Link>() * self.links.capacity()
            + 4 * self.totals.capacity()
            + self.corners.as_ref().map_or(0, Csr::size)
    }

    /// Begins a step with these planes of edges and faces.
    pub(super) fn clear(&mut self, options: ContactOptions, links: &[ContactLink]) {
        self.contacts.fill(None);
        self.options = options;
        self.links.clear();
        self.links.extend(links.iter().map(|link| Link {
            particles: link.particles,
            shares: link.shares,
            plane: link.plane,
            contact: None,
            inertia: 0.0,
            shift: [0.0; 3],
        }));
        let corners = self.links.iter().zip(0..).flat_map(|(link, index)| {
            link.corners().map(move |(particle, share)| (particle as u32, (index, share)))
        });
        let count = self.contacts.len();
        self.corners = (!links.is_empty()).then(|| Csr::new(count, corners));
    }

    pub(super) fn touch(&mut self, particle: usize, plane: ContactPlane) {
        self.contacts[particle] = Some(Contact::new(plane));
    }

    /// Touches the plane that the solution moves a particle behind, to the displacement `trial`;
    /// `begun` is its prediction.
    pub(super) fn meet(
        &mut self,
        particle: usize,
        plane: ContactPlane,
        [begun, trial]: [[f32; 3]; 2],
        own: f32,
        constants: &MultilevelConstants,
    ) {
        let inertia = self.borne(particle, own);
        let mut contact = Contact::new(plane);
        if self.options.is_by_triangles {
            contact = Contact::met(plane, begun, inertia, &self.options, constants);
        } else {
            contact.renew_friction(trial, inertia, &self.options, constants);
        }
        self.contacts[particle] = Some(contact);
    }

    /// Adds the plane, without friction, behind which cloth has pushed a particle.
    pub(super) fn push(&mut self, particle: usize, plane: [f32; 4]) {
        self.contacts[particle] = Some(Contact::pushed(plane));
    }

    /// Moves the plane of a particle with it where it was pushed off, to the displacement `moved`.
    pub(super) fn raise(&mut self, particle: usize, moved: [f32; 3]) {
        if let Some(contact) = &mut self.contacts[particle] {
            contact.raise(moved);
        }
    }

    /// Moves the planes of edges and faces with them where they were pushed off.
    pub(super) fn raise_links(&mut self, moves: &[[f32; 3]]) {
        for link in &mut self.links {
            let moved = link.at_point(|it| moves[it]);
            if let Some(contact) = &mut link.contact {
                contact.raise(moved);
            }
        }
    }

    /// True if the plane of a particle stands for a push of cloth.
    pub(super) fn is_pushed(&self, particle: usize) -> bool {
        self.contacts[particle].is_some_and(|contact| contact.is_pushed)
    }

    pub(super) fn release(&mut self, particle: usize) {
        self.contacts[particle] = None;
    }

    /// True if edges or faces may touch.
    pub(super) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// True if any particle, edge or face touches or has been pushed.
    pub(super) fn has_any(&self) -> bool {
        self.has_links() || self.contacts.iter().any(Option::is_some)
    }

    pub(super) fn is_touching(&self, particle: usize) -> bool {
        self.contacts[particle].is_some()
    }

    /// Links of a particle, and its share in their points.
    fn corners(&self, particle: usize) -> &[(u32, f32)] {
        self.corners.as_ref().map_or(&[], |corners| corners.row(particle))
    }

    /// True if an edge or face of a particle touches.
    pub(super) fn is_linked(&self, particle: usize) -> bool {
        self.links_of(particle).next().is_some()
    }

    /// Contacts of the edges and faces of a particle, with its share in their points.
    fn links_of(&self, particle: usize) -> impl Iterator<Item = (&Link, &Contact, f32)> {
        self.corners(particle).iter().filter_map(|&(index, share)| {
            let link = &self.links[index as usize];
            link.contact.as_ref().map(|contact| (link, contact, share))
        })
    }

    /// Depth behind its plane of a particle displaced by `moved` \[m\].
    pub(super) fn depth(&self, particle: usize, moved: [f32; 3]) -> f32 {
        self.contacts[particle].map_or(0.0, |contact| contact.depth(moved))
    }

    /// Touches the edges and faces that the displacements `moves` take behind their planes.
    pub(super) fn touch_links(&mut self, moves: impl Fn(usize) -> [f32; 3]) {
        for link in &mut self.links {
            if link.plane.holds(link.at_point(&moves)) {
                link.contact = Some(Contact::new(link.plane));
            }
        }
    }

    /// Divides the inertia of each particle among what touches, by its shares (mass splitting):
    /// loads of the prediction, of each contact alone, then add up to the weight.
    pub(super) fn split_inertia(&mut self, own: impl Fn(usize) -> f32) {
        for particle in 0..self.contacts.len() {
            let links: f32 = self.links_of(particle).map(|(_, _, share)| share).sum();
            let alone = if self.is_touching(particle) { 1.0 } else { 0.0 };
            self.totals[particle] = links + alone;
        }
        for link in &mut self.links {
            let parts = link
                .corners()
                .map(|(particle, share)| own(particle) * share / self.totals[particle].max(share));
            link.inertia = parts.sum();
        }
    }

    /// Inertia that the contact of a particle of the inertia `own` bears \[N/m\].
    fn borne(&self, particle: usize, own: f32) -> f32 {
        own / self.totals[particle].max(1.0)
    }

    /// Sets the friction of edges and faces with the predictions `moves`. Each sees all that moves
    /// it: after others, it would find nothing to slip against and hold the cloth.
    pub(super) fn predict_links(
        &mut self,
        moves: impl Fn(usize) -> [f32; 3],
        constants: &MultilevelConstants,
    ) {
        for link in &mut self.links {
            let (before, inertia) = (link.at_point(&moves), link.inertia);
            if let Some(contact) = link.contact.as_mut().filter(|_| inertia > 0.0) {
                let after = contact.predict(before, inertia, &self.options, constants);
                link.shift = subtract(after, before);
            }
        }
    }

    /// Sets the friction of a particle with the prediction `moved`, and returns where what touches
    /// would take it \[m\]; `None` if nothing does.
    pub(super) fn predict(
        &mut self,
        particle: usize,
        moved: [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) -> Option<[f32; 3]> {
        let (inertia, total) = (self.borne(particle, own), self.totals[particle]);
        let alone = self.contacts[particle].as_mut().map_or([0.0; 3], |contact| {
            subtract(contact.predict(moved, inertia, &self.options, constants), moved)
        });
        let links = self.links_of(particle);
        let sum = links.fold(alone, |sum, (link, _, share)| add(sum, scale(link.shift, share)));
        (total > 0.0).then(|| add(moved, scale(sum, total.recip())))
    }

    /// Sets the friction of a particle by the load and the slide of its displacement `moved`.
    pub(super) fn renew_friction(
        &mut self,
        particle: usize,
        moved: [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) {
        let inertia = self.borne(particle, own);
        if let Some(contact) = &mut self.contacts[particle] {
            contact.renew_friction(moved, inertia, &self.options, constants);
        }
    }

    /// Lets go of planes that pull edges and faces, touches those that the displacements `moves`
    /// take behind theirs, may set friction by the loads, and adds the change of the forces to
    /// those of free particles. `begun` are the displacements of the prediction.
    pub(super) fn renew_links(
        &mut self,
        (moves, begun): (impl Fn(usize) -> [f32; 3], impl Fn(usize) -> [f32; 3]),
        renews_friction: bool,
        is_free: impl Fn(usize) -> bool,
        constants: &MultilevelConstants,
        forces: &mut [[f32; 3]],
    ) {
        for link in &mut self.links {
            let (moved, inertia) = (link.at_point(&moves), link.inertia);
            if inertia <= 0.0 {
                continue;
            }
            let before = link.contact.map_or([0.0; 3], |contact| contact.force(moved, constants));
            match &mut link.contact {
                Some(contact) if contact.depth(moved) < 0.0 => link.contact = None,
                Some(contact) if renews_friction => {
                    contact.renew_friction(moved, inertia, &self.options, constants);
                }
                None if link.plane.holds(moved) => {
                    let begun = link.at_point(&begun);
                    let met = Contact::met(link.plane, begun, inertia, &self.options, constants);
                    link.contact = Some(met);
                }
                _ => continue,
            }
            let after = link.contact.map_or([0.0; 3], |contact| contact.force(moved, constants));
            let change = subtract(after, before);
            for (particle, share) in link.corners().filter(|(particle, _)| is_free(*particle)) {
                forces[particle] = add(forces[particle], scale(change, share));
            }
        }
    }

    /// Slide of a particle that friction takes off beyond its force in the solve, which it stops by
    /// a slide: what its load still permits \[m\].
    pub(super) fn held_slide(
        &self,
        particle: usize,
        moves: impl Fn(usize) -> [f32; 3],
        own: f32,
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        let inertia = self.borne(particle, own);
        let alone = self.contacts[particle].map_or([0.0; 3], |contact| {
            contact.held_slide(moves(particle), inertia, &self.options, constants)
        });
        let sum = self.links_of(particle).fold(alone, |sum, (link, contact, share)| {
            let moved = link.at_point(&moves);
            let slide = contact.held_slide(moved, link.inertia, &self.options, constants);
            add(sum, scale(slide, share))
        });
        // Each alone would take off all of it.
        scale(sum, self.totals[particle].max(1.0).recip())
    }

    /// Sum of vectors of what touches at a particle, each by its contact and the value at its point
    /// of a field of the particles.
    fn gather(
        &self,
        particle: usize,
        field: impl Fn(usize) -> [f32; 3],
        vector: impl Fn(&Contact, [f32; 3]) -> [f32; 3],
    ) -> [f32; 3] {
        let own = self.contacts[particle].as_ref();
        let own = own.map_or([0.0; 3], |contact| vector(contact, field(particle)));
        self.links_of(particle).fold(own, |sum, (link, contact, share)| {
            add(sum, scale(vector(contact, link.at_point(&field)), share))
        })
    }

    /// Force on a particle of a cloth with the displacements `moves` \[N\].
    pub(super) fn force(
        &self,
        particle: usize,
        moves: impl Fn(usize) -> [f32; 3],
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        self.gather(particle, moves, |contact, moved| contact.force(moved, constants))
    }

    /// Sums of the forces with which planes push, and with which they pull, at the displacements
    /// `moves` \[N\].
    pub(super) fn loads(
        &self,
        moves: impl Fn(usize) -> [f32; 3],
        constants: &MultilevelConstants,
    ) -> [f32; 2] {
        let own = self.contacts.iter().enumerate();
        let own = own.filter_map(|(k, contact)| contact.map(|contact| contact.depth(moves(k))));
        let links = self
            .links
            .iter()
            .filter_map(|link| link.contact.map(|contact| contact.depth(link.at_point(&moves))));
        let [mut pushing, mut pulling] = [0.0; 2];
        for depth in own.chain(links) {
            pushing += depth.max(0.0);
            pulling -= depth.min(0.0);
        }
        [pushing, pulling].map(|depth| depth * constants.contact_stiffness())
    }

    /// Force on a particle alone, without that on its edges and faces \[N\].
    pub(super) fn own_force(
        &self,
        particle: usize,
        moved: [f32; 3],
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        self.contacts[particle].map_or([0.0; 3], |contact| contact.force(moved, constants))
    }

    /// Adds the part of contact to the diagonal block of a particle.
    pub(super) fn add_block(
        &self,
        particle: usize,
        constants: &MultilevelConstants,
        block: &mut Symmetric,
    ) {
        self.add_blocks(particle, constants, block, |share| share * share);
    }

    /// Adds the part of contact to the block of a particle in the sum of all blocks of the matrix,
    /// in which others move along with it.
    pub(super) fn add_whole_block(
        &self,
        particle: usize,
        constants: &MultilevelConstants,
        block: &mut Symmetric,
    ) {
        self.add_blocks(particle, constants, block, |share| share);
    }

    fn add_blocks(
        &self,
        particle: usize,
        constants: &MultilevelConstants,
        block: &mut Symmetric,
        part: impl Fn(f32) -> f32,
    ) {
        if let Some(contact) = self.contacts[particle] {
            *block = block.plus(contact.block(constants));
        }
        for (_, contact, share) in self.links_of(particle) {
            *block = block.plus(contact.block(constants).scaled(part(share)));
        }
    }

    /// Product of the part of contact with vectors, at a particle.
    pub(super) fn product(
        &self,
        particle: usize,
        vectors: impl Fn(usize) -> [f32; 3],
        constants: &MultilevelConstants,
    ) -> [f32; 3] {
        self.gather(particle, vectors, |contact, vector| contact.product(vector, constants))
    }
}
