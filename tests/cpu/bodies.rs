//! Two-way contact with rigid bodies: cloth and body exchange momentum, and the sum is conserved.

use poplin::{Backend, ClothId, Simulation};
use poplin_cook::{CookOptions, Tethers, cook};
use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_host::Engine as _;
use poplin_host::FramePart;
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::{ArrayBody, ShapeArrays};
use poplin_model::{
    BodyImpulse, ClothContactSolver, ClothDesc, Collider, ContactMode, Mesh, Parallelepiped,
    Particle, Pose, RigidBody, Shape,
};
use poplin_testkit::adapter::backends;

/// A free sheet of 12 x 12 particles, 1 m wide, of 0.5 kg, in the plane y = 0, without gravity.
fn sheet(pins: Vec<u32>) -> ClothDesc {
    let options =
        CookOptions { pins, density: 0.5, tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(12, 12, 1.0, 1.0), &options).unwrap().into_cloth();
    cloth.config.gravity = [0.0; 3];
    cloth.config.contact.friction = 0.3;
    cloth
}

/// Ball of 0.4 kg and radius 0.15 m, integrated by the test itself.
#[derive(Debug, Clone, Copy)]
struct Ball {
    center: [f64; 3],
    velocity: [f64; 3],
    spin: [f64; 3],
}

const MASS: f64 = 0.4;
const RADIUS: f64 = 0.15;
/// Moment of inertia of a solid ball [kg m^2].
const INERTIA: f64 = 0.4 * MASS * RADIUS * RADIUS;

impl Ball {
    /// Sets the ball's pose at the end of the next frame. The first call places the ball there at
    /// once.
    fn tell(&self, simulation: &mut Simulation, dt: f64, restitution: f32) {
        let narrow = |v: [f64; 3]| v.map(|x| x as f32);
        let translation = narrow(std::array::from_fn(|k| self.center[k] + self.velocity[k] * dt));
        let inverse_inertia = std::array::from_fn(|row| {
            std::array::from_fn(|k| if k == row { (1.0 / INERTIA) as f32 } else { 0.0 })
        });
        let state = RigidBody {
            inverse_mass: (1.0 / MASS) as f32,
            inverse_inertia,
            center: narrow(self.center),
            velocity: narrow(self.velocity),
            angular_velocity: narrow(self.spin),
            restitution,
        };
        let (set, pose) = (simulation.colliders_mut(), Pose { translation, ..Pose::default() });
        let known = set.iter().next().map(|(id, collider)| (id, collider.body));
        if let Some((id, Some(body))) = known {
            set.set_pose(id, pose).unwrap();
            set.set_body(body, state).unwrap();
        } else {
            let body = Some(set.add_body(state).unwrap());
            let shape = Shape::sphere(RADIUS as f32);
            set.add(Collider { pose, body, ..Collider::from(shape) }).unwrap();
        }
    }

    fn take(&mut self, impulse: &BodyImpulse, dt: f64) {
        for k in 0..3 {
            // The impulse acts at the end of the frame.
            self.center[k] += self.velocity[k] * dt;
            self.velocity[k] += f64::from(impulse.linear[k]) / MASS;
            self.spin[k] += f64::from(impulse.angular[k]) / INERTIA;
        }
    }
}

/// Momentum of the cloth's free particles [kg m/s], with the velocities of the last iteration.
fn momentum(simulation: &mut Simulation, id: ClothId, step: f64) -> [f64; 3] {
    let state = simulation.state().unwrap();
    let mut sum = [0.0; 3];
    for (now, before) in state
        .current(id)
        .iter()
        .zip(state.previous(id))
        .filter(|(_, before)| before.inverse_mass > 0.0)
    {
        let [new, old] = [now, before].map(|particle| particle.position.map(f64::from));
        let mass = 1.0 / f64::from(before.inverse_mass);
        sum = std::array::from_fn(|k| sum[k] + (new[k] - old[k]) / step * mass);
    }
    sum
}

/// Result of a flight.
#[derive(Debug)]
struct Flight {
    ball: Ball,
    /// Largest error of the total momentum, relative to the momentum at the start.
    error: f64,
    contacts: u32,
    /// Smallest distance of a particle from the center of the ball \[m\].
    nearest: f64,
}

