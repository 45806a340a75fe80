//! Packs a fabric into the shared `u32` pool.

use bytemuck::cast_slice;
use poplin_model::{Bend, Fabric, FirstFitSets};

use crate::chains::Chains;
use crate::gpu_struct::gpu_struct;
use crate::implicit::{TriangleShape, rates, spring_words};
use crate::yarns::{yarn_point_words, yarn_rows, yarn_words};
use crate::{BEND_WORDS, END_OF_FIBER, NO_OFFSET, SHAPE_WORDS};

gpu_struct! {
    /// Offsets of a packed fabric in `fabric_pool`.
    pub struct FabricOffsets {
        /// First fiber of each set, `[set_count + 1]`.
        pub set_begin: u32,
        /// First edge of each fiber, `[fiber_count + 1]`.
        pub fiber_begin: u32,
        /// Vertices of the fibers, `[edge_count + fiber_count]`.
        pub vertex_begin: u32,
        /// Rest lengths (bit-cast f32 \[m\]), `[edge_count]`.
        pub edge_begin: u32,
        /// Both particles of each edge, with `END_OF_FIBER` at the ends of the fiber,
        /// `[2 * edge_count]`.
        pub ends_begin: u32,
        /// Per-edge `log2(1 - stiffness)` (bit-cast f32), or [`NO_OFFSET`].
        pub edge_stiffness_begin: u32,
        /// Anchor slot of each tether, `[tethers_per_particle * particle_count]`, then their
        /// lengths.
        pub tether_begin: u32,
        /// Number of tethers per particle.
        pub tethers_per_particle: u32,
        /// Particle of each anchor slot, `[anchor_count]`.
        pub anchor_begin: u32,
        /// Number of distinct anchors.
        pub anchor_count: u32,
        /// Corners of the triangles, `[3 * triangle_count]`.
        pub triangle_begin: u32,
        /// Number of triangles.
        pub triangle_count: u32,
        /// First corner of each particle, `[particle_count + 1]`, then the corners: three times the
        /// triangle plus the index of the corner.
        pub corner_begin: u32,
        /// Data of an implicit solve. Rest shapes of the triangles (bit-cast f32), five arrays with
        /// one number per triangle: weights of the second and the third corner in the derivative by
        /// u, then in that by v [1/m], and areas [m^2]. Then four rate factors per particle: of
        /// stretch along u and along v, of bending [1/m^2], and the mean edge length of its
        /// triangles \[m\]. Then the first bend end of each particle, `[particle_count + 1]`, and
        /// the bend ends: four times the bend plus the index of the particle. Then chains and
        /// springs.
        pub element_begin: u32,
        /// First bundle of virtual particles of each set, `[virtual_set_count + 1]`.
        pub virtual_set_begin: u32,
        /// Number of sets of virtual particles.
        pub virtual_set_count: u32,
        /// Each bundle: its three corners, its first virtual particle, one past its last.
        pub virtual_bundle_begin: u32,
        /// Weights of the virtual particles (bit-cast f32), three each.
        pub virtual_weight_begin: u32,
        /// Largest number of edges of a set of fibers: rows in each half of the fiber rows.
        pub fiber_row_count: u32,
        /// First bend of each set, `[bend_set_count + 1]`.
        pub bend_set_begin: u32,
        /// Number of sets of bends.
        pub bend_set_count: u32,
        /// Each bend: its four particles, rest angle \[rad\], weight, rest heights of its third and
        /// fourth particle \[m\], the sine of its rest angle, and the weight of its second particle
        /// in its mean curvature vector [1/m] (bit-cast f32).
        pub bend_begin: u32,
        /// First yarn of each set, `[yarn_set_count + 1]`.
        pub yarn_set_begin: u32,
        /// Number of sets of yarns.
        pub yarn_set_count: u32,
        /// Each yarn: its first point, one past its last, its first row of scratch, its kind.
        pub yarn_begin: u32,
        /// Each point of a yarn: the ends of its edge, the weight of the second, the share of each,
        /// the rest length of the segment that begins there \[m\], and that over the breadth
        /// (bit-cast f32).
        pub yarn_point_begin: u32,
    }
}

impl Eq for FabricOffsets {}

/// Number of vec4 of scratch for the stages of a fabric: tether anchors, wind impulses, fiber rows
/// and yarn rows share the space, since they are not live at the same time.
pub fn stage_scratch_len(fabric: &Fabric) -> u32 {
    let rows = fiber_row_len(fabric).max(yarn_rows(fabric).1);
    rows.max(anchors(fabric).len().max(fabric.triangles.len()) as u32)
}

