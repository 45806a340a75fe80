//! Minimization of the length of intersection contours: Volino and Magnenat-Thalmann 2006.

use glam::Vec3;
use poplin_geometry::Sets;
use poplin_host::{NO_FACE, Surface};
use rayon::prelude::*;

use super::{Crossing, Tangle};
use crate::triangle_contact::memory::TriangleContact;

/// Lower bound on the squared sine of the angle between an edge and a face in the gradient of the
/// contour length, which is singular where the edge is parallel to the face.
const GRAZING: f32 = 0.05;

/// Edges around an intersection that are displaced with it, with a weight that falls with distance:
/// displaced by itself it would be pulled back at once. Long contours get one more ring per
/// [`CROSSINGS_PER_RING`] crossings.
const RINGS: usize = 5;

/// See [`RINGS`].
const CROSSINGS_PER_RING: usize = 2;

/// Adjacency of the rows of a surface, in compressed sparse rows (CSR).
struct Neighbours {
    /// Start of the neighbours of each row, prefix sum, shape `[row_count + 1]`.
    begins: Vec<u32>,
    /// Neighbouring rows.
    rows: Vec<u32>,
}

impl Neighbours {
    /// Builds the adjacency from the edges of a surface.
    fn of(surface: &Surface) -> Self {
        let mut begins = vec![0u32; surface.rest.len() + 1];
        surface.edges.iter().flatten().for_each(|&row| begins[row as usize] += 1);
        let mut sum = 0;
        // Counts -> exclusive prefix sum.
        for begin in &mut begins {
            sum += std::mem::replace(begin, sum);
        }
        let mut rows = vec![0; sum as usize];
        // Scatter: each begin advances to the end of its row, and is shifted back below.
        for &[a, b] in &surface.edges {
            for (from, to) in [(a, b), (b, a)] {
                let slot = &mut begins[from as usize];
                rows[*slot as usize] = to;
                *slot += 1;
            }
        }
        begins.rotate_right(1);
        begins[0] = 0;
        Self { begins, rows }
    }

    /// Returns `rows` and all rows within `rings` edges of them, with weights that fall linearly
    /// from 1.
    fn around(&self, rows: &[u32], rings: usize) -> Vec<(u32, f32)> {
        let mut is_seen = vec![false; self.begins.len()];
        let mut found: Vec<(u32, f32)> = Vec::new();
        let mut ring: Vec<u32> = rows.to_vec();
        ring.iter().for_each(|&row| is_seen[row as usize] = true);
        for index in 0..rings {
            let part = (rings - index) as f32 / rings as f32;
            found.extend(ring.iter().map(|&row| (row, part)));
            let mut next = Vec::new();
            for row in ring {
                let row = row as usize;
                for &to in &self.rows[self.begins[row] as usize..self.begins[row + 1] as usize] {
                    if !std::mem::replace(&mut is_seen[to as usize], true) {
                        next.push(to);
                    }
                }
            }
            ring = next;
        }
        found
    }
}

