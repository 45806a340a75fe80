//! Recovery from penetration: depenetration speed, fast shapes and thin parts.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{Capsule, ClothDesc, Mesh, Plane, Pose, Shape, Sphere, TriangleMesh};
use poplin::{Backend, Simulation};

/// Closed mesh of a box around the origin.
fn block(half: [f32; 3]) -> TriangleMesh {
    let corner =
        |k: u32| std::array::from_fn(|axis| [-1.0, 1.0][(k >> axis & 1) as usize] * half[axis]);
    let sides =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let halves = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
    let vertices: Vec<_> = (0..8).map(corner).collect();
    let triangles: Vec<_> = sides.into_iter().flat_map(halves).collect();
    TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
}

/// Solids whose surface is 0.2 m above the origin.
fn solids() -> [(&'static str, Shape); 5] {
    let end = |x: f32| Sphere { center: [x, 0.0, 0.0], radius: 0.2 };
    [
        ("sphere", Shape::sphere(0.2)),
        ("capsule", Capsule { ends: [end(-0.3), end(0.3)] }.into()),
        ("plane", Plane { normal: [0.0, 1.0, 0.0], offset: 0.2 }.into()),
        ("box", Shape::cuboid([0.2; 3])),
        ("mesh", block([0.2; 3]).into()),
    ]
}

/// Small free sheet 0.15 m above the origin, without gravity: 0.05 m inside the solids.
fn sheet_in_depth(depenetration_speed: f32) -> ClothDesc {
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(3, 3, 0.02, 0.02), &options).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        let [x, _, z] = particle.position;
        particle.position = [x - 0.01, 0.15, z - 0.01];
    }
    cloth.config.gravity = [0.0; 3];
    cloth.config.contact.depenetration_speed = depenetration_speed;
    cloth
}

/// Height of the middle of the sheet \[m\].
fn height(simulation: &mut Simulation, id: poplin::ClothId) -> f32 {
    simulation.state().unwrap().current(id)[4].position[1]
}

#[test]
fn penetration_recovers_at_the_depenetration_speed() {
    for (name, shape) in solids() {
        for (speed, halfway) in [(0.1, 0.175), (1e6, 0.2)] {
            let mut simulation = Simulation::new(Backend::Cpu).unwrap();
            let id = simulation.add(sheet_in_depth(speed)).unwrap();
            simulation.colliders_mut().add(shape.clone()).unwrap();
            (0..15).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
            let at = height(&mut simulation, id);
            if speed < 1.0 {
                assert!((at - halfway).abs() < 1e-3, "{name}: at {at} m after 0.25 s");
            } else {
                assert!(at > halfway, "{name}: at {at} m after 0.25 s, pushed out at once");
            }
            (0..45).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
            let at = height(&mut simulation, id);
            if speed < 1.0 {
                // It may drift during the remaining half second.
                assert!((0.199..0.25).contains(&at), "{name}: at {at} m after a second");
            } else {
                assert!(at > 0.5, "{name}: pushed out at once it flies off, to {at} m");
            }
        }
    }
}

#[test]
fn slow_depenetration_does_not_let_fast_shapes_in() {
    for (name, shape) in solids() {
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let mut cloth = sheet_in_depth(0.01);
        cloth.particles.iter_mut().for_each(|particle| particle.position[1] = 0.25);
        let id = simulation.add(cloth).unwrap();
        let collider = simulation.colliders_mut().add(shape).unwrap();
        for frame in 1..=20 {
            // Moves by 0.05 m a frame, 3 m/s.
            let translation = [0.0, 0.05 * frame as f32, 0.0];
            let pose = Pose { translation, ..Pose::default() };
            simulation.colliders_mut().set_pose(collider, pose).unwrap();
            simulation.step(1.0 / 60.0).unwrap();
            let depth = 0.2 + translation[1] - height(&mut simulation, id);
            assert!(depth < 1e-3, "{name}: {depth} m deep in frame {frame}");
        }
    }
}

#[test]
fn particles_leave_a_thin_block_on_the_side_they_entered() {
    // The block is 20 mm thick; at 4.8 m/s and 300 Hz a particle moves by 16 mm an iteration,
    // mostly beyond the middle.
    let backends = poplin_testkit::adapter::backends();
    for (backend, depenetration_speed) in backends.into_iter().flat_map(|it| [(it, 1e6), (it, 0.5)])
    {
        let heights = (0..40).map(|k| 0.02 + 0.0009 * k as f32);
        let particles =
            heights.clone().enumerate().map(|(k, y)| [0.04 * k as f32 - 0.8, y, 0.0, 1.0]);
        let mut cloth = poplin_testkit::scenes::loose_particles(particles.collect());
        cloth.config.contact.depenetration_speed = depenetration_speed;
        cloth.config.solver.as_pbd_mut().unwrap().frequency = 300.0;
        cloth.previous_positions = heights
            .enumerate()
            .map(|(k, y)| [0.04 * k as f32 - 0.8, y + 4.8 / 300.0, 0.0])
            .collect();
        let mut simulation = Simulation::new(backend).unwrap();
        let id = simulation.add(cloth).unwrap();
        simulation.colliders_mut().add(block([1.0, 0.01, 1.0])).unwrap();
        (0..20).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
        let state = simulation.state().unwrap();
        let lowest = state.current(id).iter().map(|p| p.position[1]).fold(f32::MAX, f32::min);
        assert!(lowest > 0.0099, "{backend:?}: one ends at {lowest} m, the near side is at 0.01 m");
    }
}
