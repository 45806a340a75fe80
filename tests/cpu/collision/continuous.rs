//! Continuous collision along the paths of particles and shapes.

use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{Frame, Particle, Shape};
use poplin_reference::oracle::{
    RoundConeTouch, keep_outside, sweep_side, sweep_sphere, touch_round_cone,
};
use poplin_reference::{ReferenceEngine, Team};
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;

use super::{
    FACTOR, Judged, after, after_stage, assert_near, cloud, distance, plus, random_particles,
    random_sphere, spheres_of, wide, with_spheres,
};

#[test]
fn a_point_on_its_way_through_a_sphere_stops_on_its_side_as_the_exact_time_of_impact_says() {
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
            // Whether a path enters is unclear where it ends or starts at the surface, or at its steepest allowed graze.
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

/// Paths of up to `long` through a tapered capsule that moves by up to `long` \[m\], against the exact time of impact with its side:
/// how many hit, and where the stage says otherwise.
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
            // Hits of the side after which the side pushes too; all else is the spheres' matter, or unclear.
            let begins_outside =
                touch_round_cone(plus(before, shift.map(f64::from)), ends[0], ends[1]).distance
                    > 1e-3;
            let is_side = (0.001..0.999).contains(&touch.fraction)
                && sweep.foot.abs() < 0.99
                && sweep.offset < 0.75;
            if begins_outside && sweep.is_hit && is_side {
                hits += 1;
                // The squared path is up to reach^2; the slope of the side and the distance to the axis rotate the push.
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
fn a_point_on_its_way_through_the_side_of_a_capsule_stops_as_the_exact_time_of_impact_says() {
    let mut report = Vec::new();
    for long in [0.2, 1.0, 5.0] {
        let (hits, wrong) = judge_side_sweeps(193, long);
        eprintln!("swept sides, paths up to {long} m: {hits} hits, {} of them wrong", wrong.len());
        assert!(hits > 100, "{hits} hits");
        report.extend(wrong.into_iter().take(1));
    }
    assert!(report.is_empty(), "{report:#?}");
}

/// Where a particle stands to a tapered capsule.
fn touch_of(rows: &[[f32; 4]], x: [f32; 4]) -> RoundConeTouch {
    let spheres = spheres_of(rows);
    touch_round_cone(wide(x), spheres[0], spheres[1])
}

#[test]
fn a_point_on_its_way_through_the_side_of_a_capsule_stays_on_its_side() {
    let mut rng = Rng::new(181);
    let mut hits = 0;
    for round in 0..400 {
        // Across a capsule along x that grows from 0.1 to 0.2, within 0.7 of its radius of the axis; capsule and point move.
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
            engine.begin_frame(&Frame { dt: 1.0 / 300.0 }).unwrap();
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
        // It is put near the surface that it met, not somewhere.
        assert!(
            touch.distance < 0.2,
            "round {round}: {continuous:?} is {} m off {target:?}",
            touch.distance
        );
    }
    assert!(hits > 200, "only {hits} would have fallen through");
}

#[test]
fn a_point_beyond_the_reach_of_a_shape_is_not_caught_by_it() {
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
    // Ends at -1 m: 0.9 m, or nine radii, below all that the sphere sweeps.
    assert_eq!(run(8.9, -1.0), -1.0, "beyond the reach");
    assert!(run(9.1, -1.0) > 1.0, "within the reach");
    assert!(run(1e6, -50.0) > 1.0, "by default no reach is too long");
    assert!(run(0.0, 0.5) > 1.0, "what ends in the swept space is always caught");
}

#[test]
fn a_pin_that_was_set_elsewhere_is_not_dragged_back_to_a_shape_between() {
    // The pin has been put from above the sphere to below it, a second ago; nothing moves any more.
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
        (0..60).for_each(|_| engine.step(&Frame::default()).unwrap());
        engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut().add(Shape::sphere(0.1)).unwrap();
        engine.step(&Frame::default()).unwrap();
        assert_eq!(
            engine.current(nth_cloth(0))[0],
            Particle::from(pin),
            "continuous: {is_continuous}"
        );
    }
}

#[test]
fn points_that_meet_nothing_stay_where_they_are() {
    let mut rng = Rng::new(191);
    let mut cloth = cloud(random_particles(&mut rng, 200));
    cloth.config.contact.continuous = true;
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.5, 0.5)))
        .collect();
    let shapes = ShapeArrays {
        spheres: vec![[4.0, 0.0, 0.0, 1.0], [4.0, 2.0, 0.0, 0.5]],
        capsules: vec![[0, 1]],
        ..Default::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    assert_eq!(after_stage(&cloth, Stage::CollideContinuous), Particle::rows(&cloth.particles));
}
