//! Moving local spaces: with full inertia a cloth moves as it would in the world without the local
//! space; with none it does not react to the motion.
//!
//! The solver distributes the change of velocity of a frame over its iterations. With poses X at
//! the ends of the frame, velocities v = (X1 - X0) / dt and v0 in the frame before, and n
//! iterations of length h, iteration k = 1..n moves the origin by
//!
//! ```text
//! h (v0 + (v - v0) ((k - 1) / n + (n + 1) / (2n)))       [1]
//! ```
//!
//! The increments add up to X1 - X0. Every stage is invariant under a shift, so that a run in the
//! local space equals a run in the world whose pins follow [1], to rounding. For large n, [1] is
//! the parabola through the two poses, which follows a smooth path to third order in dt.

use poplin::model::{ClothConfig, ClothDesc, Particle, Pose};
use poplin::{Backend, ClothId, Simulation};
use poplin_testkit::adapter::backends;
use poplin_testkit::scenes::hanging_sheet;

/// Sheet with tethers. If `is_free` it has no pins and tumbles: its tethers and edges work against
/// the spin, which, unlike a compression, causes no buckling that amplifies rounding errors.
fn sheet(is_free: bool) -> ClothDesc {
    let mut cloth = hanging_sheet(8, 8);
    if is_free {
        let w = cloth.particles[1].inverse_mass;
        cloth
            .particles
            .iter_mut()
            .filter(|particle| particle.is_pinned())
            .for_each(|particle| particle.inverse_mass = 2.0 * w);
        // Spins at 2 rad/s about the z axis through the middle.
        let displacement = 2.0 / cloth.config.solver.as_pbd().unwrap().frequency;
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|&Particle { position: [x, y, z], .. }| {
                [x + y * displacement, y - (x - 0.5) * displacement, z]
            })
            .collect();
    }
    cloth
}

/// Origin of the local space at time t \[m\]: it starts at rest and moves with varying velocity and
/// acceleration.
fn path(t: f64) -> [f64; 3] {
    [0.3 * (1.0 - (5.0 * t).cos()), 0.2 * (1.0 - (4.0 * t).cos()), 0.4 * t * t]
}

fn plus(a: [f64; 3], b: [f64; 3], factor: f64) -> [f64; 3] {
    std::array::from_fn(|k| a[k] + b[k] * factor)
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum::<f64>().sqrt()
}

/// Motion of the pins in the run in the world.
#[derive(Clone, Copy)]
enum Follow {
    /// Follows the increments [1] of the scheme.
    Scheme,
    /// Follows the smooth path itself.
    Path,
}

/// World positions after `seconds` in a local space that moves along [`path`], sampled every `dt`.
fn run_in_frame(backend: Backend, cloth: &ClothDesc, dt: f64, seconds: f64) -> Vec<[f32; 3]> {
    let mut simulation = Simulation::new(backend).unwrap();
    let id = simulation.add(cloth.clone()).unwrap();
    for frame in 1..=(seconds / dt).round() as u32 {
        let translation = path(f64::from(frame) * dt).map(|x| x as f32);
        simulation
            .cloth_mut(id)
            .unwrap()
            .set_pose(Pose { translation, ..Pose::default() })
            .unwrap();
        simulation.step(dt as f32).unwrap();
    }
    let pose = simulation.cloth(id).unwrap().pose();
    simulation.state().unwrap().positions(id).map(|local| pose.apply(local)).collect()
}

/// World positions after `seconds` without a local space, stepped by single iterations while the
/// pins follow.
fn run_in_world(
    backend: Backend,
    cloth: &ClothDesc,
    dt: f64,
    seconds: f64,
    follow: Follow,
) -> Vec<[f32; 3]> {
    let mut simulation = Simulation::new(backend).unwrap();
    let id = simulation.add(cloth.clone()).unwrap();
    let n = (dt * f64::from(cloth.config.solver.as_pbd().unwrap().frequency)).round();
    let h = dt / n;
    let pins: Vec<u32> = (0..cloth.particle_count() as u32)
        .filter(|&i| cloth.particles[i as usize].is_pinned())
        .collect();
    let (mut origin, mut last_velocity) = ([0.0; 3], [0.0; 3]);
    for frame in 1..=(seconds / dt).round() as u32 {
        let begin = f64::from(frame - 1) * dt;
        let velocity = plus(path(begin + dt), path(begin), -1.0).map(|x| x / dt);
        let change = plus(velocity, last_velocity, -1.0);
        for k in 1..=n as u32 {
            let k = f64::from(k);
            origin = match follow {
                Follow::Scheme => {
                    // Equation [1].
                    let increment =
                        plus(last_velocity, change, (k - 1.0) / n + (n + 1.0) / (2.0 * n));
                    plus(origin, increment, h)
                }
                Follow::Path => path(begin + k * h),
            };
            let moved: Vec<_> = pins
                .iter()
                .map(|&pin| {
                    let position = cloth.particles[pin as usize].position.map(f64::from);
                    let [x, y, z] = plus(position, origin, 1.0).map(|x| x as f32);
                    [x, y, z, 0.0]
                })
                .collect();
            simulation
                .cloth_mut(id)
                .unwrap()
                .write_particles(&pins, Particle::from_rows(&moved))
                .unwrap();
            simulation.step(h as f32).unwrap();
        }
        last_velocity = velocity;
    }
    simulation.state().unwrap().positions(id).collect()
}

