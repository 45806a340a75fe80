//! The CPU twin against all pairs in `f64`; momentum and local spaces.

use poplin_cpu::ReferenceEngine;
use poplin_geometry::Rng;
use poplin_host::Engine as _;
use poplin_model::{ClothContactSolver, ClothDesc, Particle, Pose};
use poplin_testkit::nth_cloth;

use super::all_pairs::{Oracle, Point, Rows};
use super::{STEP, Setup, all, cloud, move_space, on_mirror, random_cloud, rotation, sheet};

#[test]
fn a_pass_equals_all_pairs_in_f64() {
    let mut rng = Rng::new(77);
    for (friction, stiffness) in [(0.0, 1.0), (0.7, 0.6), (1.0, 0.0)] {
        let mut cloths: Vec<_> =
            (0..5).map(|k| random_cloud(&mut rng, 60, 0.6, 0.06 + 0.03 * k as f32)).collect();
        cloths.push(cloud(vec![[0.1, 0.1, 0.1, 1.0]; 4], 0.1));
        cloths.push(cloud(vec![[0.1, 0.1, 0.1, 3.0]; 4], 0.2));
        cloths[1].config.cloth_collision.mask = 2;
        cloths[2].config.cloth_collision.group = 3;
        let settings =
            ClothContactSolver { friction, stiffness, iterations: 1, ..Default::default() };
        let setup = Setup { name: "oracle", cloths, settings, frames: vec![STEP] };
        let engine = on_mirror(&setup);
        let memory = engine.contact_memory();
        let rows = Rows {
            positions: memory.positions.clone(),
            motions: memory.motions.clone(),
            cloths: memory.slots.clone(),
        };
        let oracle = Oracle::new(&setup, &rows);
        let counts: Vec<_> = (0..rows.cloths.len()).map(|i| oracle.count(i, 0.0)).collect();
        assert_eq!(memory.counts, counts);
        assert!(counts.iter().sum::<u32>() > 200);
        let mut row = 0;
        for (cloth, source) in setup.cloths.iter().enumerate() {
            for (i, after) in engine.current(nth_cloth(cloth)).iter().enumerate() {
                // Position after one iteration without forces, before the pass.
                let Particle { position: [x, y, z], inverse_mass: w } = source.particles[i];
                let old = source.previous_positions.get(i).copied().unwrap_or([x, y, z]);
                // Verlet: x + (x - x_old) for free particles; pins stay.
                let moves = if w > 0.0 { 2.0 } else { 1.0 };
                let free: Point = std::array::from_fn(|k| {
                    f64::from(old[k])
                        + moves * (f64::from(source.particles[i].position[k]) - f64::from(old[k]))
                });
                let pushed = oracle.pushed(row, &counts);
                for k in 0..3 {
                    assert!(
                        (f64::from(memory.positions[row][k]) - free[k]).abs() < 1e-6,
                        "row {row} of cloth {cloth}"
                    );
                    assert!(
                        (f64::from(after.position[k]) - pushed[k]).abs() < 1e-6,
                        "row {row} of cloth {cloth}: {after:?}"
                    );
                }
                row += 1;
            }
        }
    }
}

#[test]
fn momentum_is_conserved_for_any_masses() {
    for ratio in [1.0f32, 30.0, 1e4] {
        let mut rng = Rng::new(5);
        let mut cloths = [0.0, 0.0].map(|_| random_cloud(&mut rng, 120, 0.5, 0.1));
        cloths
            .iter_mut()
            .flat_map(|cloth| &mut cloth.particles)
            .for_each(|particle| particle.inverse_mass = particle.inverse_mass.max(0.5));
        cloths[1].particles.iter_mut().for_each(|particle| particle.inverse_mass *= ratio);
        let settings = ClothContactSolver { friction: 0.8, ..ClothContactSolver::default() };
        let setup =
            Setup { name: "momentum", cloths: cloths.to_vec(), settings, frames: vec![STEP] };
        let none = Setup {
            settings: ClothContactSolver { stiffness: 0.0, friction: 0.0, ..settings },
            ..setup
        };
        let setup = Setup {
            settings,
            name: "momentum",
            cloths: none.cloths.clone(),
            frames: none.frames.clone(),
        };
        let (pushed, free) = (all(&on_mirror(&setup)), all(&on_mirror(&none)));
        let (mut sum, mut size) = ([0.0; 3], 0.0);
        for (a, b) in pushed.iter().zip(&free) {
            for k in 0..3 {
                let impulse = (f64::from(a[k]) - f64::from(b[k])) / f64::from(a[3]);
                sum[k] += impulse;
                size += impulse.abs();
            }
        }
        assert!(size > 0.1 / f64::from(ratio), "ratio {ratio}: only {size:e} was exchanged");
        // Positions are rounded to about 3e-8 m, which for the heavier cloth is a large momentum.
        let rounding: f64 = pushed.iter().map(|row| 3e-8 / f64::from(row[3])).sum();
        let error = sum.iter().fold(0.0f64, |worst, sum| worst.max(sum.abs()));
        assert!(
            error < rounding.min(0.05 * size),
            "ratio {ratio}: {error:e} of {size:e} is lost, rounding {rounding:e}"
        );
    }
}

