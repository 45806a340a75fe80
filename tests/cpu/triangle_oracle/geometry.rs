//! Closest points of triangle pairs and the bounding volume tree.

use glam::Vec3;
use poplin_cpu::triangle_contact::{Closest, Path, Ranges, Reach, Tree, edge_edge, vertex_face};
use poplin_geometry::Rng;
use poplin_oracle::{point_triangle, segment_segment};
use poplin_testkit::triangles::{point, random_edge_edge, random_triangles, random_vertex_face};

use super::wide;

/// Allowed error of the weighted sum of corners, in units of `f32::EPSILON` times the largest
/// coordinate.
const SUM_FACTOR: f64 = 4.0;

/// Allowed error of distances, in units of `f32::EPSILON` times the largest coordinate difference:
/// the width of a sliver that is treated as its border.
const DISTANCE_FACTOR: f64 = 160.0;

/// Checks weights, difference vector and distance of closest points; the first simplex has `first`
/// corners.
#[track_caller]
fn assert_closest(closest: &Closest, corners: [Vec3; 4], first: usize, distance: f64) {
    let scale = corners.iter().map(|corner| corner.abs().max_element()).fold(0.0, f32::max);
    let rounding = f64::from(f32::EPSILON * scale);
    let report = || format!("{corners:?}: {closest:?}, distance {distance:e}");
    for (k, &weight) in closest.weights.iter().enumerate() {
        let part = if k < first { weight } else { -weight };
        assert!((-4.0 * f32::EPSILON..=1.0 + 4.0 * f32::EPSILON).contains(&part), "{}", report());
        assert!(!closest.is_inside || first == 1 && k == 0 || part > 0.0, "{}", report());
    }
    let (ones, others) = closest.weights.split_at(first);
    assert!((ones.iter().sum::<f32>() - 1.0).abs() <= 4.0 * f32::EPSILON, "{}", report());
    assert!((others.iter().sum::<f32>() + 1.0).abs() <= 4.0 * f32::EPSILON, "{}", report());
    let terms = corners.iter().zip(closest.weights);
    // The weights reproduce the difference vector of the closest points.
    let sum: glam::DVec3 = terms.map(|(x, weight)| x.as_dvec3() * f64::from(weight)).sum();
    let error = (sum - closest.delta.as_dvec3()).abs().max_element();
    assert!(error <= SUM_FACTOR * rounding, "{}: sum of weights off by {error:e}", report());
    let size = corners.iter().map(|corner| (*corner - corners[0]).abs().max_element());
    let rounding = f64::from(f32::EPSILON * size.fold(0.0, f32::max));
    let error = (closest.delta.as_dvec3().length() - distance).abs();
    assert!(error <= DISTANCE_FACTOR * rounding, "{}: {:.1} roundings", report(), error / rounding);
}

#[test]
fn vertex_face_distances_equal_the_oracle() {
    let mut rng = Rng::new(1);
    for _ in 0..100_000 {
        let corners = random_vertex_face(&mut rng);
        let [p, a, b, c] = corners;
        let distance = point_triangle(wide(p), [a, b, c].map(wide));
        assert_closest(&vertex_face(p, [a, b, c]), corners, 1, distance);
    }
}

#[test]
fn edge_edge_distances_equal_the_oracle() {
    let mut rng = Rng::new(2);
    for _ in 0..100_000 {
        let corners = random_edge_edge(&mut rng);
        let [a, b, c, d] = corners;
        let distance = segment_segment([a, b].map(wide), [c, d].map(wide));
        assert_closest(&edge_edge([a, b], [c, d]), corners, 2, distance);
    }
}

