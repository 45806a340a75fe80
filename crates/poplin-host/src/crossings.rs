//! Exact count of the edge-triangle crossings of triangle contact, and their assignment to reports.

use std::ops::Range;

use glam::Vec3;
use poplin_geometry::{Bounds, FaceTree};
use poplin_model::{ContactPartner, ContactReport, Trouble};
use rayon::prelude::*;

use crate::triangle_scene::TriangleBody;

/// Number of edges that one task tests.
const BLOCK: usize = 512;

/// Kind of partner that cloth `index` has in a pair of bodies that includes it.
pub fn contact_partner(
    index: u32,
    [a, b]: [u32; 2],
    is_cloth: impl Fn(u32) -> bool,
) -> ContactPartner {
    let other = if a == index { b } else { a };
    if other == index {
        ContactPartner::Itself
    } else if is_cloth(other) {
        ContactPartner::OtherCloth
    } else {
        ContactPartner::Collider
    }
}

/// Adds the present crossings, given by their pairs of bodies and positions, to the report of cloth
/// `index`.
pub fn report_crossings(
    index: u32,
    crossings: impl Iterator<Item = ([u32; 2], Vec3)> + Clone,
    is_cloth: impl Fn(u32) -> bool,
    report: &mut ContactReport,
) {
    // Every crossing counts for both of its bodies.
    let own = crossings.filter(|(pair, _)| pair.contains(&index));
    report.crossings = own.clone().count() as u32;
    let with = |with| {
        let partner = |pair| contact_partner(index, pair, &is_cloth);
        own.clone().filter(move |(pair, _)| partner(*pair) == with)
    };
    let partners = [ContactPartner::Itself, ContactPartner::OtherCloth];
    // Most frequent partner; its middle crossing is the example position.
    let most = partners.into_iter().fold(ContactPartner::Collider, |most, partner| {
        if with(partner).count() >= with(most).count() { partner } else { most }
    });
    if let Some((_, at)) = with(most).nth(with(most).count() / 2) {
        let now = Trouble::in_frame(report.frames, report.crossings, most, at.to_array());
        Trouble::add(&mut report.crossed, now);
    }
}

/// Pairs of bodies that may have crossed, in ascending order: bodies that collide and whose boxes
/// overlap, and bodies that collide with themselves. Bodies without face area are skipped.
fn touching_pairs(
    bodies: &[TriangleBody],
    at: &[Vec3],
    is_wanted: impl Fn([u32; 2]) -> bool,
) -> Vec<[u32; 2]> {
    let around = |body: &TriangleBody| {
        let rows = &at[body.rows.clone()];
        Bounds::of(body.surface.vertices.iter().map(|&[vertex]| rows[vertex as usize].as_dvec3()))
    };
    // Body counts are small, so all pairs of boxes are tested.
    let solid = (0..).zip(bodies).filter(|(_, body)| !body.surface.is_round());
    let solid: Vec<(u32, &TriangleBody, Bounds)> =
        solid.map(|(index, body)| (index, body, around(body))).collect();
    let mut pairs = Vec::new();
    for (k, &(a, first, first_bounds)) in solid.iter().enumerate() {
        if first.meets_itself && is_wanted([a, a]) {
            pairs.push([a, a]);
        }
        for &(b, second, second_bounds) in &solid[k + 1..] {
            if first_bounds.touches(&second_bounds)
                && first.wants(a, second, b)
                && is_wanted([a, b])
            {
                pairs.push([a, b]);
            }
        }
    }
    pairs
}

/// Finds all edges that pass through faces, for bodies with rows at these positions \[m\] and for
/// the pairs of bodies (or a body with itself) that `is_wanted` accepts. Returns both body indices
/// in ascending order and the position of each crossing, sorted by bodies, edges and faces
/// independent of the number of threads.
pub fn find_crossings(
    bodies: &[TriangleBody],
    at: &[Vec3],
    is_wanted: impl Fn([u32; 2]) -> bool,
) -> Vec<([u32; 2], Vec3)> {
    let pairs = touching_pairs(bodies, at, is_wanted);
    let mut is_met = vec![false; bodies.len()];
    pairs.iter().flatten().for_each(|&index| is_met[index as usize] = true);
    let trees: Vec<Option<FaceTree>> = bodies
        .par_iter()
        .zip(&is_met)
        .map(|(body, is_met)| {
            let row = |local: u32| at[body.rows.start + local as usize];
            // The faces are already in the order of a tree.
            is_met.then(|| FaceTree::in_order(body.surface.faces.iter().map(|it| it.map(row))))
        })
        .collect();
    let mut tasks: Vec<([u32; 2], usize, Range<usize>)> = Vec::new();
    for pair in pairs {
        // Edges of the first body through faces of the second, then the reverse.
        for side in 0..if pair[0] == pair[1] { 1 } else { 2 } {
            let count = bodies[pair[side] as usize].surface.edges.len();
            let blocks = (0..count).step_by(BLOCK);
            tasks.extend(blocks.map(|begin| (pair, side, begin..(begin + BLOCK).min(count))));
        }
    }
    let found: Vec<Vec<Vec3>> = tasks
        .par_iter()
        .map(|(pair, side, edges)| {
            let [own, other] = [pair[*side], pair[1 - side]].map(|index| index as usize);
            let tree = trees[other].as_ref();
            tree.map_or(Vec::new(), |tree| {
                edges_through(&bodies[own], &bodies[other], tree, edges.clone(), at)
            })
        })
        .collect();
    // Tasks are in order, so the result does not depend on scheduling.
    let all = tasks.iter().zip(found);
    all.flat_map(|((pair, ..), found)| found.into_iter().map(|at| (*pair, at))).collect()
}