/// Number of vec4 of the fiber rows, two for each edge of the largest set.
pub fn fiber_row_len(fabric: &Fabric) -> u32 {
    2 * widest_set_edges(fabric)
}

/// Both ends of each edge in the form of [`FabricOffsets::ends_begin`].
fn edge_ends(fabric: &Fabric) -> Vec<[u32; 2]> {
    let mut ends: Vec<[u32; 2]> = Vec::with_capacity(fabric.rest_lengths.len());
    for fiber in 0..fabric.fiber_count() {
        let begin = ends.len();
        ends.extend(fabric.fiber_vertices(fiber).windows(2).map(|pair| [pair[0], pair[1]]));
        if let [[first, _], ..] = &mut ends[begin..] {
            *first |= END_OF_FIBER;
        }
        if let [.., [_, last]] = &mut ends[begin..] {
            *last |= END_OF_FIBER;
        }
    }
    ends
}

/// Largest number of edges of a set of fibers.
fn widest_set_edges(fabric: &Fabric) -> u32 {
    let edge_count = |set| fabric.edges_of_fibers(fabric.fibers_of_set(set)).len() as u32;
    (0..fabric.set_count()).map(edge_count).max().unwrap_or(0)
}

/// Distinct anchors of tethers in ascending order.
fn anchors(fabric: &Fabric) -> Vec<u32> {
    let mut anchors = fabric.tether_anchors.clone();
    anchors.sort_unstable();
    anchors.dedup();
    anchors
}

impl FabricOffsets {
    /// Shifts all offsets by `begin`.
    pub fn moved_by(self, begin: u32) -> Self {
        let moved = |offset: u32| if offset == NO_OFFSET { offset } else { offset + begin };
        Self {
            set_begin: moved(self.set_begin),
            fiber_begin: moved(self.fiber_begin),
            vertex_begin: moved(self.vertex_begin),
            edge_begin: moved(self.edge_begin),
            ends_begin: moved(self.ends_begin),
            edge_stiffness_begin: moved(self.edge_stiffness_begin),
            tether_begin: moved(self.tether_begin),
            anchor_begin: moved(self.anchor_begin),
            triangle_begin: moved(self.triangle_begin),
            corner_begin: moved(self.corner_begin),
            element_begin: moved(self.element_begin),
            virtual_set_begin: moved(self.virtual_set_begin),
            virtual_bundle_begin: moved(self.virtual_bundle_begin),
            virtual_weight_begin: moved(self.virtual_weight_begin),
            bend_set_begin: moved(self.bend_set_begin),
            bend_begin: moved(self.bend_begin),
            yarn_set_begin: moved(self.yarn_set_begin),
            yarn_begin: moved(self.yarn_begin),
            yarn_point_begin: moved(self.yarn_point_begin),
            ..self
        }
    }
}

/// Largest weight of a particle in a mean curvature vector [1/m].
const MAX_CURVING: f64 = 1e15;

