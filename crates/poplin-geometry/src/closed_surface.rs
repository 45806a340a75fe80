//! Check whether triangles enclose a volume, and repair of their orientation and small holes.

use std::collections::BTreeMap;
use std::fmt;

use glam::DVec3;

use crate::{Bounds, Sets, first_at_positions, six_volumes, solid_angle, triangle_area, wide};

/// Maximum area of a hole that is filled, as a fraction of the surface. A connected part with
/// several holes is an open tube if they exceed this fraction of its own area.
const SMALL_HOLE: f64 = 0.02;
/// Maximum area of all holes of a connected part, as a fraction of its own area.
const MOST_OPEN: f64 = 0.25;
/// Maximum volume of a part that encloses nothing, as a fraction of its area to the power of 3/2:
/// a square board of 1/600,000 of its width has that volume.
const NO_VOLUME: f64 = 6e-7;

/// Repairs of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// Flipped triangles: they faced against their neighbours, or inwards with their whole
    /// connected part.
    pub flipped_triangles: usize,
    /// Filled small holes, each closed by a fan around its center.
    pub filled_holes: usize,
    /// Connected parts that enclose no volume and are left out: sheets, open tubes, sheets drawn
    /// from both sides.
    pub left_out_parts: usize,
    /// Triangles of these parts.
    pub left_out_triangles: usize,
}

/// Reasons why triangles do not enclose a volume.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OpenSurface {
    /// Number of holes that are too large to fill.
    pub holes: usize,
    /// Number of edges around these holes.
    pub hole_edges: usize,
    /// Number of non-manifold edges: three or more triangles meet there and do not face each other
    /// in pairs.
    pub branching_edges: usize,
    /// Connected parts whose triangles lie on each other, so that they enclose nothing.
    pub flat_parts: usize,
    /// Center of the largest hole, of the first non-manifold edge, or of the first such part
    /// \[m\].
    pub near: [f32; 3],
}

impl Repairs {
    /// Tests whether anything was repaired.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

impl fmt::Display for Repairs {
    /// Formats as `12 triangles flipped, 1 small hole filled, 1 part without a volume left out (2
    /// triangles)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, noun: &str| {
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        let flipped = (self.flipped_triangles > 0)
            .then(|| format!("{} flipped", counted(self.flipped_triangles, "triangle")));
        let filled = (self.filled_holes > 0)
            .then(|| format!("{} filled", counted(self.filled_holes, "small hole")));
        let left_out = (self.left_out_parts > 0).then(|| {
            let parts = counted(self.left_out_parts, "part");
            let triangles = counted(self.left_out_triangles, "triangle");
            format!("{parts} without a volume left out ({triangles})")
        });
        let parts: Vec<_> = flipped.into_iter().chain(filled).chain(left_out).collect();
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for OpenSurface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.near;
        let near = format!("near ({x:.3}, {y:.3}, {z:.3}) m");
        if self.holes > 0 {
            let plural = if self.holes == 1 { "" } else { "s" };
            write!(
                f,
                "it has {} large hole{plural} with {} edges, the largest {near}",
                self.holes, self.hole_edges
            )
        } else if self.flat_parts > 0 {
            write!(f, "its triangles lie on each other and enclose nothing, {near}")
        } else {
            write!(
                f,
                "more than two triangles meet at {} of its edges, the first {near}",
                self.branching_edges
            )
        }
    }
}

/// Side of a triangle (half-edge).
#[derive(Clone, Copy)]
struct Side {
    triangle: usize,
    /// True if the side runs from the lower vertex index to the higher one.
    is_rising: bool,
}

/// Triangles that enclose a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedSurface {
    /// Vertices \[m\]: those given, then the centers of the filled holes.
    pub positions: Vec<[f32; 3]>,
    /// Corners of the triangles, those of filled holes last.
    pub triangles: Vec<[u32; 3]>,
    /// Repairs that were necessary.
    pub repairs: Repairs,
    /// Boundary vertices of each filled hole.
    pub holes: Vec<Vec<u32>>,
}