/// Points where some edges of a body pass through faces of `other`, which may be the same body, by
/// edge and face \[m\].
fn edges_through(
    own: &TriangleBody,
    other: &TriangleBody,
    tree: &FaceTree,
    edges: Range<usize>,
    at: &[Vec3],
) -> Vec<Vec3> {
    let mut all = Vec::new();
    let is_own = std::ptr::eq(own, other);
    for edge in &own.surface.edges[edges] {
        // Faces that share a vertex with the edge touch it by construction.
        let is_apart = |face: u32| {
            let corners = &other.surface.faces[face as usize];
            !is_own || !corners.iter().any(|corner| edge.contains(corner))
        };
        let ends = edge.map(|end| at[own.rows.start + end as usize]);
        tree.visit_crossings(ends, is_apart, |_, at, _| all.push(at));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Surface;
    use crate::triangle_scene::Role;
    use glam::Vec3Swizzles as _;
    use poplin_geometry::{Rng, crossing_point};
    use std::sync::Arc;

    /// Random bodies of loose and joined triangles: cloths that collide with each other or not, and
    /// a collider that meets all.
    fn bodies() -> (Vec<TriangleBody>, Vec<Vec3>) {
        let mut rng = Rng::new(7);
        let (mut bodies, mut at) = (Vec::new(), Vec::new());
        for (count, [group, mask], is_cloth) in
            [(90, [1, 2], true), (70, [2, 1], true), (60, [4, 4], true), (40, [0, 0], false)]
        {
            let mut rest: Vec<Vec3> = Vec::new();
            for k in 0..count {
                let near = if k % 5 == 0 { Vec3::splat(0.5) } else { rest[k - 1] };
                rest.push(near + Vec3::from(rng.point(-0.4, 0.4)));
            }
            let triangles: Vec<[u32; 3]> =
                (0..count as u32 - 2).map(|k| [k, k + 1, k + 2]).collect();
            let role = if is_cloth {
                Role::Cloth { group, mask, colliders: [1, 1] }
            } else {
                Role::Collider { owner: None, groups: [1, 1] }
            };
            let surface = Surface::of_triangles(rest, &triangles);
            let begin = at.len();
            at.extend(surface.rest.iter().map(|&it| it + 0.01 * it.yzx()));
            bodies.push(TriangleBody::new(Arc::new(surface), role, 0.0, begin));
        }
        bodies[2].meets_itself = false;
        (bodies, at)
    }

    /// Brute-force search for all crossings.
    fn by_trying_all(bodies: &[TriangleBody], at: &[Vec3]) -> Vec<([u32; 2], Vec3)> {
        let mut all = Vec::new();
        for (a, first) in (0..).zip(bodies) {
            for (b, second) in (0..).zip(bodies).skip(a as usize) {
                let is_own = a == b;
                if !if is_own { first.meets_itself } else { first.wants(a, second, b) } {
                    continue;
                }
                for (own, other) in
                    [(first, second), (second, first)].into_iter().take(2 - usize::from(is_own))
                {
                    for edge in &own.surface.edges {
                        for face in &other.surface.faces {
                            let ends = edge.map(|it| at[own.rows.start + it as usize]);
                            let corners = face.map(|it| at[other.rows.start + it as usize]);
                            let is_apart = !is_own || !face.iter().any(|it| edge.contains(it));
                            let found = crossing_point(ends, corners).filter(|_| is_apart);
                            all.extend(found.map(|(at, _)| ([a, b], at)));
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn tree_search_finds_the_crossings_of_brute_force() {
        let (bodies, at) = bodies();
        let expected = by_trying_all(&bodies, &at);
        let count = |pair| expected.iter().filter(|(it, _)| *it == pair).count();
        assert!([[0, 0], [0, 1], [0, 3], [1, 1], [2, 3]].into_iter().all(|pair| count(pair) > 20));
        assert!([[0, 2], [2, 2], [3, 3]].into_iter().all(|pair| count(pair) == 0));
        assert_eq!(find_crossings(&bodies, &at, |_| true), expected);
        let some: Vec<_> = expected.iter().copied().filter(|(pair, _)| pair[0] == 1).collect();
        assert_eq!(find_crossings(&bodies, &at, |pair| pair[0] == 1), some);
    }

    #[test]
    fn capsules_and_nan_positions_cross_nothing() {
        let (mut bodies, mut at) = bodies();
        let count = find_crossings(&bodies, &at, |_| true).len();
        // A capsule through everything.
        let capsule = Surface::of_capsule([Vec3::ZERO, Vec3::ONE]);
        let role = Role::Collider { owner: None, groups: [1, 1] };
        let begin = at.len();
        at.extend(&capsule.rest);
        bodies.push(TriangleBody::new(Arc::new(capsule), role, 0.0, begin));
        assert_eq!(find_crossings(&bodies, &at, |_| true).len(), count);
        at.iter_mut().for_each(|it| *it = Vec3::NAN);
        assert_eq!(find_crossings(&bodies, &at, |_| true), []);
        assert_eq!(find_crossings(&[], &[], |_| true), []);
    }
}
