//! Regions of a body that lie on the wrong side of an intersection contour, or inside a collider.

use glam::Vec3;
use poplin_geometry::{Sets, six_volumes, solid_angle};
use poplin_host::Surface;

use super::{Crossing, Tangle, tangle_between};
use crate::triangle_contact::memory::TriangleContact;
use crate::triangle_contact::pairs::BodyPair;

impl TriangleContact {
    /// Finds the regions of every pair with crossings, and of cloth parts swallowed by closed
    /// colliders; carries over the stall time of pairs known before.
    pub(super) fn find_regions(&mut self, old: &[Tangle], has_jumped: bool) {
        let crossings = std::mem::take(&mut self.tangles.crossings);
        let mut tangles: Vec<Tangle> = crossings
            .chunk_by(|a, b| a.pair == b.pair)
            .map(|crossings| self.tangle_of(crossings[0].pair, crossings))
            .collect();
        // A part that lies completely inside a collider has no crossings.
        let pairs = if has_jumped {
            self.touching_bodies()
        } else {
            old.iter().map(|it| it.pair).collect()
        };
        let before = |pair: BodyPair| tangle_between(old, pair).filter(|_| !has_jumped);
        for pair in pairs {
            let index = tangles.binary_search_by_key(&pair, |tangle| tangle.pair);
            let found = index.ok().map(|index| &tangles[index]);
            if let Some(tangle) = self.swallowed(pair, found, before(pair)) {
                match index {
                    Ok(index) => tangles[index] = tangle,
                    Err(index) => tangles.insert(index, tangle),
                }
            }
        }
        let mut rest = &crossings[..];
        for tangle in &mut tangles {
            let count = rest.partition_point(|crossing| crossing.pair <= tangle.pair);
            rest = &rest[count..];
            tangle.milestone = count;
            // No progress while at least 3/4 of the crossings of the last milestone remain.
            let is_no_less = |before: &&Tangle| 3 * before.milestone <= 4 * count;
            if let Some(before) = before(tangle.pair).filter(is_no_less) {
                (tangle.milestone, tangle.idle) = (before.milestone, before.idle + self.step);
            }
        }
        self.tangles.crossings = crossings;
        self.tangles.tangles = tangles;
    }

    /// Adds to `found` the components of a cloth that lie inside a closed collider without a
    /// crossing: only components that were inside before, or any if nothing is known from before.
    /// Returns `None` if there is none.
    fn swallowed(
        &self,
        pair: BodyPair,
        found: Option<&Tangle>,
        before: Option<&Tangle>,
    ) -> Option<Tangle> {
        let [cloth, collider] = pair.map(|index| &self.bodies[index as usize]);
        if collider.is_cloth() || !collider.surface.is_closed {
            return None;
        }
        let at = &self.start[collider.rows.clone()];
        let mut sets = sets_of(&cloth.surface, &[]);
        let count = cloth.surface.rest.len();
        let mut is_cut = vec![false; count];
        if let Some(found) = found {
            for row in 0..count as u32 {
                let root = sets.root(row) as usize;
                is_cut[root] |= found.is_crossed[0][row as usize];
            }
        }
        let mut result: Option<Tangle> = None;
        let mut is_in = vec![false; count];
        for row in 0..count as u32 {
            let root = sets.root(row);
            if is_cut[root as usize] {
                continue;
            }
            if root == row {
                // One test per component: its lowest row stands for all.
                let was_in = before.is_none_or(|before| before.regions[0][row as usize] != 0);
                let point = self.start[cloth.rows.start + row as usize];
                is_in[row as usize] = was_in && is_inside(&collider.surface, at, point);
            }
            if is_in[root as usize] {
                let tangle = result.get_or_insert_with(|| {
                    found.cloned().unwrap_or_else(|| Tangle {
                        pair,
                        regions: [vec![0; count], Vec::new()],
                        is_crossed: [vec![false; count], Vec::new()],
                        ..Tangle::default()
                    })
                });
                tangle.regions[0][row as usize] = root + 1;
            }
        }
        result
    }

    /// Builds the tangle of two bodies from their crossings.
    fn tangle_of(&self, pair: BodyPair, crossings: &[Crossing]) -> Tangle {
        let bodies = pair.map(|index| &self.bodies[index as usize]);
        let count = |k: usize| bodies[k].surface.rest.len();
        let mut tangle = Tangle {
            pair,
            regions: [vec![0; count(0)], Vec::new()],
            is_crossed: [vec![false; count(0)], vec![false; count(1)]],
            ..Tangle::default()
        };
        for crossing in crossings {
            // For a self-intersection both sides are body 0.
            let own = usize::from(crossing.side);
            let other = if pair[0] == pair[1] { own } else { 1 - own };
            for row in crossing.ends {
                tangle.is_crossed[own][row as usize - bodies[own].rows.start] = true;
            }
            for row in crossing.corners {
                tangle.is_crossed[other][row as usize - bodies[other].rows.start] = true;
            }
        }
        if bodies[1].is_cloth() {
            for (side, body) in
                bodies.iter().enumerate().take(if pair[0] == pair[1] { 1 } else { 2 })
            {
                let own = crossings.iter().filter(|crossing| usize::from(crossing.side) == side);
                let cut: Vec<u32> = own.map(|crossing| crossing.edge).collect();
                tangle.regions[side] = wrong_side(&body.surface, &cut);
            }
        } else {
            let own = crossings.iter().filter(|crossing| crossing.side == 0).collect::<Vec<_>>();
            tangle.regions[0] = self.behind(pair, &own);
        }
        tangle
    }