/// Orients all triangles of each connected part consistently and outwards, fills small holes, and
/// leaves out parts that enclose no volume while they are the smaller part of the surface.
///
/// Vertices at equal positions count as one. A closed part that faces inwards is a cavity and stays
/// one if it lies inside larger parts, by their winding number.
///
/// # Errors
/// [`OpenSurface`] if the repaired triangles still enclose no volume.
pub fn close_surface(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
) -> Result<ClosedSurface, OpenSurface> {
    let mut surface = Surface {
        twin: first_at_positions(positions.iter().copied().map(wide)),
        positions: positions.to_vec(),
        triangles: triangles.to_vec(),
    };
    surface.face_alike();
    let (mut solid, hollow) = surface.divided(surface.parts()?)?;
    let mut holes = Vec::new();
    for part in &mut solid {
        surface.fill_holes(part);
        holes.append(&mut part.holes);
    }
    surface.face_outwards(&solid);
    let mut is_kept = vec![true; surface.triangles.len()];
    hollow.iter().flat_map(|part| &part.triangles).for_each(|&triangle| is_kept[triangle] = false);
    let before = surface.triangles.iter().zip(triangles).zip(&is_kept);
    let repairs = Repairs {
        flipped_triangles: before
            .filter(|((now, before), is_kept)| **is_kept && now != before)
            .count(),
        filled_holes: holes.len(),
        left_out_parts: hollow.len(),
        left_out_triangles: is_kept.iter().filter(|is_kept| !**is_kept).count(),
    };
    let Surface { positions, triangles, .. } = surface;
    let kept = triangles.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    Ok(ClosedSurface { positions, triangles: kept.map(|it| it.0).collect(), repairs, holes })
}

/// Triangles that are connected by edges.
struct Part {
    /// Indices of the triangles, those of filled holes last.
    triangles: Vec<usize>,
    /// Boundary vertices of each of its holes.
    holes: Vec<Vec<u32>>,
}

struct Surface {
    positions: Vec<[f32; 3]>,
    /// First vertex at the same position, per vertex.
    twin: Vec<u32>,
    triangles: Vec<[u32; 3]>,
}

impl Surface {
    fn position(&self, vertex: u32) -> DVec3 {
        wide(self.positions[vertex as usize])
    }

    /// Vertices of the three sides of a triangle, from and to; no sides if the triangle has no
    /// area.
    fn sides(&self, triangle: usize) -> impl Iterator<Item = [u32; 2]> + use<> {
        let [a, b, c] = self.triangles[triangle].map(|vertex| self.twin[vertex as usize]);
        let is_flat = a == b || b == c || c == a;
        [[a, b], [b, c], [c, a]].into_iter().filter(move |_| !is_flat)
    }

    /// Sides at each edge; the key has the lower vertex first.
    fn edges(&self) -> BTreeMap<[u32; 2], Vec<Side>> {
        let mut edges: BTreeMap<_, Vec<Side>> = BTreeMap::new();
        for triangle in 0..self.triangles.len() {
            for [from, to] in self.sides(triangle) {
                let is_rising = from < to;
                let edge = if is_rising { [from, to] } else { [to, from] };
                edges.entry(edge).or_default().push(Side { triangle, is_rising });
            }
        }
        edges
    }