fn farthest(a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max)
}

/// Rounding error of two runs of `count` iterations \[m\]: each rounds every position, of up to 2
/// m, by up to EPSILON. In Verlet integration a rounding error is a lasting change of velocity, and
/// `count` independent ones add up to `count^(3/2)`.
fn rounding(count: f64) -> f64 {
    2.0 * 2.0 * f64::from(f32::EPSILON) * count.powf(1.5)
}

#[test]
fn a_translating_frame_equals_the_world_to_rounding() {
    let (dt, seconds) = (1.0 / 60.0, 0.5);
    let allowed = rounding(150.0);
    for backend in backends() {
        for is_free in [false, true] {
            let cloth = sheet(is_free);
            let local = run_in_frame(backend, &cloth, dt, seconds);
            let world = run_in_world(backend, &cloth, dt, seconds, Follow::Scheme);
            let error = farthest(&local, &world);
            eprintln!(
                "translating frame, {}, free {is_free}: {error:.2e} m of {allowed:.2e} m",
                backend.name()
            );
            assert!(
                error < allowed,
                "{}, free {is_free}: {error:e} m above {allowed:e} m",
                backend.name()
            );
        }
    }
}

#[test]
fn a_translating_space_converges_to_its_smooth_path() {
    let seconds = 0.4;
    let mut cloth = sheet(false);
    cloth.config.solver.as_pbd_mut().unwrap().frequency = 480.0;
    let errors = [1.0 / 15.0, 1.0 / 30.0, 1.0 / 60.0].map(|dt| {
        let local = run_in_frame(Backend::Cpu, &cloth, dt, seconds);
        farthest(&local, &run_in_world(Backend::Cpu, &cloth, dt, seconds, Follow::Path))
    });
    eprintln!("smooth path, poses every 1/15, 1/30, 1/60 s: {errors:?} m");
    // At the start [1] does not know the acceleration yet, an error of second order; all others are
    // of third: each halving must reduce the error by at least 3 of the ideal 4.
    assert!(errors.windows(2).all(|pair| pair[0] > 3.0 * pair[1]), "{errors:?}");
}

#[test]
fn free_fall_in_an_accelerating_space_is_a_world_parabola() {
    let (dt, seconds) = (1.0 / 60.0, 0.5);
    for backend in backends() {
        let mut cloth = sheet(true);
        cloth.previous_positions.clear();
        cloth.fabric = {
            let mut fabric = (*cloth.fabric).clone();
            fabric.tethers_per_particle = 0;
            (fabric.tether_anchors, fabric.tether_lengths) = Default::default();
            fabric.into()
        };
        let got = run_in_frame(backend, &cloth, dt, seconds);
        // Verlet integration: N iterations of h fall by g h^2 N (N + 1) / 2.
        let (count, h) = (seconds * 300.0, 1.0 / 300.0);
        let fall = 9.81 * h * h * count * (count + 1.0) / 2.0;
        let expected: Vec<_> = cloth
            .particles
            .iter()
            .map(|&Particle { position: [x, y, z], .. }| [x, y - fall as f32, z])
            .collect();
        let error = farthest(&got, &expected);
        let allowed = rounding(count);
        eprintln!(
            "parabola in an accelerating frame, {}: {error:.2e} m of {allowed:.2e} m",
            backend.name()
        );
        assert!(error < allowed, "{}: {error:e} m above {allowed:e} m", backend.name());
    }
}

/// Free particles without constraints, each with its own velocity [m/s] in the world.
fn free_particles(velocity: [f32; 3]) -> ClothDesc {
    let mut cloth = sheet(true);
    cloth.phase_order.clear();
    cloth.config = ClothConfig { gravity: [0.0; 3], ..ClothConfig::default() };
    cloth.config.tethers.stiffness = 0.0;
    let h = 1.0 / cloth.config.solver.as_pbd().unwrap().frequency;
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] - velocity[k] * h))
        .collect();
    cloth
}

/// Angle of the rotating local space at time t \[rad\], with a smooth start and stop.
fn angle(t: f64) -> f64 {
    0.6 * (1.0 - (3.0 * t).cos())
}

