//! Cloth on a bumpy closed mesh, and cloth whose pins were moved.

use std::sync::Arc;

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{Mesh, Particle, TriangleMesh};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_oracle::nearest_triangle;
use poplin_testkit::nth_cloth;

use super::{Vec3, length, lift, mean, minus, play, positions, sheet, simulation};

/// Closed ball of radius 0.25 m with bumps: `rings` x `segments` quads split into triangles, and
/// triangles at the poles.
fn bumpy_ball(rings: u32, segments: u32) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let point = |theta: f64, phi: f64| -> [f32; 3] {
        let radius = 0.25 * (1.0 + 0.06 * (5.0 * theta).sin() * (6.0 * phi).cos());
        [theta.sin() * phi.cos(), theta.cos(), theta.sin() * phi.sin()].map(|x| (x * radius) as f32)
    };
    let mut vertices = vec![point(0.0, 0.0), point(std::f64::consts::PI, 0.0)];
    for ring in 1..=rings {
        for segment in 0..segments {
            let theta = std::f64::consts::PI * f64::from(ring) / f64::from(rings + 1);
            vertices.push(point(
                theta,
                std::f64::consts::TAU * f64::from(segment) / f64::from(segments),
            ));
        }
    }
    let at = |ring: u32, segment: u32| 2 + ring * segments + segment % segments;
    let mut triangles = Vec::new();
    for segment in 0..segments {
        triangles.push([0, at(0, segment + 1), at(0, segment)]);
        triangles.push([1, at(rings - 1, segment), at(rings - 1, segment + 1)]);
        for ring in 0..rings - 1 {
            let [a, b, c, d] = [
                at(ring, segment),
                at(ring, segment + 1),
                at(ring + 1, segment + 1),
                at(ring + 1, segment),
            ];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    (vertices, triangles)
}

#[test]
fn a_tube_dropped_on_a_bumpy_body_stays_outside() {
    let (vertices, triangles) = bumpy_ball(50, 60);
    assert!(triangles.len() >= 5000);
    let points: Vec<Vec3> = vertices.iter().map(|v| v.map(f64::from)).collect();
    let (_, top, _) = nearest_triangle([0.0, 1.0, 0.0], &points, &triangles, 1e-5).unwrap();
    assert!(top.height > 0.0, "the body's front is outside");
    // The skirt is too narrow at the top to fall past the body.
    let mesh = Mesh::tube(32, 16, 0.12, 0.4, 0.4);
    let options = CookOptions { tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&mesh, &options).unwrap().into_cloth();
    lift(&mut cloth, 0.45);
    cloth.config.contact.friction = 0.3;
    cloth.config.damping = [0.1; 3];
    let shapes = ShapeArrays {
        mesh_vertices: vertices,
        mesh_triangles: triangles.clone(),
        ..ShapeArrays::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    let mut simulation = simulation(cloth);
    play(&mut simulation, 120);
    let cloth = positions(&mut simulation);
    let heights: Vec<f64> = cloth
        .iter()
        .map(|&p| nearest_triangle(p, &points, &triangles, 1e-5).unwrap().1.height)
        .collect();
    let deepest = heights.iter().copied().fold(f64::MAX, f64::min);
    let touching = heights.iter().filter(|height| height.abs() < 0.002).count();
    eprintln!(
        "tube on a body: deepest {deepest:.2e} m, {touching} of {} touch, center at {:.3?}",
        cloth.len(),
        mean(&cloth)
    );
    assert!(touching > 20, "the tube must hang on the body: {touching}, {:?}", mean(&cloth));
    assert!(deepest > -0.002, "{deepest} m inside");
}

/// Positions and slept frames, after ten seconds, of a sheet that hangs by a row of pins held
/// `shift` \[m\] beside their first positions.
fn hung_aside(shift: f32, drag: f32) -> (Vec<Vec3>, u32) {
    let pins: Vec<u32> = (0..8).collect();
    let mut cloth = sheet(8, 8, 0.5, pins.clone());
    cloth.config.damping = [0.5; 3];
    cloth.config.air.drag = drag;
    cloth.config.air.density = 0.01;
    cloth.config.sleep.threshold = 1.0;
    let held: Vec<_> = cloth.particles[..8]
        .iter()
        .map(|&Particle { position: [x, y, z], inverse_mass: w }| [x, y, z + shift, w])
        .collect();
    let mut simulation = simulation(cloth);
    for _ in 0..600 {
        simulation
            .cloth_mut(nth_cloth(0))
            .unwrap()
            .write_particles(&pins, Particle::from_rows(&held))
            .unwrap();
        play(&mut simulation, 1);
    }
    let slept = simulation.state().unwrap().slept_frames(nth_cloth(0));
    (positions(&mut simulation), slept)
}

#[test]
fn a_cloth_whose_pins_were_moved_falls_asleep_again() {
    assert!(hung_aside(0.0, 0.0).1 > 100, "unmoved");
    assert!(
        hung_aside(0.05, 0.0).1 > 100,
        "the previous position of a moved pin must not keep the cloth awake"
    );
}

#[test]
fn moved_pins_cause_no_lasting_wind() {
    let [still, moved] =
        [0.0, 0.2].map(|shift| mean(&hung_aside(shift, 0.1).0)[2] - f64::from(shift));
    eprintln!("mean position behind the pins: {still:.4} m, after a move of 0.2 m {moved:.4} m");
    let airless = mean(&hung_aside(0.2, 0.0).0)[2] - 0.2;
    assert!(
        (moved - airless).abs() < 0.002,
        "hangs at {moved}, not {airless}: blown by a move that is long over"
    );
}

#[test]
fn distance_bounds_of_a_closed_mesh_do_not_change_results() {
    // Particles cache a distance bound of a closed mesh and skip the search within it. A far
    // triangle makes the mesh open, so that every search runs.
    let (vertices, triangles) = bumpy_ball(20, 24);
    let points_at = |frame: u32, far: bool| -> Vec<[f32; 3]> {
        let t = frame as f32 * 0.1;
        let moved = vertices.iter().map(|v| {
            [v[0] + 0.3 * (3.0 * t).sin(), v[1] + 0.2 * (2.0 * t).sin(), v[2] + 0.1 * t.sin()]
        });
        let corners = [[90.0, 0.0, 0.0], [91.0, 0.0, 0.0], [90.0, 1.0, 0.0]];
        moved.chain(corners.into_iter().filter(|_| far)).collect()
    };
    let run = |far: bool| {
        let mut cloth =
            cook(&Mesh::grid(20, 20, 1.0, 1.0), &CookOptions::default()).unwrap().into_cloth();
        cloth.particles.iter_mut().for_each(|p| {
            (p.position[0], p.position[1], p.position[2]) =
                (p.position[0] - 0.5, 0.4, p.position[2] - 0.5)
        });
        cloth.config.contact.friction = 0.3;
        let mut simulation = simulation(cloth);
        let count = vertices.len() as u32;
        let mut triangles = triangles.clone();
        triangles.extend(far.then_some([count, count + 1, count + 2]));
        let mut shared: Arc<[[u32; 3]]> = Arc::default();
        for frame in 0..60 {
            // At frame 30 the triangles change, so that the mesh jumps instead of moving over the
            // frame.
            if frame == 30 {
                triangles.rotate_left(7);
            }
            let set = simulation.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
            if frame == 0 || frame == 30 {
                shared = triangles.clone().into();
            }
            let vertices = points_at(frame + 40 * u32::from(frame >= 30), far).into();
            let mesh = TriangleMesh { vertices, triangles: shared.clone() };
            let known = set.iter().next().map(|(id, _)| id);
            if let Some(id) = known {
                set.set_shape(id, mesh).unwrap();
            } else {
                set.add(mesh).unwrap();
            }
            simulation.step(1.0 / 60.0).unwrap();
        }
        positions(&mut simulation)
    };
    let (closed, opened) = (run(false), run(true));
    let worst = closed.iter().zip(&opened).map(|(&a, &b)| length(minus(a, b))).fold(0.0, f64::max);
    eprintln!("a mesh remembered and a mesh searched: {worst:.1e} m apart");
    assert!(worst < 1e-6, "{worst} m");
}