/// Thickness of the sheet in triangle contact \[m\].
const THICKNESS: f32 = 0.01;

/// Empty simulation on the CPU backend with this contact mode.
fn simulation(contact: ContactMode) -> Simulation {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let settings = ClothContactSolver { contact, ..ClothContactSolver::default() };
    simulation.set_cloth_contact_solver(settings).unwrap();
    simulation
}

/// Lets the ball fly into the sheet for `frames` frames.
fn fly(contact: ContactMode, restitution: f32, velocity: [f64; 3], frames: usize) -> Flight {
    let mut simulation = simulation(contact);
    let mut cloth = sheet(Vec::new());
    if contact == ContactMode::Triangles {
        cloth.config.thickness = THICKNESS;
    }
    let id = simulation.add(cloth).unwrap();
    let mut ball = Ball { center: [0.45, 0.3, 0.55], velocity, spin: [0.0, 3.0, 0.0] };
    let dt = 1.0 / 60.0;
    let step = dt / 5.0;
    let total = ball.velocity.map(|v| v * MASS);
    let scale = total.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The first pose has no predecessor, so the ball does not move in the first frame.
    ball.tell(&mut simulation, 0.0, restitution);
    let (mut error, mut contacts, mut nearest) = (0.0_f64, 0, f64::INFINITY);
    for _ in 0..frames {
        ball.tell(&mut simulation, dt, restitution);
        simulation.step(dt as f32).unwrap();
        let impulse = simulation.state().unwrap().body_impulses(id)[0];
        ball.take(&impulse, dt);
        contacts += impulse.contact_count;
        let of_cloth = momentum(&mut simulation, id, step);
        let off = (0..3)
            .map(|k| (of_cloth[k] + ball.velocity[k] * MASS - total[k]).powi(2))
            .sum::<f64>()
            .sqrt();
        error = error.max(off / scale);
        for point in simulation.state().unwrap().positions(id) {
            let square = |k: usize| (f64::from(point[k]) - ball.center[k]).powi(2);
            nearest = nearest.min((square(0) + square(1) + square(2)).sqrt());
        }
    }
    Flight { ball, error, contacts, nearest }
}

#[test]
fn ball_and_free_cloth_keep_their_momentum() {
    for restitution in [0.0, 0.5] {
        let Flight { ball, error, contacts, nearest } =
            fly(ContactMode::Particles, restitution, [0.3, -2.0, 0.1], 120);
        println!(
            "restitution {restitution}: momentum off by {error:.1e}, {contacts} contacts, ball at {:?} m/s",
            ball.velocity
        );
        assert!(contacts > 100, "the ball meets the sheet");
        assert!(ball.velocity[1] > -1.8, "the sheet slows the ball down: {:?}", ball.velocity);
        assert!(error < 1e-4, "momentum of ball and cloth is off by {error:e}");
        assert!((nearest - RADIUS).abs() < 1e-3, "particles come as near as the ball: {nearest}");
    }
}

#[test]
fn triangle_contact_pushes_bodies_at_half_the_thickness() {
    for restitution in [0.0, 0.5] {
        let [particles, triangles] = [ContactMode::Particles, ContactMode::Triangles]
            .map(|contact| fly(contact, restitution, [0.3, -2.0, 0.1], 120));
        println!("restitution {restitution}: {particles:?}, {triangles:?}");
        let Flight { ball, error, contacts, nearest } = triangles;
        assert!(contacts > 100, "the ball meets the sheet");
        assert!(error < 1e-4, "momentum of ball and cloth is off by {error:e}");
        let off = (0..3).map(|k| (ball.velocity[k] - particles.ball.velocity[k]).abs());
        let off = off.fold(0.0, f64::max);
        assert!(off < 0.02, "{off} m/s from the ball with contact of particles");
        let distance = RADIUS + 0.5 * f64::from(THICKNESS);
        assert!((nearest - distance).abs() < 1e-3, "particles keep half a thickness: {nearest}");
    }
}

