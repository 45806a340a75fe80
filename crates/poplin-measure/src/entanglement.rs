//! How entangled cloths are: particles that came close, edges that went through triangles.
//!
//! Both counts are of the positions alone, without thickness or history, and do not depend on the order of anything. What
//! is not finite does not count: no pair with such a particle, no crossing of such an edge or triangle.

use poplin_host::properly_intersect;

use crate::box_tree::{Bounds, BoxTree};

/// What [`EntanglementCounter::measure`] finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entanglement {
    /// Particle pairs that are close and were not neighbours at rest, see [`EntanglementCounter::close_pairs`].
    pub close_pairs: usize,
    /// Distance of the nearest of these pairs \[m\]; infinite if there is none.
    pub nearest_pair_m: f64,
    /// Edges through triangles, see [`EntanglementCounter::crossings`].
    pub crossings: usize,
}

/// Counts entanglement of one cloth, or of several in one list of particles.
#[derive(Debug, Clone)]
pub struct EntanglementCounter {
    /// Rest positions \[m\], shape `[particle_count]`.
    rest: Vec<[f64; 3]>,
    /// Index of the cloth of each particle, shape `[particle_count]`.
    cloths: Vec<usize>,
    /// Corners, as passed.
    triangles: Vec<[u32; 3]>,
    /// The sides of the triangles, each once, in ascending order.
    edges: Vec<[u32; 2]>,
}

impl EntanglementCounter {
    /// A counter for particles of these rest positions \[m\] and triangles of these corners.
    ///
    /// `cloth_ends` are the ends of the cloths in the list of particles, a prefix sum of their particle counts without the
    /// leading 0. Without any, all is one cloth.
    ///
    /// # Panics
    /// If a corner or an end is past the particles, or the ends descend.
    pub fn new(rest: &[[f32; 3]], triangles: &[[u32; 3]], cloth_ends: &[usize]) -> Self {
        assert!(
            triangles.iter().flatten().all(|&corner| (corner as usize) < rest.len()),
            "a corner is past the particles"
        );
        assert!(
            cloth_ends.is_sorted() && cloth_ends.last().is_none_or(|&end| end <= rest.len()),
            "not ends of cloths"
        );
        let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let mut edges: Vec<_> =
            sides.filter(|[a, b]| a != b).map(|[a, b]| [a.min(b), a.max(b)]).collect();
        edges.sort_unstable();
        edges.dedup();
        Self {
            rest: rest.iter().map(wide).collect(),
            cloths: (0..rest.len())
                .map(|particle| cloth_ends.partition_point(|&end| end <= particle))
                .collect(),
            triangles: triangles.to_vec(),
            edges,
        }
    }

    /// Both counts at once.
    ///
    /// # Panics
    /// As [`Self::close_pairs`] and [`Self::crossings`].
    pub fn measure<const N: usize>(
        &self,
        positions: &[[f32; N]],
        distance: f64,
        neighbour_distance: f64,
    ) -> Entanglement {
        let (close_pairs, nearest_pair_m) =
            self.close_pairs(positions, distance, neighbour_distance);
        Entanglement { close_pairs, nearest_pair_m, crossings: self.crossings(positions) }
    }

    /// Particle pairs closer than `distance` \[m\] of which both are of different cloths or were not closer than
    /// `neighbour_distance` \[m\] at rest, and the distance of the nearest of them \[m\], infinite if there is none.
    ///
    /// Of a position the first three components count \[m\], so that particles `xyzw` do too. Distances are compared as squares
    /// in double precision; exactly at a distance is not closer. Nothing is closer than a distance of 0 or below.
    ///
    /// # Panics
    /// If there are not as many positions as rest positions.
    #[must_use]
    pub fn close_pairs<const N: usize>(
        &self,
        positions: &[[f32; N]],
        distance: f64,
        neighbour_distance: f64,
    ) -> (usize, f64) {
        let points = self.points(positions);
        if distance.is_nan() || distance <= 0.0 {
            return (0, f64::INFINITY);
        }
        let boxes = || {
            (0..)
                .zip(&points)
                .filter_map(|(particle, &point)| Some((particle, Bounds::of([point])?)))
        };
        let tree = BoxTree::new(boxes());
        let (mut count, mut nearest) = (0, f64::INFINITY);
        for (a, bounds) in boxes() {
            tree.visit(&bounds.grown(distance), |b| {
                let square = square_distance(points[a as usize], points[b as usize]);
                if a < b
                    && square < distance * distance
                    && !self.are_neighbours(a, b, neighbour_distance)
                {
                    count += 1;
                    nearest = nearest.min(square);
                }
            });
        }
        (count, nearest.sqrt())
    }

    /// Pairs of an edge and a triangle without a common particle that properly intersect.
    ///
    /// Properly: the ends of the edge lie strictly on both sides of the triangle's plane, and the edge passes the plane
    /// strictly inside the triangle. To touch is not to cross: not with an end on the triangle, nor with the edge through a
    /// corner or a side of it, nor in its plane; triangles without area are never crossed. The signs are exact for all finite
    /// positions (Shewchuk, 1997, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates), which
    /// are as in [`Self::close_pairs`].
    ///
    /// # Panics
    /// If there are not as many positions as rest positions.
    #[must_use]
    pub fn crossings<const N: usize>(&self, positions: &[[f32; N]]) -> usize {
        let points = self.points(positions);
        let at = |particle: u32| points[particle as usize];
        // What has two corners at one position crosses nothing; a cloth that has collapsed is full of it.
        let has_extent = |[a, b, c]: [[f64; 3]; 3]| a != b && b != c && c != a;
        let triangles =
            (0..).zip(&self.triangles).filter(|(_, corners)| has_extent(corners.map(at)));
        let boxes = triangles.filter_map(|(i, corners)| Some((i, Bounds::of(corners.map(at))?)));
        let tree = BoxTree::new(boxes);
        let mut count = 0;
        for edge in self.edges.iter().filter(|&&[a, b]| at(a) != at(b)) {
            let Some(bounds) = Bounds::of(edge.map(at)) else { continue };
            tree.visit(&bounds, |triangle| {
                let corners = &self.triangles[triangle as usize];
                // With a common particle the signs say no as well, but zeros are the slowest to find.
                let apart = !edge.iter().any(|end| corners.contains(end));
                count += usize::from(apart && properly_intersect(edge.map(at), corners.map(at)));
            });
        }
        count
    }

    fn points<const N: usize>(&self, positions: &[[f32; N]]) -> Vec<[f64; 3]> {
        assert_eq!(positions.len(), self.rest.len(), "positions and rest positions");
        positions.iter().map(wide).collect()
    }

    fn are_neighbours(&self, a: u32, b: u32, distance: f64) -> bool {
        let [a, b] = [a, b].map(|particle| particle as usize);
        let is_one_cloth = self.cloths[a] == self.cloths[b];
        is_one_cloth
            && distance > 0.0
            && square_distance(self.rest[a], self.rest[b]) < distance * distance
    }
}

fn wide<const N: usize>(position: &[f32; N]) -> [f64; 3] {
    const { assert!(N >= 3, "a position has three coordinates") };
    std::array::from_fn(|k| f64::from(position[k]))
}

fn square_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum()
}
