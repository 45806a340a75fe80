//! Self collision of loose particles against all pairs in `f64`: pushes, momentum, friction, speed
//! limit.

use poplin::model::{ClothDesc, Particle, SELF_COLLISION_REST_FRACTION};
use poplin_cpu::{ReferenceEngine, Team, bucket_of_cell};
use poplin_geometry::Rng;
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{MIN_GRID_CELLS, Stage, StageMask, effective_stiffness, stiffness_to_log2};
use poplin_oracle::{Apartness, Member, push_apart};
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::loose_particles as loose;

use super::{apart, distance, wide};

/// Returns the particles after one iteration of this stage only.
fn after_stage(cloth: &ClothDesc) -> Vec<[f32; 4]> {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    engine.begin_frame(1.0 / cloth.config.solver.as_pbd().unwrap().frequency).unwrap();
    let part = FramePart { stages: StageMask::only(Stage::SelfCollide), ..FramePart::WHOLE };
    engine.run_part(nth_cloth(0), &part, &mut Team::single()).unwrap();
    Particle::rows(engine.current(nth_cloth(0))).to_vec()
}

fn random_loose(rng: &mut Rng, count: usize, distance: f32) -> ClothDesc {
    let particle = |rng: &mut Rng| {
        let [x, y, z] = rng.point(-1.0, 1.0);
        [x, y, z, if rng.index(6) == 0 { 0.0 } else { rng.range(0.1, 50.0) }]
    };
    let mut cloth = loose((0..count).map(|_| particle(rng)).collect());
    cloth.config.self_collision.distance = Some(distance);
    cloth.config.self_collision.stiffness = rng.range(0.1, 1.0);
    cloth.config.self_collision.friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
    cloth.rest_positions = (0..count).map(|_| rng.point(-1.0, 1.0)).collect();
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    if rng.index(2) == 0 {
        cloth.self_collision_indices =
            (0..count as u32).filter(|_| rng.index(3) != 0).rev().collect();
    }
    cloth
}

