//! State of triangle contact that is kept from slice to slice.

use glam::Vec3;
use poplin_host::{ContactMultipliers, PairMultipliers, TriangleScene, least_thickness};

use super::body::Body;
use super::course::Course;
use super::pairs::{BodyPair, Candidate};
use super::path::Path;
use super::planes::Touch;

/// Largest number of candidates: 3.8 GB of them, and about as much again during a search.
const MOST_CANDIDATES: u32 = 1 << 26;

/// Statistics of the last slice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Number of rounds.
    pub rounds: u32,
    /// Number of searches for candidates of all rows.
    pub searches: u32,
    /// Number of searches for candidates of some rows.
    pub updates: u32,
    /// Number of pairs in reach in the last round.
    pub pairs: u32,
    /// Number of candidates in the lists.
    pub candidates: u32,
    /// Number of pairs that push.
    pub contacts: u32,
    /// Smallest gap \[m\] between surfaces without thickness; infinite if no pair is near.
    pub least_gap: f32,
    /// Number of rows whose moves were truncated in the last round.
    pub held: u32,
    /// Number of pairs that pins or colliders force to cross, whatever the particles do.
    pub forced: u32,
    /// Number of edge-face crossings before the slice (exact).
    pub crossings: u32,
    /// True if an immovable row moved farther than the rounds of a slice can follow.
    pub is_hurried: bool,
    /// Number of candidates that did not fit into the lists (a lower bound), 0 if all fit. After an
    /// overflow no row moves.
    pub unlisted: u32,
}

/// Rows of all bodies and the pairs between them, kept from slice to slice. A row is a vertex of
/// one body.
#[derive(Debug, Clone, Default)]
pub struct TriangleContact {
    /// Bodies that take part.
    pub bodies: Vec<Body>,
    /// Position of each row \[m\], free of crossings.
    pub start: Vec<Vec3>,
    /// Target position of each row in this slice \[m\].
    pub target: Vec<Vec3>,
    /// Position of each row at the start of the slice \[m\], which immovable rows move from.
    pub(super) begun: Vec<Vec3>,
    /// Inverse mass of each row [1/kg]; 0: immovable.
    pub inverse_mass: Vec<f32>,
    /// Contact radius of each row \[m\]: half the thickness of a cloth, or the radius of a ball or
    /// capsule.
    pub radius: Vec<f32>,
    /// Portion of the radius that is solid collider \[m\].
    pub hard: Vec<f32>,
    /// Rest position of each row \[m\]; the normal for a plane.
    pub rest: Vec<Vec3>,
    /// Displacement of the previous position of each row \[m\], which keeps position corrections of
    /// contact out of the velocity.
    pub carry: Vec<Vec3>,
    /// Position of each row after the solver, before contact \[m\].
    pub(super) wanted: Vec<Vec3>,
    /// Row positions at the start of the frame \[m\].
    pub(super) frame_start: Vec<Vec3>,
    /// Row positions of colliders at the end of the frame \[m\].
    pub(super) ends: Vec<Vec3>,
    /// Rotation of each row of a turning sphere, capsule or plane over the frame \[rad\].
    pub(super) spins: Vec<Vec3>,
    /// Fraction of the frame that the slice takes.
    pub(super) slice_part: f32,
    /// Participants of the last frame.
    pub(super) scene: TriangleScene,
    /// Motion bound of each row for which the candidate lists hold.
    pub(super) courses: Vec<Course>,
    /// Displacement of each row by contact in the last slice \[m\], the estimate for the next one.
    pub(super) pushed: Vec<Vec3>,
    /// Swept box of each row over the lifetime of the lists; empty forces a full search.
    pub(super) paths: Vec<Path>,
    /// Age of the lists \[slices\].
    pub(super) clock: f32,
    /// Age at which the lists expire \[slices\].
    pub(super) horizon: f32,
    /// Longest round that the lists cover, as a fraction of a slice.
    pub(super) longest_part: f32,
    /// Pairs of bodies that may collide during the lifetime of the lists, self pairs included.
    pub(super) near: Vec<BodyPair>,
    /// Rows whose moves were truncated in this slice.
    pub(super) is_held: Vec<bool>,
    /// Rows whose moves were truncated in the last slice.
    pub(super) was_held: Vec<bool>,
    /// Rows whose truncation the lists already account for.
    pub(super) is_loose: Vec<bool>,
    /// True if every row may be truncated in this round.
    pub(super) is_careful: bool,
    /// Largest deviation of a row from its path by contact in a round \[m\].
    pub(super) reserve: f32,
    /// Candidate pairs: the result of the last full search, sorted by rank, followed by those of
    /// partial searches since, with duplicates.
    pub candidates: Vec<Candidate>,
    /// Number of sorted candidates.
    pub(super) sorted: usize,
    /// Contact multipliers of the last slice, for the warm start.
    pub(super) held: Vec<PairMultipliers>,
    /// Working memory of a round.
    pub(super) work: super::solve::Work,
    /// Intersections and their displacements.
    pub(super) tangles: super::untangle::Tangles,
    /// Vertices of served cloths on colliders, in order of their rows.
    pub(super) touches: Vec<Touch>,
    /// Edges and faces of served cloths on colliders, in order of their pairs.
    pub(super) links: Vec<Touch>,
    /// Pairs that solves hold in this slice.
    pub(super) served: Vec<PairMultipliers>,
    /// Length of the solver iteration that the multipliers belong to \[s\].
    pub(super) step: f32,
    /// Largest number of rounds of a slice; 0: as many as needed, up to `TRIANGLE_MAX_ROUNDS` and
    /// some late ones.
    pub max_rounds: u32,
    /// Largest number of candidates; 0: 67 million.
    pub max_candidates: u32,
    /// Statistics of the last slice.
    pub report: Report,
}

