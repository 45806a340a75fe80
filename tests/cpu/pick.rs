//! Cloths that are pointed at and grabbed.

use std::sync::Arc;

use poplin::gpu::EngineOptions;
use poplin::{
    Backend, ClothId, Error, Grab, GrabOptions, ParticleMotion, Ray, Simulation, State,
    pick_triangles,
};
use poplin_cpu::CpuEngine;
use poplin_host::Engine;
use poplin_measure::metrics::stretch_strain;
use poplin_model::{
    Cloth, Frame, Implicit, Mesh, ModelError, MotionConstraints, Particle, Pose, Solver, Sphere,
};
use poplin_testkit::adapter::devices;
use poplin_testkit::compare::same_bits;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::{hanging_sheet, loose_particles};

const FRAME: Frame = Frame { dt: 1.0 / 60.0 };

fn particles(points: &[[f32; 3]]) -> Vec<Particle> {
    points.iter().map(|&[x, y, z]| Particle::from([x, y, z, 1.0])).collect()
}

/// A cloth of one triangle over x and z, `height` above the ground, facing up.
fn triangle(height: f32) -> Cloth {
    let mut cloth = loose_particles(vec![
        [0.0, height, 0.0, 1.0],
        [0.0, height, 1.0, 1.0],
        [1.0, height, 0.0, 1.0],
    ]);
    Arc::make_mut(&mut cloth.fabric).triangles = vec![[0, 1, 2]];
    cloth
}