#[test]
fn the_stage_equals_the_jacobi_step_over_all_pairs() {
    let mut rng = Rng::new(5);
    let (mut contacts, mut skipped) = (0, 0);
    for round in 0..300 {
        let limit = [0.1, 0.3, 1.0][round % 3];
        let count = 2 + rng.index(120);
        let cloth = random_loose(&mut rng, count, limit);
        let effective = |stiffness: f32| {
            f64::from(effective_stiffness(stiffness_to_log2(stiffness), 10.0 / 300.0))
        };
        let rule = Apartness {
            distance: f64::from(limit),
            rest_fraction: f64::from(SELF_COLLISION_REST_FRACTION),
            stiffness: effective(cloth.config.self_collision.stiffness),
            friction: effective(cloth.config.self_collision.friction),
            relaxation: 1.5,
        };
        let mut indices = cloth.self_collision_indices.clone();
        if indices.is_empty() {
            indices = (0..count as u32).collect();
        }
        indices.sort_unstable();
        let member = |&i: &u32| {
            let i = i as usize;
            Member {
                position: wide(&cloth.particles[i].position),
                previous: wide(&cloth.previous_positions[i]),
                rest: wide(&cloth.rest_positions[i]),
                w: f64::from(cloth.particles[i].inverse_mass),
            }
        };
        let members: Vec<_> = indices.iter().map(member).collect();
        // A pair whose overlap is within rounding may count or not, and the count changes the
        // fractions.
        let is_borderline = |a: &Member, b: &Member| {
            let between = |a: [f64; 3], b: [f64; 3]| {
                (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
            };
            // A pair that rests closer than the distance is kept at a fraction of its rest
            // distance.
            let kept = rule.distance.min(rule.rest_fraction * between(a.rest, b.rest));
            (kept - between(a.position, b.position)).abs() < 1e-6
        };
        if (0..members.len()).any(|a| (0..a).any(|b| is_borderline(&members[a], &members[b]))) {
            skipped += 1;
            continue;
        }
        let got = after_stage(&cloth);
        let expected = push_apart(&members, &rule);
        for (i, particle) in cloth.particles.iter().enumerate() {
            let slot = indices.binary_search(&(i as u32)).ok();
            let expected = slot.map_or(wide(&particle.position), |slot| expected[slot]);
            contacts += usize::from(expected != wide(&particle.position));
            for k in 0..3 {
                let error = (f64::from(got[i][k]) - expected[k]).abs();
                assert!(
                    error < 4e-6,
                    "round {round} particle {i}: {:?} against {expected:?}",
                    got[i]
                );
            }
        }
    }
    assert!(contacts > 5_000, "only {contacts} particles were pushed");
    assert!(skipped < 30, "{skipped} rounds skipped");
}

#[test]
fn neighbour_cells_have_distinct_buckets() {
    let distinct = |count: u32| {
        // The 27 cells around the origin.
        let around = |k: i32| [k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1];
        let buckets: std::collections::BTreeSet<u32> =
            (0..27).map(|k| bucket_of_cell(around(k), count)).collect();
        buckets.len()
    };
    let mut count = MIN_GRID_CELLS;
    while count <= 1 << 24 {
        assert_eq!(distinct(count), 27, "{count} buckets");
        count *= 2;
    }
    // Control: with few buckets some do collide.
    assert!(distinct(32) < 27);
}

#[test]
fn momentum_is_conserved_for_any_masses() {
    let mut rng = Rng::new(9);
    for _ in 0..50 {
        let mut cloth = random_loose(&mut rng, 80, 0.5);
        cloth
            .particles
            .iter_mut()
            .for_each(|particle| particle.inverse_mass = particle.inverse_mass.max(0.1));
        cloth.self_collision_indices.clear();
        let after = after_stage(&cloth);
        let mut sum = [0.0; 3];
        let mut moved = 0.0f64;
        for (before, after) in cloth.particles.iter().zip(&after) {
            let mass = 1.0 / f64::from(before.inverse_mass);
            let (after_m, before_m) = (wide(after), wide(&before.position));
            sum = std::array::from_fn(|k| sum[k] + mass * (after_m[k] - before_m[k]));
            moved += mass * distance(&(*before).into(), after);
        }
        assert!(moved > 1e-3, "{moved}");
        // Rounding of positions near 1 m: half a ulp for each of about ten kilograms.
        assert!(sum.iter().all(|x| x.abs() < 3e-6 * moved.max(1.0)), "{sum:?} of {moved}");
    }
}

#[test]
fn pairs_separate_to_their_distance_and_no_further() {
    let limit = 0.1;
    let pushed = |cloth: &ClothDesc| {
        let after = after_stage(cloth);
        distance(&after[0], &after[1])
    };
    // A stiffness of 1 resolves 0.948 of the overlap in one iteration.
    let fraction = f64::from(effective_stiffness(-128.0, 10.0 / 300.0));
    let pair =
        |gap: f32, w: [f32; 2]| apart(vec![[0.0, 0.0, 0.0, w[0]], [gap, 0.0, 0.0, w[1]]], limit);
    for w in [[1.0, 1.0], [1.0, 0.0], [1e-6, 1e6], [1e9, 1.0]] {
        assert!((pushed(&pair(0.04, w)) - (0.04 + fraction * 0.06)).abs() < 1e-7, "{w:?}");
    }
    assert_eq!(pushed(&pair(0.1, [1.0; 2])), f64::from(0.1f32), "at the distance nothing acts");
    assert_eq!(pushed(&pair(0.04, [0.0; 2])), f64::from(0.04f32), "pins stay");
    // Coincident particles separate too, always in the same direction.
    let after = after_stage(&pair(0.0, [1.0; 2]));
    assert!(after[0][1] > 0.04 && after[1][1] < -0.04, "{after:?}");
    // A pair that rests closer than the distance is kept at a fraction of its rest distance.
    let mut cloth = pair(0.01, [1.0; 2]);
    cloth.rest_positions = vec![[0.0; 3], [0.0, 0.05, 0.0]];
    let kept = f64::from(SELF_COLLISION_REST_FRACTION) * 0.05;
    assert!((pushed(&cloth) - (0.01 + fraction * (kept - 0.01))).abs() < 1e-7);
    cloth.rest_positions = vec![[0.0; 3]; 2];
    assert_eq!(pushed(&cloth), f64::from(0.01f32), "coincident at rest: nothing to keep");
    // Without rest positions the initial particles are the rest state.
    cloth.rest_positions.clear();
    assert_eq!(pushed(&cloth), f64::from(0.01f32));
    // Particles outside `self_collision_indices` are not met.
    let mut cloth = pair(0.04, [1.0; 2]);
    cloth.self_collision_indices = vec![1];
    assert_eq!(pushed(&cloth), f64::from(0.04f32));
}

#[test]
fn pairs_across_any_cell_border_collide() {
    // Pairs anywhere and in every direction, also far away, where cells are clamped.
    let mut rng = Rng::new(3);
    for round in 0..2000 {
        let limit = [1e-3, 0.1, 7.0][round % 3];
        let scale = [1.0, 1e3, 1e5][round / 3 % 3] * limit;
        let a = rng.point(-scale, scale);
        let [x, y, z] = rng.point(-1.0, 1.0);
        let length = (x * x + y * y + z * z).sqrt().max(0.01);
        let b: [f32; 3] = std::array::from_fn(|k| a[k] + 0.9 * limit * [x, y, z][k] / length);
        let between = distance(&a, &b);
        if between > 0.99 * f64::from(limit) {
            continue;
        }
        let filler =
            (0..rng.index(60)).map(|k| [5.0 * scale + 10.0 * limit * k as f32, 0.0, 0.0, 1.0]);
        let particles =
            [[a[0], a[1], a[2], 1.0], [b[0], b[1], b[2], 1.0]].into_iter().chain(filler).collect();
        let after = after_stage(&apart(particles, limit));
        assert!(
            after[0][..3] != a[..] || after[1][..3] != b[..],
            "round {round}: {a:?} {b:?} stay {between} of {limit} apart"
        );
    }
}

/// Slip velocity of a touching pair that slides along x, after ten iterations, and its mean
/// velocity [m/s].
fn slide(friction: f32, frequency: f32) -> (f64, f64) {
    let speed = 0.01;
    let mut cloth = apart(vec![[0.0, 0.0, 0.0, 1.0], [0.0, 0.1, 0.0, 3.0]], 0.1);
    cloth.config.solver.as_pbd_mut().unwrap().frequency = frequency;
    cloth.config.self_collision.friction = friction;
    cloth.previous_positions = vec![[-speed / frequency, 0.0, 0.0], [speed / frequency, 0.1, 0.0]];
    // Pressed together from both sides to keep the contact.
    cloth.particle_accelerations = vec![[0.0, 0.1, 0.0], [0.0, -0.3, 0.0]];
    let mut engine = ReferenceEngine::new();
    engine.add(cloth).unwrap();
    engine.step(10.0 / frequency).unwrap();
    let velocity = |i: usize| {
        f64::from(
            engine.current(nth_cloth(0))[i].position[0]
                - engine.previous(nth_cloth(0))[i].position[0],
        ) * f64::from(frequency)
    };
    // Masses 1 and 1/3 kg.
    (velocity(0) - velocity(1), (velocity(0) + velocity(1) / 3.0) * 0.75)
}

#[test]
fn friction_slows_the_slip_keeps_the_mean_and_is_stable() {
    for frequency in [60.0, 300.0, 3000.0] {
        let (free, mean) = slide(0.0, frequency);
        assert!((free - 0.02).abs() < 2e-3 && (mean - 0.005).abs() < 1e-4, "{free} {mean}");
        let mut last = free;
        for friction in [0.1, 0.5, 0.9, 1.0] {
            let (slip, mean) = slide(friction, frequency);
            assert!(
                slip >= -1e-5 && slip < last,
                "{frequency} Hz, friction {friction}: slip {slip} after {last}"
            );
            assert!((mean - 0.005).abs() < 1e-4, "the mean velocity became {mean}");
            last = slip;
        }
        // At 3,000 Hz each of the ten iterations removes a quarter.
        assert!(last < 2e-3, "full friction leaves {last} m/s at {frequency} Hz");
    }
}

#[test]
fn the_velocity_limit_is_half_the_distance_per_iteration() {
    let mut cloth = loose(vec![[0.0, 0.0, 0.0, 1.0], [5.0, 0.0, 0.0, 1.0], [9.0, 0.0, 0.0, 1.0]]);
    cloth.config.self_collision.distance = Some(0.02);
    cloth.previous_positions = vec![[-1.0, 0.0, 0.0], [5.0, 0.009, 0.0], [9.0, 0.0, 0.02]];
    let run = |cloth: &ClothDesc| {
        let mut engine = ReferenceEngine::new();
        engine.add(cloth.clone()).unwrap();
        engine.step(1.0 / 300.0).unwrap();
        [
            engine.current(nth_cloth(0))[0].position[0],
            engine.current(nth_cloth(0))[1].position[1],
            engine.current(nth_cloth(0))[2].position[2],
        ]
    };
    assert_eq!(run(&cloth)[0], 1.0);
    cloth.config.self_collision.limit_velocity = true;
    let [fast, slow, brisk] = run(&cloth);
    assert!((fast - 0.01).abs() < 1e-8 && (brisk + 0.01).abs() < 1e-8, "{fast} {brisk}");
    assert_eq!(slow, -0.009, "slower particles are left alone");
}
