//! Uploads of a frame: all changed rows and nothing else, on a device that computes nothing; and
//! moving inputs against the CPU.

use std::collections::HashMap;

use poplin_cpu::CpuEngine;
use poplin_geometry::Rng;
use poplin_gpu::{ClothId, EngineOptions, FramePart, GpuEngine, wgpu};
use poplin_host::{Cloth, Engine as _, HoldId};
use poplin_model::{ClothDesc, ColliderId, Particle, Pose, Shape, Sphere};
use poplin_testkit::adapter::{devices, noop_device};
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::hanging_sheet;

/// Engine with an image of its buffers, as far as rows were written to them.
struct Scene {
    engine: GpuEngine,
    queue: wgpu::Queue,
    ids: Vec<ClothId>,
    colliders: Vec<Vec<ColliderId>>,
    holds: Vec<Option<HoldId>>,
    shared: Option<ColliderId>,
    image: HashMap<u32, [u32; 4]>,
    /// Number of rows written in the last frame.
    row_count: usize,
}

impl Scene {
    fn new(threads: usize) -> Self {
        let (device, queue) = noop_device(wgpu::Limits::default());
        let options = EngineOptions { threads, ..Default::default() };
        let engine = GpuEngine::new(&device, &queue, options).unwrap();
        Self {
            engine,
            queue,
            ids: Vec::new(),
            colliders: Vec::new(),
            holds: Vec::new(),
            shared: None,
            image: HashMap::new(),
            row_count: 0,
        }
    }

    fn add(&mut self, cloth: ClothDesc) {
        self.ids.push(self.engine.add(cloth).unwrap());
        self.colliders.push(Vec::new());
        self.holds.push(None);
    }

    fn step(&mut self, dt: f32) {
        self.engine.begin_frame(dt).unwrap();
        let mut seen = std::collections::HashSet::new();
        self.row_count = 0;
        for (address, value) in self.engine.waiting_rows() {
            // Rows must be written once only: lanes run in any order.
            assert!(seen.insert(address), "two lanes write row {address:#x}");
            self.image.insert(address, value);
            self.row_count += 1;
        }
        let mut encoder = self.engine.device().create_command_encoder(&Default::default());
        self.engine.encode_part(&mut encoder, &FramePart::WHOLE).unwrap();
        self.queue.submit([encoder.finish()]);
        assert_eq!(self.engine.waiting_rows().count(), 0);
    }

    /// Makes one random change of these kinds to one cloth; repeatable for equal random numbers.
    fn change(&mut self, rng: &mut Rng, kinds: &[usize]) {
        let index = rng.index(self.ids.len());
        let (kind, x) = (kinds[rng.index(kinds.len())], rng.range(-0.5, 0.5));
        let translation = [x, 0.1, 0.0];
        let rotation = if x > 0.3 { [0.6, 0.0, 0.0, 0.8] } else { Pose::default().rotation };
        let at = Pose { translation, rotation };
        if kind == 0 {
            let colliders = self.engine.colliders_mut();
            match self.shared {
                Some(id) => colliders.set_pose(id, at).unwrap(),
                None => self.shared = Some(colliders.add(Shape::sphere(0.1)).unwrap()),
            }
            return;
        }
        let cloth = self.engine.cloth_mut(self.ids[index]).unwrap();
        let count = cloth.desc().particle_count();
        let own = &mut self.colliders[index];
        match kind {
            1 => {
                let sphere = Sphere { center: [0.1, x, -0.2], radius: 0.2 };
                own.push(cloth.colliders_mut().add(Shape::Sphere(sphere)).unwrap());
            }
            2 => own.push(cloth.colliders_mut().add(Shape::capsule(0.4, [0.1, 0.2])).unwrap()),
            3 => own.push(cloth.colliders_mut().add(Shape::cuboid([0.1; 3])).unwrap()),
            4..=6 => {
                for &id in own.iter() {
                    cloth.colliders_mut().set_pose(id, at).unwrap();
                }
            }
            7 => {
                if let Some(&id) = own.last() {
                    cloth.colliders_mut().teleport(id, at).unwrap();
                }
            }
            8 => {
                if let Some(id) = own.pop() {
                    cloth.colliders_mut().remove(id).unwrap();
                }
            }
            9 => {
                if let Some(&id) = own.first() {
                    cloth.colliders_mut().set_friction(id, 1.0 + x).unwrap();
                }
            }
            10 | 11 => {
                let pin = Particle { position: [x, 0.0, 0.0], inverse_mass: 0.0 };
                cloth.write_particles(&[0], &[pin]).unwrap();
                let other = Particle { position: [x, x, 0.0], ..pin };
                cloth.write_particles(&[0], &[other]).unwrap();
            }
            12 => {
                let mut config = cloth.desc().config.clone();
                config.air.drag = 0.1 * f32::from(u8::from(x > 0.0));
                config.air.wind_velocity = [x, 0.0, 0.0];
                cloth.set_config(config).unwrap();
            }
            13 => cloth.set_pose(at).unwrap(),
            14 => cloth.teleport([x, 0.0, 0.0]).unwrap(),
            15 => {
                let sphere = [Sphere { center: [x, 0.0, 0.0], radius: 0.0 }];
                let hold = &mut self.holds[index];
                match *hold {
                    Some(id) if x > 0.3 => {
                        cloth.release(id);
                        *hold = None;
                    }
                    Some(id) => cloth.move_hold(id, &sphere).unwrap(),
                    None => *hold = Some(cloth.hold(&[3], &sphere).unwrap()),
                }
            }
            _ => {
                let sphere = Sphere { center: [x, 0.0, 0.0], radius: 9.0 };
                let spheres = vec![sphere; if x > 0.2 { 0 } else { count }];
                cloth.set_motion_spheres(&spheres).unwrap();
            }
        }
    }
}

