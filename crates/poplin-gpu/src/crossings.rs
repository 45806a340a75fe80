//! What is crossed in a state that is read. No shader can count it exactly: the host does, once the particles have arrived.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use glam::Vec3;
use poplin_host::{ClothId, TriangleBody, find_crossings, in_world, report_crossings};
use poplin_layout::ContactCloth;
use poplin_model::{ContactReport, Particle, Trouble};

/// What reads found crossed of a cloth since it was added or reset.
#[derive(Debug, Default)]
struct Found {
    /// The last frame that was counted.
    frame: u32,
    /// What is crossed after it.
    crossings: u32,
    crossed: Option<Trouble>,
}

/// What reads find crossed of a cloth, shared with those that are on the way: what was asked for before a reset is of the cloth before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CrossingLog(Arc<Mutex<Found>>);

impl CrossingLog {
    /// Completes what the device reports of the cloth after a frame. Reads may arrive in any order.
    pub(crate) fn complete(
        &self,
        id: ClothId,
        crossings: Option<&Crossings>,
        report: &mut ContactReport,
    ) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (report.crossings, report.crossed) = (found.crossings, found.crossed);
        if crossings.is_some_and(|crossings| crossings.add_to(id, report)) {
            found.crossed = report.crossed;
            if report.frames >= found.frame {
                (found.frame, found.crossings) = (report.frames, report.crossings);
            }
        }
    }
}

/// Who took part in contact of triangles in the last recorded frame, and where that is after it.
#[derive(Debug)]
pub(crate) struct CrossingScene {
    /// Cloths, then colliders.
    pub(crate) bodies: Vec<TriangleBody>,
    /// Rows of all bodies in the world \[m\]; those of cloths follow from their particles.
    pub(crate) rows: Vec<Vec3>,
    /// The cloths with their local spaces.
    pub(crate) cloths: Vec<(ClothId, ContactCloth)>,
}

impl CrossingScene {
    /// The cloths that may cross one of those that are asked for, but these themselves.
    pub(crate) fn others(&self, asked: &[ClothId]) -> Vec<ClothId> {
        let asked: HashSet<&ClothId> = asked.iter().collect();
        let cloths = (0..).zip(&self.bodies).zip(&self.cloths);
        let (own, rest): (Vec<_>, Vec<_>) = cloths.partition(|(_, (id, _))| asked.contains(id));
        let meets = |index: u32, body: &TriangleBody| {
            own.iter().any(|&((other, it), _)| body.wants(index, it, other))
        };
        let rest = rest.into_iter().filter(|&((index, body), _)| meets(index, body));
        rest.map(|(_, (id, _))| *id).collect()
    }

    /// Counts what is crossed of the cloths that are asked for, with themselves, colliders and all cloths whose particles are there.
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
            is_known[a] && is_known[b] && (is_asked[a] || is_asked[b])
        });
        Crossings { indices, all }
    }
}

/// What is crossed after a frame.
#[derive(Debug)]
pub(crate) struct Crossings {
    /// The cloths that took part, by their bodies, which come first.
    indices: HashMap<ClothId, u32>,
    /// Both bodies of each crossing, and where it is \[m\].
    all: Vec<([u32; 2], Vec3)>,
}

impl Crossings {
    /// Adds them to the report of a cloth, if it took part.
    fn add_to(&self, id: ClothId, report: &mut ContactReport) -> bool {
        let Some(&index) = self.indices.get(&id) else { return false };
        let is_cloth = |body: u32| (body as usize) < self.indices.len();
        report_crossings(index, self.all.iter().copied(), is_cloth, report);
        true
    }
}