#[test]
fn a_tree_visits_every_simplex_that_meets_a_query() {
    let mut rng = Rng::new(3);
    for _ in 0..300 {
        let count = 1 + rng.index(40);
        let surface = random_triangles(&mut rng, count, 1.0);
        let moved: Vec<Vec3> = surface.rest.iter().map(|_| point(&mut rng, 1.5)).collect();
        let radii: Vec<f32> = surface.rest.iter().map(|_| rng.range(0.0, 0.1)).collect();
        assert_visits(&mut rng, &surface.faces, &surface.rest, &moved, &radii);
        assert_visits(&mut rng, &surface.edges, &surface.rest, &moved, &radii);
        assert_visits(&mut rng, &surface.vertices, &surface.rest, &moved, &radii);
    }
    let mut empty = Tree::<3>::new(&[], 0);
    empty.refit(&[]);
    assert_eq!(empty.bounds(), Path::NOTHING);
    empty.visit(&Path::EVERYTHING, |_, _| panic!("nothing is there"));
}

/// Swept ball of this radius, with a random push distance.
fn path(rng: &mut Rng, ends: [Vec3; 2], radius: f32) -> Path {
    Path::new(ends, [Vec3::ZERO; 2], &Reach { push: radius + rng.range(0.0, 0.1), cross: 0.0 })
}

/// Checks that a tree built at rest visits exactly the simplices that no axis separates from the
/// query at both ends, once each and with their corners, at any positions and after some rows have
/// moved on.
fn assert_visits<const N: usize>(
    rng: &mut Rng,
    simplices: &[[u32; N]],
    rest: &[Vec3],
    positions: &[Vec3],
    radii: &[f32],
) {
    let mut tree = Tree::new(simplices, rest.len());
    // In half of the cases the paths have length 0.
    let size = [0.0, 1.0][rng.index(2)];
    let random_path = |rng: &mut Rng, row: usize| {
        let at = positions[row];
        let end = at + point(rng, size);
        path(rng, [at, end], radii[row])
    };
    let mut paths: Vec<Path> = (0..rest.len()).map(|row| random_path(rng, row)).collect();
    tree.refit(&paths);
    for round in 0..20 {
        if round % 5 == 4 {
            let row = simplices[rng.index(simplices.len())][0] as usize;
            paths[row] = random_path(rng, row);
            tree.refit_touching(&[row as u32], &paths);
        }
        let ends = [point(rng, 2.0), point(rng, 2.0)];
        let mut query = path(rng, ends, 0.1);
        let other = [point(rng, 2.0), point(rng, 2.0)];
        query.include(&path(rng, other, 0.1));
        if round < 4 {
            // Queries that touch one simplex in a single point, along all axes.
            let simplex =
                simplices[rng.index(simplices.len())].map(|corner| paths[corner as usize]);
            let mut all = Path::NOTHING;
            simplex.iter().for_each(|path| all.include(path));
            if round < 2 {
                let Ranges { high, .. } = all.ranges();
                query = Ranges { low: high, high: high.map(|end| end.map(|it| it + 1.0)) }.into();
            } else {
                let Ranges { low, .. } = all.ranges();
                query = Ranges { low: low.map(|end| end.map(|it| it - 1.0)), high: low }.into();
            }
        }
        let mut visits = vec![0; simplices.len()];
        tree.visit(&query, |item, corners| {
            assert_eq!(*corners, simplices[item as usize]);
            visits[item as usize] += 1;
        });
        let bounds = tree.bounds();
        for (simplex, visits) in simplices.iter().zip(visits) {
            let mut all = Path::NOTHING;
            simplex.iter().for_each(|&corner| all.include(&paths[corner as usize]));
            let mut together = bounds;
            together.include(&all);
            assert_eq!(together, bounds);
            let (all, query) = (all.ranges(), query.ranges());
            let is_apart = (0..all.low[0].len()).any(|axis| {
                (0..2).all(|end| all.low[end][axis] > query.high[end][axis])
                    || (0..2).all(|end| all.high[end][axis] < query.low[end][axis])
            });
            assert_eq!(visits, u32::from(!is_apart), "{simplex:?} and {query:?}");
        }
    }
}
