//! A cloth that collides with itself: the stage against its oracle and the laws it must keep, and whole cloths that must not
//! get entangled.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{
    Cloth, ClothConfig, Frame, Mesh, Particle, Pbd, PbdPhase, Phases, Plane,
    SELF_COLLISION_REST_FRACTION, Solver, Sphere, Xpbd, XpbdPhase,
};
use poplin::{Backend, Simulation};
use poplin_host::Engine as _;
use poplin_host::FramePart;
use poplin_layout::{MIN_GRID_CELLS, Stage, StageMask, effective_stiffness, stiffness_to_log2};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_measure::metrics::stretch_strain;
use poplin_reference::oracle::{Apartness, Member, push_apart};
use poplin_reference::{HostCloth, ReferenceEngine, Team, bucket_of_cell};
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::loose_particles as loose;

/// Loose particles with positions at rest so far apart that they spare no pair.
fn apart(particles: Vec<[f32; 4]>, distance: f32) -> Cloth {
    let mut cloth = loose(particles);
    cloth.rest_positions =
        (0..cloth.particles.len()).map(|i| [10.0 * distance * i as f32, 0.0, 0.0]).collect();
    cloth.config.self_collision.distance = Some(distance);
    cloth
}

/// One iteration of the stage alone.
fn after_stage(cloth: &Cloth) -> Vec<[f32; 4]> {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    engine
        .begin_frame(&Frame { dt: 1.0 / cloth.config.solver.as_pbd().unwrap().frequency })
        .unwrap();
    let part = FramePart { stages: StageMask::only(Stage::SelfCollide), ..FramePart::WHOLE };
    engine.run_part(nth_cloth(0), &part, &mut Team::single()).unwrap();
    Particle::rows(engine.current(nth_cloth(0))).to_vec()
}

fn wide<const N: usize>(p: &[f32; N]) -> [f64; 3] {
    std::array::from_fn(|k| f64::from(p[k]))
}