/// World positions of all cloths.
fn in_world(engine: &ReferenceEngine) -> Vec<[f32; 3]> {
    let of_cloth = |cloth: usize| {
        let pose = engine.cloth(nth_cloth(cloth)).unwrap().pose();
        engine
            .current(nth_cloth(cloth))
            .iter()
            .map(move |particle| pose.apply(particle.position))
            .collect::<Vec<_>>()
    };
    (0..engine.ids().len()).flat_map(of_cloth).collect()
}

#[test]
fn the_local_space_of_a_cloth_does_not_matter() {
    let mut rng = Rng::new(21);
    let cloths: Vec<_> = (0..3).map(|k| sheet(7, 0.3, 0.04 * k as f32, 0.06)).collect();
    let mut rotated = cloths.clone();
    for cloth in &mut rotated {
        let pose = Pose { translation: rng.point(-2.0, 2.0), rotation: rotation(&mut rng) };
        let [x, y, z, w] = pose.rotation;
        let back = Pose { translation: [0.0; 3], rotation: [-x, -y, -z, w] };
        for particle in &mut cloth.particles {
            let [x, y, z] =
                back.apply(std::array::from_fn(|k| particle.position[k] - pose.translation[k]));
            particle.position = [x, y, z];
        }
        cloth.pose = pose;
    }
    let run = |cloths: &[ClothDesc], settings| {
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
        (0..3).for_each(|_| engine.step(1.0 / 60.0).unwrap());
        in_world(&engine)
    };
    let apart = |a: &[[f32; 3]], b: &[[f32; 3]]| {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    let settings = ClothContactSolver { friction: 0.5, ..ClothContactSolver::default() };
    let plain = run(&cloths, settings);
    let (error, effect) = (
        apart(&plain, &run(&rotated, settings)),
        apart(
            &plain,
            &run(&cloths, ClothContactSolver { stiffness: 0.0, friction: 0.0, ..settings }),
        ),
    );
    assert!(error < 1e-4 && effect > 0.1, "{error:e} m apart, collision moves {effect:e} m");
}

#[test]
fn friction_uses_motion_in_the_world() {
    // Pinned particles in a local space that moves and rotates: friction sees their motion in the
    // world.
    let mut rng = Rng::new(3);
    let mut cloths = [0.0, 0.0].map(|_| random_cloud(&mut rng, 30, 0.4, 0.2));
    cloths.iter_mut().for_each(|cloth| {
        cloth.previous_positions.clear();
        cloth.particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
    });
    let mut engine = ReferenceEngine::new();
    engine
        .set_cloth_contact_solver(ClothContactSolver {
            friction: 1.0,
            ..ClothContactSolver::default()
        })
        .unwrap();
    cloths.into_iter().for_each(|cloth| assert!(engine.add(cloth).is_ok()));
    engine.step(STEP).unwrap();
    for index in 1..5 {
        let before = engine.contact_memory().positions.clone();
        move_space(engine.cloth_mut(nth_cloth(1)).unwrap(), index);
        engine.step(STEP).unwrap();
        let memory = engine.contact_memory();
        let mut largest = 0.0f32;
        for (row, motion) in memory.motions.iter().enumerate() {
            for k in 0..3 {
                let moved = memory.positions[row][k] - before[row][k];
                largest = largest.max(moved.abs());
                assert!((motion[k] - moved).abs() < 1e-6, "row {row}: {motion:?}");
            }
        }
        assert!(largest > 1e-3);
    }
}
