//! A ball of rapier3d that rolls into a hanging cloth, pushes it aside and is slowed down by it.
//!
//! Each frame poplin gets the ball's pose, velocity and pose at the end of the frame, simulates the
//! cloth and returns the impulse on the ball; rapier applies the impulse and steps. Total momentum
//! is conserved except for pins, floor and gravity.
//!
//! `cargo run --release -p poplin-examples --example rapier_ball`

#![expect(clippy::print_stdout, reason = "output of an example")]

use poplin::model::{Collider, Pose, RigidBody, Shape};
use poplin::prelude::*;
use rapier3d::prelude::*;

const RADIUS: f32 = 0.15;
const DT: f32 = 1.0 / 60.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A floor and a ball of 1 kg that rolls along z.
    let mut world = PhysicsWorld::new();
    world.integration_parameters.dt = DT;
    world.insert_collider(
        ColliderBuilder::cuboid(5.0, 0.1, 5.0)
            .translation(Vector::new(0.0, -0.1, 0.0))
            .friction(0.8),
        None,
    );
    let rolling = RigidBodyBuilder::dynamic()
        .translation(Vector::new(0.0, RADIUS, -0.8))
        .linvel(Vector::new(0.0, 0.0, 1.5))
        .angvel(Vector::new(1.5 / RADIUS, 0.0, 0.0));
    let (ball, _) = world.insert(rolling, ColliderBuilder::ball(RADIUS).mass(1.0).friction(0.8));

    // A sheet of 0.3 kg that hangs from its upper edge in the plane z = 0, to 5 cm above the floor.
    let mut mesh = Mesh::grid(25, 25, 1.0, 1.0);
    mesh.positions.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - 0.5, 1.05 - *z, 0.0));
    let options = CookOptions { pins: (0..25).collect(), density: 0.3, ..CookOptions::default() };
    let mut cloth = cook(&mesh, &options)?.into_cloth();
    cloth.config.damping = [0.1; 3];
    cloth.config.contact.friction = 0.3;
    cloth.config.solver = Solver::pbd(600.0);
    let mut simulation = Simulation::new(Backend::Auto)?;
    simulation.add(cloth)?;

    // The ball in poplin: a shape for contact, and a body that receives impulses.
    let mass = world.bodies[ball].mass();
    let ball_body = RigidBody {
        inverse_mass: 1.0 / mass,
        // Inertia of a ball about every axis: 2/5 m r^2.
        inverse_inertia: diagonal(2.5 / (mass * RADIUS * RADIUS)),
        ..RigidBody::default()
    };
    let set = simulation.colliders_mut();
    let body_id = set.add_body(ball_body)?;
    let start = Pose { translation: world.bodies[ball].translation().into(), ..Pose::default() };
    let shape = Collider::from(Shape::sphere(RADIUS));
    let collider = set.add(Collider { pose: start, body: Some(body_id), ..shape })?;

    println!("   time     ball z   velocity   impulse of the cloth in this frame");
    for frame in 0..180 {
        let body = &world.bodies[ball];
        let (center, velocity, spin) = (body.translation(), body.linvel(), body.angvel());
        let ahead = center + velocity * DT;
        let set = simulation.colliders_mut();
        set.set_pose(collider, Pose { translation: ahead.into(), ..Pose::default() })?;
        set.set_body(
            body_id,
            RigidBody {
                center: center.into(),
                velocity: velocity.into(),
                angular_velocity: spin.into(),
                ..ball_body
            },
        )?;
        simulation.step(DT)?;
        let impulse = simulation.state()?.body_impulse(body_id);
        let body = &mut world.bodies[ball];
        body.apply_impulse(impulse.linear.into(), true);
        body.apply_torque_impulse(impulse.angular.into(), true);
        world.step();
        if frame % 10 == 9 {
            let body = &world.bodies[ball];
            let (z, v) = (body.translation().z, body.linvel().z);
            println!(
                "{:5.2} s  {z:7.3} m  {v:6.3} m/s  {:8.4} N s",
                (frame + 1) as f32 * DT,
                impulse.linear[2]
            );
        }
    }
    let left = world.bodies[ball].linvel().z;
    println!("speed of the ball: 1.500 m/s before, {left:.3} m/s after");
    Ok(())
}

fn diagonal(x: f32) -> [[f32; 3]; 3] {
    [[x, 0.0, 0.0], [0.0, x, 0.0], [0.0, 0.0, x]]
}