fn down(x: f32, z: f32) -> Ray {
    Ray { origin: [x, 2.0, z], direction: [0.0, -0.1, 0.0] }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn a_hit_says_where_it_is() {
    let corners = particles(&[[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    let hit = |ray| pick_triangles(&[[0, 1, 2]], &corners, &ray).unwrap();
    let above = hit(down(0.5, 0.125)).unwrap();
    assert_eq!((above.triangle, above.particle, above.is_front), (0, 2, true));
    assert_eq!((above.weights, above.distance), ([0.375, 0.125, 0.5], 2.0));
    assert_eq!(above.point, [0.5, 0.0, 0.125]);
    let below = Ray { origin: [0.5, -1.0, 0.125], direction: [0.0, 3.0, 0.0] };
    assert_eq!(hit(below).map(|hit| (hit.distance, hit.is_front)), Some((1.0, false)));
    assert_eq!(hit(down(0.6, 0.6)), None, "beside it");
    assert_eq!(hit(Ray { direction: [0.0, 1.0, 0.0], ..down(0.5, 0.1) }), None, "behind");
    // From every direction.
    let mut rng = Rng::new(3);
    for _ in 0..1000 {
        let origin = rng.point(-2.0, 2.0);
        let [a, b] = [rng.range(0.01, 0.49), rng.range(0.01, 0.49)];
        let aim = [a, 0.0, b];
        let direction = std::array::from_fn(|k| aim[k] - origin[k]);
        let hit = hit(Ray { origin, direction }).unwrap();
        assert!((hit.distance - distance(origin, aim)).abs() < 1e-5, "{hit:?} for {aim:?}");
        assert!(distance(hit.point, aim) < 1e-5, "{hit:?} for {aim:?}");
        assert_eq!(hit.is_front, origin[1] > 0.0, "{hit:?} from {origin:?}");
    }
}

#[test]
fn no_ray_slips_through_an_edge_or_a_corner() {
    let mut rng = Rng::new(11);
    let mut mesh = Mesh::grid(12, 12, 1.0, 1.0);
    for point in &mut mesh.positions {
        let [x, y, z] = rng.point(-0.03, 0.03);
        *point = [point[0] + x, point[1] + y, point[2] + z];
    }
    let split = |&[a, b, c, d]: &[u32; 4]| [[a, b, c], [a, c, d]];
    let triangles: Vec<_> = mesh.quads.iter().flat_map(split).collect();
    let particles = particles(&mesh.positions);
    let is_inner = |i: u32| (1..11).contains(&(i % 12)) && (1..11).contains(&(i / 12));
    let mut count = 0;
    for &[a, b, _] in &triangles {
        if !is_inner(a) || !is_inner(b) {
            continue;
        }
        for part in [0.0, 0.5, 1.0, rng.range(0.0, 1.0), rng.range(0.0, 1.0)] {
            let [p, q] = [a, b].map(|i| mesh.positions[i as usize]);
            let aim: [f32; 3] = std::array::from_fn(|k| p[k] + part * (q[k] - p[k]));
            // Straight down, so that the aim is on the ray to the bit, and askew.
            let askew = std::array::from_fn(|k| aim[k] + [rng.range(-1.0, 1.0), 3.0, 0.5][k]);
            for origin in [[aim[0], 3.0, aim[2]], askew] {
                let direction = std::array::from_fn(|k| aim[k] - origin[k]);
                let ray = Ray { origin, direction };
                let hit = pick_triangles(&triangles, &particles, &ray).unwrap();
                let hit = hit.unwrap_or_else(|| panic!("{ray:?} slips through {a} {b}"));
                assert!(hit.distance <= distance(origin, aim) + 1e-5, "{hit:?}");
                let [x, y, z] = triangles[hit.triangle as usize].map(|i| particles[i as usize]);
                let [u, v, w] = hit.weights;
                let at: [f32; 3] = std::array::from_fn(|k| {
                    u * x.position[k] + v * y.position[k] + w * z.position[k]
                });
                assert!(distance(at, hit.point) < 1e-6, "{hit:?} at {at:?}");
                count += 1;
            }
        }
    }
    assert!(count > 1500, "{count}");
}

#[test]
fn of_triangles_and_cloths_equally_far_away_the_first_counts() {
    let corners = particles(&[[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    let triangles = [[0, 0, 1], [1, 2, 0], [0, 1, 2], [2, 1, 0]];
    let hit = pick_triangles(&triangles, &corners, &down(0.25, 0.25)).unwrap().unwrap();
    assert_eq!((hit.triangle, hit.is_front), (1, true));
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let [_, first, _] = [0.0, 0.5, 0.5].map(|y| simulation.add(triangle(y)).unwrap());
    let state = simulation.state().unwrap();
    let hit = simulation.pick(&state, &down(0.25, 0.25)).unwrap().unwrap();
    assert_eq!((hit.cloth, hit.at.distance), (first, 1.5));
}

#[test]
fn triangles_without_area_or_with_nan_are_never_hit() {
    let nan = f32::NAN;
    let corners = particles(&[
        [0.0; 3],
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, 0.5],
        [nan, 0.0, 0.0],
        [0.0, f32::INFINITY, 0.0],
        [0.0, 1e15, 0.0],
    ]);
    let triangles = [[0, 3, 1], [0, 0, 0], [0, 1, 1], [0, 1, 4], [4, 4, 4], [0, 2, 5], [0, 1, 6]];
    for (x, z) in [(0.0, 0.0), (0.0, 0.25), (0.0, 1.0), (0.5, 0.0), (0.1, 0.1)] {
        assert_eq!(pick_triangles(&triangles, &corners, &down(x, z)).unwrap(), None);
    }
    assert!(pick_triangles(&[[0, 1, 2]], &corners, &down(0.1, 0.1)).unwrap().is_some());
}

#[test]
fn a_ray_that_is_not_valid_is_refused_by_name() {
    let corners = particles(&[[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    let pick = |origin, direction| {
        let error = pick_triangles(&[[0, 1, 2]], &corners, &Ray { origin, direction });
        error.unwrap_err().to_string()
    };
    assert!(pick([0.0, f32::NAN, 0.0], [1.0; 3]).starts_with("ray origin[0] = NaN"));
    assert!(pick([0.0; 3], [f32::INFINITY; 3]).starts_with("ray direction[0] = inf"));
    assert!(pick([0.0; 3], [0.0; 3]).starts_with("ray direction length = 0 is outside"));
    let outside = pick_triangles(&[[0, 1, 2], [2, 3, 0]], &corners, &down(0.1, 0.1));
    let error = outside.unwrap_err().to_string();
    assert_eq!(error, "triangle corners[1] is 3, but there are only 3");
    let tiny = Ray { direction: [0.0, -2e-38, 0.0], ..down(0.25, 0.25) };
    assert!(pick_triangles(&[[0, 1, 2]], &corners, &tiny).unwrap().is_some());
}

#[test]
fn a_cloth_is_hit_where_its_pose_puts_it() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let half = std::f32::consts::FRAC_1_SQRT_2;
    // A quarter about x takes z to -y: the triangle stands in the plane z = 5 and faces +z.
    let pose = Pose { translation: [1.0, 2.0, 5.0], rotation: [half, 0.0, 0.0, half] };
    let cloth = simulation.add(Cloth { pose, ..triangle(0.0) }).unwrap();
    let state = simulation.state().unwrap();
    let ray = Ray { origin: [1.25, 1.75, 9.0], direction: [0.0, 0.0, -2.0] };
    let hit = simulation.pick(&state, &ray).unwrap().unwrap();
    assert!(hit.at.is_front && hit.cloth == cloth, "{hit:?}");
    assert!(distance(hit.at.point, [1.25, 1.75, 5.0]) < 1e-5, "{hit:?}");
    assert!((hit.at.distance - 4.0).abs() < 1e-5, "{hit:?}");
    simulation.cloth_mut(cloth).unwrap().teleport([0.0, 0.0, 1.0]).unwrap();
    let hit = simulation.pick(&state, &ray).unwrap().unwrap();
    assert!((hit.at.distance - 3.0).abs() < 1e-5, "{hit:?}");
}

#[test]
fn cloths_that_are_not_both_in_state_and_simulation_are_left_out() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let [low, high] = [0.0, 1.0].map(|y| simulation.add(triangle(y)).unwrap());
    let state = simulation.state().unwrap();
    let top = simulation.add(triangle(1.5)).unwrap();
    let pick = |simulation: &Simulation, state: &State| {
        simulation.pick(state, &down(0.25, 0.25)).unwrap().map(|hit| hit.cloth)
    };
    assert_eq!(pick(&simulation, &state), Some(high), "added since");
    simulation.remove(high).unwrap();
    assert_eq!(pick(&simulation, &state), Some(low), "removed since");
    let state = simulation.state().unwrap();
    assert_eq!(pick(&simulation, &state), Some(top));
    assert_eq!(pick(&simulation, &State::default()), None);
}

/// A sheet that hangs at rest by two corners, and its lowest middle particle.
fn hanging(solver: Solver) -> (Simulation, ClothId, u32) {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let mut cloth = hanging_sheet(16, 16);
    cloth.config.solver = solver;
    cloth.config.damping = [0.5; 3];
    let id = simulation.add(cloth).unwrap();
    (0..240).for_each(|_| simulation.step(&FRAME).unwrap());
    (simulation, id, 15 * 16 + 8)
}

fn position(simulation: &mut Simulation, id: ClothId, particle: u32) -> [f32; 3] {
    simulation.read(id).unwrap().current(id)[particle as usize].position
}

fn grab(simulation: &mut Simulation, id: ClothId, particle: u32, options: GrabOptions) -> Grab {
    let state = simulation.read(id).unwrap();
    let cloth = simulation.cloth_mut(id).unwrap();
    Grab::new(cloth, state.current(id), particle, options).unwrap()
}

/// A frame with a grab; returns the particles before and after it.
fn step(simulation: &mut Simulation, id: ClothId, grab: &mut Grab) -> [Vec<Particle>; 2] {
    let before = simulation.read(id).unwrap().current(id).to_vec();
    grab.apply(simulation.cloth_mut(id).unwrap(), &before, &FRAME).unwrap();
    simulation.step(&FRAME).unwrap();
    let state = simulation.read(id).unwrap();
    assert_eq!(state.fault_count(id), 0);
    [before, state.current(id).to_vec()]
}

fn solvers() -> [(&'static str, Solver); 3] {
    let implicit = Implicit { substeps: 2, ..Implicit::default() };
    [("pbd", Solver::default()), ("xpbd", Solver::xpbd(10)), ("implicit", implicit.into())]
}

#[test]
fn a_grabbed_particle_reaches_its_target_at_its_speed() {
    for (name, solver) in solvers() {
        let (mut simulation, id, particle) = hanging(solver);
        let start = position(&mut simulation, id, particle);
        let target = [start[0] + 0.1, start[1] + 0.3, start[2] + 0.2];
        let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
        grab.move_to(target).unwrap();
        // 0.374 m at 3 m/s are 7.5 frames; cloth that lags behind takes some more.
        for frame in 0..15 {
            let [before, after] = step(&mut simulation, id, &mut grab);
            let [before, after] =
                [before, after].map(|particles| particles[particle as usize].position);
            let moved = distance(before, after);
            assert!(moved < 0.0501, "{name}: {moved} m in frame {frame}");
        }
        let at = position(&mut simulation, id, particle);
        assert!(distance(at, target) < 1e-6, "{name}: {at:?} for {target:?}");
    }
}

#[test]
fn a_mouse_that_jumps_five_metres_neither_tears_nor_shakes_the_cloth() {
    for (name, solver) in solvers() {
        let (mut simulation, id, particle) = hanging(solver);
        let fabric = simulation.cloth(id).unwrap().cloth().fabric.clone();
        let at_rest = simulation.read(id).unwrap().current(id).to_vec();
        let strain = stretch_strain(&fabric, &at_rest).max;
        let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
        let mut worst = 0.0f32;
        for frame in 0..240 {
            // There, back, and up.
            let target = [[5.0, -1.0, 0.0], [-5.0, 3.0, 0.0], [0.5, 0.5, -5.0]][frame / 80];
            grab.move_to(target).unwrap();
            let particles = step(&mut simulation, id, &mut grab);
            worst = worst.max(stretch_strain(&fabric, &particles[1]).max);
            let [before, after] = particles.map(|all| all[particle as usize].position);
            let speed = distance(before, after) / FRAME.dt;
            // It has come as far as it can.
            let limit = if frame % 80 < 60 { 3.01 } else { 0.25 };
            assert!(speed < limit, "{name}: {speed} m/s in frame {frame}");
        }
        assert!(worst < 0.4, "{name}: {worst}, at rest {strain}");
    }
}

/// Kinetic and potential energy [J] over a frame.
fn energy(before: &[Particle], after: &[Particle]) -> f64 {
    let of = |(before, after): (&Particle, &Particle)| {
        let speed = f64::from(distance(before.position, after.position) / FRAME.dt);
        let middle = f64::from(0.5 * (before.position[1] + after.position[1]));
        (0.5 * speed * speed + 9.81 * middle) / f64::from(after.inverse_mass)
    };
    let free = |(_, after): &(&Particle, &Particle)| !after.is_pinned();
    before.iter().zip(after).filter(free).map(of).sum()
}

#[test]
fn a_particle_that_is_let_go_falls_back_to_rest() {
    for (name, solver) in solvers() {
        let (mut simulation, id, particle) = hanging(solver);
        let rest = position(&mut simulation, id, particle);
        let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
        grab.move_to([rest[0], rest[1] + 0.5, rest[2] + 0.3]).unwrap();
        let [_, mut before] = step(&mut simulation, id, &mut grab);
        let rest_energy = energy(&before, &before);
        // Let go on the way, at full speed.
        (0..7).for_each(|_| [_, before] = step(&mut simulation, id, &mut grab));
        grab.release(simulation.cloth_mut(id).unwrap());
        let mut let_go = None;
        for frame in 0..600 {
            simulation.step(&FRAME).unwrap();
            let state = simulation.read(id).unwrap();
            let after = state.current(id).to_vec();
            assert!(after[particle as usize].inverse_mass > 0.0, "it has its mass again");
            let now = energy(&before, &after) - rest_energy;
            let limit = 1.02 * *let_go.get_or_insert(now);
            assert!(now < limit, "{name}: {now} J in frame {frame}, of {limit}");
            before = after;
        }
        let at = before[particle as usize].position;
        assert!(distance(at, rest) < 0.01, "{name}: {at:?} for {rest:?}");
    }
}

#[test]
fn motion_spheres_of_the_user_act_on_all_other_particles_and_come_back() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let at_rest = simulation.read(id).unwrap().current(id).to_vec();
    let sphere = |p: &Particle| Sphere { center: p.position, radius: 0.1 };
    let spheres: Vec<_> = at_rest.iter().map(sphere).collect();
    let cloth = simulation.cloth_mut(id).unwrap();
    let mut config = cloth.cloth().config.clone();
    // 0.05 m, and gravity that presses all of the cloth against it.
    config.gravity = [0.0, 0.0, 20.0];
    config.motion = MotionConstraints { scale: 0.8, bias: -0.03, stiffness: 1.0 };
    cloth.set_config(config).unwrap();
    cloth.set_motion_spheres(&spheres).unwrap();
    let options = GrabOptions { radius: 0.0, ..GrabOptions::default() };
    let mut grab = grab(&mut simulation, id, particle, options);
    let center = at_rest[particle as usize].position;
    grab.move_to([center[0], center[1] + 0.1, center[2] + 0.15]).unwrap();
    let strays = |simulation: &mut Simulation| -> Vec<f32> {
        let state = simulation.read(id).unwrap();
        state.positions(id).zip(&spheres).map(|(x, s)| distance(x, s.center)).collect()
    };
    for frame in 0..30 {
        if frame % 10 == 5 {
            // Whoever animates them sets them every frame.
            simulation.cloth_mut(id).unwrap().set_motion_spheres(&spheres).unwrap();
        }
        step(&mut simulation, id, &mut grab);
        // Fibers pull at those around the grabbed one.
        let others = &strays(&mut simulation)[..10 * 16];
        let farthest = others.iter().fold(0.0f32, |a, &b| a.max(b));
        let least = if frame < 20 { 0.0 } else { 0.049 };
        assert!((least..0.054).contains(&farthest), "{farthest} m in frame {frame}");
    }
    let held = strays(&mut simulation)[particle as usize];
    assert!(held > 0.1, "{held} m");
    grab.release(simulation.cloth_mut(id).unwrap());
    (0..60).for_each(|_| simulation.step(&FRAME).unwrap());
    assert!(strays(&mut simulation).iter().all(|&stray| stray < 0.051));
}

#[test]
fn what_nobody_grabs_has_the_same_bits() {
    let run = |grabs: bool| {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let sheet = hanging_sheet(8, 8);
        let ids = [0; 3].map(|_| simulation.add(sheet.clone()).unwrap());
        let spheres = |x: f32| vec![Sphere { center: [x, 0.0, 0.0], radius: 1.1 }; 64];
        simulation.cloth_mut(ids[2]).unwrap().set_motion_spheres(&spheres(0.0)).unwrap();
        let mut held = grabs.then(|| grab(&mut simulation, ids[0], 60, GrabOptions::default()));
        for frame in 0..20 {
            if grabs && frame == 3 {
                // Held and let go between two frames.
                let other = grab(&mut simulation, ids[2], 60, GrabOptions::default());
                other.release(simulation.cloth_mut(ids[2]).unwrap());
            }
            let x = 0.01 * frame as f32;
            simulation.cloth_mut(ids[2]).unwrap().set_motion_spheres(&spheres(x)).unwrap();
            if let Some(grab) = &mut held {
                grab.move_to([2.0, 1.0, 0.0]).unwrap();
                step(&mut simulation, ids[0], grab);
            } else {
                simulation.step(&FRAME).unwrap();
            }
        }
        let state = simulation.state().unwrap();
        ids.map(|id| state.current(id).to_vec())
    };
    let ([held, beside, sphered], [alone, other_beside, other_sphered]) = (run(true), run(false));
    assert_ne!(held, alone);
    same_bits("beside", &beside, &other_beside).unwrap();
    same_bits("with spheres", &sphered, &other_sphered).unwrap();
}

#[test]
fn a_reset_lets_go_and_a_copy_is_not_held() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let mut fresh = Simulation::new(Backend::Cpu).unwrap();
    let sheet = simulation.cloth(id).unwrap().cloth().clone();
    let fresh_id = fresh.add(sheet).unwrap();
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    grab.move_to([0.0, 1.0, 0.0]).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    let copy = simulation.clone_cloth(id, 1).unwrap()[0];
    let copied = position(&mut simulation, copy, particle);
    (0..20).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    let [held, let_go] = [id, copy].map(|id| position(&mut simulation, id, particle));
    assert!(held[1] > -0.2 && let_go[1] < copied[1] - 0.1, "{held:?} {let_go:?} {copied:?}");

    simulation.reset(id).unwrap();
    let state = simulation.read(id).unwrap();
    let cloth = simulation.cloth_mut(id).unwrap();
    let error = grab.apply(cloth, state.current(id), &FRAME).unwrap_err();
    assert_eq!(error, ModelError::StaleHandle { what: "hold" });
    grab.release(cloth);
    for _ in 0..5 {
        simulation.step(&FRAME).unwrap();
        fresh.step(&FRAME).unwrap();
    }
    let (a, b) = (simulation.read(id).unwrap(), fresh.read(fresh_id).unwrap());
    same_bits("reset", a.current(id), b.current(fresh_id)).unwrap();

    let mut grab = self::grab(&mut simulation, id, particle, GrabOptions::default());
    let particles = simulation.read(id).unwrap().current(id).to_vec();
    simulation.set_particles(id, &particles, ParticleMotion::Rest).unwrap();
    assert!(grab.apply(simulation.cloth_mut(id).unwrap(), &particles, &FRAME).is_err());
    simulation.remove(id).unwrap();
    assert!(matches!(simulation.cloth_mut(id), Err(Error::NoSuchCloth(_))));
}

#[test]
fn a_pin_is_dragged_and_stays_where_it_is_let_go() {
    let (mut simulation, id, _) = hanging(Solver::default());
    let start = position(&mut simulation, id, 0);
    let target = [start[0] + 0.2, start[1] + 0.1, start[2]];
    let mut grab = grab(&mut simulation, id, 0, GrabOptions::default());
    grab.move_to(target).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    grab.release(simulation.cloth_mut(id).unwrap());
    (0..10).for_each(|_| simulation.step(&FRAME).unwrap());
    let state = simulation.read(id).unwrap();
    assert!(distance(state.current(id)[0].position, target) < 1e-6);
    assert!(state.current(id)[0].is_pinned() && state.current(id)[15].is_pinned());
}

#[test]
fn a_target_is_of_the_world_whatever_the_local_space_does() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let start = position(&mut simulation, id, particle);
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    let target = [start[0], start[1] + 0.2, start[2]];
    grab.move_to(target).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    for frame in 1..=10 {
        let half: f32 = 0.005 * frame as f32;
        let rotation = [0.0, half.sin(), 0.0, half.cos()];
        let pose = Pose { translation: [0.01 * frame as f32, 0.0, 0.0], rotation };
        simulation.cloth_mut(id).unwrap().set_pose(pose).unwrap();
        step(&mut simulation, id, &mut grab);
        let at = position(&mut simulation, id, particle);
        let at = simulation.cloth(id).unwrap().pose().apply(at);
        assert!(distance(at, target) < 1e-5, "{at:?} for {target:?} in frame {frame}");
    }
}

#[test]
fn a_grab_without_a_state_keeps_its_speed_and_bad_values_change_nothing() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let start = position(&mut simulation, id, particle);
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    grab.move_to([start[0], start[1] + 0.3, start[2]]).unwrap();
    assert!(grab.move_to([f32::NAN; 3]).is_err());
    let cloth = simulation.cloth_mut(id).unwrap();
    assert!(grab.apply(cloth, &[Particle::default(); 3], &FRAME).is_err());
    assert!(grab.apply(cloth, &[], &Frame { dt: f32::NAN }).is_err());
    for (particle, radius) in [(256, 0.1), (0, -1.0), (0, f32::NAN), (0, 1e9)] {
        let options = GrabOptions { radius, ..GrabOptions::default() };
        let particles = vec![Particle::default(); 256];
        assert!(Grab::new(cloth, &particles, particle, options).is_err());
    }
    let sphere = Sphere { center: [0.0; 3], radius: 1.0 };
    assert!(cloth.hold(&[256], &[sphere]).is_err() && cloth.hold(&[0, 1], &[sphere]).is_err());
    for _ in 0..3 {
        grab.apply(simulation.cloth_mut(id).unwrap(), &[], &FRAME).unwrap();
        simulation.step(&FRAME).unwrap();
    }
    let at = position(&mut simulation, id, particle);
    let expected = [start[0], start[1] + 0.15, start[2]];
    assert!(distance(at, expected) < 1e-5, "{at:?} for {expected:?}");
}

#[test]
fn a_grab_holds_where_the_settings_switch_motion_spheres_off() {
    let (mut simulation, id, particle) = hanging(Solver::default());
    let start = position(&mut simulation, id, particle);
    let cloth = simulation.cloth_mut(id).unwrap();
    let mut config = cloth.cloth().config.clone();
    config.motion = MotionConstraints { scale: 0.0, bias: 0.0, stiffness: 0.0 };
    cloth.set_config(config).unwrap();
    cloth.set_motion_spheres(&[Sphere { center: [9.0; 3], radius: 0.0 }; 256]).unwrap();
    let mut grab = grab(&mut simulation, id, particle, GrabOptions::default());
    grab.move_to([start[0], start[1] + 0.1, start[2]]).unwrap();
    (0..10).for_each(|_| drop(step(&mut simulation, id, &mut grab)));
    let at = position(&mut simulation, id, particle);
    assert!((distance(at, start) - 0.1).abs() < 1e-5, "{at:?}");
    assert!(distance(position(&mut simulation, id, 120), [9.0; 3]) > 8.0);
}

/// What an engine makes of a sheet that is grabbed, moved and let go.
fn held_sheet<E: Engine>(engine: &mut E) -> Vec<Vec<Particle>> {
    let id = engine.add(hanging_sheet(4, 4)).unwrap();
    let state = engine.read(id).unwrap();
    let options = GrabOptions { radius: 0.4, ..GrabOptions::default() };
    let cloth = engine.cloth_mut(id).unwrap();
    let mut grab = Grab::new(cloth, state.current(id), 13, options).unwrap();
    grab.move_to([0.3, 0.4, 1.1]).unwrap();
    let mut frames = Vec::new();
    for _ in 0..4 {
        let state = engine.read(id).unwrap();
        grab.apply(engine.cloth_mut(id).unwrap(), state.current(id), &FRAME).unwrap();
        engine.step(&FRAME).unwrap();
        frames.push(engine.read(id).unwrap().current(id).to_vec());
    }
    grab.release(engine.cloth_mut(id).unwrap());
    engine.step(&FRAME).unwrap();
    frames.push(engine.read(id).unwrap().current(id).to_vec());
    frames
}

#[test]
fn both_backends_hold_cloth_alike() {
    let expected = held_sheet(&mut CpuEngine::default());
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        for (frame, (gpu, cpu)) in held_sheet(&mut gpu).iter().zip(&expected).enumerate() {
            rounding.agree(&format!("frame {frame}"), gpu, cpu, 256.0).unwrap();
        }
    }
}