/// Appends `fabric` to `pool`. The fabric must have passed [`Fabric::validate`].
///
/// Tethers refer to *anchor slots*, not particles: the kernel copies the anchors' positions to
/// scratch before the tether stage, so that an anchor moved by its own tether cannot race with the
/// particles attached to it.
pub fn pack_fabric(fabric: &Fabric, pool: &mut Vec<u32>) -> FabricOffsets {
    let mut append = |values: &[u32]| {
        let begin = pool.len() as u32;
        pool.extend_from_slice(values);
        begin
    };
    let set_begin = append(&fabric.set_fiber_begin);
    let fiber_begin = append(&fabric.fiber_edge_begin);
    let vertex_begin = append(&fabric.fiber_vertices);
    let edge_begin = append(cast_slice(&fabric.rest_lengths));
    let ends_begin = append(edge_ends(fabric).as_flattened());
    let edge_stiffness_begin = if fabric.edge_stiffness_log2.is_empty() {
        NO_OFFSET
    } else {
        append(cast_slice(&fabric.edge_stiffness_log2))
    };

    let anchors = anchors(fabric);
    // Anchors are sorted: the rank of an anchor is its slot.
    let slot_of = |anchor: &u32| anchors.partition_point(|a| a < anchor) as u32;
    let slots: Vec<u32> = fabric.tether_anchors.iter().map(slot_of).collect();
    let tether_begin = append(&slots);
    append(cast_slice(&fabric.tether_lengths));
    let anchor_begin = append(&anchors);
    let triangle_begin = append(fabric.triangles.as_flattened());
    let particle_count = fabric.particle_count as usize;
    let corner_begin = append(&corners_by_member(particle_count, &fabric.triangles));
    let shapes: Vec<TriangleShape> =
        fabric.triangle_shapes.iter().map(TriangleShape::new).collect();
    let shape_rows: Vec<_> = shapes.iter().map(TriangleShape::row).collect();
    // Structure of arrays, so that neighbouring lanes read neighbouring words.
    let numbers: Vec<f32> =
        (0..SHAPE_WORDS as usize).flat_map(|k| shape_rows.iter().map(move |row| row[k])).collect();
    let element_begin = append(cast_slice(&numbers));
    append(cast_slice(rates(fabric, &shapes).as_flattened()));
    let bend_particles: Vec<_> = fabric.bends.iter().map(|bend| bend.particles).collect();
    // Only read together with `element_begin`: consecutive parts need no offsets of their own.
    append(&corners_by_member(particle_count, &bend_particles));
    if !shapes.is_empty() {
        append(&Chains::new(fabric).words());
        if !fabric.edge_breadths.is_empty() {
            append(&spring_words(fabric));
        }
    }
    let VirtualSets { set_begin: sets, bundles } = virtual_sets(fabric);
    let virtual_set_begin = append(&sets);
    let virtual_bundle_begin = append(bundles.as_flattened());
    let virtual_weight_begin = append(cast_slice(
        &fabric.virtual_particles.iter().flat_map(|point| point.weights).collect::<Vec<_>>(),
    ));
    let bend_set_begin = append(&[0]);
    append(&fabric.bend_set_ends);
    let bend_row = |bend: &Bend| -> [u32; BEND_WORDS as usize] {
        let [a, b, c, d] = bend.particles;
        let [second, third] = bend.wings.map(|wing| wing.height);
        let sine = f64::from(bend.rest_angle).sin() as f32;
        // Sum of cotangents at the first end, over the length of the edge.
        let curving = bend.wings.map(|wing| f64::from(wing.foot) / f64::from(wing.height));
        let curving = curving.into_iter().sum::<f64>().clamp(-MAX_CURVING, MAX_CURVING) as f32;
        let [rest, weight, second, third, sine, curving] =
            [bend.rest_angle, bend.weight, second, third, sine, curving].map(f32::to_bits);
        [a, b, c, d, rest, weight, second, third, sine, curving]
    };
    let bend_rows: Vec<_> = fabric.bends.iter().map(bend_row).collect();
    let bend_begin = append(bend_rows.as_flattened());
    let yarn_set_begin = append(&[0]);
    append(&fabric.yarn_set_ends);
    let yarn_begin = append(yarn_words(fabric).as_flattened());
    let yarn_point_begin = append(yarn_point_words(fabric).as_flattened());
    FabricOffsets {
        set_begin,
        fiber_begin,
        vertex_begin,
        edge_begin,
        ends_begin,
        edge_stiffness_begin,
        tether_begin,
        tethers_per_particle: fabric.tethers_per_particle,
        anchor_begin,
        anchor_count: anchors.len() as u32,
        triangle_begin,
        triangle_count: fabric.triangles.len() as u32,
        corner_begin,
        element_begin,
        virtual_set_begin,
        virtual_set_count: sets.len() as u32 - 1,
        virtual_bundle_begin,
        virtual_weight_begin,
        fiber_row_count: widest_set_edges(fabric),
        bend_set_begin,
        bend_set_count: fabric.bend_set_ends.len() as u32,
        bend_begin,
        yarn_set_begin,
        yarn_set_count: fabric.yarn_set_ends.len() as u32,
        yarn_begin,
        yarn_point_begin,
    }
}

/// Virtual particles in sets whose bundles share no particle, so that the bundles of a set can be
/// processed in parallel.
struct VirtualSets {
    /// First bundle of each set, `[set_count + 1]`.
    set_begin: Vec<u32>,
    /// Corners, first virtual particle, one past the last.
    bundles: Vec<[u32; 5]>,
}

/// Groups runs of virtual particles with the same corners into bundles; each bundle goes to the
/// first set that contains none of its corners.
fn virtual_sets(fabric: &Fabric) -> VirtualSets {
    let mut end = 0;
    let runs = fabric.virtual_particles.chunk_by(|a, b| a.corners == b.corners);
    let bundles = runs.map(|run| {
        let ([a, b, c], begin) = (run[0].corners, end);
        end += run.len() as u32;
        [a, b, c, begin, end]
    });
    let sets =
        FirstFitSets::group(fabric.particle_count as usize, bundles, |&[a, b, c, ..]| [a, b, c]);
    let mut set_begin = vec![0];
    for set in &sets {
        set_begin.push(set_begin[set_begin.len() - 1] + set.len() as u32);
    }
    VirtualSets { set_begin, bundles: sets.concat() }
}