impl TriangleContact {
    /// Adds displacements that shorten the contours of a tangle: directions of a length of at most
    /// 1, divided between both sides by inverse mass.
    pub(super) fn shorten(&self, tangle: &Tangle, crossings: &mut [Crossing], sum: &mut [Vec3]) {
        let pair = tangle.pair;
        let bodies = pair.map(|index| &self.bodies[index as usize]);
        let is_own = pair[0] == pair[1];
        let is_cloth = bodies[1].is_cloth();
        let neighbours = [0, 1].map(|side: usize| Neighbours::of(&bodies[side].surface));
        // Pairs of faces that intersect at each crossing: the crossed face with each face of the
        // edge.
        let mut ties: Vec<([u32; 2], u32)> = Vec::new();
        for (index, crossing) in (0..).zip(crossings.iter()) {
            let side = usize::from(crossing.side);
            for face in bodies[side].surface.wings[crossing.edge as usize] {
                if face != NO_FACE {
                    let mut faces = [face, crossing.face];
                    if side == 1 || is_own && face > crossing.face {
                        faces.swap(0, 1);
                    }
                    ties.push((faces, index));
                }
            }
        }
        ties.sort_unstable();
        // Two crossings of the same two faces are the ends of one segment of the contour.
        let mut links: Vec<[u32; 2]> = Vec::new();
        let mut slopes = vec![Vec3::ZERO; crossings.len()];
        for ends in ties.chunk_by(|a, b| a.0 == b.0) {
            let &[(_, a), (_, b)] = ends else { continue };
            links.push([a, b]);
            let (first, second) = (&crossings[a as usize], &crossings[b as usize]);
            let Some(along) = (second.at - first.at).try_normalize() else { continue };
            // Both ends of the segment move towards each other.
            slopes[a as usize] += self.slope(first, along);
            slopes[b as usize] += self.slope(second, -along);
        }
        // A contour is a connected component of crossings; it is closed if each has two segments.
        let mut degrees = vec![0; crossings.len()];
        links.iter().flatten().for_each(|&index| degrees[index as usize] += 1);
        let mut sets = Sets::new(crossings.len());
        links.iter().for_each(|&[a, b]| sets.join(a, b));
        if is_own {
            self.label(crossings, &links);
        }
        let mut order: Vec<(u32, u32)> =
            (0..crossings.len() as u32).map(|index| (sets.root(index), index)).collect();
        order.sort_unstable();
        for contour in order.chunk_by(|a, b| a.0 == b.0) {
            let members = || contour.iter().map(|&(_, index)| index as usize);
            // The gradient moves the edge's side against the other one: the sign flips for edges of
            // side 1.
            let signed = |index: usize| {
                if crossings[index].label == 0 { slopes[index] } else { -slopes[index] }
            };
            let total: Vec3 = members().map(signed).sum();
            // Rows of both sides, and the regions that the contour cuts off from each side.
            let mut rows: [Vec<u32>; 2] = Default::default();
            let mut regions: [Vec<u32>; 2] = Default::default();
            for index in members() {
                let crossing = &crossings[index];
                let (label, side) = (usize::from(crossing.label), usize::from(crossing.side));
                rows[label].extend(crossing.ends);
                rows[1 - label].extend(crossing.corners);
                for row in crossing.ends {
                    let local = row as usize - bodies[side].rows.start;
                    regions[label].extend(tangle.regions[side].get(local).filter(|it| **it != 0));
                }
            }
            for k in 0..2 {
                regions[k].sort_unstable();
                regions[k].dedup();
                let side = if is_own { 0 } else { k };
                let begin = bodies[side].rows.start as u32;
                let all = (begin..).zip(&tangle.regions[side]);
                let is_cut = |region: &u32| regions[k].binary_search(region).is_ok();
                rows[k].extend(all.filter(|(_, region)| is_cut(region)).map(|(row, _)| row));
                rows[k].sort_unstable();
                rows[k].dedup();
            }
            // Regions that leave a collider through its nearest face need no other direction.
            if !is_cloth && !regions[0].is_empty() {
                continue;
            }
            let mean = |rows: &[u32]| {
                let all = rows.iter().map(|&row| self.inverse_mass[row as usize]);
                all.sum::<f32>() / rows.len().max(1) as f32
            };
            // Each side moves in proportion to its mean inverse mass.
            let weights = [mean(&rows[0]), mean(&rows[1])];
            let weight = weights[0] + weights[1];
            if weight == 0.0 {
                continue;
            }
            // A contour that cuts off regions of both surfaces does not become shorter when they
            // approach each other, for example around a tube.
            let is_closed = members().all(|index| degrees[index] == 2);
            let is_mutual = is_closed && regions.iter().all(|regions| !regions.is_empty());
            if is_mutual {
                for k in 0..2 {
                    let sides = if is_own { [0, 0] } else { [k, 1 - k] };
                    let step = weights[k] / weight;
                    self.attract(tangle, sides, [&regions[k], &regions[1 - k]], step, sum);
                }
            }
            let direction = if is_mutual { Vec3::ZERO } else { total.normalize_or_zero() };
            for (k, sign) in [(0, 1.0), (1, -1.0)] {
                let step = direction * (sign * weights[k] / weight);
                let side = if is_own { 0 } else { k };
                if step != Vec3::ZERO {
                    let begin = bodies[side].rows.start;
                    rows[k].iter_mut().for_each(|row| *row -= begin as u32);
                    // The cut-off rows move by the full step, the rings around them by less.
                    let rings = RINGS + contour.len() / CROSSINGS_PER_RING;
                    for (row, part) in neighbours[side].around(&rows[k], rings) {
                        sum[begin + row as usize] += step * part;
                    }
                }
            }
            for index in members() {
                let crossing = &crossings[index];
                // Local displacement of each crossing, bounded by 1, in addition to that of the
                // whole contour.
                let slope = slopes[index] / (1.0 + slopes[index].length());
                let [edge, face] = [mean(&crossing.ends), mean(&crossing.corners)];
                if edge + face > 0.0 {
                    let part = slope * (0.5 / (edge + face));
                    crossing.ends.iter().for_each(|&row| sum[row as usize] += part * edge);
                    crossing.corners.iter().for_each(|&row| sum[row as usize] -= part * face);
                }
            }
        }
    }

