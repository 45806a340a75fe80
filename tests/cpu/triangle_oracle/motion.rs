//! Random and forced motion: nothing is crossed, momentum is kept.

use glam::Vec3;
use poplin_cpu::triangle_contact::Surface;
use poplin_geometry::{Rng, solid_angle};
use poplin_testkit::skip::part;
use poplin_testkit::triangles::{point, power, random_sheet};
use rayon::prelude::*;

use super::{Cloths, STEP};

/// Description of the crossings after random motion from one seed, and the number of row moves.
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
    let seeds = part(2000..2400, 4);
    let count = seeds.len();
    let trials: Vec<_> = seeds.into_par_iter().map(move_at_random).collect();
    let failures: Vec<_> = trials.iter().filter_map(|(failure, _)| failure.as_ref()).collect();
    assert!(failures.is_empty(), "{} trials: {:#?}", failures.len(), failures);
    let moves: usize = trials.iter().map(|(_, moves)| moves).sum();
    assert!(moves > 1750 * count, "only {moves} moves of rows");
}

/// Winding number of a closed surface around a point: 1 inside, 0 outside.
fn winding(point: Vec3, positions: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let corner = |corner: u32| positions[corner as usize].as_dvec3() - point.as_dvec3();
    let angles = triangles.iter().map(|corners| solid_angle(corners.map(corner)));
    angles.sum::<f64>() / (4.0 * std::f64::consts::PI)
}

#[test]
fn a_sheet_in_a_closed_surface_stays_inside() {
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
fn contact_conserves_momentum() {
    let mut largest = 0.0_f64;
    for seed in 0..40 {
        let mut rng = Rng::new(7000 + seed);
        let thickness = 0.01;
        let edge = rng.range(1.5, 3.0) * thickness;
        let mut surfaces =
            vec![random_sheet(&mut rng, 4, 4, edge), random_sheet(&mut rng, 3, 5, edge)];
        for (layer, surface) in surfaces.iter_mut().enumerate() {
            // Flat layers, slightly closer than their thickness.
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

/// Flat sheet of `columns` x `rows` vertices 0.05 m apart, from a corner along two axes.
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
fn a_pushed_sheet_does_not_cross_the_next_one() {
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
fn a_shrinking_strip_does_not_cross_a_wall_beyond_it() {
    let strip = flat_sheet(Vec3::ZERO, [Vec3::X, Vec3::Y], 6, 2);
    let wall = flat_sheet(Vec3::new(0.29, -0.1, -0.1), [Vec3::Y, Vec3::Z], 6, 6);
    let mut cloths = Cloths::new(&mut Rng::new(0), vec![(strip, 0.005), (wall, 0.005)]);
    // One end moves by 0.15 m towards the other, which stays 0.04 m from the wall.
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
    // They shear back and forth, which widens the search; then one drifts alone, and then they
    // meet.
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
