//! Hundreds of shapes and large meshes: the trees find the contacts that trying all shapes finds.

use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::Particle;
use poplin_oracle::{Sphere, nearest_triangle, touch_shapes};
use poplin_testkit::nth_cloth;

use super::{
    FACTOR, Judged, after, after_stage, assert_near, bumpy_sphere, capsules_of, cloud, distance,
    minus, plus, random_particles, shape_scale, spheres_of, wide, wide_points, with_spheres,
};

/// 300 spheres in 100 chains of three with a capsule between neighbours, and 80 capsules between
/// any two.
fn crowd(rng: &mut Rng) -> (Vec<[f32; 4]>, Vec<[u32; 2]>) {
    let mut rows = Vec::new();
    for _ in 0..100 {
        let mut center = rng.point(-1.0, 1.0);
        for _ in 0..3 {
            rows.push([center[0], center[1], center[2], rng.range(0.02, 0.09)]);
            let step = rng.point(-0.2, 0.2);
            center = std::array::from_fn(|k| center[k] + step[k]);
        }
    }
    let mut pairs: Vec<[u32; 2]> = (0..100)
        .flat_map(|chain| [[3 * chain, 3 * chain + 1], [3 * chain + 1, 3 * chain + 2]])
        .collect();
    pairs.extend((0..80).map(|_| [(); 2].map(|()| rng.index(300) as u32)));
    (rows, pairs)
}

#[test]
fn among_hundreds_of_shapes_none_is_missed() {
    let mut rng = Rng::new(131);
    let mut judged = Judged::default();
    for _ in 0..3 {
        let (rows, pairs) = crowd(&mut rng);
        let mut cloth = cloud(random_particles(&mut rng, 300));
        let (spheres, capsules) = (spheres_of(&rows), capsules_of(&pairs));
        let shapes = ShapeArrays { spheres: rows, capsules: pairs, ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let found = touch_shapes(wide(particle), &spheres, &capsules);
            if judged.takes(found.clearance) {
                let error = distance(wide(got[i]), plus(wide(particle), found.mean()));
                let allowed = 1e-6f64.max(
                    FACTOR
                        * f64::from(f32::EPSILON)
                        * shape_scale(wide(particle), &spheres, &capsules),
                );
                assert!(
                    error <= allowed,
                    "particle {i}: {error:e} m above {allowed:e} m, {found:?}"
                );
                judged.note_push(!found.touches.is_empty());
            }
        }
    }
    judged.assert_most("crowd", 0.1);
}

#[test]
fn among_hundreds_of_moving_shapes_none_is_missed() {
    let mut rng = Rng::new(137);
    let mut judged = Judged::default();
    let iterations = 5;
    let (rows, pairs) = crowd(&mut rng);
    let target: Vec<[f32; 4]> = rows
        .iter()
        .map(|row| {
            let step = rng.point(-0.3, 0.3);
            [
                row[0] + step[0],
                row[1] + step[1],
                row[2] + step[2],
                (row[3] + rng.range(-0.02, 0.02)).max(0.0),
            ]
        })
        .collect();
    let mut cloth = cloud(random_particles(&mut rng, 600));
    let capsules = capsules_of(&pairs);
    let shapes = ShapeArrays { spheres: rows.clone(), capsules: pairs, ..Default::default() };
    cloth.colliders = shapes.to_set().unwrap();
    let got = after(&cloth, StageMask::only(Stage::CollideShape), iterations, |host| {
        with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
    })
    .current;
    // Spheres move linearly over the iterations of the frame.
    let at = |fraction: f64| -> Vec<Sphere> {
        let both = spheres_of(&rows).into_iter().zip(spheres_of(&target));
        both.map(|(a, b)| {
            (plus(a.0, minus(b.0, a.0).map(|x| x * fraction)), a.1 + (b.1 - a.1) * fraction)
        })
        .collect()
    };
    let steps: Vec<_> =
        (1..=iterations).map(|k| at(f64::from(k) / f64::from(iterations))).collect();
    for (i, &particle) in cloth.particles.iter().enumerate() {
        let (mut x, mut clearance, mut scale, mut touches) =
            (wide(particle), f64::INFINITY, 0.0, 0);
        for spheres in &steps {
            let found = touch_shapes(x, spheres, &capsules);
            scale += shape_scale(x, spheres, &capsules);
            clearance = clearance.min(found.clearance);
            touches += found.touches.len();
            x = plus(x, found.mean());
        }
        if judged.takes(clearance) {
            // Rounding errors of one iteration carry over to the next, at most rotated.
            assert_near(&format!("particle {i}"), got[i], x, scale);
            judged.note_push(touches > 0);
        }
    }
    judged.assert_most("moving crowd", 0.1);
}