    /// Corners of a triangle \[m\].
    fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|vertex| self.position(vertex))
    }

    /// Makes neighbours face alike: across edges of two triangles, all face as most of them do.
    fn face_alike(&mut self) {
        let mut neighbours: Vec<Vec<(usize, bool)>> = vec![Vec::new(); self.triangles.len()];
        for sides in self.edges().values() {
            if let [a, b] = sides[..] {
                // Neighbours face alike if they run along their shared edge in opposite directions.
                let is_alike = a.is_rising != b.is_rising;
                neighbours[a.triangle].push((b.triangle, is_alike));
                neighbours[b.triangle].push((a.triangle, is_alike));
            }
        }
        let mut facing: Vec<Option<bool>> = vec![None; self.triangles.len()];
        for first in 0..self.triangles.len() {
            if facing[first].is_some() {
                continue;
            }
            facing[first] = Some(true);
            let mut part = vec![first];
            let mut next = 0;
            // Breadth-first search, which carries the orientation of `first`.
            while next < part.len() {
                let triangle = part[next];
                next += 1;
                for &(other, is_alike) in &neighbours[triangle] {
                    if facing[other].is_none() {
                        facing[other] = facing[triangle].map(|it| it == is_alike);
                        part.push(other);
                    }
                }
            }
            let of_facing = |is_as_first: bool| {
                let those = part.iter().filter(|&&it| facing[it] == Some(is_as_first));
                those.copied().collect::<Vec<_>>()
            };
            let (alike, against) = (of_facing(true), of_facing(false));
            self.flip_all(if against.len() > alike.len() { &alike } else { &against });
        }
    }

    /// Returns the connected parts with their holes, without triangles that have no area.
    fn parts(&self) -> Result<Vec<Part>, OpenSurface> {
        let edges = self.edges();
        let mut sets = Sets::new(self.triangles.len());
        for sides in edges.values() {
            sides[1..]
                .iter()
                .for_each(|side| sets.join(sides[0].triangle as u32, side.triangle as u32));
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut part_of = vec![usize::MAX; self.triangles.len()];
        for triangle in (0..self.triangles.len()).filter(|&it| self.sides(it).next().is_some()) {
            let root = sets.root(triangle as u32) as usize;
            if part_of[root] == usize::MAX {
                part_of[root] = parts.len();
                parts.push(Part { triangles: Vec::new(), holes: Vec::new() });
            }
            part_of[triangle] = part_of[root];
            parts[part_of[root]].triangles.push(triangle);
        }
        // Boundary: sides without an opposite side, as the successors of each vertex.
        let mut next: BTreeMap<(usize, u32), Vec<u32>> = BTreeMap::new();
        let mut branching: Vec<[u32; 2]> = Vec::new();
        for (edge, sides) in edges {
            let part = part_of[sides[0].triangle];
            let rising = sides.iter().filter(|side| side.is_rising).count();
            match (rising, sides.len() - rising) {
                // Equal numbers in both directions: the triangles face each other in pairs.
                (a, b) if a == b => {}
                (1, 0) => next.entry((part, edge[0])).or_default().push(edge[1]),
                (0, 1) => next.entry((part, edge[1])).or_default().push(edge[0]),
                _ => branching.push(edge),
            }
        }
        if let Some(&[a, b]) = branching.first() {
            let near = (0.5 * (self.position(a) + self.position(b))).as_vec3().to_array();
            let branching_edges = branching.len();
            return Err(OpenSurface { branching_edges, near, ..OpenSurface::default() });
        }
        // Follows a boundary from side to side until it closes.
        while let Some((&(part, first), _)) = next.first_key_value() {
            let (mut hole, mut at) = (Vec::new(), first);
            while let Some(followers) = next.get_mut(&(part, at)) {
                let to = followers.pop();
                if followers.is_empty() {
                    next.remove(&(part, at));
                }
                hole.push(at);
                match to {
                    Some(to) if to != first => at = to,
                    _ => break,
                }
            }
            parts[part].holes.push(hole);
        }
        Ok(parts)
    }

    fn middle(&self, hole: &[u32]) -> DVec3 {
        hole.iter().map(|&vertex| self.position(vertex)).sum::<DVec3>() / hole.len() as f64
    }

    /// Triangles of the fan that would fill a hole.
    fn fan(&self, hole: &[u32]) -> impl Iterator<Item = [DVec3; 3]> {
        let center = self.middle(hole);
        let ends = hole.iter().zip(hole.iter().cycle().skip(1));
        ends.map(move |(&a, &b)| [center, self.position(b), self.position(a)])
    }

    fn area_of(&self, part: &Part) -> f64 {
        part.triangles.iter().map(|&triangle| triangle_area(self.corners(triangle))).sum()
    }

    /// Area of the fan that would fill a hole.
    fn fan_area(&self, hole: &[u32]) -> f64 {
        self.fan(hole).map(triangle_area).sum()
    }

    /// Tests whether a part has holes that are too large to fill, in a surface of this area.
    fn is_open(&self, part: &Part, surface_area: f64) -> bool {
        let own_area = self.area_of(part);
        let areas: Vec<f64> = part.holes.iter().map(|hole| self.fan_area(hole)).collect();
        areas.iter().filter(|area| **area > SMALL_HOLE * own_area).count() > 1
            || areas.iter().any(|area| *area > SMALL_HOLE * surface_area)
            || areas.iter().sum::<f64>() > MOST_OPEN * own_area
    }

    /// Tests whether a part whose holes are filled has nothing between its triangles.
    fn is_flat(&self, part: &Part) -> bool {
        let fans = part.holes.iter().flat_map(|hole| self.fan(hole));
        let six = self.volume_of(part) + six_volumes(fans);
        six.abs() <= 6.0 * NO_VOLUME * self.area_of(part).powf(1.5)
    }

    /// Divides parts into those with a volume and those without: open or flat.
    ///
    /// # Errors
    /// [`OpenSurface`] if those without are most of the surface, by area.
    fn divided(&self, parts: Vec<Part>) -> Result<(Vec<Part>, Vec<Part>), OpenSurface> {
        let area_of_all = |parts: &[Part]| parts.iter().map(|it| self.area_of(it)).sum::<f64>();
        let area = area_of_all(&parts);
        let (mut open, closed): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| self.is_open(part, area));
        let (flat, solid): (Vec<_>, Vec<_>) = closed.into_iter().partition(|it| self.is_flat(it));
        if area_of_all(&solid) > 0.5 * area {
            open.extend(flat);
            return Ok((solid, open));
        }
        let holes = || open.iter().flat_map(|part| &part.holes);
        let largest = holes().max_by(|a, b| self.fan_area(a).total_cmp(&self.fan_area(b)));
        let of_flat = || {
            let first = flat.first().map_or([DVec3::ZERO; 3], |it| self.corners(it.triangles[0]));
            first.iter().sum::<DVec3>() / 3.0
        };
        let near = largest.map_or_else(of_flat, |hole| self.middle(hole));
        Err(OpenSurface {
            holes: holes().count(),
            hole_edges: holes().map(Vec::len).sum(),
            flat_parts: flat.len(),
            near: near.as_vec3().to_array(),
            ..OpenSurface::default()
        })
    }

    /// Fills the holes of a part.
    fn fill_holes(&mut self, part: &mut Part) {
        for hole in &part.holes {
            let vertex = self.positions.len() as u32;
            self.positions.push(self.middle(hole).as_vec3().to_array());
            self.twin.push(vertex);
            for (k, &a) in hole.iter().enumerate() {
                part.triangles.push(self.triangles.len());
                self.triangles.push([hole[(k + 1) % hole.len()], a, vertex]);
            }
        }
    }

    /// Lets parts with a volume face outwards, those that lie inside larger ones as
    /// they did.
    fn face_outwards(&mut self, parts: &[Part]) {
        let measured = parts.iter().map(|part| (self.volume_of(part), part, self.box_of(part)));
        let mut solid: Vec<(f64, &Part, Bounds)> = measured.collect();
        // All inside out: the largest part decides.
        solid.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        if solid.iter().map(|it| it.0).sum::<f64>() < 0.0 {
            for (volume, part, _) in &mut solid {
                self.flip_all(&part.triangles);
                *volume = -*volume;
            }
        }
        for (k, &(volume, part, own)) in solid.iter().enumerate() {
            let holds = |it: &Bounds| it.low.cmple(own.low).all() && it.high.cmpge(own.high).all();
            let larger = solid[..k].iter().filter(|(_, _, bounds)| holds(bounds));
            let point = self.corners(part.triangles[0])[0];
            if volume < 0.0 && larger.map(|it| self.winding_of(it.1, point)).sum::<f64>() < 0.5 {
                self.flip_all(&part.triangles);
            }
        }
    }

    /// Winding number of a part around a point: 1 inside, 0 outside if it faces outwards.
    fn winding_of(&self, part: &Part, point: DVec3) -> f64 {
        let seen = |&triangle: &usize| self.corners(triangle).map(|corner| corner - point);
        let angles = part.triangles.iter().map(|triangle| solid_angle(seen(triangle)));
        angles.sum::<f64>() / (4.0 * std::f64::consts::PI)
    }

    /// Signed volume enclosed by a part, times 6; below 0 if it faces inwards.
    fn volume_of(&self, part: &Part) -> f64 {
        six_volumes(part.triangles.iter().map(|&triangle| self.corners(triangle)))
    }

    fn box_of(&self, part: &Part) -> Bounds {
        Bounds::of(part.triangles.iter().flat_map(|&triangle| self.corners(triangle)))
    }

    fn flip_all(&mut self, triangles: &[usize]) {
        triangles.iter().for_each(|&triangle| self.triangles[triangle].swap(1, 2));
    }
}

#[cfg(test)]
mod tests;