impl TriangleContact {
    /// Adds a body with its rows after those of all earlier bodies.
    pub fn add(&mut self, mut body: Body, radius: f32, hard: f32) {
        let begin = self.start.len();
        let end = begin + body.surface.rest.len();
        body.rows = begin..end;
        self.rest.extend(&body.surface.rest);
        self.start.extend(&body.surface.rest);
        self.radius.resize(end, radius);
        self.hard.resize(end, hard);
        self.set_row_count(end);
        self.bodies.push(body);
    }

    /// Resizes all per-row arrays. New rows are immovable, with a zero position until it is set.
    pub(super) fn set_row_count(&mut self, count: usize) {
        self.start.resize(count, Vec3::ZERO);
        self.inverse_mass.resize(count, 0.0);
        self.target.resize(count, Vec3::ZERO);
        self.carry.resize(count, Vec3::ZERO);
        self.pushed.resize(count, Vec3::ZERO);
        self.spins.resize(count, Vec3::ZERO);
        for flags in [&mut self.is_held, &mut self.was_held, &mut self.is_loose] {
            flags.resize(count, false);
        }
        self.paths.clear();
    }

    /// Returns the smallest cloth thickness \[m\].
    pub(super) fn least_thickness(&self) -> f32 {
        least_thickness(self.bodies.iter().map(|body| &**body), &self.radius)
    }

    /// Returns the capacity of the candidate lists.
    pub(super) fn most_candidates(&self) -> usize {
        let most = if self.max_candidates == 0 { MOST_CANDIDATES } else { self.max_candidates };
        most as usize
    }

    /// Factor on the multipliers for a solver iteration of this length \[s\].
    pub(super) fn held_scale(&self, step: f32) -> f32 {
        let ratio = if self.step > 0.0 { step / self.step } else { 1.0 };
        // A multiplier is a force times dt^2.
        ratio * ratio
    }

    /// Returns the multipliers of the last slice.
    pub fn multipliers(&self) -> ContactMultipliers {
        ContactMultipliers { step: self.step, pairs: self.held.clone() }
    }

    /// Clears everything; the bodies of the next frame start with these multipliers.
    pub fn set_multipliers(&mut self, multipliers: &ContactMultipliers) {
        self.forget();
        (self.step, self.held) = (multipliers.step, multipliers.pairs.clone());
    }

    /// Allocated bytes.
    pub fn size(&self) -> usize {
        let rows = [&self.start, &self.target, &self.begun, &self.rest, &self.carry, &self.pushed];
        let more = [&self.wanted, &self.frame_start, &self.ends];
        let more = more.map(Vec::capacity);
        let values = [&self.inverse_mass, &self.radius, &self.hard].map(Vec::capacity);
        let flags = [&self.is_held, &self.was_held, &self.is_loose].map(Vec::capacity);
        (rows.map(Vec::capacity).iter().sum::<usize>() + more.iter().sum::<usize>())
            * size_of::<Vec3>()
            + 4 * values.iter().sum::<usize>()
            + flags.iter().sum::<usize>()
            + self.candidates.capacity() * size_of::<Candidate>()
            + size_of::<Touch>() * (self.touches.capacity() + self.links.capacity())
            + size_of::<PairMultipliers>() * (self.held.capacity() + self.served.capacity())
            + self.work.size()
            + self.tangles.size()
    }
}
