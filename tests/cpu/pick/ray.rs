//! Ray casts against cloth: hits, ties, edges and corners, refused rays.

use std::sync::Arc;

use poplin::{Backend, Ray, Simulation, State, pick_triangles};
use poplin_geometry::Rng;
use poplin_model::{ClothDesc, Mesh, Particle, Pose};
use poplin_testkit::scenes::loose_particles;

use super::distance;

fn particles(points: &[[f32; 3]]) -> Vec<Particle> {
    points.iter().map(|&[x, y, z]| Particle::from([x, y, z, 1.0])).collect()
}

/// Cloth of one triangle over x and z at `height`, facing up.
fn triangle(height: f32) -> ClothDesc {
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

#[test]
fn a_hit_reports_its_position() {
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
    // Rays from every direction.
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
            // Straight down, where the aim is on the ray to the bit, and obliquely.
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
fn ties_go_to_the_first_triangle_and_cloth() {
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
    // A quarter turn about x takes z to -y: the triangle is in the plane z = 5 and faces +z.
    let pose = Pose { translation: [1.0, 2.0, 5.0], rotation: [half, 0.0, 0.0, half] };
    let cloth = simulation.add(ClothDesc { pose, ..triangle(0.0) }).unwrap();
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
fn cloths_missing_in_state_or_simulation_are_not_hit() {
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
