//! Sheets at rest on boxes, planes and spheres.

use poplin::model::{ClothDesc, Pose};
use poplin_measure::shape_arrays::{ShapeArrays, cuboid};

use super::{
    Ground, Vec3, ground, length, lift, mean, minus, play, positions, sheet, simulation,
    turned_about_z,
};

/// Box of these half extents as a box, as planes and as triangles.
fn boxes(pose: Pose, half: [f32; 3]) -> [ShapeArrays; 3] {
    let corner = |i: usize| {
        pose.apply(std::array::from_fn(|k| if i >> k & 1 == 1 { half[k] } else { -half[k] }))
    };
    let vertices: Vec<[f32; 3]> = (0..8).map(corner).collect();
    // Bit k of a corner's index is its side along axis k.
    let quads =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let plane = |axis: usize, side: f32| {
        // The image of a unit vector minus that of the origin is the rotated normal.
        let tip = pose.apply(std::array::from_fn(|k| if k == axis { side } else { 0.0 }));
        let normal: [f32; 3] = std::array::from_fn(|k| tip[k] - pose.translation[k]);
        let offset: f32 = (0..3).map(|k| normal[k] * pose.translation[k]).sum();
        [normal[0], normal[1], normal[2], -offset - half[axis]]
    };
    let planes = (0..3).flat_map(|axis| [plane(axis, -1.0), plane(axis, 1.0)]).collect();
    [
        ShapeArrays { boxes: vec![cuboid(pose, half)], ..ShapeArrays::default() },
        ShapeArrays { planes, convexes: vec![(0..6).collect()], ..ShapeArrays::default() },
        ShapeArrays {
            mesh_vertices: vertices,
            mesh_triangles: triangles,
            ..ShapeArrays::default()
        },
    ]
}

#[test]
fn boxes_of_planes_and_triangles_carry_a_sheet_like_a_box() {
    let half = [0.2, 0.1, 0.15];
    for tilt in [0.0, 0.3] {
        let pose = Pose { translation: [0.05, -0.2, 0.02], ..turned_about_z(tilt) };
        let back = turned_about_z(-tilt);
        let means = boxes(pose, half).map(|colliders| {
            let mut cloth = sheet(17, 17, 0.6, vec![]);
            cloth.colliders = colliders.to_set().unwrap();
            cloth.config.contact.friction = 0.8;
            cloth.config.damping = [0.3; 3];
            let mut simulation = simulation(cloth);
            play(&mut simulation, 120);
            let points = positions(&mut simulation);
            // Heights above the top, of particles well within its rims.
            let local =
                |p: &Vec3| back.apply(std::array::from_fn(|k| p[k] as f32 - pose.translation[k]));
            let over: Vec<f64> = points
                .iter()
                .map(local)
                .filter(|p| p[0].abs() < 0.8 * half[0] && p[2].abs() < 0.8 * half[2] && p[1] > 0.0)
                .map(|p| f64::from(p[1] - half[1]))
                .collect();
            let lowest = points.iter().map(|p| p[1]).fold(f64::MAX, f64::min);
            let highest = over.iter().copied().fold(f64::MIN, f64::max);
            let deepest = over.iter().copied().fold(f64::MAX, f64::min);
            (over.len(), over.iter().sum::<f64>() / over.len() as f64, deepest, highest, lowest)
        });
        eprintln!(
            "tilt {tilt}, box, planes, triangles: (particles over the top, mean, lowest, highest, lowest of all): {means:.5?}"
        );
        for (over, mean, deepest, ..) in means {
            assert!(over > 30, "the sheet has slipped off: {means:?}");
            assert!((mean - means[0].1).abs() < 0.001, "tilt {tilt}: {means:?}");
            assert!(
                (-1e-5..0.001).contains(&deepest),
                "the sheet must lie on the top, tilt {tilt}: {means:?}"
            );
        }
    }
}

/// Motion of a sheet in ten seconds, after three seconds to settle: largest speed [m/s], drift of
/// the mean height, largest drift of a particle and least clearance \[m\].
fn unrest(cloth: ClothDesc, clearance: impl Fn(Vec3) -> f64) -> [f64; 4] {
    let mut simulation = simulation(cloth);
    play(&mut simulation, 180);
    let settled = positions(&mut simulation);
    let (mut last, mut speed, mut least) = (settled.clone(), 0.0f64, f64::MAX);
    for _ in 0..600 {
        play(&mut simulation, 1);
        let now = positions(&mut simulation);
        speed =
            now.iter().zip(&last).map(|(p, q)| 60.0 * length(minus(*p, *q))).fold(speed, f64::max);
        least = now.iter().map(|&p| clearance(p)).fold(least, f64::min);
        last = now;
    }
    let drift = last.iter().zip(&settled).map(|(p, q)| length(minus(*p, *q))).fold(0.0, f64::max);
    [speed, (mean(&last)[1] - mean(&settled)[1]).abs(), drift, least]
}

fn resting(colliders: ShapeArrays) -> ClothDesc {
    let mut cloth = sheet(12, 12, 0.5, vec![]);
    lift(&mut cloth, 0.01);
    cloth.colliders = colliders.to_set().unwrap();
    cloth.config.contact.friction = 0.5;
    cloth.config.damping = [0.5; 3];
    cloth
}

#[track_caller]
fn assert_at_rest(what: &str, [speed, height, drift, least]: [f64; 4]) {
    eprintln!(
        "rest on a {what}: speed {speed:.2e} m/s, height {height:.2e} m, drift {drift:.2e} m, clearance {least:.2e} m"
    );
    assert!(least > -1e-5, "{what}: {least} m inside");
    assert!(speed < 0.01, "{what}: jitters at {speed} m/s");
    assert!(height < 0.001, "{what}: sinks by {height} m");
}

#[test]
fn a_sheet_at_rest_on_a_plane_does_not_drift_jitter_or_sink() {
    let unrest = unrest(resting(ground(Ground::Plane)), |p| p[1]);
    assert_at_rest("plane", unrest);
    assert!(unrest[0] < 1e-4 && unrest[2] < 1e-4, "on the level nothing may move: {unrest:?}");
}

#[test]
fn a_sheet_at_rest_on_a_sphere_does_not_drift_jitter_or_sink() {
    let center = [0.0, -0.3, 0.0];
    let sphere = ShapeArrays { spheres: vec![[0.0, -0.3, 0.0, 0.3]], ..ShapeArrays::default() };
    assert_at_rest("sphere", unrest(resting(sphere), |p| length(minus(p, center)) - 0.3));
}
