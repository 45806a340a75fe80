//! Contact of triangles against its oracle and its guarantee: closest points, trees, the pairs it finds, that nothing is crossed
//! however rows move, and momentum.

use std::collections::BTreeSet;
use std::sync::Arc;

use glam::{Quat, Vec3};
use poplin_layout::TRIANGLE_REST;
use poplin_measure::entanglement::EntanglementCounter;
use poplin_model::ContactReport;
use poplin_reference::oracle::{NearPairs, near_pairs, point_triangle, segment_segment};
use poplin_reference::triangle_contact::{
    Body, Closest, Kind, Path, Ranges, Reach, Role, Surface, Tree, TriangleContact, edge_edge,
    vertex_face,
};
use poplin_testkit::rng::Rng;
use poplin_testkit::triangles::{
    direction, point, power, random_edge_edge, random_sheet, random_triangles, random_vertex_face,
    rotation,
};
use rayon::prelude::*;

/// Length of a solver iteration \[s\]; multipliers are scaled by it and nothing else depends on it.
const STEP: f32 = 1.0 / 300.0;
/// Allowance of a sum of weights times corners, in units of `f32::EPSILON` times the largest coordinate.
const SUM_FACTOR: f64 = 4.0;
/// Allowance of distances, in units of `f32::EPSILON` times the largest difference of coordinates: what a sliver that counts as
/// its border is wide.
const DISTANCE_FACTOR: f64 = 160.0;

fn wide(x: Vec3) -> [f64; 3] {
    x.to_array().map(f64::from)
}

/// Checks everything that closest points promise, for a first simplex of so many corners.
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
    let sum: glam::DVec3 = terms.map(|(x, weight)| x.as_dvec3() * f64::from(weight)).sum();
    let error = (sum - closest.delta.as_dvec3()).abs().max_element();
    assert!(error <= SUM_FACTOR * rounding, "{}: sum of weights off by {error:e}", report());
    let size = corners.iter().map(|corner| (*corner - corners[0]).abs().max_element());
    let rounding = f64::from(f32::EPSILON * size.fold(0.0, f32::max));
    let error = (closest.delta.as_dvec3().length() - distance).abs();
    assert!(error <= DISTANCE_FACTOR * rounding, "{}: {:.1} roundings", report(), error / rounding);
}

#[test]
fn a_vertex_and_a_face_are_as_far_apart_as_in_the_oracle() {
    let mut rng = Rng::new(1);
    for _ in 0..100_000 {
        let corners = random_vertex_face(&mut rng);
        let [p, a, b, c] = corners;
        let distance = point_triangle(wide(p), [a, b, c].map(wide));
        assert_closest(&vertex_face(p, [a, b, c]), corners, 1, distance);
    }
}

#[test]
fn two_edges_are_as_far_apart_as_in_the_oracle() {
    let mut rng = Rng::new(2);
    for _ in 0..100_000 {
        let corners = random_edge_edge(&mut rng);
        let [a, b, c, d] = corners;
        let distance = segment_segment([a, b].map(wide), [c, d].map(wide));
        assert_closest(&edge_edge([a, b], [c, d]), corners, 2, distance);
    }
}

