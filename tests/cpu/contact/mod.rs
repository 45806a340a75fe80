//! Cloth on shapes, through the public interface: friction, fast shapes, rest and recovery from
//! penetration.

mod body;
mod bullet;
mod depth;
mod incline;
mod rest;

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{ClothDesc, Mesh, Pose};
use poplin::{Backend, Simulation};
use poplin_measure::shape_arrays::{ShapeArrays, cuboid};
use poplin_testkit::nth_cloth;

type Vec3 = [f64; 3];

/// Sheet of `columns` x `rows` particles around the origin in the plane y = 0.
fn sheet(columns: u32, rows: u32, width: f32, pins: Vec<u32>) -> ClothDesc {
    let depth = width * (rows - 1) as f32 / (columns - 1) as f32;
    let options = CookOptions { pins, tethers: Tethers::None, ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(columns, rows, width, depth), &options).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        particle.position[0] -= width / 2.0;
        particle.position[2] -= depth / 2.0;
    }
    cloth
}

fn lift(cloth: &mut ClothDesc, y: f32) {
    cloth.particles.iter_mut().for_each(|particle| particle.position[1] += y);
}

fn simulation(cloth: ClothDesc) -> Simulation {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    simulation
}

fn play(simulation: &mut Simulation, frames: u32) {
    for _ in 0..frames {
        simulation.step(1.0 / 60.0).unwrap();
    }
}

fn positions(simulation: &mut Simulation) -> Vec<Vec3> {
    let state = simulation.state().unwrap();
    assert_eq!(state.fault_count(nth_cloth(0)), 0);
    state.positions(nth_cloth(0)).map(|p| p.map(f64::from)).collect()
}

fn mean(points: &[Vec3]) -> Vec3 {
    std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / points.len() as f64)
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] - b[k])
}

fn length(a: Vec3) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn turned_about_z(angle: f64) -> Pose {
    let half = (angle / 2.0).sin_cos();
    Pose { rotation: [0.0, 0.0, half.0 as f32, half.1 as f32], ..Pose::default() }
}

/// Ground under the patch; the top of every kind is at y = 0.
#[derive(Debug, Clone, Copy)]
enum Ground {
    Plane,
    Box,
    Triangles,
}

fn ground(kind: Ground) -> ShapeArrays {
    match kind {
        Ground::Plane => ShapeArrays {
            planes: vec![[0.0, 1.0, 0.0, 0.0]],
            convexes: vec![vec![0]],
            ..ShapeArrays::default()
        },
        Ground::Box => {
            let pose = Pose { translation: [0.0, -1.0, 0.0], ..Pose::default() };
            ShapeArrays { boxes: vec![cuboid(pose, [3.0, 1.0, 3.0])], ..ShapeArrays::default() }
        }
        Ground::Triangles => ShapeArrays {
            mesh_vertices: vec![
                [-3.0, 0.0, -3.0],
                [-3.0, 0.0, 3.0],
                [3.0, 0.0, 3.0],
                [3.0, 0.0, -3.0],
            ],
            mesh_triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..ShapeArrays::default()
        },
    }
}
