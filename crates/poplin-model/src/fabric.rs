//! Fabric: the constraints that cooking derives from a mesh, shared by all cloths cut from it.

mod validate;

use std::ops::Range;

use crate::Hierarchy;

/// Kind of deformation that an edge resists, determined by its direction in the cooked mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum PhaseKind {
    /// Stretch edges along the cooking direction (gravity or UV v): warp.
    Vertical,
    /// Stretch edges across the cooking direction: weft.
    Horizontal,
    /// Diagonals inside a quad, and edges near 45 degrees.
    Shearing,
    /// Two-ring edges, which skip one particle and resist folding.
    Bending,
}

impl PhaseKind {
    /// All kinds, in the order in which cooking emits them.
    pub const ALL: [Self; 4] = [Self::Bending, Self::Shearing, Self::Horizontal, Self::Vertical];

    /// True for kinds whose edges resist stretch: vertical and horizontal.
    pub fn is_stretch(self) -> bool {
        matches!(self, Self::Vertical | Self::Horizontal)
    }

    /// Name in scenes and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vertical => "vertical",
            Self::Horizontal => "horizontal",
            Self::Shearing => "shearing",
            Self::Bending => "bending",
        }
    }
}

/// A range of consecutive sets solved with one configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Phase {
    /// Kind of its edges.
    pub kind: PhaseKind,
    /// First set of the phase.
    pub set_begin: u32,
    /// One past the last set of the phase.
    pub set_end: u32,
}

/// A point of a triangle that collides with spheres and capsules instead of the triangle's corners.
///
/// Its position is `sum(weights[k] * corner[k])`. A push is distributed to the corners in
/// proportion to their weights, so that the point ends up where the push moved it (Kim, "Character
/// Clothing in PhysX-3", 2011).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VirtualParticle {
    /// Indices of the corner particles.
    pub corners: [u32; 3],
    /// Barycentric weight of each corner, usually `0..=1` with a sum of 1. Limits: each in
    /// `-8..=8`, sum of squares at least 1e-6.
    pub weights: [f32; 3],
}

/// Dihedral-angle constraint between two triangles that share an edge.
///
/// The angle is 0 if the triangles are coplanar and positive if they fold away from the side on
/// which `(edge, third corner)` runs counterclockwise. With stiffness
/// `k = weight * bending_rigidity` [N m/rad] the energy is `k/2 (angle - rest_angle)^2`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bend {
    /// Both ends of the shared edge, then the third corner of each triangle.
    pub particles: [u32; 4],
    /// Dihedral angle at rest \[rad\], `-pi..=pi`.
    pub rest_angle: f32,
    /// Stiffness over the bending rigidity, `0..=1e9`.
    ///
    /// If cooked: the length of the edge divided by the mean height of the triangles where it
    /// separates triangles or two rows of quads, so that a cylinder has the energy
    /// `B/2 curvature^2` per area; twice the height over the length for the diagonal of a quad.
    /// Grinspun et al., "Discrete Shells", 2003, use `3 |e|^2 / area` (area of both triangles)
    /// instead of `weight / 2`, which is six times as much, and leave the scale to a constant.
    pub weight: f32,
    /// Rest shapes of the two triangles, in the order of their third corners; used only by
    /// [`crate::Implicit`].
    pub wings: [Wing; 2],
}

/// Straight line of cloth across the triangles of an irregular mesh: it resists stretch along its
/// course, as a fiber of edges does on a grid.
///
/// A segment between two of its points has the stiffness `K breadth / length` for a membrane
/// stiffness K \[N/m\].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Yarn {
    /// Course: along the warp (vertical) or the weft (horizontal), or at 45 degrees to both
    /// (shearing). Never bending.
    pub kind: PhaseKind,
    /// One past its last point in [`Fabric::yarn_points`]; it has at least two.
    pub point_end: u32,
    /// Width of cloth that it represents \[m\], above 0.
    pub breadth: f32,
}

