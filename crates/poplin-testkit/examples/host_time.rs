//! Host time per frame of many cloths: `cargo run --release -p poplin-testkit --example host_time`.
//!
//! Runs on wgpu's noop device, which validates and copies but computes nothing. Prints a CSV table
//! with medians of milliseconds and the bytes that a frame uploads. Arguments: number of packing
//! threads (default: 1), number of cloths, name of an update (default: all).

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::time::Instant;

use poplin::gpu::{EngineOptions, FramePart, GpuEngine, wgpu};
use poplin_host::ClothId;
use poplin_model::{ColliderId, Particle, Pose, Shape, Sphere};
use poplin_testkit::adapter::noop_device;
use poplin_testkit::scenes::hanging_sheet;

const COUNTS: [usize; 3] = [1_024, 4_096, 16_384];
const FRAMES: usize = 101;
const WARM_UP: usize = 4;

/// Update of every cloth by the user in every frame.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ClothUpdate {
    Nothing,
    Spheres,
    Pins,
    SpheresAndPins,
    Wind,
}

impl ClothUpdate {
    const ALL: [(Self, &str); 5] = [
        (Self::Nothing, "nothing"),
        (Self::Spheres, "two spheres moved"),
        (Self::Pins, "two pins written"),
        (Self::SpheresAndPins, "two spheres moved and two pins written"),
        (Self::Wind, "wind"),
    ];

    fn has_spheres(self) -> bool {
        matches!(self, Self::Spheres | Self::SpheresAndPins)
    }

    fn has_pins(self) -> bool {
        matches!(self, Self::Pins | Self::SpheresAndPins)
    }
}

struct Scene {
    engine: GpuEngine,
    device: wgpu::Device,
    queue: wgpu::Queue,
    cloths: Vec<(ClothId, Vec<ColliderId>)>,
}

impl Scene {
    fn new(count: usize, update: ClothUpdate, threads: usize) -> Self {
        let limits = wgpu::Limits {
            max_buffer_size: 1 << 30,
            max_storage_buffer_binding_size: 1 << 30,
            ..Default::default()
        };
        let (device, queue) = noop_device(limits);
        let mut engine =
            GpuEngine::new(&device, &queue, EngineOptions { threads, ..Default::default() })
                .expect("the scene is valid");
        let cloth = hanging_sheet(16, 16);
        let add = |_| {
            let id = engine.add(cloth.clone()).expect("the scene is valid");
            let colliders = engine.cloth_mut(id).expect("the scene is valid").colliders_mut();
            let sphere = |x: f32| Shape::Sphere(Sphere { center: [x, -0.5, 0.3], radius: 0.1 });
            let spheres = if update.has_spheres() { &[0.2, 0.6][..] } else { &[] };
            (
                id,
                spheres
                    .iter()
                    .map(|&x| colliders.add(sphere(x)).expect("the scene is valid"))
                    .collect(),
            )
        };
        let cloths = (0..count).map(add).collect();
        Self { engine, device, queue, cloths }
    }

    fn update(&mut self, update: ClothUpdate, frame: usize) {
        if update == ClothUpdate::Nothing {
            return;
        }
        let shift = 0.001 * frame as f32;
        for (id, spheres) in &self.cloths {
            let cloth = self.engine.cloth_mut(*id).expect("the scene is valid");
            for sphere in spheres {
                let pose = Pose { translation: [0.0, shift, 0.0], ..Pose::default() };
                cloth.colliders_mut().set_pose(*sphere, pose).expect("the scene is valid");
            }
            if update.has_pins() {
                let pin = |x| Particle { position: [x, shift, 0.0], inverse_mass: 0.0 };
                cloth.write_particles(&[0, 15], &[pin(0.0), pin(1.0)]).expect("the scene is valid");
            }
            if update == ClothUpdate::Wind {
                let mut config = cloth.desc().config.clone();
                config.air.wind_velocity = [0.0, 0.0, 1.0 + shift];
                config.air.drag = 0.1;
                cloth.set_config(config).expect("the scene is valid");
            }
        }
    }

    /// Simulates one frame. Returns the milliseconds of updating, beginning, recording and
    /// submitting it.
    fn frame(&mut self, update: ClothUpdate, frame: usize) -> [f64; 4] {
        let mut last = Instant::now();
        let mut lap = || {
            let now = Instant::now();
            1e3 * (now - std::mem::replace(&mut last, now)).as_secs_f64()
        };
        self.update(update, frame);
        let updated = lap();
        self.engine.begin_frame(1.0 / 60.0).expect("the scene is valid");
        let begun = lap();
        let mut encoder = self.device.create_command_encoder(&Default::default());
        self.engine.encode_part(&mut encoder, &FramePart::WHOLE).expect("the scene is valid");
        let encoded = lap();
        self.queue.submit([encoder.finish()]);
        [updated, begun, encoded, lap()]
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    println!(
        "cloths,changed in each,change [ms],begin [ms],encode [ms],submit [ms],begin to submit [ms],uploaded [KB]"
    );
    let mut wanted = std::env::args().skip(1);
    let threads = wanted.next().map_or(1, |text| text.parse().expect("a count of threads"));
    let [count, update] = [wanted.next(), wanted.next()];
    let is_wanted = |want: &Option<String>, text: &str| want.as_ref().is_none_or(|it| it == text);
    for count in COUNTS.into_iter().filter(|it| is_wanted(&count, &it.to_string())) {
        for (update, name) in
            ClothUpdate::ALL.into_iter().filter(|(_, name)| is_wanted(&update, name))
        {
            let mut scene = Scene::new(count, update, threads);
            let laps: Vec<_> = (0..FRAMES).map(|frame| scene.frame(update, frame)).collect();
            let laps = &laps[WARM_UP..];
            let of = |k: usize| median(laps.iter().map(|lap| lap[k]).collect());
            let host = median(laps.iter().map(|lap| lap[1..].iter().sum()).collect());
            let [a, b, c, d] = [0, 1, 2, 3].map(of);
            let bytes = scene.engine.uploaded_bytes() / 1000;
            println!("{count},{name},{a:.2},{b:.2},{c:.2},{d:.2},{host:.2},{bytes}");
        }
    }
}
