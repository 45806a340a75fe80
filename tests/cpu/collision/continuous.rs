//! Continuous collision along the paths of particles and shapes.

use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{Particle, Shape};
use poplin_oracle::{RoundConeTouch, keep_outside, sweep_side, sweep_sphere, touch_round_cone};
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::move_particles;

use super::{
    FACTOR, Judged, after, after_stage, assert_near, cloud, distance, plus, random_particles,
    random_sphere, spheres_of, wide, with_spheres,
};

#[test]
fn a_sphere_sweep_stops_points_at_the_exact_time_of_impact() {
    let mut rng = Rng::new(179);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        cloth.config.contact.continuous = true;
        let long = if round % 4 == 0 { 30.0 } else { 1.0 };
        cloth.previous_positions = (0..16).map(|_| rng.point(-long, long)).collect();
        let mut sphere = random_sphere(&mut rng, 0.8);
        sphere[3] += 0.05;
        let shift = rng.point(-long, long);
        let target = [sphere[0] + shift[0], sphere[1] + shift[1], sphere[2] + shift[2], sphere[3]];
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after(&cloth, StageMask::only(Stage::CollideContinuous), 1, |host| {
            with_spheres(&shapes, &[target]).reach(host.colliders_mut()).unwrap()
        })
        .current;
        let radius = f64::from(sphere[3]);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let before = cloth.previous_positions[i].map(f64::from);
            let sweep = sweep_sphere(before, wide(particle), [wide(sphere), wide(target)], radius);
            let expected = keep_outside(sweep.position, wide(target), radius);
            let start = distance(before, wide(sphere));
            // Not judged: paths that start or end on the surface, or graze it at the steepest
            // allowed offset.
            let ends =
                [start - radius, distance(wide(particle), wide(target)) - radius].map(f64::abs);
            let clearance =
                ends[0].min(ends[1]).min((sweep.offset - 0.8).abs()) / (1.0 + f64::from(long));
            if judged.takes(clearance / 10.0) {
                let reach = 2.0 * f64::from(long) + 4.0;
                let scale = reach
                    * reach
                    * (1.0 + radius / distance(sweep.position, wide(target)).max(1e-3))
                    / radius;
                assert_near(
                    &format!("round {round} particle {i}, {sweep:?}"),
                    got[i],
                    expected,
                    scale,
                );
                judged.note_push(sweep.is_hit);
            }
        }
    }
    judged.assert_most("swept spheres", 0.05);
}

