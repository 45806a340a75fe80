//! Crossings that pins and colliders force, which no pair of the response contains.

use poplin_geometry::properly_intersect;
use rayon::prelude::*;

use super::BLOCK;
use crate::triangle_contact::body::Body;
use crate::triangle_contact::closest::{edge_edge, vertex_face};
use crate::triangle_contact::memory::TriangleContact;
use crate::triangle_contact::pairs::BodyPair;
use crate::triangle_contact::path::Path;

impl TriangleContact {
    /// True if the row is immovable: pinned, or of a collider.
    fn is_fixed(&self, row: usize) -> bool {
        self.inverse_mass[row] == 0.0
    }

    /// Returns the edges of a body with two immovable ends, as rows.
    fn fixed_edges(&self, body: &Body) -> Vec<[usize; 2]> {
        let edges = body.surface.edges.iter();
        let all = edges.map(|edge| edge.map(|end| body.rows.start + end as usize));
        all.filter(|ends| ends.iter().all(|&end| self.is_fixed(end))).collect()
    }

    /// Finds the faces of a cloth with three immovable corners that intersect a ball or capsule.
    /// Each is returned as a row of the ball or capsule and the three corners.
    fn forced_into(&self, cloth: &Body, round: &Body) -> Vec<[u32; 4]> {
        let mut found = Vec::new();
        if round.is_cloth() || round.is_plane || !round.surface.is_round() {
            return found;
        }
        let (first, last) = (round.rows.start, round.rows.end - 1);
        let ends = [first, last].map(|row| self.start[row]);
        let radii = [first, last].map(|row| self.hard[row]);
        let mut path = Path::NOTHING;
        (0..2).for_each(|k| path.include(&Path::still(ends[k], radii[k])));
        cloth.still_faces.visit(&path, |_, corners| {
            let rows = corners.map(|corner| cloth.rows.start + corner as usize);
            if !rows.iter().all(|&row| self.is_fixed(row)) {
                return;
            }
            let [a, b, c] = rows.map(|row| self.start[row]);
            // An end of the axis within its radius of the face, or an edge of the face within the
            // interpolated radius of the axis.
            let is_end_near =
                (0..2).any(|k| vertex_face(ends[k], [a, b, c]).delta.length() < radii[k]);
            let is_side_near = || {
                [[a, b], [b, c], [c, a]].into_iter().any(|side| {
                    let closest = edge_edge(side, ends);
                    let radius =
                        radii[0] * closest.weights[2].abs() + radii[1] * closest.weights[3].abs();
                    closest.delta.length() < radius
                })
            };
            if is_end_near || is_side_near() {
                let [a, b, c] = rows.map(|row| row as u32);
                found.push([first as u32, a, b, c]);
            }
        });
        found.sort_unstable();
        found
    }

    /// Tests whether immovable edges cross immovable faces, and records immovable faces that
    /// intersect balls or capsules. Such pairs have no movable corner and are no candidates.
    pub(super) fn crosses_by_force(&mut self, near: &[BodyPair]) -> bool {
        let cloths = self.bodies.iter().map(|body| body.is_cloth().then_some(body));
        let fixed: Vec<Vec<[usize; 2]>> =
            cloths.map(|body| body.map_or(Vec::new(), |body| self.fixed_edges(body))).collect();
        if fixed.iter().all(Vec::is_empty) {
            return false;
        }
        let own = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].meets_itself);
        let mut pairs: Vec<BodyPair> = own.map(|a| [a, a]).chain(near.iter().copied()).collect();
        pairs.retain(|pair| !fixed[pair[0] as usize].is_empty());
        let has_moved = |index: u32| {
            let mut rows = self.bodies[index as usize].rows.clone();
            rows.any(|row| self.is_fixed(row) && self.begun[row] != self.start[row])
        };
        // Immovable rows can start to cross only if some of them moved in this slice.
        pairs.retain(|&[a, b]| has_moved(a) || has_moved(b));
        if pairs.is_empty() {
            return false;
        }
        self.fit_faces();
        for pair in &pairs {
            let [cloth, round] = pair.map(|index| &self.bodies[index as usize]);
            let forced = self.forced_into(cloth, round);
            self.tangles.forced.extend(forced);
        }
        let at = |row: usize| self.start[row];
        let wide = |row: usize| at(row).as_dvec3().to_array();
        pairs.iter().any(|pair| {
            let [first, second] = pair.map(|index| &self.bodies[index as usize]);
            let others = if second.is_cloth() {
                fixed[pair[1] as usize].clone()
            } else {
                self.fixed_edges(second)
            };
            [(&fixed[pair[0] as usize], second), (&others, first)].into_iter().any(
                |(edges, body)| {
                    edges.par_iter().with_min_len(BLOCK).any(|&ends| {
                        let [a, b] = ends.map(at);
                        let mut crosses = false;
                        body.still_faces.visit(&Path::between(&[a, b]), |_, corners| {
                            let corners = corners.map(|corner| body.rows.start + corner as usize);
                            // Tested in f64.
                            crosses |= corners
                                .iter()
                                .all(|&row| self.is_fixed(row) && !ends.contains(&row))
                                && properly_intersect(ends.map(wide), corners.map(wide));
                        });
                        crosses
                    })
                },
            )
        })
    }

    /// Records each cloth that may meet a body whose fastest immovable row moved more than half as
    /// far as the fastest of all.
    pub(in crate::triangle_contact) fn note_hurry(&mut self, near: &[BodyPair]) {
        let fastest = |index: usize| {
            let rows = self.bodies[index].rows.clone().filter(|&row| self.inverse_mass[row] == 0.0);
            let moved = rows.map(|row| ((self.target[row] - self.start[row]).length(), row));
            moved.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0))
        };
        // Each body by itself, and both orders of each pair.
        let own = (0..self.bodies.len() as u32).map(|index| [index, index]);
        let pairs = own.chain(near.iter().flat_map(|&[a, b]| [[a, b], [b, a]]));
        let speeds: Vec<(f32, usize)> = (0..self.bodies.len()).map(fastest).collect();
        let most = speeds.iter().map(|it| it.0).fold(0.0, f32::max);
        let hurried =
            pairs.filter(|&[cloth, _]| self.is_cloth(cloth)).filter_map(|[cloth, other]| {
                let (speed, row) = speeds[other as usize];
                (speed > 0.5 * most).then(|| ([cloth, other], self.start[row]))
            });
        self.tangles.hurried = hurried.collect();
    }
}
