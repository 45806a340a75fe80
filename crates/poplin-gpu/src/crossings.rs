//! Crossings in a state that is read back. Shaders cannot count them exactly, so the host does when
//! the particles have arrived.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use glam::Vec3;
use poplin_host::{ClothId, TriangleBody, find_crossings, in_world, report_crossings};
use poplin_layout::ContactCloth;
use poplin_model::{ContactReport, Particle, Trouble};

/// Crossings of a cloth that reads have found since it was added or reset.
#[derive(Debug, Default)]
struct Found {
    /// Last frame that was counted.
    frame: u32,
    /// Number of crossings after that frame.
    crossings: u32,
    crossed: Option<Trouble>,
}

/// Crossings that reads find of a cloth, shared with pending reads. A reset replaces the log, so
/// that reads requested before it do not affect the new one.
#[derive(Debug, Clone, Default)]
pub(crate) struct CrossingLog(Arc<Mutex<Found>>);

impl CrossingLog {
    /// Completes the device's report of a cloth after a frame. Reads may arrive in any order.
    pub(crate) fn complete(
        &self,
        id: ClothId,
        crossings: Option<&Crossings>,
        report: &mut ContactReport,
    ) {
        // The entries are plain values, so a poisoned lock is safe.
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (report.crossings, report.crossed) = (found.crossings, found.crossed);
        if crossings.is_some_and(|crossings| crossings.add_to(id, report)) {
            found.crossed = report.crossed;
            // A read of an earlier frame adds its crossings but not the present count.
            if report.frames >= found.frame {
                (found.frame, found.crossings) = (report.frames, report.crossings);
            }
        }
    }
}

/// Bodies in triangle contact of the last recorded frame, with their positions after it.
#[derive(Debug)]
pub(crate) struct CrossingScene {
    /// Cloths, then colliders.
    pub(crate) bodies: Vec<TriangleBody>,
    /// Positions of the rows of all bodies in the world \[m\]; rows of cloths are computed from
    /// their particles.
    pub(crate) rows: Vec<Vec3>,
    /// Cloths with their local spaces.
    pub(crate) cloths: Vec<(ClothId, ContactCloth)>,
}

impl CrossingScene {
    /// Cloths, besides the requested ones, that may cross a requested one.
    pub(crate) fn others(&self, asked: &[ClothId]) -> Vec<ClothId> {
        let asked: HashSet<&ClothId> = asked.iter().collect();
        let cloths = (0..).zip(&self.bodies).zip(&self.cloths);
        // Bodies of cloths come first, in the order of `cloths`.
        let (own, rest): (Vec<_>, Vec<_>) = cloths.partition(|(_, (id, _))| asked.contains(id));
        let meets = |index: u32, body: &TriangleBody| {
            own.iter().any(|&((other, it), _)| body.wants(index, it, other))
        };
        let rest = rest.into_iter().filter(|&((index, body), _)| meets(index, body));
        rest.map(|(_, (id, _))| *id).collect()
    }

    /// Counts the crossings of the requested cloths with themselves, with colliders and with all
    /// cloths whose particles are given.
    pub(crate) fn count<'a>(
        &self,
        asked: &[ClothId],
        particles: impl Iterator<Item = (ClothId, &'a [Particle])>,
    ) -> Crossings {
        let asked: HashSet<&ClothId> = asked.iter().collect();
        let indices = self.cloths.iter().zip(0..).map(|((id, _), index)| (*id, index));
        let indices: HashMap<ClothId, u32> = indices.collect();
        let mut all = self.rows.clone();
        let mut is_known: Vec<bool> = self.bodies.iter().map(|body| !body.is_cloth()).collect();
        let mut is_asked = vec![false; self.bodies.len()];
        for (id, particles) in particles {
            let Some(&index) = indices.get(&id) else { continue };
            let index = index as usize;
            let space = &self.cloths[index].1;
            let rows = &mut all[self.bodies[index].rows.clone()];
            for (row, particle) in rows.iter_mut().zip(Particle::rows(particles)) {
                *row = in_world(space, particle);
            }
            is_known[index] = true;
            is_asked[index] = asked.contains(&id);
        }
        let all = find_crossings(&self.bodies, &all, |pair| {
            let [a, b] = pair.map(|index| index as usize);
            // Only pairs with known positions, and with a requested cloth.
            is_known[a] && is_known[b] && (is_asked[a] || is_asked[b])
        });
        Crossings { indices, all }
    }
}

/// Crossings after a frame.
#[derive(Debug)]
pub(crate) struct Crossings {
    /// Body index of each participating cloth; cloths come first.
    indices: HashMap<ClothId, u32>,
    /// Both bodies and the position \[m\] of each crossing.
    all: Vec<([u32; 2], Vec3)>,
}

impl Crossings {
    /// Adds the crossings to the report of a cloth; returns false if the cloth did not take part.
    fn add_to(&self, id: ClothId, report: &mut ContactReport) -> bool {
        let Some(&index) = self.indices.get(&id) else { return false };
        let is_cloth = |body: u32| (body as usize) < self.indices.len();
        report_crossings(index, self.all.iter().copied(), is_cloth, report);
        true
    }
}