    /// Finds the regions of a cloth behind the faces of a collider: components that have an end of
    /// a crossing edge behind a face and none in front.
    fn behind(&self, pair: BodyPair, crossings: &[&Crossing]) -> Vec<u32> {
        let cloth = &self.bodies[pair[0] as usize];
        let sign = self.outside_of(pair[1]);
        let mut cut: Vec<u32> = crossings.iter().map(|crossing| crossing.edge).collect();
        cut.dedup();
        let mut sets = sets_of(&cloth.surface, &cut);
        let count = cloth.surface.rest.len();
        let mut sides = vec![[false; 2]; count];
        for group in crossings.chunk_by(|a, b| a.edge == b.edge) {
            // The crossing nearest to an end decides which side the end is on.
            for (end, is_first) in [(0, true), (1, false)] {
                let next = group.iter().copied().reduce(|a, b| {
                    if (b.along < a.along) == is_first && a.along != b.along { b } else { a }
                });
                let Some(crossing) = next else { continue };
                let [a, b, c] = crossing.corners.map(|row| self.start[row as usize]);
                let row = crossing.ends[end] as usize;
                // Signed volume of the tetrahedron: negative behind the face.
                let height = (b - a).cross(c - a).dot(self.start[row] - a) * sign;
                let root = sets.root((row - cloth.rows.start) as u32) as usize;
                sides[root][usize::from(height < 0.0)] = true;
            }
        }
        (0..count as u32)
            .map(|row| {
                let root = sets.root(row);
                if sides[root as usize] == [false, true] { root + 1 } else { 0 }
            })
            .collect()
    }

    /// Returns 1 if the normals of a collider point outwards, -1 if they point inwards, as those of
    /// a box with left-handed edges.
    pub(super) fn outside_of(&self, collider: u32) -> f32 {
        let body = &self.bodies[collider as usize];
        let is_box = body.is_box;
        let at = &self.start[body.rows.clone()];
        if is_box && volume(&body.surface, at) < 0.0 { -1.0 } else { 1.0 }
    }
}

/// Returns the components of a surface without the edges of `cut`, which are sorted.
fn sets_of(surface: &Surface, cut: &[u32]) -> Sets {
    let mut sets = Sets::new(surface.rest.len());
    let mut cut = cut.iter().peekable();
    for (index, &[a, b]) in (0..).zip(&surface.edges) {
        if cut.next_if(|&&edge| edge == index).is_none() {
            sets.join(a, b);
        }
    }
    sets
}

/// Returns six times the signed volume enclosed by the faces of a surface \[m^3\].
fn volume(surface: &Surface, at: &[Vec3]) -> f64 {
    let corner = |index: u32| at[index as usize].as_dvec3();
    six_volumes(surface.faces.iter().map(|it| it.map(corner)))
}

/// Tests whether a point lies inside a closed surface, by the solid angle of its faces.
fn is_inside(surface: &Surface, at: &[Vec3], point: Vec3) -> bool {
    let corner = |index: u32| (at[index as usize] - point).as_dvec3();
    let angles = surface.faces.iter().map(|it| solid_angle(it.map(corner)));
    // The angles sum to 4 pi inside and to 0 outside.
    angles.sum::<f64>().abs() > std::f64::consts::TAU
}

/// Labels the regions of a cloth on the wrong side; 0 elsewhere. Crossing a cut edge changes sides.
/// In each connected part the smaller of both sides is wrong; of equal ones, the side without its
/// first component. `cut` is sorted and lists an edge once per face that it crosses.
fn wrong_side(surface: &Surface, cut: &[u32]) -> Vec<u32> {
    let count = surface.rest.len();
    let groups = || cut.chunk_by(|a, b| a == b);
    let once: Vec<u32> = groups().map(|group| group[0]).collect();
    let mut parts = sets_of(surface, &once);
    let mut ties: Vec<(u32, u32, bool)> = Vec::new();
    for group in groups() {
        let [a, b] = surface.edges[group[0] as usize].map(|row| parts.root(row));
        // A contour that ends within the cloth leaves both ends in one component.
        if a != b {
            // An edge that crosses an even number of faces ends on the side where it began.
            let is_other = group.len() % 2 == 1;
            ties.extend([(a, b, is_other), (b, a, is_other)]);
        }
    }
    ties.sort_unstable();
    // Rows per component, stored at its root.
    let mut sizes = vec![0u32; count];
    (0..count as u32).for_each(|row| sizes[parts.root(row) as usize] += 1);
    let mut is_other: Vec<Option<bool>> = vec![None; count];
    let mut stack = Vec::new();
    let mut wrong = vec![false; count];
    // Two-coloring of the components: crossing a contour changes the color.
    for first in ties.iter().map(|tie| tie.0) {
        if is_other[first as usize].is_some() {
            continue;
        }
        is_other[first as usize] = Some(false);
        stack.push(first);
        let mut members = Vec::new();
        while let Some(part) = stack.pop() {
            members.push(part as usize);
            let begin = ties.partition_point(|tie| tie.0 < part);
            for &(_, to, flips) in ties[begin..].iter().take_while(|tie| tie.0 == part) {
                if is_other[to as usize].is_none() {
                    is_other[to as usize] = is_other[part as usize].map(|side| side != flips);
                    stack.push(to);
                }
            }
        }
        let size = |side: bool| -> u32 {
            let own = members.iter().filter(|&&part| is_other[part] == Some(side));
            own.map(|&part| sizes[part]).sum()
        };
        // `members` is one connected part, each component with one of two sides.
        let wrong_side = size(true) <= size(false);
        members.iter().for_each(|&part| wrong[part] = is_other[part] == Some(wrong_side));
    }
    (0..count as u32)
        .map(|row| {
            let part = parts.root(row);
            if wrong[part as usize] { part + 1 } else { 0 }
        })
        .collect()
}