#[test]
fn a_tree_visits_what_meets_a_box() {
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

/// A ball on a path, or a box around two.
fn path(rng: &mut Rng, ends: [Vec3; 2], radius: f32) -> Path {
    Path::new(ends, [Vec3::ZERO; 2], &Reach { push: radius + rng.range(0.0, 0.1), cross: 0.0 })
}

/// Checks that a tree built at rest visits each simplex once that no axis keeps apart from a path at both of its ends, with its
/// corners, wherever they are now and if some of them have moved on.
fn assert_visits<const N: usize>(
    rng: &mut Rng,
    simplices: &[[u32; N]],
    rest: &[Vec3],
    positions: &[Vec3],
    radii: &[f32],
) {
    let mut tree = Tree::new(simplices, rest.len());
    // Half of them stay.
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
            // What meets one of them in a point, along all axes.
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

/// Cloths that move at random.
#[derive(Debug)]
struct Cloths {
    contact: TriangleContact,
    /// Corners of the triangles of all, by row.
    triangles: Vec<[u32; 3]>,
    counter: EntanglementCounter,
    /// The least thickness \[m\].
    thickness: f32,
}

impl Cloths {
    /// Cloths of these surfaces and radii \[m\], with random masses and friction.
    fn new(rng: &mut Rng, surfaces: Vec<(Surface, f32)>) -> Self {
        let mut contact = TriangleContact::default();
        let mut triangles = Vec::new();
        let mut thickness = f32::INFINITY;
        for (surface, radius) in surfaces {
            let begin = contact.start.len() as u32;
            triangles.extend(surface.faces.iter().map(|face| face.map(|corner| begin + corner)));
            let role = Role::Cloth { group: 1, mask: 1, colliders: [0; 2] };
            let friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
            contact.add(Body::new(Arc::new(surface), role, friction), radius, 0.0);
            thickness = thickness.min(2.0 * radius);
        }
        let masses = contact.start.iter().map(|_| 1.0 / rng.range(0.001, 0.01));
        contact.inverse_mass = masses.collect();
        contact.target.clone_from(&contact.start);
        let rest: Vec<_> = contact.start.iter().map(|x| x.to_array()).collect();
        let counter = EntanglementCounter::new(&rest, &triangles, &[]);
        Self { contact, triangles, counter, thickness }
    }

    /// Two to four cloths among each other that cross nothing: sheets over each other, or loose triangles.
    fn random(rng: &mut Rng) -> Self {
        loop {
            let thickness = power(rng, -2.7, -1.7);
            let edge = thickness * rng.range(0.5, 5.0);
            let rotation = rotation(rng);
            let is_dense = rng.index(3) > 0;
            let mut height = 0.0;
            let mut surfaces = Vec::new();
            for _ in 0..2 + rng.index(3) {
                let mut surface = match rng.index(4) {
                    0 => {
                        let count = 1 + rng.index(6);
                        random_triangles(rng, count, 2.0 * edge)
                    }
                    _ => {
                        let [columns, rows] = [(); 2].map(|()| 2 + rng.index(5));
                        random_sheet(rng, columns, rows, edge)
                    }
                };
                height +=
                    thickness * if is_dense { rng.range(0.1, 3.0) } else { power(rng, -1.0, 1.5) };
                let offset = point(rng, edge).with_z(height);
                let spin = Quat::from_rotation_z(rng.range(0.0, 6.0));
                let put = |x: &mut Vec3| *x = rotation * (spin * *x + offset);
                surface.rest.iter_mut().for_each(put);
                surfaces.push((surface, 0.5 * thickness * rng.range(1.0, 1.5)));
            }
            let cloths = Self::new(rng, surfaces);
            if cloths.crossings() == 0 {
                return cloths;
            }
        }
    }

    /// Edges through triangles, counted exactly.
    fn crossings(&self) -> usize {
        let positions: Vec<_> = self.contact.start.iter().map(|x| x.to_array()).collect();
        self.counter.crossings(&positions)
    }

    /// What lies within thickness by trying all.
    fn near(&self) -> NearPairs {
        let positions: Vec<_> = self.contact.start.iter().map(|&x| wide(x)).collect();
        let radius = |row: u32| f64::from(self.contact.radius[row as usize]);
        near_pairs(&positions, &self.triangles, |a, b| radius(a) + radius(b))
    }

    /// Whether a pair is farther apart than contact keeps it, because it is of one body and rests closer.
    fn rests_closer(&self, kind: Kind, rows: [u32; 4]) -> bool {
        let TriangleContact { bodies, start, rest, .. } = &self.contact;
        let apart = |all: &[Vec3]| distance(kind, rows.map(|row| wide(all[row as usize])));
        let is_own = |body: &Body| rows.iter().all(|&row| body.rows.contains(&(row as usize)));
        bodies.iter().any(is_own) && apart(start) > 0.999 * f64::from(TRIANGLE_REST) * apart(rest)
    }

    /// Random targets: each row on its own, bodies as a whole, all to a point, a plane or the other side.
    fn aim(&mut self, rng: &mut Rng) {
        let size = self.thickness * power(rng, -2.0, 2.0);
        let TriangleContact { bodies, start, target, .. } = &mut self.contact;
        target.clone_from(start);
        let noise = if rng.index(2) == 0 { size } else { 0.0 };
        // All of them alike, so that only who is held back meets anybody.
        let speed = [0.0, 50.0][rng.index(2)] * self.thickness;
        let drift = point(rng, speed);
        let all = target.len() as f32;
        let middle = start.iter().sum::<Vec3>() / all;
        let (kind, axis, point_of_all) = (rng.index(5), direction(rng), point(rng, size));
        for body in bodies {
            let rows = body.rows.clone();
            let center = start[rows.clone()].iter().sum::<Vec3>() / rows.len() as f32;
            let offset = point(rng, size);
            let spin = Quat::from_axis_angle(direction(rng), rng.range(-2.0, 2.0));
            for target in &mut target[rows] {
                let from_middle = *target - middle;
                *target = match kind {
                    0 => *target + offset,
                    1 => center + spin * (*target - center) + offset,
                    2 => middle + point_of_all,
                    3 => *target - axis * axis.dot(from_middle) * rng.range(0.0, 2.0),
                    _ => *target + point(rng, size),
                } + drift
                    + point(rng, noise * 0.3);
            }
        }
    }
}

/// Distance of a pair \[m\].
fn distance(kind: Kind, [a, b, c, d]: [[f64; 3]; 4]) -> f64 {
    if kind == Kind::VertexFace {
        point_triangle(a, [b, c, d])
    } else {
        segment_segment([a, b], [c, d])
    }
}

/// Rows of a pair, of two edges the lower one first.
fn in_order(kind: Kind, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
    if kind == Kind::EdgeEdge && [c, d] < [a, b] { [c, d, a, b] } else { [a, b, c, d] }
}

#[test]
fn the_candidates_hold_every_pair_within_thickness() {
    let failure = (0..60_u64).into_par_iter().find_map_any(|seed| {
        let mut rng = Rng::new(1000 + seed);
        let mut cloths = Cloths::random(&mut rng);
        for advance in 0..4 {
            cloths.aim(&mut rng);
            cloths.contact.advance(STEP, 4);
            let near = cloths.near();
            let faces = near.vertex_face.iter().map(|&rows| (Kind::VertexFace, rows));
            let mut near: Vec<_> =
                faces.chain(near.edge_edge.iter().map(|&rows| (Kind::EdgeEdge, rows))).collect();
            near.retain(|&(kind, rows)| !cloths.rests_closer(kind, rows));
            // Lists hold what pushes at the start of a round, also of one in which nobody wants to go anywhere.
            cloths.contact.max_rounds = 1;
            cloths.contact.advance(STEP, 4);
            cloths.contact.max_rounds = 0;
            let all = cloths.contact.candidates.iter();
            let all: BTreeSet<_> =
                all.map(|pair| (pair.kind, in_order(pair.kind, pair.rows))).collect();
            if let Some(pair) = near.iter().find(|pair| !all.contains(pair)) {
                return Some(format!("seed {seed}, advance {advance}: {pair:?} is no candidate"));
            }
        }
        None
    });
    assert_eq!(failure, None);
}

#[test]
fn what_the_lists_have_no_room_for_stands_still_and_is_reported() {
    let mut rng = Rng::new(3);
    let mut cloths = crumpled(&mut rng);
    for room in [1, 20] {
        cloths.contact.max_candidates = room;
        cloths.contact.drop_lists();
        cloths.aim(&mut rng);
        let start = cloths.contact.start.clone();
        cloths.contact.advance(STEP, 4);
        assert_eq!(cloths.contact.report.unlisted, room + 1);
        assert_eq!((&cloths.contact.start, &cloths.contact.target), (&start, &start));
        let mut report = ContactReport { frames: 7, ..ContactReport::default() };
        cloths.contact.report_slice(0, &mut report);
        let trouble = report.unlisted.expect("a trouble");
        assert_eq!((trouble.first_frame, trouble.most_pairs), (7, room + 1));
    }
    cloths.contact.max_candidates = 0;
    cloths.aim(&mut rng);
    let start = cloths.contact.start.clone();
    cloths.contact.advance(STEP, 4);
    assert_eq!(cloths.contact.report.unlisted, 0);
    assert_ne!(cloths.contact.start, start);
    // One row that is off its path, in a round in which any may be held back.
    let mut cloths = crumpled(&mut rng);
    (0..2).for_each(|_| cloths.contact.advance(STEP, 4));
    (cloths.contact.max_candidates, cloths.contact.max_rounds) = (1, 2);
    cloths.contact.target[40].x += 0.01;
    cloths.contact.advance(STEP, 4);
    assert_eq!(cloths.contact.report.unlisted, 2);
}

#[test]
fn what_runs_out_of_room_at_any_time_crosses_nothing() {
    let mut outcomes = [0; 2];
    for seed in 0..100 {
        let mut rng = Rng::new(4000 + seed);
        let mut cloths = Cloths::random(&mut rng);
        cloths.contact.max_rounds = [0, 3, 8][rng.index(3)];
        for advance in 0..6 {
            cloths.contact.max_candidates = 1 + power(&mut rng, 0.0, 5.0) as u32;
            cloths.aim(&mut rng);
            cloths.contact.advance(STEP, 4);
            let TriangleContact { report, max_candidates, .. } = &cloths.contact;
            outcomes[usize::from(report.unlisted > 0)] += 1;
            assert!([0, max_candidates + 1].contains(&report.unlisted), "{report:?}");
            assert_eq!(cloths.crossings(), 0, "seed {seed}, advance {advance}: {report:?}");
        }
    }
    assert!(outcomes[0] > 120 && outcomes[1] > 120, "{outcomes:?}");
}

/// Crossings after random motion of one seed, and the moves of rows that it took.
fn move_at_random(seed: u64) -> (Option<String>, usize) {
    const ADVANCES: usize = 8;
    let mut rng = Rng::new(seed);
    let mut cloths = Cloths::random(&mut rng);
    let mut moves = 0;
    for advance in 0..ADVANCES {
        cloths.aim(&mut rng);
        cloths.contact.advance(STEP, 4);
        let report = cloths.contact.report;
        moves += report.rounds as usize * cloths.contact.start.len();
        let crossings = cloths.crossings();
        if crossings > 0 {
            let found =
                format!("seed {seed}, advance {advance}: {crossings} crossings, {report:?}");
            return (Some(found), moves);
        }
    }
    (None, moves)
}

#[test]
fn random_motion_crosses_nothing() {
    const SEEDS: std::ops::Range<u64> = 2000..2400;
    let trials: Vec<_> = SEEDS.into_par_iter().map(move_at_random).collect();
    let failures: Vec<_> = trials.iter().filter_map(|(failure, _)| failure.as_ref()).collect();
    assert!(failures.is_empty(), "{} trials: {:#?}", failures.len(), failures);
    let moves: usize = trials.iter().map(|(_, moves)| moves).sum();
    assert!(moves > 700_000, "only {moves} moves of rows");
}

/// A sheet that is crumpled by a ball and rests on a plane, and another that falls onto it.
fn crumpled(rng: &mut Rng) -> Cloths {
    let mut upper = random_sheet(rng, 9, 9, 0.02);
    upper.rest.iter_mut().for_each(|x| x.z += 0.08);
    let surfaces = vec![(random_sheet(rng, 12, 12, 0.02), 0.003), (upper, 0.003)];
    let mut cloths = Cloths::new(rng, surfaces);
    let shape = |count: usize| vec![Vec3::ZERO; count];
    let role = Role::Collider { owner: None, groups: [1; 2] };
    let ball = Surface { rest: shape(1), vertices: vec![[0]], ..Surface::default() };
    let mut plane =
        Body::new(Arc::new(Surface { rest: shape(1), ..Surface::default() }), role, 1.0);
    plane.is_plane = true;
    let contact = &mut cloths.contact;
    for body in &mut contact.bodies {
        body.role = Role::Cloth { group: 1, mask: 1, colliders: [1; 2] };
    }
    contact.add(Body::new(Arc::new(ball), role, 1.0), 0.03, 0.03);
    contact.add(plane, 0.0, 0.0);
    let count = contact.start.len();
    contact.rest[count - 1] = Vec3::Z;
    contact.start[count - 2] = Vec3::new(0.0, 0.0, -0.05);
    contact.start[count - 1] = Vec3::new(0.0, 0.0, -0.1);
    contact.target.clone_from(&contact.start);
    cloths
}

#[test]
fn lists_change_nothing() {
    for seed in 0..6 {
        let mut rng = Rng::new(9000 + seed);
        let [mut kept, mut dropped] = [crumpled(&mut rng), crumpled(&mut Rng::new(0))];
        dropped.contact = kept.contact.clone();
        let [mut searches, mut updates, mut contacts] = [0; 3];
        // Of every second seed they come in several rounds a slice.
        let speed = Vec3::NEG_Z * [0.0, 0.02][seed as usize % 2];
        let mut speeds = vec![speed; kept.contact.start.len()];
        for slice in 0..70 {
            let before = kept.contact.start.clone();
            for (row, speed) in speeds.iter_mut().enumerate() {
                if kept.contact.inverse_mass[row] > 0.0 {
                    // They fall, and something shakes some of them.
                    *speed -= Vec3::Z * 3e-5;
                    if rng.index(200) == 0 {
                        *speed += point(&mut rng, 2e-3);
                    }
                    kept.contact.target[row] = before[row] + *speed;
                }
            }
            dropped.contact.target.clone_from(&kept.contact.target);
            dropped.contact.drop_lists();
            kept.contact.advance(STEP, 4);
            dropped.contact.advance(STEP, 4);
            let is_same = kept.contact.start == dropped.contact.start
                && kept.contact.carry == dropped.contact.carry;
            assert!(is_same, "seed {seed}, slice {slice}");
            let held = kept.contact.multipliers().pairs;
            let is_sorted = held.is_sorted_by(|a, b| a.rank < b.rank);
            assert!(is_sorted, "seed {seed}, slice {slice}");
            for (row, speed) in speeds.iter_mut().enumerate() {
                *speed = kept.contact.start[row] - before[row];
            }
            searches += kept.contact.report.searches;
            updates += kept.contact.report.updates;
            contacts += kept.contact.report.contacts;
        }
        println!("seed {seed}: {searches} searches, {updates} updates, {contacts} contacts");
        assert!(updates > 10, "seed {seed}: {updates} updates");
        assert!(contacts > 300, "seed {seed}: {contacts}");
    }
}

/// Times that a closed surface winds around a point: 1 inside, 0 outside (van Oosterom, Strackee, 1983).
fn winding(point: Vec3, positions: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let solid_angle = |corners: &[u32; 3]| {
        let [a, b, c] =
            corners.map(|corner| positions[corner as usize].as_dvec3() - point.as_dvec3());
        let [x, y, z] = [a, b, c].map(|corner| corner.length());
        let below = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
        2.0 * a.dot(b.cross(c)).atan2(below)
    };
    triangles.iter().map(solid_angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

#[test]
fn what_is_in_a_closed_surface_stays_in_it() {
    let failure = (0..60_u64).into_par_iter().find_map_any(|seed| {
        let mut rng = Rng::new(5000 + seed);
        let thickness = power(&mut rng, -2.7, -1.7);
        let size = thickness * rng.range(2.0, 8.0);
        let corners = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]];
        let hull: Vec<_> = corners.map(|x| size * Vec3::from(x.map(|x| x as f32))).into();
        let hull = Surface::of_triangles(hull, &[[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]);
        let inside = random_sheet(&mut rng, 2, 2, 0.2 * size);
        let mut cloths =
            Cloths::new(&mut rng, vec![(hull, 0.5 * thickness), (inside, 0.5 * thickness)]);
        for advance in 0..6 {
            cloths.aim(&mut rng);
            cloths.contact.advance(STEP, 4);
            let positions = &cloths.contact.start;
            for row in 4..8 {
                let winding = winding(positions[row], positions, &cloths.triangles[..4]).abs();
                if (winding - 1.0).abs() > 0.01 {
                    return Some(format!("seed {seed}, advance {advance}: row {row}, {winding}"));
                }
            }
        }
        None
    });
    assert_eq!(failure, None);
}

#[test]
fn contact_keeps_momentum() {
    let mut largest = 0.0_f64;
    for seed in 0..40 {
        let mut rng = Rng::new(7000 + seed);
        let thickness = 0.01;
        let edge = rng.range(1.5, 3.0) * thickness;
        let mut surfaces =
            vec![random_sheet(&mut rng, 4, 4, edge), random_sheet(&mut rng, 3, 5, edge)];
        for (layer, surface) in surfaces.iter_mut().enumerate() {
            // Flat, and a little closer than they are thick.
            surface.rest.iter_mut().for_each(|x| x.z = 0.95 * thickness * layer as f32);
        }
        let surfaces = surfaces.into_iter().map(|surface| (surface, 0.5 * thickness)).collect();
        let mut cloths = Cloths::new(&mut rng, surfaces);
        let contact = &mut cloths.contact;
        for (row, target) in contact.target.iter_mut().enumerate() {
            let toward = [0.1, -0.1][usize::from(row >= 16)] * thickness;
            *target += Vec3::new(0.0, 0.0, toward) + point(&mut rng, 0.02 * thickness);
        }
        let targets = contact.target.clone();
        contact.advance(STEP, 8);
        let changes: Vec<_> = (0..targets.len())
            .map(|row| {
                let change = (contact.start[row] - targets[row]).as_dvec3();
                change / f64::from(contact.inverse_mass[row])
            })
            .collect();
        let sum = changes.iter().sum::<glam::DVec3>().length();
        let all: f64 = changes.iter().map(|change| change.length()).sum();
        assert!(contact.report.contacts > 0 && all > 0.0, "{:?}", contact.report);
        largest = largest.max(sum / all);
    }
    assert!(largest < 1e-5, "{largest:e} of what contact moves is momentum from nowhere");
}

/// A flat sheet of `columns` by `rows` vertices, 0.05 m apart, from a corner along two axes.
fn flat_sheet(corner: Vec3, axes: [Vec3; 2], columns: u32, rows: u32) -> Surface {
    let at = |i: u32| axes[0] * (i % columns) as f32 + axes[1] * (i / columns) as f32;
    let rest = (0..columns * rows).map(|i| corner + 0.05 * at(i)).collect();
    let corners = (0..columns * (rows - 1)).filter(|i| i % columns + 1 < columns);
    let triangles: Vec<_> = corners
        .flat_map(|i| [[i, i + 1, i + columns], [i + 1, i + columns + 1, i + columns]])
        .collect();
    Surface::of_triangles(rest, &triangles)
}

#[test]
fn a_sheet_that_is_pushed_by_one_does_not_cross_another() {
    let thickness = 0.01;
    let axes = [Vec3::X, Vec3::Y];
    let sheet = |z: f32| flat_sheet(Vec3::new(0.0, 0.0, z * thickness), axes, 4, 4);
    let surfaces = [0.0, 1.05, 2.1].map(|z| (sheet(z), 0.5 * thickness)).into();
    let mut cloths = Cloths::new(&mut Rng::new(0), surfaces);
    cloths.contact.inverse_mass = (0..48).map(|row| if row < 16 { 0.1 } else { 100.0 }).collect();
    for _ in 0..4 {
        for row in 0..16 {
            cloths.contact.target[row].z += 2.0 * thickness;
        }
        cloths.contact.advance(STEP, 8);
        let height = |row: usize| cloths.contact.start[row].z;
        for row in 0..16 {
            let heights = [row, row + 16, row + 32].map(height);
            assert!(heights.is_sorted(), "row {row}: {heights:?}");
        }
        assert_eq!(cloths.crossings(), 0);
    }
}

#[test]
fn a_strip_that_shrinks_does_not_cross_what_is_beyond_it() {
    let strip = flat_sheet(Vec3::ZERO, [Vec3::X, Vec3::Y], 6, 2);
    let wall = flat_sheet(Vec3::new(0.29, -0.1, -0.1), [Vec3::Y, Vec3::Z], 6, 6);
    let mut cloths = Cloths::new(&mut Rng::new(0), vec![(strip, 0.005), (wall, 0.005)]);
    // One end moves by 0.15 m to the other, which is 0.04 m from the wall and stays.
    for target in &mut cloths.contact.target[..12] {
        target.x = target.x.max(0.15);
    }
    cloths.contact.advance(STEP, 4);
    let farthest = cloths.contact.start[..12].iter().map(|x| x.x).fold(0.0, f32::max);
    assert!(farthest < 0.29, "{farthest} m, the wall is at 0.29 m");
    assert_eq!(cloths.crossings(), 0);
}

#[test]
fn cloths_that_drift_alone_and_meet_later_cross_nothing() {
    let thickness = 0.01;
    let sheet =
        |z: f32| (flat_sheet(Vec3::new(0.0, 0.0, z), [Vec3::X, Vec3::Y], 3, 3), 0.5 * thickness);
    let mut cloths = Cloths::new(&mut Rng::new(0), vec![sheet(0.0), sheet(0.14)]);
    // First they shear and back, so that pairs are searched far around; then one drifts alone, then they meet.
    let moves = [
        [0.02, 0.0, 0.0],
        [-0.02, 0.0, 0.0],
        [0.0, 0.105, 0.0],
        [0.0, 0.014, 0.0],
        [0.0, 0.014, -0.014],
    ];
    for [shear, first, second] in moves {
        for row in 0..18 {
            let shear = shear * [1.0, -1.0, 1.0][row % 9 / 3];
            cloths.contact.target[row] += Vec3::new(shear, 0.0, [first, second][row / 9]);
        }
        cloths.contact.advance(STEP, 4);
        let height = |row: usize| cloths.contact.start[row].z;
        for row in 0..9 {
            assert!(
                height(row) < height(row + 9),
                "row {row}: {} {}",
                height(row),
                height(row + 9)
            );
        }
        assert_eq!(cloths.crossings(), 0);
    }
}