/// Largest angular velocity [rad/s].
const FASTEST_TURN: f64 = 0.6 * 3.0;

/// Largest distance of a particle from the origin at the start \[m\].
const FARTHEST: f64 = std::f64::consts::SQRT_2;

fn turned_pose(t: f64) -> Pose {
    let (sine, cosine) = (angle(t) / 2.0).sin_cos();
    let axis = [1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0];
    Pose {
        rotation: [axis[0] * sine, axis[1] * sine, axis[2] * sine, cosine].map(|x| x as f32),
        ..Pose::default()
    }
}

/// World and local positions of a cloth after `seconds` in the rotating local space.
fn run_turning(backend: Backend, cloth: &ClothDesc, dt: f64, seconds: f64) -> [Vec<[f32; 3]>; 2] {
    let mut simulation = Simulation::new(backend).unwrap();
    let id: ClothId = simulation.add(cloth.clone()).unwrap();
    for frame in 1..=(seconds / dt).round() as u32 {
        simulation.cloth_mut(id).unwrap().set_pose(turned_pose(f64::from(frame) * dt)).unwrap();
        simulation.step(dt as f32).unwrap();
    }
    let pose = simulation.cloth(id).unwrap().pose();
    let local: Vec<_> = simulation.state().unwrap().positions(id).collect();
    [local.iter().map(|&local| pose.apply(local)).collect(), local]
}

#[test]
fn free_particles_in_a_turning_frame_fly_straight_in_the_world() {
    let seconds = 1.0;
    for backend in backends() {
        for velocity in [[0.0; 3], [0.3, -0.2, 0.5]] {
            let steps: &[f64] =
                if backend == Backend::Cpu { &[30.0, 60.0, 150.0, 300.0] } else { &[30.0, 60.0] };
            let errors: Vec<f64> = steps
                .iter()
                .map(|rate| {
                    let cloth = free_particles(velocity);
                    let [world, _] = run_turning(backend, &cloth, 1.0 / rate, seconds);
                    let expected: Vec<[f32; 3]> = cloth
                        .particles
                        .iter()
                        .map(|p| {
                            std::array::from_fn(|k| p.position[k] + velocity[k] * seconds as f32)
                        })
                        .collect();
                    farthest(&world, &expected)
                })
                .collect();
            // The rotation of a frame acts up to half a frame too early or too late: a shift by
            // half the displacement of a frame, a first-order error.
            for (error, rate) in errors.iter().zip(steps) {
                let allowed = FASTEST_TURN * FARTHEST * 0.5 / rate;
                assert!(
                    *error < allowed,
                    "{}, {rate} 1/s: {error:e} m above {allowed:e} m",
                    backend.name()
                );
            }
            for (pair, rates) in errors.windows(2).zip(steps.windows(2)) {
                let (fell, refined) = (pair[0] / pair[1], rates[1] / rates[0]);
                assert!(
                    fell > 0.9 * refined,
                    "{}: poses {refined} times as fine, error {fell} times less",
                    backend.name()
                );
            }
            eprintln!(
                "rotating local space, {}, velocity {velocity:?}, poses at {steps:?} 1/s: {errors:?} m",
                backend.name()
            );
        }
    }
}

#[test]
fn without_inertia_the_cloth_does_not_notice_the_frame() {
    // Each iteration rounds positions of up to 2 m by up to EPSILON, twice (Q x - Q x'); pins and
    // fabric keep the remainder from becoming a lasting velocity.
    let allowed = 2.0 * 2.0 * f64::from(f32::EPSILON) * 300.0;
    for backend in backends() {
        let mut cloth = sheet(false);
        cloth.config.gravity = [0.0; 3];
        cloth.config.inertia.linear = [0.0; 3];
        cloth.config.inertia.angular = [0.0; 3];
        cloth.config.inertia.centrifugal = [0.0; 3];
        let mut simulation = Simulation::new(backend).unwrap();
        let id = simulation.add(cloth.clone()).unwrap();
        for frame in 1..=60 {
            let t = f64::from(frame) / 60.0;
            let pose = Pose { translation: path(t).map(|x| x as f32), ..turned_pose(t) };
            simulation.cloth_mut(id).unwrap().set_pose(pose).unwrap();
            simulation.step(1.0 / 60.0).unwrap();
        }
        let got: Vec<_> = simulation.state().unwrap().positions(id).collect();
        let expected: Vec<_> = cloth.particles.iter().map(|particle| particle.position).collect();
        let error = farthest(&got, &expected);
        eprintln!("no inertia, {}: {error:.2e} m of {allowed:.2e} m", backend.name());
        assert!(error < allowed, "{}: {error:e} m above {allowed:e} m", backend.name());
    }
}