    /// Displaces the regions of one side of a contour towards the nearest face of the other side's
    /// regions: beyond it they are on the correct side.
    fn attract(
        &self,
        tangle: &Tangle,
        sides: [usize; 2],
        regions: [&[u32]; 2],
        step: f32,
        sum: &mut [Vec3],
    ) {
        let [own, other] = sides.map(|side| &self.bodies[tangle.pair[side] as usize]);
        let begin = own.rows.start;
        let is_other = |corners: &[u32; 3]| {
            corners.iter().any(|&corner| {
                let region = tangle.regions[sides[1]][corner as usize];
                regions[1].binary_search(&region).is_ok()
            })
        };
        let rows = tangle.regions[sides[0]].par_iter().enumerate();
        let rows = rows.filter(|(_, region)| regions[0].binary_search(region).is_ok());
        let steps: Vec<(usize, Vec3)> = rows
            .map(|(local, _)| {
                let nearest = self.nearest(other, self.start[begin + local], is_other);
                (begin + local, nearest.map_or(Vec3::ZERO, |it| -it.delta.normalize_or_zero()))
            })
            .collect();
        steps.into_iter().for_each(|(row, to)| sum[row] += to * step);
    }

    /// Displacement of an edge relative to the face that it crosses that shortens a contour segment
    /// fastest (negative gradient of its length). `along` is the unit direction of the segment from
    /// the crossing, in the plane of the face.
    fn slope(&self, crossing: &Crossing, along: Vec3) -> Vec3 {
        let [a, b, c] = crossing.corners.map(|row| self.start[row as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let [p, q] = crossing.ends.map(|row| self.start[row as usize]);
        let edge = (q - p).normalize_or_zero();
        let sine = edge.dot(normal);
        // A displacement d of the edge slides the crossing by d - e (n . d) / (n . e); its length
        // along t falls fastest for d = t - n (e . t) / (n . e).
        along - normal * (edge.dot(along) * sine / (sine * sine).max(GRAZING))
    }

    /// Assigns each crossing of a self-intersection to one of the two sheets that meet along its
    /// contour.
    fn label(&self, crossings: &mut [Crossing], links: &[[u32; 2]]) {
        const NONE: u8 = 2;
        crossings.iter_mut().for_each(|crossing| crossing.label = NONE);
        let mut ends: Vec<[u32; 2]> = links.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        // Neighbours of each crossing, found by binary search.
        ends.sort_unstable();
        let mut stack = Vec::new();
        for first in 0..crossings.len() {
            if crossings[first].label != NONE {
                continue;
            }
            crossings[first].label = 0;
            stack.push(first as u32);
            while let Some(index) = stack.pop() {
                let begin = ends.partition_point(|&[from, _]| from < index);
                let Crossing { face, label, .. } = crossings[index as usize];
                for &[_, to] in ends[begin..].iter().take_while(|&&[from, _]| from == index) {
                    let next = &mut crossings[to as usize];
                    if next.label == NONE {
                        // Crossings of one face have their edges on the same sheet; otherwise edge
                        // and face swap sheets.
                        next.label = if next.face == face { label } else { 1 - label };
                        stack.push(to);
                    }
                }
            }
        }
    }
}
