//! Frames in slices, with collision between cloths after each.

use std::ops::Range;

use poplin_host::{ContactFrame, takes_part};
use poplin_layout::{ContactCloth, Stage, StageMask, TRIANGLE_SWEEPS};
use poplin_model::ContactMode;
use rayon::prelude::*;

use super::LaneEngine;
use super::cloth::CpuCloth;
use super::crew::reuse;
use crate::Workers;
use crate::contact::{ContactBody, ContactPasses as _};
use crate::triangle_contact::{ClothInput, TriangleContact};

impl<W: Workers + Clone + Send + Sync> LaneEngine<W> {
    /// Finds the cloths that may collide in the next frame, and the times of collision.
    pub(super) fn find_contacts(&mut self, dt: f32) {
        self.contacts.clear();
        let cloths = self.cloths.values().iter().enumerate();
        let mode = self.cloth_collision.contact;
        for (index, cloth) in cloths.filter(|(_, cloth)| takes_part(&cloth.host, mode)) {
            self.contacts.add(index, &cloth.host, dt, &cloth.placement);
        }
        self.contacts.finish(&self.cloth_collision);
    }

    /// Simulates a frame in slices, each followed by collision between cloths.
    pub(super) fn step_in_slices(&mut self, dt: f32) {
        let mode = self.cloth_collision.contact;
        let has_triangles = self.cloth_collision.contact == ContactMode::Triangles;
        if has_triangles {
            let Self { contacts, triangles, colliders, cloths: all, .. } = &mut *self;
            let cloths = all.values();
            let input = |(index, space): (usize, &ContactCloth)| ClothInput {
                host: &cloths[index].host,
                current: &cloths[index].current,
                space: *space,
            };
            let inputs: Vec<_> = contacts
                .indices()
                .zip(&contacts.cloths[contacts.start_begin()..])
                .map(input)
                .collect();
            triangles.begin_frame(&inputs, colliders);
            let cloths = all.values_mut();
            for (body, index) in contacts.indices().enumerate() {
                triangles.report_start(body, &mut cloths[index].contact);
            }
        }
        // Colliding cloths may wake one another, so they sleep in their kernel.
        self.cloths
            .values_mut()
            .par_iter_mut()
            .for_each(|cloth| cloth.begin_frame(dt, !takes_part(&cloth.host, mode)));
        let split = self.split();
        let Self { contacts, contact_memory, triangles, cloth_collision, crew, order, .. } = self;
        let step = dt / contacts.largest_count().max(1) as f32;
        // Triangle contact replaces self-collision of particles.
        let stages =
            if has_triangles { StageMask::ALL.without(Stage::SelfCollide) } else { StageMask::ALL };
        let cloths = self.cloths.values_mut();
        for (slice, parameters) in contacts.parameters.iter().enumerate() {
            let slice = slice as u32;
            let iterations = |cloth: &CpuCloth<W::Kept>| {
                let count = cloth.host.iteration_count(dt);
                let begin = if slice == 0 { 0 } else { contacts.slice_end(count, slice - 1) };
                begin..contacts.slice_end(count, slice)
            };
            let begin = parameters.cloth_begin as usize;
            // Local spaces of the cloths in this slice.
            let rows: &[ContactCloth] =
                &contacts.cloths[begin..begin + parameters.cloth_count as usize];
            let fraction = contacts.slice_fraction(slice);
            let part = contacts.slice_part(slice);
            if has_triangles {
                serve(triangles, cloths, contacts, rows, part, iterations);
            }
            crew.simulate(cloths, order, split, stages, iterations);
            cloths.iter_mut().for_each(|cloth| cloth.note_solve(iterations));
            let has_solves = cloths.iter().any(|cloth| !cloth.before.is_empty());
            for is_again in [false, true] {
                let mut members = contacts.indices().peekable();
                let mut bodies = reuse(std::mem::take(&mut self.bodies));
                for (index, cloth) in cloths.iter_mut().enumerate() {
                    if members.next_if_eq(&index).is_some() {
                        let (current, previous) =
                            (cloth.current.as_mut_slice(), cloth.previous.as_mut_slice());
                        bodies.push(ContactBody {
                            current,
                            previous,
                            feedback: &mut cloth.feedback,
                        });
                    }
                }
                if has_triangles {
                    triangles.max_rounds = cloth_collision.max_rounds;
                    let sweeps = TRIANGLE_SWEEPS * cloth_collision.iterations;
                    // Colliders have moved already.
                    let part = if is_again { 0.0 } else { part };
                    triangles.set_targets(rows, &bodies, [fraction, part]);
                    if is_again {
                        triangles.advance_again(step, sweeps);
                    } else {
                        triangles.advance_served(step, sweeps);
                    }
                    triangles.write_particles(rows, &mut bodies);
                } else {
                    for _ in 0..cloth_collision.iterations {
                        if !contact_memory.pass(&crew.first, parameters, rows, &mut bodies) {
                            break;
                        }
                    }
                }
                self.bodies = reuse(bodies);
                if has_triangles {
                    for (body, index) in contacts.indices().enumerate() {
                        triangles.report_slice(body, &mut cloths[index].contact);
                    }
                }
                // Contact of triangles is last, so that nothing crosses.
                if is_again {
                    break;
                }
                if has_triangles && has_solves {
                    let flying = triangles.flying();
                    for (body, index) in contacts.indices().enumerate() {
                        cloths[index].is_flying = flying[body];
                    }
                }
                crew.repair(cloths);
                if !has_triangles || !has_solves {
                    break;
                }
            }
        }
    }
}

/// Gives the cloths of a slice that are solved with it their contacts with colliders.
fn serve<K>(
    triangles: &mut TriangleContact,
    cloths: &mut [Box<CpuCloth<K>>],
    contacts: &ContactFrame,
    rows: &[ContactCloth],
    part: f32,
    iterations: impl Fn(&CpuCloth<K>) -> Range<u32>,
) {
    let is_served = |index: usize| {
        let cloth = &mut *cloths[index];
        cloth.touching.clear();
        cloth.takes_contacts(iterations(cloth))
    };
    let is_served: Vec<bool> = contacts.indices().map(is_served).collect();
    if !is_served.contains(&true) {
        return;
    }
    triangles.serve(part, |body| is_served.get(body).is_some_and(|it| *it));
    for (body, (index, space)) in contacts.indices().zip(rows).enumerate() {
        if is_served[body] {
            triangles.write_contacts(body, space, &mut cloths[index].touching);
        }
    }
}