/// Point of a [`Yarn`] on an edge of the mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct YarnPoint {
    /// Ends of the edge.
    pub particles: [u32; 2],
    /// Position along the edge: 0 at the first end, 1 at the second.
    pub weight: f32,
    /// Weight of each end, times the sum of its weights in all points of the yarn, `0..=1e6`. With
    /// these factors on the inverse masses the points of a yarn are at least as mobile as their
    /// shared particles let them be, so that they can be solved as if they shared none.
    pub shares: [f32; 2],
    /// Distance to the next point at rest \[m\]; unused at the last point.
    pub rest_length: f32,
}

/// Rest shape of a triangle over the edge of a [`Bend`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wing {
    /// Distance of the third corner from the line through the edge \[m\].
    pub height: f32,
    /// Foot of that height along the edge: 0 at the first end, 1 at the second.
    pub foot: f32,
}

/// Constraints of a cloth: phases of sets of fibers of edges, and tethers.
///
/// A *fiber* is a chain of connected edges that one lane processes in order. The fibers of a *set*
/// share no moving particle and run in parallel; a barrier separates sets. A graph-coloured fabric
/// is the special case of one edge per fiber. Fiber `f` has edges
/// `fiber_edge_begin[f] .. fiber_edge_begin[f + 1]` and one more vertex than edges:
/// `fiber_vertices[fiber_edge_begin[f] + f ..= fiber_edge_begin[f + 1] + f]` (Kim, "Character
/// Clothing in PhysX-3", 2011).
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fabric {
    /// Number of particles.
    pub particle_count: u32,
    /// Phases, in the default solving order.
    pub phases: Vec<Phase>,
    /// First fiber of each set, prefix sums, shape `[set_count + 1]`.
    pub set_fiber_begin: Vec<u32>,
    /// First edge of each fiber, prefix sums, shape `[fiber_count + 1]`.
    pub fiber_edge_begin: Vec<u32>,
    /// Vertices of all fibers, chain after chain, shape `[edge_count + fiber_count]`.
    pub fiber_vertices: Vec<u32>,
    /// Rest length of each edge \[m\], shape `[edge_count]`.
    pub rest_lengths: Vec<f32>,
    /// Width of cloth that each edge represents \[m\], shape `[edge_count]`, or empty. Springs of
    /// stiffness `K breadth / length` then form a membrane of stiffness K \[N/m\]. For a side of
    /// triangles the breadth is their total area over its length; for the diagonal of a cell, its
    /// cubed length over twice the area of the cell; for a two-ring edge, twice the area of a
    /// particle over its length.
    pub edge_breadths: Vec<f32>,
    /// `log2(1 - stiffness)` of each edge, shape `[edge_count]`, or empty to use the stiffness of
    /// the phase.
    pub edge_stiffness_log2: Vec<f32>,
    /// Number of tethers per particle (0 = none).
    pub tethers_per_particle: u32,
    /// Anchor particles; tether `k` of particle `i` is at index `k * particle_count + i`.
    pub tether_anchors: Vec<u32>,
    /// Largest distance to each anchor \[m\], same shape as `tether_anchors`.
    pub tether_lengths: Vec<f32>,
    /// Surface triangles, for air forces, normals and rendering.
    pub triangles: Vec<[u32; 3]>,
    /// Rest shape of each triangle, shape `[triangle_count]`, or empty: coordinates
    /// `[u1, v1, u2, v2]` \[m\] of its second and third corner relative to its first, u along the
    /// horizontal threads (weft), v along the vertical ones (warp).
    ///
    /// `u1 v2 - u2 v1` is twice the rest area, positive if the corners run counterclockwise in (u,
    /// v); a triangle with area 0 exerts no force.
    pub triangle_shapes: Vec<[f32; 4]>,
    /// Additional collision points on triangles, in any order. Points of one triangle should be
    /// adjacent, because one lane processes them in this order.
    pub virtual_particles: Vec<VirtualParticle>,
    /// Dihedral-angle constraints, set after set; used by [`crate::Xpbd`] and [`crate::Implicit`]
    /// with a bending rigidity. May be empty.
    pub bends: Vec<Bend>,
    /// One past the last bend of each set. The bends of a set share no moving particle and run in
    /// parallel.
    pub bend_set_ends: Vec<u32>,
    /// Yarns, set after set; used by [`crate::Xpbd`] with a membrane. May be empty.
    pub yarns: Vec<Yarn>,
    /// Points of all yarns, yarn after yarn.
    pub yarn_points: Vec<YarnPoint>,
    /// One past the last yarn of each set. The yarns of a set share no moving particle and run in
    /// parallel.
    pub yarn_set_ends: Vec<u32>,
    /// Coarser levels, for [`crate::Multilevel`].
    pub hierarchy: Option<Hierarchy>,
}