#[test]
fn the_body_gains_the_momentum_that_particles_lose() {
    // One iteration of this stage only, from random velocities: the gain of momentum of every
    // particle, and its lever arm, are known.
    let mut rng = Rng::new(3);
    for round in 0..40 {
        let mut engine = ReferenceEngine::new();
        let mut cloth = sheet(if round % 2 == 0 { Vec::new() } else { vec![78, 90] });
        cloth.config.contact.friction = rng.range(0.0, 1.0);
        let step = 1.0 / cloth.config.solver.as_pbd().unwrap().frequency;
        let displacement = |rng: &mut Rng| rng.point(-2.0 * step, 2.0 * step);
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| {
                let w = displacement(&mut rng);
                std::array::from_fn(|k| p.position[k] - w[k])
            })
            .collect();
        let center = [0.5, rng.range(-0.2, 0.2), 0.5];
        let body = RigidBody {
            inverse_mass: rng.range(0.1, 5.0),
            inverse_inertia: [[3.0, 0.5, 0.0], [0.5, 2.0, 0.1], [0.0, 0.1, 4.0]],
            center,
            velocity: rng.point(-2.0, 2.0),
            angular_velocity: rng.point(-5.0, 5.0),
            restitution: rng.range(0.0, 1.0),
        };
        let shapes = ShapeArrays {
            spheres: vec![[0.5, center[1], 0.5, 0.3]],
            boxes: vec![Parallelepiped {
                corner: [0.0, -0.1, 0.0],
                edges: [[0.4, 0.0, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.4]],
            }],
            bodies: vec![ArrayBody {
                spheres: vec![0],
                boxes: vec![0],
                body,
                ..Default::default()
            }],
            ..Default::default()
        };
        cloth.colliders = shapes.to_set().unwrap();
        let id = engine.add(cloth).unwrap();
        let (current, previous) = (engine.current(id).to_vec(), engine.previous(id).to_vec());
        engine.begin_frame(step).unwrap();
        let stages = StageMask::only(Stage::CollideBody);
        engine
            .run_part(id, &FramePart { stages, ..FramePart::WHOLE }, &mut Team::single())
            .unwrap();
        let impulse = engine.body_impulses(id).own[0];
        assert!(impulse.contact_count > 10);
        let (mut linear, mut angular) = ([0.0f64; 3], [0.0f64; 3]);
        let wide = |p: Particle| p.position.map(f64::from);
        for i in 0..current.len() {
            let w = f64::from(previous[i].inverse_mass);
            let [x, before, after, after_before] =
                [current[i], previous[i], engine.current(id)[i], engine.previous(id)[i]].map(wide);
            let gain: [f64; 3] = std::array::from_fn(|k| {
                if w > 0.0 {
                    // Impulse on the particle: the change of its velocity times its mass.
                    ((after[k] - after_before[k]) - (x[k] - before[k])) / f64::from(step) / w
                } else {
                    0.0
                }
            });
            // Lever arm about the center of mass, which the body reaches at the end of the step.
            let arm: [f64; 3] = std::array::from_fn(|k| {
                x[k] - f64::from(center[k]) - f64::from(body.velocity[k]) * f64::from(step)
            });
            for k in 0..3 {
                let (a, b) = ((k + 1) % 3, (k + 2) % 3);
                linear[k] -= gain[k];
                // arm x impulse, with the opposite sign for the body.
                angular[k] -= arm[a] * gain[b] - arm[b] * gain[a];
            }
        }
        // Pins absorb momentum that no particle shows.
        for k in (0..3).filter(|_| round % 2 == 0) {
            assert!(
                (linear[k] - f64::from(impulse.linear[k])).abs() < 2e-4,
                "round {round}: {linear:?} against {impulse:?}"
            );
            assert!(
                (angular[k] - f64::from(impulse.angular[k])).abs() < 1e-4,
                "round {round}: {angular:?} against {impulse:?}"
            );
        }
    }
}

