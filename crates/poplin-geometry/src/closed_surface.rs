//! Check whether triangles enclose a volume, and repair of their orientation and small holes.

use std::collections::BTreeMap;
use std::fmt;

use glam::DVec3;

use crate::{Bounds, first_at_positions, six_volumes, triangle_area, wide};

/// Maximum area of a hole that is filled, as a fraction of the surface.
const SMALL_HOLE: f64 = 0.02;

/// Repairs of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repairs {
    /// Flipped triangles: they faced against their neighbours, or inwards with their whole
    /// connected part.
    pub flipped_triangles: usize,
    /// Filled small holes, each closed by a fan around its center.
    pub filled_holes: usize,
}

/// Reasons why triangles do not enclose a volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenSurface {
    /// Number of holes that are too large to fill.
    pub holes: usize,
    /// Number of edges around these holes.
    pub hole_edges: usize,
    /// Number of non-manifold edges: three or more triangles meet there and do not face each other
    /// in pairs.
    pub branching_edges: usize,
    /// Center of the largest hole, or of the first non-manifold edge \[m\].
    pub near: [f32; 3],
}

impl Repairs {
    /// Tests whether anything was repaired.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

impl fmt::Display for Repairs {
    /// Formats as `12 triangles flipped, 1 small hole filled`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, noun: &str| {
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        let flipped = (self.flipped_triangles > 0)
            .then(|| format!("{} flipped", counted(self.flipped_triangles, "triangle")));
        let filled = (self.filled_holes > 0)
            .then(|| format!("{} filled", counted(self.filled_holes, "small hole")));
        let parts: Vec<_> = flipped.into_iter().chain(filled).collect();
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

/// Orients all triangles of each connected part consistently and outwards, and fills small holes.
///
/// Vertices at equal positions count as one. A closed part that faces inwards and lies within the
/// bounding box of another part is a cavity and stays one.
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
    let flipped_triangles = surface.orient();
    let holes = surface.fill_holes()?;
    let repairs = Repairs { flipped_triangles, filled_holes: holes.len() };
    let Surface { positions, triangles, .. } = surface;
    Ok(ClosedSurface { positions, triangles, repairs, holes })
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

    /// Orients neighbours consistently, then all parts outwards; returns the number of flipped
    /// triangles.
    fn orient(&mut self) -> usize {
        let mut neighbours: Vec<Vec<(usize, bool)>> = vec![Vec::new(); self.triangles.len()];
        let edges = self.edges();
        for sides in edges.values() {
            if let [a, b] = sides[..] {
                // Neighbours face alike if they run along their shared edge in opposite directions.
                let is_alike = a.is_rising != b.is_rising;
                neighbours[a.triangle].push((b.triangle, is_alike));
                neighbours[b.triangle].push((a.triangle, is_alike));
            }
        }
        let before = self.triangles.clone();
        let mut facing: Vec<Option<bool>> = vec![None; self.triangles.len()];
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for first in 0..self.triangles.len() {
            if facing[first].is_some() {
                continue;
            }
            facing[first] = Some(true);
            let mut part = vec![first];
            let mut next = 0;
            // Breadth-first search through the connected part, which carries the orientation of
            // `first`.
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
            parts.push(part);
        }
        for part in &parts {
            let against = part.iter().filter(|&&it| facing[it] == Some(false));
            let against: Vec<_> = against.copied().collect();
            if !against.is_empty() {
                self.flip_all(&against);
                // A part with flipped triangles has no reliable orientation: its volume decides.
                if self.volume_of(part) < 0.0 {
                    self.flip_all(part);
                }
            }
        }
        // An open surface has no volume to tell inside from outside.
        if edges.values().all(|sides| sides.len() != 1) {
            if parts.iter().map(|part| self.volume_of(part)).sum::<f64>() < 0.0 {
                parts.iter().for_each(|part| self.flip_all(part));
            }
            let boxes: Vec<_> = parts.iter().map(|part| self.box_of(part)).collect();
            for (k, part) in parts.iter().enumerate() {
                let own = boxes[k];
                let holds = |it: &Bounds| {
                    it.low.cmple(own.low).all() && it.high.cmpge(own.high).all() && *it != own
                };
                if self.volume_of(part) < 0.0 && !boxes.iter().any(holds) {
                    self.flip_all(part);
                }
            }
        }
        self.triangles.iter().zip(before).filter(|(now, before)| *now != before).count()
    }

    /// Signed volume enclosed by some triangles, times 6; below 0 if they face inwards.
    fn volume_of(&self, part: &[usize]) -> f64 {
        six_volumes(part.iter().map(|&triangle| self.corners(triangle)))
    }

    /// Bounding box of some triangles.
    fn box_of(&self, part: &[usize]) -> Bounds {
        Bounds::of(part.iter().flat_map(|&triangle| self.corners(triangle)))
    }

    fn flip_all(&mut self, part: &[usize]) {
        part.iter().for_each(|&triangle| self.triangles[triangle].swap(1, 2));
    }