impl Fabric {
    /// Number of sets.
    pub fn set_count(&self) -> usize {
        self.set_fiber_begin.len().saturating_sub(1)
    }

    /// Number of fibers.
    pub fn fiber_count(&self) -> usize {
        self.fiber_edge_begin.len().saturating_sub(1)
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.rest_lengths.len()
    }

    /// Range of the fibers of set `set`.
    pub fn fibers_of_set(&self, set: usize) -> Range<usize> {
        self.set_fiber_begin[set] as usize..self.set_fiber_begin[set + 1] as usize
    }

    /// Range of the fibers in all sets of a phase.
    pub fn fibers_of_phase(&self, phase: &Phase) -> Range<usize> {
        let [begin, end] =
            [phase.set_begin, phase.set_end].map(|set| self.set_fiber_begin[set as usize] as usize);
        begin..end
    }

    /// Range of the edges of a range of fibers.
    pub fn edges_of_fibers(&self, fibers: Range<usize>) -> Range<usize> {
        self.fiber_edge_begin[fibers.start] as usize..self.fiber_edge_begin[fibers.end] as usize
    }

    /// Vertices of fiber `fiber`, one more than it has edges.
    pub fn fiber_vertices(&self, fiber: usize) -> &[u32] {
        // One more vertex than edges per fiber, hence `+ fiber`.
        let begin = self.fiber_edge_begin[fiber] as usize + fiber;
        let end = self.fiber_edge_begin[fiber + 1] as usize + fiber + 1;
        &self.fiber_vertices[begin..end]
    }

