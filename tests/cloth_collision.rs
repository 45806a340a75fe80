//! Collision between cloths: kernels = mirror pass by pass and over frames, mirror = `f64` geometry by trying all pairs,
//! momentum, local frames, groups, sleep, and what must not change where nothing collides.

use std::sync::Arc;

use poplin_cook::{CookOptions, cook};
use poplin_gpu::EngineOptions;
use poplin_model::{Cloth, ClothCollision, Fabric, Frame, Mesh, Pose};
use poplin_reference::ReferenceEngine;
use poplin_testkit::adapter::{headless, is_strict};
use poplin_testkit::compare::same_bits;
use poplin_testkit::rng::Rng;
use poplin_testkit::separation::between;

/// One iteration.
const STEP: Frame = Frame { dt: 1.0 / 300.0 };

/// Particles that nothing connects and no force moves.
fn cloud(particles: Vec<[f32; 4]>, distance: f32) -> Cloth {
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        ..Fabric::default()
    };
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.config.gravity = [0.0; 3];
    cloth.config.cloth_collision_distance = distance;
    cloth
}

/// A cloud in a cube of `size` metres, some of its particles pinned, moving.
fn random_cloud(rng: &mut Rng, count: usize, size: f32, distance: f32) -> Cloth {
    let mut particle = || {
        let [x, y, z] = rng.point(0.0, size);
        [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.1, 50.0) }]
    };
    let mut cloth = cloud((0..count).map(|_| particle()).collect(), distance);
    cloth.previous_positions = cloth.particles.iter().map(|p| std::array::from_fn(|k| p[k] + rng.range(-0.01, 0.01))).collect();
    cloth
}

/// A quaternion of this rotation vector, by half angles.
fn rotation(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    let length = (x * x + y * y + z * z + 0.3).sqrt();
    [x / length, y / length, z / length, 0.3f32.sqrt() / length]
}

fn sheet(columns: u32, width: f32, height: f32, distance: f32) -> Cloth {
    let mesh = Mesh::grid(columns, columns, width, width);
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        *particle = [particle[0] - 0.5 * width, height, particle[2], particle[3]];
    }
    cloth.config.cloth_collision_distance = distance;
    cloth
}

/// Cloths and settings of a run, with how many frames.
struct Setup {
    name: &'static str,
    cloths: Vec<Cloth>,
    settings: ClothCollision,
    frames: Vec<Frame>,
}

/// Clouds in random frames, and every degenerate kind of cloth.
fn clouds() -> Vec<Setup> {
    let mut setups = Vec::new();
    let friction = ClothCollision { friction: 0.4, iterations: 1, ..ClothCollision::default() };
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let mut cloths: Vec<_> = (0..6).map(|k| random_cloud(&mut rng, 40 + 30 * k, 1.0, 0.08 + 0.02 * k as f32)).collect();
        for cloth in &mut cloths {
            cloth.pose = Pose { translation: rng.point(-0.3, 0.3), rotation: rotation(&mut rng) };
            cloth.config.collision_group = 1 << rng.index(3);
            cloth.config.collision_mask = rng.next_u64() as u32 | 1;
        }
        setups.push(Setup { name: "random", cloths, settings: friction, frames: vec![STEP] });
    }
    let mut rng = Rng::new(9);
    let settings = ClothCollision { friction: 1.0, stiffness: 0.7, iterations: 3, every: 1 };
    let mut add = |name, cloths: Vec<Cloth>| setups.push(Setup { name, cloths, settings, frames: vec![STEP; 2] });
    let place = [0.5, -0.25, 3.0, 2.0];
    add("coincident", vec![cloud(vec![place; 40], 0.1), cloud(vec![place; 30], 0.3), cloud(vec![place], 0.1)]);
    let pinned = |rng: &mut Rng| {
        let mut cloth = random_cloud(rng, 50, 0.5, 0.2);
        cloth.particles.iter_mut().for_each(|particle| particle[3] = 0.0);
        cloth
    };
    add("all pinned", vec![pinned(&mut rng), pinned(&mut rng), random_cloud(&mut rng, 30, 0.5, 0.2)]);
    add("one particle each", (0..50).map(|k| cloud(vec![[0.03 * k as f32, 0.0, 0.0, 1.0]], 0.1)).collect());
    let far = |x: f32| cloud((0..20).map(|k| [x, -x, 0.01 * k as f32, 1.0]).collect(), 0.1);
    add("huge coordinates", vec![far(1e6), far(1e6), far(-1e14), far(-1e14), far(9e14), far(1e-30)]);
    let mut deaf = random_cloud(&mut rng, 60, 0.4, 0.1);
    deaf.config.collision_mask = 0;
    let mut nobody = random_cloud(&mut rng, 60, 0.4, 0.1);
    nobody.config.collision_group = 0;
    let free = random_cloud(&mut rng, 60, 0.4, 0.1);
    add("empty masks", vec![deaf, nobody, free.clone(), free.clone()]);
    add("far apart", vec![free.clone(), Cloth { pose: Pose { translation: [50.0, 0.0, 0.0], ..Pose::default() }, ..free }]);
    add("tiny and huge masses", vec![
        cloud(vec![[0.0, 0.0, 0.0, 1e-9], [0.02, 0.0, 0.0, 1e15]], 0.1),
        cloud(vec![[0.01, 0.03, 0.0, 1e9], [0.01, 0.0, 0.04, 1e-15]], 0.1),
    ]);
    setups
}