#[test]
fn both_backends_report_the_same_impulses() {
    let mut found = Vec::new();
    for options in backends() {
        let mut simulation = Simulation::new(options).unwrap();
        let id = simulation.add(sheet(Vec::new())).unwrap();
        let ball =
            Ball { center: [0.45, 0.14, 0.55], velocity: [0.3, -2.0, 0.1], spin: [0.0, 3.0, 0.0] };
        ball.tell(&mut simulation, 1.0 / 60.0, 0.2);
        simulation.step(1.0 / 60.0).unwrap();
        let impulses = simulation.state().unwrap().body_impulses(id).to_vec();
        assert_eq!(impulses.len(), 1);
        assert!(impulses[0].contact_count > 0);
        found.push(impulses);
    }
    for other in &found[1..] {
        let (a, b) = (other[0], found[0][0]);
        for k in 0..3 {
            assert!((a.linear[k] - b.linear[k]).abs() < 1e-4 * 0.8, "{a:?} against {b:?}");
            assert!((a.angular[k] - b.angular[k]).abs() < 1e-4 * 0.8, "{a:?} against {b:?}");
        }
    }
}

#[test]
fn a_plate_hitting_a_sheet_flat_acts_as_one_collision() {
    // A box of 1 kg drops flat onto a sheet of 0.5 kg: all 144 particles meet it in one iteration,
    // and each must take only its fraction of the body. After an inelastic collision both move at m
    // v / (m + M).
    let speeds = [(0.0, -2.0 / 1.5), (1.0, -2.0 + 2.0 * 2.0 * 0.5 / 1.5)];
    let modes = [ContactMode::Particles, ContactMode::Triangles];
    for ((restitution, expected), contact) in
        speeds.into_iter().flat_map(|speed| modes.map(|contact| (speed, contact)))
    {
        let mut simulation = simulation(contact);
        let mut cloth = sheet(Vec::new());
        // In triangle contact the sheet is met half its thickness earlier.
        cloth.config.thickness = THICKNESS;
        cloth.config.self_collision.distance = Some(0.0);
        let before = if contact == ContactMode::Triangles { 0.5 * THICKNESS } else { 0.0 };
        let plate = Parallelepiped {
            corner: [-0.5, before - 0.001, -0.5],
            edges: [[2.0, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 2.0]],
        };
        let body = RigidBody {
            inverse_mass: 1.0,
            center: [0.5, 0.149, 0.5],
            velocity: [0.0, -2.0, 0.0],
            restitution,
            ..RigidBody::default()
        };
        let body = Some(cloth.colliders.add_body(body).unwrap());
        cloth.colliders.add(Collider { body, ..Collider::from(plate) }).unwrap();
        let id = simulation.add(cloth).unwrap();
        simulation.step(1.0 / 300.0).unwrap();
        let impulse = simulation.state().unwrap().own_body_impulses(id)[0];
        let velocity = -2.0 + impulse.linear[1];
        println!("restitution {restitution}: plate at {velocity} m/s, expected {expected}");
        assert!((velocity - expected).abs() < 1e-3, "{velocity} against {expected}");
        assert_eq!(impulse.contact_count, 144);
    }
}

#[test]
fn a_ball_bounces_off_pinned_cloth_as_off_a_wall() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(sheet((0..144).collect())).unwrap();
    let ball = Ball { center: [0.45, 0.1499, 0.55], velocity: [0.0, -2.0, 0.0], spin: [0.0; 3] };
    ball.tell(&mut simulation, 1.0 / 300.0, 0.5);
    simulation.step(1.0 / 300.0).unwrap();
    let state = simulation.state().unwrap();
    let gained = f64::from(state.body_impulses(id)[0].linear[1]) / MASS;
    assert!((gained - 3.0).abs() < 0.1, "the ball gains {gained} m/s, expected 2 (1 + 0.5)");
    assert!(state.positions(id).all(|[_, y, _]| y == 0.0), "pins stay");
}

#[test]
fn a_distant_body_receives_no_impulse() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(sheet(Vec::new())).unwrap();
    let ball = Ball { center: [0.5, 1.0, 0.5], velocity: [0.0, 1.0, 0.0], spin: [0.0; 3] };
    ball.tell(&mut simulation, 1.0 / 60.0, 0.0);
    simulation.step(1.0 / 60.0).unwrap();
    let body = simulation.colliders().bodies().next().unwrap().0;
    assert_eq!(simulation.state().unwrap().body_impulses(id), [BodyImpulse::none(body)]);
    simulation.colliders_mut().remove_body(body).unwrap();
    simulation.step(1.0 / 60.0).unwrap();
    assert!(simulation.state().unwrap().body_impulses(id).is_empty());
}