    /// Iterates over all edges as `(edge index, [a, b])`, in memory order.
    pub fn edges(&self) -> impl Iterator<Item = (usize, [u32; 2])> + '_ {
        (0..self.fiber_count()).flat_map(move |fiber| {
            let begin = self.fiber_edge_begin[fiber] as usize;
            self.fiber_vertices(fiber)
                .windows(2)
                .enumerate()
                .map(move |(k, pair)| (begin + k, [pair[0], pair[1]]))
        })
    }

    /// Kind of every edge, shape `[edge_count]`; edges of sets outside every phase count as
    /// bending.
    pub fn edge_kinds(&self) -> Vec<PhaseKind> {
        let mut kinds = vec![PhaseKind::Bending; self.edge_count()];
        for phase in &self.phases {
            kinds[self.edges_of_fibers(self.fibers_of_phase(phase))].fill(phase.kind);
        }
        kinds
    }

    /// Number of fibers in the largest set, which bounds the lanes that the fabric can use at once.
    pub fn widest_set(&self) -> usize {
        self.set_fiber_begin.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
    }

    /// Range of the points of yarn `yarn`.
    pub fn points_of_yarn(&self, yarn: usize) -> Range<usize> {
        let begin = yarn.checked_sub(1).map_or(0, |before| self.yarns[before].point_end);
        begin as usize..self.yarns[yarn].point_end as usize
    }

    /// Multiplies rest lengths, edge breadths, triangle shapes, wing heights and yarns by `factor`,
    /// for cloth that shrinks or grows after cooking.
    pub fn scale_rest_lengths(&mut self, factor: f32) {
        let coordinates = self.triangle_shapes.as_flattened_mut();
        let wings = self.bends.iter_mut().flat_map(|bend| &mut bend.wings);
        let heights = wings.map(|wing| &mut wing.height);
        self.rest_lengths
            .iter_mut()
            .chain(&mut self.edge_breadths)
            .chain(coordinates)
            .chain(heights)
            .chain(self.yarn_points.iter_mut().map(|point| &mut point.rest_length))
            .chain(self.yarns.iter_mut().map(|yarn| &mut yarn.breadth))
            .for_each(|length| *length *= factor);
    }

    /// Multiplies every tether length by `factor`.
    pub fn scale_tether_lengths(&mut self, factor: f32) {
        self.tether_lengths.iter_mut().for_each(|length| *length *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelError;

    /// A fabric of one set with the fibers 0-1-2 and 3-4.
    fn two_fibers() -> Fabric {
        Fabric {
            particle_count: 5,
            phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
            set_fiber_begin: vec![0, 2],
            fiber_edge_begin: vec![0, 2, 3],
            fiber_vertices: vec![0, 1, 2, 3, 4],
            rest_lengths: vec![1.0; 3],
            triangles: vec![[0, 1, 2], [2, 3, 4]],
            triangle_shapes: vec![[1.0, 0.0, 1.0, -2.0]; 2],
            ..Default::default()
        }
    }

    #[test]
    fn edges_follow_the_fibers() {
        let fabric = two_fibers();
        fabric.validate().unwrap();
        let edges: Vec<_> = fabric.edges().collect();
        assert_eq!(edges, [(0, [0, 1]), (1, [1, 2]), (2, [3, 4])]);
        assert_eq!((fabric.set_count(), fabric.fiber_count(), fabric.widest_set()), (1, 2, 2));
        assert_eq!(fabric.edge_kinds(), [PhaseKind::Vertical; 3]);
    }

    #[test]
    fn rejects_shared_moving_particles_but_not_shared_pins() {
        let mut fabric = two_fibers();
        fabric.fiber_vertices[3] = 2;
        let error = fabric.validate_sets(|_| 1.0).unwrap_err();
        assert_eq!(error, ModelError::SharedParticle { set: 0, first: 0, second: 1, particle: 2 });
        fabric.validate_sets(|particle| if particle == 2 { 0.0 } else { 1.0 }).unwrap();
    }

    #[test]
    fn validate_rejects_broken_arrays() {
        let broken: [fn(&mut Fabric); 15] = [
            |f| {
                f.virtual_particles =
                    vec![VirtualParticle { corners: [0, 1, 5], weights: [0.5, 0.3, 0.2] }]
            },
            |f| {
                f.virtual_particles =
                    vec![VirtualParticle { corners: [0, 1, 2], weights: [0.0; 3] }]
            },
            |f| f.particle_count = 0,
            |f| f.fiber_vertices[4] = 5,
            |f| f.set_fiber_begin = vec![0, 3],
            |f| f.fiber_edge_begin = vec![1, 2, 3],
            |f| f.rest_lengths[1] = f32::NAN,
            |f| f.tethers_per_particle = 1,
            |f| f.phases[0].set_end = 2,
            |f| f.triangle_shapes.truncate(1),
            |f| f.edge_breadths = vec![1.0; 2],
            |f| f.edge_breadths = vec![-1.0; 3],
            |f| f.triangles.clear(),
            |f| f.triangle_shapes[1][3] = f32::NAN,
            |f| f.triangle_shapes[1][2] = -2.0 * crate::MAX_COORDINATE,
        ];
        for (index, damage) in broken.iter().enumerate() {
            let mut fabric = two_fibers();
            damage(&mut fabric);
            assert!(fabric.validate().is_err(), "damage {index} was not detected");
        }
    }

    #[test]
    fn triangle_shapes_are_optional() {
        let mut fabric = two_fibers();
        fabric.triangle_shapes.clear();
        fabric.validate().unwrap();
    }

    #[test]
    fn rest_lengths_and_shapes_scale_together() {
        let mut fabric = two_fibers();
        fabric.edge_breadths = vec![3.0; 3];
        fabric.scale_rest_lengths(0.5);
        assert_eq!((fabric.rest_lengths, fabric.edge_breadths), (vec![0.5; 3], vec![1.5; 3]));
        assert_eq!(fabric.triangle_shapes, [[0.5, 0.0, 0.5, -1.0]; 2]);
    }
}