    /// Fills small holes; returns the boundary vertices of each.
    fn fill_holes(&mut self) -> Result<Vec<Vec<u32>>, OpenSurface> {
        // Boundary: sides without an opposite side, as the successors of each vertex.
        let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut branching: Vec<[u32; 2]> = Vec::new();
        for (edge, sides) in self.edges() {
            let rising = sides.iter().filter(|side| side.is_rising).count();
            match (rising, sides.len() - rising) {
                // Equal numbers in both directions: the triangles face each other in pairs.
                (a, b) if a == b => {}
                (1, 0) => next.entry(edge[0]).or_default().push(edge[1]),
                (0, 1) => next.entry(edge[1]).or_default().push(edge[0]),
                _ => branching.push(edge),
            }
        }
        let near = |p: DVec3| p.as_vec3().to_array();
        if let Some(&[a, b]) = branching.first() {
            let near = near(0.5 * (self.position(a) + self.position(b)));
            return Err(OpenSurface {
                holes: 0,
                hole_edges: 0,
                branching_edges: branching.len(),
                near,
            });
        }
        let mut holes: Vec<Vec<u32>> = Vec::new();
        // Follows the boundary from side to side until it closes.
        while let Some((&first, _)) = next.first_key_value() {
            let (mut hole, mut at) = (Vec::new(), first);
            while let Some(followers) = next.get_mut(&at) {
                let to = followers.pop();
                if followers.is_empty() {
                    next.remove(&at);
                }
                hole.push(at);
                match to {
                    Some(to) if to != first => at = to,
                    _ => break,
                }
            }
            holes.push(hole);
        }
        let all = 0..self.triangles.len();
        let whole: f64 = all.map(|triangle| triangle_area(self.corners(triangle))).sum();
        let middle = |hole: &[u32]| {
            hole.iter().map(|&vertex| self.position(vertex)).sum::<DVec3>() / hole.len() as f64
        };
        // Area of the fan that would fill the hole.
        let fan_area = |hole: &[u32]| {
            let center = middle(hole);
            let ends = hole.iter().zip(hole.iter().cycle().skip(1));
            ends.map(|(&a, &b)| triangle_area([center, self.position(a), self.position(b)]))
                .sum::<f64>()
        };
        let areas: Vec<_> = holes.iter().map(|hole| fan_area(hole)).collect();
        let large: Vec<_> = (0..holes.len()).filter(|&k| areas[k] > SMALL_HOLE * whole).collect();
        if let Some(&largest) = large.iter().max_by(|&&a, &&b| areas[a].total_cmp(&areas[b])) {
            return Err(OpenSurface {
                holes: large.len(),
                hole_edges: large.iter().map(|&k| holes[k].len()).sum(),
                branching_edges: 0,
                near: near(middle(&holes[largest])),
            });
        }
        let centers: Vec<_> = holes.iter().map(|hole| near(middle(hole))).collect();
        for (hole, center) in holes.iter().zip(centers) {
            let vertex = self.positions.len() as u32;
            self.positions.push(center);
            self.twin.push(vertex);
            for (k, &a) in hole.iter().enumerate() {
                self.triangles.push([hole[(k + 1) % hole.len()], a, vertex]);
            }
        }
        Ok(holes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct TriangleMesh {
        vertices: Vec<[f32; 3]>,
        triangles: Vec<[u32; 3]>,
    }

    fn close_surface(mesh: &TriangleMesh) -> Result<(TriangleMesh, Repairs), OpenSurface> {
        let closed = super::close_surface(&mesh.vertices, &mesh.triangles)?;
        let mesh = TriangleMesh { vertices: closed.positions, triangles: closed.triangles };
        Ok((mesh, closed.repairs))
    }

    /// Ball of quads with a pole of one vertex at each end, as triangles.
    fn ball() -> TriangleMesh {
        let (rings, segments) = (9_u32, 16_u32);
        let mut vertices = vec![[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
        for ring in 1..rings {
            let polar = std::f32::consts::PI * ring as f32 / rings as f32;
            for k in 0..segments {
                let angle = std::f32::consts::TAU * k as f32 / segments as f32;
                vertices.push([polar.sin() * angle.cos(), polar.cos(), polar.sin() * angle.sin()]);
            }
        }
        let at = |ring: u32, k: u32| 2 + (ring - 1) * segments + k % segments;
        let mut triangles = Vec::new();
        for k in 0..segments {
            triangles.push([0, at(1, k + 1), at(1, k)]);
            triangles.push([1, at(rings - 1, k), at(rings - 1, k + 1)]);
            for ring in 1..rings - 1 {
                let [a, b, c, d] =
                    [at(ring, k), at(ring, k + 1), at(ring + 1, k), at(ring + 1, k + 1)];
                triangles.extend([[a, b, c], [b, d, c]]);
            }
        }
        TriangleMesh { vertices, triangles }
    }

    fn changed(mesh: &TriangleMesh, change: impl FnOnce(&mut Vec<[u32; 3]>)) -> TriangleMesh {
        let mut triangles = mesh.triangles.clone();
        change(&mut triangles);
        TriangleMesh { triangles, ..mesh.clone() }
    }

    fn volume(mesh: &TriangleMesh) -> f64 {
        let corner = |vertex: u32| wide(mesh.vertices[vertex as usize]);
        six_volumes(mesh.triangles.iter().map(|corners| corners.map(corner))) / 6.0
    }

    #[test]
    fn a_closed_surface_is_unchanged() {
        assert!((3.5..4.2).contains(&volume(&ball())), "{}", volume(&ball()));
        let (mesh, repairs) = close_surface(&ball()).unwrap();
        assert_eq!((mesh, repairs), (ball(), Repairs::default()));
    }

    #[test]
    fn triangles_that_face_the_wrong_way_are_flipped() {
        let all = ball().triangles.len();
        for flipped in [1, 7, all / 2 + 3, all] {
            let wrong = changed(&ball(), |triangles| {
                triangles[..flipped].iter_mut().for_each(|triangle| triangle.swap(1, 2));
            });
            let (mesh, repairs) = close_surface(&wrong).unwrap();
            assert_eq!(repairs, Repairs { flipped_triangles: flipped, filled_holes: 0 });
            assert_eq!(volume(&mesh), volume(&ball()));
        }
        let repairs = Repairs { flipped_triangles: 1, filled_holes: 2 };
        assert_eq!(repairs.to_string(), "1 triangle flipped, 2 small holes filled");
    }

    #[test]
    fn vertices_at_equal_positions_are_merged() {
        let sound = ball();
        let vertices: Vec<_> =
            sound.triangles.iter().flat_map(|t| t.map(|k| sound.vertices[k as usize])).collect();
        let triangles: Vec<_> =
            (0..sound.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        let soup = TriangleMesh { vertices, triangles };
        assert_eq!(close_surface(&soup).unwrap().1, Repairs::default());
    }

    #[test]
    fn small_holes_are_filled_and_large_holes_are_located() {
        let (closed, repairs) = close_surface(&changed(&ball(), |t| {
            t.swap_remove(20);
        }))
        .unwrap();
        assert_eq!(repairs, Repairs { flipped_triangles: 0, filled_holes: 1 });
        assert_eq!(close_surface(&closed).unwrap().1, Repairs::default());
        assert!((volume(&closed) - volume(&ball())).abs() < 0.02);
        // Without all triangles above the equator.
        let bowl = changed(&ball(), |triangles| {
            triangles.retain(|t| t.iter().all(|&k| ball().vertices[k as usize][1] < 0.3));
        });
        let open = close_surface(&bowl).unwrap_err();
        assert_eq!((open.holes, open.hole_edges), (1, 16));
        assert!(open.near[0].abs() < 1e-6 && open.near[1] > 0.0, "{open}");
        let vertices = (0..16).map(|k| [(k % 4) as f32, 0.0, (k / 4) as f32]).collect();
        let firsts = (0..12).filter(|k| k % 4 < 3);
        let triangles = firsts.flat_map(|k| [[k, k + 4, k + 1], [k + 1, k + 4, k + 5]]).collect();
        let sheet = TriangleMesh { vertices, triangles };
        assert_eq!(close_surface(&sheet).unwrap_err().hole_edges, 12);
    }

    #[test]
    fn cavities_stay_and_non_manifold_fins_are_rejected() {
        let inner: Vec<_> = ball().vertices.iter().map(|p| p.map(|x| 0.5 * x)).collect();
        let count = ball().vertices.len() as u32;
        let vertices: Vec<_> = ball().vertices.iter().copied().chain(inner).collect();
        let inwards = ball()
            .triangles
            .iter()
            .map(|&[a, b, c]| [a, c, b].map(|k| k + count))
            .collect::<Vec<_>>();
        let triangles: Vec<_> = ball().triangles.iter().copied().chain(inwards).collect();
        let hollow = TriangleMesh { vertices, triangles };
        assert_eq!(close_surface(&hollow).unwrap().1, Repairs::default());
        // The same two balls side by side: the inverted one is no cavity there and is flipped.
        let shifted = |(k, &[x, y, z]): (usize, &[f32; 3])| {
            [if k < count as usize { x } else { x + 2.0 }, y, z]
        };
        let vertices: Vec<_> = hollow.vertices.iter().enumerate().map(shifted).collect();
        let aside = TriangleMesh { vertices, ..hollow };
        let flipped_triangles = ball().triangles.len();
        assert_eq!(
            close_surface(&aside).unwrap().1,
            Repairs { flipped_triangles, filled_holes: 0 }
        );
        let fin = changed(&ball(), |triangles| {
            let [a, b, _] = triangles[40];
            triangles.push([a, b, 0]);
        });
        let open = close_surface(&fin).unwrap_err();
        assert_eq!((open.holes, open.branching_edges), (0, 1), "{open}");
    }
}
