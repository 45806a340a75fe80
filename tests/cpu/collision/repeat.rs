//! Repeatability: a scene of every kind of shape gives the same bits in every run.

use poplin_cook::{CookOptions, VirtualParticles, cook};
use poplin_cpu::ReferenceEngine;
use poplin_gpu::EngineOptions;
use poplin_host::Engine as _;
use poplin_measure::shape_arrays::{ShapeArrays, cuboid};
use poplin_model::{ClothDesc, Mesh, Particle, Pose};
use poplin_testkit::adapter::headless;
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;

use super::{After, bumpy_sphere, is_finite, shifted};

/// One shape of every kind around the origin.
fn every_shape() -> ShapeArrays {
    let (mesh_vertices, mesh_triangles) = bumpy_sphere(2, 0.3, [0.7, 0.0, 0.5]);
    ShapeArrays {
        spheres: vec![[0.0, 0.0, 0.0, 0.3], [0.4, 0.1, 0.0, 0.15], [-0.5, 0.2, 0.3, 0.2]],
        capsules: vec![[0, 1]],
        planes: vec![[0.0, 1.0, 0.0, 0.6], [0.6, 0.8, 0.0, 0.7]],
        convexes: vec![vec![0], vec![1]],
        boxes: vec![cuboid(
            Pose { translation: [-0.4, -0.3, -0.4], ..Default::default() },
            [0.2, 0.1, 0.3],
        )],
        mesh_vertices,
        mesh_triangles,
        ..Default::default()
    }
}

/// Sheet over every kind of shape, with friction, mass scale and virtual particles.
fn whole_scene(is_continuous: bool) -> ClothDesc {
    let options = CookOptions {
        pins: vec![0],
        virtual_particles: VirtualParticles::PerTriangle(1),
        ..Default::default()
    };
    let mut cloth = cook(&Mesh::grid(16, 16, 1.6, 1.6), &options).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        particle.position =
            [particle.position[0] - 0.8, particle.position[1] + 0.35, particle.position[2] - 0.8];
    }
    cloth.colliders = every_shape().to_set().unwrap();
    cloth.config.contact.friction = 0.4;
    cloth.config.contact.mass_scale = 20.0;
    cloth.config.contact.continuous = is_continuous;
    cloth
}

/// Shapes of a frame; all of them move.
fn moved_shapes(frame: u32) -> ShapeArrays {
    let angle = frame as f32 * 0.1;
    let mut shapes = shifted(&every_shape(), [0.05 * angle.sin(), 0.02 * angle.cos(), 0.0]);
    shapes.planes[0][3] += 0.03 * angle.sin();
    shapes
}

fn play(engine: &mut ReferenceEngine, frames: u32) {
    for frame in 0..frames {
        let set = engine.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
        moved_shapes(frame).reach(set).unwrap();
        engine.step(1.0 / 60.0).unwrap();
    }
}

#[test]
fn a_scene_of_every_shape_repeats_to_the_bit() {
    for is_continuous in [false, true] {
        let run = || {
            let mut engine = ReferenceEngine::new();
            engine.add(whole_scene(is_continuous)).unwrap();
            play(&mut engine, 60);
            assert_eq!(engine.feedback(nth_cloth(0)).fault_count, 0);
            After {
                current: Particle::rows(engine.current(nth_cloth(0))).to_vec(),
                previous: Particle::rows(engine.previous(nth_cloth(0))).to_vec(),
            }
        };
        let (first, second) = (run(), run());
        assert!(is_finite(&first.current));
        same_bits("current", &first.current, &second.current).unwrap();
        same_bits("previous", &first.previous, &second.previous).unwrap();
    }
}

#[test]
fn a_scene_of_every_shape_repeats_to_the_bit_on_the_gpu() {
    for is_continuous in [false, true] {
        let run = || {
            let mut gpu = headless(EngineOptions::default())?;
            let id = gpu.add(whole_scene(is_continuous)).unwrap();
            for frame in 0..60 {
                let set = gpu.engine_mut().cloth_mut(id).unwrap().colliders_mut();
                moved_shapes(frame).reach(set).unwrap();
                gpu.step(1.0 / 60.0).unwrap();
            }
            let snapshot = gpu.state().unwrap();
            Some(After {
                current: Particle::rows(snapshot.current(id)).to_vec(),
                previous: Particle::rows(snapshot.previous(id)).to_vec(),
            })
        };
        let (Some(first), Some(second)) = (run(), run()) else { return };
        assert!(is_finite(&first.current));
        same_bits("current", &first.current, &second.current).unwrap();
        same_bits("previous", &first.previous, &second.previous).unwrap();
    }
}
