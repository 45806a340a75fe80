//! The CPU twin against all pairs in `f64`; momentum and local spaces.

use poplin_host::Engine as _;
use poplin_model::{Cloth, ClothContactSolver, Frame, Particle, Pose};
use poplin_reference::ReferenceEngine;
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;

use super::{STEP, Setup, all, cloud, move_space, on_mirror, random_cloud, rotation, sheet};

type Point = [f64; 3];

fn wide(row: &[f32; 4]) -> Point {
    std::array::from_fn(|k| f64::from(row[k]))
}

fn minus(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: Point, b: Point) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Rows of a pass: world position and inverse mass, motion, cloth of each.
pub(super) struct Rows {
    positions: Vec<[f32; 4]>,
    motions: Vec<[f32; 4]>,
    cloths: Vec<u32>,
}

/// One pass by trying all pairs in `f64`.
pub(super) struct Oracle<'a> {
    setup: &'a Setup,
    x: Vec<Point>,
    v: Vec<Point>,
    w: Vec<f64>,
    cloths: &'a [u32],
}

impl<'a> Oracle<'a> {
    fn new(setup: &'a Setup, rows: &'a Rows) -> Self {
        Self {
            setup,
            x: rows.positions.iter().map(wide).collect(),
            v: rows.motions.iter().map(wide).collect(),
            w: rows.positions.iter().map(|row| f64::from(row[3])).collect(),
            cloths: &rows.cloths,
        }
    }

    /// How far two rows overlap, if they do; with slack the limit of the distance is larger by that fraction.
    fn overlap(&self, i: usize, j: usize, slack: f64) -> Option<f64> {
        let config = |i: usize| &self.setup.cloths[self.cloths[i] as usize].config.cloth_collision;
        let (a, b) = (config(i), config(j));
        let wanted = a.group & b.mask != 0 && b.group & a.mask != 0;
        if !wanted || self.cloths[i] == self.cloths[j] {
            return None;
        }
        let d = 0.5 * (f64::from(a.distance.unwrap()) + f64::from(b.distance.unwrap()));
        let delta = minus(self.x[i], self.x[j]);
        let gap = dot(delta, delta).sqrt();
        (gap < d * (1.0 + slack)).then_some(d - gap)
    }

    /// How many rows a row touches; none if it cannot move.
    fn count(&self, i: usize, slack: f64) -> u32 {
        let touched = (0..self.x.len()).filter(|&j| self.overlap(i, j, slack).is_some());
        if self.w[i] > 0.0 { touched.count() as u32 } else { 0 }
    }

    /// Where a row is pushed to, with the contact counts of all.
    fn pushed(&self, i: usize, counts: &[u32]) -> Point {
        let settings = self.setup.settings;
        let (x, v, w) = (&self.x, &self.v, &self.w);
        let mut position = x[i];
        for j in 0..x.len() {
            let (true, Some(overlap)) = (w[i] > 0.0, self.overlap(i, j, 0.0)) else { continue };
            let delta = minus(x[i], x[j]);
            let length = dot(delta, delta).sqrt();
            let up = if i < j { 1.0 } else { -1.0 };
            let n = if length > 1e-15 { delta.map(|d| d / length) } else { [0.0, up, 0.0] };
            let fraction = w[i] / (w[i] + w[j]) / f64::from(counts[i].max(counts[j]).max(1));
            let relative = minus(v[j], v[i]);
            let across = dot(relative, n);
            for k in 0..3 {
                position[k] += fraction * f64::from(settings.stiffness) * overlap * n[k];
                position[k] +=
                    fraction * f64::from(settings.friction) * (relative[k] - across * n[k]);
            }
        }
        position
    }
}

#[test]
fn a_pass_is_what_trying_all_pairs_gives() {
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
                // Where one iteration without forces takes the particle, before the pass.
                let Particle { position: [x, y, z], inverse_mass: w } = source.particles[i];
                let old = source.previous_positions.get(i).copied().unwrap_or([x, y, z]);
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
fn momentum_stays_whatever_the_masses() {
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
        // Positions are rounded to some 3e-8 m, which for the heavier cloth is much momentum.
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
fn the_local_frame_of_a_cloth_does_not_matter() {
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
    let run = |cloths: &[Cloth], settings| {
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
        (0..3).for_each(|_| engine.step(&Frame::default()).unwrap());
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
fn motion_is_seen_from_the_world() {
    // Pinned particles in a local space that moves and rotates: friction sees their motion in the world.
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
    engine.step(&STEP).unwrap();
    for index in 1..5 {
        let before = engine.contact_memory().positions.clone();
        move_space(engine.cloth_mut(nth_cloth(1)).unwrap(), index);
        engine.step(&STEP).unwrap();
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
