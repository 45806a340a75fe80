//! Neighbours of a vertex, unfolded into a plane.

use std::collections::HashMap;
use std::f64::consts::TAU;

use glam::{DMat3, DVec2, DVec3};

/// Most neighbours of a patch: the number of stencils is proportional to their cube.
const MAX_RING: usize = 10;

/// The triangles around a vertex, laid flat: lengths from the vertex and the ratios of the angles
/// at it are kept.
#[derive(Debug, Clone)]
pub(super) struct Patch {
    /// Neighbours in order around the vertex, in the direction of the corners of its triangles.
    pub(super) ring: Vec<u32>,
    /// Position of each neighbour relative to the vertex.
    pub(super) places: Vec<DVec2>,
    /// False at a border.
    pub(super) is_closed: bool,
    /// Sum of the angles of the triangles at the vertex.
    pub(super) angle: f64,
}

impl Patch {
    /// Unfolds the triangles around a vertex, given the two other corners of each in their order;
    /// `None` unless they form one fan of at most [`MAX_RING`] neighbours.
    pub(super) fn unfold(vertex: u32, others: &[[u32; 2]], positions: &[DVec3]) -> Option<Self> {
        let mut links: HashMap<u32, Vec<u32>> = HashMap::new();
        for &[a, b] in others {
            links.entry(a).or_default().push(b);
            links.entry(b).or_default().push(a);
        }
        let count = links.len();
        if count > MAX_RING || links.values().any(|ends| ends.len() > 2) {
            return None;
        }
        let is_end = |neighbour: &&u32| links[*neighbour].len() == 1;
        let is_closed = !links.keys().any(|neighbour| is_end(&neighbour));
        let mut at = *links.keys().filter(|it| is_closed || is_end(it)).min()?;
        let mut ring = vec![at];
        while let Some(&next) = links[&at].iter().filter(|next| !ring.contains(next)).min() {
            ring.push(next);
            at = next;
        }
        if ring.len() != count || (is_closed && count < 3) {
            return None;
        }
        if others.contains(&[ring[1], ring[0]]) {
            ring.reverse();
        }
        let edges: Vec<DVec3> = (ring.iter())
            .map(|&neighbour| positions[neighbour as usize] - positions[vertex as usize])
            .collect();
        let mut angles = vec![0.0];
        for pair in edges.windows(2) {
            angles.push(angles[angles.len() - 1] + pair[0].angle_between(pair[1]));
        }
        let last = angles[count - 1];
        let angle = if is_closed { last + edges[count - 1].angle_between(edges[0]) } else { last };
        let scale = if is_closed { TAU / angle } else { 1.0 };
        let place =
            |(edge, angle): (&DVec3, &f64)| DVec2::from_angle(scale * angle) * edge.length();
        let places: Vec<DVec2> = edges.iter().zip(&angles).map(place).collect();
        (angle > 1e-3 && places.iter().all(|place| place.is_finite())).then_some(Self {
            ring,
            places,
            is_closed,
            angle,
        })
    }

    /// Index of a neighbour in the ring.
    pub(super) fn slot(&self, neighbour: u32) -> Option<usize> {
        self.ring.iter().position(|&it| it == neighbour)
    }

    /// True if two entries of the ring form a triangle with the vertex.
    pub(super) fn are_beside(&self, i: usize, j: usize) -> bool {
        let count = self.ring.len();
        i.abs_diff(j) == 1 || (self.is_closed && i.abs_diff(j) == count - 1)
    }

    /// Angle of a neighbour in the plane.
    fn angle_of(&self, slot: usize) -> f64 {
        self.places[slot].to_angle()
    }

    /// A third corner beside a neighbour: true if it follows it.
    fn beside(&self, slot: usize) -> (u32, bool) {
        let count = self.ring.len();
        if slot + 1 < count || self.is_closed {
            (self.ring[(slot + 1) % count], true)
        } else {
            (self.ring[slot - 1], false)
        }
    }