#[test]
fn shapes_far_away_change_nothing() {
    let mut rng = Rng::new(139);
    for stage in [Stage::CollideShape, Stage::CollideContinuous] {
        let mut cloth = cloud(random_particles(&mut rng, 400));
        cloth.config.contact.friction = 0.4;
        cloth.config.contact.continuous = stage == Stage::CollideContinuous;
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.4, 0.4)))
            .collect();
        let near = |shift: f32| {
            vec![[shift, 0.0, 0.0, 0.4], [0.5, 0.2 + shift, 0.0, 0.2], [-0.4, -0.3, 0.4, 0.3]]
        };
        let far: Vec<_> = (0..300).map(|k| [50.0 + k as f32, -20.0, 10.0, 1.0]).collect();
        let far_pairs: Vec<_> = (3..302).map(|k| [k, k + 1]).collect();
        let with = |rows: Vec<[f32; 4]>| [rows, far.clone()].concat();
        let run = |spheres: [Vec<[f32; 4]>; 2], capsules: Vec<[u32; 2]>| {
            let mut cloth = cloth.clone();
            let [start, target] = spheres;
            let shapes = ShapeArrays { spheres: start, capsules, ..Default::default() };
            cloth.colliders = shapes.to_set().unwrap();
            let stages = StageMask::only(stage);
            after(&cloth, stages, 3, |host| {
                with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
            })
        };
        let few = run([near(0.0), near(0.1)], vec![[0, 1]]);
        let many = run([with(near(0.0)), with(near(0.1))], [vec![[0, 1]], far_pairs].concat());
        // Pushes may be summed in a different order.
        poplin_testkit::compare::close("current", &few.current, &many.current, 8.0, 1.0).unwrap();
        poplin_testkit::compare::close("previous", &few.previous, &many.previous, 8.0, 1.0)
            .unwrap();
        let moved = few
            .current
            .iter()
            .zip(Particle::rows(&cloth.particles))
            .filter(|(a, b)| a != b)
            .count();
        assert!(moved > 20, "{}: {moved} moved", stage.name());
    }
}

#[test]
fn the_nearest_of_80k_triangles_is_found_after_a_deformation() {
    let mut rng = Rng::new(149);
    let (vertices, triangles) = bumpy_sphere(6, 0.08, [0.0; 3]);
    assert_eq!(triangles.len(), 81_920);
    // Half of the points are near the surface, the others anywhere, some of them outside.
    let points: Vec<[f32; 4]> = (0..60)
        .map(|k| {
            let [x, y, z] = rng.point(-1.0, 1.0);
            let factor = if k % 2 == 0 { 0.97 / (x * x + y * y + z * z).sqrt() } else { 1.0 };
            [x * factor, y * factor, z * factor, 1.0]
        })
        .collect();
    let mut cloth = cloud(points.clone());
    let shapes = ShapeArrays {
        mesh_vertices: vertices.clone(),
        mesh_triangles: triangles.clone(),
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    // Rotated, squeezed and shifted, so that the bounds of the old tree are useless.
    let moved: Vec<[f32; 3]> =
        vertices.iter().map(|&[x, y, z]| [0.8 * y + 0.1, -x, 1.2 * z - 0.05]).collect();

    let mut engine = ReferenceEngine::new();
    engine.add(cloth).unwrap();
    let mut judged = Judged::default();
    for (round, vertices) in [&vertices, &moved].into_iter().enumerate() {
        let shapes = ShapeArrays { mesh_vertices: vertices.clone(), ..shapes.clone() };
        shapes.reach(engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut()).unwrap();
        // The second shape is the target of the frame: it starts at the first one, and the search
        // starts from the triangle that was nearest there.
        engine
            .set_state(nth_cloth(0), Particle::from_rows(&points), Particle::from_rows(&points))
            .unwrap();
        engine.begin_frame(1.0 / 300.0).unwrap();
        engine
            .run_part(
                nth_cloth(0),
                &FramePart { stages: StageMask::only(Stage::CollideTriangle), ..FramePart::WHOLE },
                &mut Team::single(),
            )
            .unwrap();
        let corners = wide_points(vertices);
        for (i, &point) in points.iter().enumerate() {
            let (_, closest, clearance) =
                nearest_triangle(wide(point), &corners, &triangles, 1e-5).unwrap();
            if judged.takes(clearance.max(0.0)) {
                let expected = plus(wide(point), closest.push());
                // Edges of 0.02 m at coordinates of 1 m: the relative error of the normal is 1/0.02
                // times that of a coordinate.
                assert_near(
                    &format!("round {round} point {i}"),
                    engine.current(nth_cloth(0))[i].into(),
                    expected,
                    4.0 + closest.height.abs() / 0.005,
                );
                judged.note_push(closest.height < 0.0);
            }
        }
    }
    eprintln!("large mesh: {judged:?}");
    assert!(
        judged.judged * 10 > judged.seen * 7 && judged.pushed * 3 > judged.judged,
        "{judged:?}"
    );
}
