//! No allocations in the steady state: the CPU engine allocates nothing in a frame, and the GPU
//! engine nothing on the host while it begins a frame and nothing on the device (no memory, and no
//! wgpu object except the application's encoder). The only test of this binary: the counts include
//! all threads of the process.

use std::alloc::System;
use std::sync::Mutex;

use poplin_cpu::CpuEngine;
use poplin_gpu::{EngineOptions, FramePart, GpuEngine, wgpu};
use poplin_host::Engine as _;
use poplin_model::{ClothDesc, Particle, Pose, Shape};
use poplin_testkit::adapter::noop_device;
use poplin_testkit::scenes::hanging_sheet;
use rayon::ThreadPoolBuilder;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FRAME: f32 = 1.0 / 60.0;
/// Frames before counting, in which buffers grow to their final size.
const WARM_UP: usize = 40;
/// Number of counted frames.
const COUNTED_FRAMES: usize = 20;

fn plain(side: u32) -> ClothDesc {
    hanging_sheet(side, side)
}

fn colliding(side: u32) -> ClothDesc {
    let mut cloth = plain(side);
    cloth.config.self_collision.distance = Some(0.02);
    cloth
}

/// Allocations of the counted frames.
fn count(cloths: &[ClothDesc], has_capsules: bool, threads: usize) -> usize {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    // A thread allocates as it begins, and may begin late.
    pool.broadcast(|_| ());
    pool.install(|| {
        let mut engine = CpuEngine::new();
        for cloth in cloths {
            engine.add(cloth.clone()).unwrap();
        }
        let capsule = Shape::capsule(0.4, [0.1, 0.08]);
        let capsule = has_capsules.then(|| engine.colliders_mut().add(capsule).unwrap());
        let mut step = |frame: usize| {
            if let Some(id) = capsule {
                let pose =
                    Pose { translation: [0.0, 0.01 * frame as f32, -0.4], ..Pose::default() };
                engine.colliders_mut().set_pose(id, pose).unwrap();
            }
            engine.step(FRAME).unwrap();
        };
        (0..WARM_UP).for_each(&mut step);
        let region = Region::new(COUNTED);
        (WARM_UP..WARM_UP + COUNTED_FRAMES).for_each(&mut step);
        let change = region.change();
        change.allocations + change.reallocations
    })
}

/// Logger that collects the wgpu objects created: wgpu logs every call.
struct CreatedObjects(Mutex<Vec<String>>);

static CREATED: CreatedObjects = CreatedObjects(Mutex::new(Vec::new()));

impl log::Log for CreatedObjects {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("wgpu_core")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = record.args().to_string();
            if text.starts_with("Device::create_") && !text.contains("command_encoder") {
                self.0.lock().unwrap().push(text);
            }
        }
    }

    fn flush(&self) {}
}

/// Counts while the GPU engine begins frames in which two spheres and two pins of each cloth move:
/// host allocations, growth of device memory \[bytes\], and the device objects created.
fn count_on_gpu() -> (u64, u64, Vec<String>) {
    let (device, queue) = noop_device(wgpu::Limits::default());
    let mut engine = GpuEngine::new(&device, &queue, EngineOptions::default()).unwrap();
    let add = |_| {
        let id = engine.add(plain(8)).unwrap();
        let colliders = engine.cloth_mut(id).unwrap().colliders_mut();
        (id, [0.2, 0.4].map(|radius| colliders.add(Shape::sphere(radius)).unwrap()))
    };
    let cloths: Vec<_> = (0..50).map(add).collect();
    let mut allocations = 0;
    let mut memory = 0;
    log::set_logger(&CREATED).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    for frame in 0..WARM_UP + COUNTED_FRAMES {
        for (id, spheres) in &cloths {
            let cloth = engine.cloth_mut(*id).unwrap();
            let pose = Pose { translation: [0.0, 0.01 * frame as f32, -0.6], ..Pose::default() };
            for sphere in spheres {
                cloth.colliders_mut().set_pose(*sphere, pose).unwrap();
            }
            let pin = Particle { position: pose.translation, inverse_mass: 0.0 };
            cloth.write_particles(&[0, 7], &[pin; 2]).unwrap();
        }
        let region = Region::new(COUNTED);
        engine.begin_frame(FRAME).unwrap();
        let change = region.change();
        let mut encoder = device.create_command_encoder(&Default::default());
        engine.encode_part(&mut encoder, &FramePart::WHOLE).unwrap();
        queue.submit([encoder.finish()]);
        if frame < WARM_UP {
            memory = engine.memory_bytes();
            let created = std::mem::take(&mut *CREATED.0.lock().unwrap());
            assert!(frame > 0 || created.iter().any(|text| text.contains("create_buffer")));
        } else {
            allocations += (change.allocations + change.reallocations) as u64;
        }
    }
    log::set_max_level(log::LevelFilter::Off);
    let created = std::mem::take(&mut *CREATED.0.lock().unwrap());
    (allocations, engine.memory_bytes() - memory, created)
}

#[test]
fn a_frame_allocates_nothing_in_the_steady_state() {
    assert_eq!(count_on_gpu(), (0, 0, Vec::new()), "allocations, bytes and objects on the device");
    let mut meeting = vec![plain(12); 4];
    for cloth in &mut meeting {
        cloth.config.cloth_collision.distance = Some(0.02);
    }
    // Scenes of many cloths run on one thread: with more threads, a frame in which for the first
    // time all are busy at once may allocate another worker.
    let scenes: [(&str, Vec<ClothDesc>, bool, usize); 7] = [
        ("many", vec![plain(8); 30], false, 1),
        ("large", vec![plain(64)], false, 1),
        ("large, on two threads", vec![plain(64)], false, 2),
        ("self collision", vec![colliding(16); 4], false, 1),
        ("large self collision", vec![colliding(64)], false, 1),
        ("moving capsules", vec![plain(12); 4], true, 1),
        ("collision between cloths", meeting, false, 1),
    ];
    let found = scenes.map(|(name, cloths, has_capsules, threads)| {
        let found = count(&cloths, has_capsules, threads);
        (found > 0).then(|| format!("{name}: {found} in {COUNTED_FRAMES} frames"))
    });
    let found: Vec<_> = found.into_iter().flatten().collect();
    assert_eq!(found, [""; 0]);
}