    /// Matrix that takes tensors from the plane of this patch to that of the patch of its
    /// neighbour in `slot`, which has this vertex: turned so that the common edge keeps its
    /// direction, and mirrored if the two patches go around in opposite directions.
    pub(super) fn transport(&self, vertex: u32, slot: usize, to: &Self) -> Option<DMat3> {
        let back = to.slot(vertex)?;
        let (third, follows) = self.beside(slot);
        let there = to.slot(third)?;
        let next = (back + 1) % to.ring.len();
        let follows_there = there == next && (to.is_closed || back + 1 < to.ring.len());
        let mirror = DVec3::new(1.0, 1.0, if follows == follows_there { -1.0 } else { 1.0 });
        let turn = turned(to.angle_of(back)) * DMat3::from_diagonal(mirror);
        Some(turn * turned(-self.angle_of(slot)))
    }

    /// Angle of the normal of the straight line through two places, or through one and the vertex.
    pub(super) fn normal_angle(&self, slots: &[usize]) -> f64 {
        let (Some(&first), Some(&last)) = (slots.first(), slots.last()) else { return 0.0 };
        let from = if first == last { DVec2::ZERO } else { self.places[last] };
        (self.places[first] - from).perp().to_angle()
    }
}

/// Components of the symmetric tensor `sum(factors p p^T) / 2` in the orthonormal basis
/// `(xx + yy) / sqrt(2)`, `(xx - yy) / sqrt(2)`, `sqrt(2) xy`.
pub(super) fn tensor(factors: [f64; 4], places: [DVec2; 4]) -> DVec3 {
    let sum = |of: fn(DVec2) -> f64| -> f64 {
        0.5 * factors.into_iter().zip(places).map(|(factor, place)| factor * of(place)).sum::<f64>()
    };
    let [xx, yy, xy] = [sum(|p| p.x * p.x), sum(|p| p.y * p.y), sum(|p| p.x * p.y)];
    DVec3::new(0.5f64.sqrt() * (xx + yy), 0.5f64.sqrt() * (xx - yy), 2.0f64.sqrt() * xy)
}

/// Matrix that turns tensors by an angle.
pub(super) fn turned(angle: f64) -> DMat3 {
    let (sin, cos) = (2.0 * angle).sin_cos();
    DMat3::from_cols(DVec3::X, DVec3::new(0.0, cos, sin), DVec3::new(0.0, -sin, cos))
}

/// Matrix from tensors to their components `nn`, `tt`, `sqrt(2) nt` along a normal n and its
/// tangent t.
pub(super) fn components(normal_angle: f64) -> DMat3 {
    let half = 0.5f64.sqrt();
    let mix = DMat3::from_cols(DVec3::new(half, half, 0.0), DVec3::new(half, -half, 0.0), DVec3::Z);
    mix * turned(-normal_angle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_keep_their_direction_in_the_plane_of_a_neighbour() {
        // Two triangles on either side of the edge 0-1, flat, so that both planes are one.
        let flat = [[0.0, 0.0], [1.0, 0.2], [0.3, 0.8], [0.6, -0.9]].map(DVec2::from_array);
        let positions = flat.map(|it| it.extend(0.0));
        let around = |vertex, others: [[u32; 2]; 2]| {
            Patch::unfold(vertex, &others, &positions).expect("a fan")
        };
        let first = around(0, [[1, 2], [3, 1]]);
        assert_eq!(first.ring, [3, 1, 2]);
        for others in [[[2, 0], [0, 3]], [[0, 2], [3, 0]]] {
            let second = around(1, others);
            let [there, back] = [first.slot(1), second.slot(0)].map(Option::unwrap);
            let to = first.transport(0, there, &second).unwrap();
            let from = second.transport(1, back, &first).unwrap();
            assert!((from * to).abs_diff_eq(DMat3::IDENTITY, 1e-12));
            // The edge from 2 to 3, in either plane.
            let across = |patch: &Patch| {
                let [a, b] = [2, 3].map(|it| patch.places[patch.slot(it).unwrap()]);
                tensor([2.0, 0.0, 0.0, 0.0], [b - a; 4])
            };
            assert!((to * across(&first)).abs_diff_eq(across(&second), 1e-12), "{others:?}");
        }
    }
}