/// Sweeps paths of up to `long` through a tapered capsule that moves by up to `long` \[m\] and
/// compares with the exact time of impact with its side. Returns the number of hits, and
/// descriptions of the wrong ones.
fn judge_side_sweeps(seed: u64, long: f32) -> (usize, Vec<String>) {
    let mut rng = Rng::new(seed);
    let (mut hits, mut wrong) = (0, Vec::new());
    for _ in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        cloth.config.contact.continuous = true;
        cloth.previous_positions = (0..16).map(|_| rng.point(-long, long)).collect();
        let shift = rng.point(-long, long);
        let sphere = |rng: &mut Rng, x: f32| {
            [x, rng.range(-0.3, 0.3), rng.range(-0.3, 0.3), rng.range(0.1, 0.5)]
        };
        let target = [sphere(&mut rng, -0.7), sphere(&mut rng, 0.7)];
        let start = target.map(|[x, y, z, r]| [x - shift[0], y - shift[1], z - shift[2], r]);
        let shapes =
            ShapeArrays { spheres: start.to_vec(), capsules: vec![[0, 1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after(&cloth, StageMask::only(Stage::CollideContinuous), 1, |host| {
            with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
        })
        .current;
        let ends = [spheres_of(&target)[0], spheres_of(&target)[1]];
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let before = cloth.previous_positions[i].map(f64::from);
            let sweep = sweep_side(before, wide(particle), ends, shift.map(f64::from));
            let touch = touch_round_cone(sweep.position, ends[0], ends[1]);
            // Only hits of the side that the side also pushes out; the rest belongs to the end
            // spheres or is ambiguous.
            let begins_outside =
                touch_round_cone(plus(before, shift.map(f64::from)), ends[0], ends[1]).distance
                    > 1e-3;
            let is_side = (0.001..0.999).contains(&touch.fraction)
                && sweep.foot.abs() < 0.99
                && sweep.offset < 0.75;
            if begins_outside && sweep.is_hit && is_side {
                hits += 1;
                // Rounding: the squared path is up to reach^2, and the slope of the side and the
                // distance to the axis rotate the push.
                let reach = 2.0 * f64::from(long) + 4.0;
                let across =
                    (ends[0].1 + (ends[1].1 - ends[0].1) * touch.fraction + touch.distance)
                        .max(1e-3);
                let allowed =
                    FACTOR * f64::from(f32::EPSILON) * reach * reach * 40.0 * (1.0 + 1.0 / across);
                let expected = plus(sweep.position, touch.push);
                if distance(wide(got[i]), expected) > allowed {
                    wrong.push(format!(
                        "from {before:?}, {particle:?} to {:?}, not {expected:?}; {target:?} by {shift:?}",
                        got[i]
                    ));
                }
            }
        }
    }
    (hits, wrong)
}

#[test]
fn a_capsule_sweep_stops_points_at_the_exact_time_of_impact() {
    let mut report = Vec::new();
    for long in [0.2, 1.0, 5.0] {
        let (hits, wrong) = judge_side_sweeps(193, long);
        eprintln!("swept sides, paths up to {long} m: {hits} hits, {} of them wrong", wrong.len());
        assert!(hits > 100, "{hits} hits");
        report.extend(wrong.into_iter().take(1));
    }
    assert!(report.is_empty(), "{report:#?}");
}

/// Signed distance and push of a particle from a tapered capsule.
fn touch_of(rows: &[[f32; 4]], x: [f32; 4]) -> RoundConeTouch {
    let spheres = spheres_of(rows);
    touch_round_cone(wide(x), spheres[0], spheres[1])
}

#[test]
fn fast_points_do_not_pass_through_a_capsule() {
    let mut rng = Rng::new(181);
    let mut hits = 0;
    for round in 0..400 {
        // Crosses a capsule along x whose radius grows from 0.1 to 0.2, within 0.7 radii of the
        // axis; capsule and point move.
        let speed = [0.5, 2.0, 20.0][round % 3];
        let capsule = [[-0.5, 0.0, 0.0, 0.1], [0.5, 0.0, 0.0, 0.2]];
        let offset = rng.range(-0.07, 0.07);
        let along = rng.range(-0.4, 0.4);
        let height = rng.range(0.25, 0.4);
        let point = [along, height, offset, 1.0];
        let mut cloth = cloud(vec![point; 2]);
        cloth.config.contact.continuous = true;
        let shapes =
            ShapeArrays { spheres: capsule.to_vec(), capsules: vec![[0, 1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        // Either the point falls, or the capsule rises, or both.
        let part = [0.0, 1.0, 0.5][round / 3 % 3];
        let end = [along, height - speed * part, offset, 1.0];
        let target = capsule.map(|[x, y, z, r]| [x, y + speed * (1.0 - part), z, r]);
        let run = |is_continuous: bool| {
            let mut engine = ReferenceEngine::new();
            let mut cloth = cloth.clone();
            cloth.config.contact.continuous = is_continuous;
            engine.add(cloth).unwrap();
            engine.set_state(nth_cloth(0), &[end.into(); 2], &[point.into(); 2]).unwrap();
            let set = engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
            with_spheres(&shapes, &target).reach(set).unwrap();
            engine.begin_frame(1.0 / 300.0).unwrap();
            let stage = if is_continuous { Stage::CollideContinuous } else { Stage::CollideShape };
            engine
                .run_part(
                    nth_cloth(0),
                    &FramePart { stages: StageMask::only(stage), ..FramePart::WHOLE },
                    &mut Team::single(),
                )
                .unwrap();
            engine.current(nth_cloth(0))[0]
        };
        let is_through = |x: [f32; 4]| x[1] < target[0][1];
        let (discrete, continuous) = (run(false), run(true));
        hits += usize::from(is_through(discrete.into()));
        assert!(
            !is_through(continuous.into()),
            "round {round}: {continuous:?} fell through {target:?}"
        );
        let touch = touch_of(&target, continuous.into());
        assert!(
            touch.distance > -1e-4 * f64::from(speed).max(1.0),
            "round {round}: {} m inside",
            -touch.distance
        );
        // It ends near the surface that it met, not anywhere outside.
        assert!(
            touch.distance < 0.2,
            "round {round}: {continuous:?} is {} m off {target:?}",
            touch.distance
        );
    }
    assert!(hits > 200, "only {hits} would have fallen through");
}

#[test]
fn points_beyond_the_continuous_reach_are_not_caught() {
    // The sphere rises from 0 to 1 m while the point falls past it from 5 m.
    let run = |reach: f32, end: f32| {
        let mut cloth = cloud(vec![[0.0, end, 0.0, 1.0]; 2]);
        cloth.previous_positions = vec![[0.0, 5.0, 0.0]; 2];
        cloth.config.contact.continuous = true;
        cloth.config.contact.continuous_reach = reach;
        let shapes = ShapeArrays { spheres: vec![[0.0, 0.0, 0.0, 0.1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let target = [[0.0, 1.0, 0.0, 0.1]];
        after(&cloth, StageMask::only(Stage::CollideContinuous), 1, |host| {
            with_spheres(&shapes, &target).reach(host.colliders_mut()).unwrap()
        })
        .current[0][1]
    };
    // Ends at -1 m: 0.9 m, or nine radii, below the swept volume of the sphere.
    assert_eq!(run(8.9, -1.0), -1.0, "beyond the reach");
    assert!(run(9.1, -1.0) > 1.0, "within the reach");
    assert!(run(1e6, -50.0) > 1.0, "by default no reach is too long");
    assert!(run(0.0, 0.5) > 1.0, "what ends in the swept space is always caught");
}

#[test]
fn a_moved_pin_is_not_pulled_back_to_a_shape_on_its_path() {
    // The pin was moved from above the sphere to below it a second ago; nothing moves since then.
    for is_continuous in [false, true] {
        let mut cloth = cloud(vec![[0.0, 0.5, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]]);
        cloth.config.contact.continuous = is_continuous;
        let mut engine = ReferenceEngine::new();
        engine.add(cloth).unwrap();
        let pin = [0.0, -0.5, 0.0, 0.0];
        engine
            .cloth_mut(nth_cloth(0))
            .unwrap()
            .write_particles(&[0], &[Particle::from(pin)])
            .unwrap();
        (0..60).for_each(|_| engine.step(1.0 / 60.0).unwrap());
        engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut().add(Shape::sphere(0.1)).unwrap();
        engine.step(1.0 / 60.0).unwrap();
        assert_eq!(
            engine.current(nth_cloth(0))[0],
            Particle::from(pin),
            "continuous: {is_continuous}"
        );
    }
}

#[test]
fn points_without_contact_do_not_move() {
    let mut rng = Rng::new(191);
    let mut cloth = cloud(random_particles(&mut rng, 200));
    cloth.config.contact.continuous = true;
    move_particles(&mut cloth, &mut rng, 0.5);
    let shapes = ShapeArrays {
        spheres: vec![[4.0, 0.0, 0.0, 1.0], [4.0, 2.0, 0.0, 0.5]],
        capsules: vec![[0, 1]],
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    assert_eq!(after_stage(&cloth, Stage::CollideContinuous), Particle::rows(&cloth.particles));
}