/// Sheets that fall on one another, at different rates, in frames that move, with sleep.
fn sheets() -> Vec<Setup> {
    let mut setups = Vec::new();
    for (every, iterations) in [(1, 2), (0, 1), (2, 1)] {
        let mut cloths: Vec<_> = (0..3).map(|k| sheet(8, 0.4, 0.06 * k as f32, 0.06)).collect();
        cloths[0].particles.iter_mut().for_each(|particle| particle[3] = 0.0);
        cloths[1].config.solver_frequency = 120.0;
        cloths[2].pose.translation = [0.013, 0.005, 0.007];
        let settings = ClothCollision { friction: 0.3, iterations, every, ..ClothCollision::default() };
        setups.push(Setup { name: "sheets", cloths, settings, frames: vec![Frame::default(); 12] });
    }
    setups
}

fn on_mirror(setup: &Setup) -> ReferenceEngine {
    let mut engine = ReferenceEngine::new();
    engine.set_cloth_collision(setup.settings).unwrap();
    setup.cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
    for (index, frame) in setup.frames.iter().enumerate() {
        move_frame(engine.cloth_mut(setup.cloths.len() - 1).unwrap(), index);
        engine.step(frame).unwrap();
    }
    engine
}

/// The last cloth's frame moves and turns.
fn move_frame(host: &mut poplin::HostCloth, index: usize) {
    if index > 0 {
        let half = 0.01 * index as f32;
        let translation = host.pose().translation.map(|x| x + 0.002);
        host.set_pose(Pose { translation, rotation: [0.0, half.sin(), 0.0, half.cos()] }).unwrap();
    }
}

fn floats(bytes: &[u8]) -> Vec<[f32; 4]> {
    bytemuck::pod_collect_to_vec(bytes)
}

/// Differences between kernels and mirror: what a pass leaves in its buffers, then the particles.
fn disagreements(setup: &Setup) -> Vec<String> {
    let Some(mut gpu) = headless(EngineOptions::default()) else { return Vec::new() };
    if !is_strict(&gpu) {
        return Vec::new();
    }
    gpu.engine_mut().set_cloth_collision(setup.settings).unwrap();
    let ids: Vec<_> = setup.cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
    for (index, frame) in setup.frames.iter().enumerate() {
        move_frame(gpu.engine_mut().cloth_mut(ids[ids.len() - 1]).unwrap(), index);
        gpu.step(frame).unwrap();
    }
    let engine = on_mirror(setup);
    let memory = engine.contact_memory();
    let mut found = Vec::new();
    let [rows, entries] = gpu.engine().contact_buffers().map(|buffer| gpu.read_buffer(buffer).unwrap());
    let (rows, count) = (floats(&rows), memory.positions.len());
    let entries: Vec<u32> = bytemuck::pod_collect_to_vec(&entries);
    found.extend(same_bits("positions", &rows[..count], &memory.positions).err());
    found.extend(same_bits("motions", &rows[count..2 * count], &memory.motions).err());
    let mut list = |name: &str, begin: usize, own: &[u32]| {
        if entries[begin..begin + own.len()] != *own {
            found.push(format!("{name} differ"));
        }
    };
    list("cloths of rows", 0, &memory.slots);
    list("sorted rows", 3 * count, &memory.sorted);
    if !memory.sorted.is_empty() {
        list("contacts", 4 * count, &memory.counts);
    }
    let snapshot = gpu.snapshot().unwrap();
    for (cloth, &id) in ids.iter().enumerate() {
        found.extend(same_bits(&format!("current of {cloth}"), snapshot.current(id), engine.current(cloth)).err());
        found.extend(same_bits(&format!("previous of {cloth}"), snapshot.previous(id), engine.previous(cloth)).err());
        if snapshot.feedback(id) != engine.feedback(cloth) {
            found.push(format!("feedback of {cloth}: {:?} against {:?}", snapshot.feedback(id), engine.feedback(cloth)));
        }
    }
    found.into_iter().map(|text| format!("{}: {text}", setup.name)).collect()
}

#[test]
fn every_pass_gives_the_mirrors_bits() {
    let found: Vec<_> = clouds().iter().flat_map(disagreements).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn whole_frames_give_the_mirrors_bits() {
    let found: Vec<_> = sheets().iter().flat_map(disagreements).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_clouds_touch_where_they_should() {
    for setup in clouds() {
        let memory_counts = on_mirror(&setup).contact_memory().counts.iter().sum::<u32>();
        let is_touching = !["far apart", "empty masks"].contains(&setup.name);
        assert!(is_touching == (memory_counts > 0) || setup.name == "empty masks", "{}: {memory_counts} contacts", setup.name);
    }
}