#[test]
fn what_changed_is_uploaded_as_if_every_cloth_were_packed_anew() {
    let all: Vec<_> = (0..17).collect();
    // Only spheres and pins, which have a shorter path.
    for kinds in [&all[..], &[1, 4, 4, 4, 7, 10]] {
        compare(kinds);
    }
}

fn compare(kinds: &[usize]) {
    let (mut scene, mut whole) = (Scene::new(1), Scene::new(1));
    let mut rng = Rng::new(5);
    for side in [4, 5, 8, 6, 8] {
        scene.add(hanging_sheet(side, side));
        whole.add(hanging_sheet(side, side));
    }
    let mut frames_without_rows = 0;
    for frame in 0..1500 {
        // Pauses now and then, so that cloths settle.
        if frame % 150 < 80 && rng.index(3) > 0 {
            let seed = rng.index(1 << 30) as u64;
            for _ in 0..1 + rng.index(3) {
                scene.change(&mut Rng::new(seed + 7), kinds);
                whole.change(&mut Rng::new(seed + 7), kinds);
            }
        }
        let dt = if frame % 150 == 75 { 1.0 / 50.0 } else { 1.0 / 60.0 };
        scene.step(dt);
        whole.engine.forget_frame();
        whole.step(dt);
        assert_eq!(scene.engine.dispatched_slots(), whole.engine.dispatched_slots());
        let differing: Vec<_> = whole
            .image
            .iter()
            .filter(|(address, row)| scene.image.get(address) != Some(row))
            .collect();
        assert!(differing.is_empty(), "frame {frame}: {differing:x?}");
        assert_eq!(scene.image.len(), whole.image.len());
        frames_without_rows += usize::from(scene.row_count == 0);
    }
    assert!(frames_without_rows > 300, "only {frames_without_rows} frames uploaded nothing");
}

#[test]
fn several_threads_pack_what_one_does() {
    const CLOTHS: usize = 1600;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (mut several, mut one) = (Scene::new(3), Scene::new(1));
    let mut rng = Rng::new(8);
    for _ in 0..CLOTHS {
        several.add(hanging_sheet(3, 3));
        one.add(hanging_sheet(3, 3));
    }
    for frame in 0..8 {
        for _ in 0..2 * CLOTHS {
            let seed = rng.index(1 << 30) as u64;
            // Sometimes the settings of a cloth change, among cloths that only move.
            let kinds: &[usize] = if rng.index(50) == 0 { &[12] } else { &[1, 4, 10] };
            several.change(&mut Rng::new(seed), kinds);
            one.change(&mut Rng::new(seed), kinds);
        }
        pool.install(|| several.step(1.0 / 60.0));
        one.step(1.0 / 60.0);
        assert!(several.row_count > 2 * CLOTHS, "frame {frame}: {} rows", several.row_count);
        assert_eq!(several.row_count, one.row_count, "frame {frame}");
        assert!(several.image == one.image, "frame {frame}");
    }
}

/// Moves the spheres and pins of a cloth in some frames and leaves it unchanged in the others; the
/// same on every engine.
fn play(cloth: &mut Cloth, spheres: &[ColliderId], frame: usize) {
    if frame % 12 < 5 {
        let x = 0.02 * frame as f32;
        let rotation =
            if frame.is_multiple_of(3) { [0.0, 0.6, 0.0, 0.8] } else { [0.0, 0.0, 0.0, 1.0] };
        let pose = Pose { translation: [0.1 * x, 0.05 - x, 0.0], rotation };
        for &sphere in spheres {
            cloth.colliders_mut().set_pose(sphere, pose).unwrap();
        }
    }
    if frame % 10 < 4 {
        let pin = Particle { position: [0.0, 0.01 * frame as f32, 0.0], inverse_mass: 0.0 };
        cloth.write_particles(&[0], &[pin]).unwrap();
    }
}

/// Adds two spheres that the cloth touches.
fn add_spheres(cloth: &mut Cloth) -> [ColliderId; 2] {
    [[0.3, 0.1, -0.25], [0.7, -0.1, -0.25]].map(|center| {
        let sphere = Sphere { center, radius: 0.25 };
        cloth.colliders_mut().add(Shape::Sphere(sphere)).unwrap()
    })
}

#[test]
fn moving_spheres_and_pins_act_alike_on_both_backends() {
    const FRAMES: usize = 40;
    let cloth = hanging_sheet(8, 8);
    let mut cpu = CpuEngine::new();
    let id = cpu.add(cloth.clone()).unwrap();
    let spheres = add_spheres(cpu.cloth_mut(id).unwrap());
    for frame in 0..FRAMES {
        play(cpu.cloth_mut(id).unwrap(), &spheres, frame);
        cpu.step(1.0 / 60.0).unwrap();
    }
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        let other = gpu.add(cloth.clone()).unwrap();
        let spheres = add_spheres(gpu.engine_mut().cloth_mut(other).unwrap());
        for frame in 0..FRAMES {
            play(gpu.engine_mut().cloth_mut(other).unwrap(), &spheres, frame);
            gpu.step(1.0 / 60.0).unwrap();
        }
        let state = gpu.state().unwrap();
        let (current, mirror) = (state.current(other), cpu.current(id));
        rounding.agree_on_average("current", current, mirror, 5e-4).unwrap();
    }
    // Control: without the spheres the cloth moves differently.
    let mut free = CpuEngine::new();
    let other = free.add(cloth).unwrap();
    for frame in 0..FRAMES {
        play(free.cloth_mut(other).unwrap(), &[], frame);
        free.step(1.0 / 60.0).unwrap();
    }
    assert!(same_bits("free", free.current(other), cpu.current(id)).is_err());
}
