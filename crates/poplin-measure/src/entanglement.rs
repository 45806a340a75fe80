//! Entanglement of cloths: counts of close particle pairs and of edges that cross triangles.
//!
//! Both counts depend only on positions, not on thickness, history or order. Pairs, edges and
//! triangles with a coordinate that is not finite do not count.

use glam::{DVec3, Vec3};
use poplin_geometry::{Bounds, BoxTree, FaceTree, edges_of};

/// Result of [`EntanglementCounter::measure`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entanglement {
    /// Close particle pairs that were not neighbors at rest, see
    /// [`EntanglementCounter::close_pairs`].
    pub close_pairs: usize,
    /// Distance of the nearest of these pairs \[m\]; infinite without pairs.
    pub nearest_pair_m: f64,
    /// Edges that cross triangles, see [`EntanglementCounter::crossings`].
    pub crossings: usize,
}

/// Counter for one cloth, or for several cloths in one list of particles.
#[derive(Debug, Clone)]
pub struct EntanglementCounter {
    /// Rest positions \[m\], shape `[particle_count]`.
    rest: Vec<DVec3>,
    /// Index of the cloth of each particle, shape `[particle_count]`.
    cloths: Vec<usize>,
    /// Corners of each triangle.
    triangles: Vec<[u32; 3]>,
    /// Sides of the triangles, each once, in ascending order.
    edges: Vec<[u32; 2]>,
}

impl EntanglementCounter {
    /// Creates a counter for particles with the rest positions `rest` \[m\] and for triangles with
    /// these corners.
    ///
    /// `cloth_ends` holds the end of each cloth in the list of particles: a prefix sum of particle
    /// counts without the leading 0. If it is empty, all particles belong to one cloth.
    ///
    /// # Panics
    /// Panics if a corner or an end exceeds the particle count, or if the ends are not sorted.
    pub fn new(rest: &[[f32; 3]], triangles: &[[u32; 3]], cloth_ends: &[usize]) -> Self {
        assert!(
            triangles.iter().flatten().all(|&corner| (corner as usize) < rest.len()),
            "a triangle corner exceeds the particle count"
        );
        assert!(
            cloth_ends.is_sorted() && cloth_ends.last().is_none_or(|&end| end <= rest.len()),
            "cloth ends must ascend and not exceed the particle count"
        );
        Self {
            rest: rest.iter().map(|it| point(it).as_dvec3()).collect(),
            cloths: (0..rest.len())
                .map(|particle| cloth_ends.partition_point(|&end| end <= particle))
                .collect(),
            triangles: triangles.to_vec(),
            edges: edges_of(triangles),
        }
    }

    /// Computes both counts.
    ///
    /// # Panics
    /// Panics under the conditions of [`Self::close_pairs`] and [`Self::crossings`].
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

    /// Counts the particle pairs closer than `distance` \[m\] that belong to different cloths or
    /// were at least `neighbour_distance` \[m\] apart at rest. Returns the count and the distance
    /// of the nearest pair \[m\], infinite without pairs.
    ///
    /// Only the first three components of a position count \[m\], so that particles `xyzw` can be
    /// passed. Squared distances are compared in double precision, exclusively: a pair exactly at
    /// the distance is not closer, and no pair is closer than a distance of 0 or less.
    ///
    /// # Panics
    /// Panics if the number of positions differs from that of the rest positions.
    #[must_use]
    pub fn close_pairs<const N: usize>(
        &self,
        positions: &[[f32; N]],
        distance: f64,
        neighbour_distance: f64,
    ) -> (usize, f64) {
        let points: Vec<DVec3> = self.points(positions).map(|it| it.as_dvec3()).collect();
        if distance.is_nan() || distance <= 0.0 {
            return (0, f64::INFINITY);
        }
        let finite = (0..).zip(&points).filter(|(_, point)| point.is_finite());
        let boxes = finite.map(|(particle, &point)| (Bounds::of([point]), particle));
        let tree = BoxTree::new(boxes.clone(), |bounds, _| bounds.low);
        let (mut count, mut nearest) = (0, f64::INFINITY);
        for (bounds, a) in boxes {
            tree.visit(&bounds.grown(distance), |&b: &u32| {
                let square = points[a as usize].distance_squared(points[b as usize]);
                if a < b
                    // Each pair is visited twice: count it once, from its lower index.
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

    /// Counts the pairs of an edge and a triangle without a common particle that properly
    /// intersect.
    ///
    /// In a proper intersection, the ends of the edge lie strictly on both sides of the plane of
    /// the triangle, and the edge passes through its interior. Touching does not count: neither an
    /// end on the triangle, nor an edge through a corner or side or within the plane. Triangles
    /// without area are never crossed. Signs are exact for all finite positions (Shewchuk,
    /// "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997),
    /// which have the layout of [`Self::close_pairs`].
    ///
    /// # Panics
    /// Panics if the number of positions differs from that of the rest positions.
    #[must_use]
    pub fn crossings<const N: usize>(&self, positions: &[[f32; N]]) -> usize {
        let points: Vec<Vec3> = self.points(positions).collect();
        let at = |particle: u32| points[particle as usize];
        let tree = FaceTree::new(self.triangles.iter().map(|corners| corners.map(at)));
        let mut count = 0;
        for edge in &self.edges {
            // The exact signs reject a common particle as well, but zeros take longest to decide.
            let is_apart = |triangle: u32| {
                !edge.iter().any(|end| self.triangles[triangle as usize].contains(end))
            };
            tree.visit_crossings(edge.map(at), is_apart, |_, _, _| count += 1);
        }
        count
    }

    fn points<'a, const N: usize>(
        &self,
        positions: &'a [[f32; N]],
    ) -> impl Iterator<Item = Vec3> + use<'a, N> {
        assert_eq!(positions.len(), self.rest.len(), "positions and rest positions");
        positions.iter().map(point)
    }

    fn are_neighbours(&self, a: u32, b: u32, distance: f64) -> bool {
        let [a, b] = [a, b].map(|particle| particle as usize);
        let is_one_cloth = self.cloths[a] == self.cloths[b];
        is_one_cloth
            && distance > 0.0
            && self.rest[a].distance_squared(self.rest[b]) < distance * distance
    }
}

fn point<const N: usize>(position: &[f32; N]) -> Vec3 {
    const { assert!(N >= 3, "a position has three coordinates") };
    Vec3::new(position[0], position[1], position[2])
}
