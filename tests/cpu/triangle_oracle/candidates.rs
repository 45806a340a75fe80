//! Candidate lists against all pairs, and lists that run out of room.

use std::collections::BTreeSet;
use std::sync::Arc;

use glam::Vec3;
use poplin_cpu::triangle_contact::{Body, Kind, Role, Surface, TriangleContact};
use poplin_geometry::Rng;
use poplin_model::ContactReport;
use poplin_testkit::triangles::{point, power, random_sheet};
use rayon::prelude::*;

use super::{Cloths, STEP};

/// Rows of a pair in a canonical order: the lower edge first.
fn in_order(kind: Kind, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
    if kind == Kind::EdgeEdge && [c, d] < [a, b] { [c, d, a, b] } else { [a, b, c, d] }
}

#[test]
fn every_pair_within_thickness_is_a_candidate() {
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
            // The list holds the pairs that push at the start of a round, even if no row has a
            // target elsewhere.
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
fn full_candidate_lists_stop_all_motion_and_are_reported() {
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
    // One row away from its path, in a round in which every row may be held back.
    let mut cloths = crumpled(&mut rng);
    (0..2).for_each(|_| cloths.contact.advance(STEP, 4));
    (cloths.contact.max_candidates, cloths.contact.max_rounds) = (1, 2);
    cloths.contact.target[40].x += 0.01;
    cloths.contact.advance(STEP, 4);
    assert_eq!(cloths.contact.report.unlisted, 2);
}

#[test]
fn full_candidate_lists_cross_nothing_at_any_time() {
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

/// A sheet crumpled by a ball and resting on a plane, and another one that falls onto it.
fn crumpled(rng: &mut Rng) -> Cloths {
    let mut upper = random_sheet(rng, 9, 9, 0.02);
    upper.rest.iter_mut().for_each(|x| x.z += 0.08);
    let surfaces = vec![(random_sheet(rng, 12, 12, 0.02), 0.003), (upper, 0.003)];
    let mut cloths = Cloths::new(rng, surfaces);
    let role = Role::Collider { owner: None, groups: [1; 2] };
    let ball = Surface::of_sphere(Vec3::ZERO);
    let plane = Surface { rest: vec![Vec3::ZERO], ..Surface::default() };
    let mut plane = Body::new(Arc::new(plane), role, 1.0);
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
fn kept_lists_change_no_bits() {
    for seed in 0..6 {
        let mut rng = Rng::new(9000 + seed);
        let [mut kept, mut dropped] = [crumpled(&mut rng), crumpled(&mut Rng::new(0))];
        dropped.contact = kept.contact.clone();
        let [mut searches, mut updates, mut contacts] = [0; 3];
        // Every second seed starts fast enough for several rounds a slice.
        let speed = Vec3::NEG_Z * [0.0, 0.02][seed as usize % 2];
        let mut speeds = vec![speed; kept.contact.start.len()];
        for slice in 0..70 {
            let before = kept.contact.start.clone();
            for (row, speed) in speeds.iter_mut().enumerate() {
                if kept.contact.inverse_mass[row] > 0.0 {
                    // Gravity, and random kicks of some rows.
                    *speed -= Vec3::Z * 3e-5;
                    if rng.index(200) == 0 {
                        *speed += point(&mut rng, 2e-3);
                    }
                    kept.contact.target[row] = before[row] + *speed;
                }
            }
            dropped.contact.target.clone_from(&kept.contact.target);
            // One copy searches again in every slice, the other keeps its lists.
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