fn distance<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f64 {
    let (a, b) = (wide(a), wide(b));
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

fn random_loose(rng: &mut Rng, count: usize, distance: f32) -> Cloth {
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
        // A pair whose overlap is rounding may count or not, and a count changes fractions.
        let is_borderline = |a: &Member, b: &Member| {
            let between = |a: [f64; 3], b: [f64; 3]| {
                (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
            };
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
fn no_bucket_is_met_twice_around_a_cell() {
    let distinct = |count: u32| {
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
    // See it fail: in few buckets some do meet.
    assert!(distinct(32) < 27);
}

#[test]
fn momentum_stays_whatever_the_masses() {
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
        // Rounding of positions near 1 m: half a ulp for each of some ten kilograms.
        assert!(sum.iter().all(|x| x.abs() < 3e-6 * moved.max(1.0)), "{sum:?} of {moved}");
    }
}

#[test]
fn pairs_part_to_their_distance_and_no_further() {
    let limit = 0.1;
    let pushed = |cloth: &Cloth| {
        let after = after_stage(cloth);
        distance(&after[0], &after[1])
    };
    // Stiffness 1 is 0.948 in one iteration.
    let fraction = f64::from(effective_stiffness(-128.0, 10.0 / 300.0));
    let pair =
        |gap: f32, w: [f32; 2]| apart(vec![[0.0, 0.0, 0.0, w[0]], [gap, 0.0, 0.0, w[1]]], limit);
    for w in [[1.0, 1.0], [1.0, 0.0], [1e-6, 1e6], [1e9, 1.0]] {
        assert!((pushed(&pair(0.04, w)) - (0.04 + fraction * 0.06)).abs() < 1e-7, "{w:?}");
    }
    assert_eq!(pushed(&pair(0.1, [1.0; 2])), f64::from(0.1f32), "at the distance nothing acts");
    assert_eq!(pushed(&pair(0.04, [0.0; 2])), f64::from(0.04f32), "pins stay");
    // Coincident particles part as well, always in the same direction.
    let after = after_stage(&pair(0.0, [1.0; 2]));
    assert!(after[0][1] > 0.04 && after[1][1] < -0.04, "{after:?}");
    // At rest closer than the distance: kept at a fraction of that.
    let mut cloth = pair(0.01, [1.0; 2]);
    cloth.rest_positions = vec![[0.0; 3], [0.0, 0.05, 0.0]];
    let kept = f64::from(SELF_COLLISION_REST_FRACTION) * 0.05;
    assert!((pushed(&cloth) - (0.01 + fraction * (kept - 0.01))).abs() < 1e-7);
    cloth.rest_positions = vec![[0.0; 3]; 2];
    assert_eq!(pushed(&cloth), f64::from(0.01f32), "coincident at rest: nothing to keep");
    // Without positions at rest the particles as given are those.
    cloth.rest_positions.clear();
    assert_eq!(pushed(&cloth), f64::from(0.01f32));
    // Who is not named is not met.
    let mut cloth = pair(0.04, [1.0; 2]);
    cloth.self_collision_indices = vec![1];
    assert_eq!(pushed(&cloth), f64::from(0.04f32));
}

#[test]
fn particles_meet_across_every_border_of_cells() {
    // Pairs everywhere, also far away where cells are clamped, in every direction.
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

/// A pair that touches and slides along x: the slip after some frames, and the mean velocity.
fn slide(friction: f32, frequency: f32) -> (f64, f64) {
    let speed = 0.01;
    let mut cloth = apart(vec![[0.0, 0.0, 0.0, 1.0], [0.0, 0.1, 0.0, 3.0]], 0.1);
    cloth.config.solver.as_pbd_mut().unwrap().frequency = frequency;
    cloth.config.self_collision.friction = friction;
    cloth.previous_positions = vec![[-speed / frequency, 0.0, 0.0], [speed / frequency, 0.1, 0.0]];
    // Pressed together from both sides, so that they go on touching.
    cloth.particle_accelerations = vec![[0.0, 0.1, 0.0], [0.0, -0.3, 0.0]];
    let mut engine = ReferenceEngine::new();
    engine.add(cloth).unwrap();
    engine.step(&Frame { dt: 10.0 / frequency }).unwrap();
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
        // At 3,000 Hz each of the ten iterations takes a quarter.
        assert!(last < 2e-3, "full friction leaves {last} m/s at {frequency} Hz");
    }
}

#[test]
fn the_velocity_limit_is_half_the_distance_per_iteration() {
    let mut cloth = loose(vec![[0.0, 0.0, 0.0, 1.0], [5.0, 0.0, 0.0, 1.0], [9.0, 0.0, 0.0, 1.0]]);
    cloth.config.self_collision.distance = Some(0.02);
    cloth.previous_positions = vec![[-1.0, 0.0, 0.0], [5.0, 0.009, 0.0], [9.0, 0.0, 0.02]];
    let run = |cloth: &Cloth| {
        let mut engine = ReferenceEngine::new();
        engine.add(cloth.clone()).unwrap();
        engine.step(&Frame { dt: 1.0 / 300.0 }).unwrap();
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

#[test]
fn thickness_alone_makes_a_cloth_collide_with_itself() {
    let mut cloth =
        cook(&Mesh::grid(11, 11, 1.0, 1.0), &CookOptions::default()).unwrap().into_cloth();
    assert_eq!(cloth.contact_distances()[0], 0.0);
    assert!(!HostCloth::new(cloth.clone()).unwrap().stages().contains(Stage::SelfCollide));
    cloth.config.thickness = 0.01;
    assert!(
        (cloth.contact_distances()[0] - 0.1).abs() < 1e-6,
        "the spacing, below which layers slip through"
    );
    assert!(HostCloth::new(cloth.clone()).unwrap().stages().contains(Stage::SelfCollide));
    cloth.config.thickness = 0.2;
    assert_eq!(cloth.contact_distances()[0], 0.2);
    cloth.config.self_collision.distance = Some(0.05);
    assert_eq!(cloth.contact_distances()[0], 0.05);
    cloth.config.self_collision.distance = Some(0.0);
    assert!(!HostCloth::new(cloth).unwrap().stages().contains(Stage::SelfCollide));
}

#[test]
fn bad_settings_are_refused_by_name() {
    let refusal = |edit: fn(&mut Cloth)| {
        let mut cloth = loose(vec![[0.0, 0.0, 0.0, 1.0]; 3]);
        edit(&mut cloth);
        HostCloth::new(cloth).unwrap_err().to_string()
    };
    let messages = [
        refusal(|cloth| cloth.config.thickness = -1.0),
        refusal(|cloth| cloth.config.self_collision.distance = Some(f32::NAN)),
        refusal(|cloth| cloth.config.self_collision.friction = 1.5),
        refusal(|cloth| cloth.self_collision_indices = vec![0, 3]),
        refusal(|cloth| cloth.self_collision_indices = vec![2, 0, 2]),
        refusal(|cloth| cloth.rest_positions = vec![[0.0; 3]; 2]),
        refusal(|cloth| cloth.rest_positions = vec![[0.0, f32::INFINITY, 0.0]; 3]),
    ];
    let expected = [
        "thickness",
        "self_collision.distance",
        "self_collision.friction",
        "self_collision_indices[1] is 3, but there are only 3",
        "self_collision_indices[2] is 2, which is already in the list",
        "rest_positions",
        "rest_positions",
    ];
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn settings_that_change_in_simulation_act_from_the_next_frame_on() {
    let mut engine = ReferenceEngine::new();
    let mut cloth = apart(vec![[0.0, 0.0, 0.0, 1.0], [0.04, 0.0, 0.0, 1.0]], 0.1);
    cloth.config.self_collision.distance = None;
    engine.add(cloth).unwrap();
    let gap = |engine: &ReferenceEngine| {
        let rows = Particle::rows(engine.current(nth_cloth(0)));
        distance(&rows[0], &rows[1])
    };
    engine.step(&Frame::default()).unwrap();
    assert_eq!(gap(&engine), f64::from(0.04f32));
    let host = engine.cloth_mut(nth_cloth(0)).unwrap();
    let mut config = host.cloth().config.clone();
    config.self_collision.distance = Some(0.1);
    host.set_config(config).unwrap();
    host.set_self_collision_indices(&[1]).unwrap();
    engine.step(&Frame::default()).unwrap();
    assert_eq!(gap(&engine), f64::from(0.04f32));
    engine.cloth_mut(nth_cloth(0)).unwrap().set_self_collision_indices(&[]).unwrap();
    engine.cloth_mut(nth_cloth(0)).unwrap().set_rest_positions(&[[0.0; 3]; 2]).unwrap();
    engine.step(&Frame::default()).unwrap();
    assert_eq!(gap(&engine), f64::from(0.04f32));
    engine.cloth_mut(nth_cloth(0)).unwrap().set_rest_positions(&[[0.0; 3], [1.0; 3]]).unwrap();
    engine.step(&Frame::default()).unwrap();
    assert!(gap(&engine) > 0.0999, "{}", gap(&engine));
}

// ---- whole cloths ----

fn positions(simulation: &mut Simulation) -> Vec<[f32; 3]> {
    let state = simulation.state().unwrap();
    assert_eq!(state.fault_count(nth_cloth(0)), 0);
    state.positions(nth_cloth(0)).collect()
}

/// A free sheet of a square metre and 0.2 kg, 0.5 m over the ground, over a ball of 0.2 m radius on the ground. Its fibers go
/// from border to border.
fn over_a_ball(side: u32) -> Cloth {
    let options = CookOptions { max_fiber_length: Some(side), ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(side, side, 1.0, 1.0), &options).unwrap().into_cloth();
    let w = (side * side) as f32 / 0.2;
    cloth
        .particles
        .iter_mut()
        .for_each(|p| *p = Particle::from([p.position[0] - 0.5, 0.5, p.position[2] - 0.5, w]));
    cloth.colliders.add(Sphere { center: [0.0, 0.2, 0.0], radius: 0.2 }).unwrap();
    cloth.colliders.add(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).unwrap();
    cloth.config.thickness = 0.01;
    cloth.config.contact.friction = 0.3;
    cloth
}

/// Depth of the deepest particle in the ball or the ground \[m\].
fn depth(positions: &[[f32; 3]]) -> f64 {
    let depth = |p: &[f32; 3]| (0.2 - distance(p, &[0.0, 0.2, 0.0])).max(-f64::from(p[1]));
    positions.iter().map(depth).fold(f64::NEG_INFINITY, f64::max)
}

/// XPBD whose cloth gives way to folding.
fn soft_xpbd(substeps: u32) -> Solver {
    let bending = XpbdPhase { compliance: 0.1, ..XpbdPhase::default() };
    let phases = Phases { bending, ..Phases::default() };
    Xpbd { substeps, phases, ..Xpbd::default() }.into()
}

#[test]
fn a_sheet_that_falls_over_a_ball_does_not_get_entangled() {
    let run = |thickness: f32, solver: Solver| {
        let name = solver.name();
        let mut cloth = over_a_ball(64);
        cloth.config.thickness = thickness;
        cloth.config.solver = solver;
        let rest: Vec<[f32; 3]> =
            cloth.particles.iter().map(|particle| particle.position).collect();
        let fabric = cloth.fabric.clone();
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        simulation.add(cloth).unwrap();
        (0..180).for_each(|_| simulation.step(&Frame::default()).unwrap());
        let end = positions(&mut simulation);
        let counter = EntanglementCounter::new(&rest, &fabric.triangles, &[]);
        // Neighbours at rest: along the edges of the grid and across its squares.
        let found = counter.measure(&end, 0.005, 0.023);
        let strain = stretch_strain(&fabric, simulation.state().unwrap().current(nth_cloth(0)));
        println!(
            "{name}, thickness {thickness}: {found:?}, {:.0e} m deep, p99 {:.1} %",
            depth(&end),
            100.0 * strain.p99
        );
        (found, depth(&end), strain.p99)
    };
    for solver in [Solver::pbd(1200.0), soft_xpbd(12)] {
        let name = solver.name();
        let (found, depth, strain) = run(0.01, solver);
        assert_eq!((found.close_pairs, found.crossings), (0, 0), "{name}: {found:?}");
        assert!(depth < 1e-6, "{name}: {depth} m deep");
        assert!(strain < 0.03, "{name}: {strain}");
    }
    // See it fail.
    let (found, ..) = run(0.0, Solver::pbd(1200.0));
    assert!(found.close_pairs > 0 && found.crossings > 20, "{found:?}");
}

#[test]
fn a_ribbon_twisted_by_three_turns_and_back_returns() {
    let (columns, rows) = (7, 61);
    let ends: Vec<u32> = (0..columns).chain(columns * (rows - 1)..columns * rows).collect();
    let bending = PbdPhase { stiffness: 0.5, ..PbdPhase::default() };
    let phases = Phases { bending, ..Phases::default() };
    let pbd = Solver::Pbd(Pbd { frequency: 1200.0, phases, ..Pbd::default() });
    let run = |solver: &Solver, thickness: f32, revolutions: f32| {
        let mesh = Mesh::grid(columns, rows, 0.1, 1.0);
        let options =
            CookOptions { pins: ends.clone(), tethers: Tethers::None, ..CookOptions::default() };
        let mut cloth = cook(&mesh, &options).unwrap().into_cloth();
        let flat: Vec<[f32; 4]> = cloth
            .particles
            .iter()
            .map(|p| [p.position[0] - 0.05, p.position[1], p.position[2] - 0.5, p.inverse_mass])
            .collect();
        cloth.particles = Particle::from_rows(&flat).to_vec();
        let (solver, name) = (solver.clone(), solver.name());
        cloth.config =
            ClothConfig { thickness, solver, damping: [0.5; 3], ..ClothConfig::default() };
        let fabric = cloth.fabric.clone();
        let rest: Vec<[f32; 3]> = flat.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
        let counter = EntanglementCounter::new(&rest, &fabric.triangles, &[]);
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        simulation.add(cloth).unwrap();
        let mut most = 0;
        for frame in 1..=480 {
            // Three revolutions in 3.5 s, as long back, the ends 0.35 m closer meanwhile; a second of rest.
            let fraction = revolutions / 3.0 * frame.min(420 - frame.min(420)) as f32 / 210.0;
            let targets: Vec<[f32; 4]> = ends
                .iter()
                .map(|&i| {
                    let [x, _, z, _] = flat[i as usize];
                    let (sin, cos) = (fraction * 3.0 * std::f32::consts::PI * z.signum()).sin_cos();
                    [x * cos, x * sin, z - 0.175 * fraction * z.signum(), 0.0]
                })
                .collect();
            simulation
                .cloth_mut(nth_cloth(0))
                .unwrap()
                .write_particles(&ends, Particle::from_rows(&targets))
                .unwrap();
            simulation.step(&Frame::default()).unwrap();
            if frame % 30 == 0 {
                most = most.max(counter.crossings(&positions(&mut simulation)));
            }
        }
        let end = positions(&mut simulation);
        let left = counter.crossings(&end);
        println!(
            "{name}, thickness {thickness}, {revolutions} revolutions: at most {most} crossings, {left} at the end"
        );
        (most, left, end)
    };
    for solver in [&pbd, &soft_xpbd(20)] {
        let (most, left, end) = run(solver, 0.01, 3.0);
        assert_eq!((most, left), (0, 0));
        // As one that was never twisted hangs.
        let (_, _, straight) = run(solver, 0.01, 0.0);
        let off = end.iter().zip(&straight).map(|(a, b)| distance(a, b)).fold(0.0, f64::max);
        println!("off by {off:.4} m");
        assert!(off < 0.01, "{}: the ribbon ends {off} m off one never twisted", solver.name());
    }
    // See it fail.
    assert!(run(&pbd, 0.0, 3.0).0 > 0);
}

#[test]
fn runs_repeat_to_the_bit() {
    let run = || {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        simulation.add(over_a_ball(24)).unwrap();
        (0..60).for_each(|_| simulation.step(&Frame::default()).unwrap());
        simulation.state().unwrap().current(nth_cloth(0)).to_vec()
    };
    assert_eq!(run(), run());
}