/// Builds the table of groups of each member: prefix sums `[member_count + 1]`, then the groups of
/// every member in ascending order, for example the capsules of each sphere.
pub fn groups_by_member<const N: usize>(member_count: usize, groups: &[[u32; N]]) -> Vec<u32> {
    let mut table = corners_by_member(member_count, groups);
    table[member_count + 1..].iter_mut().for_each(|corner| *corner /= N as u32);
    table
}

/// Builds the table of group corners of each member, with entries N times the group plus the index
/// of the member in its group. Particles gather from their triangles and bends in this order, so
/// that the result does not depend on the order of lanes.
fn corners_by_member<const N: usize>(member_count: usize, groups: &[[u32; N]]) -> Vec<u32> {
    let mut table = vec![0; member_count + 1];
    for &member in groups.as_flattened() {
        table[member as usize + 1] += 1;
    }
    for member in 0..member_count {
        // Prefix sums.
        table[member + 1] += table[member];
    }
    let mut next = table.clone();
    let begin = table.len();
    table.resize(begin + N * groups.len(), 0);
    // Counting sort by member; ascending groups keep the order deterministic.
    for (group, members) in groups.iter().enumerate() {
        for (corner, &member) in members.iter().enumerate() {
            table[begin + next[member as usize] as usize] = (N * group + corner) as u32;
            next[member as usize] += 1;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tethers_refer_to_slots_of_unique_anchors() {
        let fabric = Fabric {
            particle_count: 3,
            tethers_per_particle: 1,
            tether_anchors: vec![2, 0, 2],
            tether_lengths: vec![1.0, 2.0, 3.0],
            ..Default::default()
        };
        let mut pool = vec![7; 5];
        let offsets = pack_fabric(&fabric, &mut pool);
        let at = |begin: u32, count: usize| &pool[begin as usize..begin as usize + count];
        assert_eq!(at(offsets.tether_begin, 3), [1, 0, 1]);
        assert_eq!(at(offsets.anchor_begin, 2), [0, 2]);
        assert_eq!(
            at(offsets.tether_begin + 3, 3),
            [1.0f32.to_bits(), 2.0f32.to_bits(), 3.0f32.to_bits()]
        );
        assert_eq!(offsets.edge_stiffness_begin, NO_OFFSET);
    }

    #[test]
    fn edge_ends_mark_the_ends_of_fibers() {
        let fabric = Fabric {
            particle_count: 9,
            set_fiber_begin: vec![0, 3],
            fiber_edge_begin: vec![0, 3, 4, 6],
            fiber_vertices: vec![0, 1, 2, 3, 4, 5, 6, 7, 8],
            rest_lengths: vec![1.0; 6],
            ..Default::default()
        };
        let end = END_OF_FIBER;
        assert_eq!(
            edge_ends(&fabric),
            [[end, 1], [1, 2], [2, 3 | end], [4 | end, 5 | end], [6 | end, 7], [7, 8 | end]]
        );
    }

    #[test]
    fn bundles_of_a_set_share_no_particle() {
        let point = |corners| poplin_model::VirtualParticle { corners, weights: [0.5, 0.3, 0.2] };
        let mut virtual_particles: Vec<_> =
            (0..100).flat_map(|k| [point([0, k + 1, k + 2]); 3]).collect();
        virtual_particles.push(point([200, 201, 202]));
        let fabric = Fabric { particle_count: 203, virtual_particles, ..Default::default() };
        let VirtualSets { set_begin, bundles } = virtual_sets(&fabric);
        assert_eq!(set_begin.len(), 101, "all but one share particle 0");
        assert_eq!(bundles.iter().map(|bundle| bundle[4] - bundle[3]).sum::<u32>(), 301);
        for set in set_begin.windows(2) {
            let mut corners: Vec<_> = bundles[set[0] as usize..set[1] as usize]
                .iter()
                .flat_map(|b| b[..3].to_vec())
                .collect();
            corners.sort_unstable();
            assert!(corners.windows(2).all(|pair| pair[0] != pair[1]), "{corners:?}");
        }
    }

    #[test]
    fn groups_of_each_member_are_in_ascending_order() {
        let triangles = [[0, 1, 2], [2, 1, 3]];
        assert_eq!(groups_by_member(4, &triangles), [0, 1, 3, 5, 6, 0, 0, 1, 0, 1, 1]);
        assert_eq!(corners_by_member(4, &triangles), [0, 1, 3, 5, 6, 0, 1, 4, 2, 3, 5]);
    }
}
